/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack of open calls of a thread: which begin an end belongs to, what was abandoned on the way, and the record
 * of each call that ended.
 *
 * A call is identified by the address of a byte of its frame where the program gives one (scopes under compilers
 * other than gcc, dynamic scopes).  Otherwise by its name and the stack pointer: the innermost open call of that name
 * whose stack pointer at its begin equals the one at the end, else the innermost with a greater one (the end stands
 * in a function called from where it began), else the innermost.  The name alone would close the wrong call after a
 * longjmp through recursion and after inlining.
 */
#ifndef SCOPE_STACK_BPF_H
#define SCOPE_STACK_BPF_H

#include "maps.bpf.h"

#define NO_FRAME 0xffffffffu

/* Every index into frames goes through this, so that the verifier sees the bound. */
static __always_inline struct frame *frame_at(struct thread_state *st, u32 i)
{
    return &st->frames[i & (SB_MAX_DEPTH - 1)];
}

static __always_inline void *hot_ring_of_cpu(void)
{
    u32 ring = bpf_get_smp_processor_id() >> ring_shift;

    return bpf_map_lookup_elem(&hot_rings, &ring);
}

/*
 * The collector polls; it is woken when a ring is more than a quarter full.  One record in 64 of a thread looks.
 */
#define LOOK_EVERY 64

static __always_inline u64 hot_wakeup(void *ring, u32 seq)
{
    if (seq % LOOK_EVERY || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < ring_bytes / 4)
        return BPF_RB_NO_WAKEUP;
    return BPF_RB_FORCE_WAKEUP;
}

/*
 * With -a the last half of a ring is for threads that need little: one that asked for more than its share within about
 * 8 ms (a turn of the collector) leaves it to the others and loses its own, until it has asked for less in such a time.
 * A busy machine may keep the collector away for many of these, so a new one is no new share.
 */
#define MOST_SHARE 256
#define SHARE (ring_bytes / 512 < MOST_SHARE ? ring_bytes / 512 : MOST_SHARE) /* a 16th of its records */
#define WINDOW_SHIFT 23

static __always_inline bool in_its_share(struct thread_state *st, void *ring, u64 now)
{
    u32 window = now >> WINDOW_SHIFT;

    if (st->window != window) {
        st->greedy = window - st->window == 1 && st->in_window > SHARE;
        st->window = window;
        st->in_window = 0;
    }
    if (++st->in_window <= SHARE && !st->greedy)
        return true;
    if (st->in_window % LOOK_EVERY == 1)
        st->crowded = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_bytes / 2;
    return !st->crowded;
}

static __always_inline void emit(struct thread_state *st, u32 pid, u8 type, u8 flags, u32 depth, u32 region,
                                 u64 start, u64 end)
{
    u32 seq = st->seq++;
    void *ring = hot_ring_of_cpu();
    bool may = ring && (!track_all || in_its_share(st, ring, end));
    struct sb_call *r = may ? bpf_ringbuf_reserve(ring, sizeof(*r), 0) : NULL;

    if (!r) {
        count_lost(pid, st->lane, region, SB_LOST_RING);
        return;
    }
    r->type = type;
    r->flags = flags;
    r->depth = depth;
    r->lane = st->lane;
    r->seq = seq;
    r->region = region;
    r->start = start;
    r->end = end;
    bpf_ringbuf_submit(r, hot_wakeup(ring, seq));
}

/* The call of the frame on top ended at `end`. */
static __always_inline void pop(struct thread_state *st, u32 pid, u64 end, u8 flags)
{
    u32 i = (st->depth - 1) & (SB_MAX_DEPTH - 1);
    struct frame *f = frame_at(st, i);

    if (i < st->inherited) {
        flags |= SB_CALL_INHERITED;
        st->inherited = i;
    }
    st->depth = i;
    emit(st, pid, SB_HOT_CALL, flags, i, FRAME_REGION(f), f->start, end);
}

struct unwind {
    struct thread_state *st;
    u64 end;
    u32 down_to;
    u32 pid;
    u8 flags;
};

static long unwind_one(u32 i, void *arg)
{
    struct unwind *u = arg;
    struct thread_state *st = u->st;

    if (st->depth <= u->down_to || st->depth > SB_MAX_DEPTH)
        return 1;
    pop(st, u->pid, u->end, u->flags);
    return 0;
}

/* Ends every open call above `down_to` frames, innermost first. */
static __always_inline void unwind_to(struct thread_state *st, u32 pid, u32 down_to, u64 end, u8 flags)
{
    struct unwind u = { .st = st, .end = end, .down_to = down_to, .pid = pid, .flags = flags };

    if (st->depth > down_to)
        bpf_loop(SB_MAX_DEPTH, unwind_one, &u, 0);
}

struct search {
    struct thread_state *st;
    u64 identity;
    u32 sp;
    u32 region; /* as a frame holds it, with BY_SCOPE */
    u32 depth;
    u32 is_begin;
    u32 equal, greater, any;
};

/*
 * A begin looks no further than the first caller that still runs: a frame of the same address below it was left by a
 * longjmp, but what stands between the two may be alive.  It stays until an end outside of it.
 */
