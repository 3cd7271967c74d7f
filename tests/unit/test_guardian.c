// SPDX-License-Identifier: GPL-2.0-only
// link: user
// runs: root
/*
 * The guardian, with a real BPF map and really stopped processes.  A child of the test plays the collector: it stops
 * children, notes them in the map as BPF does, starts the guardian and is killed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/events.h"
#include "children.h"
#include "guardian.h"
#include "proc_stat.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 20 };

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int make_map(void)
{
    int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "stopped", sizeof(sb_u32), sizeof(struct sb_stopped), 256, NULL);

    if (fd < 0) {
        print_message("# skip: no BPF map can be made here: %s\n", strerror(errno));
        skip();
    }
    return fd;
}

static char state_of(pid_t pid)
{
    struct proc_stat stat;

    return proc_stat__read(pid, &stat) ? 'X' : stat.state;
}

static bool wait_for_state(pid_t pid, bool stopped, int ms)
{
    for (uint64_t end = now_ns() + (uint64_t)ms * 1000000; now_ns() < end; usleep(500)) {
        if ((state_of(pid) == 'T') == stopped)
            return true;
    }
    return false;
}

/*
 * A child that waits for ever, stopped; its start time in *ret_start.  That is the kernel's, in whole ticks: our own
 * clock beside fork() may be a tick off, under the address sanitizer it always is.
 */
static pid_t stopped_child(uint64_t *ret_start)
{
    struct proc_stat stat;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, 0);
        for (;;)
            pause();
    }
    kill(pid, SIGSTOP);
    assert_true(wait_for_state(pid, true, 1000));
    assert_int_equal(proc_stat__read(pid, &stat), 0);
    *ret_start = stat.start_ticks * 10000000;
    return pid;
}

static void note(int map, pid_t pid, uint64_t start, uint64_t time)
{
    sb_u32 key = (sb_u32)pid;
    struct sb_stopped stopped = {.start_time = start, .time = time};

    assert_int_equal(bpf_map_update_elem(map, &key, &stopped, BPF_ANY), 0);
}

static bool in_map(int map, pid_t pid)
{
    sb_u32 key = (sb_u32)pid;
    struct sb_stopped stopped;

    return bpf_map_lookup_elem(map, &key, &stopped) == 0;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* While the collector lives: a young stop is left alone, at 200 ms it is over; a recycled pid is left alone. */
static void test_old_stop(void **state)
{
    struct guardian *g = NULL;
    struct err err;
    uint64_t start, other_start;

    (void)state;
    int map = make_map();
    assert_int_equal(guardian__start(map, &g, &err), 0);
    pid_t pid = stopped_child(&start), other = stopped_child(&other_start);
    uint64_t stopped_at = now_ns();
    note(map, pid, start, stopped_at);
    note(map, other, other_start - 5000000000ull, stopped_at); /* another process had this pid then */
    usleep(80000);
    assert_int_equal(state_of(pid), 'T');
    assert_true(wait_for_state(pid, false, 2000));
    double ms = (double)(now_ns() - stopped_at) / 1e6;
    print_message("# continued after %.0f ms\n", ms);
    assert_true(ms < 400); /* 200 by design; the rest is for a loaded machine */
    usleep(100000);
    assert_false(in_map(map, pid));
    assert_false(in_map(map, other));
    assert_int_equal(state_of(other), 'T');
    guardian__destroy(g);
    end_child(pid);
    end_child(other);
    close(map);
}

struct shared {
    pid_t pids[MANY], guardian;
    volatile int ready;
};

/* Plays the collector; never returns. */
static void play_collector(struct shared *shared, int map)
{
    struct guardian *g;
    struct err err;

    if (guardian__start(map, &g, &err))
        _exit(1);
    for (int i = 0; i < MANY; i++) {
        uint64_t start;
        shared->pids[i] = stopped_child(&start);
        note(map, shared->pids[i], start, now_ns() + 1000000000000ull); /* young for ever: only our death counts */
    }
    shared->guardian = guardian__pid(g);
    shared->ready = 1;
    for (;;)
        pause();
}

static void test_dead_collector(void **state)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int map = make_map();

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* the orphans come to us: we can end them */
    pid_t collector = fork();
    if (collector == 0)
        play_collector(shared, map);
    for (int i = 0; i < 5000 && !shared->ready; i++)
        usleep(1000);
    assert_true(shared->ready);
    usleep(300000);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(state_of(shared->pids[i]), 'T');
    /* A signal to the whole group, as from the terminal, must not end the guardian. */
    kill(shared->guardian, SIGINT);
    kill(shared->guardian, SIGTERM);
    uint64_t killed_at = now_ns();
    kill(collector, SIGKILL);
    for (int i = 0; i < MANY; i++)
        assert_true(wait_for_state(shared->pids[i], false, 1000));
    double ms = (double)(now_ns() - killed_at) / 1e6;
    print_message("# %d processes go on %.1f ms after the kill\n", (int)MANY, ms);
    assert_true(ms < 100);
    /* It may be told of the death before it is ours to wait for: that it is once the collector is a zombie. */
    assert_int_equal(waitpid(collector, NULL, 0), collector);
    /* Then it ends by itself. */
    assert_int_equal(waitpid(shared->guardian, NULL, 0), shared->guardian);
    for (int i = 0; i < MANY; i++)
        end_child(shared->pids[i]);
    close(map);
    munmap(shared, sizeof(*shared));
}

static int count_descriptors(pid_t pid)
{
    char path[32];
    int n = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n - 2; /* . and .. */
}

/* Its own death is seen, it holds two descriptors, is in no group of ours, and costs next to nothing. */
static void test_small_and_watched(void **state)
{
    struct guardian *g = NULL;
    struct err err;
    struct proc_stat stat;
    char path[64], text[256] = "";
    unsigned long long run_ns = 0;

    (void)state;
    int map = make_map();
    assert_int_equal(guardian__start(map, &g, &err), 0);
    usleep(1000000);
    assert_int_equal(count_descriptors(guardian__pid(g)), 2);
    assert_int_equal(proc_stat__read(guardian__pid(g), &stat), 0);
    assert_string_equal(stat.comm, "scope-guardian");
    assert_int_equal(stat.session, guardian__pid(g));
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)guardian__pid(g));
    FILE *file = fopen(path, "re");
    if (file && fgets(text, sizeof(text), file))
        sscanf(text, "%llu", &run_ns);
    if (file)
        fclose(file);
    print_message("# %.2f ms of CPU in its first second\n", (double)run_ns / 1e6);
    assert_true(run_ns < 20000000);
    struct pollfd died = {.fd = guardian__pidfd(g), .events = POLLIN};
    assert_int_equal(poll(&died, 1, 0), 0);
    kill(guardian__pid(g), SIGKILL);
    assert_int_equal(poll(&died, 1, 2000), 1);
    guardian__destroy(g);
    close(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_stop),
        cmocka_unit_test(test_dead_collector),
        cmocka_unit_test(test_small_and_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
