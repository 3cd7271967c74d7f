/* SPDX-License-Identifier: GPL-2.0-only */
#include "drain.h"

#include "number_table.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PASS_RECORDS (4u << 20) /* then the cold ring gets its turn */
#define LANE_BATCH 16384        /* records of one block */

struct lane_batch {
    uint32_t lane;
    size_t n, cap;
    struct sb_call *calls;
};

/* What a full disk swallowed, by lane and region; beyond the table by region 0. */
struct dropped {
    uint32_t lane, region;
    uint64_t calls, samples;
};
#define DROPPED_MAX 4096

struct drain {
    struct region_ids *ids;
    struct capture_writer *writer;
    struct ring_buffer *rings;
    struct number_table lanes; /* → struct lane_batch, those with records of this pass */
    struct lane_batch **batches;
    size_t n_batches, cap_batches;
    size_t waiting;
    uint32_t in_pass;
    struct capture_buf payload, body, samples;
    int64_t sample_time;
    uint64_t sample_ip;
    struct dropped dropped[DROPPED_MAX];
    size_t n_dropped;
    struct drain_totals totals;
};

static struct lane_batch *batch_of(struct drain *d, uint32_t lane)
{
    struct lane_batch *b = number_table__get(&d->lanes, lane);
    if (b)
        return b;
    if (d->n_batches == d->cap_batches) {
        size_t cap = d->cap_batches ? 2 * d->cap_batches : 64;
        struct lane_batch **batches = realloc(d->batches, cap * sizeof(struct lane_batch *));
        if (!batches)
            return NULL;
        d->batches = batches;
        d->cap_batches = cap;
    }
    b = calloc(1, sizeof(*b));
    if (!b || number_table__put(&d->lanes, lane, b)) {
        free(b);
        return NULL;
    }
    b->lane = lane;
    d->batches[d->n_batches++] = b;
    return b;
}

static int compare_seq(const void *a, const void *b)
{
    const struct sb_call *x = a, *y = b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static bool in_order(const struct lane_batch *b)
{
    for (size_t i = 1; i < b->n; i++)
        if (b->calls[i].seq < b->calls[i - 1].seq)
            return false;
    return true;
}

/* Calls of one lane that a CPU change spread over two rings come together again here, by their number. */
static void write_lane(struct drain *d, struct lane_batch *b)
{
    if (!b->n)
        return;
    if (!in_order(b))
        qsort(b->calls, b->n, sizeof(*b->calls), compare_seq);
    struct capture_calls state = { .seq = b->calls[0].seq };
    struct capture_buf *body = &d->body, *p = &d->payload;
    size_t kept = 0;

    capture_buf__reset(body);
    for (size_t i = 0; i < b->n; i++) {
        const struct sb_call *c = &b->calls[i];
        struct capture_call call = { .seq = c->seq, .region = c->region, .depth = c->depth, .flags = c->flags,
                                     .unmatched = c->type == SB_HOT_UNMATCHED,
                                     .start = (int64_t)(c->type == SB_HOT_UNMATCHED ? c->end : c->start),
                                     .end = (int64_t)c->end };
        capture_calls__put(&state, body, &call);
        kept++;
    }
    capture_buf__reset(p);
    capture_put_u(p, b->lane);
    capture_put_u(p, kept);
    capture_put_u(p, b->calls[0].seq);
    capture_buf__reserve(p, body->len);
    if (!p->failed && !body->failed) {
        memcpy(p->data + p->len, body->data, body->len);
        p->len += body->len;
        capture_writer__put(d->writer, CAPTURE_CALLS, p->data, p->len);
    }
    d->waiting -= b->n;
    b->n = 0;
}

static void flush_samples(struct drain *d)
{
    if (d->samples.len && !d->samples.failed)
        capture_writer__put(d->writer, CAPTURE_SAMPLES, d->samples.data, d->samples.len);
    capture_buf__reset(&d->samples);
}

static void flush_lanes(struct drain *d)
{
    for (size_t i = 0; i < d->n_batches; i++) {
        struct lane_batch *b = d->batches[i];
        write_lane(d, b);
        number_table__remove(&d->lanes, b->lane);
        free(b->calls);
        free(b);
    }
    d->n_batches = 0;
}

static void flush(struct drain *d)
{
    flush_lanes(d);
    flush_samples(d);
}

static int take_call(struct drain *d, const struct sb_call *c)
{
    struct lane_batch *b = batch_of(d, c->lane);
    if (!b)
        return -ENOMEM;
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 64;
        struct sb_call *calls = realloc(b->calls, cap * sizeof(*calls));
        if (!calls)
            return -ENOMEM;
        b->calls = calls;
        b->cap = cap;
    }
    b->calls[b->n++] = *c;
    d->waiting++;
    if (c->type == SB_HOT_CALL)
        d->totals.calls++;
    else
        d->totals.unmatched++;
    if (b->n == LANE_BATCH)
        write_lane(d, b);
    return 0;
}

static void take_sample(struct drain *d, const struct sb_sample *s)
{
    struct capture_buf *b = &d->samples;

    if (!b->len) {
        capture_put_s(b, (int64_t)s->time);
        d->sample_time = (int64_t)s->time;
        d->sample_ip = 0;
    }
    capture_put_s(b, (int64_t)s->time - d->sample_time);
    capture_put_u(b, s->flags);
    capture_put_u(b, s->pid);
    capture_put_u(b, s->lane);
    capture_put_u(b, s->region);
    capture_put_s(b, (int64_t)(s->ip - d->sample_ip));
    d->sample_time = (int64_t)s->time;
    d->sample_ip = s->ip;
    d->totals.samples++;
    if (b->len > 256 * 1024)
        flush_samples(d);
}

