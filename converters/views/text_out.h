/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes of a profile on their way to a person or a parser: nothing they hold may play with the reader. */
#ifndef SCOPE_TEXT_OUT_H
#define SCOPE_TEXT_OUT_H

#include "converters/model.h"

#include <stdio.h>

/* A string that grows; failed is sticky and checked once. Zero-initialise, free with strbuf__deinit. */
struct strbuf {
    char *s; /* ends in NUL once something was put; NULL before */
    size_t len, cap;
    bool failed;
};

void strbuf__deinit(struct strbuf *b);
void strbuf__put(struct strbuf *b, const void *bytes, size_t len);
void strbuf__printf(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Decodes one UTF-8 character (no surrogates, no overlong forms): its length, or 0 when the bytes are none.
 */
unsigned utf8__decode(const char *s, size_t len, uint32_t *ret);

/* Columns on a terminal of a text that show__text made. */
unsigned utf8__width(const char *s, size_t len);

/*
 * Appends a name for people: control characters, bytes that are not UTF-8, characters that change the direction
 * of writing as \x1b, \xff, \u202e; with utf8 false everything above ASCII.  A backslash stays one.
 */
void show__text(struct strbuf *b, struct text t, bool utf8);

/* "1.234 ms", "56.70 s", "17 ns": four digits, ns exact below 10,000.  utf8 chooses between µs and us. */
void show__ns(struct strbuf *b, int64_t ns, bool utf8);

/* "12,345,678" */
void show__count(struct strbuf *b, uint64_t n);

/* A JSON string with its quotes.  What is not UTF-8 becomes U+FFFD. true when that happened. */
bool json__string(FILE *out, const char *s, size_t len);

/* A CSV cell with its exact bytes, in quotes where RFC 4180 wants them. */
void csv__cell(FILE *out, const char *s, size_t len);

#endif
