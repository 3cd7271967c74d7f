// SPDX-License-Identifier: GPL-2.0-only
/* HDF5 profiles: threads and tasks, the groups of a rank, and schema 1, which kept everything there. */
#include "h5_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads and tasks
 * ---------------------------------------------------------------------------------------- */

static struct rank *rank_of(struct h5_reader *r, int64_t number)
{
    int64_t at = number < 0 || number > INT32_MAX ? -1 : profile__rank(r->p, (int32_t)number);

    if (at >= 0)
        return &r->p->ranks[at];
    h5_get__fail(r, "ranks", "%lld is no rank", (long long)number);
    return NULL;
}

/* The records of all ranks, each to its rank. */
static void read_lanes(struct h5_reader *r, const struct record_table *table, bool threads)
{
    AUTO_GROUP group = h5_get__group(r, r->file, table->name, false);
    uint64_t n;
    int64_t *ranks;
    char *records;

    snprintf(r->place, sizeof(r->place), "%s", table->name);
    if (group >= 0 && h5_get__length(r, group, "ranks", &n)) {
        ranks = h5_get__i64s(r, group, "ranks", n, true, false);
        records = h5_get__fields(r, group, table, n);
        for (uint64_t i = 0; i < n && !r->code; i++) {
            struct rank *rank = rank_of(r, ranks[i]);
            void *to = NULL;

            if (rank && threads)
                to = profile__append(r->p, &rank->threads, &rank->n_threads, table->width);
            else if (rank)
                to = profile__append(r->p, &rank->tasks, &rank->n_tasks, table->width);
            if (to)
                memcpy(to, records + i * table->width, table->width);
            else
                h5_get__no_memory(r);
        }
    }
    r->place[0] = '\0';
}

void h5_get__lanes(struct h5_reader *r)
{
    read_lanes(r, &record_threads, true);
    read_lanes(r, &record_tasks, false);
}

/* ---- counters
 * ------------------------------------------------------------------------------------------------- */

static void read_perf_region(struct h5_reader *r, hid_t group, const char *name, struct rank *rank)
{
    struct perf_region *perf = profile__append(r->p, &rank->perf, &rank->n_perf, sizeof(*perf));

    if (!perf) {
        h5_get__no_memory(r);
        return;
    }
    perf->region = h5_get__name_attribute(r, group, "region", "region_bytes", name);
    perf->calls = (uint64_t)h5_get__int_attribute(r, group, "calls", 0);
    perf->events = h5_get__list_attribute(r, group, "event_names", &perf->n_events);
    perf->values = (uint64_t *)h5_get__i64s(r, group, "values", perf->n_events, true, true);
}

#define NESTED_MAX 64

struct perf_walk {
    struct rank *rank;
    char path[4096]; /* of the group, for names that a slash has cut into groups */
    int depth;
};

/* The reference writes a region's name as it is: "a/b" becomes a group within a group. */
static void on_perf(struct h5_reader *r, hid_t in, const char *name, void *arg)
{
    struct perf_walk *walk = arg;
    size_t before = strlen(walk->path);

    if (h5_get__is_set(r, in, name))
        return;
    AUTO_GROUP group = h5_get__group(r, in, name, false);

    if (r->code || group < 0)
        return;
    if (walk->depth == NESTED_MAX || before + strlen(name) + 2 > sizeof(walk->path)) {
        h5_get__fail(r, name, "lies too deep");
        return;
    }
    sprintf(walk->path + before, "%s%s", before ? "/" : "", name);
    if (h5_get__exists(r, group, "values"))
        read_perf_region(r, group, walk->path, walk->rank);
    walk->depth++;
    h5_get__links(r, group, on_perf, walk);
    walk->depth--;
    walk->path[before] = '\0';
}

static void read_perf(struct h5_reader *r, hid_t in, struct rank *rank)
{
    AUTO_GROUP group = h5_get__group(r, in, "perf_events", false);
    struct perf_walk *walk;

    if (group < 0)
        return;
    walk = calloc(1, sizeof(*walk));
    if (!walk) {
        h5_get__no_memory(r);
        return;
    }
    walk->rank = rank;
    h5_get__links(r, group, on_perf, walk);
    free(walk);
}

/* ---- LIKWID
 * --------------------------------------------------------------------------------------------------- */

/* names × threads; a set without elements stands for zeros when there are no threads or no names. */
static double *read_matrix(struct h5_reader *r, hid_t group, const char *name, uint64_t rows,
                           uint64_t columns)
{
    return h5_get__doubles(r, group, name, rows * columns, rows && columns);
}

