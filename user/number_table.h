/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash table from a number (lane, pid, …) to a pointer; open addressing, grows, never holds key 0. */
#ifndef SCOPE_NUMBER_TABLE_H
#define SCOPE_NUMBER_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct number_table {
    struct number_slot {
        uint64_t key; /* 0 free */
        void *value;
    } *slots;
    size_t n, cap;
};

void *number_table__get(const struct number_table *t, uint64_t key);
int number_table__put(struct number_table *t, uint64_t key, void *value); /* replaces; 0 or -ENOMEM */
void number_table__remove(struct number_table *t, uint64_t key);
void number_table__deinit(struct number_table *t); /* the values are the caller's */

#endif
