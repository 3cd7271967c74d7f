/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_VIEW_H
#define SCOPE_VIEW_H

#include "converters/model.h"

#include <stdio.h>

enum view_shape { VIEW_TEXT, VIEW_JSON, VIEW_CSV };

/* How the reader of a stream wants to see it. */
struct screen {
    unsigned width; /* columns of the terminal; 0: not a terminal, lines may be as long as they are */
    bool colour;    /* a terminal, and NO_COLOR is not set */
    bool utf8;      /* the locale can show it; else plain ASCII */
};

struct screen screen__of(FILE *out);

/* What every view may be asked for.  Zero is the default. */
struct view_options {
    enum view_shape shape;
    struct screen screen;
    const char *const *region; /* globs: only these regions; NULL all */
    size_t n_region;
    const char *const *exclude; /* globs: not these */
    size_t n_exclude;
    const int32_t *ranks; /* numbers: only these ranks; NULL all */
    size_t n_ranks;
    const char *sort; /* name of a column; NULL: by nesting */
    bool per_rank;
    bool all_plain; /* statistics take calls with flags for plain ones, as the reference does */
    uint64_t top; /* at most so many rows; 0 all */
    bool overlaps_split;
    double from_s, to_s; /* only calls that touch this part of the time line, seconds since its start; to_s 0: all */
    int64_t thread;      /* lane's thread index, with has_thread */
    bool has_thread;
};

bool view__wants_region(const struct view_options *options, struct text name);
bool view__wants_rank(const struct view_options *options, int32_t number);

#endif
