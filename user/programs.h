/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF side of a run: programs and maps, loaded, and the rings that they write to. */
#ifndef SCOPE_PROGRAMS_H
#define SCOPE_PROGRAMS_H

#include "bpf/events.h"
#include "options.h"
#include "usdt/err.h"

#include <stdbool.h>
#include <stddef.h>

struct scope_bpf;

struct programs {
    struct scope_bpf *skel;
    bool multi;      /* uprobe_multi links exist here, and are to be used */
    int n_rings;     /* hot rings: one per CPU, above 64 CPUs one per 4 */
    int *ring_fds;
    size_t ring_bytes;
};

struct programs_config {
    size_t buffer;   /* bytes for all hot rings together; rounded so that each is a power of two of pages */
    enum uprobe_road uprobes;
    bool quiet_scope_ends;
    bool track_all;      /* -a, through these filters: */
    uint32_t filter_uid; /* 0xffffffff none */
    uint64_t filter_cgroup;
    uint32_t filter_cgroup_level;
};

/* Opens and loads.  -errno with a line that says which facility is missing; `scope-bpf --check` tells more. */
int programs__load(const struct programs_config *config, struct programs **ret, struct err *err);
void programs__destroy(struct programs *p); /* accepts NULL */

/* From here on fork, exec, exit of tracked processes are seen. */
int programs__watch_processes(struct programs *p, struct err *err);

/* A process to be recorded; flags: enum sb_tracked_flags. */
int programs__track(struct programs *p, pid_t pid, uint64_t start_time, unsigned flags, struct err *err);
void programs__untrack(struct programs *p, pid_t pid);
void programs__untrack_all(struct programs *p);

/* The recording ended and no site fires any more: open calls are truncated, threads' state goes. */
int programs__detach_threads(struct programs *p, struct err *err);

#endif
