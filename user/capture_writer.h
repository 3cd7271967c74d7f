/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Appends blocks to a capture, buffered up to 1 MiB; after a full disk what stands there stays readable.
 *
 * "Disk full" (no space, quota, file size limit, I/O error) is final: complete blocks stay, the file is cut behind
 * the last of them, and every other block goes to the drop callback, the ones still in the buffer too.  That callback
 * is the only place to count what was lost; it gets the payload, so calls can be counted by region.  64 KiB are kept
 * allocated ahead, so that loss and end blocks can still be written with put_last().
 */
#ifndef SCOPE_CAPTURE_WRITER_H
#define SCOPE_CAPTURE_WRITER_H

#include "usdt/err.h"

#include <stddef.h>
#include <stdint.h>

#define CAPTURE_WRITER_BUFFER (1u << 20)
#define CAPTURE_WRITER_RESERVE (64u << 10)

struct capture_writer;
/* A block that will never be in the file.  It must not call the writer. */
typedef void (*capture_drop_fn)(void *arg, uint16_t type, const void *payload, size_t len);

/* Owns fd from here on, also on failure. */
int capture_writer__create(int fd, capture_drop_fn drop, void *arg, struct capture_writer **ret, struct err *err);
void capture_writer__destroy(struct capture_writer *w); /* flushes, gives back the reserve, closes; accepts NULL */

/* type: enum capture_type.  0, or -errno of the failure that filled the disk (this block is dropped already). */
int capture_writer__put(struct capture_writer *w, uint16_t type, const void *payload, size_t len);
/* Flushes, then writes this block from the reserve if need be: CAPTURE_LOSS, CAPTURE_NOTE and CAPTURE_END. */
int capture_writer__put_last(struct capture_writer *w, uint16_t type, const void *payload, size_t len);
int capture_writer__flush(struct capture_writer *w); /* 0, or the sticky -errno */

int capture_writer__error(const struct capture_writer *w); /* 0, or -errno since the disk is full */
uint64_t capture_writer__bytes(const struct capture_writer *w); /* in the file or on the way there */

#endif
