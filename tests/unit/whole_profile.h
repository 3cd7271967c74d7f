/* SPDX-License-Identifier: GPL-2.0-only */
/* A profile with everything that the model can hold, and whether two profiles say the same. */
#ifndef SCOPE_TESTS_WHOLE_PROFILE_H
#define SCOPE_TESTS_WHOLE_PROFILE_H

#include "converters/model.h"

/* Two ranks, hostile names, all columns, all tables. */
struct profile *whole_profile(void);
/* The same with at most so many regions; the names of the first WHOLE_UTF8 are UTF-8. */
struct profile *whole_profile_of(uint32_t n_names);
#define WHOLE_UTF8 8

/* What a target has no place for. */
enum whole_part {
    WHOLE_CALLS = 1,
    WHOLE_EXTRAS = 2, /* optional columns, tags, metadata of calls, source text, exclusive times */
    WHOLE_TABLES = 4, /* threads, tasks, counters, lines, metadata */
    WHOLE_OURS = 8,   /* samples, losses, notes, processes */
    WHOLE_ALL = 15,
};

/* Fails the test at the first difference. The order of regions and ranks may differ. */
void assert_same_profile(const struct profile *a, const struct profile *b, unsigned parts);

#endif
