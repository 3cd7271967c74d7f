// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON profiles, as the reference reads them. What is ours stands under keys that it ignores: "name_hex",
 * "flags", "perf_events", "scope_bpf".
 */
#include "converters/json_out.h"
#include "converters/names.h"
#include "converters/records.h"
#include "formats/formats.h"
#include "json_profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct json_column json_columns[] = {
    {COLUMN_GPU_NS, "gpu_durations_ns"},
    {COLUMN_CALL_ID, "call_ids"},
    {COLUMN_PARENT_ID, "parent_ids"},
    {COLUMN_THREAD_ID, "thread_ids"},
    {COLUMN_TASK_ID, "task_ids"},
    {COLUMN_AWAIT_NS, "await_ns"},
    {COLUMN_FLAGS, "flags"},
};
const size_t n_json_columns = sizeof(json_columns) / sizeof(*json_columns);

struct json_writer {
    struct json_out j;
    const struct profile *p;
    const struct write_options *options;
    struct text *names; /* of the regions, as they appear */
    uint8_t *exact;
    struct arena *scratch;
    uint64_t done, all;
};

static bool chosen(const struct json_writer *w, const struct rank *rank)
{
    return write_options__rank(w->options, rank->number);
}

/* ---- metadata
 * ------------------------------------------------------------------------------------------------- */

static void put_meta(struct json_out *j, const struct meta *meta)
{
    json_out__text_key(j, meta->key);
    switch (meta->kind) {
    case META_TEXT: json_out__string(j, meta->text); break;
    case META_INT: json_out__i64(j, meta->integer); break;
    case META_FLOAT: json_out__double(j, meta->real); break;
    case META_LIST:
        json_out__open(j, '[');
        for (uint32_t i = 0; i < meta->n_list; i++)
            json_out__string(j, meta->list[i]);
        json_out__close(j, ']');
        break;
    }
}

static void put_metas(struct json_out *j, const char *key, const struct meta *list, uint32_t n)
{
    json_out__key(j, key);
    json_out__open(j, '{');
    for (uint32_t i = 0; i < n; i++)
        put_meta(j, &list[i]);
    json_out__close(j, '}');
}

static int64_t num_ranks(const struct json_writer *w)
{
    const struct meta *size = profile__meta(w->p, "mpi_size");
    int64_t n = size && size->kind == META_INT && w->p->n_rows ? size->integer : 0;

    for (uint32_t i = 0; i < w->p->n_ranks; i++) {
        if (w->p->ranks[i].number >= n)
            n = w->p->ranks[i].number + 1ll;
    }
    return n;
}

/* ---- rows
 * ----------------------------------------------------------------------------------------------------- */

static void put_column(struct json_writer *w, const char *key, const struct column *column,
                       const struct row *row)
{
    const int64_t *values = column_i64(column) + row->offset;

    json_out__key(&w->j, key);
    json_out__open(&w->j, '[');
    for (uint64_t i = 0; i < row->count; i++)
        json_out__i64(&w->j, values[i]);
    json_out__close(&w->j, ']');
    w->done += row->count;
    if (w->options && w->options->progress)
        w->options->progress(w->options->progress_arg, w->done, w->all);
}

static bool any_flag(const struct profile *p, const struct row *row)
{
    const int64_t *flags = column_i64(&p->extra[COLUMN_FLAGS]) + row->offset;

    for (uint64_t i = 0; i < row->count; i++) {
        if (flags[i])
            return true;
    }
    return false;
}

static void put_calls(struct json_writer *w, const struct row *row)
{
    put_column(w, "start_times_ns", &w->p->start, row);
    put_column(w, "end_times_ns", &w->p->end, row);
    if (row->event_metadata.len) {
        json_out__key(&w->j, "event_metadata");
        json_out__raw(&w->j, row->event_metadata);
    }
    for (size_t i = 0; i < n_json_columns; i++) {
        enum call_column column = json_columns[i].column;

        if (row__has(row, column) && (column != COLUMN_FLAGS || any_flag(w->p, row)))
            put_column(w, json_columns[i].key, &w->p->extra[column], row);
    }
    if (row->has_exclusive && row->exclusive_total >= 0)
        json_out__i64_at(&w->j, "exclusive_total_ns", row->exclusive_total);
}

