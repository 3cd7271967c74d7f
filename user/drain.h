/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hot rings: takes what BPF wrote and appends it to the capture, calls in blocks per lane, samples in blocks.
 * Memory is bounded: a pass flushes whenever DRAIN_BATCH records wait.
 */
#ifndef SCOPE_DRAIN_H
#define SCOPE_DRAIN_H

#include "capture_writer.h"
#include "programs.h"
#include "region_ids.h"

#define DRAIN_BATCH 131072

struct drain;

struct drain_totals {
    uint64_t calls, samples; /* taken from the rings */
    uint64_t unmatched;
    uint64_t disk_lost, disk_lost_samples; /* taken, and then not written */
    uint64_t unknown;        /* records of a type or size that this build does not know */
};

int drain__create(struct programs *p, struct region_ids *ids, struct capture_writer *w, struct drain **ret, struct err *err);
void drain__destroy(struct drain *d); /* accepts NULL */
int drain__epoll_fd(const struct drain *d);

/* Everything that is in the rings now, at most about one pass over them; true: there may be more. */
bool drain__pass(struct drain *d);
const struct drain_totals *drain__totals(const struct drain *d);

/* Blocks that the writer could not write (its drop callback hands them here): counted per lane and region. */
void drain__dropped(struct drain *d, uint16_t type, const void *payload, size_t len);
/* Adds what was dropped since the last time to a LOSS payload. */
void drain__put_losses(struct drain *d, struct capture_buf *b);

#endif
