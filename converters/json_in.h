/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pull parser for JSON (RFC 8259, strict), for documents larger than memory: the caller asks for what it
 * expects. json-c was no choice: it builds the whole document. Errors stick: after the first, reads give
 * nothing and `next` ends every loop.
 */
#ifndef SCOPE_JSON_IN_H
#define SCOPE_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX  256
#define JSON_STRING_MAX (64u << 20)

/* A string being built; free with json_text__deinit. */
struct json_text {
    char *s; /* ends in NUL once something was put */
    size_t len, cap;
};
void json_text__deinit(struct json_text *t);
bool json_text__put(struct json_text *t, const void *bytes, size_t n); /* false: no memory */

struct json_in {
    /* Bytes into buf, at most cap: their number, 0 at the end, -errno with `message` set. NULL: text in
     * memory. */
    int (*fill)(struct json_in *j, void *buf, size_t cap);
    void *arg;
    const uint8_t *at, *end;
    uint8_t *buffer;
    uint64_t offset; /* of `end` in the document */
    int code;        /* 0 or -errno */
    char message[160];
    bool lenient; /* NaN and Infinity, which Python writes, are taken for null */
    unsigned depth;
    uint8_t started[JSON_DEPTH_MAX]; /* per open container: an element was read */
    char open[JSON_DEPTH_MAX];
};

void json_in__init_text(struct json_in *j, const char *text, size_t len);
/* 0 or -ENOMEM; free with json_in__deinit. */
int json_in__init(struct json_in *j, int (*fill)(struct json_in *, void *, size_t), void *arg);
void json_in__deinit(struct json_in *j);

/* Sets the first error. */
void json_in__fail(struct json_in *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t json_in__offset(const struct json_in *j); /* of the next byte */

/* The first character of the next value: { [ " t f n, 0 for a number, N for a lenient NaN; -1 at the end or
 * after an error. */
int json_in__peek(struct json_in *j);
bool json_in__enter(struct json_in *j,
                    char opener);      /* '{' or '[': an error when something else stands there */
bool json_in__next(struct json_in *j); /* another element? After the last it has left the container */
void json_in__key(struct json_in *j, struct json_text *ret);
void json_in__string(struct json_in *j, struct json_text *ret);
int64_t json_in__i64(struct json_in *j);     /* an integer without fraction and exponent, in range */
bool json_in__is_integer(struct json_in *j); /* whether the number that follows looks like one */
double json_in__double(struct json_in *j);   /* null: NaN */
bool json_in__bool(struct json_in *j);
void json_in__skip(struct json_in *j); /* any value */
void json_in__copy(struct json_in *j, struct json_text *to); /* any value, appended without spaces, strict */
void json_in__end(struct json_in *j);      /* nothing may follow */

#endif
