/* SPDX-License-Identifier: GPL-2.0-only */
/* Columns of int64 in chunks, unpacked by ourselves: faster than through HDF5's filters, and every size
 * checked. */
#ifndef SCOPE_H5_CHUNKS_H
#define SCOPE_H5_CHUNKS_H

#include "h5_get.h"

/* Whether the set is a list of 64-bit integers of our byte order in chunks with no filter but shuffle and
 * deflate. */
bool h5_chunks__can(const struct h5_set *set);

/* All elements into `to`; NULL: walks the index of chunks only. */
void h5_chunks__read(struct h5_reader *r, const struct h5_set *set, const char *name, int64_t *to);

#endif
