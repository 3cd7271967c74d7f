/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Readers refuse what cannot be right whatever it means: bounds, lengths, doubled rows.  Here is what only makes
 * sense of the whole: order, nesting, clocks, ids, totals.
 */
#include "converters/views/info.h"
#include "converters/views/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_OVERLAPPING 8

struct check {
    const struct profile *p;
    const char *path;
    struct rank_rows rows;
    struct err *err;
};

static int broken(const struct check *c, const struct row *row, uint64_t call, const char *what)
{
    const struct text name = c->p->regions[row->region].name;

    return err__set(c->err, EINVAL, "%s: rank %d, region '%.*s', call %" PRIu64 " [%" PRId64 ", %" PRId64 "] ns: %s", c->path,
                    c->p->ranks[row->rank].number, (int)(name.len > 120 ? 120 : name.len), name.s ? name.s : "",
                    call - row->offset, column_i64(&c->p->start)[call], column_i64(&c->p->end)[call], what);
}

static int broken_row(const struct check *c, const struct row *row, const char *what)
{
    const struct text name = c->p->regions[row->region].name;

    return err__set(c->err, EINVAL, "%s: rank %d, region '%.*s': %s", c->path, c->p->ranks[row->rank].number,
                    (int)(name.len > 120 ? 120 : name.len), name.s ? name.s : "", what);
}

static bool is_source(const struct profile *p, const char *name)
{
    return p->source.len == strlen(name) && !memcmp(p->source.s, name, p->source.len);
}

static int check_times(const struct check *c, const struct row *row)
{
    const int64_t *s = column_i64(&c->p->start), *e = column_i64(&c->p->end);
    bool ordered = is_source(c->p, "spt");

    for (uint64_t i = row->offset; i < row->offset + row->count; i++) {
        if (e[i] < s[i])
            return broken(c, row, i, "it ends before it starts");
        if (ordered && i > row->offset && s[i] < s[i - 1])
            return broken(c, row, i, "it starts before the call in front of it (calls stand in order of their start)");
    }
    return 0;
}

static int check_aggregate(const struct check *c, const struct row *row)
{
    const struct aggregate *a = &row->aggregate;

    if (!a->present || !a->count)
        return 0;
    if (a->min_ns > a->max_ns)
        return broken_row(c, row, "its shortest call is longer than its longest");
    if (a->total_ns < 0 || a->max_ns > a->total_ns)
        return broken_row(c, row, "its longest call is longer than all together");
    if (a->min_ns > 0 && (unsigned __int128)a->min_ns * a->count > (unsigned __int128)a->total_ns)
        return broken_row(c, row, "its total is less than its calls times the shortest");
    return 0;
}

/* ---- nesting ------------------------------------------------------------------------------------------------------- */
static bool has_flag(const struct check *c, uint32_t rank, int64_t flag)
{
    for (uint64_t i = c->rows.first[rank]; i < c->rows.first[rank + 1]; i++) {
        const struct row *row = &c->p->rows[c->rows.rows[i]];

        for (uint64_t k = row->offset; row->has >> COLUMN_FLAGS & 1 && k < row->offset + row->count; k++) {
            if (column_i64(&c->p->extra[COLUMN_FLAGS])[k] & flag)
                return true;
        }
    }
    return false;
}

static int check_nesting(const struct check *c, uint32_t rank)
{
    struct stacks_options options = {.split = has_flag(c, rank, FLAG_OVERLAPPING)};
    struct stacks_visitor nothing = {0};
    struct err found = {0};
    int rc = stacks__walk(c->p, &c->rows, rank, &options, &nothing, NULL, &found);

    if (!rc)
        return 0;
    if (strstr(found.text, c->path))
        err__set(c->err, EINVAL, "%s", found.text);
    else
        err__set(c->err, EINVAL, "%.160s: %.340s", c->path, found.text);
    return rc == -EILSEQ ? -EINVAL : rc;
}

/* ---- ids ------------------------------------------------------------------------------------------------------------- */
struct id {
    int64_t id;
    uint64_t call, row;
};

static int compare_ids(const void *a, const void *b, void *arg)
{
    const struct id *x = a, *y = b;

    (void)arg;
    return (x->id > y->id) - (x->id < y->id);
}

