/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks of the capture that tell of the run as a whole. */
#ifndef SCOPE_SESSION_BLOCKS_H
#define SCOPE_SESSION_BLOCKS_H

#include "calibrate.h"
#include "capture_writer.h"
#include "drain.h"
#include "options.h"

void session_blocks__header(struct capture_writer *w, const struct options *options, int hz);
void session_blocks__meta(struct capture_writer *w, const struct options *options, const struct pair_cost *cost,
                          const char *user, char *const *environment, const char *sample_event);
void session_blocks__clock(struct capture_writer *w);
void session_blocks__note(struct capture_writer *w, uint64_t from, uint64_t to, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void session_blocks__end(struct capture_writer *w, uint64_t time, const char *how, int wstatus,
                         const struct drain_totals *totals);

#endif
