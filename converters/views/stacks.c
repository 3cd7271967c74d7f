/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/stacks.h"

#include "converters/views/text_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRACKS 1024 /* of one lane: beyond, a file is nonsense rather than overlapping */

int rank_rows__init(struct rank_rows *r, const struct profile *p)
{
    r->rows = calloc(p->n_rows + 1, sizeof(*r->rows));
    r->first = calloc((size_t)p->n_ranks + 3, sizeof(*r->first));
    if (!r->rows || !r->first) {
        rank_rows__deinit(r);
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < p->n_rows; i++) {
        if (p->rows[i].rank >= p->n_ranks) {
            rank_rows__deinit(r);
            return -EINVAL;
        }
        r->first[p->rows[i].rank + 2]++;
    }
    for (uint32_t k = 2; k < p->n_ranks + 1; k++)
        r->first[k] += r->first[k - 1];
    /* first[k + 1] is where rank k starts, and moves to where it ends: that is what first[k + 1] has to be. */
    for (uint64_t i = 0; i < p->n_rows; i++)
        r->rows[r->first[p->rows[i].rank + 1]++] = i;
    return 0;
}

void rank_rows__deinit(struct rank_rows *r)
{
    free(r->rows);
    free(r->first);
    memset(r, 0, sizeof(*r));
}

/* ---- the calls of a rank in order --------------------------------------------------------------------------- */
struct cursor { /* one row being read */
    uint64_t row, left;
    uint64_t at;          /* next position */
    struct column order;  /* indexes of calls, n = 0: as they stand */
    int64_t start, end;   /* of the call at the head */
    uint64_t call;
    uint32_t rank_order;  /* breaks ties */
};

struct indexed {
    int64_t start, end;
    uint64_t call;
};

