/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that ran no region but had the CPU when a sample was due: one row per command. */
#ifndef SCOPE_NO_REGIONS_H
#define SCOPE_NO_REGIONS_H

#include "converters/views/text_out.h"

struct no_region {
    struct text comm;
    uint64_t processes, samples;
};

/* Most samples first.  0, -ENOMEM; free(*ret). */
int no_regions__list(const struct profile *p, struct no_region **ret, size_t *ret_n);

void no_regions__print(const struct profile *p, bool utf8, FILE *out); /* a line each, the first few */
void no_regions__json(const struct profile *p, FILE *out);             /* a list of all */

#endif