static void put_aggregate(struct json_out *j, const struct aggregate *a)
{
    json_out__key(j, "aggregate");
    json_out__open(j, '{');
    json_out__i64_at(j, "count", (int64_t)a->count);
    json_out__i64_at(j, "total", a->total_ns);
    json_out__i64_at(j, "minimum", a->min_ns);
    json_out__i64_at(j, "maximum", a->max_ns);
    json_out__i64_at(j, "exclusive", a->exclusive_ns);
    json_out__close(j, '}');
}

static void put_name(struct json_writer *w, const char *key, const char *hex_key, uint32_t region)
{
    json_out__string_at(&w->j, key, w->names[region]);
    if (w->exact[region])
        return;
    json_out__key(&w->j, hex_key);
    json_out__hex(&w->j, w->p->regions[region].name);
}

static void put_row(struct json_writer *w, const struct row *row)
{
    json_out__open(&w->j, '{');
    put_name(w, "name", "name_hex", row->region);
    json_out__i64_at(&w->j, "rank", w->p->ranks[row->rank].number);
    if (row->source_file.len)
        json_out__string_at(&w->j, "source_file", row->source_file);
    if (row->source_line >= 0)
        json_out__i64_at(&w->j, "source_lineno", row->source_line);
    if (row->source_text.len)
        json_out__string_at(&w->j, "source_text", row->source_text);
    if (row->tags.len) {
        json_out__key(&w->j, "tags");
        json_out__raw(&w->j, row->tags);
    }
    if (row->aggregate.present)
        put_aggregate(&w->j, &row->aggregate);
    else
        put_calls(w, row);
    json_out__close(&w->j, '}');
}

static void count_work(struct json_writer *w)
{
    for (uint64_t i = 0; i < w->p->n_rows; i++) {
        const struct row *row = &w->p->rows[i];

        w->all += chosen(w, &w->p->ranks[row->rank])
                      ? row->count * (2 + (unsigned)__builtin_popcount(row->has))
                      : 0;
    }
}

/* The order of appearance of the regions is that of their first rows. */
static void put_rows(struct json_writer *w)
{
    count_work(w);
    json_out__key(&w->j, "regions");
    json_out__open(&w->j, '[');
    for (uint64_t i = 0; i < w->p->n_rows && !out__failed(w->j.out); i++) {
        if (chosen(w, &w->p->ranks[w->p->rows[i].rank]))
            put_row(w, &w->p->rows[i]);
    }
    json_out__close(&w->j, ']');
}

/* ---- records
 * -------------------------------------------------------------------------------------------------- */

static void put_field(struct json_writer *w, const struct record_field *field, const char *at)
{
    const struct text *text = (const struct text *)at;
    char hex_key[64];

    snprintf(hex_key, sizeof(hex_key), "%s_hex", field->name);
    switch (field->kind) {
    case RECORD_I8:
        if (record__get(at, field->kind) < 0) {
            json_out__i64_at(&w->j, field->name, record__get(at, field->kind));
            break;
        }
        /* fall through */
    case RECORD_BOOL:
        json_out__key(&w->j, field->name);
        json_out__bool(&w->j, record__get(at, field->kind) != 0);
        break;
    case RECORD_BYTES:
        json_out__string_at(&w->j, field->name, *text);
        if (utf8__valid(text->s ? text->s : "", text->len))
            break;
        json_out__key(&w->j, hex_key);
        json_out__hex(&w->j, *text);
        break;
    case RECORD_BINARY:
        json_out__key(&w->j, hex_key);
        json_out__hex(&w->j, *text);
        break;
    case RECORD_TEXT: json_out__string_at(&w->j, field->name, *text); break;
    default: json_out__i64_at(&w->j, field->name, record__get(at, field->kind));
    }
}

static void put_records(struct json_writer *w, const struct record_table *table, uint64_t n,
                        const void *records)
{
    json_out__open(&w->j, '[');
    for (uint64_t i = 0; i < n; i++) {
        json_out__open(&w->j, '{');
        for (size_t k = 0; k < table->n_fields; k++)
            put_field(w, &table->fields[k],
                      (const char *)records + i * table->width + table->fields[k].offset);
        json_out__close(&w->j, '}');
    }
    json_out__close(&w->j, ']');
}

typedef void (*put_of_rank)(struct json_writer *w, const struct rank *rank);

