/* SPDX-License-Identifier: GPL-2.0-only */
#include "proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PF_KTHREAD  0x00200000  /* linux/sched.h */
#define NS_PER_TICK 10000000ull /* USER_HZ is 100 on every architecture that we support */

static ssize_t read_stat(pid_t pid, char *text, size_t size)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -ESRCH;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0)
        return -ESRCH;
    text[n] = 0;
    return n;
}

int proc_stat__read(pid_t pid, struct proc_stat *ret)
{
    char text[1024];
    struct proc_stat stat = {0};
    int parent, group, session, terminal, terminal_group, threads;
    unsigned flags;

    if (read_stat(pid, text, sizeof(text)) < 0)
        return -ESRCH;
    /* The name stands in parentheses and may hold any character, parentheses too: the last one ends it. */
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open)
        return -ESRCH;
    snprintf(stat.comm, sizeof(stat.comm), "%.*s", (int)(close - open - 1), open + 1);
    if (sscanf(close + 1,
               " %c %d %d %d %d %d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %" SCNu64, &stat.state,
               &parent, &group, &session, &terminal, &terminal_group, &flags, &threads,
               &stat.start_ticks) != 9)
        return -ESRCH;
    stat.parent = parent;
    stat.group = group;
    stat.session = session;
    stat.terminal = terminal;
    stat.terminal_group = terminal_group;
    stat.threads = threads;
    stat.of_kernel = flags & PF_KTHREAD;
    *ret = stat;
    return 0;
}

static uint64_t time_slept(void)
{
    struct timespec mono, boot;

    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    int64_t ns = (boot.tv_sec - mono.tv_sec) * 1000000000ll + boot.tv_nsec - mono.tv_nsec;
    return ns > 0 ? (uint64_t)ns : 0;
}

bool proc_stat__started_at(const struct proc_stat *stat, uint64_t start_time)
{
    /* The kernel reads the two clocks one after the other: the later one may be in the next tick. */
    uint64_t first = start_time / NS_PER_TICK;
    uint64_t last = (start_time + time_slept() + 1000000) / NS_PER_TICK;

    return stat->start_ticks >= first && stat->start_ticks <= last;
}
