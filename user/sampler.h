/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer that samples watched threads: events of the task, inherited by what it starts; nobody else feels it. */
#ifndef SCOPE_SAMPLER_H
#define SCOPE_SAMPLER_H

#include "usdt/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct sampler;

/* program_fd: of type perf_event. */
int sampler__create(int program_fd, int hz, struct sampler **ret, struct err *err);
void sampler__destroy(struct sampler *s); /* stops it; accepts NULL */

/* A command before its exec: starts with the exec, children follow. */
int sampler__add_command(struct sampler *s, pid_t pid, struct err *err);
/* All threads of a running process, and their future ones; children only with `follow`. */
int sampler__add_process(struct sampler *s, pid_t pid, bool follow, struct err *err);

/* -a: every CPU, whatever runs there; an idle one costs nothing. */
int sampler__add_machine(struct sampler *s, struct err *err);

const char *sampler__event(const struct sampler *s); /* "cpu-clock" or "cycles" */
int sampler__hz(const struct sampler *s);            /* what the kernel lets us have */

#endif
