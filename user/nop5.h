/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a breakpoint stand on a 5-byte nop?  Some kernels turn it into a call that overwrites what a leaf
 * function keeps below its stack pointer, silently, and some leave the call behind.  Tried on a leaf of our
 * own, in a child process.
 */
#ifndef SCOPE_NOP5_H
#define SCOPE_NOP5_H

#include "programs.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether it is safe here; if not, `why` says so in half a line. Takes some milliseconds. */
bool nop5__is_safe(const struct programs *programs, char *why, size_t size);

#endif
