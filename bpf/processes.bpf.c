/* SPDX-License-Identifier: GPL-2.0-only */
/* Fork, exec and exit of watched processes, from the kernel's own events: whatever libc the program uses. */
#include "threads.bpf.h"
#include "stop.bpf.h"

/*
 * The child of a thread inside regions starts with the same open calls, from now on.  They stay invisible (no lane)
 * until the child itself comes to a probe.
 */
static __always_inline void inherit_calls(struct task_struct *parent, struct task_struct *child)
{
    struct thread_state *from = bpf_task_storage_get(&threads, parent, 0, 0), *to;
    u32 depth;

    if (!from || !from->depth)
        return;
    to = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!to) {
        count_lost(child->tgid, 0, 0, SB_LOST_STORAGE);
        return;
    }
    depth = from->depth;
    if (depth > SB_MAX_DEPTH)
        return;
    bpf_probe_read_kernel(to->frames, depth * sizeof(struct frame), from->frames);
    to->depth = depth;
    to->inherited = depth;
    to->over = from->over;
}

struct restart {
    struct thread_state *st;
    u64 now;
};

static long restart_one(u32 i, void *arg)
{
    struct restart *r = arg;

    if (i >= r->st->depth)
        return 1;
    frame_at(r->st, i)->start = r->now;
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
    u32 pid = parent->tgid, child_pid = child->tgid;
    struct sb_tracked *t, next = {};
    struct sb_process *r;

    if (child_pid == pid || child->flags & PF_KTHREAD)
        return 0; /* a thread, or one of the kernel */
    t = bpf_map_lookup_elem(&tracked, &pid);
    if (t ? !(t->flags & SB_TRACK_FOLLOW) : !track_all || !passes_filters(parent))
        return 0;
    next.start_time = child->start_time;
    next.flags = t ? t->flags : SB_TRACK_FOLLOW;
    if (bpf_map_update_elem(&tracked, &child_pid, &next, BPF_ANY)) {
        count_lost(child_pid, 0, 0, SB_LOST_STORAGE);
        return 0;
    }
    inherit_calls(parent, child);
    struct thread_state *st = bpf_task_storage_get(&threads, child, 0, 0);
    if (st) {
        struct restart again = { .st = st, .now = bpf_ktime_get_ns() };
        bpf_loop(SB_MAX_DEPTH, restart_one, &again, 0);
    }
    r = reserve_process(child, SB_COLD_FORK);
    if (!r)
        return 0;
    r->parent = pid;
    bpf_ringbuf_submit(r, 0);
    return 0;
}

/* Ends the image that this thread ran so far; returns how many inherited calls were never seen. */
static __always_inline u32 end_image(struct task_struct *task, u8 why, u64 now)
{
    struct thread_state *st = bpf_task_storage_get(&threads, task, 0, 0);
    u32 dropped = 0;

    if (!st)
        return 0;
    if (st->lane)
        end_lane(st, task, why, now);
    else
        dropped = st->inherited;
    if (why == SB_END_EXEC)
        bpf_task_storage_delete(&threads, task);
    return dropped;
}

struct send_text {
    u64 start, end;
    u32 pid, exec;
    u8 type;
};

static long send_chunk(u32 i, void *arg)
{
    struct send_text *s = arg;
    u64 at = s->start + (u64)i * SB_TEXT_CHUNK;
    struct sb_text *r;
    u32 n;

    if (at >= s->end)
        return 1;
    r = bpf_ringbuf_reserve(&cold_ring, sizeof(*r), 0);
    if (!r) {
        count_lost(s->pid, 0, 0, SB_LOST_COLD);
        return 1;
    }
    n = s->end - at > SB_TEXT_CHUNK ? SB_TEXT_CHUNK : s->end - at;
    r->type = s->type;
    r->pid = s->pid;
    r->exec = s->exec;
    r->offset = i * SB_TEXT_CHUNK;
    r->last = s->end - at <= SB_TEXT_CHUNK || i + 1 == SB_TEXT_CHUNKS;
    r->len = n;
    if (n > SB_TEXT_CHUNK || bpf_probe_read_user(r->text, n, (void *)at))
        r->len = 0;
    bpf_ringbuf_submit(r, 0);
    return 0;
}

