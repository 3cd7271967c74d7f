/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/stats.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 4096
#define MAX_TARGETS 16

struct target { /* the k-th smallest value, being closed in on */
    uint64_t k; /* rank among the values of the range */
    int64_t low;
    unsigned shift; /* the range is parts << shift wide */
    uint64_t *counts;
    bool done;
};

static inline bool counts_in(const struct durations *d, const struct duration_range *r, uint64_t call)
{
    return !r->has_flags || !column_i64(&d->p->extra[COLUMN_FLAGS])[call];
}

static void count_pass(const struct durations *d, struct target *targets, unsigned n, uint64_t parts)
{
    const int64_t *start = column_i64(&d->p->start), *end = column_i64(&d->p->end);

    for (uint64_t r = 0; r < d->n_ranges; r++) {
        const struct duration_range *range = &d->ranges[r];

        for (uint64_t i = range->offset; i < range->offset + range->count; i++) {
            int64_t v = end[i] - start[i];

            if (!counts_in(d, range, i))
                continue;
            for (unsigned t = 0; t < n; t++) {
                uint64_t part = ((uint64_t)v - (uint64_t)targets[t].low) >> targets[t].shift;

                if (v >= targets[t].low && part < parts && !targets[t].done)
                    targets[t].counts[part]++;
            }
        }
    }
}

static void narrow(struct target *t, uint64_t parts, unsigned bits)
{
    uint64_t part = 0;

    while (part + 1 < parts && t->k >= t->counts[part])
        t->k -= t->counts[part++];
    t->low += (int64_t)(part << t->shift);
    if (!t->shift)
        t->done = true;
    t->shift = t->shift > bits ? t->shift - bits : 0;
}

static unsigned bits_of(uint64_t v)
{
    return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* values[i] = the k[i]-th smallest duration */
static bool select_ranks(const struct durations *d, const uint64_t *k, unsigned n, int64_t *values)
{
    struct target targets[MAX_TARGETS];
    unsigned bits = bits_of(d->n), width = bits_of((uint64_t)d->max - (uint64_t)d->min);
    uint64_t parts, *counts;
    bool more = true;

    bits = bits < 4 ? 4 : bits > 12 ? 12 : bits;
    parts = 1ull << bits;
    counts = calloc(n ? n : 1, parts * sizeof(*counts));
    if (!counts)
        return false;
    for (unsigned t = 0; t < n; t++)
        targets[t] = (struct target){k[t], d->min, width > bits ? width - bits : 0, counts + t * parts, false};
    while (more) {
        memset(counts, 0, n * parts * sizeof(*counts));
        count_pass(d, targets, n, parts);
        more = false;
        for (unsigned t = 0; t < n; t++) {
            if (!targets[t].done)
                narrow(&targets[t], parts, bits);
            more |= !targets[t].done;
        }
    }
    for (unsigned t = 0; t < n; t++)
        values[t] = targets[t].low;
    free(counts);
    return true;
}

bool durations__percentiles(const struct durations *d, const unsigned *percent, unsigned n, int64_t *ret)
{
    uint64_t k[MAX_TARGETS];
    int64_t values[MAX_TARGETS];

    if (n * 2 > MAX_TARGETS)
        return false;
    for (unsigned i = 0; i < n; i++) {
        unsigned __int128 at = (unsigned __int128)(d->n - 1) * percent[i];

        k[2 * i] = (uint64_t)(at / 100);
        k[2 * i + 1] = k[2 * i] + (at % 100 != 0);
    }
    if (!select_ranks(d, k, 2 * n, values))
        return false;
    for (unsigned i = 0; i < n; i++) {
        unsigned rest = (unsigned)((unsigned __int128)(d->n - 1) * percent[i] % 100);

        ret[i] = values[2 * i] + (int64_t)(((__int128)(values[2 * i + 1] - values[2 * i]) * rest + 50) / 100);
    }
    return true;
}
