/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON that travels as text inside other files: tags of a region, metadata of its calls. */
#ifndef SCOPE_JSON_CHECK_H
#define SCOPE_JSON_CHECK_H

#include "model.h"

/*
 * `text` must be a list; ret: the same in strict JSON (Python's NaN becomes null), in the arena of p, {NULL,
 * 0} for an empty list. calls ≥ 0: a list that is not empty must have exactly so many elements, each an
 * object. 0 or -errno with a reason in `what`.
 */
int json_check__list(struct profile *p, struct text text, int64_t calls, struct text *ret, char *what,
                     size_t size);

#endif
