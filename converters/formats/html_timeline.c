/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/html_timeline.h"

#include "converters/names.h"
#include "formats/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_SHOWN 30000
#define LANES_SHOWN 512

struct shown_call {
    int64_t start, length;
    uint32_t lane, depth, region;
};

struct timeline {
    const struct profile *p;
    struct shown_call *heap; /* the longest so far, the shortest of them at the root */
    size_t n;
    uint64_t of;
    int64_t origin;
    uint32_t rank, first_lane, n_lanes; /* lanes of ranks before this one; of all */
    struct strbuf labels;
};

static bool is_shorter(const struct shown_call *a, const struct shown_call *b)
{
    return a->length < b->length;
}

static void swap(struct shown_call *a, struct shown_call *b)
{
    struct shown_call t = *a;

    *a = *b;
    *b = t;
}

static void sift_up(struct timeline *t, size_t i)
{
    for (; i && is_shorter(&t->heap[i], &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&t->heap[i], &t->heap[(i - 1) / 2]);
}

static void sift_down(struct timeline *t)
{
    for (size_t i = 0, k; (k = 2 * i + 1) < t->n; i = k) {
        if (k + 1 < t->n && is_shorter(&t->heap[k + 1], &t->heap[k]))
            k++;
        if (!is_shorter(&t->heap[k], &t->heap[i]))
            return;
        swap(&t->heap[i], &t->heap[k]);
    }
}

static void keep_longest(struct timeline *t, const struct shown_call *c)
{
    if (t->n < CALLS_SHOWN) {
        t->heap[t->n] = *c;
        sift_up(t, t->n++);
    } else if (is_shorter(&t->heap[0], c)) {
        t->heap[0] = *c;
        sift_down(t);
    }
}

static void name_lane(struct timeline *t, const struct stack_lane *lane)
{
    const struct rank *rank = &t->p->ranks[t->rank];
    struct strbuf label = {0};

    lane__label(&label, rank, lane);
    if (t->n_lanes)
        strbuf__printf(&t->labels, "\n");
    if (t->p->n_ranks > 1 || !label.len)
        strbuf__printf(&t->labels, "rank %" PRId32 "%s", rank->number, label.len ? ": " : "");
    if (label.len)
        strbuf__put(&t->labels, label.s, label.len);
    strbuf__deinit(&label);
    t->n_lanes++;
}

static int leave(void *arg, const struct stack_lane *lane, struct stack_call *call, struct stack_call *above)
{
    struct timeline *t = arg;
    uint32_t number = t->first_lane + lane->number;

    (void)above;
    t->of++;
    if (number < LANES_SHOWN)
        keep_longest(t, &(struct shown_call){call->start - t->origin, call->end - call->start, number, call->depth, call->region});
    return 0;
}

static int enter(void *arg, const struct stack_lane *lane, struct stack_call *call, struct stack_call *above)
{
    struct timeline *t = arg;

    (void)call;
    (void)above;
    if (t->first_lane + lane->number == t->n_lanes && t->n_lanes < LANES_SHOWN)
        name_lane(t, lane);
    return 0;
}

static int walk_ranks(struct timeline *t, const struct write_options *options, struct err *err)
{
    const struct stacks_options how = {.split = true};
    const struct stacks_visitor visitor = {enter, leave};
    struct rank_rows rows = {0};
    uint32_t n, *ranks = chosen_ranks(t->p, options, &n);
    int rc = ranks ? rank_rows__init(&rows, t->p) : -ENOMEM;

    for (uint32_t i = 0; i < n && !rc; i++) {
        t->rank = ranks[i];
        rc = stacks__walk(t->p, &rows, ranks[i], &how, &visitor, t, err);
        t->first_lane = t->n_lanes;
    }
    rank_rows__deinit(&rows);
    free(ranks);
    return rc;
}

static void print_labels(const struct timeline *t, FILE *out)
{
    const char *at = t->labels.s ? t->labels.s : "";

    for (uint32_t i = 0; i < t->n_lanes; i++) {
        size_t len = strcspn(at, "\n");
        fputs(i ? ",{\"label\":" : "{\"label\":", out);
        json__string(out, at, len);
        fputc('}', out);
        at += len + (at[len] == '\n');
    }
}

static int print(const struct timeline *t, FILE *out)
{
    struct text *names = names__shown_regions(t->p->arena, t->p, NULL);

    if (!names && t->p->n_regions)
        return -ENOMEM;
    fputs("{\"lanes\":[", out);
    print_labels(t, out);
    fputs("],\"regions\":[", out);
    for (uint32_t i = 0; i < t->p->n_regions; i++) {
        fputs(i ? "," : "", out);
        json__string(out, names[i].s, names[i].len);
    }
    fputs("],\"calls\":[", out);
    for (size_t i = 0; i < t->n; i++)
        fprintf(out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRIu32 "]", i ? "," : "", t->heap[i].lane,
                t->heap[i].depth, t->heap[i].start, t->heap[i].length, t->heap[i].region);
    fprintf(out, "],\"shown\":%zu,\"of\":%" PRIu64 "}", t->n, t->of);
    return 0;
}

int html_timeline__print(const struct profile *p, const struct write_options *options, FILE *out, struct err *err)
{
    struct timeline t = {.p = p, .heap = calloc(CALLS_SHOWN, sizeof(struct shown_call))};
    int rc = t.heap ? 0 : -ENOMEM;

    if (!rc && profile__first_start(p, options, &t.origin))
        rc = walk_ranks(&t, options, err);
    if (!rc)
        rc = print(&t, out);
    strbuf__deinit(&t.labels);
    free(t.heap);
    return rc;
}