static const struct id *find_id(const struct column *ids, int64_t id)
{
    const struct id *list = ids->data;
    uint64_t low = 0, high = ids->n;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (list[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < ids->n && list[low].id == id ? &list[low] : NULL;
}

static int collect_ids(const struct check *c, uint32_t rank, struct column *ids)
{
    for (uint64_t i = c->rows.first[rank]; i < c->rows.first[rank + 1]; i++) {
        const struct row *row = &c->p->rows[c->rows.rows[i]];

        for (uint64_t k = row->offset; row->has >> COLUMN_CALL_ID & 1 && k < row->offset + row->count; k++) {
            struct id *id;

            if (column_i64(&c->p->extra[COLUMN_CALL_ID])[k] < 0)
                continue; /* the filling of a rank that has none */
            id = column__append(ids);
            if (!id)
                return -ENOMEM;
            *id = (struct id){column_i64(&c->p->extra[COLUMN_CALL_ID])[k], k, c->rows.rows[i]};
        }
    }
    return column__sort(ids, compare_ids, NULL);
}

static int check_parent(const struct check *c, const struct id *child, const struct column *ids)
{
    const struct row *row = &c->p->rows[child->row];
    const int64_t *s = column_i64(&c->p->start), *e = column_i64(&c->p->end);
    const struct id *parent;
    int64_t id;

    if (!(row->has >> COLUMN_PARENT_ID & 1))
        return 0;
    id = column_i64(&c->p->extra[COLUMN_PARENT_ID])[child->call];
    if (id < 0)
        return 0;
    parent = find_id(ids, id);
    if (!parent)
        return broken(c, row, child->call, "no call has the id of its parent");
    if (parent->call == child->call)
        return broken(c, row, child->call, "it is its own parent");
    if (s[child->call] < s[parent->call] || s[child->call] > e[parent->call])
        return broken(c, row, child->call, "it does not start within its parent");
    return 0;
}

static int check_ids(const struct check *c, uint32_t rank)
{
    struct column ids;
    const struct id *list;
    int rc;

    column__init(&ids, sizeof(struct id));
    rc = collect_ids(c, rank, &ids);
    if (rc)
        err__set(c->err, -rc, "%s: call ids: %s", c->path, strerror(-rc));
    list = ids.data;
    for (uint64_t i = 1; !rc && i < ids.n; i++) {
        if (list[i].id == list[i - 1].id)
            rc = broken(c, &c->p->rows[list[i].row], list[i].call, "another call of the rank has its id");
    }
    for (uint64_t i = 0; !rc && i < ids.n; i++)
        rc = check_parent(c, &list[i], &ids);
    column__deinit(&ids);
    return rc;
}

/* ---- lanes, totals ------------------------------------------------------------------------------------------------- */
static int check_threads(const struct check *c, uint32_t rank)
{
    const struct rank *r = &c->p->ranks[rank];

    for (uint32_t i = 0; i < r->n_threads; i++) {
        const struct thread_row *t = &r->threads[i];

        if (t->end_ns >= 0 && t->end_ns < t->start_ns)
            return err__set(c->err, EINVAL, "%s: rank %d, thread %" PRId64 ": it ends before it starts", c->path, r->number,
                            t->index);
        for (uint32_t k = 0; k < i && r->n_threads < 4096; k++) {
            if (r->threads[k].index == t->index)
                return err__set(c->err, EINVAL, "%s: rank %d: two threads have the number %" PRId64, c->path, r->number,
                                t->index);
        }
    }
    return 0;
}

static int check_exclusive(const struct check *c, const struct stats *s)
{
    for (uint64_t i = 0; i < c->p->n_rows; i++) {
        const struct row *row = &c->p->rows[i];

        if (!row->has_exclusive || row->exclusive_total < 0 || row->aggregate.present)
            continue;
        if (row->exclusive_total > s->rows[i].total)
            return broken_row(c, row, "its exclusive time is longer than its calls");
    }
    return 0;
}

static int check_totals(const struct check *c)
{
    struct view_options all = {0};
    struct stats s;
    int rc = stats__init(&s, c->p, &all, c->err);

    if (!rc)
        rc = check_exclusive(c, &s);
    stats__deinit(&s);
    return rc;
}

static int check_clock(const struct check *c)
{
    const struct meta *start = profile__meta(c->p, "start_time_ns"), *end = profile__meta(c->p, "finalize_time_ns");

    if (start && end && start->kind == META_INT && end->kind == META_INT && end->integer && end->integer < start->integer)
        return err__set(c->err, EINVAL, "%s: metadata: the run ends (finalize_time_ns) before it starts (start_time_ns)",
                        c->path);
    return 0;
}

int validate__profile(const struct profile *p, const char *path, struct err *err)
{
    struct check c = {.p = p, .path = path, .err = err};
    int rc = rank_rows__init(&c.rows, p);

    if (rc)
        return err__set(err, -rc, "%s: %s", path, rc == -ENOMEM ? "out of memory" : "a row has no rank");
    rc = check_clock(&c);
    for (uint64_t i = 0; !rc && i < p->n_rows; i++) {
        rc = check_times(&c, &p->rows[i]);
        rc = rc ? rc : check_aggregate(&c, &p->rows[i]);
    }
    for (uint32_t k = 0; !rc && k < p->n_ranks; k++) {
        rc = check_threads(&c, k);
        rc = rc ? rc : check_nesting(&c, k);
        rc = rc ? rc : check_ids(&c, k);
    }
    rc = rc ? rc : check_totals(&c);
    rank_rows__deinit(&c.rows);
    return rc;
}
