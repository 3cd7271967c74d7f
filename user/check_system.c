// SPDX-License-Identifier: GPL-2.0-only
/* What recording asks of perf, of /proc and of this process's rights. */
#include "check_tries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

bool check__read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    bool ok = file && fgets(line, (int)size, file);

    if (file)
        fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok;
}

bool check__has_capability(unsigned int capability)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long mask = 0;

    if (!file)
        return false;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "CapEff: %llx", &mask) == 1)
            break;
    }
    fclose(file);
    return mask >> capability & 1;
}

static int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    long fd;

    attr->size = sizeof(*attr);
    fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

/* ---- side-band ------------------------------------------------------------------------------------- */

#define RING_PAGES 8 /* of data; one more holds the positions */

static uint64_t monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One executable mapping of our own file, as a library would make it. */
static bool map_something(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return false;
    munmap(at, 4096);
    return true;
}

/* Whether one of the records is a mapping of this process with a time in [from, to]. The ring has not
 * wrapped. */
static bool saw_mapping(const struct perf_event_mmap_page *page, const char *data, size_t size, uint64_t from,
                        uint64_t to)
{
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

    for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= head && head <= size;) {
        const struct perf_event_header *header = (const void *)(data + at);
        uint32_t pid;
        uint64_t time;

        if (header->size < 24 || header->size > head - at)
            break;
        memcpy(&pid, header + 1, sizeof(pid));
        memcpy(&time, data + at + header->size - sizeof(time),
               sizeof(time)); /* sample_id_all: time is last */
        if (header->type == PERF_RECORD_MMAP2 && pid == (uint32_t)getpid() && time >= from && time <= to)
            return true;
        at += header->size;
    }
    return false;
}

static int watch_mapping(int fd, struct err *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = RING_PAGES * page;
    char *ring = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t from = monotonic();
    int r = 0;

    if (ring == MAP_FAILED)
        return err__set(err, errno, "its ring of %zu KiB: %s", (page + size) >> 10, strerror(errno));
    if (!map_something())
        r = err__set(err, EIO, "not tried: cannot map our own file");
    else if (!saw_mapping((void *)ring, ring + page, size, from, monotonic()))
        r = err__set(err, EIO, "a mapping did not come, or not with a time of CLOCK_MONOTONIC");
    else
        err__set(err, 0, "saw a mapping, with its time on CLOCK_MONOTONIC");
    munmap(ring, page + size);
    return r;
}

int check__side_band(struct check_env *env, struct err *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .task = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = 1,
    };
    cpu_set_t before, one;
    int cpu = sched_getcpu(), fd, r;

    (void)env;
    /* An event of the whole CPU, as in recording: stay on it meanwhile. */
    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : cpu, &one);
    if (sched_getaffinity(0, sizeof(before), &before) || sched_setaffinity(0, sizeof(one), &one))
        return err__set(err, errno, "not tried: cannot stay on one CPU: %s", strerror(errno));
    fd = perf_open(&attr, -1, cpu < 0 ? 0 : cpu);
    r = fd < 0 ? err__set(err, -fd, "an event for the mappings of a CPU: %s", strerror(-fd))
               : watch_mapping(fd, err);
    if (fd >= 0)
        close(fd);
    sched_setaffinity(0, sizeof(before), &before);
    return r;
}

/* ---- perf: memory and counters ----------------------------------------------------------------------- */

static void memlock_text(char text[static 32])
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
        snprintf(text, 32, "unlimited");
    else
        snprintf(text, 32, "%llu KiB", (unsigned long long)limit.rlim_cur >> 10);
}

int check__perf_memory(struct check_env *env, struct err *err)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page + (512u << 10);
    int fd = perf_open(&attr, 0, -1);
    char limit[32];
    void *ring;

    (void)env;
    if (fd < 0)
        return err__set(err, -fd, "an event of this thread: %s", strerror(-fd));
    ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memlock_text(limit);
    if (ring == MAP_FAILED)
        err__set(err, errno, "a perf ring of 512 KiB: %s; ulimit -l is %s", strerror(errno), limit);
    else
        err__set(err, 0, "a perf ring of 512 KiB; ulimit -l is %s", limit);
    if (ring != MAP_FAILED)
        munmap(ring, size);
    close(fd);
    return ring == MAP_FAILED ? -ENOMEM : 0;
}

