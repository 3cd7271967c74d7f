/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sites of another provider that take a region's name from the program, per file.  Some builds fire the ends
 * always and the begins almost never (CPython 3.11 does so with its functions): that shows only when it runs.
 */
#ifndef SCOPE_NAMED_GROUPS_H
#define SCOPE_NAMED_GROUPS_H

#include "bpf/events.h"
#include "usdt/regions.h"

#include <stdbool.h>
#include <stddef.h>

struct named_group {
    size_t file;
    const char *provider, *begin, *end; /* begin and end: probes, NULL without; owned by the file's table */
    bool refused;
};

struct named_groups {
    struct named_group groups[SB_MAX_NAMED_GROUPS]; /* 0 is nobody's */
    size_t n;
};

/* The group of this site, added if new; 0 when there are too many. */
uint32_t named_groups__get(struct named_groups *groups, size_t file, const struct site *site);

/* Whether so many more ended than began that the begins cannot be what they seem. `last`: no more will come.
 */
bool named_groups__is_unbalanced(const struct sb_balance *balance, bool last);

#endif