static long search_scope(u32 i, void *arg)
{
    struct search *s = arg;
    u32 at = s->depth - 1 - i;
    struct frame *f;

    if (at >= SB_MAX_DEPTH)
        return 1;
    f = frame_at(s->st, at);
    if (s->is_begin && IS_DEEPER(s->sp, f->sp))
        return 1;
    if (f->identity != s->identity || !(f->region & BY_SCOPE))
        return 0;
    s->equal = at;
    return 1;
}

static long search_name(u32 i, void *arg)
{
    struct search *s = arg;
    u32 at = s->depth - 1 - i;
    struct frame *f;

    if (at >= SB_MAX_DEPTH)
        return 1;
    f = frame_at(s->st, at);
    if (f->region != s->region)
        return 0;
    if (s->any == NO_FRAME)
        s->any = at;
    if (f->sp == s->sp) {
        s->equal = at;
        return 1;
    }
    if (IS_DEEPER(s->sp, f->sp) && s->greater == NO_FRAME)
        s->greater = at;
    return 0;
}

/* An open call begun at this site with this stack pointer; what lies deeper in the machine's stack is passed over. */
static long search_site(u32 i, void *arg)
{
    struct search *s = arg;
    u32 at = s->depth - 1 - i;
    struct frame *f;

    if (at >= SB_MAX_DEPTH)
        return 1;
    f = frame_at(s->st, at);
    if (IS_DEEPER(s->sp, f->sp))
        return 1;
    if (f->sp != s->sp || f->identity != s->identity || f->region != s->region)
        return 0;
    s->equal = at;
    return 1;
}

/* Closes frame `at`; what stands above it was abandoned. */
static __always_inline void close_frame(struct thread_state *st, u32 pid, u32 at, u64 end)
{
    if (st->depth > at + 1)
        unwind_to(st, pid, at + 1, end, SB_CALL_ABANDONED);
    pop(st, pid, end, 0);
}

static __always_inline void unmatched(struct thread_state *st, u32 pid, u32 region, u64 end)
{
    emit(st, pid, SB_HOT_UNMATCHED, 0, 0, region, 0, end);
}

static __always_inline void end_by_scope(struct thread_state *st, u32 pid, u64 scope, u64 end)
{
    u32 depth = st->depth;

    struct frame *top = frame_at(st, depth - 1);

    if (depth && top->identity == scope && top->region & BY_SCOPE) {
        st->over = 0;
        pop(st, pid, end, 0);
        return;
    }
    struct search s = { .st = st, .identity = scope, .depth = depth, .equal = NO_FRAME };
    if (depth)
        bpf_loop(SB_MAX_DEPTH, search_scope, &s, 0);
    if (s.equal != NO_FRAME) {
        st->over = 0;
        close_frame(st, pid, s.equal, end);
    } else if (st->over) {
        st->over--;
    } else if (!quiet_scope_ends) {
        unmatched(st, pid, SB_REGION_NONE, end);
    }
}

static __always_inline void end_by_name(struct thread_state *st, u32 pid, u32 region, u32 sp, u64 end)
{
    u32 depth = st->depth;
    struct frame *top = frame_at(st, depth - 1);

    if (depth && top->region == region && top->sp == sp) {
        st->over = 0;
        pop(st, pid, end, 0);
        return;
    }
    struct search s = { .st = st, .sp = sp, .region = region, .depth = depth,
                        .equal = NO_FRAME, .greater = NO_FRAME, .any = NO_FRAME };
    if (depth)
        bpf_loop(SB_MAX_DEPTH, search_name, &s, 0);
    if (s.equal == NO_FRAME && st->over) {
        st->over--; /* the end of a call that is too deep to be on the stack */
        return;
    }
    st->over = 0;
    u32 at = s.equal != NO_FRAME ? s.equal : s.greater != NO_FRAME ? s.greater : s.any;
    if (at != NO_FRAME)
        close_frame(st, pid, at, end);
    else
        unmatched(st, pid, region, end);
}

/* A begin that proves that an open call was left: that one and all above it are abandoned. */
static __always_inline void abandon_left(struct thread_state *st, u32 pid, struct search *s)
{
    u32 depth = st->depth;

    if (!depth || IS_DEEPER(s->sp, frame_at(st, depth - 1)->sp))
        return;
    if (s->region & BY_SCOPE)
        bpf_loop(SB_MAX_DEPTH, search_scope, s, 0);
    else
        bpf_loop(SB_MAX_DEPTH, search_site, s, 0);
    if (s->equal != NO_FRAME) {
        st->over = 0;
        unwind_to(st, pid, s->equal, bpf_ktime_get_ns(), SB_CALL_ABANDONED);
    }
}

/* identity: see struct frame; BY_SCOPE stands in `region`. */
static __always_inline void begin(struct thread_state *st, u32 pid, u32 region, u64 identity, u32 sp)
{
    struct search s = { .st = st, .identity = identity, .sp = sp, .region = region, .depth = st->depth,
                        .is_begin = 1, .equal = NO_FRAME };

    abandon_left(st, pid, &s);
    u32 depth = st->depth;
    if (depth >= SB_MAX_DEPTH) {
        st->over++;
        st->overflowed++;
        count_lost(pid, st->lane, region & ~BY_SCOPE, SB_LOST_DEPTH);
        return;
    }
    struct frame *f = frame_at(st, depth);
    f->region = region;
    f->identity = identity;
    f->sp = sp;
    st->depth = depth + 1;
    f->start = bpf_ktime_get_ns(); /* last, so that our own work is not in the region */
}

#endif
