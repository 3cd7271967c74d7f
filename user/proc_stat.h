/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/PID/stat: the few fields that we need, and whether a process is still the one that BPF saw. */
#ifndef SCOPE_PROC_STAT_H
#define SCOPE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    char comm[64];
    char state;           /* R S D T t Z X */
    pid_t parent, group, session;
    int terminal;         /* device number, 0 none */
    pid_t terminal_group; /* foreground group of the terminal */
    uint64_t start_ticks; /* 1/100 s of CLOCK_BOOTTIME */
    int threads;
    bool of_kernel;       /* a thread of the kernel */
};

/* No thread of it is left; the first one may end before the others. */
static inline bool proc_stat__ended(const struct proc_stat *stat)
{
    return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

int proc_stat__read(pid_t pid, struct proc_stat *ret); /* -ESRCH: gone */

/*
 * `start_time`: task->start_time, ns of CLOCK_MONOTONIC.  The kernel prints the boot-time clock; the two differ by the
 * time slept, which was anything from 0 to today's difference when the process started.
 */
bool proc_stat__started_at(const struct proc_stat *stat, uint64_t start_time);

#endif
