// SPDX-License-Identifier: GPL-2.0-only
#include "nesting.h"

#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct waiting_end {
    int64_t time;
    uint32_t region;
    uint32_t older; /* of the same region, + 1 */
};

int nesting__init(struct nesting *n, const struct region_table *regions, uint32_t n_regions)
{
    int code;

    *n = (struct nesting){.regions = regions};
    column__init(&n->found, sizeof(struct found_call));
    column__init(&n->counts, sizeof(uint64_t));
    column__init(&n->waiting, sizeof(struct waiting_end));
    column__init(&n->newest, sizeof(uint32_t));
    code = column__resize(&n->counts, n_regions);
    return code ? code : column__resize(&n->newest, n_regions);
}

void nesting__deinit(struct nesting *n)
{
    column__deinit(&n->found);
    column__deinit(&n->counts);
    column__deinit(&n->waiting);
    column__deinit(&n->newest);
    free(n->stack);
    n->stack = NULL;
}

int nesting__begin_rank(struct nesting *n)
{
    if (n->counts.n)
        memset(n->counts.data, 0, n->counts.n * sizeof(uint64_t));
    return column__resize(&n->found, 0);
}

void nesting__begin_lane(struct nesting *n, const struct lane *lane)
{
    n->lane = lane;
    n->n = 0;
    n->low_seq = -1;
    n->last_start = INT64_MAX;
    n->missing = n->unmatched = 0;
}

static uint32_t *newest_of(struct nesting *n, int32_t region)
{
    return (uint32_t *)n->newest.data + region;
}

static int wait_for_begin(struct nesting *n, int32_t region, int64_t time)
{
    struct waiting_end *w;

    if (n->waiting.n == UINT32_MAX - 1)
        return -ENOSPC;
    w = column__append(&n->waiting);
    if (!w)
        return -ENOSPC;
    *w = (struct waiting_end){.time = time, .region = (uint32_t)region, .older = *newest_of(n, region)};
    *newest_of(n, region) = (uint32_t)n->waiting.n;
    return 0;
}

/* Calls of the region around this one took their ends before it was met: they pass them inwards. */
static void inner_ends_first(struct nesting *n, struct open_call *call)
{
    for (uint32_t i = n->n; i-- > 0;) {
        struct open_call *outer = &n->stack[i];
        int64_t end = outer->shown_end;

        if (outer->region != call->region || !(outer->flags & SB_CALL_OVERLAPPING))
            continue;
        outer->shown_end = call->shown_end;
        call->shown_end = end;
        call = outer;
    }
}

/*
 * BEGIN a, BEGIN b, END a, END b: b was abandoned at the end of a, and its own end came later and found
 * nothing. Among several the ends and the begins pair up from the inside out, as brackets do.
 */
static void join_with_end(struct nesting *n, struct open_call *call)
{
    uint32_t *newest = newest_of(n, call->region);
    const struct waiting_end *w;

    if (!*newest)
        return;
    w = (const struct waiting_end *)n->waiting.data + *newest - 1;
    if (w->time < call->end)
        return;
    call->shown_end = w->time;
    inner_ends_first(n, call);
    call->flags = (uint8_t)((call->flags & ~SB_CALL_ABANDONED) | SB_CALL_OVERLAPPING);
    *newest = w->older;
    n->unmatched--;
    n->overlapping++;
}

static void add_time(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = INT64_MAX;
}

/* What a hidden call called belongs to the visible call around it. */
static void give_to_parent(const struct open_call *call, struct open_call *parent)
{
    add_time(&parent->children, call->region < 0 ? call->children : call->end - call->start);
    if (call->region < 0)
        parent->uncertain |= call->uncertain;
}

static int64_t exclusive_of(const struct open_call *call)
{
    int64_t own = call->end - call->start - call->children;

    if (call->uncertain || call->flags & SB_CALL_OVERLAPPING)
        return -1;
    return own > 0 ? own : 0;
}

/* Of the nearest call around the one that just left the stack; hidden ones are looked through. */
static uint16_t parent_depth(const struct nesting *n, uint16_t depth)
{
    for (uint32_t i = n->n; i-- > 0;)
        if (n->stack[i].region >= 0)
            return n->stack[i].depth;
    return depth;
}

