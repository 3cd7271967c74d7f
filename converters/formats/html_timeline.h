/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_HTML_TIMELINE_H
#define SCOPE_HTML_TIMELINE_H

#include "converters/model.h"
#include "format.h"

#include <stdio.h>

/*
 * The calls that a picture of the time line shows, as one JSON object: {"lanes": [{"label"}], "regions": [names],
 * "calls": [[lane, depth, ns since the first call, ns, region]], "shown", "of"}.  Of many calls the longest, so that
 * the page stays small; whoever wants numbers takes them from the statistics.
 */
int html_timeline__print(const struct profile *p, const struct write_options *options, FILE *out, struct err *err);

#endif
