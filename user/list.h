/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_LIST_H
#define SCOPE_LIST_H

#include "options.h"

/* scope-bpf --list: prints to stdout; the exit status: 0, 1 nothing to list, 125 could not look. */
int list__run(const struct options *options);

#endif
