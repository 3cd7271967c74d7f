/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call stacks, rebuilt from the intervals: who called whom is nowhere in most formats, but on one lane (a thread, a
 * task, or a whole rank without lanes) a call that starts while another is open lies inside it.
 *
 * The calls of a rank are walked in the order (start, longer first, region entered first), merged from its rows without a copy, so a
 * walk needs memory for the open calls only, and for an order of those rows that are not sorted.
 */
#ifndef SCOPE_STACKS_H
#define SCOPE_STACKS_H

#include "converters/model.h"

/* The rows of each rank, in the order of the profile. */
struct rank_rows {
    uint64_t *rows;  /* indexes into profile.rows, grouped by rank */
    uint64_t *first; /* n_ranks + 1 */
};
int rank_rows__init(struct rank_rows *r, const struct profile *p); /* 0, -ENOMEM, -EINVAL (row of no rank) */
void rank_rows__deinit(struct rank_rows *r);

/* Lane keys: a task >= 0; -1 unknown, or the rank has no lanes; thread t: -2 - t. */
static inline int64_t lane_key__thread(int64_t thread) { return -2 - thread; }

struct stack_lane {
    int64_t key;
    uint32_t number; /* in order of appearance, tracks included, from 0 */
    uint32_t track;  /* 0; higher ones hold what overlaps, with `split` */
};

struct stack_call {
    uint64_t id;   /* position in the order of the rank, from 0 */
    int64_t parent; /* id, -1 at the top */
    uint64_t call; /* index into the profile's call columns */
    uint64_t row;  /* index into profile.rows */
    uint32_t region;
    uint32_t depth; /* 0 at the top */
    int64_t start, end;
    int64_t children; /* ns covered by direct children; complete when the call is left */
    bool recursive;   /* a call of this region is open above it on its lane */
    bool overlapping; /* crosses another call of its lane (only with split) */
    uint64_t tag;     /* the visitor's own */
};

struct stacks_options {
    bool split; /* partial overlap goes to extra tracks of the lane; else it is an error */
};

struct stacks_visitor {
    /* Of one lane, enter and leave come as a depth-first walk of its tree, times never backwards; lanes mix.
     * `above` is the parent's call or NULL.  Not 0 ends the walk with that value. */
    int (*enter)(void *arg, const struct stack_lane *lane, struct stack_call *call, struct stack_call *above);
    int (*leave)(void *arg, const struct stack_lane *lane, struct stack_call *call, struct stack_call *above);
};

/*
 * Walks the calls of one rank (an index).  0; -EILSEQ: two calls overlap partly, the message names both; -EINVAL: a
 * call ends before it starts; -ENOMEM, -ENOSPC; or what a visitor gave.
 */
int stacks__walk(const struct profile *p, const struct rank_rows *rows, uint32_t rank,
                 const struct stacks_options *options, const struct stacks_visitor *visitor, void *arg,
                 struct err *err);

static inline int64_t stack_call__exclusive(const struct stack_call *c) { return c->end - c->start - c->children; }

/* "worker on rank 2", as the files name a lane; NULL where the lane is the whole rank. */
const struct thread_row *lane__thread(const struct rank *rank, int64_t key);
const struct task_row *lane__task(const struct rank *rank, int64_t key);

#endif
