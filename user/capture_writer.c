/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The buffer holds whole blocks.  `offset` is the end of the last complete block in the file: every write goes to
 * that place, so that a write cut short by a full disk is simply cut off again.
 *
 *     file    [ complete blocks ]|<- offset   [ reserve: allocated, not part of the size ]
 *     buffer  [ block ][ block ] …            flushed as far as space for them and the reserve behind them is had
 */
#include "capture_writer.h"

#include "converters/capture.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct capture_writer {
    int fd;
    int error;          /* sticky, -errno */
    bool can_allocate;  /* the file system knows fallocate */
    uint64_t offset;    /* bytes of complete blocks in the file */
    uint64_t allocated; /* bytes with space behind them, offset included */
    uint64_t limit;     /* largest size that the reserve leaves */
    uint64_t sequence;  /* of the next block to be buffered */
    capture_drop_fn drop;
    void *arg;
    uint8_t *buffer;
    size_t len, cap;
};

/* 0 when everything up to `end` and the reserve behind it has its space. */
static int allocate(struct capture_writer *w, uint64_t end)
{
    if (end > w->limit)
        return -EFBIG;
    if (!w->can_allocate || end + CAPTURE_WRITER_RESERVE <= w->allocated)
        return 0;
    uint64_t wanted = end + CAPTURE_WRITER_RESERVE;
    int r;
    do
        r = fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->offset, (off_t)(wanted - w->offset)) ? -errno : 0;
    while (r == -EINTR);
    if (r == -EOPNOTSUPP || r == -ENOSYS || r == -ENODEV || r == -ESPIPE) {
        w->can_allocate = false;
        return 0;
    }
    if (!r)
        w->allocated = wanted;
    return r;
}

static void ignore_drop(void *arg, uint16_t type, const void *payload, size_t len)
{
    (void)arg, (void)type, (void)payload, (void)len;
}

int capture_writer__create(int fd, capture_drop_fn drop, void *arg, struct capture_writer **ret, struct err *err)
{
    struct capture_writer *w = calloc(1, sizeof(*w));
    uint8_t *buffer = malloc(CAPTURE_WRITER_BUFFER);
    struct rlimit limit = {0};

    if (!w || !buffer) {
        free(w);
        free(buffer);
        close(fd);
        return err__set(err, ENOMEM, "no memory for the buffer of the capture");
    }
    w->fd = fd;
    w->drop = drop ? drop : ignore_drop;
    w->arg = arg;
    w->buffer = buffer;
    w->cap = CAPTURE_WRITER_BUFFER;
    w->can_allocate = true;
    w->limit = INT64_MAX - CAPTURE_WRITER_RESERVE;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < w->limit)
        w->limit = limit.rlim_cur > CAPTURE_WRITER_RESERVE ? limit.rlim_cur - CAPTURE_WRITER_RESERVE : 0;
    allocate(w, 0); /* where even that fails, the first flush will say so */
    *ret = w;
    return 0;
}

void capture_writer__destroy(struct capture_writer *w)
{
    if (!w)
        return;
    capture_writer__flush(w);
    if (ftruncate(w->fd, (off_t)w->offset))
        (void)0; /* the reserve stays allocated until the file goes: harmless */
    close(w->fd);
    free(w->buffer);
    free(w);
}

/* Writes len bytes behind the last complete block; on failure *ret_done says how far it came. */
static int write_behind(struct capture_writer *w, const uint8_t *data, size_t len, size_t *ret_done)
{
    size_t done = 0;
    int r = 0;

    while (done < len) {
        ssize_t n = pwrite(w->fd, data + done, len - done, (off_t)(w->offset + done));
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            r = n ? -errno : -ENOSPC;
            break;
        }
    }
    *ret_done = done;
    return r;
}

static size_t block_bytes(const uint8_t *block)
{
    uint32_t payload;

    memcpy(&payload, block + 8, sizeof(payload));
    return CAPTURE_HEADER_BYTES + le32toh(payload);
}

static uint16_t block_type(const uint8_t *block)
{
    uint16_t type;

    memcpy(&type, block + 4, sizeof(type));
    return le16toh(type);
}

/* How many of the `len` buffered bytes are whole blocks that end at or before `most`; counts them. */
static size_t whole_blocks(const struct capture_writer *w, size_t most, uint64_t *ret_n)
{
    size_t at = 0;

    *ret_n = 0;
    while (at < w->len && at + block_bytes(w->buffer + at) <= most) {
        at += block_bytes(w->buffer + at);
        ++*ret_n;
    }
    return at;
}