static int leave(struct nesting *n)
{
    struct open_call *call = &n->stack[--n->n];
    struct found_call *to;

    if (n->n)
        give_to_parent(call, call - 1);
    if (call->region < 0)
        return 0;
    to = column__append(&n->found);
    if (!to)
        return -ENOSPC;
    if (call->start > n->last_start) {
        call->start = n->last_start;
        n->bent++;
    }
    n->last_start = call->start;
    *to = (struct found_call){
        .start = call->start,
        .end = call->shown_end,
        .exclusive = exclusive_of(call),
        .region = (uint32_t)call->region,
        .flags = call->flags,
        .depth = call->depth,
        .parent_depth = parent_depth(n, call->depth),
    };
    ((uint64_t *)n->counts.data)[call->region]++;
    n->abandoned += call->flags & SB_CALL_ABANDONED;
    return 0;
}

static struct open_call *enter(struct nesting *n)
{
    if (n->n == n->cap) {
        uint32_t cap = n->cap ? n->cap * 2 : 64;
        struct open_call *stack = reallocarray(n->stack, cap, sizeof(*stack));

        if (!stack)
            return NULL;
        n->stack = stack;
        n->cap = cap;
    }
    return &n->stack[n->n++];
}

/*
 * Records are missing between one that ended at `time` and the one read before it.  A missing call may have
 * been inside any call that was open then: inside the innermost that was open at `time` already, or inside
 * those that it called since.  What is further out had that one as its direct child all along.
 */
static void doubt_around(struct nesting *n, int64_t time)
{
    for (uint32_t i = n->n; i-- > 0;) {
        n->stack[i].uncertain = true;
        if (n->stack[i].start <= time)
            break;
    }
}

static bool next_in_order(struct nesting *n, const struct call_record *r)
{
    int64_t gap;

    if (n->low_seq >= 0 && r->seq >= n->low_seq) {
        n->doubles++;
        return false;
    }
    if (n->low_seq >= 0) {
        gap = n->low_seq - r->seq - 1;
        if (gap)
            doubt_around(n, r->end);
    } else {
        /* records of the lane: 32 bits, or all of it */
        gap = n->lane->ended ? (int64_t)(int32_t)((uint32_t)n->lane->records - (uint32_t)(r->seq + 1)) : 0;
    }
    if (gap > 0)
        n->missing += (uint64_t)gap;
    n->low_seq = r->seq;
    return true;
}

/* A call never begins before its lane where it was inherited, nor ends after it where its end is the lane's.
 */
static struct open_call within_lane(const struct lane *lane, const struct call_record *r)
{
    struct open_call call = {.start = r->start, .end = r->end, .depth = r->depth, .flags = r->flags};

    if (r->flags & SB_CALL_INHERITED && lane->known && call.start < lanes__start(lane))
        call.start = lanes__start(lane);
    if (r->flags & SB_CALL_TRUNCATED && lane->ended && !lane->detached && call.end > lane->end)
        call.end = lane->end;
    if (call.end < call.start)
        call.end = call.start;
    call.shown_end = call.end;
    call.uncertain = r->flags & SB_CALL_UNCERTAIN;
    return call;
}

int nesting__record(struct nesting *n, const struct call_record *r)
{
    int32_t region = region_table__index(n->regions, r->region);
    struct open_call call, *to;
    int code = 0;

    if (!next_in_order(n, r))
        return 0;
    if (r->unmatched && region >= 0) {
        n->unmatched++;
        return wait_for_begin(n, region, r->end);
    }
    if (r->unmatched)
        return 0;
    call = within_lane(n->lane, r);
    call.region = region;
    while (!code && n->n && (n->stack[n->n - 1].depth >= call.depth || n->stack[n->n - 1].start > call.start))
        code = leave(n);
    if (code)
        return code;
    if (region >= 0 && call.flags & SB_CALL_ABANDONED)
        join_with_end(n, &call);
    to = enter(n);
    if (!to)
        return -ENOMEM;
    *to = call;
    return 0;
}

/* What was lost before the first record of a lane may have been inside any of the calls that are open there.
 */
static void doubt_beginning(struct nesting *n)
{
    if (n->low_seq < 0 && n->lane->ended)
        n->missing = n->lane->records;
    if (n->low_seq <= 0)
        return;
    n->missing += (uint64_t)n->low_seq;
    doubt_around(n, -1);
}

int nesting__end_lane(struct nesting *n)
{
    int code = 0;

    doubt_beginning(n);
    while (!code && n->n)
        code = leave(n);
    for (uint64_t i = 0; i < n->waiting.n; i++)
        *newest_of(n, (int32_t)((const struct waiting_end *)n->waiting.data)[i].region) = 0;
    return code ? code : column__resize(&n->waiting, 0);
}
