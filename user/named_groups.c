/* SPDX-License-Identifier: GPL-2.0-only */
#include "named_groups.h"

#include <string.h>

#define ENDS_AT_ONCE 1000 /* a process that ran before may return from many functions that nobody saw begin  \
                           */
#define ENDS_AT_LAST   100
#define ENDS_PER_BEGIN 10

uint32_t named_groups__get(struct named_groups *groups, size_t file, const struct site *site)
{
    struct named_group *g;
    size_t i = 1;

    if (!groups->n)
        groups->n = 1;
    while (i < groups->n &&
           (groups->groups[i].file != file || strcmp(groups->groups[i].provider, site->provider) != 0))
        i++;
    if (i == SB_MAX_NAMED_GROUPS)
        return 0;
    g = &groups->groups[i];
    if (i == groups->n) {
        *g = (struct named_group){.file = file, .provider = site->provider};
        groups->n++;
    }
    *(site->kind == SITE_NAMED_OPEN ? &g->begin : &g->end) = site->probe;
    return (uint32_t)i;
}

bool named_groups__is_unbalanced(const struct sb_balance *balance, bool last)
{
    return balance->ends >= (last ? ENDS_AT_LAST : ENDS_AT_ONCE) &&
           balance->begins * ENDS_PER_BEGIN < balance->ends;
}
