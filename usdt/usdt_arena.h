/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_USDT_ARENA_H
#define SCOPE_USDT_USDT_ARENA_H

#include <stddef.h>

/* Memory that is freed at once; what it hands out never moves. */
struct usdt_arena;

struct usdt_arena *usdt_arena__new(void);
void usdt_arena__free(struct usdt_arena *arena); /* accepts NULL */

/* Aligned for any type, not cleared; NULL without memory. */
void *usdt_arena__alloc(struct usdt_arena *arena, size_t size);
/* A copy that also ends in NUL. */
const char *usdt_arena__copy(struct usdt_arena *arena, const void *bytes, size_t len);

#endif