/* {"<rank>": …} for the ranks that have it; nothing where none has. */
static void per_rank(struct json_writer *w, const char *key, bool (*has)(const struct rank *),
                     put_of_rank put)
{
    bool opened = false;

    for (uint32_t i = 0; i < w->p->n_ranks; i++) {
        const struct rank *rank = &w->p->ranks[i];
        char number[16];

        if (!chosen(w, rank) || !has(rank))
            continue;
        if (!opened) {
            json_out__key(&w->j, key);
            json_out__open(&w->j, '{');
            opened = true;
        }
        snprintf(number, sizeof(number), "%d", rank->number);
        json_out__key(&w->j, number);
        put(w, rank);
    }
    if (opened)
        json_out__close(&w->j, '}');
}

static bool has_threads(const struct rank *rank)
{
    return rank->n_threads;
}
static void put_threads(struct json_writer *w, const struct rank *rank)
{
    put_records(w, &record_threads, rank->n_threads, rank->threads);
}
static bool has_tasks(const struct rank *rank)
{
    return rank->n_tasks;
}
static void put_tasks(struct json_writer *w, const struct rank *rank)
{
    put_records(w, &record_tasks, rank->n_tasks, rank->tasks);
}

/* ---- counters and lines
 * --------------------------------------------------------------------------------------- */

static void put_strings(struct json_out *j, const char *key, const struct text *list, uint32_t n)
{
    json_out__key(j, key);
    json_out__open(j, '[');
    for (uint32_t i = 0; i < n; i++)
        json_out__string(j, list[i]);
    json_out__close(j, ']');
}

static void put_i64s(struct json_out *j, const char *key, const int64_t *list, uint64_t n)
{
    json_out__key(j, key);
    json_out__open(j, '[');
    for (uint64_t i = 0; i < n; i++)
        json_out__i64(j, list[i]);
    json_out__close(j, ']');
}

static void put_doubles(struct json_out *j, const double *list, uint64_t n)
{
    json_out__open(j, '[');
    for (uint64_t i = 0; i < n; i++)
        json_out__double(j, list[i]);
    json_out__close(j, ']');
}

static void put_matrix(struct json_out *j, const char *key, const double *list, uint64_t rows,
                       uint64_t columns)
{
    json_out__key(j, key);
    json_out__open(j, '[');
    for (uint64_t i = 0; i < rows; i++)
        put_doubles(j, list ? list + i * columns : NULL, list ? columns : 0);
    json_out__close(j, ']');
}

static void put_exact(struct json_out *j, const char *key, struct text text)
{
    if (!text.len || utf8__valid(text.s, text.len))
        return;
    json_out__key(j, key);
    json_out__hex(j, text);
}

static void put_likwid_region(struct json_out *j, const struct likwid_region *region)
{
    json_out__open(j, '{');
    json_out__string_at(j, "tag", region->tag);
    put_exact(j, "tag_hex", region->tag);
    json_out__i64_at(j, "group_id", region->group_id);
    json_out__string_at(j, "group_name", region->group_name);
    put_i64s(j, "cpus", region->cpus, region->n_cpus);
    json_out__key(j, "times");
    put_doubles(j, region->times, region->n_threads);
    put_i64s(j, "call_counts", region->call_counts, region->n_threads);
    put_strings(j, "event_names", region->event_names, region->n_events);
    put_strings(j, "counter_names", region->counter_names, region->n_counters);
    put_matrix(j, "events", region->events, region->n_events, region->n_threads);
    put_strings(j, "metric_names", region->metric_names, region->n_metrics);
    put_matrix(j, "metrics", region->metrics, region->n_metrics, region->n_threads);
    json_out__string_at(j, "source", region->source);
    json_out__close(j, '}');
}

static bool has_likwid(const struct rank *rank)
{
    return rank->n_likwid;
}

/* By tag; one tag may stand in several groups of counters, a key may not. */
static void put_likwid(struct json_writer *w, const struct rank *rank)
{
    struct text *keys = arena__alloc(w->scratch, (rank->n_likwid + 1ull) * sizeof(*keys)), *shown = NULL;

    for (uint32_t i = 0; i < rank->n_likwid && keys; i++)
        keys[i] = rank->likwid[i].tag;
    if (keys)
        shown = names__shown(w->scratch, keys, rank->n_likwid, NULL);
    json_out__open(&w->j, '{');
    for (uint32_t i = 0; i < rank->n_likwid && shown; i++) {
        json_out__text_key(&w->j, shown[i]);
        put_likwid_region(&w->j, &rank->likwid[i]);
    }
    json_out__close(&w->j, '}');
    if (!shown)
        out__fail(w->j.out, ENOMEM);
}

