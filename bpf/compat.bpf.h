/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels from 6.1 on, each with the commit that made it.  Decided when the programs are loaded,
 * by what the kernel's types say, never by its version: the branch not taken costs nothing.
 *
 * Differences that need nothing here: sites without uprobe_multi (89ae89f53d20, 6.6) get a perf event each, see
 * user/attach.c.
 */
#ifndef SCOPE_COMPAT_BPF_H
#define SCOPE_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>

enum bpf_func_id___newer {
    BPF_FUNC_cgrp_storage_get___newer = 210,
};

/*
 * Before e8b02296a6b8 (6.2) bpf_task_storage_get() finds nothing while the same CPU is inside another call of it: a tick
 * that interrupts the program of a site sees no state of a thread that has one.  The helper itself has no mark in the
 * kernel's types; cgroup storage came with the same release.
 */
static __always_inline bool storage_may_be_busy(void)
{
    return !bpf_core_enum_value_exists(enum bpf_func_id___newer, BPF_FUNC_cgrp_storage_get___newer);
}

#endif
