// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/name_set.h"

#include <stdlib.h>
#include <string.h>

#include "usdt/arena.h"

void name_set__init(struct name_set *names, struct arena *arena)
{
    *names = (struct name_set){.arena = arena};
}

void name_set__deinit(struct name_set *names)
{
    free(names->entries);
    free(names->slots);
    *names = (struct name_set){0};
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

static bool grow_slots(struct name_set *names)
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

static bool grow_entries(struct name_set *names)
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

bool name_set__intern(struct name_set *names, const char *first, size_t first_len, const char *second,
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
