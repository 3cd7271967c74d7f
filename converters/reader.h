/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads an untrusted file from front to back. Nothing is taken from a count that the rest of the file could
 * not hold. Errors stick: after the first, reads give zeros, and the message of the first one stays.
 */
#ifndef SCOPE_READER_H
#define SCOPE_READER_H

#include "format.h"

#define READER_BUFFER 65536

struct reader {
    const struct input *in;
    struct err *err;
    uint64_t at; /* of the next byte to be given, in the file */
    int code;    /* 0 or the -errno of the first error */
    bool swap;   /* the file's byte order is not ours */
    size_t filled, used;
    uint8_t buffer[READER_BUFFER];
};

void reader__init(struct reader *r, const struct input *in, struct err *err);
static inline uint64_t reader__left(const struct reader *r)
{
    return r->in->size - r->at;
}

/* The first call sets the error "<path>: <what> at byte N", later ones nothing. Gives the -errno of the
 * first. */
int reader__fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

void reader__bytes(struct reader *r, void *to, uint64_t n);
int32_t reader__i32(struct reader *r);
int64_t reader__i64(struct reader *r);

/* A text of len bytes, `what` for the message. Refuses NUL and what does not fit into the rest of the file.
 */
struct text reader__text(struct reader *r, struct profile *p, int64_t len, const char *what);

/* n int64 appended to the column, in our byte order. n must have been checked against reader__left. */
void reader__column(struct reader *r, struct column *c, uint64_t n);

#endif
