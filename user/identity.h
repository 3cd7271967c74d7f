/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is behind this run: whose rights the command and the recorder get, whose processes may be watched.
 *
 *   real uid 0, SUDO_UID in the environment   the user who typed sudo
 *   real uid 0, --run-as USER                 that user
 *   real uid 0 otherwise                      root: the command keeps root's rights, the recorder none but uid 0
 *   any other real uid                        that user; rights of the file (setcap) stay with the collector
 */
#ifndef SCOPE_IDENTITY_H
#define SCOPE_IDENTITY_H

#include "usdt/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum identity_kind { IDENTITY_SELF, IDENTITY_ROOT, IDENTITY_SUDO, IDENTITY_RUN_AS };
enum identity_use {
    IDENTITY_COMMAND,  /* what the user would have without us: root keeps its capabilities, set-uid programs work */
    IDENTITY_RECORDER, /* nothing at all: no capability, none to be had by exec, no_new_privs; uid 0 stays uid 0 */
};

struct identity {
    enum identity_kind kind;
    uid_t uid;
    gid_t gid;
    gid_t *groups;     /* supplementary, the primary one included */
    size_t n_groups;
    char *name, *home, *shell; /* never NULL; name is the number where the user has none */
};

/* `run_as`: --run-as, or NULL.  -ENOENT no such user, -EPERM not allowed to become it, -EINVAL bad SUDO_UID. */
int identity__create(const char *run_as, struct identity **ret, struct err *err);
void identity__destroy(struct identity *who); /* accepts NULL */

/* In a child, before exec: becomes `who` for good and checks that there is no way back. */
int identity__become(const struct identity *who, enum identity_use use, struct err *err);

/*
 * The environment that the command gets: ours, with HOME, USER, LOGNAME (SHELL, MAIL where set) of `who` and without
 * what sudo added, when we do not run as `who` ourselves.  One malloc'ed block, free() it; NULL: out of memory.
 */
char **identity__environment(const struct identity *who, char *const *environment);

/*
 * May this process be attached to?  Always for real uid 0.  For others: it belongs to the caller with all four user
 * and group ids, has no capability and can be dumped, or the caller without our rights could ptrace it.
 * 0, -ESRCH no such process, -EPERM: the line names the owner.
 */
int identity__may_attach(pid_t pid, struct err *err);

#endif
