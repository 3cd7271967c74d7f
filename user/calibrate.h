/* SPDX-License-Identifier: GPL-2.0-only */
/* What one begin/end pair costs here, measured on ourselves. */
#ifndef SCOPE_CALIBRATE_H
#define SCOPE_CALIBRATE_H

#include "options.h"
#include "usdt/err.h"

#include <stdint.h>

struct pair_cost {
    double untraced_ns; /* per pair: nops only */
    double floor_ns;    /* an empty BPF program on the same sites */
    double pair_ns;     /* as recorded */
    double region_ns;   /* what an empty region reads: the part of the cost that its time holds */
};

/* n pairs each way, the median of a few rounds.  Takes a fraction of a second for n = 2,000. */
int calibrate__measure(const struct options *options, unsigned n, bool all, struct pair_cost *ret, struct err *err);

int calibrate__run(const struct options *options); /* --calibrate; exit status */

#endif
