/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_NAME_SET_H
#define SCOPE_USDT_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/*
 * Numbers for pairs of byte strings, in the order of their first use: the identity of regions and
 * probes. The strings are copied into the arena.
 */
struct name_set {
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

void name_set__init(struct name_set *names, struct arena *arena);
void name_set__deinit(struct name_set *names);
/* false without memory */
bool name_set__intern(struct name_set *names, const char *first, size_t first_len, const char *second,
                      size_t second_len, uint32_t *ret);

#endif
