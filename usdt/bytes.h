/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_BYTES_H
#define SCOPE_USDT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The one way to walk over bytes that somebody else wrote: a place and what is left behind it.
 * Each function returns false, and moves nothing, where the bytes do not reach. Little-endian,
 * as are all files that elf_file accepts and all machines that we run on.
 */
struct bytes {
    const uint8_t *at;
    size_t left;
};

static inline bool bytes__take(struct bytes *b, size_t size, const uint8_t **ret)
{
    if (size > b->left)
        return false;
    *ret = b->at;
    b->at += size;
    b->left -= size;
    return true;
}

static inline bool bytes__skip(struct bytes *b, size_t size)
{
    const uint8_t *ignored;

    return bytes__take(b, size, &ignored);
}

static inline bool bytes__u32(struct bytes *b, uint32_t *ret)
{
    const uint8_t *at;

    if (!bytes__take(b, sizeof(*ret), &at))
        return false;
    memcpy(ret, at, sizeof(*ret));
    return true;
}

static inline bool bytes__u64(struct bytes *b, uint64_t *ret)
{
    const uint8_t *at;

    if (!bytes__take(b, sizeof(*ret), &at))
        return false;
    memcpy(ret, at, sizeof(*ret));
    return true;
}

/* A string that ends in NUL inside the bytes; the length is without the NUL. */
static inline bool bytes__string(struct bytes *b, const char **ret, size_t *ret_len)
{
    const uint8_t *end = b->left ? memchr(b->at, 0, b->left) : NULL;

    if (!end)
        return false;
    *ret = (const char *)b->at;
    *ret_len = (size_t)(end - b->at);
    return bytes__skip(b, *ret_len + 1);
}

#endif
