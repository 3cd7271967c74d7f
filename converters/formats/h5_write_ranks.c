// SPDX-License-Identifier: GPL-2.0-only
/* HDF5 profiles: metadata, the tables of threads and tasks, and what a rank has beside its calls. */
#include "converters/names.h"
#include "h5_put.h"

#include <stdio.h>
#include <string.h>

/* ---- metadata
 * ------------------------------------------------------------------------------------------------- */

static void put_meta(struct h5_writer *w, hid_t in, const struct meta *meta)
{
    struct text key = text__shown(w->scratch, meta->key);

    if (!key.s || !key.len)
        return;
    switch (meta->kind) {
    case META_TEXT: h5_put__text_attribute(w, in, key.s, meta->text); break;
    case META_INT: h5_put__int_attribute(w, in, key.s, meta->integer); break;
    case META_FLOAT: h5_put__float_attribute(w, in, key.s, meta->real); break;
    case META_LIST: h5_put__list_attribute(w, in, key.s, meta->n_list, meta->list); break;
    }
}

/* Keys that begin with "scope." are ours and stand in /scope_bpf, where the reference does not look. */
static void put_metas(struct h5_writer *w, hid_t in, const struct meta *list, uint32_t n, bool ours)
{
    for (uint32_t i = 0; i < n; i++) {
        if (h5__is_ours(&list[i]) == ours)
            put_meta(w, in, &list[i]);
    }
}

void h5_put__metadata(struct h5_writer *w)
{
    AUTO_GROUP group = h5_put__group(w, w->file, "metadata");

    put_metas(w, group, w->p->meta, w->p->n_meta, false);
}

void h5_put__our_metadata(struct h5_writer *w, hid_t in)
{
    put_metas(w, in, w->p->meta, w->p->n_meta, true);
}

/* ---- threads and tasks: one table each, all ranks
 * ----------------------------------------------------------- */

struct lanes {
    const struct record_table *table;
    size_t array, count; /* within struct rank */
};

static const struct lanes thread_lanes = {&record_threads, offsetof(struct rank, threads),
                                          offsetof(struct rank, n_threads)};
static const struct lanes task_lanes = {&record_tasks, offsetof(struct rank, tasks),
                                        offsetof(struct rank, n_tasks)};

static uint32_t lanes_of(const struct lanes *lanes, const struct rank *rank)
{
    return *(const uint32_t *)((const char *)rank + lanes->count);
}

/* The records of all ranks that are written, one behind the other, and each one's rank. */
static char *gather(struct h5_writer *w, const struct lanes *lanes, uint64_t *ret_n, uint32_t **ret_ranks)
{
    size_t width = lanes->table->width;
    uint64_t n = 0, at = 0;
    char *all;

    for (uint32_t i = 0; i < w->p->n_ranks; i++)
        n += write_options__rank(w->options, w->p->ranks[i].number) ? lanes_of(lanes, &w->p->ranks[i]) : 0;
    all = h5_put__alloc(w, n, width);
    *ret_ranks = h5_put__alloc(w, n, sizeof(**ret_ranks));
    for (uint32_t i = 0; i < w->p->n_ranks && !w->code; i++) {
        const struct rank *rank = &w->p->ranks[i];
        uint32_t count = lanes_of(lanes, rank);

        if (!count || !write_options__rank(w->options, rank->number))
            continue;
        memcpy(all + at * width, *(void *const *)((const char *)rank + lanes->array), count * width);
        for (uint32_t k = 0; k < count; k++)
            (*ret_ranks)[at + k] = (uint32_t)rank->number;
        at += count;
    }
    *ret_n = n;
    return all;
}

static void put_lanes(struct h5_writer *w, const struct lanes *lanes)
{
    uint64_t n;
    uint32_t *ranks;
    char *all = gather(w, lanes, &n, &ranks);

    if (w->code || !n)
        return;
    AUTO_GROUP group = h5_put__group(w, w->file, lanes->table->name);

    h5_put__column(w, group, "ranks", H5T_NATIVE_UINT32, n, sizeof(*ranks), ranks);
    h5_put__fields(w, group, lanes->table, n, all);
}

void h5_put__lanes(struct h5_writer *w)
{
    put_lanes(w, &thread_lanes);
    put_lanes(w, &task_lanes);
}

/* ---- groups of a rank
 * ----------------------------------------------------------------------------------------- */

/*
 * Names of groups made from names of regions: a slash would make groups within groups, "" and "." are no
 * names. All different; the exact name stands in an attribute.
 */
static struct text *link_names(struct h5_writer *w, const struct text *first, size_t stride, uint32_t n)
{
    struct text *names = h5_put__alloc(w, n, sizeof(*names)), *shown;

    for (uint32_t i = 0; i < n && names; i++) {
        const struct text *name = (const struct text *)((const char *)first + i * stride);
        char *copy = h5_put__alloc(w, name->len + 2, 1);

        if (!copy)
            return NULL;
        if (name->len)
            memcpy(copy, name->s, name->len);
        for (char *c = copy; *c; c++)
            *c = *c == '/' ? '|' : *c;
        if (!name->len || !strcmp(copy, "."))
            memcpy(copy, "~", 2);
        names[i] = (struct text){copy, (uint32_t)strlen(copy)};
    }
    shown = w->code ? NULL : names__shown(w->scratch, names, n, NULL);
    if (!shown)
        h5_put__no_memory(w);
    return shown;
}

