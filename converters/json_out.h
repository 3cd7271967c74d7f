/* SPDX-License-Identifier: GPL-2.0-only */
/* Strict JSON on its way out: one document, written from front to back. */
#ifndef SCOPE_JSON_OUT_H
#define SCOPE_JSON_OUT_H

#include "out.h"

/* Commas are put where they belong: one state per document. Zero-initialise, set `out`. */
struct json_out {
    struct out *out;
    bool follows; /* something stands before in the same container */
};

/* Opens '{' or '[', closes '}' or ']'. */
void json_out__open(struct json_out *j, char opener);
void json_out__close(struct json_out *j, char closer);
void json_out__key(struct json_out *j, const char *key); /* a plain literal, no escapes */
void json_out__text_key(struct json_out *j, struct text key);

/* Bytes that are no UTF-8 become U+FFFD. */
void json_out__string(struct json_out *j, struct text text);
void json_out__i64(struct json_out *j, int64_t v);
void json_out__bool(struct json_out *j, bool v);
/* The shortest text that gives the same double again; null for what is not finite. */
void json_out__double(struct json_out *j, double v);
void json_out__null(struct json_out *j);
void json_out__raw(struct json_out *j, struct text json); /* JSON that was checked before */
void json_out__hex(struct json_out *j, struct text bytes);

/* Key and value. */
void json_out__string_at(struct json_out *j, const char *key, struct text text);
void json_out__i64_at(struct json_out *j, const char *key, int64_t v);

#endif
