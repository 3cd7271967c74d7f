/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs against each other. */
#ifndef SCOPE_COMPARE_H
#define SCOPE_COMPARE_H

#include "converters/views/stats.h"

struct run {
    const char *label;
    struct profile *p; /* owned */
    struct stats stats;
    bool has_stats;
};
int run__measure(struct run *run, const struct view_options *options, struct err *err);
void run__deinit(struct run *run);

struct compare_options {
    const struct view_options *view;
    const char *metric; /* total, own, mean, min, max, p50, p95, p99, calls */
    double max_slowdown; /* share: what check lets pass */
    bool weak;           /* scaling: the work grows with the ranks */
};

extern const char compare_metrics[]; /* "total|own|…" */

/*
 * The second group of runs against the first, region by region; several runs of a group are averaged, and their spread
 * is the noise.  ret_slower (may be NULL): regions that are slower by more than max_slowdown; with it only those are
 * shown, as a check does.
 */
int compare__print(const struct run *base, size_t n_base, const struct run *fresh, size_t n_fresh,
                   const struct compare_options *options, FILE *out, uint64_t *ret_slower);

/* Speed-up and efficiency over runs of different size; svg (may be NULL): a plot of it. */
int scaling__print(const struct run *runs, size_t n, const struct compare_options *options, FILE *out, FILE *svg);

#endif
