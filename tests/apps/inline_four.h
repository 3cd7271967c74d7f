// SPDX-License-Identifier: GPL-2.0-only
/* One inline function with a region: every place that calls it gets sites of its own. */
#ifndef INLINE_FOUR_H
#define INLINE_FOUR_H
#include "scope_probe.h"

extern long inline_four_steps;

static inline unsigned inline_four_step(unsigned x)
{
    SP_PROBE(step);
    inline_four_steps++;
    if (x % 7 == 3)
        return x * 5;
    return x + 11;
}

#endif
