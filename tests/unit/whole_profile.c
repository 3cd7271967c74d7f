// SPDX-License-Identifier: GPL-2.0-only
#include "whole_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define START 369123592533282

/* ---- making
 * --------------------------------------------------------------------------------------------------- */

static struct text text(struct profile *p, const char *s)
{
    struct text t = profile__text(p, s, strlen(s));

    assert_non_null(t.s);
    return t;
}

static struct text *texts(struct profile *p, uint32_t *n, const char *a, const char *b)
{
    struct text *list = profile__alloc(p, 2, sizeof(*list));

    list[0] = text(p, a);
    list[1] = text(p, b);
    *n = 2;
    return list;
}

#define COPY(p, n, ...)                                                                                      \
    memcpy(profile__alloc(p, n, sizeof((__VA_ARGS__)[0])), (__VA_ARGS__), (n) * sizeof((__VA_ARGS__)[0]))

static const char *const names[] = {
    "solve",
    "a/b",
    "..",
    "<x>&\"'",
    "esc \x1b[31m",
    "",
    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    "a\xef\xbf\xbd",
    /* no UTF-8 from here on */
    "byte \xff\xfe",
    "byte \xff\xfd",
    "a\xc0",
};
#define N_NAMES (sizeof(names) / sizeof(*names))

static void add_row(struct profile *p, uint32_t region, uint32_t rank, uint32_t calls)
{
    static const enum call_column all[] = {COLUMN_CALL_ID, COLUMN_PARENT_ID, COLUMN_THREAD_ID,
                                           COLUMN_TASK_ID, COLUMN_AWAIT_NS,  COLUMN_GPU_NS,
                                           COLUMN_FLAGS};
    struct row *row = profile__add_row(p, region, rank);
    int64_t base = (int64_t)p->start.n;
    char tags[64];

    assert_non_null(row);
    row->offset = p->start.n;
    row->count = calls;
    for (uint32_t i = 0; i < calls; i++) {
        assert_int_equal(column__append_i64(&p->start, START + base * 100 + i * 10), 0);
        assert_int_equal(column__append_i64(&p->end, START + base * 100 + i * 13 + 5), 0);
    }
    for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
        row->has |= 1u << all[k];
        assert_int_equal(profile__use_column(p, all[k]), 0);
        for (int64_t i = base; i < (int64_t)p->start.n; i++)
            column_i64(&p->extra[all[k]])[i] = all[k] == COLUMN_FLAGS ? i % 3 : i * (int64_t)(k + 1);
    }
    row->source_file = text(p, "src/heat.c");
    row->source_text = text(p, "with \"quotes\"\n\tand lines");
    row->source_line = 10 + region;
    snprintf(tags, sizeof(tags), "[\"t%u\",{\"n\":[1,null,2.5]}]", region);
    row->tags = text(p, tags);
    if (calls == 2)
        row->event_metadata = text(p, "[{\"step\":1},{\"step\":2,\"x\":\"\xc3\xa9\"}]");
    row->has_exclusive = true;
    row->exclusive_total = 17 + region;
}

static void add_lanes(struct profile *p, struct rank *rank)
{
    struct thread_row *thread = profile__append(p, &rank->threads, &rank->n_threads, sizeof(*thread));
    struct task_row *task = profile__append(p, &rank->tasks, &rank->n_tasks, sizeof(*task));

    *thread = (struct thread_row){0, 140000, 4711, 1, 5, -1, 123456, text(p, "worker \xc3\xa9")};
    *task = (struct task_row){0, 0, 7, 9, 3, 100, 50, text(p, "task"), text(p, "Task-1"), text(p, "main")};
}

