/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of one rank added up by call path: one node per distinct way from the top to a region. */
#ifndef SCOPE_PATHS_H
#define SCOPE_PATHS_H

#include "converters/views/stacks.h"

struct path_node {
    int64_t parent; /* node, -1 at the top; always smaller than the node's own number */
    uint32_t region;
    uint32_t depth;
    uint64_t row; /* of the first call: source file and line */
    uint64_t calls, primitive;
    int64_t total, self;     /* ns, all calls */
    int64_t outermost;       /* ns, primitive calls only */
};

struct paths {
    struct path_node *nodes; /* in order of their first call */
    uint64_t n, cap;
    uint64_t *slots, n_slots;
    int64_t top; /* ns of all top-level calls */
    uint64_t calls;
};

struct paths_options {
    bool split;
    bool one_lane; /* only the lane with this key */
    int64_t lane;
};

/* 0; -EILSEQ and the others of stacks__walk. Deinit also after a failure. */
int paths__init(struct paths *t, const struct profile *p, const struct rank_rows *rows, uint32_t rank,
                const struct paths_options *options, struct err *err);
/* Adds another rank to the same paths. */
int paths__add(struct paths *t, const struct profile *p, const struct rank_rows *rows, uint32_t rank,
               const struct paths_options *options, struct err *err);
void paths__deinit(struct paths *t);

#endif
