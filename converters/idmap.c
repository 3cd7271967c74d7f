// SPDX-License-Identifier: GPL-2.0-only
#include "idmap.h"

#include <stdbool.h>

struct slot {
    uint64_t key;
    uint32_t value;
    uint32_t used;
};

void idmap__init(struct idmap *m)
{
    column__init(&m->slots, sizeof(struct slot));
    m->n = 0;
}

void idmap__deinit(struct idmap *m)
{
    column__deinit(&m->slots);
}

/* The slot of the key, or the free one where it belongs.  slots.n is a power of two and never full. */
static struct slot *find(const struct column *slots, uint64_t key)
{
    struct slot *s = slots->data;
    uint64_t mask = slots->n - 1, at = key * 0x9e3779b97f4a7c15u;

    for (at = (at ^ at >> 29) & mask; s[at].used && s[at].key != key; at = (at + 1) & mask)
        ;
    return &s[at];
}

static int grow(struct idmap *m)
{
    struct column bigger;
    int code;

    column__init(&bigger, sizeof(struct slot));
    code = column__resize(&bigger, m->slots.n ? m->slots.n * 2 : 64);
    if (code)
        return code;
    for (uint64_t i = 0; i < m->slots.n; i++) {
        const struct slot *s = (const struct slot *)m->slots.data + i;

        if (s->used)
            *find(&bigger, s->key) = *s;
    }
    column__deinit(&m->slots);
    m->slots = bigger;
    return 0;
}

int idmap__put(struct idmap *m, uint64_t key, uint32_t value)
{
    struct slot *s;

    if (m->n * 2 >= m->slots.n) {
        int code = grow(m);

        if (code)
            return code;
    }
    s = find(&m->slots, key);
    m->n += !s->used;
    *s = (struct slot){.key = key, .value = value, .used = 1};
    return 0;
}

uint32_t idmap__get(const struct idmap *m, uint64_t key)
{
    const struct slot *s = m->n ? find(&m->slots, key) : NULL;

    return s && s->used ? s->value : IDMAP_NONE;
}
