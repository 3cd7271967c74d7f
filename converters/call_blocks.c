// SPDX-License-Identifier: GPL-2.0-only
#include "call_blocks.h"

#include "events.h"

#include <errno.h>

struct cursor {
    struct capture_in in;
    struct capture_calls state;
    uint64_t left;
    int64_t seq; /* expected next */
};

void call_blocks__init(struct call_blocks *b)
{
    *b = (struct call_blocks){0};
    column__init(&b->list, sizeof(struct call_block));
}

void call_blocks__deinit(struct call_blocks *b)
{
    column__deinit(&b->list);
}

static struct call_block *block_at(const struct call_blocks *b, uint64_t i)
{
    return (struct call_block *)b->list.data + i;
}

/* The number nearest to `near` that ends in these 32 bits. */
static int64_t unwrap(int64_t near, uint32_t seq)
{
    int64_t whole = near + (int32_t)(seq - (uint32_t)near);

    return whole < 0 ? seq : whole;
}

static bool plausible(const struct call_record *r)
{
    return r->seq >= 0 && r->region != SB_REGION_NONE && r->region < SB_MAX_REGIONS && r->start >= 0 &&
           r->end <= TIME_MAX;
}

/* 1: *ret is the next record; 0: no more; -EBADMSG: what follows cannot be understood. */
static int next_record(struct cursor *c, struct call_record *ret)
{
    uint32_t before = c->state.seq;
    struct capture_call call;

    if (!c->left)
        return 0;
    if (capture_calls__get(&c->state, &c->in, &call))
        return -EBADMSG;
    *ret = (struct call_record){
        .seq = c->seq + (int32_t)(call.seq - before),
        .start = call.start,
        .end = call.end,
        .region = call.region,
        .depth = call.depth,
        .flags = call.flags,
        .unmatched = call.unmatched,
    };
    if (!plausible(ret))
        return -EBADMSG;
    c->seq = ret->seq + 1;
    c->left--;
    return 1;
}

static void tell_lane(struct lane *lane, const struct call_record *r, bool hidden)
{
    if (hidden)
        return;
    if (r->unmatched) {
        if (r->start < lane->first_unmatched)
            lane->first_unmatched = r->start;
        return;
    }
    lane->calls++;
    if (r->flags & SB_CALL_INHERITED)
        lane->inherited++;
    else if (r->start < lane->min_start)
        lane->min_start = r->start;
    if (!(r->flags & SB_CALL_TRUNCATED) && r->end > lane->max_end)
        lane->max_end = r->end;
}

static void tell_block(struct call_block *at, const struct call_record *r)
{
    if (!at->n || r->seq < at->first_seq)
        at->first_seq = r->seq;
    if (at->n && r->seq <= at->last_seq)
        at->unsorted = true;
    if (!at->n || r->seq > at->last_seq)
        at->last_seq = r->seq;
    at->n++;
}

/* -EBADMSG: no lane, or not one record. */
static int open_block(struct cursor *c, struct capture_in in, uint64_t *ret_lane)
{
    *c = (struct cursor){.in = in};
    *ret_lane = capture_get_u(&c->in);
    c->left = capture_get_u(&c->in);
    c->state.seq = (uint32_t)capture_get_u(&c->in);
    return c->in.bad ? -EBADMSG : 0;
}

int call_blocks__survey(struct call_blocks *b, struct lanes *l, struct region_table *regions,
                        const struct capture_block *block)
{
    struct call_block at = {.offset = block->offset, .len = block->len};
    struct call_record r;
    struct cursor c;
    uint64_t id;
    int64_t lane;
    int code = open_block(&c, block->in, &id), more = 0;

    if (code)
        return code;
    lane = lanes__need(l, id);
    if (lane < 0)
        return (int)lane;
    at.lane = (uint32_t)lane;
    at.base = unwrap(lanes__at(l, at.lane)->last_seq + 1, c.state.seq);
    c.seq = at.base;
    while (!code && (more = next_record(&c, &r)) > 0) {
        tell_block(&at, &r);
        tell_lane(lanes__at(l, at.lane), &r, region_table__hidden(regions, r.region));
        code = region_table__use(regions, r.region);
        if (r.end > b->last_time)
            b->last_time = r.end;
    }
    b->records += at.n;
    if (more < 0) {
        b->bad++;
        b->bad_records += c.left < block->len ? c.left : 0;
    }
    if (code || !at.n)
        return code;
    lanes__at(l, at.lane)->last_seq = at.last_seq;
    return column__append_many(&b->list, &at, 1);
}

