/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_NOTHING_FOUND_H
#define SCOPE_NOTHING_FOUND_H

#include "attach.h"

/*
 * One line for a run in which no region was found: why that may be, and what was found instead (notes stripped,
 * probes of other providers).  `what`: the command or process.
 */
void nothing_found__line(const struct attach *a, const char *what, char *line, size_t size);

#endif
