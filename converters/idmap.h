/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that a capture chose → our indexes.  Lives in a column, so a hostile number of them leaves memory
 * too. */
#ifndef SCOPE_IDMAP_H
#define SCOPE_IDMAP_H

#include "column.h"

#define IDMAP_NONE UINT32_MAX

struct idmap {
    struct column slots;
    uint64_t n;
};

void idmap__init(struct idmap *m);
void idmap__deinit(struct idmap *m);
int idmap__put(struct idmap *m, uint64_t key, uint32_t value); /* replaces; 0, -ENOMEM, -ENOSPC */
uint32_t idmap__get(const struct idmap *m, uint64_t key);      /* IDMAP_NONE: not there */

#endif
