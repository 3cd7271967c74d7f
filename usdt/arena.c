// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 16384u

struct block {
    struct block *next;
    size_t used, size;
    alignas(max_align_t) char bytes[];
};

struct arena {
    struct block *blocks; /* the newest first */
};

struct arena *arena__new(void)
{
    return calloc(1, sizeof(struct arena));
}

void arena__free(struct arena *arena)
{
    if (!arena)
        return;
    while (arena->blocks) {
        struct block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
}

static struct block *add_block(struct arena *arena, size_t at_least)
{
    size_t size = at_least > BLOCK_SIZE ? at_least : BLOCK_SIZE;
    struct block *block = malloc(sizeof(*block) + size);

    if (!block)
        return NULL;
    *block = (struct block){.next = arena->blocks, .size = size};
    arena->blocks = block;
    return block;
}

void *arena__alloc(struct arena *arena, size_t size)
{
    struct block *block = arena->blocks;
    size_t aligned = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    void *at;

    if (aligned < size)
        return NULL;
    if (!block || block->size - block->used < aligned)
        block = add_block(arena, aligned);
    if (!block)
        return NULL;
    at = block->bytes + block->used;
    block->used += aligned;
    return at;
}

const char *arena__copy(struct arena *arena, const void *bytes, size_t len)
{
    char *copy = arena__alloc(arena, len + 1);

    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

void names__init(struct names *names, struct arena *arena)
{
    *names = (struct names){.arena = arena};
}

void names__deinit(struct names *names)
{
    free(names->entries);
    free(names->slots);
    *names = (struct names){0};
}

/* FNV-1a over both strings. A file made to collide costs its own attachment time only: 1,000,000
 * notes at most. */
static uint64_t hash_pair(const char *first, size_t first_len, const char *second, size_t second_len)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < first_len; i++)
        hash = (hash ^ (unsigned char)first[i]) * 0x100000001b3u;
    hash = (hash ^ 0x1ff) * 0x100000001b3u;
    for (size_t i = 0; i < second_len; i++)
        hash = (hash ^ (unsigned char)second[i]) * 0x100000001b3u;
    return hash;
}

static bool grow_slots(struct names *names)
{
    size_t n_slots = names->n_slots ? names->n_slots * 2 : 64;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < names->count; i++) {
        size_t slot = names->entries[i].hash & (n_slots - 1);

        while (slots[slot])
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    free(names->slots);
    names->slots = slots;
    names->n_slots = n_slots;
    return true;
}

static bool grow_entries(struct names *names)
{
    size_t capacity = names->capacity ? names->capacity * 2 : 32;
    struct name_entry *entries = reallocarray(names->entries, capacity, sizeof(*entries));

    if (!entries)
        return false;
    names->entries = entries;
    names->capacity = capacity;
    return true;
}

static bool same_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && (!a_len || !memcmp(a, b, a_len));
}

static bool same_entry(const struct name_entry *entry, const struct name_entry *wanted)
{
    return entry->hash == wanted->hash &&
           same_bytes(entry->first, entry->first_len, wanted->first, wanted->first_len) &&
           same_bytes(entry->second, entry->second_len, wanted->second, wanted->second_len);
}

bool names__intern(struct names *names, const char *first, size_t first_len, const char *second,
                   size_t second_len, uint32_t *ret)
{
    struct name_entry entry = {first, second, first_len, second_len,
                               hash_pair(first, first_len, second, second_len)};
    size_t slot;

    if (names->count * 2 >= names->n_slots && !grow_slots(names))
        return false;
    for (slot = entry.hash & (names->n_slots - 1); names->slots[slot];
         slot = (slot + 1) & (names->n_slots - 1)) {
        if (same_entry(&names->entries[names->slots[slot] - 1], &entry)) {
            *ret = names->slots[slot] - 1;
            return true;
        }
    }
    if (names->count == names->capacity && !grow_entries(names))
        return false;
    entry.first = arena__copy(names->arena, first, first_len);
    entry.second = arena__copy(names->arena, second, second_len);
    if (!entry.first || !entry.second)
        return false;
    *ret = (uint32_t)names->count;
    names->entries[names->count++] = entry;
    names->slots[slot] = *ret + 1;
    return true;
}
