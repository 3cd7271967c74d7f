/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guardian: a small process that continues what a dead collector left stopped.
 *
 * BPF stops a process of the command at an exec and notes it in the map `stopped` (u32 pid → struct sb_stopped); the
 * collector attaches, removes the entry, sends SIGCONT.  The guardian holds nothing but that map and a pidfd of the
 * collector.  When the collector dies, or a stop gets older than GUARDIAN_LIMIT_MS, it compares pid and start time
 * and sends SIGCONT by pidfd, and removes the entry.
 *
 * Start it when the map exists and before the rings are mapped.  When its pidfd becomes readable it has died: destroy
 * it and start another.
 */
#ifndef SCOPE_GUARDIAN_H
#define SCOPE_GUARDIAN_H

#include "usdt/err.h"

#include <sys/types.h>

#define GUARDIAN_LIMIT_MS 140 /* plus one tick of 50 ms: no stop above 200 ms */
#define GUARDIAN_TICK_MS 50

struct guardian;

int guardian__start(int stopped_map_fd, struct guardian **ret, struct err *err);
int guardian__pidfd(const struct guardian *g); /* POLLIN: it died */
pid_t guardian__pid(const struct guardian *g);
void guardian__destroy(struct guardian *g); /* ends and reaps it; accepts NULL */

#endif
