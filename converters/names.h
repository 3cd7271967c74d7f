/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names are bytes; most files want UTF-8. A name that is not UTF-8 appears with U+FFFD for each bad byte, and
 * two names that would look equal stay two: the later one gets "~2", "~3", ….
 */
#ifndef SCOPE_NAMES_H
#define SCOPE_NAMES_H

#include "model.h"

/* Length of the character at `text` (at most `left` bytes), 0 where it is not UTF-8 (overlong, surrogates, …). */
unsigned utf8__length(const char *text, size_t left);
bool utf8__valid(const char *s, size_t len);

/* `t` as UTF-8 in the arena: itself where it is valid. {NULL, 0}: no memory (or t was unknown). */
struct text text__shown(struct arena *arena, struct text t);

/* The names of n texts as they appear, all different; `exact` (n bytes, may be NULL): 1 where it is the name
 * itself. Both in the arena. NULL: no memory. */
struct text *names__shown(struct arena *arena, const struct text *names, uint64_t n, uint8_t **ret_exact);
/* The same for the regions of a profile. */
struct text *names__shown_regions(struct arena *arena, const struct profile *p, uint8_t **ret_exact);

#endif
