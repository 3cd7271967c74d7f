/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the blocks of a capture, front to back, from a file that anybody may have written: every length is
 * checked against the file before it is believed, every block against its checksum before it is given out.
 *
 * Reading ends at the end block, at the end of the file, or at the first damaged block; capture_reader__state
 * says which.  What was given out before stays good.
 */
#ifndef SCOPE_CAPTURE_READER_H
#define SCOPE_CAPTURE_READER_H

#include "capture.h"
#include "usdt/err.h"

#include <stdbool.h>

struct capture_head { /* the first block; bytes belong to the reader */
    uint64_t version;
    const uint8_t *architecture, *run_id, *tool;
    size_t architecture_len, run_id_len, tool_len;
    int64_t monotonic, boottime, realtime; /* ns, of one moment */
    uint64_t hz;                           /* of the samples asked for, 0 none */
};

struct capture_block {
    enum capture_type type;
    uint64_t offset;      /* of the payload in the file */
    uint32_t len;         /* of the payload */
    struct capture_in in; /* the payload; good until the next call */
};

struct capture_state {
    bool complete;    /* the end block was read */
    bool written;     /* behind it: a profile was written from this capture */
    bool damaged;     /* stopped at a damaged block; neither: the file just ends */
    char why[96];     /* why it is not complete, "" when it is */
    uint64_t offset;  /* end of what is good */
    uint64_t size;    /* of the file when it was opened */
    uint64_t blocks;  /* read, unknown ones included */
    uint64_t unknown; /* of types that this version does not know: skipped */
    uint64_t missing; /* sequence numbers that are not in the file */
};

struct capture_reader;

/*
 * Reads and checks the first block.  fd stays the caller's.  -EINVAL with a message: no regular file, not a
 * capture, a version that this program does not know, damaged in the first block.
 */
int capture_reader__open(int fd, const char *name, struct capture_reader **ret, struct err *err);
void capture_reader__close(struct capture_reader *r); /* accepts NULL */

const struct capture_head *capture_reader__head(const struct capture_reader *r);
const struct capture_state *capture_reader__state(const struct capture_reader *r);

/* 1: *ret is the next block of a known type behind the first one; 0: no more; -errno: reading failed. */
int capture_reader__next(struct capture_reader *r, struct capture_block *ret, struct err *err);

/*
 * Reads again a payload that was given out before (the checksum is not compared again: decode it as carefully
 * as the first time).  *ret points into a buffer that lives until the next load.  -EIO when the file became
 * shorter.
 */
int capture_reader__load(struct capture_reader *r, uint64_t offset, uint32_t len, struct capture_in *ret,
                         struct err *err);

#endif
