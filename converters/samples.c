// SPDX-License-Identifier: GPL-2.0-only
#include "samples.h"

#include "events.h"

#include <errno.h>
#include <string.h>

struct place {
    uint64_t offset;
    uint32_t len, pad;
};

struct tick {
    int64_t time, pid;
    uint64_t lane, address;
    uint32_t region, flags;
};

struct cursor {
    struct capture_in in;
    int64_t time;
    uint64_t address;
};

void samples__init(struct samples *s)
{
    *s = (struct samples){0};
    column__init(&s->blocks, sizeof(struct place));
    hidden_ticks__init(&s->hidden);
}

void samples__deinit(struct samples *s)
{
    column__deinit(&s->blocks);
    hidden_ticks__deinit(&s->hidden);
}

static struct cursor open_block(struct capture_in in)
{
    struct cursor c = {.in = in};

    c.time = capture_get_s(&c.in);
    return c;
}

/* 1: *ret is the next tick; 0: no more; -EBADMSG. */
static int next_tick(struct cursor *c, struct tick *ret)
{
    uint64_t flags, pid, lane, region;

    if (!c->in.bad && c->in.at == c->in.end)
        return 0;
    c->time = (int64_t)((uint64_t)c->time + (uint64_t)capture_get_s(&c->in));
    flags = capture_get_u(&c->in);
    pid = capture_get_u(&c->in);
    lane = capture_get_u(&c->in);
    region = capture_get_u(&c->in);
    c->address += (uint64_t)capture_get_s(&c->in);
    if (c->in.bad || pid > INT32_MAX || region >= SB_MAX_REGIONS || c->time < 0 || c->time > TIME_MAX)
        return -EBADMSG;
    *ret = (struct tick){c->time, (int64_t)pid, lane, c->address, (uint32_t)region, (uint32_t)flags};
    return 1;
}

int samples__survey(struct samples *s, struct region_table *regions, const struct capture_block *block)
{
    struct place place = {.offset = block->offset, .len = block->len};
    struct cursor c = open_block(block->in);
    struct tick tick;
    int more, code = 0;

    while (!code && (more = next_tick(&c, &tick)) > 0) {
        if (tick.region != SB_REGION_NONE)
            code = region_table__use(regions, tick.region);
        if (tick.time > s->last_time)
            s->last_time = tick.time;
        s->n++;
    }
    if (!code)
        code = column__append_many(&s->blocks, &place, 1);
    return code ? code : more;
}

int samples__use(const struct samples *s, const struct lanes *lanes, const struct images *im,
                 struct region_table *regions, struct capture_reader *r, struct err *err)
{
    for (uint64_t i = 0; i < s->blocks.n; i++) {
        const struct place *place = (const struct place *)s->blocks.data + i;
        struct capture_in in;
        struct cursor c;
        struct tick tick;
        int code = capture_reader__load(r, place->offset, place->len, &in, err);

        if (code)
            return code;
        for (c = open_block(in); next_tick(&c, &tick) > 0;)
            if (tick.region != SB_REGION_NONE && !lanes__is_filtered(lanes, im, tick.lane))
                region_table__use(regions, tick.region);
    }
    return 0;
}

static int no_room(int code, struct err *err)
{
    return err__set(err, -code, "no room for samples in memory or temporary files: %s", strerror(-code));
}

static int add_hidden(struct samples *s, const struct lanes *lanes, const struct region_table *regions,
                      struct capture_in in)
{
    struct cursor c = open_block(in);
    struct tick tick;
    int code = 0;

    while (!code && next_tick(&c, &tick) > 0) {
        bool hidden = tick.lane && region_table__hidden(regions, tick.region);
        uint32_t lane = hidden ? lanes__find(lanes, tick.lane) : LANE_NONE;

        if (lane != LANE_NONE)
            code = hidden_ticks__add(&s->hidden, lane, tick.time);
    }
    return code;
}

int samples__find_hidden(struct samples *s, const struct lanes *lanes, const struct region_table *regions,
                         struct capture_reader *r, struct err *err)
{
    int code = 0;

