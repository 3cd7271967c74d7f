// SPDX-License-Identifier: GPL-2.0-only
/* Schemas 2 and 3: names, the index, the columns of calls; and the aggregate layout. */
#include "converters/json_check.h"
#include "h5_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of /rank_region_index, n each. */
struct index {
    uint64_t n;
    int64_t *region_ids, *ranks, *offsets, *counts, *lines, *exclusive;
    struct text *files, *texts, *tags, *metadata;
};

/* ---- names
 * ---------------------------------------------------------------------------------------------------- */

static void read_names(struct h5_reader *r)
{
    AUTO_GROUP group = h5_get__group(r, r->file, "region_table", true);
    struct text *names, *bytes;

    snprintf(r->place, sizeof(r->place), "region_table");
    if (!h5_get__length(r, group, "names", &r->n_regions))
        return;
    names = h5_get__texts(r, group, "names", r->n_regions, true);
    bytes = h5_get__texts(r, group, "name_bytes", r->n_regions, false);
    r->regions = h5_get__alloc(r, r->n_regions, sizeof(*r->regions));
    for (uint64_t i = 0; i < r->n_regions && !r->code; i++) {
        struct text name = bytes ? bytes[i] : names[i];
        uint32_t before = r->p->n_regions;
        int64_t region = memchr(name.s, 0, name.len) ? -1 : profile__region(r->p, name.s, name.len);

        if (region < 0)
            h5_get__fail(r, "names", "name %llu cannot be taken", (unsigned long long)i);
        else if (region < before)
            h5_get__fail(r, "names", "'%s' stands in it twice", name.s);
        else
            r->regions[i] = (uint32_t)region;
    }
    r->place[0] = '\0';
}

/* ---- the index
 * ------------------------------------------------------------------------------------------------ */

static void read_index(struct h5_reader *r, hid_t group, struct index *x)
{
    if (!h5_get__length(r, group, "region_ids", &x->n))
        return;
    x->region_ids = h5_get__i64s(r, group, "region_ids", x->n, true, false);
    x->ranks = h5_get__i64s(r, group, "ranks", x->n, true, false);
}

static void read_call_index(struct h5_reader *r, hid_t group, struct index *x)
{
    x->offsets = h5_get__i64s(r, group, "event_offsets", x->n, true, false);
    x->counts = h5_get__i64s(r, group, "event_counts", x->n, true, false);
    x->lines = h5_get__i64s(r, group, "source_lines", x->n, true, false);
    x->files = h5_get__texts(r, group, "source_files", x->n, true);
    x->texts = h5_get__texts(r, group, "source_texts", x->n, true);
    x->tags = h5_get__texts(r, group, "tags", x->n, true);
    x->metadata = h5_get__texts(r, group, "event_metadata", x->n, false);
    x->exclusive = h5_get__i64s(r, group, "exclusive_totals", x->n, false, false);
}

static struct row *add_row(struct h5_reader *r, const struct index *x, uint64_t i)
{
    struct row *row = NULL;
    int64_t rank;

    if (x->region_ids[i] < 0 || (uint64_t)x->region_ids[i] >= r->n_regions) {
        h5_get__fail(r, "region_ids", "row %llu names region %lld of %llu", (unsigned long long)i,
                     (long long)x->region_ids[i], (unsigned long long)r->n_regions);
        return NULL;
    }
    if (x->ranks[i] < 0 || x->ranks[i] > INT32_MAX) {
        h5_get__fail(r, "ranks", "row %llu has the impossible rank %lld", (unsigned long long)i,
                     (long long)x->ranks[i]);
        return NULL;
    }
    rank = profile__rank(r->p, (int32_t)x->ranks[i]);
    if (rank >= 0 && profile__find_row(r->p, r->regions[x->region_ids[i]], (uint32_t)rank)) {
        h5_get__fail(r, "", "row %llu: region '%s' of rank %lld has two rows", (unsigned long long)i,
                     r->p->regions[r->regions[x->region_ids[i]]].name.s, (long long)x->ranks[i]);
        return NULL;
    }
    if (rank >= 0)
        row = profile__add_row(r->p, r->regions[x->region_ids[i]], (uint32_t)rank);
    if (!row)
        h5_get__no_memory(r);
    return row;
}

static struct text unless_empty(struct text text)
{
    return text.len ? text : (struct text){0};
}

/* A JSON list, made strict (NaN becomes null). calls: it has one object for each, or nothing. */
static struct text check_list(struct h5_reader *r, const char *name, uint64_t i, struct text text,
                              int64_t calls)
{
    struct text strict = {0};
    char what[160];

    if (!text.len)
        return strict;
    if (json_check__list(r->p, text, calls, &strict, what, sizeof(what)))
        h5_get__fail(r, name, "row %llu: %s", (unsigned long long)i, what);
    return strict;
}

