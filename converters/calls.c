// SPDX-License-Identifier: GPL-2.0-only
#include "calls.h"

#include <errno.h>
#include <string.h>

struct filling {
    const struct calls_input *in;
    struct profile *p;
    struct nesting nesting;
    struct column records; /* struct call_record: room for the largest piece that is read at once */
    struct column runs;    /* struct lane_run of the rank */
    uint64_t done;
};

static void tell(void *arg, uint64_t calls)
{
    struct filling *f = arg;

    f->done += calls;
    if (f->in->tell)
        f->in->tell(f->in->arg, f->done);
}

static int no_room(int code, struct err *err)
{
    if (code == -ENOMEM)
        return err__set(err, ENOMEM, "out of memory while calls are put in order");
    return err__set(err, -code, "no room for calls in temporary files (set TMPDIR to a larger disk): %s",
                    strerror(-code));
}

static int read_lane(struct filling *f, struct lane *lane, struct err *err)
{
    struct nesting *n = &f->nesting;
    int64_t at = (int64_t)(lane->first_block + lane->n_blocks) - 1;
    uint64_t got = 0;
    int code = 0;

    nesting__begin_lane(n, lane);
    while (lane->n_blocks && at >= (int64_t)lane->first_block) {
        code = call_blocks__load(f->in->blocks, lane, at, f->in->reader, &f->records, &got, &at, err);
        if (code)
            return code;
        for (uint64_t i = got; !code && i-- > 0;)
            code = nesting__record(n, (const struct call_record *)f->records.data + i);
        if (code)
            return no_room(code, err);
        tell(f, got);
    }
    code = nesting__end_lane(n);
    lane->missing = n->missing;
    lane->unmatched = n->unmatched;
    return code ? no_room(code, err) : 0;
}

static int read_rank(struct filling *f, uint64_t from, uint64_t to, struct err *err)
{
    const uint32_t *in_order = f->in->lanes->in_order.data;
    int code = nesting__begin_rank(&f->nesting);

    if (!code)
        code = column__resize(&f->runs, to - from);
    if (code)
        return no_room(code, err);
    for (uint64_t i = from; i < to; i++) {
        struct lane *lane = lanes__at(f->in->lanes, in_order[i]);
        struct lane_run *run = (struct lane_run *)f->runs.data + (i - from);

        run->from = f->nesting.found.n;
        code = read_lane(f, lane, err);
        if (code)
            return code;
        run->to = f->nesting.found.n;
        run->thread = lane->thread;
        run->ticks = hidden_ticks__of_lane(f->in->ticks, in_order[i], &run->n_ticks);
    }
    return 0;
}

static int fill_rank(struct filling *f, uint32_t rank, struct err *err)
{
    struct order_progress progress = {tell, f};
    uint64_t from, to;
    int code;

    lanes__of_rank(f->in->lanes, (int32_t)rank, &from, &to);
    code = read_rank(f, from, to, err);
    if (code)
        return code;
    code = call_order__place(f->p, rank, &f->nesting, f->runs.data, to - from, f->in->regions, &progress);
    return code ? no_room(code, err) : 0;
}

int calls__fill(const struct calls_input *in, struct profile *p, struct calls_result *ret, struct err *err)
{
    struct filling f = {.in = in, .p = p};
    int code = nesting__init(&f.nesting, in->regions, p->n_regions);

    column__init(&f.records, sizeof(struct call_record));
    column__init(&f.runs, sizeof(struct lane_run));
    if (code)
        no_room(code, err);
    for (uint32_t i = 0; !code && i < p->n_ranks; i++)
        code = fill_rank(&f, i, err);
    *ret = (struct calls_result){
        f.nesting.overlapping,
        f.nesting.abandoned,
        f.nesting.doubles,
        f.nesting.bent,
    };
    nesting__deinit(&f.nesting);
    column__deinit(&f.records);
    column__deinit(&f.runs);
    return code;
}