    for (uint64_t i = 0; regions->any_hidden && i < s->blocks.n; i++) {
        const struct place *place = (const struct place *)s->blocks.data + i;
        struct capture_in in;

        code = capture_reader__load(r, place->offset, place->len, &in, err);
        if (code)
            return code;
        code = add_hidden(s, lanes, regions, in);
        if (code)
            return no_room(code, err);
    }
    code = hidden_ticks__sort(&s->hidden);
    return code ? no_room(code, err) : 0;
}

struct filling {
    struct images *im;
    const struct lanes *lanes;
    const struct ranks *ranks;
    struct modules *modules;
    const struct region_table *regions;
    struct profile *p;
};

/* The thread says which image it was; else the time does. */
static uint32_t image_of(const struct filling *f, const struct tick *tick, uint32_t lane)
{
    if (lane != LANE_NONE && lanes__at(f->lanes, lane)->known)
        return lanes__at(f->lanes, lane)->image;
    return images__at_time(f->im, tick->pid, tick->time);
}

static int put(const struct filling *f, const struct tick *tick, int32_t region, uint32_t lane,
               uint32_t image, uint32_t rank)
{
    int64_t module = modules__find(f->modules, f->im, image, tick->address, tick->time, f->p, rank);
    struct sample *to;

    if (module < -1)
        return (int)module;
    to = column__append(&f->p->ranks[rank].samples);
    if (!to)
        return -ENOSPC;
    *to = (struct sample){
        .time = tick->time,
        .address = tick->address,
        .region = region,
        .module = (int32_t)module,
        .thread = lane == LANE_NONE || lanes__at(f->lanes, lane)->rank != (int32_t)rank
                      ? -1
                      : (int32_t)lanes__at(f->lanes, lane)->thread,
        .flags = tick->flags,
    };
    f->p->ranks[rank].ticks++;
    return 0;
}

static int take_tick(struct samples *s, const struct filling *f, const struct tick *tick)
{
    uint32_t lane = tick->lane ? lanes__find(f->lanes, tick->lane) : LANE_NONE;
    uint32_t image = image_of(f, tick, lane);
    int32_t rank, region = region_table__index(f->regions, tick->region);

    if (lane != LANE_NONE && region_table__hidden(f->regions, tick->region))
        region = hidden_ticks__region(&s->hidden, lane, tick->time);
    if (image == IMAGE_NONE) {
        s->nowhere++;
        return 0;
    }
    if (images__is_filtered(f->im, image))
        return 0;
    images__at(f->im, image)->samples++;
    if (region < 0)
        images__at(f->im, image)->samples_outside++;
    rank = ranks__of_image(f->ranks, f->im, image);
    return rank < 0 ? 0 : put(f, tick, region, lane, image, (uint32_t)rank);
}

static int take_block(struct samples *s, const struct filling *f, struct capture_in in, struct err *err)
{
    struct cursor c = open_block(in);
    struct tick tick;
    int code = 0;

    while (!code && next_tick(&c, &tick) > 0)
        code = take_tick(s, f, &tick);
    return code ? no_room(code, err) : 0;
}

static int fill_modules(const struct filling *f)
{
    int code = 0;

    for (uint32_t i = 0; !code && i < f->im->list.n; i++) {
        int32_t rank = ranks__of_image(f->ranks, f->im, i);

        if (rank >= 0)
            code = modules__fill_rank(f->modules, f->im, i, f->p, (uint32_t)rank);
    }
    return code;
}

int samples__fill(struct samples *s, struct images *im, const struct lanes *lanes, const struct ranks *ranks,
                  struct modules *modules, const struct region_table *regions, struct profile *p,
                  struct capture_reader *r, struct err *err)
{
    struct filling f = {im, lanes, ranks, modules, regions, p};
    uint64_t hz = capture_reader__head(r)->hz;
    int code = fill_modules(&f);

    if (code)
        return err__set(err, -code, "out of memory");
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        p->ranks[i].hz = hz > INT32_MAX ? INT32_MAX : (int32_t)hz;
        p->ranks[i].ticks = hz || s->n ? 0 : -1;
    }
    for (uint64_t i = 0; !code && i < s->blocks.n; i++) {
        const struct place *place = (const struct place *)s->blocks.data + i;
        struct capture_in in;

        code = capture_reader__load(r, place->offset, place->len, &in, err);
        if (!code)
            code = take_block(s, &f, in, err);
    }
    return code;
}
