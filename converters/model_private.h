/* SPDX-License-Identifier: GPL-2.0-only */
/* What model.c and merge.c know of a profile beyond model.h: capacities and the tables that find things. */
#ifndef SCOPE_MODEL_PRIVATE_H
#define SCOPE_MODEL_PRIVATE_H

#include "model.h"

struct profile_private {
    struct profile p;   /* first: a profile is always part of one of these */
    struct names names; /* entry i is region i */
    struct names texts;
    uint64_t region_cap, rank_cap, row_cap;
    uint32_t *row_slots, *rank_slots; /* index + 1, 0 free */
    uint64_t n_row_slots, n_rank_slots;
};

static inline struct profile_private *profile_private(struct profile *p)
{
    return (struct profile_private *)p;
}

#endif
