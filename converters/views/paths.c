/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT64_MAX /* tag of a call that is left out */

struct walk {
    struct paths *t;
    const struct paths_options *options;
};

static uint64_t hash(int64_t parent, uint32_t region)
{
    uint64_t h = ((uint64_t)parent + 1) * 0x9e3779b97f4a7c15ull ^ (region + 1ull) * 0xc2b2ae3d27d4eb4full;

    h ^= h >> 31;
    return h * 0xff51afd7ed558ccdull >> 7;
}

static bool grow(struct paths *t)
{
    uint64_t cap = t->cap ? t->cap * 2 : 64, *slots = calloc(cap * 2, sizeof(*slots));
    struct path_node *nodes = slots ? reallocarray(t->nodes, cap, sizeof(*nodes)) : NULL;

    if (!nodes) {
        free(slots);
        return false;
    }
    t->nodes = nodes;
    t->cap = cap;
    for (uint64_t i = 0; i < t->n; i++) {
        uint64_t s = hash(nodes[i].parent, nodes[i].region) & (cap * 2 - 1);

        while (slots[s])
            s = (s + 1) & (cap * 2 - 1);
        slots[s] = i + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = cap * 2;
    return true;
}

static int64_t find_or_add(struct paths *t, int64_t parent, const struct stack_call *c)
{
    uint64_t s;

    if (t->n == t->cap && !grow(t))
        return -ENOMEM;
    for (s = hash(parent, c->region) & (t->n_slots - 1); t->slots[s]; s = (s + 1) & (t->n_slots - 1)) {
        const struct path_node *n = &t->nodes[t->slots[s] - 1];

        if (n->parent == parent && n->region == c->region)
            return (int64_t)t->slots[s] - 1;
    }
    t->nodes[t->n] = (struct path_node){.parent = parent, .region = c->region, .row = c->row, .depth = c->depth};
    t->slots[s] = ++t->n;
    return (int64_t)t->n - 1;
}

static int enter(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct walk *w = arg;
    int64_t node;

    c->tag = NOWHERE;
    if (w->options->one_lane && lane->key != w->options->lane)
        return 0;
    node = find_or_add(w->t, above ? (int64_t)above->tag : -1, c);
    if (node < 0)
        return (int)node;
    c->tag = (uint64_t)node;
    return 0;
}

static int leave(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct paths *t = ((struct walk *)arg)->t;
    struct path_node *n = c->tag == NOWHERE ? NULL : &t->nodes[c->tag];

    (void)lane;
    if (!n)
        return 0;
    t->calls++;
    n->calls++;
    n->primitive += !c->recursive;
    n->total += c->end - c->start;
    n->self += stack_call__exclusive(c);
    if (!c->recursive)
        n->outermost += c->end - c->start;
    if (!above)
        t->top += c->end - c->start;
    return 0;
}

int paths__add(struct paths *t, const struct profile *p, const struct rank_rows *rows, uint32_t rank,
               const struct paths_options *options, struct err *err)
{
    static const struct stacks_visitor visitor = {.enter = enter, .leave = leave};
    struct stacks_options how = {.split = options->split};
    struct walk w = {t, options};

    return stacks__walk(p, rows, rank, &how, &visitor, &w, err);
}

int paths__init(struct paths *t, const struct profile *p, const struct rank_rows *rows, uint32_t rank,
                const struct paths_options *options, struct err *err)
{
    memset(t, 0, sizeof(*t));
    return paths__add(t, p, rows, rank, options, err);
}

void paths__deinit(struct paths *t)
{
    free(t->nodes);
    free(t->slots);
    memset(t, 0, sizeof(*t));
}
