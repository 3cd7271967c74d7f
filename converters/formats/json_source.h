/* SPDX-License-Identifier: GPL-2.0-only */
/* The bytes of a JSON document: from a file as it is, or gzipped; which one, its first bytes say. */
#ifndef SCOPE_JSON_SOURCE_H
#define SCOPE_JSON_SOURCE_H

#include "converters/format.h"
#include "converters/json_in.h"

#include <zlib.h>

struct json_source {
    const struct input *in;
    uint64_t at; /* of the next byte in the file */
    bool gzip, ended;
    z_stream stream;
    uint8_t packed[16384];
};

/* 0 or -ENOMEM. */
int json_source__init(struct json_source *s, const struct input *in);
void json_source__deinit(struct json_source *s);
/* For json_in__init, with the source as its arg. */
int json_source__fill(struct json_in *j, void *buf, size_t cap);

#endif