static int on_record(void *arg, void *data, size_t size)
{
    struct drain *d = arg;
    const struct sb_call *c = data;

    if (size == sizeof(struct sb_call) && (c->type == SB_HOT_CALL || c->type == SB_HOT_UNMATCHED)) {
        if (take_call(d, c)) {
            flush(d); /* frees memory; if that does not help, the record is lost and said */
            if (take_call(d, c))
                d->totals.unknown++;
        }
    } else if (size == sizeof(struct sb_sample) && c->type == SB_HOT_SAMPLE) {
        take_sample(d, data);
    } else {
        d->totals.unknown++;
    }
    if (d->waiting >= DRAIN_BATCH)
        flush_lanes(d);
    return ++d->in_pass >= PASS_RECORDS ? -EAGAIN : 0;
}

int drain__create(struct programs *p, struct region_ids *ids, struct capture_writer *w, struct drain **ret, struct err *err)
{
    struct drain *d = calloc(1, sizeof(*d));
    if (!d)
        return err__set(err, ENOMEM, "out of memory");
    d->ids = ids;
    d->writer = w;
    d->rings = ring_buffer__new(p->ring_fds[0], on_record, d, NULL);
    int r = d->rings ? 0 : -errno;
    for (int i = 1; !r && i < p->n_rings; i++)
        r = ring_buffer__add(d->rings, p->ring_fds[i], on_record, d);
    if (r) {
        drain__destroy(d);
        return err__set(err, -r, "cannot map the rings: %s", strerror(-r));
    }
    *ret = d;
    return 0;
}

void drain__destroy(struct drain *d)
{
    if (!d)
        return;
    ring_buffer__free(d->rings);
    for (size_t i = 0; i < d->n_batches; i++) {
        free(d->batches[i]->calls);
        free(d->batches[i]);
    }
    free(d->batches);
    number_table__deinit(&d->lanes);
    capture_buf__deinit(&d->payload);
    capture_buf__deinit(&d->body);
    capture_buf__deinit(&d->samples);
    free(d);
}

int drain__epoll_fd(const struct drain *d)
{
    return ring_buffer__epoll_fd(d->rings);
}

bool drain__pass(struct drain *d)
{
    d->in_pass = 0;
    int n = ring_buffer__consume(d->rings);
    flush(d);
    return n == -EAGAIN;
}

const struct drain_totals *drain__totals(const struct drain *d)
{
    return &d->totals;
}

static void drop_one(struct drain *d, uint32_t lane, uint32_t region, uint64_t calls, uint64_t samples)
{
    d->totals.disk_lost += calls;
    d->totals.disk_lost_samples += samples;
    for (size_t i = d->n_dropped; i-- > 0;)
        if (d->dropped[i].lane == lane && d->dropped[i].region == region) {
            d->dropped[i].calls += calls;
            d->dropped[i].samples += samples;
            return;
        }
    if (d->n_dropped == DROPPED_MAX - 1)
        lane = region = 0;
    d->dropped[d->n_dropped < DROPPED_MAX - 1 ? d->n_dropped++ : DROPPED_MAX - 1] =
        (struct dropped){ lane, region, calls, samples };
}

static void drop_calls(struct drain *d, struct capture_in *in)
{
    uint32_t lane = (uint32_t)capture_get_u(in);
    uint64_t n = capture_get_u(in);
    struct capture_calls state = { .seq = (uint32_t)capture_get_u(in) };
    struct capture_call call;

    while (n-- && !capture_calls__get(&state, in, &call))
        drop_one(d, lane, call.region, 1, 0);
}

static void drop_samples(struct drain *d, struct capture_in *in)
{
    capture_get_s(in);
    while (capture_in__more(in)) {
        capture_get_s(in);
        capture_get_u(in);
        capture_get_u(in);
        uint32_t lane = (uint32_t)capture_get_u(in), region = (uint32_t)capture_get_u(in);
        capture_get_s(in);
        drop_one(d, lane, region, 0, 1);
    }
}

void drain__dropped(struct drain *d, uint16_t type, const void *payload, size_t len)
{
    struct capture_in in = { .at = payload, .end = (const uint8_t *)payload + len };

    if (type == CAPTURE_CALLS)
        drop_calls(d, &in);
    else if (type == CAPTURE_SAMPLES)
        drop_samples(d, &in);
}

void drain__put_losses(struct drain *d, struct capture_buf *b)
{
    for (size_t i = 0; i < d->n_dropped; i++) {
        const struct dropped *x = &d->dropped[i];
        for (int samples = 0; samples < 2; samples++) {
            uint64_t n = samples ? x->samples : x->calls;
            if (!n)
                continue;
            capture_put_u(b, samples ? SB_LOST_DISK_SAMPLE : SB_LOST_DISK);
            capture_put_u(b, 0);
            capture_put_u(b, x->lane);
            capture_put_u(b, x->region);
            capture_put_u(b, n);
        }
    }
    d->n_dropped = 0;
}
