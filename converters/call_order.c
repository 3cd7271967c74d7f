// SPDX-License-Identifier: GPL-2.0-only
#include "call_order.h"

#include <errno.h>
#include <stdlib.h>

#define TELL_EVERY (1u << 20)

struct level { /* an open call of a lane */
    int64_t id, end;
    uint32_t region;
    uint16_t depth;
};

struct stream {
    const struct lane_run *run;
    uint64_t at; /* next is found[at - 1] */
    struct level *levels;
    uint32_t n, cap;
    uint64_t tick; /* next of run->ticks */
};

struct place {         /* of a row */
    uint64_t next;     /* number within the rank of the next call */
    int64_t exclusive; /* sum, -1: not certain */
    uint64_t row;      /* index in profile.rows */
};

struct order {
    struct profile *p;
    const struct found_call *found;
    struct stream *streams;
    uint64_t *heap; /* indexes of streams, the earliest start on top */
    uint64_t n_heap;
    struct place *places; /* per region */
    uint64_t base;        /* of the rank in the call columns */
    bool has_flags;
};

static int64_t start_of(const struct order *o, uint64_t stream)
{
    return o->found[o->streams[stream].at - 1].start;
}

static bool earlier(const struct order *o, uint64_t a, uint64_t b)
{
    int64_t x = start_of(o, a), y = start_of(o, b);

    return x != y ? x < y : a < b;
}

static void sift_down(struct order *o, uint64_t at)
{
    uint64_t moved = o->heap[at];

    for (;;) {
        uint64_t child = 2 * at + 1;

        if (child >= o->n_heap)
            break;
        if (child + 1 < o->n_heap && earlier(o, o->heap[child + 1], o->heap[child]))
            child++;
        if (!earlier(o, o->heap[child], moved))
            break;
        o->heap[at] = o->heap[child];
        at = child;
    }
    o->heap[at] = moved;
}

/* Number of the call around this one: what was opened since is closed by now.  Then this one is the
 * innermost. */
static int64_t find_parent(struct stream *s, const struct found_call *call, int64_t id)
{
    int64_t parent;

    while (s->n && (call->depth == call->parent_depth || s->levels[s->n - 1].depth != call->parent_depth))
        s->n--;
    parent = s->n ? s->levels[s->n - 1].id : -1;
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 8;
        struct level *levels = reallocarray(s->levels, cap, sizeof(*levels));

        if (!levels)
            return -ENOMEM;
        s->levels = levels;
        s->cap = cap;
    }
    s->levels[s->n++] =
        (struct level){.id = id, .end = call->end, .region = call->region, .depth = call->depth};
    return parent;
}

/* Ticks before `until` fell into the innermost call that was open then; no call begins between them. */
static void settle_ticks(struct stream *s, int64_t until)
{
    for (; s->tick < s->run->n_ticks && s->run->ticks[s->tick].time < until; s->tick++) {
        uint32_t i = s->n;

        while (i && s->levels[i - 1].end < s->run->ticks[s->tick].time)
            i--;
        s->run->ticks[s->tick].region = i ? (int32_t)s->levels[i - 1].region : -1;
    }
}

static void add_exclusive(struct place *place, int64_t ns)
{
    if (ns < 0 || place->exclusive < 0 || __builtin_add_overflow(place->exclusive, ns, &place->exclusive))
        place->exclusive = -1;
}

static int place_call(struct order *o, struct stream *s, const struct found_call *call)
{
    struct place *place = &o->places[call->region];
    uint64_t id = place->next++, at = o->base + id;
    int64_t parent = find_parent(s, call, (int64_t)id);
    struct column *extra = o->p->extra;

    if (parent < -1)
        return -ENOMEM;
    column_i64(&o->p->start)[at] = call->start;
    column_i64(&o->p->end)[at] = call->end;
    column_i64(&extra[COLUMN_CALL_ID])[at] = (int64_t)id;
    column_i64(&extra[COLUMN_PARENT_ID])[at] = parent;
    column_i64(&extra[COLUMN_THREAD_ID])[at] = s->run->thread;
    column_i64(&extra[COLUMN_EXCLUSIVE_NS])[at] = call->exclusive;
    if (call->flags && !o->has_flags) {
        int code = column__resize(&extra[COLUMN_FLAGS], o->p->start.n);

        if (code)
            return code;
        o->has_flags = true;
    }
    if (call->flags)
        column_i64(&extra[COLUMN_FLAGS])[at] = call->flags;
    add_exclusive(place, call->exclusive);
    return 0;
}