static void on_likwid(struct h5_reader *r, hid_t in, const char *name, void *arg)
{
    struct rank *rank = arg;
    struct likwid_region *region;
    uint64_t threads = 0, cpus = 0;
    AUTO_GROUP group = h5_get__group(r, in, name, false);

    if (r->code || group < 0)
        return;
    region = profile__append(r->p, &rank->likwid, &rank->n_likwid, sizeof(*region));
    if (!region) {
        h5_get__no_memory(r);
        return;
    }
    region->tag = h5_get__name_attribute(r, group, "tag", "tag_bytes", "");
    region->group_id = h5_get__int_attribute(r, group, "group_id", -1);
    region->group_name = h5_get__text_attribute(r, group, "group_name");
    region->source = h5_get__text_attribute(r, group, "source");
    region->event_names = h5_get__list_attribute(r, group, "event_names", &region->n_events);
    region->counter_names = h5_get__list_attribute(r, group, "counter_names", &region->n_counters);
    region->metric_names = h5_get__list_attribute(r, group, "metric_names", &region->n_metrics);
    h5_get__length(r, group, "cpus", &cpus);
    h5_get__length(r, group, "times", &threads);
    if (threads > UINT32_MAX || (cpus && cpus != threads))
        h5_get__fail(r, name, "has %llu cpus and %llu times", (unsigned long long)cpus,
                     (unsigned long long)threads);
    region->n_threads = (uint32_t)threads;
    region->n_cpus = (uint32_t)cpus;
    region->cpus = h5_get__i64s(r, group, "cpus", cpus, true, false);
    region->times = h5_get__doubles(r, group, "times", threads, true);
    region->call_counts = h5_get__i64s(r, group, "call_counts", threads, true, false);
    region->events = read_matrix(r, group, "events", region->n_events, threads);
    region->metrics = read_matrix(r, group, "metrics", region->n_metrics, threads);
}

static void read_likwid(struct h5_reader *r, hid_t in, struct rank *rank)
{
    AUTO_GROUP group = h5_get__group(r, in, "likwid", false);

    if (group < 0)
        return;
    AUTO_GROUP regions = h5_get__group(r, group, "regions", false);

    h5_get__metas(r, group, "num_regions", NULL, &rank->likwid_env, &rank->n_likwid_env);
    h5_get__links(r, regions, on_likwid, rank);
}

/* ---- lines
 * ---------------------------------------------------------------------------------------------------- */

static void on_lines(struct h5_reader *r, hid_t in, const char *name, void *arg)
{
    struct rank *rank = arg;
    struct line_profile *lines;
    uint64_t n = 0;
    AUTO_GROUP group = h5_get__group(r, in, name, false);

    if (r->code || group < 0)
        return;
    lines = profile__append(r->p, &rank->lines, &rank->n_lines, sizeof(*lines));
    if (!lines) {
        h5_get__no_memory(r);
        return;
    }
    lines->region = h5_get__name_attribute(r, group, "region", "region_bytes", "");
    lines->filename = h5_get__text_attribute(r, group, "filename");
    lines->function = h5_get__text_attribute(r, group, "function");
    lines->first_lineno = h5_get__int_attribute(r, group, "first_lineno", 0);
    lines->unit = h5_get__float_attribute(r, group, "unit", 1);
    lines->source = h5_get__text_attribute(r, group, "source");
    lines->source_first_lineno = h5_get__int_attribute(r, group, "source_first_lineno", -1);
    lines->has_source = lines->source.s && lines->source_first_lineno >= 0;
    h5_get__length(r, group, "line_numbers", &n);
    if (n > UINT32_MAX)
        h5_get__fail(r, name, "is too long");
    lines->n = (uint32_t)n;
    lines->line_numbers = h5_get__i64s(r, group, "line_numbers", n, true, false);
    lines->hits = h5_get__i64s(r, group, "hits", n, true, false);
    lines->times = h5_get__doubles(r, group, "times", n, true);
}

/* ---- schema 1
 * ------------------------------------------------------------------------------------------------- */

static void read_schema1_columns(struct h5_reader *r, hid_t group, struct row *row)
{
    struct profile *p = r->p;

    row->offset = p->start.n;
    h5_get__length(r, group, "start_times", &row->count);
    h5_get__append(r, group, "start_times", row->count, &p->start);
    h5_get__append(r, group, "end_times", row->count, &p->end);
    for (size_t i = 0; i < n_h5_columns && !r->code; i++) {
        enum call_column column = h5_columns[i].column;
        struct column *extra = &p->extra[column];

        if (h5_get__exists(r, group, h5_columns[i].name)) {
            if (column__fill_i64(extra, row->offset, call_column__fill(column)))
                h5_get__no_memory(r);
            h5_get__append(r, group, h5_columns[i].name, row->count, extra);
            row->has |= 1u << column;
        } else if (extra->n && profile__use_column(p, column)) {
            h5_get__no_memory(r);
        }
    }
    for (uint64_t i = 0; i < row->count && !r->code && !r->structure_only; i++) {
        if (column_i64(&p->end)[row->offset + i] < column_i64(&p->start)[row->offset + i])
            h5_get__fail(r, "end_times", "call %llu ends before it starts", (unsigned long long)i);
    }
}

