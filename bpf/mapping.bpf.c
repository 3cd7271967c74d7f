/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which file really lies behind a mapping.  overlayfs shows an inode of its own to stat() and in maps, while the kernel
 * puts breakpoints into the file below: one file, seen through two mounts, would be attached twice and count twice.
 */
#include "maps.bpf.h"

struct sb_file_key mapped_file; /* of the last run; ino 0: nothing there */

static long see_mapping(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
    struct inode *inode = BPF_CORE_READ(vma, vm_file, f_inode);

    if (!inode)
        return 0;
    mapped_file.ino = BPF_CORE_READ(inode, i_ino);
    mapped_file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
    mapped_file.generation = BPF_CORE_READ(inode, i_generation);
    return 0;
}

/* Run by the collector on itself (BPF_PROG_TEST_RUN): the context is an address.  What bpf_find_vma says. */
SEC("raw_tp")
int BPF_PROG(find_mapping, u64 address)
{
    mapped_file.ino = 0;
    return bpf_find_vma(bpf_get_current_task_btf(), address, see_mapping, NULL, 0);
}
