/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps, configuration and the state of a thread, shared by all BPF objects (the linker merges weak definitions).
 * Sizes of 1 are placeholders that the collector sets before loading.
 */
#ifndef SCOPE_MAPS_BPF_H
#define SCOPE_MAPS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "events.h"

#define TASK_COMM_LEN SB_COMM_LEN
#define SIGSTOP 19
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/*
 * An open call. 24 bytes and 512 of them: with its head a thread's state fits into one 16-KiB object of the kernel.
 * Stack pointers are compared within one thread's stack, for which the low half is enough.
 */
struct frame {
    u64 start;
    u64 identity; /* BY_SCOPE: address of a byte of the machine's frame that began it; else the address of the site */
    u32 sp;
    u32 region; /* and BY_SCOPE */
};

#define BY_SCOPE 0x80000000u
#define FRAME_REGION(f) ((f)->region & ~BY_SCOPE)
#define IS_DEEPER(sp, than) ((s32)((sp) - (than)) < 0) /* stacks grow down */

struct thread_state {
    u32 lane; /* 0: inherited at fork, nothing recorded by itself yet */
    u32 seq;
    u32 depth;     /* frames on the stack */
    u32 over;      /* open calls above SB_MAX_DEPTH: only counted */
    u32 inherited; /* the lowest frames came from the parent at fork */
    u32 overflowed; /* calls that were too deep, ever */
    u32 window, in_window; /* records written lately, see in_its_share() */
    u32 crowded, greedy;
    struct frame frames[SB_MAX_DEPTH];
};

struct hot_ring {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1);
    __type(key, u32);
    __array(values, struct hot_ring);
} hot_rings __weak SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 << 20);
} cold_ring __weak SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread_state);
} threads __weak SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, u32);
    __type(value, struct sb_tracked);
} tracked __weak SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 16);
    __type(key, struct sb_file_key);
    __type(value, u32);
} known __weak SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 16);
    __type(key, u64);
    __type(value, u32);
} known_sets __weak SEC(".maps"); /* libraries of a program that are attached, by the hash of their names */

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 16);
    __type(key, u32);
    __type(value, struct sb_stopped);
} stopped __weak SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 16);
    __type(key, struct sb_lost_key);
    __type(value, u64);
} lost __weak SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, SB_LOST_MAX);
    __type(key, u32);
    __type(value, u64);
} lost_unnamed __weak SEC(".maps"); /* by cause, when the table above is full */

struct name_key {
    char name[SB_NAME_MAX + 1]; /* 0 behind the end */
    u32 provider;               /* one name of two providers is two regions */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, SB_MAX_DYNAMIC);
    __type(key, struct name_key);
    __type(value, u32);
} dynamic_names __weak SEC(".maps");

/* Configuration, set between open and load. */
const volatile sb_u32 ring_shift __weak = 0;     /* ring of a CPU = cpu >> ring_shift */
const volatile sb_u32 ring_bytes __weak = 4096;  /* of one hot ring */
const volatile sb_u32 quiet_scope_ends __weak = 0; /* regions are filtered: an address of nobody is no surprise */

const volatile sb_u32 track_all __weak = 0; /* -a: every process is recorded, nobody is stopped */
const volatile sb_u32 own_pid __weak = 0;   /* the collector: it and its helpers are never recorded with -a */
const volatile sb_u32 filter_uid __weak = 0xffffffff;
const volatile sb_u64 filter_cgroup __weak = 0; /* id of a cgroup v2 folder, 0 none … */
const volatile sb_u32 filter_cgroup_level __weak = 0; /* … and how deep it lies below the root */

sb_u32 next_lane __weak = 0;
sb_u32 next_dynamic __weak = 0;

static __always_inline void count_lost(u32 pid, u32 lane, u32 region, u32 cause)
{
    struct sb_lost_key key = { .pid = pid, .region = region, .cause = cause, .lane = lane };
    u64 zero = 0, *n = bpf_map_lookup_elem(&lost, &key);

    if (!n) {
        bpf_map_update_elem(&lost, &key, &zero, BPF_NOEXIST);
        n = bpf_map_lookup_elem(&lost, &key);
    }
    if (!n)
        n = bpf_map_lookup_elem(&lost_unnamed, &cause);
    if (n)
        __sync_fetch_and_add(n, 1);
}

/* The number of a task in its innermost pid namespace. */
static __always_inline u32 inner_pid(struct task_struct *task)
{
    struct pid *pid = BPF_CORE_READ(task, thread_pid);
    u32 level = BPF_CORE_READ(pid, level);
    struct upid upid = {};

    if (level > 31)
        return 0;
    bpf_core_read(&upid.nr, sizeof(upid.nr), &pid->numbers[level].nr);
    return upid.nr;
}

#endif
