/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_SUMMARY_H
#define SCOPE_SUMMARY_H

#include "converters/views/view.h"

/* The summary uses region, exclude, ranks, sort, per_rank, shape and screen of the view's options. */
#define summary_options view_options

/*
 * Prints the table of regions (with view shape: the JSON of one object, or CSV), then what must not be missed:
 * losses ("lost: 0" or by cause), unmatched ends, notes, a warning where probes cost much.
 *
 *     struct summary_options options = {.screen = screen__of(stderr)};
 *     summary__print(profile, &options, stderr);
 *
 * 0, -ENOMEM, -ENOSPC (temporary files), -EIO when out cannot be written.  Prints nothing else anywhere.
 */
int summary__print(const struct profile *p, const struct summary_options *options, FILE *out);

/* The names that --sort takes, ends with NULL. */
extern const char *const summary_sorts[];

#endif
