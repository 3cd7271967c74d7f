/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_INFO_H
#define SCOPE_INFO_H

#include "converters/views/view.h"

/* What one profile is: format, layout, ranks, regions, calls, what else it holds, losses, how it ended, metadata. */
int info__print(const struct profile *p, const char *path, const struct view_options *options, FILE *out);

/*
 * Checks what a reader does not: order, nesting, clocks, ids, stored totals.  0; -EINVAL: the first break with its
 * place in err; -ENOMEM, -ENOSPC.
 */
int validate__profile(const struct profile *p, const char *path, struct err *err);

#endif