/* A list attribute as the JSON text that later schemas have. */
static struct text list_as_json(struct h5_reader *r, hid_t group, const char *name)
{
    uint32_t n;
    struct text *list = h5_get__list_attribute(r, group, name, &n), text = {0};
    size_t size = 3;
    char *json, *to;

    for (uint32_t i = 0; i < n; i++)
        size += list[i].len * 6ull + 3;
    json = to = list && n ? malloc(size) : NULL;
    if (!json)
        return text;
    for (uint32_t i = 0; i < n; i++) {
        to += sprintf(to, "%s\"", i ? "," : "[");
        for (uint32_t k = 0; k < list[i].len; k++) {
            unsigned char c = (unsigned char)list[i].s[k];

            to += c < 0x20 || c == '"' || c == '\\' ? sprintf(to, "\\u%04x", c) : (*to = (char)c, 1);
        }
        *to++ = '"';
    }
    *to++ = ']';
    text = profile__text(r->p, json, (size_t)(to - json));
    if (!text.s)
        h5_get__no_memory(r);
    free(json);
    return text;
}

static void on_schema1_region(struct h5_reader *r, hid_t in, const char *name, void *arg)
{
    uint32_t rank = *(const uint32_t *)arg;
    AUTO_GROUP group = h5_get__group(r, in, name, false);
    int64_t region = r->code ? -1 : profile__region(r->p, name, strlen(name));
    struct row *row = region < 0 ? NULL : profile__add_row(r->p, (uint32_t)region, rank);

    if (r->code || group < 0)
        return;
    if (!row) {
        h5_get__no_memory(r);
        return;
    }
    snprintf(r->place, sizeof(r->place), "rank%d/regions/%.100s", r->p->ranks[rank].number, name);
    row->source_file = h5_get__text_attribute(r, group, "source_file");
    row->source_text = h5_get__text_attribute(r, group, "source_text");
    row->source_line = h5_get__int_attribute(r, group, "source_lineno", -1);
    row->tags = list_as_json(r, group, "tags");
    read_schema1_columns(r, group, row);
}

/* ---- groups of a rank
 * ----------------------------------------------------------------------------------------- */

struct rank_numbers {
    bool schema1;
    int32_t *list;
    uint32_t n;
};

static void on_rank(struct h5_reader *r, hid_t in, const char *name, void *arg)
{
    struct rank_numbers *numbers = arg;
    char *end, canonical[32];
    long number;
    int32_t *at;

    (void)in;
    if (strncmp(name, "rank", 4) || name[4] < '0' || name[4] > '9')
        return;
    number = strtol(name + 4, &end, 10);
    snprintf(canonical, sizeof(canonical), "rank%ld", number);
    if (*end)
        return;
    if (number > INT32_MAX || strcmp(canonical, name)) {
        h5_get__fail(r, name, "is no rank");
        return;
    }
    at = profile__append(r->p, &numbers->list, &numbers->n, sizeof(*at));
    if (at)
        *at = (int32_t)number;
    else
        h5_get__no_memory(r);
}

static void read_rank(struct h5_reader *r, int32_t number, bool schema1)
{
    int64_t at = profile__rank(r->p, number);
    uint32_t rank = (uint32_t)at;
    char name[32];

    if (at < 0) {
        h5_get__no_memory(r);
        return;
    }
    snprintf(name, sizeof(name), "rank%d", number);
    snprintf(r->place, sizeof(r->place), "%s", name);
    AUTO_GROUP group = h5_get__group(r, r->file, name, true);

    read_likwid(r, group, &r->p->ranks[rank]);
    read_perf(r, group, &r->p->ranks[rank]);
    AUTO_GROUP lines = h5_get__group(r, group, "line_profile", false);

    h5_get__links(r, lines, on_lines, &r->p->ranks[rank]);
    AUTO_GROUP regions = schema1 ? h5_get__group(r, group, "regions", false) : -1;

    h5_get__links(r, regions, on_schema1_region, &rank);
    r->place[0] = '\0';
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

void h5_get__rank_groups(struct h5_reader *r, bool schema1)
{
    struct rank_numbers numbers = {.schema1 = schema1};

    h5_get__links(r, r->file, on_rank, &numbers);
    if (numbers.n)
        qsort(numbers.list, numbers.n, sizeof(*numbers.list), by_number);
    for (uint32_t i = 0; i < numbers.n && !r->code; i++)
        read_rank(r, numbers.list[i], schema1);
}
