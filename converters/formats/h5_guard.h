/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libhdf5 trusts what it parses more than we do: a damaged heap or index can make it crash or run for ever.
 * So a child reads the file's structure first, everything but the calls themselves, with limits; only a file
 * that it came through is read by the process itself.
 */
#ifndef SCOPE_H5_GUARD_H
#define SCOPE_H5_GUARD_H

#include "converters/format.h"

/* Runs `read` in a child on a scratch profile. 0, or the child's error, or one that says how the child died.
 */
int h5_guard__try(const struct input *in,
                  int (*read)(const struct input *in, struct profile *p, struct err *err), struct err *err);

#endif
