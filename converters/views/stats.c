/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of hostile files must not wrap: they stay at the largest value. */
static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static int64_t flags_of(const struct profile *p, const struct row *row, uint64_t call)
{
    return row->has & 1u << COLUMN_FLAGS ? column_i64(&p->extra[COLUMN_FLAGS])[call] : 0;
}

/* ---- what one pass over a row gives -------------------------------------------------------------------------- */
static void count_call(struct region_stats *r, int64_t start, int64_t end, int64_t flags)
{
    int64_t d = end - start;

    r->first = r->calls && r->first < start ? r->first : start;
    r->last = r->calls && r->last > end ? r->last : end;
    r->calls++;
    r->total = add(r->total, d);
    for (unsigned f = 0; f < N_CALL_FLAGS; f++)
        r->flagged[f] += flags >> f & 1;
    if (flags)
        return;
    r->min = r->plain && r->min < d ? r->min : d;
    r->max = r->plain && r->max > d ? r->max : d;
    r->plain++;
    double delta = (double)d - r->mean;
    r->mean += delta / (double)r->plain;
    r->m2 += delta * ((double)d - r->mean);
}

static void count_row(struct region_stats *r, const struct profile *p, const struct row *row, bool all_plain)
{
    const int64_t *start = column_i64(&p->start), *end = column_i64(&p->end);

    for (uint64_t i = row->offset; i < row->offset + row->count; i++)
        count_call(r, start[i], end[i], all_plain ? 0 : flags_of(p, row, i));
    r->has_range = r->plain;
    r->has_times = r->calls;
    r->has_exclusive = true;
}

static void take_aggregate(struct region_stats *r, const struct aggregate *a)
{
    r->aggregate = true;
    r->calls = a->count;
    r->plain = a->count;
    r->total = a->total_ns;
    r->min = a->min_ns;
    r->max = a->max_ns;
    r->mean = a->count ? (double)a->total_ns / (double)a->count : 0;
    r->m2 = NAN;
    r->has_range = a->count;
    r->exclusive = a->exclusive_ns;
    r->has_exclusive = a->exclusive_ns >= 0;
}

static void merge_stats(struct region_stats *into, const struct region_stats *from)
{
    double n = (double)into->plain + (double)from->plain, delta = from->mean - into->mean;

    if (from->has_times) {
        into->first = into->has_times && into->first < from->first ? into->first : from->first;
        into->last = into->has_times && into->last > from->last ? into->last : from->last;
        into->has_times = true;
    }
    if (from->has_range) {
        into->min = into->has_range && into->min < from->min ? into->min : from->min;
        into->max = into->has_range && into->max > from->max ? into->max : from->max;
        into->has_range = true;
        into->m2 += from->m2 + delta * delta * (double)into->plain * (double)from->plain / n;
        into->mean += delta * (double)from->plain / n;
    }
    into->calls += from->calls;
    into->primitive += from->primitive;
    into->plain += from->plain;
    into->total = add(into->total, from->total);
    into->inclusive = add(into->inclusive, from->inclusive);
    into->exclusive = add(into->exclusive, from->exclusive);
    into->has_exclusive &= from->has_exclusive;
    into->aggregate |= from->aggregate;
    for (unsigned f = 0; f < N_CALL_FLAGS; f++)
        into->flagged[f] += from->flagged[f];
}

