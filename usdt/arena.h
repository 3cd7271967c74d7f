/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_ARENA_H
#define SCOPE_USDT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that is freed at once; what it hands out never moves. */
struct arena;

struct arena *arena__new(void);
void arena__free(struct arena *arena); /* accepts NULL */

/* Aligned for any type, not cleared; NULL without memory. */
void *arena__alloc(struct arena *arena, size_t size);
/* A copy that also ends in NUL. */
const char *arena__copy(struct arena *arena, const void *bytes, size_t len);

/*
 * Numbers for pairs of byte strings, in the order of their first use: the identity of regions and
 * probes. The strings are copied into the arena.
 */
struct names {
    struct arena *arena;
    struct name_entry {
        const char *first, *second;
        size_t first_len, second_len;
        uint64_t hash;
    } * entries;
    size_t count, capacity;
    uint32_t *slots; /* entry + 1, 0 free */
    size_t n_slots;
};

void names__init(struct names *names, struct arena *arena);
void names__deinit(struct names *names);
/* false without memory */
bool names__intern(struct names *names, const char *first, size_t first_len, const char *second,
                   size_t second_len, uint32_t *ret);

#endif
