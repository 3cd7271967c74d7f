// SPDX-License-Identifier: GPL-2.0-only
/* Putting profiles of one run together: regions by name, ranks by number. */
#include "model.h"

#include <errno.h>
#include <string.h>

struct merger {
    struct profile *into, *from;
    struct err *err;
    int code;
    uint32_t *regions, *ranks; /* index in from → index in into */
    int64_t shift;             /* to be added to the relative times of from */
    int64_t image_shift;
};

static int no_memory(struct merger *m)
{
    if (!m->code)
        m->code =
            err__set(m->err, ENOMEM, "not enough memory or temporary disk space for the merged profile");
    return m->code;
}

static struct text copy_text(struct merger *m, struct text text)
{
    struct text copy;

    if (!text.s || m->code)
        return (struct text){0};
    copy = profile__text(m->into, text.s, text.len);
    if (!copy.s)
        no_memory(m);
    return copy;
}

static void *copy_array(struct merger *m, const void *array, uint64_t n, size_t width)
{
    void *copy = m->code ? NULL : profile__alloc(m->into, n, width);

    if (!copy)
        no_memory(m);
    else if (n)
        memcpy(copy, array, n * width);
    return copy;
}

static struct text *copy_texts(struct merger *m, const struct text *list, uint32_t n)
{
    struct text *copy = copy_array(m, list, n, sizeof(*list));

    for (uint32_t i = 0; copy && i < n; i++)
        copy[i] = copy_text(m, copy[i]);
    return copy;
}

/* ---- what belongs to a rank
 * ----------------------------------------------------------------------------------- */

static int64_t shifted(const struct merger *m, int64_t relative)
{
    return relative < 0 ? relative : relative + m->shift;
}

static void move_lanes(struct merger *m, struct rank *to, const struct rank *from)
{
    to->threads = copy_array(m, from->threads, from->n_threads, sizeof(*from->threads));
    to->tasks = copy_array(m, from->tasks, from->n_tasks, sizeof(*from->tasks));
    for (uint32_t i = 0; i < from->n_threads && !m->code; i++) {
        struct thread_row *row = &to->threads[i];

        row->name = copy_text(m, row->name);
        row->start_ns += m->shift;
        row->end_ns = shifted(m, row->end_ns);
    }
    for (uint32_t i = 0; i < from->n_tasks && !m->code; i++) {
        struct task_row *row = &to->tasks[i];

        row->kind = copy_text(m, row->kind);
        row->name = copy_text(m, row->name);
        row->coro_name = copy_text(m, row->coro_name);
        row->created_ns += m->shift;
        row->done_ns = shifted(m, row->done_ns);
    }
    to->n_threads = m->code ? 0 : from->n_threads;
    to->n_tasks = m->code ? 0 : from->n_tasks;
}

static void move_perf(struct merger *m, struct rank *to, const struct rank *from)
{
    to->perf = copy_array(m, from->perf, from->n_perf, sizeof(*from->perf));
    for (uint32_t i = 0; i < from->n_perf && !m->code; i++) {
        struct perf_region *perf = &to->perf[i];

        perf->region = copy_text(m, perf->region);
        perf->events = copy_texts(m, perf->events, perf->n_events);
        perf->values = copy_array(m, perf->values, perf->n_events, sizeof(*perf->values));
    }
    to->n_perf = m->code ? 0 : from->n_perf;
}

static void copy_likwid(struct merger *m, struct likwid_region *region)
{
    uint64_t threads = region->n_threads;

    region->tag = copy_text(m, region->tag);
    region->group_name = copy_text(m, region->group_name);
    region->source = copy_text(m, region->source);
    region->cpus = copy_array(m, region->cpus, region->n_cpus, sizeof(*region->cpus));
    region->call_counts = copy_array(m, region->call_counts, threads, sizeof(*region->call_counts));
    region->times = copy_array(m, region->times, threads, sizeof(*region->times));
    region->event_names = copy_texts(m, region->event_names, region->n_events);
    region->counter_names = copy_texts(m, region->counter_names, region->n_counters);
    region->metric_names = copy_texts(m, region->metric_names, region->n_metrics);
    region->events = copy_array(m, region->events, region->n_events * threads, sizeof(double));
    region->metrics = copy_array(m, region->metrics, region->n_metrics * threads, sizeof(double));
}

