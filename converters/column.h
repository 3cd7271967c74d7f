/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A column: a growing array of one fixed width that leaves anonymous memory when it becomes large.
 *
 * Up to COLUMN_SPILL_BYTES it is heap memory; above, the bytes live in an unlinked temporary file mapped
 * shared, so that the kernel can write them back and the process stays small whatever the number of calls.
 * Space is allocated before it is used: a full disk is an error (-ENOSPC) and never a SIGBUS.
 */
#ifndef SCOPE_COLUMN_H
#define SCOPE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLUMN_SPILL_BYTES (4u << 20)

struct column {
    void *data;      /* n elements; moves when the column grows */
    uint64_t n, cap; /* elements */
    uint32_t width;  /* bytes per element */
    int fd;          /* of the temporary file, -1 in memory */
};

/* Folder for temporary files of this process: TMPDIR, else this one (that of the output: a tmpfs would be
 * memory again), else /var/tmp or /tmp. NULL: none. */
void column__set_folder(const char *path);

void column__init(struct column *c, uint32_t width);
void column__deinit(struct column *c);            /* accepts a zeroed one; the column is empty afterwards */
int column__resize(struct column *c, uint64_t n); /* new elements are 0; 0, -ENOMEM, -ENOSPC */
int column__extend(struct column *c,
                   uint64_t n);         /* the same; new elements hold anything: all will be written */
void *column__append(struct column *c); /* one zeroed element; NULL: out of memory or disk */
int column__append_i64(struct column *c, int64_t v);
int column__append_many(struct column *c, const void *elements,
                        uint64_t n);                               /* n elements copied to the end */
int column__fill_i64(struct column *c, uint64_t n, int64_t value); /* appends value until it has n elements */

/* Stands for the elements of a column that has none: pointer arithmetic wants something to begin with. */
extern int64_t column__nothing[1];

static inline int64_t *column_i64(const struct column *c)
{
    return c->data ? (int64_t *)c->data : column__nothing;
}
static inline uint8_t *column_u8(const struct column *c)
{
    return c->data ? (uint8_t *)c->data : (uint8_t *)column__nothing;
}

/*
 * Sorts the records of a column in place with bounded anonymous memory: merges through a second column of
 * half the size. Stable. 0, -ENOMEM, -ENOSPC (the column is unchanged then).
 */
int column__sort(struct column *c, int (*compare)(const void *a, const void *b, void *arg), void *arg);

#endif