int check__cycles(struct check_env *env, struct err *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .exclude_kernel = 1};
    int fd = perf_open(&attr, 0, -1);
    uint64_t cycles = 0;
    ssize_t n;

    (void)env;
    if (fd == -ENOENT || fd == -EOPNOTSUPP)
        return err__set(err, -fd, "no performance counters here (a virtual machine?)");
    if (fd < 0)
        return err__set(err, -fd, "cycles of this thread: %s", strerror(-fd));
    for (volatile int i = 0; i < 100000; i++)
        ;
    n = read(fd, &cycles, sizeof(cycles));
    close(fd);
    if (n != sizeof(cycles) || !cycles)
        return err__set(err, EIO, "the counter does not count");
    return err__set(err, 0, "%llu cycles counted", (unsigned long long)cycles);
}

/* ---- /proc and rights --------------------------------------------------------------------------------- */

int check__map_files(struct check_env *env, struct err *err)
{
    DIR *folder = opendir("/proc/self/map_files");
    const struct dirent *entry = NULL;
    int fd = -1, error;

    (void)env;
    if (!folder)
        return err__set(err, errno, "/proc/self/map_files: %s", strerror(errno));
    while ((entry = readdir(folder)) && entry->d_name[0] == '.')
        ;
    if (entry)
        fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
    error = errno;
    closedir(folder);
    if (fd < 0)
        return err__set(err, error, "a file in /proc/self/map_files: %s", strerror(error));
    close(fd);
    return err__set(err, 0, "opened a mapped file through it");
}

int check__capabilities(struct check_env *env, struct err *err)
{
    static const struct {
        unsigned int number;
        const char *name;
    } wanted[] = {
        {CAP_BPF, "cap_bpf"},
        {CAP_PERFMON, "cap_perfmon"},
        {CAP_SYS_PTRACE, "cap_sys_ptrace"},
        {CAP_CHECKPOINT_RESTORE, "cap_checkpoint_restore"},
        {CAP_KILL, "cap_kill"},
    };
    char missing[128] = "";

    (void)env;
    if (check__has_capability(CAP_SYS_ADMIN) && check__has_capability(CAP_KILL) &&
        check__has_capability(CAP_SYS_PTRACE))
        return err__set(err, 0, "cap_sys_admin, cap_sys_ptrace and cap_kill");
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        size_t at = strlen(missing);

        if (!check__has_capability(wanted[i].number))
            snprintf(missing + at, sizeof(missing) - at, "%s%s", at ? ", " : "", wanted[i].name);
    }
    if (*missing)
        return err__set(err, EPERM, "missing: %s", missing);
    return err__set(err, 0, "cap_bpf, cap_perfmon, cap_sys_ptrace, cap_checkpoint_restore, cap_kill");
}

int check__paranoid(struct check_env *env, struct err *err)
{
    char level[16] = "";

    (void)env;
    if (!check__read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level)))
        return err__set(err, ENOENT,
                        "/proc/sys/kernel/perf_event_paranoid is not there: a kernel without perf events");
    if (atoi(level) > 2 && !check__has_capability(CAP_SYS_ADMIN))
        return err__set(err, EACCES, "perf_event_paranoid is %s: cap_perfmon does not suffice", level);
    return err__set(err, 0, "perf_event_paranoid is %s", level);
}

int check__ptrace_scope(struct check_env *env, struct err *err)
{
    char level[16] = "";

    (void)env;
    if (!check__read_line("/proc/sys/kernel/yama/ptrace_scope", level, sizeof(level)))
        return err__set(err, 0, "not restricted (no Yama)");
    if (atoi(level) >= 3 || (atoi(level) && !check__has_capability(CAP_SYS_PTRACE)))
        return err__set(err, EPERM, "ptrace_scope is %s", level);
    return err__set(err, 0, "ptrace_scope is %s", level);
}

int check__lockdown(struct check_env *env, struct err *err)
{
    char line[128] = "";

    (void)env;
    if (!check__read_line("/sys/kernel/security/lockdown", line, sizeof(line)))
        return err__set(err, 0, "not locked down");
    if (strstr(line, "[confidentiality]"))
        return err__set(err, EPERM, "the kernel is locked down: %s", line);
    return err__set(err, 0, "lockdown: %s", line);
}