static void put_perf(struct h5_writer *w, hid_t in, const struct rank *rank)
{
    struct text *names = link_names(w, &rank->perf->region, sizeof(*rank->perf), rank->n_perf);
    AUTO_GROUP all = h5_put__group(w, in, "perf_events");

    for (uint32_t i = 0; i < rank->n_perf && !w->code; i++) {
        const struct perf_region *perf = &rank->perf[i];
        AUTO_GROUP group = h5_put__group(w, all, names[i].s);

        h5_put__int_attribute(w, group, "calls", (int64_t)perf->calls);
        h5_put__list_attribute(w, group, "event_names", perf->n_events, perf->events);
        h5_put__text_attribute(w, group, "region", perf->region);
        h5_put__bytes_attribute(w, group, "region_bytes", perf->region);
        h5_put__column(w, group, "values", H5T_NATIVE_UINT64, perf->n_events, sizeof(uint64_t), perf->values);
    }
}

static void put_likwid_region(struct h5_writer *w, hid_t in, const char *name,
                              const struct likwid_region *region)
{
    uint32_t threads = region->n_threads;
    AUTO_GROUP group = h5_put__group(w, in, name);

    h5_put__text_attribute(w, group, "tag", region->tag);
    h5_put__bytes_attribute(w, group, "tag_bytes", region->tag);
    h5_put__int_attribute(w, group, "group_id", region->group_id);
    h5_put__text_attribute(w, group, "group_name", region->group_name);
    h5_put__text_attribute(w, group, "source", region->source);
    h5_put__list_attribute(w, group, "event_names", region->n_events, region->event_names);
    h5_put__list_attribute(w, group, "counter_names", region->n_counters, region->counter_names);
    h5_put__list_attribute(w, group, "metric_names", region->n_metrics, region->metric_names);
    h5_put__i64s(w, group, "cpus", region->n_cpus, region->cpus);
    h5_put__column(w, group, "times", H5T_NATIVE_DOUBLE, threads, sizeof(double), region->times);
    h5_put__i64s(w, group, "call_counts", threads, region->call_counts);
    h5_put__matrix(w, group, "events", region->n_events, threads, region->events);
    h5_put__matrix(w, group, "metrics", region->n_metrics, threads, region->metrics);
}

static void put_likwid(struct h5_writer *w, hid_t in, const struct rank *rank)
{
    struct text *names = link_names(w, &rank->likwid->tag, sizeof(*rank->likwid), rank->n_likwid);
    AUTO_GROUP group = h5_put__group(w, in, "likwid");

    for (uint32_t i = 0; i < rank->n_likwid_env && !w->code; i++)
        put_meta(w, group, &rank->likwid_env[i]);
    h5_put__int_attribute(w, group, "num_regions", rank->n_likwid);
    AUTO_GROUP regions = h5_put__group(w, group, "regions");

    for (uint32_t i = 0; i < rank->n_likwid && !w->code; i++)
        put_likwid_region(w, regions, names[i].s, &rank->likwid[i]);
}

static void put_lines(struct h5_writer *w, hid_t in, const struct line_profile *lines)
{
    h5_put__text_attribute(w, in, "region", lines->region);
    h5_put__bytes_attribute(w, in, "region_bytes", lines->region);
    h5_put__text_attribute(w, in, "filename", lines->filename);
    h5_put__text_attribute(w, in, "function", lines->function);
    h5_put__int_attribute(w, in, "first_lineno", lines->first_lineno);
    h5_put__float_attribute(w, in, "unit", lines->unit);
    if (lines->has_source) {
        h5_put__text_attribute(w, in, "source", lines->source);
        h5_put__int_attribute(w, in, "source_first_lineno", lines->source_first_lineno);
    }
    h5_put__i64s(w, in, "line_numbers", lines->n, lines->line_numbers);
    h5_put__i64s(w, in, "hits", lines->n, lines->hits);
    h5_put__column(w, in, "times", H5T_NATIVE_DOUBLE, lines->n, sizeof(double), lines->times);
}

static void put_line_profile(struct h5_writer *w, hid_t in, const struct rank *rank)
{
    AUTO_GROUP group = h5_put__group(w, in, "line_profile");

    for (uint32_t i = 0; i < rank->n_lines && !w->code; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%u", i);
        AUTO_GROUP one = h5_put__group(w, group, name);

        put_lines(w, one, &rank->lines[i]);
    }
}

void h5_put__rank_groups(struct h5_writer *w)
{
    for (uint32_t i = 0; i < w->p->n_ranks && !w->code; i++) {
        const struct rank *rank = &w->p->ranks[i];
        char name[32];

        if (!write_options__rank(w->options, rank->number))
            continue;
        if (!rank->n_perf && !rank->n_likwid && !rank->n_likwid_env && !rank->n_lines)
            continue;
        snprintf(name, sizeof(name), "rank%d", rank->number);
        AUTO_GROUP group = h5_put__group(w, w->file, name);

        if (rank->n_perf)
            put_perf(w, group, rank);
        if (rank->n_likwid || rank->n_likwid_env)
            put_likwid(w, group, rank);
        if (rank->n_lines)
            put_line_profile(w, group, rank);
    }
}
