/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ticks in regions that --region or --exclude hide belong to the next visible call around them.  The kernel
 * named only the innermost region, so the calls of the thread have to say which one that is: while they are
 * put in order.
 */
#ifndef SCOPE_HIDDEN_TICKS_H
#define SCOPE_HIDDEN_TICKS_H

#include "column.h"

struct hidden_tick {
    int64_t time;
    uint32_t lane;  /* index */
    int32_t region; /* in profile.regions, -1: in no visible call */
};

struct hidden_ticks {
    struct column list; /* struct hidden_tick; after hidden_ticks__sort by (lane, time) */
};

void hidden_ticks__init(struct hidden_ticks *h);
void hidden_ticks__deinit(struct hidden_ticks *h);
int hidden_ticks__add(struct hidden_ticks *h, uint32_t lane, int64_t time); /* 0, -ENOMEM, -ENOSPC */
int hidden_ticks__sort(struct hidden_ticks *h);
/* Those of one lane, in order of time. */
struct hidden_tick *hidden_ticks__of_lane(const struct hidden_ticks *h, uint32_t lane, uint64_t *ret_n);
/* Region of the tick of that lane and time; -1 none. */
int32_t hidden_ticks__region(const struct hidden_ticks *h, uint32_t lane, int64_t time);

#endif