static void add_counters(struct profile *p, struct rank *rank)
{
    struct perf_region *perf = profile__append(p, &rank->perf, &rank->n_perf, sizeof(*perf));
    struct likwid_region *likwid = profile__append(p, &rank->likwid, &rank->n_likwid, sizeof(*likwid));
    struct line_profile *lines = profile__append(p, &rank->lines, &rank->n_lines, sizeof(*lines));
    struct meta *env = profile__append(p, &rank->likwid_env, &rank->n_likwid_env, sizeof(*env));

    *perf = (struct perf_region){.region = text(p, "a/b"), .calls = 3};
    perf->events = texts(p, &perf->n_events, "page-faults", "task-clock");
    perf->values = COPY(p, 2, (uint64_t[]){7, 1ull << 62});
    *likwid = (struct likwid_region){.tag = text(p, "x/y"), .group_name = text(p, "MEM"), .group_id = 2};
    likwid->source = text(p, "marker_file");
    likwid->n_threads = likwid->n_cpus = 2;
    likwid->cpus = COPY(p, 2, (int64_t[]){0, 4});
    likwid->call_counts = COPY(p, 2, (int64_t[]){5, 6});
    likwid->times = COPY(p, 2, (double[]){0.1, 1e-9});
    likwid->event_names = texts(p, &likwid->n_events, "E", "E");
    likwid->counter_names = texts(p, &likwid->n_counters, "C0", "C1");
    likwid->metric_names = texts(p, &likwid->n_metrics, "M", "N");
    likwid->events = COPY(p, 4, (double[]){1, 2, 3, 4});
    likwid->metrics = COPY(p, 4, (double[]){0.5, NAN, 1e300, -2});
    *lines =
        (struct line_profile){.region = text(p, "solve"), .filename = text(p, "f.py"), .unit = 1e-6, .n = 2};
    lines->function = text(p, "f");
    lines->source = text(p, "def f():\n  pass\n");
    lines->has_source = true;
    lines->first_lineno = lines->source_first_lineno = 3;
    lines->line_numbers = COPY(p, 2, (int64_t[]){3, 4});
    lines->hits = COPY(p, 2, (int64_t[]){1, 1});
    lines->times = COPY(p, 2, (double[]){2.5, 0.25});
    env->key = text(p, "LIKWID_EVENTS");
    env->text = text(p, "MEM");
}

static void add_samples(struct profile *p, struct rank *rank)
{
    struct module *module = profile__append(p, &rank->modules, &rank->n_modules, sizeof(*module));

    *module = (struct module){text(p, "/bin/\xff"), profile__text(p, "\x01\x00\xfe", 3), 0x400000, 0x401000,
                              0x500000};
    for (int i = 0; i < 5; i++) {
        struct sample *sample = column__append(&rank->samples);

        assert_non_null(sample);
        *sample =
            (struct sample){START + i, 0x401000 + (uint64_t)i, i - 1, i % 2 - 1, i % 3 - 1, (uint32_t)i % 2};
    }
    rank->ticks = 9;
    rank->hz = 997;
    rank->unmatched = 1;
    rank->begun_before = 2;
    rank->depth_overflow = 3;
    rank->inherited_dropped = 4;
}

static void add_run(struct profile *p)
{
    struct loss *loss = profile__append(p, &p->losses, &p->n_losses, sizeof(*loss));
    struct run_note *note = profile__append(p, &p->notes, &p->n_notes, sizeof(*note));
    struct process_row *process = profile__append(p, &p->processes, &p->n_processes, sizeof(*process));
    struct meta *list;

    *loss = (struct loss){text(p, "ring full"), 4711, 0, 1, 99, true};
    *note = (struct run_note){1, 2, 4711, text(p, "a library was attached late")};
    *process = (struct process_row){1,
                                    0,
                                    4711,
                                    2,
                                    1,
                                    1,
                                    0,
                                    text(p, "OMPI_COMM_WORLD_RANK"),
                                    text(p, "/bin/heat"),
                                    text(p, "heat -n 3"),
                                    text(p, "heat"),
                                    START,
                                    START + 9,
                                    256,
                                    5,
                                    6,
                                    7};
    p->how_ended = text(p, "command ended");
    profile__set_meta_int(p, "start_time_ns", START);
    profile__set_meta_int(p, "big", INT64_MAX);
    profile__set_meta_float(p, "ratio", 0.1);
    profile__set_meta_text(p, "label",
                           "gr\xc3\xb6\xc3\x9f"
                           "e",
                           7);
    profile__set_meta_text(p, "empty", "", 0);
    profile__set_meta_int(p, "scope.pair_cost_ns", 431);
    list = profile__add_meta(p, "modules", 7, META_LIST);
    list->list = texts(p, &list->n_list, "gcc/12", "openmpi");
}

