// SPDX-License-Identifier: GPL-2.0-only
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER 65536

struct out {
    int fd, code;
    bool gzip;
    const char *path;
    z_stream stream;
    size_t used;
    uint8_t buffer[BUFFER];
    uint8_t packed[BUFFER];
};

int out__open(struct out **ret, const char *path, bool gzip, struct err *err)
{
    struct out *o = calloc(1, sizeof(*o));

    if (!o)
        return err__set(err, ENOMEM, "%s: not enough memory", path);
    o->path = path;
    o->gzip = gzip;
    o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (o->fd < 0) {
        int code = errno;

        free(o);
        return err__set(err, code, "%s: cannot be written: %s", path, strerror(code));
    }
    /* 16: a gzip header; 6: zlib's own default level. */
    if (gzip && deflateInit2(&o->stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        close(o->fd);
        free(o);
        return err__set(err, ENOMEM, "%s: not enough memory", path);
    }
    *ret = o;
    return 0;
}

static void write_all(struct out *o, const uint8_t *bytes, size_t n)
{
    while (n && !o->code) {
        ssize_t done = write(o->fd, bytes, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            o->code = errno;
            return;
        }
        bytes += done;
        n -= (size_t)done;
    }
}

static void deflate_all(struct out *o, int flush)
{
    o->stream.next_in = o->buffer;
    o->stream.avail_in = (uInt)o->used;
    do {
        o->stream.next_out = o->packed;
        o->stream.avail_out = sizeof(o->packed);
        deflate(&o->stream, flush);
        write_all(o, o->packed, sizeof(o->packed) - o->stream.avail_out);
    } while (!o->stream.avail_out && !o->code);
}

static void drain(struct out *o, int flush)
{
    if (o->gzip)
        deflate_all(o, flush);
    else
        write_all(o, o->buffer, o->used);
    o->used = 0;
}

int out__close(struct out *o, struct err *err)
{
    int code;

    drain(o, Z_FINISH);
    if (o->gzip)
        deflateEnd(&o->stream);
    if (close(o->fd) && !o->code)
        o->code = errno;
    code = o->code ? err__set(err, o->code, "%s: cannot be written: %s", o->path, strerror(o->code)) : 0;
    free(o);
    return code;
}

void out__bytes(struct out *o, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n && !o->code) {
        size_t part = sizeof(o->buffer) - o->used < n ? sizeof(o->buffer) - o->used : n;

        memcpy(o->buffer + o->used, at, part);
        o->used += part;
        at += part;
        n -= part;
        if (o->used == sizeof(o->buffer))
            drain(o, Z_NO_FLUSH);
    }
}

void out__text(struct out *o, const char *text)
{
    out__bytes(o, text, strlen(text));
}

void out__printf(struct out *o, const char *format, ...)
{
    char small[512], *text = NULL;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (n < (int)sizeof(small)) {
        out__bytes(o, small, n > 0 ? (size_t)n : 0);
        return;
    }
    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        o->code = o->code ? o->code : ENOMEM;
    else
        out__bytes(o, text, (size_t)n);
    free(text);
}

void out__i64_decimal(struct out *o, int64_t v)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        digits[--at] = '-';
    out__bytes(o, digits + at, sizeof(digits) - at);
}

void out__i32(struct out *o, int32_t v)
{
    out__bytes(o, &v, sizeof(v));
}

void out__i64(struct out *o, int64_t v)
{
    out__bytes(o, &v, sizeof(v));
}

bool out__failed(const struct out *o)
{
    return o->code != 0;
}

void out__fail(struct out *o, int code)
{
    if (!o->code)
        o->code = code;
}
