/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/region_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct builder {
    const struct stats *s;
    int64_t *parent;       /* per region, -1 top */
    int64_t *time;
    unsigned *others;
    uint32_t *sorted;      /* regions, longest first */
    uint32_t *child_first; /* n_regions + 3: children of a parent (+1) in `children` */
    uint32_t *children;
};

static int64_t weight(const struct region_stats *r)
{
    return r->aggregate ? r->total : r->inclusive;
}

static int compare_regions(const void *a, const void *b, void *arg)
{
    const struct stats *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t wx = weight(&s->regions[x]), wy = weight(&s->regions[y]);

    if (wx != wy)
        return wx > wy ? -1 : 1;
    return (x > y) - (x < y);
}

static int compare_edges(const void *a, const void *b)
{
    const struct stats_edge *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    return (x->parent > y->parent) - (x->parent < y->parent);
}

/* Two regions that call each other in turn must not become each other's parents. */
static bool is_above(const struct builder *b, uint32_t region, int64_t from)
{
    for (; from >= 0; from = b->parent[from]) {
        if (from == region)
            return true;
    }
    return false;
}

/* A parent that the filters hide is replaced by the one above it when printed; here it counts as any other. */
static void choose_parents(struct builder *b, const struct stats_edge *edges)
{
    for (uint64_t i = 0, j; i < b->s->n_edges; i = j) {
        uint32_t region = edges[i].region;
        bool chosen = false;

        for (j = i; j < b->s->n_edges && edges[j].region == region; j++) {
            b->others[region]++;
            if (chosen || is_above(b, region, edges[j].parent))
                continue;
            b->parent[region] = edges[j].parent;
            b->time[region] = edges[j].time;
            chosen = true;
        }
        b->others[region]--;
    }
}

static int64_t visible_parent(const struct builder *b, uint32_t region)
{
    int64_t at = b->parent[region];

    while (at >= 0 && !b->s->wanted[at])
        at = b->parent[at];
    return at;
}

static bool shown(const struct stats *s, uint32_t region)
{
    return s->wanted[region];
}

/* Children of each region, longest first. */
static void group(struct builder *b)
{
    uint32_t n = b->s->p->n_regions;

    for (uint32_t i = 0; i < n; i++) {
        if (shown(b->s, i))
            b->child_first[visible_parent(b, i) + 1 + 2]++;
    }
    for (uint32_t i = 2; i < n + 2; i++)
        b->child_first[i] += b->child_first[i - 1];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t region = b->sorted[i];

        if (shown(b->s, region))
            b->children[b->child_first[visible_parent(b, region) + 1 + 1]++] = region;
    }
}

static int emit(struct region_tree *t, struct builder *b)
{
    uint32_t n = b->s->p->n_regions, *stack = calloc((size_t)n + 1, 2 * sizeof(*stack)), depth = 0;
    int64_t at = -1;

    if (!stack)
        return -ENOMEM;
    stack[0] = b->child_first[0];
    for (;;) {
        if (stack[2 * depth] < b->child_first[at + 2]) {
            uint32_t region = b->children[stack[2 * depth]++];

            t->nodes[t->n++] = (struct region_node){region, at, depth, b->others[region], b->time[region]};
            if (b->parent[region] != at) /* below a hidden one: there is no share of a parent to show */
                t->nodes[t->n - 1].time = -1;
            stack[2 * depth + 1] = (uint32_t)(at + 1);
            at = region;
            depth++;
            stack[2 * depth] = b->child_first[at + 1];
        } else if (depth) {
            depth--;
            at = (int64_t)stack[2 * depth + 1] - 1;
        } else {
            break;
        }
    }
    free(stack);
    return 0;
}

static bool builder__init(struct builder *b, const struct stats *s)
{
    size_t n = (size_t)s->p->n_regions + 4;

    b->s = s;
    b->parent = calloc(n, sizeof(*b->parent));
    b->time = calloc(n, sizeof(*b->time));
    b->others = calloc(n, sizeof(*b->others));
    b->sorted = malloc(n * sizeof(*b->sorted));
    b->child_first = calloc(n, sizeof(*b->child_first));
    b->children = calloc(n, sizeof(*b->children));
    if (!b->parent || !b->time || !b->others || !b->sorted || !b->child_first || !b->children)
        return false;
    for (uint32_t i = 0; i < s->p->n_regions; i++) {
        b->parent[i] = -1;
        b->sorted[i] = i;
    }
    return true;
}

static void builder__deinit(struct builder *b)
{
    free(b->parent);
    free(b->time);
    free(b->others);
    free(b->sorted);
    free(b->child_first);
    free(b->children);
}

int region_tree__init(struct region_tree *t, const struct stats *s)
{
    struct stats_edge *edges = malloc((s->n_edges + 1) * sizeof(*edges));
    struct builder b = {0};
    int rc = -ENOMEM;

    memset(t, 0, sizeof(*t));
    t->nodes = calloc((size_t)s->p->n_regions + 1, sizeof(*t->nodes));
    if (t->nodes && edges && builder__init(&b, s)) {
        if (s->n_edges)
            memcpy(edges, s->edges, s->n_edges * sizeof(*edges));
        qsort(edges, s->n_edges, sizeof(*edges), compare_edges);
        qsort_r(b.sorted, s->p->n_regions, sizeof(*b.sorted), compare_regions, (void *)s);
        choose_parents(&b, edges);
        group(&b);
        rc = emit(t, &b);
    }
    builder__deinit(&b);
    free(edges);
    return rc;
}

void region_tree__deinit(struct region_tree *t)
{
    free(t->nodes);
    memset(t, 0, sizeof(*t));
}