static void fill_row(struct h5_reader *r, const struct index *x, uint64_t i, struct row *row)
{
    int64_t offset = x->offsets[i], count = x->counts[i];

    if (offset < 0 || count < 0 || (uint64_t)count > r->n_calls ||
        (uint64_t)offset > r->n_calls - (uint64_t)count) {
        h5_get__fail(r, "event_offsets", "row %llu takes %lld calls from %lld on, of %llu",
                     (unsigned long long)i, (long long)count, (long long)offset,
                     (unsigned long long)r->n_calls);
        return;
    }
    row->offset = (uint64_t)offset;
    row->count = (uint64_t)count;
    row->source_line = x->lines[i] < 0 ? -1 : x->lines[i];
    row->source_file = unless_empty(x->files[i]);
    row->source_text = unless_empty(x->texts[i]);
    row->tags = check_list(r, "tags", i, x->tags[i], -1);
    if (x->metadata)
        row->event_metadata = check_list(r, "event_metadata", i, x->metadata[i], count);
    row->has_exclusive = x->exclusive && x->exclusive[i] >= 0;
    row->exclusive_total = row->has_exclusive ? x->exclusive[i] : -1;
}

static int by_offset(const void *a, const void *b, void *arg)
{
    const struct row *rows = arg;
    const struct row *x = &rows[*(const uint64_t *)a], *y = &rows[*(const uint64_t *)b];

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->count > y->count) - (x->count < y->count);
}

/* Rows with calls in the order of their calls; NULL after an error. ret_all: what they cover in all. */
static uint64_t *order_rows(struct h5_reader *r, uint64_t *ret_n, uint64_t *ret_all)
{
    struct profile *p = r->p;
    struct column order;
    uint64_t *copy = NULL, n = 0, all = 0;

    column__init(&order, sizeof(uint64_t));
    for (uint64_t i = 0; i < p->n_rows && !r->code; i++) {
        if (p->rows[i].count && column__append_i64(&order, (int64_t)i))
            h5_get__no_memory(r);
        all += p->rows[i].count;
    }
    if (!r->code && column__sort(&order, by_offset, p->rows))
        h5_get__no_memory(r);
    n = order.n;
    copy = h5_get__alloc(r, n, sizeof(*copy));
    for (uint64_t i = 0; i < n && copy; i++) {
        const struct row *row = &p->rows[copy[i] = (uint64_t)column_i64(&order)[i]];

        if (i && row->offset < p->rows[copy[i - 1]].offset + p->rows[copy[i - 1]].count)
            h5_get__fail(r, "event_offsets", "rows %llu and %llu overlap", (unsigned long long)copy[i - 1],
                         (unsigned long long)copy[i]);
    }
    column__deinit(&order);
    *ret_n = n;
    *ret_all = all;
    return r->code ? NULL : copy;
}

/* ---- the calls
 * ------------------------------------------------------------------------------------------------ */

static bool any_gpu(const struct profile *p, const struct row *row)
{
    const int64_t *gpu = column_i64(&p->extra[COLUMN_GPU_NS]) + row->offset;

    for (uint64_t i = 0; i < row->count; i++) {
        if (gpu[i] >= 0)
            return true;
    }
    return false;
}

static void read_extras(struct h5_reader *r, hid_t group)
{
    for (size_t i = 0; i < n_h5_columns && !r->code; i++) {
        enum call_column column = h5_columns[i].column;

        if (!h5_get__exists(r, group, h5_columns[i].name))
            continue;
        h5_get__append(r, group, h5_columns[i].name, r->n_calls, &r->p->extra[column]);
        for (uint64_t k = 0; k < r->p->n_rows && !r->code && !r->structure_only; k++) {
            struct row *row = &r->p->rows[k];

            /* A row of negative GPU times only has none. */
            if (column != COLUMN_GPU_NS || any_gpu(r->p, row))
                row->has |= 1u << column;
        }
    }
}

/* From gaps and durations to starts and ends, in place. */
static void decode(struct profile *p, const struct row *row)
{
    int64_t *start = column_i64(&p->start) + row->offset, *end = column_i64(&p->end) + row->offset;
    uint64_t at = 0;

    for (uint64_t i = 0; i < row->count; i++) {
        at += (uint64_t)start[i];
        start[i] = (int64_t)at;
        end[i] = (int64_t)(at + (uint64_t)end[i]);
    }
}

