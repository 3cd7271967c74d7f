// SPDX-License-Identifier: GPL-2.0-only
#include "utf8.h"

static size_t length_by_first(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t utf8_text__next(const char *text, size_t len, uint32_t *ret)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t n = length_by_first(s[0]);
    uint32_t code = n == 1 ? s[0] : s[0] & (0x7fu >> n);

    if (!n || n > len)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    if (code < smallest[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    *ret = code;
    return n;
}

bool utf8_text__is_valid(const char *text, size_t len)
{
    while (len) {
        uint32_t code;
        size_t n = utf8_text__next(text, len, &code);

        if (!n)
            return false;
        text += n;
        len -= n;
    }
    return true;
}
