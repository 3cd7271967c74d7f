/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_H5_READ_H
#define SCOPE_H5_READ_H

#include "converters/format.h"

bool h5__match(const struct input *in);
int h5__read(const struct input *in, struct profile *into, struct err *err);

#endif
