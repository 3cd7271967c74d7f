// SPDX-License-Identifier: GPL-2.0-only
#include "json_out.h"

#include <inttypes.h>
#include <string.h>

#include "utf8.h"

static void quoted(FILE *file, const char *text, size_t len)
{
    fputc('"', file);
    while (len) {
        uint32_t code = 0xfffd;
        size_t n = utf8__char(text, len, &code);

        if (!n)
            fputs("\xef\xbf\xbd", file);
        else if (code == '"' || code == '\\')
            fprintf(file, "\\%c", (char)code);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            fprintf(file, "\\u%04x", code);
        else
            fwrite(text, 1, n, file);
        n = n ? n : 1;
        text += n;
        len -= n;
    }
    fputc('"', file);
}

/* Comma, new line, key: what stands before any value. */
static void begin(struct json_out *j, const char *key)
{
    if (j->again)
        fputc(',', j->file);
    if (j->depth)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
    if (key) {
        quoted(j->file, key, strlen(key));
        fputs(": ", j->file);
    }
    j->again = true;
}

static void open_level(struct json_out *j, const char *key, char bracket)
{
    begin(j, key);
    fputc(bracket, j->file);
    j->depth++;
    j->again = false;
}

static void close_level(struct json_out *j, char bracket)
{
    j->depth--;
    if (j->again)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->file);
    if (!j->depth)
        fputc('\n', j->file);
    j->again = true;
}

void json_out__object(struct json_out *j, const char *key)
{
    open_level(j, key, '{');
}

void json_out__list(struct json_out *j, const char *key)
{
    open_level(j, key, '[');
}

void json_out__end_object(struct json_out *j)
{
    close_level(j, '}');
}

void json_out__end_list(struct json_out *j)
{
    close_level(j, ']');
}

void json_out__bytes(struct json_out *j, const char *key, const char *text, size_t len)
{
    begin(j, key);
    if (text)
        quoted(j->file, text, len);
    else
        fputs("null", j->file);
}

void json_out__text(struct json_out *j, const char *key, const char *text)
{
    json_out__bytes(j, key, text, text ? strlen(text) : 0);
}

void json_out__number(struct json_out *j, const char *key, int64_t value)
{
    begin(j, key);
    fprintf(j->file, "%" PRId64, value);
}

void json_out__bool(struct json_out *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->file);
}