struct profile *whole_profile(void)
{
    return whole_profile_of(N_NAMES);
}

struct profile *whole_profile_of(uint32_t n_names)
{
    static const int32_t numbers[] = {0, 12};
    struct profile *p;

    assert_int_equal(profile__create(&p), 0);
    n_names = n_names < N_NAMES ? n_names : N_NAMES;
    for (uint32_t i = 0; i < n_names; i++)
        assert_int_equal(profile__region(p, names[i], strlen(names[i])), i);
    for (size_t r = 0; r < 2; r++) {
        int64_t rank = profile__rank(p, numbers[r]);

        for (uint32_t i = 0; i < n_names; i++)
            add_row(p, i, (uint32_t)rank, i % 4);
        add_lanes(p, &p->ranks[rank]);
        add_counters(p, &p->ranks[rank]);
        add_samples(p, &p->ranks[rank]);
    }
    add_run(p);
    return p;
}

/* ---- comparing
 * ------------------------------------------------------------------------------------------------ */

static void same_text(struct text a, struct text b)
{
    assert_int_equal(a.len, b.len);
    if (a.len)
        assert_memory_equal(a.s, b.s, a.len);
}

static void same_texts(const struct text *a, const struct text *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        same_text(a[i], b[i]);
}

static void same_doubles(const double *a, const double *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        assert_true(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])));
}

static void same_i64s(const int64_t *a, const int64_t *b, uint64_t n)
{
    if (n)
        assert_memory_equal(a, b, n * sizeof(*a));
}

static const char *region_name(const struct profile *p, int32_t region)
{
    return region < 0 ? "(none)" : p->regions[region].name.s;
}

static const struct row *same_place(const struct profile *a, const struct row *row, const struct profile *b)
{
    struct text name = a->regions[row->region].name;
    int64_t rank = profile__find_rank(b, a->ranks[row->rank].number), region = -1;
    const struct row *other;

    for (uint32_t i = 0; i < b->n_regions; i++) {
        if (b->regions[i].name.len == name.len && !memcmp(b->regions[i].name.s, name.s, name.len))
            region = i;
    }
    assert_true(rank >= 0 && region >= 0);
    other = profile__find_row(b, (uint32_t)region, (uint32_t)rank);
    assert_non_null(other);
    return other;
}

static void same_extras(const struct profile *a, const struct row *x, const struct profile *b,
                        const struct row *y)
{
    same_text(x->source_text, y->source_text);
    same_text(x->tags, y->tags);
    same_text(x->event_metadata, y->event_metadata);
    assert_int_equal(x->has_exclusive, y->has_exclusive);
    assert_int_equal(x->exclusive_total, y->exclusive_total);
    for (int k = 0; k < N_CALL_COLUMNS; k++) {
        if (x->count && row__has(x, (enum call_column)k) && k != COLUMN_FLAGS)
            assert_true(row__has(y, (enum call_column)k));
        if (x->count && row__has(x, (enum call_column)k) && row__has(y, (enum call_column)k))
            same_i64s(column_i64(&a->extra[k]) + x->offset, column_i64(&b->extra[k]) + y->offset, x->count);
    }
}

static void same_rows(const struct profile *a, const struct profile *b, unsigned parts)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->start.n, b->start.n);
    for (uint64_t i = 0; i < a->n_rows; i++) {
        const struct row *x = &a->rows[i], *y = same_place(a, x, b);

        assert_int_equal(x->count, y->count);
        same_i64s(column_i64(&a->start) + x->offset, column_i64(&b->start) + y->offset, x->count);
        same_i64s(column_i64(&a->end) + x->offset, column_i64(&b->end) + y->offset, x->count);
        same_text(x->source_file, y->source_file);
        assert_int_equal(x->source_line, y->source_line);
        if (parts & WHOLE_EXTRAS)
            same_extras(a, x, b, y);
    }
}

