// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor of sampling: perf's timer on a process, as scope-bpf sets it, with an overflow that nobody looks at.
 *
 *   ticks HZ PID
 *
 * Prints a line when the timers run, and ends with its stdin.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(const char *what)
{
    fprintf(stderr, "ticks: %s: %s\n", what, strerror(errno));
    return 1;
}

static int open_timer(unsigned long hz, pid_t tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .size = sizeof(attr),
        .freq = 1,
        .sample_freq = hz,
        .inherit = 1,
    };

    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
    char path[64], rest[64];
    struct dirent *thread;

    if (argc != 3)
        return fail("usage: ticks HZ PID");
    snprintf(path, sizeof(path), "/proc/%d/task", atoi(argv[2]));
    DIR *threads = opendir(path);
    if (!threads)
        return fail(path);
    while ((thread = readdir(threads)))
        if (thread->d_name[0] != '.' && open_timer(strtoul(argv[1], NULL, 10), atoi(thread->d_name)) < 0)
            return fail("cannot open a cpu-clock event");
    closedir(threads);
    puts("ticking");
    fflush(stdout);
    while (read(STDIN_FILENO, rest, sizeof(rest)) > 0)
        ;
    return 0;
}
