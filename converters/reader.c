// SPDX-License-Identifier: GPL-2.0-only
#include "reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void reader__init(struct reader *r, const struct input *in, struct err *err)
{
    r->in = in;
    r->err = err;
    r->at = 0;
    r->code = 0;
    r->swap = false;
    r->filled = 0;
    r->used = 0;
}

int reader__fail(struct reader *r, const char *format, ...)
{
    char what[256];
    va_list args;

    if (r->code)
        return r->code;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    r->code = err__set(r->err, EINVAL, "%s: damaged at byte %llu: %s", r->in->path, (unsigned long long)r->at,
                       what);
    return r->code;
}

static ssize_t read_at(int fd, void *to, size_t n, uint64_t at)
{
    ssize_t got;

    do
        got = pread(fd, to, n, (off_t)at);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool refill(struct reader *r)
{
    ssize_t got = read_at(r->in->fd, r->buffer, sizeof(r->buffer), r->at);

    if (got < 0) {
        r->code = err__set(r->err, errno, "%s: cannot be read: %s", r->in->path, strerror(errno));
        return false;
    }
    if (!got) {
        reader__fail(r, "the file ends too early");
        return false;
    }
    r->filled = (size_t)got;
    r->used = 0;
    return true;
}

void reader__bytes(struct reader *r, void *to, uint64_t n)
{
    char *at = to;

    if (!r->code && n > reader__left(r))
        reader__fail(r, "the file ends too early: %llu bytes are missing",
                     (unsigned long long)(n - reader__left(r)));
    while (n && !r->code) {
        size_t part;

        if (r->used == r->filled && !refill(r))
            break;
        part = r->filled - r->used < n ? r->filled - r->used : n;
        memcpy(at, r->buffer + r->used, part);
        at += part;
        n -= part;
        r->used += part;
        r->at += part;
    }
    if (n)
        memset(at, 0, n);
}

int32_t reader__i32(struct reader *r)
{
    uint32_t v = 0;

    reader__bytes(r, &v, sizeof(v));
    return (int32_t)(r->swap ? __builtin_bswap32(v) : v);
}

int64_t reader__i64(struct reader *r)
{
    uint64_t v = 0;

    reader__bytes(r, &v, sizeof(v));
    return (int64_t)(r->swap ? __builtin_bswap64(v) : v);
}

struct text reader__text(struct reader *r, struct profile *p, int64_t len, const char *what)
{
    struct text text = {0};
    char small[512], *bytes = small;

    if (r->code)
        return text;
    if (len < 0 || (uint64_t)len > reader__left(r)) {
        reader__fail(r, "%s has the impossible length %lld", what, (long long)len);
        return text;
    }
    if ((size_t)len > sizeof(small))
        bytes = malloc((size_t)len);
    if (bytes)
        reader__bytes(r, bytes, (uint64_t)len);
    if (bytes && !r->code && memchr(bytes, 0, (size_t)len))
        reader__fail(r, "%s holds a NUL", what);
    if (bytes && !r->code)
        text = profile__text(p, bytes, (size_t)len);
    if (!r->code && !text.s)
        r->code = err__set(r->err, ENOMEM, "%s: not enough memory", r->in->path);
    if (bytes != small)
        free(bytes);
    return text;
}

void reader__column(struct reader *r, struct column *c, uint64_t n)
{
    uint64_t old = c->n;
    int code;

    if (r->code)
        return;
    code = n > reader__left(r) / sizeof(int64_t) ? -EINVAL : column__resize(c, old + n);
    if (code) {
        r->code = err__set(r->err, -code, "%s: no room for %llu calls: %s", r->in->path,
                           (unsigned long long)n, strerror(-code));
        return;
    }
    reader__bytes(r, column_i64(c) + old, n * sizeof(int64_t));
    for (uint64_t i = old; r->swap && i < c->n; i++)
        column_i64(c)[i] = (int64_t)__builtin_bswap64((uint64_t)column_i64(c)[i]);
}
