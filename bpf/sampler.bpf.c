/* SPDX-License-Identifier: GPL-2.0-only */
/* A timer tick on a watched thread: where it is in its own code, and in which region. */
#include "threads.bpf.h"
#include "compat.bpf.h"

#if defined(__TARGET_ARCH_x86)
static __always_inline bool in_kernel(struct bpf_perf_event_data *ctx)
{
    return !(ctx->regs.cs & 3);
}
#define USER_IP(regs) ((regs)->ip)
#else
static __always_inline bool in_kernel(struct bpf_perf_event_data *ctx)
{
    return ctx->regs.pstate & 0xf;
}
#define USER_IP(regs) ((regs)->pc)
#endif

SEC("perf_event")
int sample_tick(struct bpf_perf_event_data *ctx)
{
    struct task_struct *task = bpf_get_current_task_btf();
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct thread_state *st;
    struct pt_regs *regs;
    struct sb_sample *r;
    void *ring;
    u32 region = SB_REGION_NONE, lane = 0, depth;

    if (!bpf_map_lookup_elem(&tracked, &pid)) {
        /* One whose end was told already is not met anew: its entry would stay for the next with that number. */
        if (!track_all || !pid || task->flags & (PF_KTHREAD | PF_EXITING) || !passes_filters(task))
            return 0;
        adopt(task, pid);
    }
    st = bpf_task_storage_get(&threads, task, 0, 0);
    if (!st && storage_may_be_busy() && task->bpf_storage) {
        count_lost(pid, 0, SB_REGION_NONE, SB_LOST_BUSY); /* better than a tick in the wrong region */
        return 0;
    }
    if (st && st->lane) {
        lane = st->lane;
        depth = st->depth;
        if (depth)
            region = FRAME_REGION(frame_at(st, depth - 1));
    }
    ring = hot_ring_of_cpu();
    r = ring ? bpf_ringbuf_reserve(ring, sizeof(*r), 0) : NULL;
    if (!r) {
        count_lost(pid, lane, region, SB_LOST_SAMPLE);
        return 0;
    }
    regs = (struct pt_regs *)bpf_task_pt_regs(task);
    r->type = SB_HOT_SAMPLE;
    r->flags = in_kernel(ctx) ? SB_SAMPLE_KERNEL : 0;
    r->cpu = bpf_get_smp_processor_id();
    r->lane = lane;
    r->pid = pid;
    r->region = region;
    r->time = bpf_ktime_get_ns();
    r->ip = USER_IP(regs);
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
    return 0;
}
