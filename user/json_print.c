// SPDX-License-Identifier: GPL-2.0-only
#include "json_print.h"

#include <inttypes.h>
#include <string.h>

#include "utf8.h"

static void quoted(FILE *file, const char *text, size_t len)
{
    fputc('"', file);
    while (len) {
        uint32_t code = 0xfffd;
        size_t n = utf8_text__next(text, len, &code);

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
static void begin(struct json_print *j, const char *key)
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

static void open_level(struct json_print *j, const char *key, char bracket)
{
    begin(j, key);
    fputc(bracket, j->file);
    j->depth++;
    j->again = false;
}

static void close_level(struct json_print *j, char bracket)
{
    j->depth--;
    if (j->again)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->file);
    if (!j->depth)
        fputc('\n', j->file);
    j->again = true;
}

void json_print__object(struct json_print *j, const char *key)
{
    open_level(j, key, '{');
}

void json_print__list(struct json_print *j, const char *key)
{
    open_level(j, key, '[');
}

void json_print__end_object(struct json_print *j)
{
    close_level(j, '}');
}

void json_print__end_list(struct json_print *j)
{
    close_level(j, ']');
}

void json_print__bytes(struct json_print *j, const char *key, const char *text, size_t len)
{
    begin(j, key);
    if (text)
        quoted(j->file, text, len);
    else
        fputs("null", j->file);
}

void json_print__text(struct json_print *j, const char *key, const char *text)
{
    json_print__bytes(j, key, text, text ? strlen(text) : 0);
}

void json_print__number(struct json_print *j, const char *key, int64_t value)
{
    begin(j, key);
    fprintf(j->file, "%" PRId64, value);
}

void json_print__bool(struct json_print *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->file);
}