double region_stats__deviation(const struct region_stats *r)
{
    return r->plain ? sqrt(r->m2 / (double)r->plain) : NAN;
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */
static uint64_t hash_edge(int64_t parent, uint32_t region)
{
    uint64_t h = ((uint64_t)parent + 1) * 0x9e3779b97f4a7c15ull ^ region * 0xc2b2ae3d27d4eb4full;

    return h ^ h >> 29;
}

static bool grow_edges(struct stats *s)
{
    uint64_t cap = s->cap_edges ? s->cap_edges * 2 : 64, *slots = calloc(cap * 2, sizeof(*slots));
    struct stats_edge *edges = slots ? reallocarray(s->edges, cap, sizeof(*edges)) : NULL;

    if (!edges) {
        free(slots);
        return false;
    }
    for (uint64_t e = 0; e < s->n_edges; e++) {
        uint64_t i = hash_edge(edges[e].parent, edges[e].region) & (cap * 2 - 1);

        while (slots[i])
            i = (i + 1) & (cap * 2 - 1);
        slots[i] = e + 1;
    }
    free(s->edge_slots);
    s->edge_slots = slots;
    s->n_edge_slots = cap * 2;
    s->edges = edges;
    s->cap_edges = cap;
    return true;
}

static struct stats_edge *edge(struct stats *s, int64_t parent, uint32_t region)
{
    uint64_t i;

    if (s->n_edges == s->cap_edges && !grow_edges(s))
        return NULL;
    for (i = hash_edge(parent, region) & (s->n_edge_slots - 1); s->edge_slots[i]; i = (i + 1) & (s->n_edge_slots - 1)) {
        struct stats_edge *e = &s->edges[s->edge_slots[i] - 1];

        if (e->parent == parent && e->region == region)
            return e;
    }
    s->edges[s->n_edges] = (struct stats_edge){.parent = parent, .region = region};
    s->edge_slots[i] = ++s->n_edges;
    return &s->edges[s->n_edges - 1];
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */
static int leave(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct stats *s = arg;
    struct region_stats *r = &s->rows[c->row];
    struct stats_edge *e;

    (void)lane;
    r->exclusive = add(r->exclusive, stack_call__exclusive(c));
    r->has_exclusive &= !c->overlapping;
    if (c->recursive)
        return 0;
    r->primitive++;
    r->inclusive = add(r->inclusive, c->end - c->start);
    e = edge(s, above ? (int64_t)above->region : -1, c->region);
    if (!e)
        return -ENOMEM;
    e->calls++;
    e->time = add(e->time, c->end - c->start);
    return 0;
}

/* Whoever wrote the exclusive time knew more than the intervals tell: lost calls, threads. */
static void prefer_stored(struct stats *s, uint64_t r)
{
    const struct row *row = &s->p->rows[r];
    const int64_t *own = column_i64(&s->p->extra[COLUMN_EXCLUSIVE_NS]);
    struct region_stats *stats = &s->rows[r];

    if (row->has & 1u << COLUMN_EXCLUSIVE_NS) {
        stats->exclusive = 0;
        stats->has_exclusive = true;
        for (uint64_t i = row->offset; i < row->offset + row->count; i++) {
            stats->has_exclusive &= own[i] >= 0;
            stats->exclusive = add(stats->exclusive, own[i]);
        }
    } else if (row->has_exclusive && row->exclusive_total >= 0) {
        stats->exclusive = row->exclusive_total;
        stats->has_exclusive = true;
    } else if (row->has_exclusive && s->p->n_losses) {
        stats->has_exclusive = false; /* -1 beside losses: uncertain; without: nobody computed it */
    }
}

static int walk_rank(struct stats *s, uint32_t rank, struct err *err)
{
    static const struct stacks_visitor visitor = {.leave = leave};
    struct stacks_options split = {.split = true};
    int rc = stacks__walk(s->p, &s->by_rank, rank, &split, &visitor, s, err);
    bool crossed = false;

    if (rc)
        return rc;
    for (uint64_t i = s->by_rank.first[rank]; i < s->by_rank.first[rank + 1]; i++)
        crossed |= !s->rows[s->by_rank.rows[i]].has_exclusive && !s->p->rows[s->by_rank.rows[i]].aggregate.present;
    s->n_overlaps += crossed;
    for (uint64_t i = s->by_rank.first[rank]; i < s->by_rank.first[rank + 1]; i++) {
        uint64_t r = s->by_rank.rows[i];

        if (s->p->rows[r].aggregate.present)
            continue;
        if (crossed) /* what lies in two calls at once belongs to neither */
            s->rows[r].has_exclusive = false;
        prefer_stored(s, r);
    }
    return 0;
}

/* ---- lifetimes ----------------------------------------------------------------------------------------------------- */
static int64_t meta_int(const struct profile *p, const char *key, bool *known)
{
    const struct meta *m = profile__meta(p, key);

    *known = m && (m->kind == META_INT || m->kind == META_FLOAT);
    return !*known ? 0 : m->kind == META_INT ? m->integer : (int64_t)m->real;
}

static void span_of_calls(const struct stats *s, uint32_t rank, int64_t *first, int64_t *last)
{
    bool any = false;

    for (uint64_t i = s->by_rank.first[rank]; i < s->by_rank.first[rank + 1]; i++) {
        const struct region_stats *r = &s->rows[s->by_rank.rows[i]];

        if (!r->has_times)
            continue;
        *first = any && *first < r->first ? *first : r->first;
        *last = any && *last > r->last ? *last : r->last;
        any = true;
    }
}

static int64_t lifetime_of(const struct stats *s, uint32_t rank)
{
    const struct rank *k = &s->p->ranks[rank];
    bool has_start, has_end;
    int64_t start = meta_int(s->p, "start_time_ns", &has_start), end = meta_int(s->p, "finalize_time_ns", &has_end);
    int64_t first = 0, last = 0, sum = 0;

    span_of_calls(s, rank, &first, &last);
    for (uint32_t t = 0; t < k->n_threads; t++) {
        int64_t until = k->threads[t].end_ns;

        if (until < 0)
            until = has_end && has_start ? end - start : last - start;
        if (until > k->threads[t].start_ns)
            sum = add(sum, until - k->threads[t].start_ns);
    }
    if (sum > 0)
        return sum;
    if (has_start && has_end && start <= first && end >= last && end > start)
        return end - start;
    return last - first;
}

/* ---- all together ------------------------------------------------------------------------------------------------------ */
static bool percentiles_of(struct stats *s, struct region_stats *into, const struct duration_range *ranges, uint64_t n)
{
    static const unsigned percent[] = {50, 95, 99};
    struct durations d = {s->p, ranges, n, into->plain, into->min, into->max};
    int64_t v[3];

    if (!into->plain || into->aggregate)
        return true;
    if (!durations__percentiles(&d, percent, 3, v))
        return false;
    into->p50 = v[0];
    into->p95 = v[1];
    into->p99 = v[2];
    into->has_percentiles = true;
    return true;
}

static struct duration_range range_of(const struct stats *s, const struct row *row)
{
    return (struct duration_range){row->offset, row->count, !s->all_plain && row__has(row, COLUMN_FLAGS)};
}

/* Rows of one region side by side: a counting sort as for ranks. */
static int merge_regions(struct stats *s)
{
    const struct profile *p = s->p;
    struct duration_range *ranges = calloc(p->n_rows + 1, sizeof(*ranges));
    uint64_t *first = calloc((size_t)p->n_regions + 3, sizeof(*first));
    bool ok = ranges && first;

    for (uint64_t r = 0; ok && r < p->n_rows; r++)
        first[p->rows[r].region + 2] += s->ranks_wanted[p->rows[r].rank];
    for (uint32_t g = 2; ok && g < p->n_regions + 1; g++)
        first[g] += first[g - 1];
    for (uint32_t g = 0; ok && g < p->n_regions; g++)
        s->regions[g].has_exclusive = true;
    for (uint64_t r = 0; ok && r < p->n_rows; r++) {
        struct duration_range range = range_of(s, &p->rows[r]);

        if (!s->ranks_wanted[p->rows[r].rank])
            continue;
        ranges[first[p->rows[r].region + 1]++] = range;
        merge_stats(&s->regions[p->rows[r].region], &s->rows[r]);
        ok = percentiles_of(s, &s->rows[r], &range, 1);
    }
    for (uint32_t g = 0; ok && g < p->n_regions; g++)
        ok = percentiles_of(s, &s->regions[g], ranges + first[g], first[g + 1] - first[g]);
    free(ranges);
    free(first);
    return ok ? 0 : -ENOMEM;
}

static int allocate(struct stats *s)
{
    const struct profile *p = s->p;

    s->regions = calloc((size_t)p->n_regions + 1, sizeof(*s->regions));
    s->rows = calloc(p->n_rows + 1, sizeof(*s->rows));
    s->wanted = calloc((size_t)p->n_regions + 1, sizeof(*s->wanted));
    s->ranks_wanted = calloc((size_t)p->n_ranks + 1, sizeof(*s->ranks_wanted));
    s->lifetimes = calloc((size_t)p->n_ranks + 1, sizeof(*s->lifetimes));
    return s->regions && s->rows && s->wanted && s->ranks_wanted && s->lifetimes ? 0 : -ENOMEM;
}

int stats__init(struct stats *s, const struct profile *p, const struct view_options *options, struct err *err)
{
    int rc;

    memset(s, 0, sizeof(*s));
    s->p = p;
    s->all_plain = options->all_plain;
    rc = rank_rows__init(&s->by_rank, p);
    if (!rc)
        rc = allocate(s);
    if (rc)
        return err__set(err, -rc, rc == -ENOMEM ? "out of memory" : "a row of the profile has no rank");
    for (uint32_t g = 0; g < p->n_regions; g++)
        s->wanted[g] = view__wants_region(options, p->regions[g].name);
    for (uint32_t k = 0; k < p->n_ranks; k++)
        s->ranks_wanted[k] = view__wants_rank(options, p->ranks[k].number);
    for (uint64_t r = 0; r < p->n_rows; r++) {
        if (p->rows[r].aggregate.present)
            take_aggregate(&s->rows[r], &p->rows[r].aggregate);
        else
            count_row(&s->rows[r], p, &p->rows[r], s->all_plain);
    }
    for (uint32_t k = 0; k < p->n_ranks; k++) {
        if (!s->ranks_wanted[k])
            continue;
        rc = walk_rank(s, k, err);
        if (rc)
            return rc;
        s->lifetimes[k] = lifetime_of(s, k);
        s->lifetime = add(s->lifetime, s->lifetimes[k]);
    }
    rc = merge_regions(s);
    return rc ? err__set(err, ENOMEM, "out of memory") : 0;
}

void stats__deinit(struct stats *s)
{
    rank_rows__deinit(&s->by_rank);
    free(s->regions);
    free(s->rows);
    free(s->wanted);
    free(s->ranks_wanted);
    free(s->lifetimes);
    free(s->edges);
    free(s->edge_slots);
    memset(s, 0, sizeof(*s));
}

int64_t profile__pair_cost(const struct profile *p)
{
    bool known;
    int64_t cost = meta_int(p, "scope.pair_cost_ns", &known);

    return known && cost > 0 ? cost : 0;
}

int64_t profile__inner_cost(const struct profile *p)
{
    bool known;
    int64_t pair = profile__pair_cost(p), inner = meta_int(p, "scope.empty_region_ns", &known);

    return known && inner >= 0 && inner < pair ? inner : pair;
}