/* A lane of many calls is often alone: as long as it stays the earliest, the heap is left in peace. */
static int merge(struct order *o, const struct order_progress *progress)
{
    uint64_t done = 0;

    while (o->n_heap) {
        struct stream *s = &o->streams[o->heap[0]];
        int code;

        settle_ticks(s, o->found[s->at - 1].start);
        code = place_call(o, s, &o->found[s->at - 1]);

        if (code)
            return code;
        if (++done % TELL_EVERY == 0 && progress->tell)
            progress->tell(progress->arg, TELL_EVERY);
        if (--s->at == s->run->from) {
            settle_ticks(s, INT64_MAX);
            free(s->levels);
            s->levels = NULL;
            o->heap[0] = o->heap[--o->n_heap];
        }
        if (o->n_heap > 1)
            sift_down(o, 0);
    }
    if (progress->tell)
        progress->tell(progress->arg, done % TELL_EVERY);
    return 0;
}

static int add_row(struct order *o, uint32_t rank, uint32_t region, uint64_t offset, uint64_t count,
                   const struct region_table *regions)
{
    const struct region_entry *entry = region_table__of_index(regions, region);
    struct row *row = profile__add_row(o->p, region, rank);

    if (!row)
        return -ENOMEM;
    row->offset = o->base + offset;
    row->count = count;
    row->source_file = entry->file;
    row->source_line = entry->line;
    row->has =
        1u << COLUMN_CALL_ID | 1u << COLUMN_PARENT_ID | 1u << COLUMN_THREAD_ID | 1u << COLUMN_EXCLUSIVE_NS;
    o->places[region] = (struct place){.next = offset, .row = o->p->n_rows - 1};
    return 0;
}

static int add_rows(struct order *o, uint32_t rank, const struct nesting *found,
                    const struct region_table *regions)
{
    const uint64_t *counts = found->counts.data;
    uint64_t offset = 0;

    for (uint64_t i = 0; i < found->counts.n; i++) {
        int code = counts[i] ? add_row(o, rank, (uint32_t)i, offset, counts[i], regions) : 0;

        if (code)
            return code;
        offset += counts[i];
    }
    return 0;
}

static int grow_columns(struct order *o, uint64_t calls)
{
    static const enum call_column used[] = {
        COLUMN_CALL_ID,
        COLUMN_PARENT_ID,
        COLUMN_THREAD_ID,
        COLUMN_EXCLUSIVE_NS,
    };
    uint64_t n = o->base + calls;
    int code = column__extend(&o->p->start, n);

    if (!code)
        code = column__extend(&o->p->end, n);
    for (size_t i = 0; !code && i < sizeof(used) / sizeof(*used); i++)
        code = column__extend(&o->p->extra[used[i]], n);
    if (!code && o->p->extra[COLUMN_FLAGS].n) {
        o->has_flags = true;
        code = column__resize(&o->p->extra[COLUMN_FLAGS], n);
    }
    return code;
}

static void finish_rows(const struct order *o, const struct nesting *found)
{
    const uint64_t *counts = found->counts.data;

    for (uint64_t i = 0; i < found->counts.n; i++) {
        struct row *row = counts[i] ? &o->p->rows[o->places[i].row] : NULL;

        if (!row)
            continue;
        row->has_exclusive = true;
        row->exclusive_total = o->places[i].exclusive;
        if (o->has_flags)
            row->has |= 1u << COLUMN_FLAGS;
    }
}

static int start_streams(struct order *o, const struct lane_run *runs, uint64_t n_runs)
{
    o->streams = calloc(n_runs + 1, sizeof(*o->streams));
    o->heap = calloc(n_runs + 1, sizeof(*o->heap));
    if (!o->streams || !o->heap)
        return -ENOMEM;
    for (uint64_t i = 0; i < n_runs; i++) {
        o->streams[i] = (struct stream){.run = &runs[i], .at = runs[i].to};
        if (runs[i].to > runs[i].from)
            o->heap[o->n_heap++] = i;
    }
    for (uint64_t i = o->n_heap / 2; i-- > 0;)
        sift_down(o, i);
    return 0;
}

static void stop_streams(struct order *o, uint64_t n_runs)
{
    for (uint64_t i = 0; o->streams && i < n_runs; i++)
        free(o->streams[i].levels);
    free(o->streams);
    free(o->heap);
}

int call_order__place(struct profile *p, uint32_t rank, const struct nesting *found,
                      const struct lane_run *runs, uint64_t n_runs, const struct region_table *regions,
                      const struct order_progress *progress)
{
    struct order o = {.p = p, .found = found->found.data, .base = p->start.n};
    int code;

    o.places = calloc(found->counts.n + 1, sizeof(*o.places));
    if (!o.places)
        return -ENOMEM;
    code = add_rows(&o, rank, found, regions);
    if (!code)
        code = grow_columns(&o, found->found.n);
    if (!code)
        code = start_streams(&o, runs, n_runs);
    if (!code)
        code = merge(&o, progress);
    if (!code)
        finish_rows(&o, found);
    stop_streams(&o, n_runs);
    free(o.places);
    return code;
}
