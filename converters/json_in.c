// SPDX-License-Identifier: GPL-2.0-only
#include "json_in.h"
#include "names.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER     65536
#define NUMBER_MAX 400 /* digits that a double may take when it is written in full */

void json_text__deinit(struct json_text *t)
{
    free(t->s);
    *t = (struct json_text){0};
}

bool json_text__put(struct json_text *t, const void *bytes, size_t n)
{
    if (t->len + n + 1 > t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        char *s;

        while (cap < t->len + n + 1)
            cap *= 2;
        s = realloc(t->s, cap);
        if (!s)
            return false;
        t->s = s;
        t->cap = cap;
    }
    if (n)
        memcpy(t->s + t->len, bytes, n);
    t->len += n;
    t->s[t->len] = '\0';
    return true;
}

void json_in__init_text(struct json_in *j, const char *text, size_t len)
{
    *j = (struct json_in){.at = (const uint8_t *)text, .end = (const uint8_t *)text + len, .offset = len};
}

int json_in__init(struct json_in *j, int (*fill)(struct json_in *, void *, size_t), void *arg)
{
    *j = (struct json_in){.fill = fill, .arg = arg, .buffer = malloc(BUFFER)};
    j->at = j->end = j->buffer;
    return j->buffer ? 0 : -ENOMEM;
}

void json_in__deinit(struct json_in *j)
{
    free(j->buffer);
    j->buffer = NULL;
}

void json_in__fail(struct json_in *j, const char *format, ...)
{
    va_list args;

    if (j->code)
        return;
    va_start(args, format);
    vsnprintf(j->message, sizeof(j->message), format, args);
    va_end(args);
    j->code = -EINVAL;
}

static void no_memory(struct json_in *j)
{
    if (j->code)
        return;
    snprintf(j->message, sizeof(j->message), "not enough memory");
    j->code = -ENOMEM;
}

uint64_t json_in__offset(const struct json_in *j)
{
    return j->offset - (uint64_t)(j->end - j->at);
}

/* ---- bytes
 * ---------------------------------------------------------------------------------------------------- */

static bool refill(struct json_in *j)
{
    int got;

    if (!j->fill || j->code)
        return false;
    got = j->fill(j, j->buffer, BUFFER);
    if (got < 0 && !j->code)
        j->code = got;
    if (got <= 0)
        return false;
    j->at = j->buffer;
    j->end = j->buffer + got;
    j->offset += (uint64_t)got;
    return true;
}

/* The next byte without taking it; -1 at the end. */
static inline int look(struct json_in *j)
{
    if (j->at == j->end && !refill(j))
        return -1;
    return *j->at;
}

static inline int take(struct json_in *j)
{
    int c = look(j);

    if (c >= 0)
        j->at++;
    return c;
}

