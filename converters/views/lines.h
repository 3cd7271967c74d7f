/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_LINES_H
#define SCOPE_LINES_H

#include "converters/views/view.h"

/*
 * The hottest source lines of each region, from the samples of all wanted ranks.  A share is a part of the region's
 * samples; nothing here is in seconds.  options: top (per region; 0 all), per_rank, region, exclude, ranks, shape.
 * hint (may be NULL): where a line of advice goes when a module has no debug information.
 */
int lines__print(const struct profile *p, const struct view_options *options, FILE *out, FILE *hint);

#endif