static bool has_likwid_env(const struct rank *rank)
{
    return rank->n_likwid_env;
}
static void put_likwid_env(struct json_writer *w, const struct rank *rank)
{
    json_out__open(&w->j, '{');
    for (uint32_t i = 0; i < rank->n_likwid_env; i++)
        put_meta(&w->j, &rank->likwid_env[i]);
    json_out__close(&w->j, '}');
}

static bool has_perf(const struct rank *rank)
{
    return rank->n_perf;
}
static void put_perf(struct json_writer *w, const struct rank *rank)
{
    struct json_out *j = &w->j;

    json_out__open(j, '[');
    for (uint32_t i = 0; i < rank->n_perf; i++) {
        const struct perf_region *perf = &rank->perf[i];

        json_out__open(j, '{');
        json_out__string_at(j, "region", perf->region);
        put_exact(j, "region_hex", perf->region);
        json_out__i64_at(j, "calls", (int64_t)perf->calls);
        put_strings(j, "event_names", perf->events, perf->n_events);
        put_i64s(j, "values", (const int64_t *)perf->values, perf->n_events);
        json_out__close(j, '}');
    }
    json_out__close(j, ']');
}

static bool has_lines(const struct rank *rank)
{
    return rank->n_lines;
}
static void put_lines(struct json_writer *w, const struct rank *rank)
{
    struct json_out *j = &w->j;

    json_out__open(j, '[');
    for (uint32_t i = 0; i < rank->n_lines; i++) {
        const struct line_profile *lines = &rank->lines[i];

        json_out__open(j, '{');
        json_out__string_at(j, "region", lines->region);
        put_exact(j, "region_hex", lines->region);
        json_out__string_at(j, "filename", lines->filename);
        json_out__string_at(j, "function", lines->function);
        json_out__i64_at(j, "first_lineno", lines->first_lineno);
        put_i64s(j, "line_numbers", lines->line_numbers, lines->n);
        put_i64s(j, "hits", lines->hits, lines->n);
        json_out__key(j, "times");
        put_doubles(j, lines->times, lines->n);
        json_out__key(j, "unit");
        json_out__double(j, lines->unit);
        if (lines->has_source) {
            json_out__string_at(j, "source", lines->source);
            json_out__i64_at(j, "source_first_lineno", lines->source_first_lineno);
        }
        json_out__close(j, '}');
    }
    json_out__close(j, ']');
}

/* ---- what is ours
 * --------------------------------------------------------------------------------------------- */

static bool has_samples(const struct rank *rank)
{
    return rank->n_modules || rank->samples.n;
}
static void put_samples(struct json_writer *w, const struct rank *rank)
{
    struct json_out *j = &w->j;

    json_out__open(j, '{');
    json_out__key(j, "modules");
    put_records(w, &record_modules, rank->n_modules, rank->modules);
    for (size_t k = 0; k < record_samples.n_fields; k++) {
        const struct record_field *field = &record_samples.fields[k];
        const char *first = rank->samples.n ? (const char *)rank->samples.data + field->offset : NULL;

        json_out__key(j, field->name);
        json_out__open(j, '[');
        for (uint64_t i = 0; i < rank->samples.n; i++)
            json_out__i64(j, record__get(first + i * record_samples.width, field->kind));
        json_out__close(j, ']');
    }
    json_out__close(j, '}');
}

static void put_table(struct json_writer *w, const struct record_table *table, uint32_t n,
                      const void *records)
{
    if (!n)
        return;
    json_out__key(&w->j, table->name);
    put_records(w, table, n, records);
}

static void put_ranks(struct json_writer *w)
{
    bool any = false;

    for (uint32_t i = 0; i < w->p->n_ranks; i++) {
        const struct rank *rank = &w->p->ranks[i];

        any |= rank->ticks >= 0 || rank->unmatched || rank->begun_before || rank->depth_overflow ||
               rank->inherited_dropped;
    }
    if (!any)
        return;
    json_out__key(&w->j, record_ranks.name);
    json_out__open(&w->j, '[');
    for (uint32_t i = 0; i < w->p->n_ranks; i++) {
        struct rank_record record;

        if (!chosen(w, &w->p->ranks[i]))
            continue;
        rank_record__of(&w->p->ranks[i], &record);
        json_out__open(&w->j, '{');
        for (size_t k = 0; k < record_ranks.n_fields; k++)
            put_field(w, &record_ranks.fields[k], (const char *)&record + record_ranks.fields[k].offset);
        json_out__close(&w->j, '}');
    }
    json_out__close(&w->j, ']');
}

