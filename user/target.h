/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command: a child that waits, already as the user, until everything is attached.
 *
 *   create   fork; in the child: signals as they were, become the user, find the program as that user's shell would;
 *            then it waits (not stopped: blocked in read) and has not executed anything
 *   release  it calls execve; returns when that has happened or failed
 *
 * Create it before limits (RLIMIT_NOFILE, RLIMIT_MEMLOCK) are raised: it keeps those of its fork.
 */
#ifndef SCOPE_TARGET_H
#define SCOPE_TARGET_H

#include "identity.h"
#include "options.h"
#include "signals.h"

struct target;

/*
 * Also makes the collector a subreaper.  On failure *ret_status is the exit status to end with: 127 not found, 126
 * found but not to be executed, 125 ours.
 */
int target__create(const struct options *options, const struct identity *who, const struct signals *signals,
                   struct target **ret, int *ret_status, struct err *err);
/* Kills the child if it was never released; a released command is left alone. */
void target__destroy(struct target *t);

pid_t target__pid(const struct target *t);
int target__pidfd(const struct target *t);      /* POLLIN when it ended; owned by t */
const char *target__path(const struct target *t); /* absolute path of the program file (script: the script) */

/* After 0 the command runs.  On failure *ret_status as above, the child is gone. */
int target__release(struct target *t, int *ret_status, struct err *err);

/* true once it ended: *ret_wstatus as wait() gives it.  Never blocks. */
bool target__try_reap(struct target *t, int *ret_wstatus);
int target__exit_status(int wstatus);           /* what we exit with: its status, or 128 + signal */

/*
 * A line to print after a command that ended with 127 where sudo or file capabilities took LD_LIBRARY_PATH away:
 * what happened and what to type.  false: nothing to say.
 */
bool target__hint(const struct target *t, int wstatus, char *line, size_t size);

#endif
