/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_GLOB_H
#define SCOPE_USDT_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Shell-like patterns over bytes: `*` any bytes, `?` one UTF-8 character (or one byte where the
 * text is not UTF-8), `[a-z]` `[!a-z]` `[^a-z]` one byte of a set, `\x` the byte x itself. The
 * whole name must match. Neither side needs to end in NUL, and `/` and a leading dot mean nothing
 * special. A `[` without its `]` stands for itself. Time is O(pattern × name), whatever the stars.
 */
bool glob__match(const char *pattern, size_t pattern_len, const char *name, size_t name_len);

/* The same with a pattern that ends in NUL, as it comes from a command line. */
bool glob__match_str(const char *pattern, const char *name, size_t name_len);

#endif
