// SPDX-License-Identifier: GPL-2.0-only
#include "lanes.h"

#include "capture_text.h"
#include "events.h"

#include <errno.h>
#include <string.h>

#define LONGEST_NAME 255

void lanes__init(struct lanes *l)
{
    column__init(&l->list, sizeof(struct lane));
    column__init(&l->in_order, sizeof(uint32_t));
    idmap__init(&l->by_id);
}

void lanes__deinit(struct lanes *l)
{
    column__deinit(&l->list);
    column__deinit(&l->in_order);
    idmap__deinit(&l->by_id);
}

uint32_t lanes__find(const struct lanes *l, uint64_t id)
{
    return idmap__get(&l->by_id, id);
}

bool lanes__is_filtered(const struct lanes *l, const struct images *im, uint64_t id)
{
    uint32_t i = id ? lanes__find(l, id) : LANE_NONE;

    return i != LANE_NONE && images__is_filtered(im, lanes__at(l, i)->image);
}

int64_t lanes__need(struct lanes *l, uint64_t id)
{
    uint32_t found = lanes__find(l, id);
    struct lane *lane;
    int code;

    if (found != LANE_NONE)
        return found;
    if (l->list.n >= LANE_NONE - 1)
        return -ENOMEM;
    code = idmap__put(&l->by_id, id, (uint32_t)l->list.n);
    if (code)
        return code;
    lane = column__append(&l->list);
    if (!lane)
        return -ENOMEM;
    *lane = (struct lane){
        .id = id,
        .image = IMAGE_NONE,
        .end = -1,
        .cpu_ns = -1,
        .last_seq = -1,
        .first_unmatched = INT64_MAX,
        .min_start = INT64_MAX,
        .max_end = -1,
        .rank = -1,
        .thread = -1,
    };
    return (int64_t)l->list.n - 1;
}

int lanes__read(struct lanes *l, struct images *im, struct profile *p, struct capture_in *in)
{
    uint64_t id = capture_get_u(in), image = capture_get_u(in), tid = capture_get_u(in), flags;
    int64_t start, time, at, of;
    struct lane *lane;
    struct text name;

    capture_get_u(in); /* the tid in its namespace: nothing shows it */
    start = capture_get_s(in);
    time = capture_get_s(in);
    flags = capture_get_u(in);
    name = capture_text(p, in, LONGEST_NAME);
    if (in->bad || tid > INT32_MAX || start < 0 || start > TIME_MAX || time < 0 || time > TIME_MAX)
        return -EBADMSG;
    of = images__need(im, image);
    at = lanes__need(l, id);
    if (of < 0 || at < 0 || !name.s)
        return -ENOMEM;
    lane = lanes__at(l, (uint64_t)at);
    if (lane->known)
        return 0;
    lane->known = true;
    lane->image = (uint32_t)of;
    lane->tid = (int64_t)tid;
    lane->start = start;
    lane->first_time = time;
    lane->forked = flags & SB_LANE_FORKED;
    lane->name = name;
    return 0;
}

int lanes__read_end(struct lanes *l, struct profile *p, struct capture_in *in)
{
    uint64_t id = capture_get_u(in), records, why, too_deep;
    int64_t end = capture_get_s(in), cpu = capture_get_s(in), at;
    struct lane *lane;
    struct text name;

    records = capture_get_u(in);
    why = capture_get_u(in);
    too_deep = capture_get_u(in);
    name = capture_text(p, in, LONGEST_NAME);
    if (in->bad || end < 0 || end > TIME_MAX)
        return -EBADMSG;
    at = lanes__need(l, id);
    if (at < 0 || !name.s)
        return -ENOMEM;
    lane = lanes__at(l, (uint64_t)at);
    if (!why) { /* the exact CPU time, late: nothing else counts */
        lane->cpu_ns = cpu < 0 ? lane->cpu_ns : cpu;
        return 0;
    }
    lane->ended = true;
    lane->detached = why == SB_END_DETACH;
    lane->end = end;
    lane->cpu_ns = cpu < 0 ? -1 : cpu;
    lane->records = records;
    lane->too_deep = too_deep;
    lane->last_name = name;
    return 0;
}

/* Calls of a thread that nobody described belong to a process that nobody described. */
static int adopt(struct lanes *l, struct images *im)
{
    for (uint64_t i = 0; i < l->list.n; i++) {
        int64_t image = lanes__at(l, i)->known ? 0 : images__need(im, 0);

        if (image < 0)
            return (int)image;
        if (!lanes__at(l, i)->known)
            lanes__at(l, i)->image = (uint32_t)image;
    }
    return 0;
}

