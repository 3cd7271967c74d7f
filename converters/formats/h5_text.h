/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts of HDF5 files: fixed or variable length, or bytes of variable length. */
#ifndef SCOPE_H5_TEXT_H
#define SCOPE_H5_TEXT_H

#include "h5_get.h"

/* All elements of the set into `to`. */
void h5_text__read(struct h5_reader *r, const struct h5_set *set, const char *name, struct text *to);

#endif
