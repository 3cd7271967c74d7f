// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/usdt_arena.h"

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

struct usdt_arena {
    struct block *blocks; /* the newest first */
};

struct usdt_arena *usdt_arena__new(void)
{
    return calloc(1, sizeof(struct usdt_arena));
}

void usdt_arena__free(struct usdt_arena *arena)
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

static struct block *add_block(struct usdt_arena *arena, size_t at_least)
{
    size_t size = at_least > BLOCK_SIZE ? at_least : BLOCK_SIZE;
    struct block *block = malloc(sizeof(*block) + size);

    if (!block)
        return NULL;
    *block = (struct block){.next = arena->blocks, .size = size};
    arena->blocks = block;
    return block;
}

void *usdt_arena__alloc(struct usdt_arena *arena, size_t size)
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

const char *usdt_arena__copy(struct usdt_arena *arena, const void *bytes, size_t len)
{
    char *copy = usdt_arena__alloc(arena, len + 1);

    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}
