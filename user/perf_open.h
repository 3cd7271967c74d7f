/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_PERF_OPEN_H
#define SCOPE_PERF_OPEN_H

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* perf_event_open(2), which libc does not have; always close-on-exec. -1 and errno. */
static inline int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

#endif
