/* SPDX-License-Identifier: GPL-2.0-only */
#include "sampler.h"

#include "perf_open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

struct sampler {
    int program_fd, hz;
    bool cycles; /* there is a PMU */
    int *fds;
    size_t n, cap;
};

static void init_attr(const struct sampler *s, struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){
        .type = s->cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
        .size = sizeof(*attr),
        .config = s->cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = (uint64_t)s->hz,
        .inherit = 1,
    };
}

static bool has_cycles(void)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
                                    .config = PERF_COUNT_HW_CPU_CYCLES, .freq = 1, .sample_freq = 100 };
    int fd = perf_open(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int kernel_limit(void)
{
    FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
    int limit = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%d", &limit) != 1)
        limit = 0;
    fclose(f);
    return limit;
}

int sampler__create(int program_fd, int hz, struct sampler **ret, struct err *err)
{
    struct sampler *s = calloc(1, sizeof(*s));
    int limit = kernel_limit();

    if (!s)
        return err__set(err, ENOMEM, "out of memory");
    s->program_fd = program_fd;
    s->hz = limit > 0 && hz > limit ? limit : hz;
    s->cycles = has_cycles();
    *ret = s;
    return 0;
}

void sampler__destroy(struct sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        close(s->fds[i]);
    free(s->fds);
    free(s);
}

static int keep(struct sampler *s, int fd)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        int *fds = realloc(s->fds, cap * sizeof(*fds));
        if (!fds)
            return -ENOMEM;
        s->fds = fds;
        s->cap = cap;
    }
    s->fds[s->n++] = fd;
    return 0;
}

/* One of tid and cpu is -1. */
static int add(struct sampler *s, struct perf_event_attr *attr, pid_t tid, int cpu, struct err *err)
{
    const char *what = tid < 0 ? "CPU" : "thread";
    int number = tid < 0 ? cpu : (int)tid, fd = perf_open(attr, tid, cpu, -1);

    if (fd < 0)
        return err__set(err, errno, "cannot sample %s %d: %s%s", what, number, strerror(errno),
                        errno == EACCES || errno == EPERM ? " (run it with sudo, or with --no-samples)" : "");
    if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, s->program_fd) || keep(s, fd)) {
        int code = errno;
        close(fd);
        return err__set(err, code, "cannot sample %s %d: %s", what, number, strerror(code));
    }
    if (attr->disabled && !attr->enable_on_exec)
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    return 0;
}

int sampler__add_command(struct sampler *s, pid_t pid, struct err *err)
{
    struct perf_event_attr attr;

    init_attr(s, &attr);
    attr.disabled = 1;
    attr.enable_on_exec = 1;
    return add(s, &attr, pid, -1, err);
}

int sampler__add_process(struct sampler *s, pid_t pid, bool follow, struct err *err)
{
    struct perf_event_attr attr;
    char path[64];
    size_t before = s->n;
    int r = 0;

    init_attr(s, &attr);
    attr.disabled = 1;
    attr.inherit_thread = !follow;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return err__set(err, errno == ENOENT ? ESRCH : errno, "cannot list the threads of process %d: %s", (int)pid,
                        errno == ENOENT ? "it ended" : strerror(errno));
    for (struct dirent *e; (e = readdir(dir));) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        int one = tid > 0 ? add(s, &attr, tid, -1, err) : 0;
        if (one && one != -ESRCH) /* a thread that ended meanwhile is no failure */
            r = one;
    }
    closedir(dir);
    return s->n > before ? 0 : r ? r : err__set(err, ESRCH, "process %d ended before it could be sampled", (int)pid);
}

int sampler__add_machine(struct sampler *s, struct err *err)
{
    struct perf_event_attr attr;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int r = 0;

    init_attr(s, &attr);
    attr.inherit = 0;
    attr.exclude_idle = 1;
    attr.disabled = 1;
    for (int cpu = 0; !r && cpu < cpus; cpu++) {
        r = add(s, &attr, -1, cpu, err);
        r = r == -ENODEV || r == -ENXIO ? 0 : r; /* offline */
    }
    return r;
}

const char *sampler__event(const struct sampler *s)
{
    return s->cycles ? "cycles" : "cpu-clock";
}

int sampler__hz(const struct sampler *s)
{
    return s->hz;
}