/* Samples and losses name regions by their place in this list. */
static void put_region_list(struct json_writer *w)
{
    json_out__key(&w->j, "region_names");
    json_out__open(&w->j, '[');
    for (uint32_t i = 0; i < w->p->n_regions; i++) {
        json_out__open(&w->j, '{');
        put_name(w, "name", "name_hex", i);
        json_out__close(&w->j, '}');
    }
    json_out__close(&w->j, ']');
}

static void put_ours(struct json_writer *w)
{
    const struct profile *p = w->p;

    json_out__key(&w->j, "scope_bpf");
    json_out__open(&w->j, '{');
    if (p->how_ended.len)
        json_out__string_at(&w->j, "how_ended", p->how_ended);
    put_region_list(w);
    put_ranks(w);
    put_table(w, &record_losses, p->n_losses, p->losses);
    put_table(w, &record_notes, p->n_notes, p->notes);
    put_table(w, &record_processes, p->n_processes, p->processes);
    per_rank(w, "samples", has_samples, put_samples);
    per_rank(w, "likwid_environment", has_likwid_env, put_likwid_env);
    json_out__close(&w->j, '}');
}

/* ---- the document
 * --------------------------------------------------------------------------------------------- */

static const char exporter[] = "scope-report@" SCOPE_BPF_VERSION;

static void put_document(struct json_writer *w)
{
    struct json_out *j = &w->j;

    json_out__open(j, '{');
    json_out__key(j, "format");
    json_out__string(j, (struct text){JSON_PROFILE_FORMAT, sizeof(JSON_PROFILE_FORMAT) - 1});
    json_out__i64_at(j, "format_version", JSON_PROFILE_VERSION);
    json_out__string_at(j, "exporter", (struct text){exporter, sizeof(exporter) - 1});
    json_out__string_at(j, "time_unit", (struct text){"nanoseconds", 11});
    json_out__i64_at(j, "num_ranks", num_ranks(w));
    json_out__key(j, "event_data_available");
    json_out__bool(j, true);
    put_metas(j, "metadata", w->p->meta, w->p->n_meta);
    put_rows(w);
    per_rank(w, "threads", has_threads, put_threads);
    per_rank(w, "tasks", has_tasks, put_tasks);
    per_rank(w, "likwid", has_likwid, put_likwid);
    per_rank(w, "line_profile", has_lines, put_lines);
    per_rank(w, "perf_events", has_perf, put_perf);
    put_ours(w);
    json_out__close(j, '}');
    out__bytes(j->out, "\n", 1);
}

static int write_document(const struct profile *p, const char *path, bool gzip,
                          const struct write_options *options, struct err *err)
{
    struct json_writer w = {.p = p, .options = options};
    int code;

    w.scratch = arena__new();
    if (w.scratch)
        w.names = names__shown_regions(w.scratch, p, &w.exact);
    if (!w.names) {
        arena__free(w.scratch);
        return err__set(err, ENOMEM, "%s: not enough memory", path);
    }
    code = out__open(&w.j.out, path, gzip, err);
    if (!code) {
        put_document(&w);
        code = out__close(w.j.out, err);
    }
    arena__free(w.scratch);
    return code;
}

static int write_plain(const struct profile *p, const char *path, const struct write_options *options,
                       struct err *err)
{
    return write_document(p, path, false, options, err);
}

static int write_gzip(const struct profile *p, const char *path, const struct write_options *options,
                      struct err *err)
{
    return write_document(p, path, true, options, err);
}

const struct format format_json = {
    .name = "json",
    .suffix = ".json",
    .help = "JSON profile: everything, all ranks",
    .match = json__match,
    .read = json__read,
    .write = write_plain,
};

const struct format format_json_gz = {
    .name = "json.gz",
    .suffix = ".json.gz",
    .help = "the same, compressed",
    .write = write_gzip,
};
