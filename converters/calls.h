/* SPDX-License-Identifier: GPL-2.0-only */
/* All calls of a capture into the rows and call columns of the profile, rank by rank. */
#ifndef SCOPE_CALLS_H
#define SCOPE_CALLS_H

#include "call_order.h"
#include "reconstruct.h"

struct calls_result { /* over all ranks */
    uint64_t overlapping, abandoned, doubles, bent;
};

struct calls_input {
    const struct call_blocks *blocks;
    struct lanes *lanes; /* indexed; missing and unmatched are filled here */
    const struct region_table *regions;
    const struct hidden_ticks *ticks; /* sorted; their regions are filled here */
    struct capture_reader *reader;
    /* Called with the number of calls behind us, each counted twice (found, placed); may be NULL. */
    void (*tell)(void *arg, uint64_t done);
    void *arg;
};

/* The profile has its regions and ranks.  0 or -errno, message in err. */
int calls__fill(const struct calls_input *in, struct profile *p, struct calls_result *ret, struct err *err);

#endif
