/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls of one lane, from the last record to the first: who was inside whom, exclusive times, overlaps,
 * gaps.
 *
 * Records come in the order of their ends, so a call stands before all that contain it.  Read backwards, a
 * call is met before the calls inside it: those still open are a stack, and what leaves the stack does so in
 * descending order of start, with its parent below it.  So one pass with a stack as deep as the program's
 * gives everything but the parents' final places, in an order that only has to be read backwards again.
 */
#ifndef SCOPE_NESTING_H
#define SCOPE_NESTING_H

#include "call_blocks.h"

struct found_call {
    int64_t start, end, exclusive; /* exclusive -1: uncertain, or overlapping */
    uint32_t region : 24;          /* index in profile.regions: below SB_MAX_REGIONS */
    uint32_t flags : 8;
    uint16_t depth, parent_depth; /* the same: it has no parent */
};

struct open_call {
    int64_t start, end;
    int64_t shown_end; /* later than end for one that was joined with an end behind it */
    int64_t children;  /* ns in calls directly below */
    int32_t region;    /* index, -1 hidden */
    uint16_t depth;
    uint8_t flags;
    bool uncertain;
};

struct nesting {
    const struct region_table *regions;
    struct column found;  /* struct found_call of the rank's lanes, each in descending order of start */
    struct column counts; /* uint64 per region: calls of the rank */
    uint64_t overlapping, abandoned, doubles,
        bent; /* of all lanes; bent: contradicted the nesting of their lane */
    /* of the lane being read */
    const struct lane *lane;
    struct open_call *stack;
    uint32_t n, cap;
    struct column waiting; /* ends that found nothing to close: struct waiting_end */
    struct column newest;  /* uint32 per region: the newest of them + 1, 0 none */
    int64_t low_seq;       /* of the record read last; -1: none yet */
    int64_t last_start;    /* of the call that left the stack last */
    uint64_t missing, unmatched;
};

int nesting__init(struct nesting *n, const struct region_table *regions, uint32_t n_regions);
void nesting__deinit(struct nesting *n);
int nesting__begin_rank(struct nesting *n);
void nesting__begin_lane(struct nesting *n, const struct lane *lane);
/* From the last record to the first.  0, -ENOMEM, -ENOSPC. */
int nesting__record(struct nesting *n, const struct call_record *record);
/* Afterwards `missing` and `unmatched` (ends without any call) are those of the lane. */
int nesting__end_lane(struct nesting *n);

#endif
