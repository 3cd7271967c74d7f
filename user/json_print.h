/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The little JSON that scope-bpf prints of itself (--list, --check): a stream, indented one item per
 * line, no tree. key is NULL inside a list.
 */
#ifndef SCOPE_JSON_PRINT_H
#define SCOPE_JSON_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_print {
    FILE *file;
    int depth;
    bool again; /* something stands before, on this level */
};

void json_print__object(struct json_print *j, const char *key);
void json_print__list(struct json_print *j, const char *key);
void json_print__end_object(struct json_print *j);
void json_print__end_list(struct json_print *j);
/* Bytes; what is no UTF-8 becomes U+FFFD. text NULL: null. */
void json_print__bytes(struct json_print *j, const char *key, const char *text, size_t len);
void json_print__text(struct json_print *j, const char *key, const char *text);
void json_print__number(struct json_print *j, const char *key, int64_t value);
void json_print__bool(struct json_print *j, const char *key, bool value);

#endif
