/* SPDX-License-Identifier: GPL-2.0-only */
#include "guardian.h"

#include "bpf/events.h"
#include "children.h"
#include "proc_stat.h"
#include "proc_status.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct guardian {
    pid_t pid;
    int pidfd;
};

/*
 * Held by the collector as long as it lives, shared with its guardians.  A killed process is dead long before its
 * pidfd says so: the kernel first takes its BPF links and perf events apart, for up to a second (measured with a few
 * hundred sites), while the programs still stop others.  A robust mutex is given up before all that.
 */
static pthread_mutex_t *life;
static pid_t life_of;

enum { MAP_FD, COLLECTOR_FD, N_FDS }; /* what the guardian has open, and nothing else */
enum { BATCH = 64, LAST_ROUNDS = 40, SHORT_TICK_MS = 10 };

#define SETTLED_NS 100000000ull /* a signal sent so long ago has done what it does */

/* ---- in the guardian -------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int collect(sb_u32 pids[BATCH])
{
    sb_u32 key, next;
    int n = 0;

    if (bpf_map_get_next_key(MAP_FD, NULL, &next))
        return 0;
    do {
        pids[n++] = key = next;
    } while (n < BATCH && !bpf_map_get_next_key(MAP_FD, &key, &next));
    return n;
}

/* Stopped, or about to be. */
static bool is_stopped(pid_t pid, char state)
{
    struct proc_status status;

    return state == 'T' || (!proc_status__read(pid, &status) && status.pending & 1ull << (SIGSTOP - 1));
}

/*
 * SIGCONT by pidfd, after the pidfd is open and the process behind it is the one that was stopped; never to one that
 * runs, which may listen for that signal.  False: it may still stop, look again.
 */
static bool go_on(sb_u32 pid, const struct sb_stopped *stopped)
{
    struct proc_stat stat;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool done = true;

    if (pidfd < 0)
        return true;
    if (!proc_stat__read((pid_t)pid, &stat) && proc_stat__started_at(&stat, stopped->start_time)) {
        if (is_stopped((pid_t)pid, stat.state))
            syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
        else
            done = now_ns() > stopped->time + SETTLED_NS;
    }
    close(pidfd);
    return done;
}

/* Continues what was stopped before `before`. */
static void relieve(uint64_t before)
{
    struct sb_stopped stopped;
    sb_u32 pids[BATCH];
    int n = collect(pids);

    for (int i = 0; i < n; i++) {
        if (bpf_map_lookup_elem(MAP_FD, &pids[i], &stopped) || stopped.time > before)
            continue;
        if (go_on(pids[i], &stopped))
            bpf_map_delete_elem(MAP_FD, &pids[i]);
    }
}

static bool has_ended(int ms)
{
    struct pollfd collector = {.fd = COLLECTOR_FD, .events = POLLIN};

    return poll(&collector, 1, ms) > 0;
}

static bool has_died(int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000l;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int r = pthread_mutex_clocklock(life, CLOCK_MONOTONIC, &until);
    return r == 0 || r == EOWNERDEAD || r == ENOTRECOVERABLE || has_ended(r == ETIMEDOUT ? 0 : ms);
}

static void watch(void)
{
    while (!has_died(GUARDIAN_TICK_MS))
        relieve(now_ns() - GUARDIAN_LIMIT_MS * 1000000ull);
    do
        relieve(UINT64_MAX);
    while (!has_ended(SHORT_TICK_MS));
    /* Some links go only after a grace period. */
    for (int round = 0; round < LAST_ROUNDS; round++) {
        relieve(UINT64_MAX);
        poll(NULL, 0, SHORT_TICK_MS);
    }
}

static _Noreturn void guard(int stopped_map_fd, int collector_fd)
{
    sigset_t all;

    /* Its own session: neither the terminal nor the end of the job reaches it. */
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "scope-guardian");
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    if (chdir("/"))
        _exit(1);
    /* To numbers that neither of the two has, then to their places. */
    int map = fcntl(stopped_map_fd, F_DUPFD, 16), collector = fcntl(collector_fd, F_DUPFD, 16);
    if (map < 0 || collector < 0 || dup2(map, MAP_FD) < 0 || dup2(collector, COLLECTOR_FD) < 0)
        _exit(1);
    syscall(SYS_close_range, N_FDS, ~0u, 0);
    watch();
    _exit(0);
}

/* ---- in the collector ------------------------------------------------------------------------------------- */

static int begin_life(void)
{
    pthread_mutexattr_t attributes;

    if (life_of == getpid())
        return 0;
    void *page = mmap(NULL, sizeof(*life), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    life = page;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    int error = pthread_mutex_init(life, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (!error)
        error = pthread_mutex_lock(life);
    life_of = error ? 0 : getpid();
    return error;
}

int guardian__start(int stopped_map_fd, struct guardian **ret, struct err *err)
{
    struct guardian *g = calloc(1, sizeof(*g));
    int collector = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int error = !g ? ENOMEM : collector < 0 ? errno : begin_life();

    if (!error) {
        g->pid = fork();
        if (g->pid == 0)
            guard(stopped_map_fd, collector);
        error = g->pid < 0 ? errno : -children__watch(g->pid);
    }
    if (collector >= 0)
        close(collector);
    if (!error) {
        g->pidfd = (int)syscall(SYS_pidfd_open, g->pid, 0);
        error = g->pidfd < 0 ? errno : 0;
    }
    if (error) {
        if (g && g->pid > 0)
            kill(g->pid, SIGKILL);
        free(g);
        return err__set(err, error, "cannot start the guardian, which continues stopped processes: %s",
                        strerror(error));
    }
    *ret = g;
    return 0;
}

int guardian__pidfd(const struct guardian *g)
{
    return g->pidfd;
}

pid_t guardian__pid(const struct guardian *g)
{
    return g->pid;
}

void guardian__destroy(struct guardian *g)
{
    int wstatus;

    if (!g)
        return;
    syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0);
    children__wait(g->pid, &wstatus, 2000);
    children__forget(g->pid);
    close(g->pidfd);
    free(g);
}
