/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel types that scope-bpf reads, by CO-RE.
 *
 * Only the names of members matter here, not their order or their place: libbpf
 * replaces every offset by that of the running kernel (preserve_access_index), so one
 * file serves every kernel and both architectures. What belongs to the kernel's
 * user-space interface (maps, helpers' flags, fixed-width types) comes from
 * <linux/bpf.h>. regenerate.sh makes the full header of the running kernel.
 *
 * Members that only some kernels have are tested with bpf_core_field_exists() where
 * they are used (bpf/compat.bpf.h), never assumed.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <linux/bpf.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
typedef int pid_t;
typedef __u32 dev_t;
typedef unsigned long size_t;

enum {
    false = 0,
    true = 1,
};

/* Registers are read from the context, whose layout is fixed by the architecture. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx;
    unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
    unsigned long orig_ax, ip, cs, flags, sp, ss;
};
typedef struct pt_regs bpf_user_pt_regs_t;
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
    __u64 regs[31];
    __u64 sp;
    __u64 pc;
    __u64 pstate;
};
struct pt_regs {
    union {
        struct user_pt_regs user_regs;
        struct {
            __u64 regs[31];
            __u64 sp;
            __u64 pc;
            __u64 pstate;
        };
    };
};
typedef struct user_pt_regs bpf_user_pt_regs_t;
#else
#error "scope-bpf knows x86-64 and arm64"
#endif

struct bpf_perf_event_data {
    bpf_user_pt_regs_t regs;
    __u64 sample_period;
    __u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
    unsigned int inum;
};

struct pid_namespace {
    unsigned int level;
    struct ns_common ns;
};

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1]; /* level + 1 of them */
};

struct nsproxy {
    struct pid_namespace *pid_ns_for_children;
};

struct super_block {
    dev_t s_dev;
};

struct inode {
    struct super_block *i_sb;
    unsigned long i_ino;
    __u32 i_generation;
    long long i_size;
};

struct file {
    struct inode *f_inode;
};

struct mm_struct;

struct vm_area_struct {
    unsigned long vm_start;
    unsigned long vm_end;
    unsigned long vm_pgoff;
    unsigned long vm_flags;
    struct mm_struct *vm_mm;
    struct file *vm_file;
};

struct mm_struct {
    unsigned long arg_start, arg_end;
    unsigned long env_start, env_end;
    struct file *exe_file;
};

struct linux_binprm {
    struct mm_struct *mm;
    struct file *file;
    const char *filename;
    const char *interp;
};

struct sched_entity {
    u64 exec_start;
    u64 sum_exec_runtime;
};

typedef struct {
    int counter;
} atomic_t;

struct signal_struct {
    atomic_t live;
    int nr_threads;
    int group_exit_code;
    struct pid *pids[4]; /* by pid_type: PID, TGID, PGID, SID */
};

typedef struct {
    unsigned int val;
} kuid_t;

typedef struct {
    unsigned int val;
} kgid_t;

struct cred {
    kuid_t uid, suid, euid;
    kgid_t gid, sgid, egid;
};

struct sigaction {
    void (*sa_handler)(int);
};

struct k_sigaction {
    struct sigaction sa;
};

struct sighand_struct {
    struct k_sigaction action[64];
};

struct bpf_local_storage;

struct task_struct {
    unsigned int __state;
    unsigned int flags;
    unsigned int ptrace;
    int on_cpu;
    struct sched_entity se;
    struct mm_struct *mm;
    int exit_state;
    int exit_code;
    pid_t pid;
    pid_t tgid;
    struct task_struct *real_parent;
    struct task_struct *parent;
    struct task_struct *group_leader;
    struct pid *thread_pid;
    u64 utime;
    u64 stime;
    u64 start_time;
    u64 start_boottime;
    u32 self_exec_id;
    const struct cred *real_cred;
    const struct cred *cred;
    char comm[16];
    struct nsproxy *nsproxy;
    struct signal_struct *signal;
    struct sighand_struct *sighand;
    struct bpf_local_storage *bpf_storage;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
    u64 session_id;
    u64 seq_num;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

struct bpf_iter__task_vma {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
    struct vm_area_struct *vma;
};

#pragma clang attribute pop

#endif