int call_blocks__survey_again(struct call_blocks *b, struct lanes *l, const struct region_table *regions,
                              struct capture_reader *r, struct err *err)
{
    for (uint64_t i = 0; i < l->list.n; i++) {
        struct lane *lane = lanes__at(l, i);

        lane->first_unmatched = lane->min_start = INT64_MAX;
        lane->max_end = -1;
        lane->calls = lane->inherited = 0;
    }
    for (uint64_t i = 0; i < b->list.n; i++) {
        const struct call_block *at = block_at(b, i);
        struct call_record record;
        struct capture_in in;
        struct cursor c;
        uint64_t id;
        int code = capture_reader__load(r, at->offset, at->len, &in, err);

        if (code)
            return code;
        if (open_block(&c, in, &id))
            continue;
        c.seq = at->base;
        while (next_record(&c, &record) > 0)
            tell_lane(lanes__at(l, at->lane), &record, region_table__hidden(regions, record.region));
    }
    return 0;
}

int call_blocks__use(const struct call_blocks *b, const struct lanes *l, const struct images *im,
                     struct region_table *regions, struct capture_reader *r, struct err *err)
{
    for (uint64_t i = 0; i < b->list.n; i++) {
        const struct call_block *at = block_at(b, i);
        struct call_record record;
        struct capture_in in;
        struct cursor c;
        uint64_t id;
        int code;

        if (lanes__is_filtered(l, im, lanes__at(l, at->lane)->id))
            continue;
        code = capture_reader__load(r, at->offset, at->len, &in, err);
        if (code)
            return code;
        if (open_block(&c, in, &id))
            continue;
        c.seq = at->base;
        while (next_record(&c, &record) > 0)
            region_table__use(regions, record.region);
    }
    return 0;
}

static int by_lane_and_seq(const void *a, const void *b, void *arg)
{
    const struct call_block *x = a, *y = b;

    (void)arg;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->first_seq != y->first_seq)
        return x->first_seq < y->first_seq ? -1 : 1;
    return x->last_seq < y->last_seq ? -1 : x->last_seq > y->last_seq;
}

int call_blocks__index(struct call_blocks *b, struct lanes *l)
{
    int64_t furthest = -1;
    int code = column__sort(&b->list, by_lane_and_seq, NULL);

    for (uint64_t i = 0; !code && i < b->list.n; i++) {
        struct call_block *at = block_at(b, i);
        struct lane *lane = lanes__at(l, at->lane);

        if (!lane->n_blocks++) {
            lane->first_block = i;
            furthest = -1;
        }
        at->alone = at->first_seq > furthest;
        if (at->last_seq > furthest)
            furthest = at->last_seq;
    }
    return code;
}

static int decode(const struct call_block *at, struct capture_reader *r, struct call_record *to,
                  uint64_t *ret_n, struct err *err)
{
    struct capture_in in;
    struct cursor c;
    uint64_t id;
    int code = capture_reader__load(r, at->offset, at->len, &in, err);

    *ret_n = 0;
    if (code)
        return code;
    if (open_block(&c, in, &id))
        return 0;
    c.seq = at->base;
    while (*ret_n < at->n && next_record(&c, to + *ret_n) > 0)
        ++*ret_n;
    return 0;
}

static int by_seq(const void *a, const void *b, void *arg)
{
    const struct call_record *x = a, *y = b;

    (void)arg;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Sorting takes the whole column, so it gets one that is cut to what there is. */
static int sort_records(struct column *records, uint64_t n)
{
    struct column part = *records;

    part.n = n;
    return column__sort(&part, by_seq, NULL);
}

int call_blocks__load(const struct call_blocks *b, const struct lane *lane, int64_t last,
                      struct capture_reader *r, struct column *records, uint64_t *ret_n, int64_t *ret_next,
                      struct err *err)
{
    int64_t first = last;
    uint64_t n = 0, got;
    bool unsorted = false;
    int code = 0;

    while (first > (int64_t)lane->first_block && !block_at(b, (uint64_t)first)->alone)
        first--;
    for (int64_t i = first; i <= last; i++)
        n += block_at(b, (uint64_t)i)->n;
    if (n > records->n && (code = column__extend(records, n)))
        return err__set(err, -code, "no room for %llu calls in temporary files", (unsigned long long)n);
    n = 0;
    for (int64_t i = first; !code && i <= last; i++) {
        code = decode(block_at(b, (uint64_t)i), r, (struct call_record *)records->data + n, &got, err);
        unsorted |= block_at(b, (uint64_t)i)->unsorted;
        n += got;
    }
    if (!code && (unsorted || first < last) && (code = sort_records(records, n)))
        err__set(err, -code, "no room to sort %llu calls in temporary files", (unsigned long long)n);
    *ret_n = n;
    *ret_next = first - 1;
    return code;
}