static struct meta *copy_metas(struct merger *m, const struct meta *list, uint32_t n)
{
    struct meta *copy = copy_array(m, list, n, sizeof(*list));

    for (uint32_t i = 0; i < n && !m->code; i++) {
        copy[i].key = copy_text(m, copy[i].key);
        copy[i].text = copy_text(m, copy[i].text);
        copy[i].list = copy_texts(m, copy[i].list, copy[i].n_list);
    }
    return copy;
}

static void move_likwid(struct merger *m, struct rank *to, const struct rank *from)
{
    to->likwid = copy_array(m, from->likwid, from->n_likwid, sizeof(*from->likwid));
    for (uint32_t i = 0; i < from->n_likwid && !m->code; i++)
        copy_likwid(m, &to->likwid[i]);
    to->likwid_env = copy_metas(m, from->likwid_env, from->n_likwid_env);
    to->n_likwid = m->code ? 0 : from->n_likwid;
    to->n_likwid_env = m->code ? 0 : from->n_likwid_env;
}

static void move_lines(struct merger *m, struct rank *to, const struct rank *from)
{
    to->lines = copy_array(m, from->lines, from->n_lines, sizeof(*from->lines));
    for (uint32_t i = 0; i < from->n_lines && !m->code; i++) {
        struct line_profile *lines = &to->lines[i];

        lines->region = copy_text(m, lines->region);
        lines->filename = copy_text(m, lines->filename);
        lines->function = copy_text(m, lines->function);
        lines->source = copy_text(m, lines->source);
        lines->line_numbers = copy_array(m, lines->line_numbers, lines->n, sizeof(*lines->line_numbers));
        lines->hits = copy_array(m, lines->hits, lines->n, sizeof(*lines->hits));
        lines->times = copy_array(m, lines->times, lines->n, sizeof(*lines->times));
    }
    to->n_lines = m->code ? 0 : from->n_lines;
}

static void move_samples(struct merger *m, struct rank *to, struct rank *from)
{
    struct sample *samples = from->samples.data;

    to->modules = copy_array(m, from->modules, from->n_modules, sizeof(*from->modules));
    for (uint32_t i = 0; i < from->n_modules && !m->code; i++) {
        to->modules[i].path = copy_text(m, to->modules[i].path);
        to->modules[i].build_id = copy_text(m, to->modules[i].build_id);
    }
    to->n_modules = m->code ? 0 : from->n_modules;
    for (uint64_t i = 0; i < from->samples.n; i++) {
        if (samples[i].region >= 0)
            samples[i].region = (int32_t)m->regions[samples[i].region];
    }
    column__deinit(&to->samples);
    to->samples = from->samples;
    column__init(&from->samples, sizeof(struct sample));
    to->ticks = from->ticks;
    to->hz = from->hz;
}

static bool has_samples(const struct rank *rank)
{
    return rank->ticks >= 0 || rank->n_modules || rank->samples.n;
}

/* A rank's samples and its calls may come from two files. */
static bool only_samples(const struct rank *rank)
{
    return !rank->n_rows && has_samples(rank) && !rank->n_threads && !rank->n_tasks && !rank->n_perf &&
           !rank->n_likwid && !rank->n_lines;
}

static void move_rank(struct merger *m, uint32_t i)
{
    struct rank *from = &m->from->ranks[i], *to;
    int64_t there = profile__find_rank(m->into, from->number);
    int64_t at = profile__rank(m->into, from->number);
    bool join = false;

    if (at < 0) {
        no_memory(m);
        return;
    }
    to = &m->into->ranks[at];
    m->ranks[i] = (uint32_t)at;
    if (there >= 0) {
        join = (only_samples(from) && !has_samples(to)) || (only_samples(to) && !has_samples(from));
        if (!join) {
            m->code =
                err__set(m->err, EEXIST, "rank %d is in both %s and %s", from->number,
                         to->file.len ? to->file.s : "one input", from->file.len ? from->file.s : "another");
            return;
        }
    }
    if (there < 0)
        to->file = copy_text(m, from->file);
    if (has_samples(from) || there < 0)
        move_samples(m, to, from);
    if (join && only_samples(from))
        return;
    move_lanes(m, to, from);
    move_perf(m, to, from);
    move_likwid(m, to, from);
    move_lines(m, to, from);
    to->unmatched = from->unmatched;
    to->begun_before = from->begun_before;
    to->depth_overflow = from->depth_overflow;
    to->inherited_dropped = from->inherited_dropped;
}

