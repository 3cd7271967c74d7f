/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The children of the collector: wait() belongs to the whole process, so this table does too.
 *
 * The collector is a subreaper: orphans of the command become our children.  children__reap() takes every status
 * there is, keeps those of the children that somebody watches (command, recorder, guardian), forgets the others.
 */
#ifndef SCOPE_CHILDREN_H
#define SCOPE_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#define CHILDREN_MAX 16

/* Right after fork, before anything can call children__reap().  -ENOSPC: more than CHILDREN_MAX are watched. */
int children__watch(pid_t pid);
void children__forget(pid_t pid);

void children__reap(void); /* never blocks; call on SIGCHLD and as often as one likes */

/* true: it ended, *ret_wstatus as wait() reports it; may be asked again until it is forgotten. */
bool children__ended(pid_t pid, int *ret_wstatus);
/* Signal that stopped the child since this was last asked (SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP), else 0. */
int children__stopped_by(pid_t pid);
bool children__wait(pid_t pid, int *ret_wstatus, int timeout_ms); /* false: still running; -1 waits for ever */

#endif