/* The longest run of whole blocks that has space; they are tried one by one, once in the life of a writer. */
static size_t affordable(struct capture_writer *w, int *ret_error)
{
    size_t at = 0;

    *ret_error = allocate(w, w->offset + w->len);
    if (!*ret_error)
        return w->len;
    while (at < w->len) {
        size_t next = at + block_bytes(w->buffer + at);
        if (allocate(w, w->offset + next))
            break;
        at = next;
    }
    return at;
}

/* Everything buffered behind `kept` is lost; sequence numbers go on behind what was kept. */
static void drop_from(struct capture_writer *w, size_t kept)
{
    for (size_t at = kept; at < w->len; at += block_bytes(w->buffer + at)) {
        w->drop(w->arg, block_type(w->buffer + at), w->buffer + at + CAPTURE_HEADER_BYTES,
                block_bytes(w->buffer + at) - CAPTURE_HEADER_BYTES);
        w->sequence--;
    }
    w->len = 0;
}

int capture_writer__flush(struct capture_writer *w)
{
    size_t done;
    uint64_t n;
    int no_space;

    if (w->error || !w->len)
        return w->error;
    size_t len = affordable(w, &no_space);
    int r = write_behind(w, w->buffer, len, &done);
    if (r) {
        done = whole_blocks(w, done, &n);
        if (ftruncate(w->fd, (off_t)(w->offset + done)))
            (void)0; /* a reader stops at the damaged block; what stands before it is whole */
        w->allocated = 0;
    }
    w->offset += done;
    w->error = r ? r : no_space;
    drop_from(w, done);
    return w->error;
}

static int reserve_buffer(struct capture_writer *w, size_t bytes)
{
    if (bytes <= w->cap)
        return 0;
    uint8_t *buffer = realloc(w->buffer, bytes);
    if (!buffer)
        return -ENOMEM;
    w->buffer = buffer;
    w->cap = bytes;
    return 0;
}

static int append(struct capture_writer *w, uint16_t type, const void *payload, size_t len)
{
    size_t bytes = CAPTURE_HEADER_BYTES + len;
    int r = len <= CAPTURE_MAX_PAYLOAD ? 0 : -EMSGSIZE;

    if (!r && w->len + bytes > w->cap)
        r = capture_writer__flush(w);
    if (!r)
        r = reserve_buffer(w, w->len + bytes);
    if (r) {
        w->drop(w->arg, type, payload, len);
        return r;
    }
    capture_block_header(w->buffer + w->len, type, w->sequence++, payload, (uint32_t)len);
    if (len)
        memcpy(w->buffer + w->len + CAPTURE_HEADER_BYTES, payload, len);
    w->len += bytes;
    return 0;
}

int capture_writer__put(struct capture_writer *w, uint16_t type, const void *payload, size_t len)
{
    if (w->error) {
        w->drop(w->arg, type, payload, len);
        return w->error;
    }
    return append(w, type, payload, len);
}

int capture_writer__put_last(struct capture_writer *w, uint16_t type, const void *payload, size_t len)
{
    size_t done;

    capture_writer__flush(w);
    if (!w->error) {
        int r = append(w, type, payload, len);
        if (r || !capture_writer__flush(w))
            return r;
        /* The flush that filled the disk dropped just this block: it goes into the reserve now. */
    }
    uint8_t *block = malloc(CAPTURE_HEADER_BYTES + len);
    int r = block ? 0 : -ENOMEM;
    if (!r) {
        capture_block_header(block, type, w->sequence, payload, (uint32_t)len);
        if (len)
            memcpy(block + CAPTURE_HEADER_BYTES, payload, len);
        r = write_behind(w, block, CAPTURE_HEADER_BYTES + len, &done);
    }
    if (!r) {
        w->offset += CAPTURE_HEADER_BYTES + len;
        w->sequence++;
    } else if (ftruncate(w->fd, (off_t)w->offset)) {
        (void)0; /* as above */
    }
    free(block);
    return r;
}

int capture_writer__error(const struct capture_writer *w)
{
    return w->error;
}

uint64_t capture_writer__bytes(const struct capture_writer *w)
{
    return w->offset + w->len;
}