static void tell_image(const struct lane *lane, struct image *image)
{
    int64_t own = lane->min_start;

    if (image->filtered)
        return;
    /* An end alone in a forked lane may close what its parent had open above the limit: no region of its own.
     */
    if (!lane->forked && lane->first_unmatched < own)
        own = lane->first_unmatched;
    /* All of it was lost, yet it ran regions. */
    if (own == INT64_MAX && lane->last_seq < 0 && !lane->forked && lane->ended && lane->records)
        own = lane->first_time;
    if (own < image->own_time)
        image->own_time = own;
    image->calls += lane->calls;
    if (image->known)
        return;
    if (!image->time || lanes__start(lane) < image->time)
        image->process_start = image->time = lanes__start(lane);
}

int lanes__tell_images(struct lanes *l, struct images *im)
{
    int code = adopt(l, im);

    for (uint64_t i = 0; !code && i < l->list.n; i++)
        tell_image(lanes__at(l, i), images__at(im, lanes__at(l, i)->image));
    return code;
}

int64_t lanes__start(const struct lane *lane)
{
    if (lane->known && lane->start < lane->min_start)
        return lane->start;
    return lane->min_start == INT64_MAX ? 0 : lane->min_start;
}

static int by_rank_and_start(const void *a, const void *b, void *arg)
{
    const struct lanes *l = arg;
    const struct lane *x = lanes__at(l, *(const uint32_t *)a), *y = lanes__at(l, *(const uint32_t *)b);

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (lanes__start(x) != lanes__start(y))
        return lanes__start(x) < lanes__start(y) ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int order(struct lanes *l)
{
    for (uint64_t i = 0; i < l->list.n; i++) {
        uint32_t *to = lanes__at(l, i)->rank >= 0 ? column__append(&l->in_order) : NULL;

        if (to)
            *to = (uint32_t)i;
        else if (lanes__at(l, i)->rank >= 0)
            return -ENOMEM;
    }
    return column__sort(&l->in_order, by_rank_and_start, l);
}

/* The end that is known best, -1: it went on when recording ended. */
static int64_t end_of(const struct lane *lane, const struct image *image)
{
    int64_t end = lane->ended ? lane->end : image->end;

    if (lane->detached || end < 0)
        return -1;
    return lane->max_end > end ? lane->max_end : end;
}

static struct thread_row describe(const struct lane *lane, const struct image *image, int64_t origin)
{
    int64_t start = lanes__start(lane), end = end_of(lane, image);

    return (struct thread_row){
        .index = lane->thread,
        .ident = (int64_t)(lane->id & INT64_MAX),
        .native_id = lane->tid,
        .start_ns = start > origin ? start - origin : 0,
        .end_ns = end < 0        ? -1
                  : end > origin ? end - origin
                                 : 0,
        .cpu_ns = lane->cpu_ns,
        .name = lane->last_name.len ? lane->last_name
                : lane->name.s      ? lane->name
                                    : image->comm,
    };
}

static int fill_rank(struct lanes *l, const struct images *im, struct profile *p, uint64_t from, uint64_t to,
                     int64_t origin)
{
    const uint32_t *in_order = l->in_order.data;
    struct rank *rank = &p->ranks[lanes__at(l, in_order[from])->rank];

    rank->threads = profile__alloc(p, to - from, sizeof(*rank->threads));
    if (!rank->threads)
        return -ENOMEM;
    rank->n_threads = (uint32_t)(to - from);
    for (uint64_t i = from; i < to; i++) {
        struct lane *lane = lanes__at(l, in_order[i]);

        lane->thread = (int64_t)(i - from);
        rank->threads[i - from] = describe(lane, images__at(im, lane->image), origin);
        rank->depth_overflow += lane->too_deep;
    }
    return 0;
}

int lanes__fill_threads(struct lanes *l, const struct images *im, struct profile *p, int64_t origin)
{
    int code = order(l);

    for (uint64_t from = 0, to; !code && from < l->in_order.n; from = to) {
        const uint32_t *in_order = l->in_order.data;

        for (to = from + 1; to < l->in_order.n; to++)
            if (lanes__at(l, in_order[to])->rank != lanes__at(l, in_order[from])->rank)
                break;
        code = fill_rank(l, im, p, from, to, origin);
    }
    return code;
}

static uint64_t first_not_below(const struct lanes *l, int32_t rank)
{
    const uint32_t *in_order = l->in_order.data;
    uint64_t low = 0, high = l->in_order.n;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (lanes__at(l, in_order[middle])->rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void lanes__of_rank(const struct lanes *l, int32_t rank, uint64_t *ret_from, uint64_t *ret_to)
{
    *ret_from = first_not_below(l, rank);
    *ret_to = first_not_below(l, rank + 1);
}
