/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tries of --check. Each does a small piece of what recording does, in this process, and undoes it.
 * 0 with what was seen in err->text, or -errno with why not.
 */
#ifndef SCOPE_CHECK_TRIES_H
#define SCOPE_CHECK_TRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usdt/err.h"

enum check_road { ROAD_NONE, ROAD_MULTI, ROAD_PERF };

/* What tries share. */
struct check_env {
    size_t buffer;        /* --buffer */
    int count;            /* array map of one u64 that the programs count in; -1 */
    enum check_road road; /* the first way of attaching uprobes that worked */
};

typedef int check_try(struct check_env *env, struct err *err);

/* check_bpf.c: btf must come first and the uprobes before what is tried through them. */
check_try check__btf, check__bpf_load, check__uprobe_multi, check__uprobe_perf, check__ring_buffer,
    check__task_storage, check__tp_btf, check__sleepable, check__send_signal, check__sampling;
void check_bpf__deinit(struct check_env *env);

/* check_system.c */
check_try check__side_band, check__perf_memory, check__cycles, check__map_files, check__capabilities,
    check__paranoid, check__ptrace_scope, check__lockdown;

/* A line of a small text file without its end; false where it cannot be read. */
bool check__read_line(const char *path, char *line, size_t size);
/* Whether this process has the capability (number of linux/capability.h) in effect. */
bool check__has_capability(unsigned int capability);

#endif
