/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_FORMATS_PLOTS_H
#define SCOPE_FORMATS_PLOTS_H

#include "converters/format.h"

/*
 * Other pictures of one rank (an index) than the flame graph: options->plot names it.  All are one SVG each, thinned out
 * to what a pixel can show, never in the numbers.
 */
int plots__write(const struct profile *p, uint32_t rank, const char *path, const struct write_options *options,
                 struct err *err);

#endif
