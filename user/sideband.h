/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The side-band: what the kernel says about executable mappings of the whole machine, one ring per CPU, as it happens.
 * It knows the modules of a process that lived for a millisecond.  /proc afterwards does not.
 */
#ifndef SCOPE_SIDEBAND_H
#define SCOPE_SIDEBAND_H

#include "usdt/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sideband;

enum sideband_kind {
    SIDEBAND_MAP,  /* an executable mapping of a file */
    SIDEBAND_EXEC, /* the process got a new image: its mappings follow */
    SIDEBAND_FORK, /* pid started as a copy of `parent` */
};

struct sideband_event {
    enum sideband_kind kind;
    uint32_t pid, tid;
    uint32_t parent;          /* SIDEBAND_FORK */
    uint64_t time;
    uint64_t start, len, offset; /* SIDEBAND_MAP; offset in the file */
    dev_t dev;
    uint64_t ino;
    const char *path;         /* as the kernel names it; valid during the callback */
};

typedef void (*sideband_fn)(void *arg, const struct sideband_event *event);

/* Needs CAP_PERFMON (or CAP_SYS_ADMIN, or perf_event_paranoid <= 0). */
int sideband__create(struct sideband **ret, struct err *err);
void sideband__destroy(struct sideband *s); /* accepts NULL */
int sideband__epoll_fd(const struct sideband *s);

/* Everything that is there, in order of time within this pass. */
void sideband__read(struct sideband *s, sideband_fn fn, void *arg);
uint64_t sideband__lost(const struct sideband *s);

#endif
