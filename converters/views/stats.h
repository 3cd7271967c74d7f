/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of regions.
 *
 * Minimum, maximum, mean and percentiles cover the plain calls (flags 0); totals cover all calls.  Percentiles are
 * exact: the k-th smallest duration is found by counting durations into at most 4,096 equal parts of the range that
 * holds it, and again in the part that does, until a part is one nanosecond: a few passes over the columns, no copy,
 * memory that does not grow with the calls.  Between two ranks they are interpolated, as numpy.percentile does.
 */
#ifndef SCOPE_STATS_H
#define SCOPE_STATS_H

#include "converters/views/stacks.h"
#include "converters/views/view.h"

enum { N_CALL_FLAGS = 6 }; /* bits of enum sb_call_flags */

struct region_stats {
    uint64_t calls, primitive; /* primitive: not below a call of the same region */
    uint64_t plain;            /* calls without a flag */
    uint64_t flagged[N_CALL_FLAGS];
    int64_t total;       /* sum over all calls */
    int64_t inclusive;   /* sum over the primitive calls */
    int64_t exclusive;   /* valid if has_exclusive */
    int64_t min, max;    /* of plain calls, valid if plain (or has_range for aggregates) */
    int64_t first, last; /* start of the first and end of the last call; valid if calls and the rows have times */
    double mean, m2;     /* of plain calls; m2: sum of squared deviations */
    int64_t p50, p95, p99;
    bool has_exclusive, has_range, has_percentiles, has_times;
    bool aggregate; /* from totals without a time line: primitive and inclusive are not known */
};

/* Time of a region's primitive calls directly below another one. */
struct stats_edge {
    int64_t parent; /* region, -1: top level */
    uint32_t region;
    uint64_t calls;
    int64_t time;
};

struct stats {
    const struct profile *p;
    struct rank_rows by_rank;
    struct region_stats *regions; /* n_regions */
    struct region_stats *rows;    /* n_rows: of one region on one rank */
    bool *wanted;                 /* n_regions: passes the filters */
    struct stats_edge *edges;
    uint64_t n_edges, cap_edges;
    uint64_t *edge_slots, n_edge_slots;
    int64_t *lifetimes;   /* n_ranks: ns that its lanes lived, 0 unknown */
    int64_t lifetime;     /* of all wanted ranks */
    bool *ranks_wanted;   /* n_ranks */
    bool all_plain;
    uint32_t n_overlaps;  /* ranks with calls that cross on a lane: their exclusive times are not computed */
};

/* 0; -ENOMEM, -ENOSPC; -EINVAL for calls that end before they start. Deinit also after a failure. */
int stats__init(struct stats *s, const struct profile *p, const struct view_options *options, struct err *err);
void stats__deinit(struct stats *s);

double region_stats__deviation(const struct region_stats *r); /* of plain calls, population */

/* Probe cost of a pair in ns from the metadata, 0 unknown. */
int64_t profile__pair_cost(const struct profile *p);
/* The part of it that an empty region reads: what lies inside the region's own time. Not above the pair's. */
int64_t profile__inner_cost(const struct profile *p);

/*
 * Ranges of calls whose durations are looked at; skip_flagged leaves out those with a flag.
 */
struct duration_range {
    uint64_t offset, count;
    bool has_flags;
};
struct durations {
    const struct profile *p;
    const struct duration_range *ranges;
    uint64_t n_ranges;
    uint64_t n;       /* calls that count */
    int64_t min, max; /* of them */
};
/* Percentiles in percent, ascending; false without memory. n must not be 0. */
bool durations__percentiles(const struct durations *d, const unsigned *percent, unsigned n, int64_t *ret);

#endif
