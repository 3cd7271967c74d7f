/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/text_out.h"

#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- strings that grow ------------------------------------------------------------------------------------ */
void strbuf__deinit(struct strbuf *b)
{
    free(b->s);
    memset(b, 0, sizeof(*b));
}

static bool strbuf__reserve(struct strbuf *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 64;
    char *s;

    if (b->failed)
        return false;
    if (more < b->cap - b->len)
        return true;
    while (cap <= b->len + more)
        cap *= 2;
    s = realloc(b->s, cap);
    if (!s) {
        b->failed = true;
        return false;
    }
    b->s = s;
    b->cap = cap;
    return true;
}

void strbuf__put(struct strbuf *b, const void *bytes, size_t len)
{
    if (!strbuf__reserve(b, len))
        return;
    if (len)
        memcpy(b->s + b->len, bytes, len);
    b->len += len;
    b->s[b->len] = 0;
}

void strbuf__printf(struct strbuf *b, const char *format, ...)
{
    char small[256], *large = NULL;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n < sizeof(small)) {
        strbuf__put(b, small, n);
        return;
    }
    va_start(args, format);
    n = vasprintf(&large, format, args);
    va_end(args);
    if (n < 0) {
        b->failed = true;
        return;
    }
    strbuf__put(b, large, n);
    free(large);
}

/* ---- UTF-8 ------------------------------------------------------------------------------------------------ */
unsigned utf8__decode(const char *s, size_t len, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)s;
    unsigned n, i;
    uint32_t v;

    if (!len)
        return 0;
    if (c[0] < 0x80) {
        *ret = c[0];
        return 1;
    }
    n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4 || len < n)
        return 0;
    v = c[0] & (0x7f >> n);
    for (i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (c[i] & 0x3f);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
        return 0;
    *ret = v;
    return n;
}

/* The C library knows the width of characters; it must not depend on the locale of the user. */
static unsigned char_width(uint32_t c)
{
    static locale_t utf8;
    static bool tried;
    locale_t old;
    int w;

    if (c < 0x80)
        return 1;
    if (!tried) {
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
        tried = true;
    }
    if (!utf8)
        return 1;
    old = uselocale(utf8);
    w = wcwidth((wchar_t)c);
    uselocale(old);
    return w < 0 ? 1 : (unsigned)w;
}

unsigned utf8__width(const char *s, size_t len)
{
    unsigned width = 0, n;
    uint32_t c;

    for (; len; s += n, len -= n) {
        n = utf8__decode(s, len, &c);
        width += n ? char_width(c) : 1;
        n = n ? n : 1;
    }
    return width;
}

/* Invisible, or turns the text around it: a name must not rearrange a line that others stand in. */
static bool plays_tricks(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

void show__text(struct strbuf *b, struct text t, bool utf8)
{
    uint32_t c = 0;
    unsigned n;

    for (size_t i = 0; i < t.len; i += n) {
        n = utf8__decode(t.s + i, t.len - i, &c);
        if (!n) {
            n = 1;
            strbuf__printf(b, "\\x%02x", (unsigned char)t.s[i]);
        } else if (c == '\n' || c == '\t' || c == '\r') {
            strbuf__printf(b, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        } else if (c < 0x80 && plays_tricks(c)) {
            strbuf__printf(b, "\\x%02x", c);
        } else if (plays_tricks(c) || (c >= 0x80 && !utf8)) {
            strbuf__printf(b, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
        } else {
            strbuf__put(b, t.s + i, n);
        }
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------------- */
void show__ns(struct strbuf *b, int64_t ns, bool utf8)
{
    static const struct {
        double factor;
        const char *unit, *ascii;
    } units[] = {{1e3, "µs", "us"}, {1e6, "ms", "ms"}, {1e9, "s", "s"}};
    double v = (double)ns, size = v < 0 ? -v : v;
    unsigned u = 0;

    if (size < 9999.5) {
        strbuf__printf(b, "%" PRId64 " ns", ns);
        return;
    }
    while (u < 2 && size >= 9999.5 * units[u].factor / 10)
        u++;
    v /= units[u].factor;
    size /= units[u].factor;
    strbuf__printf(b, "%.*f %s", size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0, v,
                   utf8 ? units[u].unit : units[u].ascii);
}

void show__count(struct strbuf *b, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            strbuf__put(b, ",", 1);
        strbuf__put(b, digits + i, 1);
    }
}

/* ---- JSON, CSV -------------------------------------------------------------------------------------------- */
bool json__string(FILE *out, const char *s, size_t len)
{
    bool replaced = false;
    uint32_t c = 0;
    unsigned n;

    putc('"', out);
    for (; len; s += n, len -= n) {
        n = utf8__decode(s, len, &c);
        if (!n) {
            fputs("\xef\xbf\xbd", out);
            replaced = true;
            n = 1;
        } else if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", (char)c);
        } else if (c < 0x20 || c == 0x7f || c == 0x2028 || c == 0x2029) {
            fprintf(out, "\\u%04x", c);
        } else {
            fwrite(s, 1, n, out);
        }
    }
    putc('"', out);
    return replaced;
}

void csv__cell(FILE *out, const char *s, size_t len)
{
    bool quotes = len && (s[0] == ' ' || s[len - 1] == ' ');

    for (size_t i = 0; i < len && !quotes; i++)
        quotes = s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r';
    if (!quotes) {
        fwrite(s, 1, len, out);
        return;
    }
    putc('"', out);
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"')
            putc('"', out);
        putc(s[i], out);
    }
    putc('"', out);
}
