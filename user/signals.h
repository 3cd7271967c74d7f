/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals of the collector, as a descriptor for its poll loop.
 *
 * What the terminal sends (Ctrl-C, Ctrl-\, hangup: si_code SI_KERNEL) goes to the whole foreground group, so the
 * command has it already: nothing is done.  What somebody sends to us is passed on once; the second time the profile
 * is finished without waiting.  Without a command the first one ends the recording.  Ctrl-Z stops us like everybody
 * else; when the command alone stops itself (an editor that handles Ctrl-Z), we stop too, or the shell would wait.
 */
#ifndef SCOPE_SIGNALS_H
#define SCOPE_SIGNALS_H

#include "usdt/err.h"

#include <sys/types.h>

struct signals;

enum signals_event {
    SIGNALS_CHILD = 1,   /* a child changed: signals__read() has called children__reap() already */
    SIGNALS_FINISH = 2,  /* end the recording now and write the profile, do not wait for the command */
    SIGNALS_TERMINAL = 4, /* the terminal interrupted everybody (for a message; nothing to do) */
    SIGNALS_FORWARDED = 8, /* passed on to the command */
};

/* Early in main, before any thread or child: blocks what it handles, ignores SIGPIPE and SIGXFSZ. */
int signals__create(struct signals **ret, struct err *err);
void signals__destroy(struct signals *s); /* restores what was there; accepts NULL */
int signals__fd(const struct signals *s); /* poll for POLLIN */

/* The command, once released (pidfd not owned; -1: ended or none). */
void signals__set_command(struct signals *s, pid_t pid, int pidfd);

/* Takes everything pending; bits of enum signals_event.  May stop this process and return after SIGCONT. */
unsigned signals__read(struct signals *s);

/* In a child before exec: dispositions and mask as they were when we started. */
void signals__restore(const struct signals *s);

#endif
