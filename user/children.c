/* SPDX-License-Identifier: GPL-2.0-only */
#include "children.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

struct child {
    pid_t pid; /* 0: free */
    bool ended;
    int wstatus;
    int stopped_by;
};

/* The children of a process exist once; so does their table. */
static struct child table[CHILDREN_MAX];

static struct child *find(pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (table[i].pid == pid)
            return &table[i];
    }
    return NULL;
}

int children__watch(pid_t pid)
{
    struct child *child = find(0);

    if (!child)
        return -ENOSPC;
    *child = (struct child){.pid = pid};
    return 0;
}

void children__forget(pid_t pid)
{
    struct child *child = pid > 0 ? find(pid) : NULL;

    if (child)
        *child = (struct child){0};
}

static void note(pid_t pid, int wstatus)
{
    struct child *child = find(pid);

    if (!child)
        return; /* an orphan that came to us */
    if (WIFSTOPPED(wstatus)) {
        child->stopped_by = WSTOPSIG(wstatus);
    } else if (WIFCONTINUED(wstatus)) {
        child->stopped_by = 0;
    } else {
        child->ended = true;
        child->wstatus = wstatus;
    }
}

void children__reap(void)
{
    int wstatus;
    pid_t pid;

    while ((pid = waitpid(-1, &wstatus, WNOHANG | WUNTRACED | WCONTINUED)) > 0 || (pid < 0 && errno == EINTR)) {
        if (pid > 0)
            note(pid, wstatus);
    }
}

bool children__ended(pid_t pid, int *ret_wstatus)
{
    const struct child *child = pid > 0 ? find(pid) : NULL;

    if (!child || !child->ended)
        return false;
    *ret_wstatus = child->wstatus;
    return true;
}

int children__stopped_by(pid_t pid)
{
    struct child *child = pid > 0 ? find(pid) : NULL;
    int stopped_by = child ? child->stopped_by : 0;

    if (child)
        child->stopped_by = 0;
    return stopped_by;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool children__wait(pid_t pid, int *ret_wstatus, int timeout_ms)
{
    int64_t end = now_ms() + timeout_ms;

    for (int pause = 1;; pause = pause < 10 ? pause * 2 : 10) {
        children__reap();
        if (children__ended(pid, ret_wstatus))
            return true;
        if (!find(pid) || (timeout_ms >= 0 && now_ms() >= end))
            return false;
        poll(NULL, 0, pause);
    }
}
