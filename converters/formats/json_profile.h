/* SPDX-License-Identifier: GPL-2.0-only */
/* What the reader and the writer of JSON profiles share. */
#ifndef SCOPE_JSON_PROFILE_H
#define SCOPE_JSON_PROFILE_H

#include "converters/format.h"

#define JSON_PROFILE_FORMAT  "scope-profiler-profile"
#define JSON_PROFILE_VERSION 1

/* Optional columns of a row, by their keys. */
struct json_column {
    enum call_column column;
    const char *key;
};
extern const struct json_column json_columns[];
extern const size_t n_json_columns;

bool json__match(const struct input *in);
int json__read(const struct input *in, struct profile *into, struct err *err);

#endif
