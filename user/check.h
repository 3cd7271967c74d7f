/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scope-bpf --check: each facility of this machine that recording uses, tried for real, with what to do
 * where it is missing and what works without it.
 */
#ifndef SCOPE_CHECK_H
#define SCOPE_CHECK_H

#include "options.h"

/* Prints to stdout; the exit status: 0 recording can work, 1 it cannot, 125 could not print. */
int check__run(const struct options *options);

#endif
