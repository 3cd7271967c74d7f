/* SPDX-License-Identifier: GPL-2.0-only */
#include "number_table.h"

#include <errno.h>
#include <stdlib.h>

static size_t place(const struct number_table *t, uint64_t key)
{
    size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & (t->cap - 1);

    while (t->slots[i].key && t->slots[i].key != key)
        i = (i + 1) & (t->cap - 1);
    return i;
}

void *number_table__get(const struct number_table *t, uint64_t key)
{
    return t->n ? t->slots[place(t, key)].value : NULL;
}

static int grow(struct number_table *t)
{
    struct number_table next = { .cap = t->cap ? 2 * t->cap : 64 };

    next.slots = calloc(next.cap, sizeof(*next.slots));
    if (!next.slots)
        return -ENOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].key) {
            next.slots[place(&next, t->slots[i].key)] = t->slots[i];
            next.n++;
        }
    free(t->slots);
    *t = next;
    return 0;
}

int number_table__put(struct number_table *t, uint64_t key, void *value)
{
    if (2 * (t->n + 1) > t->cap) {
        int r = grow(t);
        if (r)
            return r;
    }
    struct number_slot *slot = &t->slots[place(t, key)];
    t->n += !slot->key;
    slot->key = key;
    slot->value = value;
    return 0;
}

/* What stands behind the hole moves up where its own place is not between the hole and itself. */
void number_table__remove(struct number_table *t, uint64_t key)
{
    if (!t->n)
        return;
    size_t hole = place(t, key);
    if (!t->slots[hole].key)
        return;
    t->slots[hole] = (struct number_slot){ 0 };
    t->n--;
    for (size_t i = (hole + 1) & (t->cap - 1); t->slots[i].key; i = (i + 1) & (t->cap - 1)) {
        struct number_slot moved = t->slots[i];
        t->slots[i] = (struct number_slot){ 0 };
        t->slots[place(t, moved.key)] = moved;
    }
}

void number_table__deinit(struct number_table *t)
{
    free(t->slots);
    *t = (struct number_table){ 0 };
}
