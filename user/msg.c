// SPDX-License-Identifier: GPL-2.0-only
#include "msg.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "utf8.h"

#define LINE_MAX_BYTES 4096

static enum msg_level shown = MSG_INFO;
static void (*before_output)(void);

/* What moves the cursor, ends the line or turns the direction of what follows. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t msg__escape(const char *text, size_t len, char *out, size_t size)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t at = 0;

    while (len) {
        uint32_t code = 0;
        size_t n = utf8_text__next((const char *)s, len, &code), written;
        char piece[20];

        if (n && !is_control(code)) {
            memcpy(piece, s, n);
            written = n;
        } else if (n && (code == '\n' || code == '\t')) {
            written = (size_t)sprintf(piece, code == '\n' ? "\\n" : "\\t");
        } else {
            n = n ? n : 1;
            written = 0;
            for (size_t i = 0; i < n; i++)
                written += (size_t)sprintf(piece + written, "\\x%02x", s[i]);
        }
        if (at + written + 1 > size)
            break;
        memcpy(out + at, piece, written);
        at += written;
        s += n;
        len -= n;
    }
    if (size)
        out[at] = 0;
    return at;
}

/* One write, so that lines of several writers do not mix. */
static void write_line(const char *prefix, const char *text, size_t len)
{
    char line[2 * LINE_MAX_BYTES];
    size_t at = (size_t)snprintf(line, sizeof(line), "%s", prefix);

    at += msg__escape(text, len, line + at, sizeof(line) - at - 1);
    line[at++] = '\n';
    if (before_output)
        before_output();
    for (size_t done = 0; done < at;) {
        ssize_t n = write(STDERR_FILENO, line + done, at - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
}

static void put(const char *prefix, const char *format, va_list args)
{
    char text[LINE_MAX_BYTES];
    int saved = errno, n = vsnprintf(text, sizeof(text), format, args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;

    while (len && text[len - 1] == '\n')
        len--;
    write_line(prefix, text, len);
    errno = saved;
}

bool msg__shows(enum msg_level level)
{
    return level <= shown;
}

void msg__put(enum msg_level level, const char *format, ...)
{
    va_list args;

    if (!msg__shows(level))
        return;
    va_start(args, format);
    put("scope-bpf: ", format, args);
    va_end(args);
}

void msg__text(const char *format, ...)
{
    va_list args;

    if (!msg__shows(MSG_INFO))
        return;
    va_start(args, format);
    put("", format, args);
    va_end(args);
}

void msg__set_before(void (*before)(void))
{
    before_output = before;
}

static int from_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
    (void)level; /* libbpf warns of what we try on purpose; our own messages say what matters */
    if (msg__shows(MSG_TRACE))
        put("scope-bpf: ", format, args);
    return 0;
}

void msg__init(bool quiet, int verbose)
{
    shown = quiet ? MSG_ERROR : verbose >= 2 ? MSG_TRACE : verbose ? MSG_DETAIL : MSG_INFO;
    libbpf_set_print(from_libbpf);
}
