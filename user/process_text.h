/* SPDX-License-Identifier: GPL-2.0-only */
/* Command line and environment of a process: NUL-separated strings, as the kernel keeps them. */
#ifndef SCOPE_PROCESS_TEXT_H
#define SCOPE_PROCESS_TEXT_H

#include "bpf/events.h"
#include "converters/capture.h"

#include <stdbool.h>
#include <sys/types.h>

struct process_text { /* zero-initialise; free(data) */
    char *data;   /* ends in NUL when len > 0 */
    size_t len;
};

/* A piece from BPF; pieces come in order.  What does not fit into memory is left out. */
void process_text__add(struct process_text *t, const struct sb_text *piece);
/* From /proc/PID/<file>, at most 1 MiB. */
void process_text__read(struct process_text *t, pid_t pid, const char *file);
void process_text__deinit(struct process_text *t);

/* Value of a variable, or NULL. Points into the text. */
const char *process_text__variable(const struct process_text *t, const char *name);

/* u argc, argc × b */
void process_text__put_arguments(const struct process_text *t, bool full, struct capture_buf *b);
/* u n, n × {b name, b value}: variables that name a rank, and OMP_NUM_THREADS. */
void process_text__put_ranks(const struct process_text *t, struct capture_buf *b);

#endif