static void check_calls(struct h5_reader *r, const struct row *row)
{
    const int64_t *start = column_i64(&r->p->start) + row->offset,
                  *end = column_i64(&r->p->end) + row->offset;

    for (uint64_t i = 0; i < row->count; i++) {
        if (end[i] >= start[i])
            continue;
        h5_get__fail(r, "", "call %llu of region '%s' of rank %d ends before it starts (%lld, %lld)",
                     (unsigned long long)i, r->p->regions[row->region].name.s, r->p->ranks[row->rank].number,
                     (long long)start[i], (long long)end[i]);
        return;
    }
}

static void pull(struct column *c, const struct row *row, uint64_t to)
{
    if (c->n)
        memmove(column_i64(c) + to, column_i64(c) + row->offset, row->count * sizeof(int64_t));
}

/* Calls that belong to no row go: in the model each call has a row. */
static void close_gaps(struct profile *p, const uint64_t *order, uint64_t n)
{
    uint64_t to = 0;

    for (uint64_t i = 0; i < n; i++) {
        struct row *row = &p->rows[order[i]];

        pull(&p->start, row, to);
        pull(&p->end, row, to);
        for (int k = 0; k < N_CALL_COLUMNS; k++)
            pull(&p->extra[k], row, to);
        row->offset = to;
        to += row->count;
    }
    p->start.n = p->end.n = to;
    for (int k = 0; k < N_CALL_COLUMNS; k++)
        p->extra[k].n = p->extra[k].n ? to : 0;
}

static void read_calls(struct h5_reader *r, hid_t group, bool deltas, const uint64_t *order, uint64_t n,
                       uint64_t all)
{
    struct profile *p = r->p;

    h5_get__append(r, group, deltas ? "start_deltas" : "start_times", r->n_calls, &p->start);
    h5_get__append(r, group, deltas ? "durations" : "end_times", r->n_calls, &p->end);
    read_extras(r, group);
    if (r->structure_only)
        return;
    for (uint64_t i = 0; i < p->n_rows && !r->code; i++) {
        if (deltas)
            decode(p, &p->rows[i]);
        check_calls(r, &p->rows[i]);
    }
    if (!r->code && all < r->n_calls)
        close_gaps(p, order, n);
    for (uint64_t i = 0; i < p->n_rows && !r->code; i++) {
        if (!p->rows[i].count)
            p->rows[i].offset = 0;
    }
}

void h5_get__columnar(struct h5_reader *r)
{
    struct index x = {0};
    uint64_t n = 0, all = 0, *order;
    bool deltas;

    read_names(r);
    AUTO_GROUP index = h5_get__group(r, r->file, "rank_region_index", true);
    AUTO_GROUP events = h5_get__group(r, r->file, "events", true);

    deltas = h5_get__exists(r, events, "start_deltas");
    snprintf(r->place, sizeof(r->place), "events");
    h5_get__length(r, events, deltas ? "start_deltas" : "start_times", &r->n_calls);
    snprintf(r->place, sizeof(r->place), "rank_region_index");
    read_index(r, index, &x);
    if (!r->code)
        read_call_index(r, index, &x);
    for (uint64_t i = 0; i < x.n && !r->code; i++) {
        struct row *row = add_row(r, &x, i);

        if (row)
            fill_row(r, &x, i, row);
    }
    order = r->code ? NULL : order_rows(r, &n, &all);
    snprintf(r->place, sizeof(r->place), "events");
    if (order)
        read_calls(r, events, deltas, order, n, all);
    r->place[0] = '\0';
}

/* ---- sums without calls
 * --------------------------------------------------------------------------------------- */

void h5_get__aggregate(struct h5_reader *r)
{
    struct index x = {0};
    int64_t *counts, *totals, *minimums, *maximums, *exclusives;

    read_names(r);
    AUTO_GROUP group = h5_get__group(r, r->file, "rank_region_index", true);

    snprintf(r->place, sizeof(r->place), "rank_region_index");
    read_index(r, group, &x);
    counts = h5_get__i64s(r, group, "aggregate_counts", x.n, true, false);
    totals = h5_get__i64s(r, group, "aggregate_totals", x.n, true, false);
    minimums = h5_get__i64s(r, group, "aggregate_minimums", x.n, true, false);
    maximums = h5_get__i64s(r, group, "aggregate_maximums", x.n, true, false);
    exclusives = h5_get__i64s(r, group, "aggregate_exclusives", x.n, true, false);
    for (uint64_t i = 0; i < x.n && !r->code; i++) {
        struct row *row = add_row(r, &x, i);

        if (!row)
            return;
        if (counts[i] < 0)
            h5_get__fail(r, "aggregate_counts", "row %llu is negative", (unsigned long long)i);
        row->aggregate = (struct aggregate){
            .present = true,
            .count = (uint64_t)counts[i],
            .total_ns = totals[i],
            .min_ns = minimums[i],
            .max_ns = maximums[i],
            .exclusive_ns = exclusives[i],
        };
    }
    r->place[0] = '\0';
}
