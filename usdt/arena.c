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
