/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/PID/status: ids, rights and pending signals of a process. */
#ifndef SCOPE_PROC_STATUS_H
#define SCOPE_PROC_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_status {
    char name[64];
    uid_t uid[4]; /* real, effective, saved, file system */
    gid_t gid[4];
    bool has_capability; /* in its permitted set */
    uint64_t pending;    /* signals sent and not yet taken, 1 << (number - 1) */
    bool dumpable;       /* its files in /proc belong to its user */
};

int proc_status__read(pid_t pid, struct proc_status *ret); /* -ESRCH: gone */

/* What the kernel says to a child of ours that has given up every capability: may it ptrace this process? */
bool proc_status__could_ptrace(pid_t pid);

#endif
