/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one line that shows, on a terminal, that something is being recorded. Redrawn in place at most
 * five times a second, taken away before any message.
 *
 *     0:12  4 processes  1,204,331 calls  98,112/s  11,020 samples  lost 0
 */
#ifndef SCOPE_STATUS_H
#define SCOPE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct status_counts {
    uint64_t processes, calls, samples, lost;
};

/* now_ns: CLOCK_MONOTONIC. Shows nothing where stderr is no terminal, or messages of its level are off. */
void status__start(uint64_t now_ns);
/* Cheap to call often. */
void status__update(uint64_t now_ns, const struct status_counts *counts);
void status__stop(void); /* takes the line away for good */

/* The line itself, at most `columns` wide. For tests. */
struct status_moment {
    uint64_t elapsed_ns;
    uint64_t calls_per_s;
    struct status_counts counts;
};
int status__format(const struct status_moment *moment, int columns, char *line, int size);

#endif
