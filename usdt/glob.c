// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/glob.h"

#include <string.h>

struct text {
    const unsigned char *at, *end;
};

/* The bytes of the UTF-8 character at p, 1 where it is none. */
static size_t character_size(const unsigned char *p, const unsigned char *end)
{
    size_t size = *p >= 0xf0 && *p < 0xf8 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 1;

    if (*p >= 0xf8 || size > (size_t)(end - p))
        return 1;
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 1;
    }
    return size;
}

/* Behind the `]` of the set that starts behind p's `[`, or NULL where it is not closed. */
static const unsigned char *set_end(const unsigned char *p, const unsigned char *end)
{
    if (p < end && (*p == '!' || *p == '^'))
        p++;
    if (p < end && *p == ']')
        p++;
    while (p < end && *p != ']')
        p += *p == '\\' && end - p > 1 ? 2 : 1;
    return p < end ? p + 1 : NULL;
}

static unsigned char set_byte(const unsigned char **p, const unsigned char *end)
{
    if (**p == '\\' && end - *p > 1)
        (*p)++;
    return *(*p)++;
}

/* p is behind the `[`, end at the `]`. */
static bool set_holds(const unsigned char *p, const unsigned char *end, unsigned char byte)
{
    bool negated = p < end && (*p == '!' || *p == '^');
    bool found = false;

    p += negated;
    while (p < end) {
        unsigned char low = set_byte(&p, end), high = low;

        if (end - p > 1 && *p == '-') {
            p++;
            high = set_byte(&p, end);
        }
        found |= low <= byte && byte <= high;
    }
    return found != negated;
}

/* Matches one element of the pattern that is no star; moves both on success. */
static bool match_one(struct text *pattern, struct text *name)
{
    const unsigned char *p = pattern->at, *close;

    if (name->at == name->end)
        return false;
    if (*p == '?') {
        pattern->at++;
        name->at += character_size(name->at, name->end);
        return true;
    }
    close = *p == '[' ? set_end(p + 1, pattern->end) : NULL;
    if (close) {
        if (!set_holds(p + 1, close - 1, *name->at))
            return false;
        pattern->at = close;
        name->at++;
        return true;
    }
    if (*p == '\\' && pattern->end - p > 1)
        p++;
    if (*p != *name->at)
        return false;
    pattern->at = p + 1;
    name->at++;
    return true;
}

bool glob__match(const char *pattern_bytes, size_t pattern_len, const char *name_bytes, size_t name_len)
{
    struct text pattern = {(const unsigned char *)pattern_bytes, NULL};
    struct text name = {(const unsigned char *)name_bytes, NULL};
    struct text star = {NULL, NULL}, star_name = {NULL, NULL};

    pattern.end = pattern.at + pattern_len;
    name.end = name.at + name_len;
    /* Only the last star ever needs to take more: what an earlier one took already fits. */
    for (;;) {
        if (pattern.at < pattern.end && *pattern.at == '*') {
            pattern.at++;
            star = pattern;
            star_name = name;
        } else if (pattern.at == pattern.end && name.at == name.end) {
            return true;
        } else if (pattern.at == pattern.end || !match_one(&pattern, &name)) {
            if (!star.end || star_name.at == star_name.end)
                return false;
            star_name.at++;
            pattern = star;
            name = star_name;
        }
    }
}

bool glob__match_str(const char *pattern, const char *name, size_t name_len)
{
    return glob__match(pattern, strlen(pattern), name, name_len);
}