static __always_inline void send_text(u8 type, u32 pid, u32 exec, u64 start, u64 end)
{
    struct send_text s = { .start = start, .end = end, .pid = pid, .exec = exec, .type = type };

    bpf_loop(SB_TEXT_CHUNKS, send_chunk, &s, 0);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
    u32 pid = task->tgid;
    struct sb_tracked *t = bpf_map_lookup_elem(&tracked, &pid);
    u64 now = bpf_ktime_get_ns();
    struct sb_file_key key = {};
    struct sb_process *r;
    u32 dropped, exec;
    bool halt = false;

    if (!t && track_all)
        t = adopt(task, pid);
    if (!t)
        return 0;
    dropped = end_image(task, SB_END_EXEC, now);
    exec = ++t->exec;
    t->libraries = 0;
    key.ino = bprm->file->f_inode->i_ino;
    key.dev = bprm->file->f_inode->i_sb->s_dev;
    key.generation = bprm->file->f_inode->i_generation;
    if (t->flags & SB_TRACK_STOP && !bpf_map_lookup_elem(&known, &key) && may_stop(task))
        halt = stop_for_attach(task, pid, now);
    r = reserve_process(task, SB_COLD_EXEC);
    if (r) {
        r->stopped = halt;
        r->inherited_dropped = dropped;
        r->parent = task->real_parent->tgid;
        r->exec = exec;
        r->ino = key.ino;
        r->dev = key.dev;
        r->generation = key.generation;
        r->time = now;
        bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
    }
    send_text(SB_COLD_ARGV, pid, exec, task->mm->arg_start, task->mm->arg_end);
    send_text(SB_COLD_ENV, pid, exec, task->mm->env_start, task->mm->env_end);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
    u32 pid = task->tgid, dropped, code;
    struct sb_process *r;
    u64 now = bpf_ktime_get_ns();

    dropped = end_image(task, SB_END_EXIT, now);
    if (task->signal->live.counter > 0)
        return 0;
    if (!bpf_map_lookup_elem(&tracked, &pid))
        return 0;
    bpf_map_delete_elem(&tracked, &pid);
    r = reserve_process(task, SB_COLD_EXIT);
    if (!r)
        return 0;
    code = task->signal->group_exit_code;
    r->exit_code = code ? code : task->exit_code;
    r->inherited_dropped = dropped;
    r->time = now;
    bpf_ringbuf_submit(r, 0);
    return 0;
}

/*
 * The last time that a thread is switched away its CPU time is exact; at its exit it still lacks the slice in which
 * it exits.  The test of the state is all that the rest of the machine pays.
 */
#define STATE_DEAD 0x80

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct thread_state *st;
    struct sb_lane_end *r;

    if (!(prev->__state & STATE_DEAD))
        return 0;
    st = bpf_task_storage_get(&threads, prev, 0, 0);
    if (!st || !st->lane)
        return 0;
    r = bpf_ringbuf_reserve(&cold_ring, sizeof(*r), 0);
    if (!r) {
        count_lost(prev->tgid, st->lane, 0, SB_LOST_COLD);
        return 0;
    }
    __builtin_memset(r, 0, sizeof(*r));
    r->type = SB_COLD_THREAD_CPU;
    r->lane = st->lane;
    r->pid = prev->tgid;
    r->tid = prev->pid;
    r->time = bpf_ktime_get_ns();
    r->cpu_ns = prev->se.sum_exec_runtime;
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
    return 0;
}

/* Detachment: what is still open ends now.  Runs when no site fires any more. */
SEC("iter/task")
int detach_threads(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    struct thread_state *st;

    if (!task)
        return 0;
    st = bpf_task_storage_get(&threads, task, 0, 0);
    if (!st)
        return 0;
    if (st->lane)
        end_lane(st, task, SB_END_DETACH, bpf_ktime_get_ns());
    bpf_task_storage_delete(&threads, task);
    return 0;
}