static void same_metas(const struct meta *a, uint32_t n_a, const struct meta *b, uint32_t n_b)
{
    assert_int_equal(n_a, n_b);
    for (uint32_t i = 0; i < n_a; i++) {
        uint32_t k = 0;

        while (k < n_b && (a[i].key.len != b[k].key.len || memcmp(a[i].key.s, b[k].key.s, a[i].key.len)))
            k++;
        assert_true(k < n_b);
        assert_int_equal(a[i].kind, b[k].kind);
        same_text(a[i].text, b[k].text);
        assert_int_equal(a[i].integer, b[k].integer);
        assert_true(a[i].real == b[k].real);
        assert_int_equal(a[i].n_list, b[k].n_list);
        same_texts(a[i].list, b[k].list, a[i].n_list);
    }
}

static void same_lanes(const struct rank *a, const struct rank *b)
{
    assert_int_equal(a->n_threads, b->n_threads);
    assert_int_equal(a->n_tasks, b->n_tasks);
    for (uint32_t i = 0; i < a->n_threads; i++) {
        const struct thread_row *x = &a->threads[i], *y = &b->threads[i];

        assert_true(x->index == y->index && x->ident == y->ident && x->native_id == y->native_id);
        assert_true(x->daemon == y->daemon && x->start_ns == y->start_ns && x->end_ns == y->end_ns);
        assert_true(x->cpu_ns == y->cpu_ns);
        same_text(x->name, y->name);
    }
    for (uint32_t i = 0; i < a->n_tasks; i++) {
        const struct task_row *x = &a->tasks[i], *y = &b->tasks[i];

        assert_true(x->index == y->index && x->thread_index == y->thread_index &&
                    x->created_ns == y->created_ns);
        assert_true(x->done_ns == y->done_ns && x->steps == y->steps && x->running_ns == y->running_ns);
        assert_true(x->suspended_ns == y->suspended_ns);
        same_text(x->kind, y->kind);
        same_text(x->name, y->name);
        same_text(x->coro_name, y->coro_name);
    }
}

static void same_likwid(const struct likwid_region *x, const struct likwid_region *y)
{
    same_text(x->tag, y->tag);
    same_text(x->group_name, y->group_name);
    same_text(x->source, y->source);
    assert_int_equal(x->group_id, y->group_id);
    assert_true(x->n_threads == y->n_threads && x->n_cpus == y->n_cpus && x->n_events == y->n_events);
    assert_true(x->n_metrics == y->n_metrics && x->n_counters == y->n_counters);
    same_i64s(x->cpus, y->cpus, x->n_cpus);
    same_i64s(x->call_counts, y->call_counts, x->n_threads);
    same_doubles(x->times, y->times, x->n_threads);
    same_texts(x->event_names, y->event_names, x->n_events);
    same_texts(x->counter_names, y->counter_names, x->n_counters);
    same_texts(x->metric_names, y->metric_names, x->n_metrics);
    same_doubles(x->events, y->events, (uint64_t)x->n_events * x->n_threads);
    same_doubles(x->metrics, y->metrics, (uint64_t)x->n_metrics * x->n_threads);
}

static void same_counters(const struct rank *a, const struct rank *b)
{
    assert_true(a->n_perf == b->n_perf && a->n_likwid == b->n_likwid && a->n_lines == b->n_lines);
    for (uint32_t i = 0; i < a->n_perf; i++) {
        same_text(a->perf[i].region, b->perf[i].region);
        assert_int_equal(a->perf[i].calls, b->perf[i].calls);
        assert_int_equal(a->perf[i].n_events, b->perf[i].n_events);
        same_texts(a->perf[i].events, b->perf[i].events, a->perf[i].n_events);
        same_i64s((int64_t *)a->perf[i].values, (int64_t *)b->perf[i].values, a->perf[i].n_events);
    }
    for (uint32_t i = 0; i < a->n_likwid; i++)
        same_likwid(&a->likwid[i], &b->likwid[i]);
    same_metas(a->likwid_env, a->n_likwid_env, b->likwid_env, b->n_likwid_env);
    for (uint32_t i = 0; i < a->n_lines; i++) {
        const struct line_profile *x = &a->lines[i], *y = &b->lines[i];

        same_text(x->region, y->region);
        same_text(x->filename, y->filename);
        same_text(x->function, y->function);
        same_text(x->source, y->source);
        assert_true(x->has_source == y->has_source && x->first_lineno == y->first_lineno &&
                    x->unit == y->unit);
        assert_true(x->source_first_lineno == y->source_first_lineno && x->n == y->n);
        same_i64s(x->line_numbers, y->line_numbers, x->n);
        same_i64s(x->hits, y->hits, x->n);
        same_doubles(x->times, y->times, x->n);
    }
}

