/* SPDX-License-Identifier: GPL-2.0-only */
#include "losses.h"

#include "scope.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct sb_lost_key key;
    uint64_t written;
};

struct losses {
    int table, unnamed;
    struct entry *entries; /* what was written so far, by key; sorted by its bytes */
    size_t n, cap;
    uint64_t unnamed_written[SB_LOST_MAX];
    uint64_t total;
};

struct losses *losses__create(struct programs *p)
{
    struct losses *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->table = bpf_map__fd(p->skel->maps.lost);
    l->unnamed = bpf_map__fd(p->skel->maps.lost_unnamed);
    return l;
}

void losses__destroy(struct losses *l)
{
    if (!l)
        return;
    free(l->entries);
    free(l);
}

/* Place of the key, or where it would stand. */
static size_t place(const struct losses *l, const struct sb_lost_key *key)
{
    size_t low = 0, high = l->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (memcmp(&l->entries[mid].key, key, sizeof(*key)) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct entry *entry_of(struct losses *l, const struct sb_lost_key *key)
{
    size_t at = place(l, key);

    if (at < l->n && !memcmp(&l->entries[at].key, key, sizeof(*key)))
        return &l->entries[at];
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        struct entry *entries = realloc(l->entries, cap * sizeof(*entries));
        if (!entries)
            return NULL;
        l->entries = entries;
        l->cap = cap;
    }
    memmove(&l->entries[at + 1], &l->entries[at], (l->n - at) * sizeof(*l->entries));
    l->entries[at] = (struct entry){ .key = *key };
    l->n++;
    return &l->entries[at];
}

static void put(struct losses *l, struct capture_buf *b, const struct sb_lost_key *key, uint64_t count, uint64_t *written)
{
    if (count <= *written)
        return;
    capture_put_u(b, key->cause);
    capture_put_u(b, key->pid);
    capture_put_u(b, key->lane);
    capture_put_u(b, key->region);
    capture_put_u(b, count - *written);
    l->total += count - *written;
    *written = count;
}

void losses__put(struct losses *l, struct capture_buf *b)
{
    struct sb_lost_key key, *before = NULL, last;
    uint64_t count;

    for (uint32_t bound = 1u << 17; bound && !bpf_map_get_next_key(l->table, before, &key); bound--) {
        struct entry *e = entry_of(l, &key);
        if (e && !bpf_map_lookup_elem(l->table, &key, &count))
            put(l, b, &key, count, &e->written);
        last = key;
        before = &last;
    }
    for (uint32_t cause = 0; cause < SB_LOST_MAX; cause++) {
        struct sb_lost_key unnamed = { .cause = cause };
        if (!bpf_map_lookup_elem(l->unnamed, &cause, &count))
            put(l, b, &unnamed, count, &l->unnamed_written[cause]);
    }
}

uint64_t losses__total(const struct losses *l)
{
    return l->total;
}
