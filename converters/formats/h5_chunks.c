// SPDX-License-Identifier: GPL-2.0-only
#include "h5_chunks.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct chunks {
    struct h5_reader *r;
    const struct h5_set *set;
    const char *name;
    uint64_t length; /* elements per chunk */
    int n_filters;
    H5Z_filter_t filters[2];
    uint8_t *packed, *shuffled;
    int64_t *plain;
    size_t packed_size;
};

static bool plain_type(hid_t set)
{
    AUTO_TYPE type = H5Dget_type(set);

    return type >= 0 && (H5Tequal(type, H5T_NATIVE_INT64) > 0 || H5Tequal(type, H5T_NATIVE_UINT64) > 0);
}

static bool describe(const struct h5_set *set, struct chunks *c)
{
    AUTO_LIST list = H5Dget_create_plist(set->id);
    hsize_t length;

    if (list < 0 || set->dimensions != 1 || H5Pget_layout(list) != H5D_CHUNKED ||
        H5Pget_chunk(list, 1, &length) != 1 || !length)
        return false;
    c->length = length;
    c->n_filters = H5Pget_nfilters(list);
    if (c->n_filters < 0 || c->n_filters > 2)
        return false;
    for (int i = 0; i < c->n_filters; i++) {
        unsigned flags, config;
        size_t values = 0;

        c->filters[i] = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (c->filters[i] != H5Z_FILTER_SHUFFLE && c->filters[i] != H5Z_FILTER_DEFLATE)
            return false;
    }
    return c->n_filters < 2 || (c->filters[0] == H5Z_FILTER_SHUFFLE && c->filters[1] == H5Z_FILTER_DEFLATE);
}

bool h5_chunks__can(const struct h5_set *set)
{
    struct chunks c;

    return plain_type(set->id) && describe(set, &c);
}

static void unshuffle(const uint8_t *from, uint64_t n, int64_t *to)
{
    uint8_t *bytes = (uint8_t *)to;

    for (size_t k = 0; k < sizeof(*to); k++) {
        for (uint64_t i = 0; i < n; i++)
            bytes[i * sizeof(*to) + k] = from[k * n + i];
    }
}

static bool unpack(struct chunks *c, size_t size, uint32_t skipped)
{
    size_t bytes = c->length * sizeof(int64_t);
    const uint8_t *from = c->packed;

    for (int i = c->n_filters - 1; i >= 0; i--) {
        uLongf got = bytes;

        if (skipped >> i & 1)
            continue;
        if (c->filters[i] == H5Z_FILTER_SHUFFLE) {
            if (size != bytes)
                return false;
            unshuffle(from, c->length, c->plain);
            return i == 0;
        }
        if (uncompress(c->shuffled, &got, from, size) != Z_OK)
            return false;
        from = c->shuffled;
        size = got;
    }
    if (size != bytes)
        return false;
    memcpy(c->plain, from, bytes);
    return true;
}

static bool read_chunk(struct chunks *c, hsize_t at, size_t size)
{
    uint32_t skipped = 0;

    if (size > c->packed_size) {
        uint8_t *more = realloc(c->packed, size);

        if (!more) {
            h5_get__no_memory(c->r);
            return false;
        }
        c->packed = more;
        c->packed_size = size;
    }
    if (H5Dread_chunk(c->set->id, H5P_DEFAULT, &at, &skipped, c->packed) < 0 || !unpack(c, size, skipped))
        h5_get__fail(c->r, c->name, "the chunk at element %llu is damaged", (unsigned long long)at);
    return !c->r->code;
}

/* What the index says of a chunk, before memory is taken for it. */
static bool measure_chunk(struct chunks *c, hsize_t at, hsize_t *ret_size)
{
    if (H5Dget_chunk_storage_size(c->set->id, &at, ret_size) < 0 || !*ret_size)
        h5_get__fail(c->r, c->name, "the chunk at element %llu is missing", (unsigned long long)at);
    else if (*ret_size > c->r->in->size)
        h5_get__fail(c->r, c->name, "the chunk at element %llu is larger than the file",
                     (unsigned long long)at);
    return !c->r->code;
}

static void read_all(struct chunks *c, int64_t *to)
{
    for (uint64_t at = 0; at < c->set->n && !c->r->code; at += c->length) {
        uint64_t n = c->set->n - at < c->length ? c->set->n - at : c->length;
        hsize_t size;

        if (!measure_chunk(c, at, &size) || !to || !read_chunk(c, at, size))
            continue;
        memcpy(to + at, c->plain, n * sizeof(*to));
    }
}

void h5_chunks__read(struct h5_reader *r, const struct h5_set *set, const char *name, int64_t *to)
{
    struct chunks c = {.r = r, .set = set, .name = name};

    if (r->code || !describe(set, &c))
        return;
    c.plain = to ? malloc(c.length * sizeof(int64_t)) : NULL;
    c.shuffled = to ? malloc(c.length * sizeof(int64_t)) : NULL;
    if (to && (!c.plain || !c.shuffled))
        h5_get__no_memory(r);
    read_all(&c, to);
    free(c.packed);
    free(c.shuffled);
    free(c.plain);
}