static void same_samples(const struct profile *a, const struct rank *x, const struct profile *b,
                         const struct rank *y)
{
    const struct sample *s = x->samples.data, *t = y->samples.data;

    assert_true(x->ticks == y->ticks && x->hz == y->hz && x->unmatched == y->unmatched);
    assert_true(x->begun_before == y->begun_before && x->depth_overflow == y->depth_overflow);
    assert_int_equal(x->inherited_dropped, y->inherited_dropped);
    assert_int_equal(x->n_modules, y->n_modules);
    for (uint32_t i = 0; i < x->n_modules; i++) {
        same_text(x->modules[i].path, y->modules[i].path);
        same_text(x->modules[i].build_id, y->modules[i].build_id);
        assert_true(x->modules[i].bias == y->modules[i].bias && x->modules[i].start == y->modules[i].start);
        assert_int_equal(x->modules[i].end, y->modules[i].end);
    }
    assert_int_equal(x->samples.n, y->samples.n);
    for (uint64_t i = 0; i < x->samples.n; i++) {
        assert_true(s[i].time == t[i].time && s[i].address == t[i].address && s[i].module == t[i].module);
        assert_true(s[i].thread == t[i].thread && s[i].flags == t[i].flags);
        assert_string_equal(region_name(a, s[i].region), region_name(b, t[i].region));
    }
}

static void same_run(const struct profile *a, const struct profile *b)
{
    same_text(a->how_ended, b->how_ended);
    assert_true(a->n_losses == b->n_losses && a->n_notes == b->n_notes && a->n_processes == b->n_processes);
    for (uint32_t i = 0; i < a->n_losses; i++) {
        const struct loss *x = &a->losses[i], *y = &b->losses[i];

        same_text(x->cause, y->cause);
        assert_true(x->pid == y->pid && x->rank == y->rank && x->count == y->count && x->sample == y->sample);
        assert_string_equal(region_name(a, x->region), region_name(b, y->region));
    }
    for (uint32_t i = 0; i < a->n_notes; i++) {
        same_text(a->notes[i].text, b->notes[i].text);
        assert_true(a->notes[i].from == b->notes[i].from && a->notes[i].to == b->notes[i].to);
        assert_int_equal(a->notes[i].pid, b->notes[i].pid);
    }
    for (uint32_t i = 0; i < a->n_processes; i++) {
        const struct process_row *x = &a->processes[i], *y = &b->processes[i];

        assert_true(x->image == y->image && x->from == y->from && x->pid == y->pid &&
                    x->inner_pid == y->inner_pid);
        assert_true(x->parent_pid == y->parent_pid && x->exec_number == y->exec_number && x->rank == y->rank);
        assert_true(x->start_ns == y->start_ns && x->end_ns == y->end_ns && x->status == y->status);
        assert_true(x->calls == y->calls && x->samples == y->samples &&
                    x->samples_outside == y->samples_outside);
        same_text(x->rank_source, y->rank_source);
        same_text(x->path, y->path);
        same_text(x->command, y->command);
        same_text(x->comm, y->comm);
    }
}

void assert_same_profile(const struct profile *a, const struct profile *b, unsigned parts)
{
    if (parts & WHOLE_CALLS)
        same_rows(a, b, parts);
    if (parts & WHOLE_TABLES)
        same_metas(a->meta, a->n_meta, b->meta, b->n_meta);
    assert_int_equal(a->n_ranks, b->n_ranks);
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        int64_t at = profile__find_rank(b, a->ranks[i].number);

        assert_true(at >= 0);
        if (parts & WHOLE_TABLES) {
            same_lanes(&a->ranks[i], &b->ranks[at]);
            same_counters(&a->ranks[i], &b->ranks[at]);
        }
        if (parts & WHOLE_OURS)
            same_samples(a, &a->ranks[i], b, &b->ranks[at]);
    }
    if (parts & WHOLE_OURS)
        same_run(a, b);
}
