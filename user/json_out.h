/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The little JSON that scope-bpf prints of itself (--list, --check): a stream, indented one item per
 * line, no tree. key is NULL inside a list.
 */
#ifndef SCOPE_JSON_OUT_H
#define SCOPE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
    FILE *file;
    int depth;
    bool again; /* something stands before, on this level */
};

void json_out__object(struct json_out *j, const char *key);
void json_out__list(struct json_out *j, const char *key);
void json_out__end_object(struct json_out *j);
void json_out__end_list(struct json_out *j);
/* Bytes; what is no UTF-8 becomes U+FFFD. text NULL: null. */
void json_out__bytes(struct json_out *j, const char *key, const char *text, size_t len);
void json_out__text(struct json_out *j, const char *key, const char *text);
void json_out__number(struct json_out *j, const char *key, int64_t value);
void json_out__bool(struct json_out *j, const char *key, bool value);

#endif