static void move_ranks(struct merger *m)
{
    for (uint32_t i = 0; i < m->from->n_ranks && !m->code; i++)
        move_rank(m, i);
}

/* ---- calls
 * ---------------------------------------------------------------------------------------------------- */

static void move_rows(struct merger *m, uint64_t base)
{
    for (uint64_t i = 0; i < m->from->n_rows && !m->code; i++) {
        struct row old = m->from->rows[i], *row;

        row = profile__add_row(m->into, m->regions[old.region], m->ranks[old.rank]);
        if (!row) {
            no_memory(m);
            return;
        }
        old.region = row->region;
        old.rank = row->rank;
        old.offset += base;
        old.source_file = copy_text(m, old.source_file);
        old.source_text = copy_text(m, old.source_text);
        old.tags = copy_text(m, old.tags);
        old.event_metadata = copy_text(m, old.event_metadata);
        *row = old;
    }
}

static void move_column(struct merger *m, struct column *to, struct column *from, uint64_t base, uint64_t all,
                        int64_t fill)
{
    int code;

    if ((!to->n && !from->n) || m->code)
        return;
    code = column__fill_i64(to, base, fill);
    if (!code)
        code = column__append_many(to, from->data, from->n);
    if (!code)
        code = column__fill_i64(to, all, fill);
    if (code)
        no_memory(m);
    column__deinit(from);
}

static void move_calls(struct merger *m)
{
    uint64_t base = m->into->start.n, all = base + m->from->start.n;

    move_rows(m, base);
    for (int i = 0; i < N_CALL_COLUMNS; i++)
        move_column(m, &m->into->extra[i], &m->from->extra[i], base, all, call_column__fill(i));
    move_column(m, &m->into->end, &m->from->end, base, all, 0);
    move_column(m, &m->into->start, &m->from->start, base, all, 0);
}

/* ---- the run
 * -------------------------------------------------------------------------------------------------- */

static void move_losses(struct merger *m)
{
    struct profile *into = m->into;

    for (uint32_t i = 0; i < m->from->n_losses && !m->code; i++) {
        struct loss *loss = profile__append(into, &into->losses, &into->n_losses, sizeof(*loss));

        if (!loss) {
            no_memory(m);
            return;
        }
        *loss = m->from->losses[i];
        loss->cause = copy_text(m, loss->cause);
        loss->region = loss->region >= 0 ? (int32_t)m->regions[loss->region] : -1;
    }
}

static void move_notes(struct merger *m)
{
    struct profile *into = m->into;

    for (uint32_t i = 0; i < m->from->n_notes && !m->code; i++) {
        struct run_note *note = profile__append(into, &into->notes, &into->n_notes, sizeof(*note));

        if (!note) {
            no_memory(m);
            return;
        }
        *note = m->from->notes[i];
        note->text = copy_text(m, note->text);
    }
}

static void move_processes(struct merger *m)
{
    struct profile *into = m->into;

    for (uint32_t i = 0; i < into->n_processes; i++) {
        if (into->processes[i].image > m->image_shift)
            m->image_shift = into->processes[i].image;
    }
    for (uint32_t i = 0; i < m->from->n_processes && !m->code; i++) {
        struct process_row *row = profile__append(into, &into->processes, &into->n_processes, sizeof(*row));

        if (!row) {
            no_memory(m);
            return;
        }
        *row = m->from->processes[i];
        row->rank_source = copy_text(m, row->rank_source);
        row->path = copy_text(m, row->path);
        row->command = copy_text(m, row->command);
        row->comm = copy_text(m, row->comm);
        row->image += row->image ? m->image_shift : 0;
        row->from += row->from ? m->image_shift : 0;
    }
}

static void shift_into(struct profile *p, int64_t shift)
{
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        for (uint32_t k = 0; k < p->ranks[i].n_threads; k++) {
            p->ranks[i].threads[k].start_ns += shift;
            p->ranks[i].threads[k].end_ns += p->ranks[i].threads[k].end_ns < 0 ? 0 : shift;
        }
        for (uint32_t k = 0; k < p->ranks[i].n_tasks; k++) {
            p->ranks[i].tasks[k].created_ns += shift;
            p->ranks[i].tasks[k].done_ns += p->ranks[i].tasks[k].done_ns < 0 ? 0 : shift;
        }
    }
}

