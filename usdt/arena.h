/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_ARENA_H
#define SCOPE_USDT_ARENA_H

#include <stddef.h>

/* Memory that is freed at once; what it hands out never moves. */
struct arena;

struct arena *arena__new(void);
void arena__free(struct arena *arena); /* accepts NULL */

/* Aligned for any type, not cleared; NULL without memory. */
void *arena__alloc(struct arena *arena, size_t size);
/* A copy that also ends in NUL. */
const char *arena__copy(struct arena *arena, const void *bytes, size_t len);

#endif