static int skip_space(struct json_in *j)
{
    int c;

    while ((c = look(j)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        j->at++;
    return j->code ? -1 : c;
}

static void unexpected(struct json_in *j, int c, const char *wanted)
{
    if (c < 0)
        json_in__fail(j, "the text ends where %s should stand", wanted);
    else if (c < 0x20 || c > 0x7e)
        json_in__fail(j, "byte 0x%02x where %s should stand", (unsigned)c, wanted);
    else
        json_in__fail(j, "'%c' where %s should stand", c, wanted);
}

static void expect_word(struct json_in *j, const char *word)
{
    for (const char *at = word; *at && !j->code; at++) {
        int c = take(j);

        if (c != *at)
            unexpected(j, c, word);
    }
}

/* ---- structure
 * ------------------------------------------------------------------------------------------------ */

int json_in__peek(struct json_in *j)
{
    int c = skip_space(j);

    if (j->code)
        return -1;
    if (c == '-' || (c >= '0' && c <= '9'))
        return 0;
    if (j->lenient && (c == 'N' || c == 'I'))
        return 'N';
    if (c < 0 || !strchr("{[\"tfn", c))
        unexpected(j, c, "a value");
    return j->code ? -1 : c;
}

bool json_in__enter(struct json_in *j, char opener)
{
    int c = skip_space(j);

    if (c != opener) {
        unexpected(j, c, opener == '{' ? "an object" : "a list");
        return false;
    }
    if (j->depth == JSON_DEPTH_MAX) {
        json_in__fail(j, "more than %d levels of nesting", JSON_DEPTH_MAX);
        return false;
    }
    j->at++;
    j->open[j->depth] = opener;
    j->started[j->depth++] = 0;
    return true;
}

bool json_in__next(struct json_in *j)
{
    unsigned top = j->depth - 1;
    char closer;
    int c = skip_space(j);

    if (j->code)
        return false;
    closer = j->open[top] == '{' ? '}' : ']';
    if (c == closer) {
        j->at++;
        j->depth--;
        return false;
    }
    if (j->started[top] && c != ',') {
        unexpected(j, c, closer == '}' ? "',' or '}'" : "',' or ']'");
        return false;
    }
    if (j->started[top])
        j->at++;
    j->started[top] = 1;
    return true;
}

void json_in__end(struct json_in *j)
{
    int c = skip_space(j);

    if (c >= 0)
        json_in__fail(j, "something follows the document");
}

/* ---- strings
 * -------------------------------------------------------------------------------------------------- */

static unsigned hex4(struct json_in *j)
{
    unsigned v = 0;

    for (int i = 0; i < 4; i++) {
        int c = take(j), digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10;
        if (digit < 0) {
            unexpected(j, c, "a hexadecimal digit");
            return 0;
        }
        v = v << 4 | (unsigned)digit;
    }
    return v;
}

static size_t encode_utf8(unsigned c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* After "\u": one character; a half of a surrogate pair that stands alone becomes U+FFFD. */
static size_t unicode_escape(struct json_in *j, char out[8])
{
    unsigned c = hex4(j), low;
    size_t n;

    if (c < 0xd800 || c > 0xdfff)
        return encode_utf8(c, out);
    if (c > 0xdbff || look(j) != '\\')
        return encode_utf8(0xfffd, out);
    j->at++;
    if (look(j) != 'u') {
        json_in__fail(j, "half of a surrogate pair stands alone");
        return 0;
    }
    j->at++;
    low = hex4(j);
    if (low >= 0xdc00 && low <= 0xdfff)
        return encode_utf8(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), out);
    n = encode_utf8(0xfffd, out);
    return n + encode_utf8(low >= 0xd800 && low <= 0xdbff ? 0xfffd : low, out + n);
}

static size_t escape(struct json_in *j, char out[8])
{
    int c = take(j);

    switch (c) {
    case '"':
    case '\\':
    case '/': out[0] = (char)c; return 1;
    case 'b': out[0] = '\b'; return 1;
    case 'f': out[0] = '\f'; return 1;
    case 'n': out[0] = '\n'; return 1;
    case 'r': out[0] = '\r'; return 1;
    case 't': out[0] = '\t'; return 1;
    case 'u': return unicode_escape(j, out);
    }
    unexpected(j, c, "an escape");
    return 0;
}

/* The bytes up to the next quote, backslash or control character, in one go. */
static void plain_run(struct json_in *j, struct json_text *ret)
{
    const uint8_t *from = j->at;

    while (j->at < j->end && *j->at >= 0x20 && *j->at != '"' && *j->at != '\\')
        j->at++;
    if (ret->len + (size_t)(j->at - from) > JSON_STRING_MAX)
        json_in__fail(j, "a string of more than %u bytes", JSON_STRING_MAX);
    else if (!json_text__put(ret, from, (size_t)(j->at - from)))
        no_memory(j);
}

static void read_string(struct json_in *j, struct json_text *ret)
{
    ret->len = 0;
    if (!json_text__put(ret, "", 0))
        no_memory(j);
    while (!j->code) {
        char out[8];
        size_t n;
        int c = look(j);

        if (c < 0x20) {
            unexpected(j, c, "the rest of a string");
            return;
        }
        if (c != '"' && c != '\\') {
            plain_run(j, ret);
            continue;
        }
        j->at++;
        if (c == '"')
            break;
        n = escape(j, out);
        if (!j->code && !json_text__put(ret, out, n))
            no_memory(j);
    }
    if (!j->code && !utf8__valid(ret->s, ret->len))
        json_in__fail(j, "a string that is not UTF-8");
}

void json_in__string(struct json_in *j, struct json_text *ret)
{
    int c = skip_space(j);

    ret->len = 0;
    if (c != '"') {
        unexpected(j, c, "a string");
        return;
    }
    j->at++;
    read_string(j, ret);
}

void json_in__key(struct json_in *j, struct json_text *ret)
{
    int c;

    json_in__string(j, ret);
    c = skip_space(j);
    if (c == ':')
        j->at++;
    else
        unexpected(j, c, "':'");
}

/* ---- numbers
 * -------------------------------------------------------------------------------------------------- */

static bool digit(int c)
{
    return c >= '0' && c <= '9';
}

int64_t json_in__i64(struct json_in *j)
{
    int c = skip_space(j);
    bool negative = c == '-', leading_zero;
    uint64_t v = 0, limit = (uint64_t)INT64_MAX + negative;

    if (negative)
        j->at++;
    if (!digit(look(j))) {
        unexpected(j, negative ? look(j) : c, "an integer");
        return 0;
    }
    leading_zero = look(j) == '0';
    for (int n = 0; digit(c = look(j)); n++, j->at++) {
        unsigned d = (unsigned)(c - '0');

        if ((n && leading_zero) || v > (limit - d) / 10) {
            json_in__fail(j, n && leading_zero ? "a number that begins with 0"
                                               : "an integer that does not fit into 64 bits");
            return 0;
        }
        v = v * 10 + d;
    }
    if (c == '.' || c == 'e' || c == 'E')
        json_in__fail(j, "a number with a fraction where an integer should stand");
    return j->code ? 0 : (int64_t)(negative ? 0 - v : v);
}

static size_t digits(struct json_in *j, char *to, size_t n, const char *what)
{
    size_t before = n;

    while (digit(look(j)) && n < NUMBER_MAX)
        to[n++] = (char)take(j);
    if (n == before)
        unexpected(j, look(j), what);
    if (n == NUMBER_MAX)
        json_in__fail(j, "a number with too many digits");
    return n;
}

/* The text of a number, checked against the grammar. */
static size_t number(struct json_in *j, char text[NUMBER_MAX + 1])
{
    size_t n = 0, whole;
    int c = skip_space(j);

    if (c == '-')
        text[n++] = (char)take(j);
    whole = n;
    n = digits(j, text, n, "a number");
    if (!j->code && n > whole + 1 && text[whole] == '0')
        json_in__fail(j, "a number that begins with 0");
    if (!j->code && look(j) == '.') {
        text[n++] = (char)take(j);
        n = digits(j, text, n, "a digit");
    }
    c = j->code ? -1 : look(j);
    if (c == 'e' || c == 'E') {
        text[n++] = (char)take(j);
        if (look(j) == '+' || look(j) == '-')
            text[n++] = (char)take(j);
        n = digits(j, text, n, "a digit");
    }
    text[j->code ? 0 : n] = '\0';
    return n;
}

static void non_finite(struct json_in *j)
{
    int c = look(j);

    if (c == '-')
        take(j);
    expect_word(j, look(j) == 'I' ? "Infinity" : "NaN");
}

double json_in__double(struct json_in *j)
{
    char text[NUMBER_MAX + 1];
    int c = json_in__peek(j);

    if (c == 'n') {
        expect_word(j, "null");
        return NAN;
    }
    if (c == 'N') {
        non_finite(j);
        return NAN;
    }
    if (c) {
        unexpected(j, c, "a number");
        return 0;
    }
    number(j, text);
    return j->code ? 0 : strtod(text, NULL);
}

bool json_in__bool(struct json_in *j)
{
    int c = json_in__peek(j);

    if (c != 't' && c != 'f')
        unexpected(j, c, "true or false");
    else
        expect_word(j, c == 't' ? "true" : "false");
    return c == 't';
}

/* ---- any value
 * ------------------------------------------------------------------------------------------------ */

static void put(struct json_in *j, struct json_text *to, const char *bytes, size_t n)
{
    if (!to || j->code)
        return;
    if (to->len + n > JSON_STRING_MAX)
        json_in__fail(j, "a value of more than %u bytes", JSON_STRING_MAX);
    else if (!json_text__put(to, bytes, n))
        no_memory(j);
}

static void put_string(struct json_in *j, struct json_text *to, const struct json_text *text)
{
    put(j, to, "\"", 1);
    for (size_t i = 0; i < text->len && to && !j->code; i++) {
        unsigned char c = (unsigned char)text->s[i];
        char escaped[8];

        if (c == '"' || c == '\\')
            put(j, to, "\\", 1);
        if (c >= 0x20) {
            put(j, to, (const char *)&c, 1);
        } else {
            snprintf(escaped, sizeof(escaped), "\\u%04x", c);
            put(j, to, escaped, 6);
        }
    }
    put(j, to, "\"", 1);
}

static void copy_scalar(struct json_in *j, int c, struct json_text *to, struct json_text *scratch)
{
    char text[NUMBER_MAX + 1];

    switch (c) {
    case '"':
        json_in__string(j, scratch);
        put_string(j, to, scratch);
        break;
    case 't':
    case 'f': put(j, to, json_in__bool(j) ? "true" : "false", c == 't' ? 4 : 5); break;
    case 'n':
        expect_word(j, "null");
        put(j, to, "null", 4);
        break;
    case 'N':
        non_finite(j);
        put(j, to, "null", 4);
        break;
    case 0:
        if (j->lenient && look(j) == '-' && j->end - j->at > 1 && j->at[1] == 'I') {
            non_finite(j);
            put(j, to, "null", 4);
            break;
        }
        put(j, to, text, number(j, text));
        break;
    }
}

/* Without recursion: hostile nesting costs a byte per level. */
void json_in__copy(struct json_in *j, struct json_text *to)
{
    struct json_text scratch = {0};
    unsigned base = j->depth;

    do {
        int c = json_in__peek(j);

        if (c == '{' || c == '[') {
            json_in__enter(j, (char)c);
            put(j, to, c == '{' ? "{" : "[", 1);
        } else if (c >= 0) {
            copy_scalar(j, c, to, &scratch);
        }
        /* Leave what ends here, then stand before the next value. */
        while (j->depth > base && !j->code) {
            bool object = j->open[j->depth - 1] == '{', comma = j->started[j->depth - 1];

            if (!json_in__next(j)) {
                put(j, to, object ? "}" : "]", j->code ? 0 : 1);
                continue;
            }
            put(j, to, ",", comma);
            if (object) {
                json_in__key(j, &scratch);
                put_string(j, to, &scratch);
                put(j, to, ":", 1);
            }
            break;
        }
    } while (j->depth > base && !j->code);
    json_text__deinit(&scratch);
}

void json_in__skip(struct json_in *j)
{
    json_in__copy(j, NULL);
}

bool json_in__is_integer(struct json_in *j)
{
    const uint8_t *at;

    if (json_in__peek(j) != 0)
        return false;
    /* Where the buffer ends inside the number, the rest is fetched behind it. */
    if (j->fill && j->end - j->at < NUMBER_MAX) {
        size_t left = (size_t)(j->end - j->at);
        int got;

        memmove(j->buffer, j->at, left);
        got = j->fill(j, j->buffer + left, BUFFER - left);
        if (got < 0 && !j->code)
            j->code = got;
        j->at = j->buffer;
        j->end = j->buffer + left + (got > 0 ? (size_t)got : 0);
        j->offset += got > 0 ? (uint64_t)got : 0;
    }
    for (at = j->at + (*j->at == '-'); at < j->end && digit(*at); at++)
        ;
    return at == j->end || (*at != '.' && *at != 'e' && *at != 'E');
}