/* Relative times count from start_time_ns, which becomes the earlier of the two. */
static void align_clocks(struct merger *m)
{
    const struct meta *ours = profile__meta(m->into, "start_time_ns"),
                      *theirs = profile__meta(m->from, "start_time_ns");
    const struct meta *our_end = profile__meta(m->into, "finalize_time_ns");
    const struct meta *their_end = profile__meta(m->from, "finalize_time_ns");
    int64_t shift;

    if (our_end && their_end && our_end->kind == META_INT && their_end->kind == META_INT &&
        their_end->integer > our_end->integer &&
        profile__set_meta_int(m->into, "finalize_time_ns", their_end->integer))
        no_memory(m);
    if (!ours || !theirs || ours->kind != META_INT || theirs->kind != META_INT ||
        __builtin_sub_overflow(theirs->integer, ours->integer, &shift))
        return;
    if (shift >= 0) {
        m->shift = shift;
        return;
    }
    shift_into(m->into, -shift);
    if (profile__set_meta_int(m->into, "start_time_ns", theirs->integer))
        no_memory(m);
}

static void move_metadata(struct merger *m)
{
    struct meta *copies = copy_metas(m, m->from->meta, m->from->n_meta);

    for (uint32_t i = 0; i < m->from->n_meta && !m->code; i++) {
        uint32_t before = m->into->n_meta;
        const struct meta *known = NULL;
        struct meta *meta;

        for (uint32_t k = 0; k < before && !known; k++) {
            if (m->into->meta[k].key.len == copies[i].key.len &&
                !memcmp(m->into->meta[k].key.s, copies[i].key.s, copies[i].key.len))
                known = &m->into->meta[k];
        }
        if (known)
            continue;
        meta = profile__append(m->into, &m->into->meta, &m->into->n_meta, sizeof(*meta));
        if (meta)
            *meta = copies[i];
        else
            no_memory(m);
    }
}

static void map_regions(struct merger *m)
{
    m->regions = profile__alloc(m->from, m->from->n_regions, sizeof(*m->regions));
    m->ranks = profile__alloc(m->from, m->from->n_ranks, sizeof(*m->ranks));
    if (!m->regions || !m->ranks) {
        no_memory(m);
        return;
    }
    for (uint32_t i = 0; i < m->from->n_regions && !m->code; i++) {
        struct text name = m->from->regions[i].name;
        int64_t at = profile__region(m->into, name.s, name.len);

        if (at < 0)
            no_memory(m);
        else
            m->regions[i] = (uint32_t)at;
    }
}

static void refuse_statistics(struct merger *m, const struct profile *p)
{
    for (uint32_t i = 0; i < p->n_ranks && !m->code; i++) {
        if (p->ranks[i].prof)
            m->code = err__set(m->err, ENOTSUP, "%s: statistics of functions (.prof) cannot be merged",
                               p->ranks[i].file.len ? p->ranks[i].file.s : "an input");
    }
}

static void check_kinds(struct merger *m)
{
    refuse_statistics(m, m->into);
    refuse_statistics(m, m->from);
    if (m->code)
        return;
    if (m->into->n_rows && m->from->n_rows && m->into->aggregate != m->from->aggregate)
        m->code = err__set(
            m->err, EINVAL,
            "one input has calls and another only sums of calls (aggregate layout): they cannot be merged");
}

int profile__merge(struct profile *into, struct profile *from, struct err *err)
{
    struct merger m = {.into = into, .from = from, .err = err};

    check_kinds(&m);
    if (!m.code)
        map_regions(&m);
    if (!m.code)
        align_clocks(&m);
    if (!m.code)
        move_ranks(&m);
    if (!m.code)
        move_calls(&m);
    if (!m.code)
        move_metadata(&m);
    if (!m.code)
        move_losses(&m);
    if (!m.code)
        move_notes(&m);
    if (!m.code)
        move_processes(&m);
    if (m.code)
        return m.code;
    into->aggregate |= from->aggregate;
    if (!into->how_ended.len)
        into->how_ended = copy_text(&m, from->how_ended);
    into->calls_abandoned += from->calls_abandoned;
    from->n_rows = 0;
    from->n_losses = from->n_notes = from->n_processes = 0;
    return m.code;
}
