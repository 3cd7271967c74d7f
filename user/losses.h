/* SPDX-License-Identifier: GPL-2.0-only */
/* What BPF counted as lost: the table, read now and then, written as differences. */
#ifndef SCOPE_LOSSES_H
#define SCOPE_LOSSES_H

#include "converters/capture.h"
#include "programs.h"

struct losses;

struct losses *losses__create(struct programs *p); /* NULL: out of memory */
void losses__destroy(struct losses *l);

/* Appends entries of a LOSS block: what was added since the last time. */
void losses__put(struct losses *l, struct capture_buf *b);
uint64_t losses__total(const struct losses *l); /* as of the last losses__put */

#endif