static int compare_indexed(const void *a, const void *b, void *arg)
{
    const struct indexed *x = a, *y = b;

    (void)arg;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

static bool in_order(const struct profile *p, const struct row *row)
{
    const int64_t *s = column_i64(&p->start) + row->offset, *e = column_i64(&p->end) + row->offset;

    for (uint64_t i = 1; i < row->count; i++) {
        if (s[i] < s[i - 1] || (s[i] == s[i - 1] && e[i] > e[i - 1]))
            return false;
    }
    return true;
}

static int cursor__sort(struct cursor *c, const struct profile *p, const struct row *row)
{
    int rc;

    column__init(&c->order, sizeof(struct indexed));
    if (in_order(p, row))
        return 0;
    rc = column__resize(&c->order, row->count);
    if (rc)
        return rc;
    for (uint64_t i = 0; i < row->count; i++) {
        uint64_t call = row->offset + i;

        ((struct indexed *)c->order.data)[i] =
            (struct indexed){column_i64(&p->start)[call], column_i64(&p->end)[call], call};
    }
    return column__sort(&c->order, compare_indexed, NULL);
}

static bool cursor__next(struct cursor *c, const struct profile *p)
{
    if (!c->left)
        return false;
    c->left--;
    c->call = c->order.n ? ((struct indexed *)c->order.data)[c->at].call : p->rows[c->row].offset + c->at;
    c->at++;
    c->start = column_i64(&p->start)[c->call];
    c->end = column_i64(&p->end)[c->call];
    return true;
}

struct merge { /* a heap of cursors, the earliest at the top */
    const struct profile *p;
    struct cursor *cursors;
    struct cursor **heap;
    uint64_t n_cursors, n;
    bool ordered; /* the cursors' rank_order is known: only calls of one and the same interval need it */
    bool failed;  /* no memory for it */
};

/* When each region was entered first, on any rank. */
static int64_t *first_starts(const struct profile *p)
{
    int64_t *first = malloc(((size_t)p->n_regions + 1) * sizeof(*first));

    for (uint32_t g = 0; first && g < p->n_regions; g++)
        first[g] = INT64_MAX;
    for (uint64_t i = 0; first && i < p->n_rows; i++) {
        const struct row *row = &p->rows[i];
        const int64_t *start = column_i64(&p->start) + row->offset;

        for (uint64_t k = 0; k < row->count; k++)
            first[row->region] = start[k] < first[row->region] ? start[k] : first[row->region];
    }
    return first;
}

struct tie {
    const struct merge *m;
    int64_t *first;
};

static int compare_order(const void *a, const void *b, void *arg)
{
    const struct cursor *x = *(struct cursor *const *)a, *y = *(struct cursor *const *)b;
    const struct merge *m = ((const struct tie *)arg)->m;
    const int64_t *first = ((const struct tie *)arg)->first;
    int64_t s = first[m->p->rows[x->row].region], t = first[m->p->rows[y->row].region];

    if (s != t)
        return s < t ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* Of calls with the same interval the one of the region that was entered first is outside, as the reference has it. */
static void merge__order(struct merge *m)
{
    struct cursor **sorted = calloc(m->n_cursors + 1, sizeof(*sorted));
    struct tie tie = {m, first_starts(m->p)};

    m->ordered = true;
    m->failed = !sorted || !tie.first;
    for (uint64_t i = 0; sorted && i < m->n_cursors; i++)
        sorted[i] = &m->cursors[i];
    if (!m->failed)
        qsort_r(sorted, m->n_cursors, sizeof(*sorted), compare_order, &tie);
    for (uint64_t i = 0; !m->failed && i < m->n_cursors; i++)
        sorted[i]->rank_order = (uint32_t)i;
    free(sorted);
    free(tie.first);
}

static bool cursor__before(struct merge *m, const struct cursor *a, const struct cursor *b)
{
    if (a->start != b->start)
        return a->start < b->start;
    if (a->end != b->end)
        return a->end > b->end;
    if (!m->ordered)
        merge__order(m);
    return a->rank_order < b->rank_order;
}

static void merge__sift(struct merge *m, uint64_t i)
{
    struct cursor *c = m->heap[i];

    for (;;) {
        uint64_t k = 2 * i + 1;

        if (k >= m->n)
            break;
        if (k + 1 < m->n && cursor__before(m, m->heap[k + 1], m->heap[k]))
            k++;
        if (!cursor__before(m, m->heap[k], c))
            break;
        m->heap[i] = m->heap[k];
        i = k;
    }
    m->heap[i] = c;
}

static void merge__deinit(struct merge *m)
{
    for (uint64_t i = 0; i < m->n_cursors; i++)
        column__deinit(&m->cursors[i].order);
    free(m->cursors);
    free(m->heap);
}

static int merge__init(struct merge *m, const struct profile *p, const struct rank_rows *rows, uint32_t rank)
{
    uint64_t n = rows->first[rank + 1] - rows->first[rank];

    m->p = p;
    m->cursors = calloc(n + 1, sizeof(*m->cursors));
    m->heap = calloc(n + 1, sizeof(*m->heap));
    if (!m->cursors || !m->heap)
        return -ENOMEM;
    for (uint64_t i = 0; i < n; i++) {
        struct cursor *c = &m->cursors[m->n_cursors++];
        int rc;

        c->row = rows->rows[rows->first[rank] + i];
        c->rank_order = (uint32_t)i;
        c->left = p->rows[c->row].count;
        rc = cursor__sort(c, p, &p->rows[c->row]);
        if (rc)
            return rc;
        if (cursor__next(c, p))
            m->heap[m->n++] = c;
    }
    for (uint64_t i = m->n / 2; i-- > 0;)
        merge__sift(m, i);
    return 0;
}

/* Moves on behind the call at the top. */
static void merge__advance(struct merge *m, const struct profile *p)
{
    if (!cursor__next(m->heap[0], p))
        m->heap[0] = m->heap[--m->n];
    if (m->n)
        merge__sift(m, 0);
}

/* ---- lanes and their open calls ----------------------------------------------------------------------------- */
struct track {
    struct stack_lane lane;
    struct stack_call *open;
    size_t n, cap;
    uint32_t next; /* track of the same lane, 0 none (track 0 of the walk is nobody's next) */
};

struct walk {
    const struct profile *p;
    const struct stacks_options *options;
    const struct stacks_visitor *visitor;
    void *arg;
    struct err *err;
    uint32_t rank;
    bool has_lanes;
    struct track *tracks;
    uint32_t n_tracks, cap_tracks;
    uint32_t *slots, n_slots; /* hash of lane keys: track + 1 */
    uint32_t last;            /* track that the call before was on */
    uint64_t next_id;
};

static uint32_t hash_key(int64_t key)
{
    uint64_t h = (uint64_t)key * 0x9e3779b97f4a7c15ull;

    return (uint32_t)(h >> 32);
}

static int64_t add_track(struct walk *w, int64_t key, uint32_t number)
{
    if (w->n_tracks == w->cap_tracks) {
        uint32_t cap = w->cap_tracks ? w->cap_tracks * 2 : 16;
        struct track *t = reallocarray(w->tracks, cap, sizeof(*t));

        if (!t)
            return -ENOMEM;
        w->tracks = t;
        w->cap_tracks = cap;
    }
    w->tracks[w->n_tracks] = (struct track){.lane = {key, w->n_tracks, number}};
    return w->n_tracks++;
}

static int grow_slots(struct walk *w)
{
    uint32_t n = w->n_slots ? w->n_slots * 2 : 64, *slots = calloc(n, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    for (uint32_t t = 0; t < w->n_tracks; t++) {
        uint32_t s = hash_key(w->tracks[t].lane.key) & (n - 1);

        if (w->tracks[t].lane.track)
            continue;
        while (slots[s])
            s = (s + 1) & (n - 1);
        slots[s] = t + 1;
    }
    free(w->slots);
    w->slots = slots;
    w->n_slots = n;
    return 0;
}

/* Track 0 of a lane, made on first use. */
static int64_t lane_track(struct walk *w, int64_t key)
{
    int64_t t;
    uint32_t s;

    if (w->n_tracks && w->tracks[w->last].lane.key == key)
        return w->last;
    if (w->n_tracks * 2 >= w->n_slots && grow_slots(w))
        return -ENOMEM;
    for (s = hash_key(key) & (w->n_slots - 1); w->slots[s]; s = (s + 1) & (w->n_slots - 1)) {
        if (w->tracks[w->slots[s] - 1].lane.key == key)
            return w->last = w->slots[s] - 1;
    }
    t = add_track(w, key, 0);
    if (t < 0)
        return t;
    w->slots[s] = (uint32_t)t + 1;
    return w->last = (uint32_t)t;
}

static int64_t key_of(const struct walk *w, const struct row *row, uint64_t call)
{
    int64_t v;

    if (!w->has_lanes || !(row->has & 1u << COLUMN_THREAD_ID))
        return -1;
    if (row->has & 1u << COLUMN_TASK_ID) {
        v = column_i64(&w->p->extra[COLUMN_TASK_ID])[call];
        if (v >= 0)
            return v;
    }
    v = column_i64(&w->p->extra[COLUMN_THREAD_ID])[call];
    return v < 0 ? -1 : lane_key__thread(v);
}

/* A call of no length is open at its own start: what starts there too lies inside it. */
static bool is_over(const struct stack_call *c, int64_t start)
{
    return c->end < start || (c->end == start && c->start != c->end);
}

static int leave_top(struct walk *w, struct track *t)
{
    struct stack_call *c = &t->open[t->n - 1], *above = t->n > 1 ? c - 1 : NULL;

    t->n--;
    return w->visitor->leave ? w->visitor->leave(w->arg, &t->lane, c, above) : 0;
}

static int leave_until(struct walk *w, struct track *t, int64_t start)
{
    while (t->n && is_over(&t->open[t->n - 1], start)) {
        int rc = leave_top(w, t);

        if (rc)
            return rc;
    }
    return 0;
}

static int enter(struct walk *w, struct track *t, struct stack_call call)
{
    struct stack_call *above;

    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct stack_call *open = reallocarray(t->open, cap, sizeof(*open));

        if (!open)
            return -ENOMEM;
        t->open = open;
        t->cap = cap;
    }
    above = t->n ? &t->open[t->n - 1] : NULL;
    call.depth = (uint32_t)t->n;
    call.parent = above ? (int64_t)above->id : -1;
    if (above)
        above->children += call.end - call.start;
    for (size_t i = t->n; i-- > 0 && !call.recursive;)
        call.recursive = t->open[i].region == call.region;
    t->open[t->n++] = call;
    return w->visitor->enter ? w->visitor->enter(w->arg, &t->lane, &t->open[t->n - 1], above) : 0;
}

static void name_call(struct strbuf *b, const struct walk *w, const struct stack_call *c)
{
    strbuf__put(b, "'", 1);
    show__text(b, w->p->regions[c->region].name, true);
    strbuf__printf(b, "' call %" PRIu64 " [%" PRId64 ", %" PRId64 "] ns", c->call - w->p->rows[c->row].offset,
                   c->start, c->end);
}

static int overlap_error(struct walk *w, const struct stack_call *inner, const struct stack_call *outer)
{
    const struct rank *rank = &w->p->ranks[w->rank];
    struct strbuf a = {0}, b = {0};
    int rc;

    name_call(&a, w, inner);
    name_call(&b, w, outer);
    rc = err__set(w->err, EILSEQ, "%.*s: rank %d: %.160s starts inside %.160s but ends after it: no call stack (%s)",
                  (int)(rank->file.len > 120 ? 120 : rank->file.len), rank->file.s ? rank->file.s : "", rank->number,
                  a.s ? a.s : "", b.s ? b.s : "", "--overlaps split puts such calls on tracks of their own");
    strbuf__deinit(&a);
    strbuf__deinit(&b);
    return rc;
}

static bool fits(const struct track *t, const struct stack_call *call)
{
    return !t->n || t->open[t->n - 1].end >= call->end;
}

/* The track whose innermost open call holds this one and started last; else an empty one; else a new one. */
static int64_t choose_track(struct walk *w, uint32_t first, struct stack_call *call)
{
    int64_t best = -1, empty = -1;
    uint32_t t = first, last = first;
    int rc;

    do {
        struct track *track = &w->tracks[t];

        rc = leave_until(w, track, call->start);
        if (rc)
            return rc;
        if (!track->n) {
            empty = empty < 0 ? t : empty;
        } else if (!fits(track, call)) {
            track->open[track->n - 1].overlapping = true;
            call->overlapping = true;
        } else if (best < 0 || track->open[track->n - 1].start >=
                                   w->tracks[best].open[w->tracks[best].n - 1].start) {
            best = t;
        }
        last = t;
        t = track->next;
    } while (t);
    if (best >= 0 || empty >= 0)
        return best >= 0 ? best : empty;
    if (w->tracks[last].lane.track + 1 >= MAX_TRACKS)
        return err__set(w->err, E2BIG, "rank %d: more than %d calls of one lane cross each other",
                        w->p->ranks[w->rank].number, MAX_TRACKS);
    best = add_track(w, w->tracks[first].lane.key, w->tracks[last].lane.track + 1);
    if (best > 0)
        w->tracks[last].next = (uint32_t)best;
    return best;
}

static int take(struct walk *w, const struct cursor *c)
{
    const struct row *row = &w->p->rows[c->row];
    struct stack_call call = {.id = w->next_id++, .call = c->call, .row = c->row, .region = row->region,
                              .start = c->start, .end = c->end};
    int64_t t = lane_track(w, key_of(w, row, c->call));
    int rc;

    if (t < 0)
        return (int)t;
    if (call.end < call.start)
        return err__set(w->err, EINVAL, "%.*s: rank %d: region %.*s: call %" PRIu64 " ends before it starts",
                        (int)w->p->ranks[w->rank].file.len, w->p->ranks[w->rank].file.s ? w->p->ranks[w->rank].file.s : "",
                        w->p->ranks[w->rank].number, (int)w->p->regions[row->region].name.len,
                        w->p->regions[row->region].name.s ? w->p->regions[row->region].name.s : "", c->call - row->offset);
    rc = leave_until(w, &w->tracks[t], call.start);
    if (rc)
        return rc;
    if (!fits(&w->tracks[t], &call) && !w->options->split)
        return overlap_error(w, &call, &w->tracks[t].open[w->tracks[t].n - 1]);
    if (w->tracks[t].next || !fits(&w->tracks[t], &call))
        t = choose_track(w, (uint32_t)t, &call);
    return t < 0 ? (int)t : enter(w, &w->tracks[t], call);
}

static bool rank_has_lanes(const struct profile *p, const struct rank_rows *rows, uint32_t rank)
{
    for (uint64_t i = rows->first[rank]; i < rows->first[rank + 1]; i++) {
        if (p->rows[rows->rows[i]].has & 1u << COLUMN_THREAD_ID)
            return true;
    }
    return false;
}

static int leave_all(struct walk *w)
{
    for (uint32_t t = 0; t < w->n_tracks; t++) {
        while (w->tracks[t].n) {
            int rc = leave_top(w, &w->tracks[t]);

            if (rc)
                return rc;
        }
    }
    return 0;
}

int stacks__walk(const struct profile *p, const struct rank_rows *rows, uint32_t rank,
                 const struct stacks_options *options, const struct stacks_visitor *visitor, void *arg,
                 struct err *err)
{
    struct walk w = {.p = p, .options = options, .visitor = visitor, .arg = arg, .err = err, .rank = rank};
    struct merge m = {0};
    int rc = merge__init(&m, p, rows, rank);

    w.has_lanes = rank_has_lanes(p, rows, rank);
    while (!rc && m.n) {
        rc = take(&w, m.heap[0]);
        merge__advance(&m, p);
        rc = !rc && m.failed ? -ENOMEM : rc;
    }
    if (!rc)
        rc = leave_all(&w);
    for (uint32_t t = 0; t < w.n_tracks; t++)
        free(w.tracks[t].open);
    free(w.tracks);
    free(w.slots);
    merge__deinit(&m);
    if (rc == -ENOMEM || rc == -ENOSPC)
        err__set(err, -rc, "call stacks: %s", rc == -ENOMEM ? "out of memory" : "no space for temporary files (TMPDIR)");
    return rc;
}

/* ---- names of lanes ----------------------------------------------------------------------------------------- */
const struct thread_row *lane__thread(const struct rank *rank, int64_t key)
{
    const struct task_row *task = key >= 0 ? lane__task(rank, key) : NULL;
    int64_t index = task ? task->thread_index : -2 - key;

    for (uint32_t i = 0; i < rank->n_threads && (task || key < -1); i++) {
        if (rank->threads[i].index == index)
            return &rank->threads[i];
    }
    return NULL;
}

const struct task_row *lane__task(const struct rank *rank, int64_t key)
{
    for (uint32_t i = 0; i < rank->n_tasks && key >= 0; i++) {
        if (rank->tasks[i].index == key)
            return &rank->tasks[i];
    }
    return NULL;
}
