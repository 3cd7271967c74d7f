// SPDX-License-Identifier: GPL-2.0-only
#include "json_out.h"
#include "names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void comma(struct json_out *j)
{
    if (j->follows)
        out__bytes(j->out, ",", 1);
    j->follows = true;
}

void json_out__open(struct json_out *j, char opener)
{
    comma(j);
    out__bytes(j->out, &opener, 1);
    j->follows = false;
}

void json_out__close(struct json_out *j, char closer)
{
    out__bytes(j->out, &closer, 1);
    j->follows = true;
}

static void quoted(struct out *o, struct text text)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t from = 0;

    out__bytes(o, "\"", 1);
    for (uint32_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.s[i];
        unsigned n = utf8__length(text.s + i, text.len - i);

        if (n && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            i += n;
            continue;
        }
        out__bytes(o, text.s + from, i - from);
        if (!n)
            out__text(o, "\\ufffd");
        else
            out__bytes(o, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
        from = ++i;
    }
    out__bytes(o, text.s + from, text.len - from);
    out__bytes(o, "\"", 1);
}

void json_out__text_key(struct json_out *j, struct text key)
{
    comma(j);
    quoted(j->out, key);
    out__bytes(j->out, ":", 1);
    j->follows = false;
}

void json_out__key(struct json_out *j, const char *key)
{
    json_out__text_key(j, (struct text){key, (uint32_t)strlen(key)});
}

void json_out__string(struct json_out *j, struct text text)
{
    comma(j);
    quoted(j->out, text.s ? text : (struct text){"", 0});
}

void json_out__i64(struct json_out *j, int64_t v)
{
    comma(j);
    out__i64_decimal(j->out, v);
}

void json_out__bool(struct json_out *j, bool v)
{
    comma(j);
    out__text(j->out, v ? "true" : "false");
}

void json_out__double(struct json_out *j, double v)
{
    char text[40];

    if (!isfinite(v)) {
        json_out__null(j);
        return;
    }
    comma(j);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    out__text(j->out, text);
    /* 3 would come back as an integer. */
    if (!strpbrk(text, ".e"))
        out__text(j->out, ".0");
}

void json_out__null(struct json_out *j)
{
    comma(j);
    out__text(j->out, "null");
}

void json_out__raw(struct json_out *j, struct text json)
{
    comma(j);
    out__bytes(j->out, json.s, json.len);
}

void json_out__hex(struct json_out *j, struct text bytes)
{
    comma(j);
    out__bytes(j->out, "\"", 1);
    for (uint32_t i = 0; i < bytes.len; i++)
        out__printf(j->out, "%02x", (unsigned char)bytes.s[i]);
    out__bytes(j->out, "\"", 1);
}

void json_out__string_at(struct json_out *j, const char *key, struct text text)
{
    json_out__key(j, key);
    json_out__string(j, text);
}

void json_out__i64_at(struct json_out *j, const char *key, int64_t v)
{
    json_out__key(j, key);
    json_out__i64(j, v);
}
