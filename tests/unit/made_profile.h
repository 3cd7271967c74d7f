/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles made by hand, for tests of the views. */
#ifndef SCOPE_TESTS_MADE_PROFILE_H
#define SCOPE_TESTS_MADE_PROFILE_H

#include "converters/model.h"

struct made_call {
    const char *region;
    int32_t rank;
    int64_t thread; /* -1: the row has no lanes */
    int64_t start, end;
    int64_t flags; /* -1: the row has no flags */
};

/* Rows in order of the first call of each (region, rank), calls in the order given. */
struct profile *made_profile(const struct made_call *calls, size_t n);

#endif
