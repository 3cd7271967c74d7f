/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls of one rank, from the order in which nesting.h found them to their places in the profile: rows by
 * region, in each row by start, numbered in that order; parents by these numbers.
 *
 * The lanes are merged by start.  A call's place is then the next free one of its row, and its parent's place
 * is known because a parent starts first.
 */
#ifndef SCOPE_CALL_ORDER_H
#define SCOPE_CALL_ORDER_H

#include "hidden_ticks.h"
#include "nesting.h"

struct lane_run {              /* the calls of one lane in nesting.found */
    uint64_t from, to;         /* in descending order of start: read from `to` down */
    int64_t thread;            /* thread_row.index */
    struct hidden_tick *ticks; /* of the lane, by time: their regions are filled in; NULL none */
    uint64_t n_ticks;
};

struct order_progress {
    void (*tell)(void *arg,
                 uint64_t calls); /* now and then: more calls that found their place; may be NULL */
    void *arg;
};

/* Adds the rank's rows and calls to the profile.  0, -ENOMEM, -ENOSPC. */
int call_order__place(struct profile *p, uint32_t rank, const struct nesting *found,
                      const struct lane_run *runs, uint64_t n_runs, const struct region_table *regions,
                      const struct order_progress *progress);

#endif
