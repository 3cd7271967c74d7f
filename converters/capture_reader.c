// SPDX-License-Identifier: GPL-2.0-only
#include "capture_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The window holds one block at least; it is read in steps of this size. */
#define WINDOW_STEP (1u << 20)

struct bytes_buffer {
    uint8_t *data;
    size_t cap;
};

struct capture_reader {
    int fd;
    const char *name;
    struct capture_head head;
    struct capture_state state;
    struct bytes_buffer window, first, loaded;
    uint64_t window_at; /* place of window[0] in the file */
    size_t window_len;
    uint64_t sequence; /* expected next */
    bool finished;     /* nothing more to be given out */
};

struct raw_header {
    uint32_t magic, len, crc;
    uint16_t type, zero;
    uint64_t sequence;
};

static uint64_t get_le(const uint8_t *at, int bytes)
{
    uint64_t v = 0;

    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

static struct raw_header parse_header(const uint8_t *at)
{
    return (struct raw_header){
        .magic = (uint32_t)get_le(at, 4),
        .type = (uint16_t)get_le(at + 4, 2),
        .zero = (uint16_t)get_le(at + 6, 2),
        .len = (uint32_t)get_le(at + 8, 4),
        .crc = (uint32_t)get_le(at + 12, 4),
        .sequence = get_le(at + 16, 8),
    };
}

static int reserve(struct bytes_buffer *b, size_t cap)
{
    uint8_t *data;

    if (cap <= b->cap)
        return 0;
    data = realloc(b->data, cap);
    if (!data)
        return -ENOMEM;
    b->data = data;
    b->cap = cap;
    return 0;
}

/* Reads until `len` bytes or the end of the file: how many, or -errno. */
static ssize_t read_at(int fd, uint8_t *to, size_t len, uint64_t at)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, to + done, len - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (!n)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Makes `need` bytes at state.offset available; how many there are (fewer only at the end of the file), or
 * -errno. */
static ssize_t fill_window(struct capture_reader *r, size_t need)
{
    size_t used = (size_t)(r->state.offset - r->window_at), left = r->window_len - used, want;
    uint64_t behind = r->state.offset + left;
    ssize_t n;

    if (left >= need)
        return (ssize_t)left;
    want = need - left + WINDOW_STEP;
    if (want > r->state.size - behind)
        want = (size_t)(r->state.size - behind);
    if (!left && !want)
        return 0;
    if (left)
        memmove(r->window.data, r->window.data + used, left);
    r->window_at = r->state.offset;
    r->window_len = left;
    if (reserve(&r->window, left + want))
        return -ENOMEM;
    n = read_at(r->fd, r->window.data + left, want, behind);
    if (n < 0)
        return n;
    r->window_len += (size_t)n;
    return (ssize_t)r->window_len;
}

static const uint8_t *window_here(const struct capture_reader *r)
{
    return r->window.data + (r->state.offset - r->window_at);
}

static int stop(struct capture_reader *r, bool damaged, const char *why)
{
    r->state.damaged = damaged;
    snprintf(r->state.why, sizeof(r->state.why), "%s", why);
    return 0;
}

static bool crc_fits(const uint8_t *block, const struct raw_header *h)
{
    uint8_t copy[CAPTURE_HEADER_BYTES];

    memcpy(copy, block, sizeof(copy));
    memset(copy + 12, 0, 4);
    return crc32c(crc32c(0, copy, sizeof(copy)), block + CAPTURE_HEADER_BYTES, h->len) == h->crc;
}

/* A file that was allocated ahead and never written ends in zeros: unfinished, not damaged. */
static bool all_zero(const uint8_t *at, size_t len)
{
    return !at[0] && !memcmp(at, at + 1, len - 1);
}

/* 1: a good block stands at state.offset; 0: stopped (state says why); -errno. */
static int check_block(struct capture_reader *r, struct raw_header *ret)
{
    ssize_t n = fill_window(r, CAPTURE_HEADER_BYTES);
    struct raw_header h;

    if (n < 0)
        return (int)n;
    if (!n)
        return stop(r, false, "it has no end block");
    if (n < CAPTURE_HEADER_BYTES)
        return stop(r, false, "it ends inside a block");
    h = parse_header(window_here(r));
    if (all_zero(window_here(r), CAPTURE_HEADER_BYTES))
        return stop(r, false, "nothing was written behind its last block");
    if (h.magic != CAPTURE_MAGIC || h.zero)
        return stop(r, true, "what follows is not a block");
    if (h.len > CAPTURE_MAX_PAYLOAD)
        return stop(r, true, "a block says that it is larger than any block may be");
    n = fill_window(r, CAPTURE_HEADER_BYTES + h.len);
    if (n < 0)
        return (int)n;
    if ((size_t)n < CAPTURE_HEADER_BYTES + h.len)
        return stop(r, false, "it ends inside a block");
    if (!crc_fits(window_here(r), &h))
        return stop(r, true, "the checksum of a block does not fit");
    if (h.sequence < r->sequence)
        return stop(r, true, "a block comes twice or too late");
    *ret = h;
    return 1;
}

static void take_block(struct capture_reader *r, const struct raw_header *h, struct capture_block *ret)
{
    const uint8_t *payload = window_here(r) + CAPTURE_HEADER_BYTES;

    *ret = (struct capture_block){
        .type = h->type,
        .offset = r->state.offset + CAPTURE_HEADER_BYTES,
        .len = h->len,
        .in = {.at = payload, .end = payload + h->len},
    };
    r->state.offset += CAPTURE_HEADER_BYTES + h->len;
    r->state.blocks++;
    r->state.missing += h->sequence - r->sequence;
    r->sequence = h->sequence + 1;
    r->state.complete = h->type == CAPTURE_END;
}

/* Behind the end block only the mark may stand that a profile was written; somebody else puts it there,
 * without a number. */
static int look_behind_end(struct capture_reader *r)
{
    struct capture_state before = r->state;
    struct raw_header h = {0};
    int code;

    r->sequence = 0;
    code = check_block(r, &h);
    r->state = before;
    if (code == 1 && h.type == CAPTURE_WRITTEN) {
        r->state.written = true;
        r->state.offset += CAPTURE_HEADER_BYTES + h.len;
    }
    return code < 0 ? code : 0;
}

int capture_reader__next(struct capture_reader *r, struct capture_block *ret, struct err *err)
{
    struct raw_header h;
    int code;

    if (r->state.why[0] || r->finished)
        return 0;
    for (;;) {
        r->finished = r->state.complete;
        code = r->finished ? look_behind_end(r) : check_block(r, &h);
        if (code < 0)
            return err__set(err, -code, "%s: reading failed at byte %llu: %s", r->name,
                            (unsigned long long)r->state.offset, strerror(-code));
        if (!code)
            return 0;
        take_block(r, &h, ret);
        if (ret->type > CAPTURE_HEADER && ret->type <= CAPTURE_END)
            return 1;
        r->state.unknown++;
    }
}

int capture_reader__load(struct capture_reader *r, uint64_t offset, uint32_t len, struct capture_in *ret,
                         struct err *err)
{
    ssize_t n = reserve(&r->loaded, len ? len : 1);

    if (!n)
        n = read_at(r->fd, r->loaded.data, len, offset);
    if (n >= 0 && (size_t)n < len)
        n = -EIO;
    if (n < 0)
        return err__set(err, (int)-n, "%s: reading again failed at byte %llu: %s", r->name,
                        (unsigned long long)offset,
                        n == -EIO ? "it became shorter or unreadable meanwhile" : strerror((int)-n));
    *ret = (struct capture_in){.at = r->loaded.data, .end = r->loaded.data + len};
    return 0;
}

static int parse_head(struct capture_reader *r, const struct capture_block *block, struct err *err)
{
    struct capture_head *h = &r->head;
    struct capture_in in;

    if (reserve(&r->first, block->len ? block->len : 1))
        return err__set(err, ENOMEM, "%s: out of memory", r->name);
    memcpy(r->first.data, block->in.at, block->len);
    in = (struct capture_in){.at = r->first.data, .end = r->first.data + block->len};
    h->version = capture_get_u(&in);
    if (!in.bad && (h->version < 1 || h->version > CAPTURE_VERSION))
        return err__set(err, EINVAL,
                        "%s: a capture of version %llu, this program reads version %d: use the "
                        "scope-report of the scope-bpf that wrote it",
                        r->name, (unsigned long long)h->version, CAPTURE_VERSION);
    h->architecture = capture_get_bytes(&in, &h->architecture_len);
    h->run_id = capture_get_bytes(&in, &h->run_id_len);
    h->monotonic = capture_get_s(&in);
    h->boottime = capture_get_s(&in);
    h->realtime = capture_get_s(&in);
    h->hz = capture_get_u(&in);
    h->tool = capture_get_bytes(&in, &h->tool_len);
    if (in.bad || h->monotonic < 0 || h->monotonic > INT64_MAX / 2)
        return err__set(err, EINVAL, "%s: the first block of this capture makes no sense", r->name);
    return 0;
}

static int read_first(struct capture_reader *r, struct err *err)
{
    struct capture_block block;
    struct raw_header h;
    int code = check_block(r, &h);

    if (code < 0)
        return err__set(err, -code, "%s: reading failed: %s", r->name, strerror(-code));
    if (!code && !r->state.size)
        return err__set(err, EINVAL, "%s: empty: the recording ended before it began", r->name);
    if (!code && (r->window_len < 4 || get_le(r->window.data, 4) != CAPTURE_MAGIC))
        return err__set(err, EINVAL, "%s: not a capture of scope-bpf", r->name);
    if (!code)
        return err__set(err, EINVAL,
                        "%s: a capture that is damaged in its first block (%s): nothing can be read", r->name,
                        r->state.why);
    if (h.type != CAPTURE_HEADER || h.sequence)
        return err__set(err, EINVAL, "%s: a capture whose beginning is missing: nothing can be read",
                        r->name);
    take_block(r, &h, &block);
    return parse_head(r, &block, err);
}

int capture_reader__open(int fd, const char *name, struct capture_reader **ret, struct err *err)
{
    struct capture_reader *r;
    struct stat st;
    int code;

    if (fstat(fd, &st))
        return err__set(err, errno, "%s: %s", name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err__set(err, EINVAL, "%s: not a regular file", name);
    r = calloc(1, sizeof(*r));
    if (!r)
        return err__set(err, ENOMEM, "%s: out of memory", name);
    r->fd = fd;
    r->name = name;
    r->state.size = (uint64_t)st.st_size;
    code = reserve(&r->window, CAPTURE_HEADER_BYTES) ? err__set(err, ENOMEM, "%s: out of memory", name)
                                                     : read_first(r, err);
    if (code) {
        capture_reader__close(r);
        return code;
    }
    *ret = r;
    return 0;
}

void capture_reader__close(struct capture_reader *r)
{
    if (!r)
        return;
    free(r->window.data);
    free(r->first.data);
    free(r->loaded.data);
    free(r);
}

const struct capture_head *capture_reader__head(const struct capture_reader *r)
{
    return &r->head;
}

const struct capture_state *capture_reader__state(const struct capture_reader *r)
{
    return &r->state;
}
