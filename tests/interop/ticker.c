// SPDX-License-Identifier: GPL-2.0-only
/*
 * ticker SHARED CHILD: until it is killed. A thread runs the region `tick` again and again; the main thread starts
 * new programs, copies of CHILD that nobody has seen before, one after another. Both write down the time (monotonic)
 * in the file SHARED: after each end of the region, and before and after each program.
 */
#include "scope_probe.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TICKS = 1 << 20, MAX_CHILDREN = 1 << 14 };

struct shared {
    _Atomic int64_t ticks, children;
    int64_t tick_end[MAX_TICKS];
    int64_t child_begin[MAX_CHILDREN], child_end[MAX_CHILDREN];
};

static struct shared *shared;
static volatile double sink;
extern char **environ;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void tick(void)
{
    SP_PROBE(tick);
    for (int i = 0; i < 20000; i++)
        sink += i;
}

static void *run_ticks(void *arg)
{
    while (shared->ticks < MAX_TICKS) {
        tick();
        shared->tick_end[shared->ticks] = now();
        shared->ticks++;
    }
    return arg;
}

static void copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
    struct stat st;

    if (in < 0 || out < 0 || fstat(in, &st) || sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size)
        exit(1);
    close(in);
    close(out);
}

int main(int argc, char **argv)
{
    int fd = argc == 3 ? open(argv[1], O_RDWR) : -1;
    pthread_t thread;
    char name[64];

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED || pthread_create(&thread, NULL, run_ticks, NULL))
        return 1;
    while (shared->children < MAX_CHILDREN) {
        snprintf(name, sizeof(name), "./child%d", (int)shared->children);
        copy(argv[2], name);
        char *const words[] = {name, "0", NULL};
        pid_t pid;
        shared->child_begin[shared->children] = now();
        if (posix_spawn(&pid, name, NULL, NULL, words, environ) || waitpid(pid, NULL, 0) != pid)
            return 2;
        shared->child_end[shared->children++] = now();
        unlink(name);
        usleep(2000);
    }
    return 0;
}
