// SPDX-License-Identifier: GPL-2.0-only
#include "json_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int json_source__init(struct json_source *s, const struct input *in)
{
    memset(s, 0, offsetof(struct json_source, packed));
    s->in = in;
    s->gzip = in->size > 1 && in->head[0] == 0x1f && in->head[1] == 0x8b;
    /* 16: with gzip's header and checksum. */
    if (s->gzip && inflateInit2(&s->stream, MAX_WBITS + 16) != Z_OK)
        return -ENOMEM;
    return 0;
}

void json_source__deinit(struct json_source *s)
{
    if (s->gzip)
        inflateEnd(&s->stream);
}

static int read_file(struct json_in *j, struct json_source *s, void *buf, size_t cap)
{
    ssize_t got;

    do
        got = pread(s->in->fd, buf, cap, (off_t)s->at);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        int code = -errno;

        snprintf(j->message, sizeof(j->message), "cannot be read: %s", strerror(-code));
        return code;
    }
    s->at += (uint64_t)got;
    return (int)got;
}

static int damaged(struct json_in *j, const char *what)
{
    snprintf(j->message, sizeof(j->message), "gzip: %s", what);
    return -EINVAL;
}

/* The end of a gzip member: another one may follow, nothing else. */
static int next_member(struct json_in *j, struct json_source *s)
{
    if (!s->stream.avail_in) {
        int got = read_file(j, s, s->packed, sizeof(s->packed));

        if (got < 0)
            return got;
        s->stream.next_in = s->packed;
        s->stream.avail_in = (uInt)got;
    }
    if (!s->stream.avail_in)
        s->ended = true;
    else if (inflateReset(&s->stream) != Z_OK)
        return damaged(j, "damaged stream");
    return 0;
}

static int inflate_more(struct json_in *j, struct json_source *s, void *buf, size_t cap)
{
    s->stream.next_out = buf;
    s->stream.avail_out = (uInt)cap;
    while (s->stream.avail_out == cap && !s->ended) {
        int status, got = 0;

        if (!s->stream.avail_in) {
            got = read_file(j, s, s->packed, sizeof(s->packed));
            if (got < 0)
                return got;
            if (!got)
                return damaged(j, "the stream is cut off");
            s->stream.next_in = s->packed;
            s->stream.avail_in = (uInt)got;
        }
        status = inflate(&s->stream, Z_NO_FLUSH);
        if (status == Z_STREAM_END)
            got = next_member(j, s);
        else if (status != Z_OK && status != Z_BUF_ERROR)
            return damaged(j, s->stream.msg ? s->stream.msg : "damaged stream");
        if (got < 0)
            return got;
    }
    return (int)(cap - s->stream.avail_out);
}

int json_source__fill(struct json_in *j, void *buf, size_t cap)
{
    struct json_source *s = j->arg;

    return s->gzip ? inflate_more(j, s, buf, cap) : read_file(j, s, buf, cap);
}
