/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads as lanes: made at the first begin or at a fork inside a region, ended by exit, exec or detachment. */
#ifndef SCOPE_THREADS_BPF_H
#define SCOPE_THREADS_BPF_H

#include "stack.bpf.h"

/* Gives the thread its serial number and says so.  0, or -1 when the collector could not be told. */
static __always_inline int name_lane(struct thread_state *st, struct task_struct *task, u32 pid)
{
    struct sb_lane *r;
    struct sb_tracked *t = bpf_map_lookup_elem(&tracked, &pid);

    st->lane = __sync_fetch_and_add(&next_lane, 1) + 1;
    r = bpf_ringbuf_reserve(&cold_ring, sizeof(*r), 0);
    if (!r) {
        count_lost(pid, st->lane, 0, SB_LOST_COLD);
        return -1;
    }
    r->type = SB_COLD_LANE;
    r->flags = st->inherited ? SB_LANE_FORKED : 0;
    if (task->pid == task->tgid)
        r->flags |= SB_LANE_LEADER;
    r->depth = st->inherited;
    r->lane = st->lane;
    r->pid = pid;
    r->tid = task->pid;
    r->inner_tid = inner_pid(task);
    r->exec = t ? t->exec : 0;
    r->time = bpf_ktime_get_ns();
    r->thread_start = task->start_time;
    r->process_start = task->group_leader->start_time;
    bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
    bpf_ringbuf_submit(r, 0);
    return 0;
}

static __always_inline struct sb_process *reserve_process(struct task_struct *task, u8 type)
{
    struct sb_process *r = bpf_ringbuf_reserve(&cold_ring, sizeof(*r), 0);

    if (!r) {
        count_lost(task->tgid, 0, 0, SB_LOST_COLD);
        return NULL;
    }
    __builtin_memset(r, 0, sizeof(*r));
    r->type = type;
    r->pid = task->tgid;
    r->inner_pid = inner_pid(task->group_leader);
    r->time = bpf_ktime_get_ns();
    r->start_time = task->group_leader->start_time;
    bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
    return r;
}

/* Whether -a's filters let the current process through; the collector, recorder and guardian never. */
static __always_inline bool passes_filters(struct task_struct *task)
{
    if ((u32)task->tgid == own_pid || (u32)task->group_leader->real_parent->tgid == own_pid)
        return false;
    if (filter_uid != 0xffffffff && task->real_cred->uid.val != filter_uid)
        return false;
    return !filter_cgroup || bpf_get_current_ancestor_cgroup_id(filter_cgroup_level) == filter_cgroup;
}

/* -a: the current process is met for the first time. */
static __always_inline struct sb_tracked *adopt(struct task_struct *task, u32 pid)
{
    struct sb_tracked next = { .start_time = task->group_leader->start_time, .flags = SB_TRACK_FOLLOW };
    struct sb_process *r;

    if (!passes_filters(task) || bpf_map_update_elem(&tracked, &pid, &next, BPF_NOEXIST))
        return bpf_map_lookup_elem(&tracked, &pid);
    r = reserve_process(task, SB_COLD_SEEN);
    if (r) {
        r->parent = task->group_leader->real_parent->tgid;
        bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
    }
    return bpf_map_lookup_elem(&tracked, &pid);
}

/* The state of the current thread if its process is tracked; made when `make` is set. */
static __always_inline struct thread_state *thread_of(struct task_struct *task, u32 pid, bool make)
{
    struct thread_state *st = bpf_task_storage_get(&threads, task, 0, 0);

    if (!st) {
        struct sb_tracked *t;

        if (!make)
            return NULL;
        t = bpf_map_lookup_elem(&tracked, &pid);
        if (!t && track_all)
            t = adopt(task, pid);
        if (!t)
            return NULL;
        st = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!st) {
            count_lost(pid, 0, 0, SB_LOST_STORAGE);
            return NULL;
        }
    }
    if (!st->lane)
        name_lane(st, task, pid);
    return st;
}

static __always_inline void end_lane(struct thread_state *st, struct task_struct *task, u8 why, u64 now)
{
    u32 pid = task->tgid;
    struct sb_lane_end *r;

    unwind_to(st, pid, 0, now, SB_CALL_TRUNCATED);
    r = bpf_ringbuf_reserve(&cold_ring, sizeof(*r), 0);
    if (!r) {
        count_lost(pid, st->lane, 0, SB_LOST_COLD);
        return;
    }
    r->type = SB_COLD_LANE_END;
    r->why = why;
    r->pad = 0;
    r->lane = st->lane;
    r->pid = pid;
    r->tid = task->pid;
    r->time = now;
    r->cpu_ns = task->se.sum_exec_runtime;
    r->next_seq = st->seq;
    r->depth_overflow = st->overflowed;
    bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
    bpf_ringbuf_submit(r, 0);
}

#endif
