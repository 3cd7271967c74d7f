/* SPDX-License-Identifier: GPL-2.0-only */
/* --filter-user, --filter-comm, --filter-cgroup: which processes of the machine -a records. */
#ifndef SCOPE_FILTERS_H
#define SCOPE_FILTERS_H

#include "options.h"

struct filters {
    uint32_t uid;          /* 0xffffffff: any */
    uint64_t cgroup;       /* id of the folder, 0: any */
    uint32_t cgroup_level; /* folders between it and the root of the file system */
    char *cgroup_path;     /* inside the cgroup2 file system ("/user.slice"), NULL: any */
    const struct string_list *comm;
};

/* -ENOENT no such user or folder, -EINVAL not a folder of cgroup2.  Free with filters__deinit. */
int filters__init(struct filters *f, const struct options *options, struct err *err);
void filters__deinit(struct filters *f);

bool filters__comm(const struct filters *f, const char *comm, size_t size);
/* For a process that runs already; BPF decides for the others.  Not its name. */
bool filters__running(const struct filters *f, pid_t pid);

#endif
