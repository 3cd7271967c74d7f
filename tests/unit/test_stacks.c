// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call stacks from intervals, against random trees whose parents and own times are known because they were made that
 * way, and against corner cases whose answer is written down here.
 */
#include "made_profile.h"

#include "converters/views/paths.h"
#include "converters/views/region_tree.h"
#include "converters/views/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NAMES 5
#define MOST    3000

static const char *const names[N_NAMES] = {"a", "b", "c", "d", "e"};

/* What a walk saw, by index of the call in the order of its intervals. */
struct seen {
    const struct profile *p;
    struct {
        int64_t start, end, exclusive, parent_start;
        uint32_t depth, lane, track;
        bool recursive, overlapping;
        const char *name;
    } calls[MOST];
    size_t n;
    int64_t last[64]; /* time of the last event of each lane */
    uint32_t open;
};

static int enter(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct seen *s = arg;

    assert_true(s->n < MOST);
    assert_true(lane->number < 64 && c->start >= s->last[lane->number]);
    s->last[lane->number] = c->start;
    assert_int_equal(c->parent, above ? (int64_t)above->id : -1);
    c->tag = s->n;
    s->calls[s->n].parent_start = above ? above->start : -1;
    s->calls[s->n].lane = lane->number;
    s->calls[s->n].track = lane->track;
    s->n++;
    s->open++;
    return 0;
}

static int leave(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct seen *s = arg;

    (void)above;
    assert_true(c->end >= s->last[lane->number]);
    s->last[lane->number] = c->end;
    s->calls[c->tag].start = c->start;
    s->calls[c->tag].end = c->end;
    s->calls[c->tag].depth = c->depth;
    s->calls[c->tag].exclusive = stack_call__exclusive(c);
    s->calls[c->tag].recursive = c->recursive;
    s->calls[c->tag].overlapping = c->overlapping;
    s->calls[c->tag].name = s->p->regions[c->region].name.s;
    s->open--;
    return 0;
}

static int walk(const struct profile *p, uint32_t rank, bool split, struct seen *s, struct err *err)
{
    static const struct stacks_visitor visitor = {enter, leave};
    struct stacks_options options = {.split = split};
    struct rank_rows rows;
    int rc;

    memset(s, 0, sizeof(*s));
    s->p = p;
    assert_int_equal(rank_rows__init(&rows, p), 0);
    rc = stacks__walk(p, &rows, rank, &options, &visitor, s, err);
    rank_rows__deinit(&rows);
    return rc;
}

/* ---- random trees ------------------------------------------------------------------------------------------------ */
struct true_call {
    int64_t start, end, own, parent_start;
    uint32_t depth;
    int name;
    bool recursive;
};

struct tree {
    struct true_call calls[MOST];
    int n;
    int64_t now;
    unsigned seed;
};

static int pick(struct tree *t, int n)
{
    return rand_r(&t->seed) % n;
}

/* Distinct moments, so that the intervals say it all. */
static int64_t tick(struct tree *t)
{
    return t->now += 1 + pick(t, 9);
}

static void grow(struct tree *t, int64_t parent_start, unsigned depth, unsigned above)
{
    int me = t->n++;
    int64_t inside = 0;

    t->calls[me] = (struct true_call){.start = tick(t), .parent_start = parent_start, .depth = depth, .name = pick(t, N_NAMES)};
    t->calls[me].recursive = above >> t->calls[me].name & 1;
    while (depth < 40 && t->n < MOST / 2 && pick(t, 3)) {
        int child = t->n;

        grow(t, t->calls[me].start, depth + 1, above | 1u << t->calls[me].name);
        inside += t->calls[child].end - t->calls[child].start;
    }
    t->calls[me].end = tick(t);
    t->calls[me].own = t->calls[me].end - t->calls[me].start - inside;
}

static int by_end(const void *a, const void *b)
{
    const struct true_call *x = a, *y = b;

    return (x->end > y->end) - (x->end < y->end);
}

static int by_start(const void *a, const void *b)
{
    const struct true_call *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

static void check_tree(struct tree *t, bool in_order_of_ends)
{
    static struct made_call made[MOST];
    static struct seen seen;
    struct profile *p;
    struct err err;

    qsort(t->calls, (size_t)t->n, sizeof(*t->calls), in_order_of_ends ? by_end : by_start);
    for (int i = 0; i < t->n; i++)
        made[i] = (struct made_call){names[t->calls[i].name], 3, -1, t->calls[i].start, t->calls[i].end, -1};
    p = made_profile(made, (size_t)t->n);
    assert_int_equal(walk(p, 0, false, &seen, &err), 0);
    qsort(t->calls, (size_t)t->n, sizeof(*t->calls), by_start);
    assert_int_equal(seen.n, t->n);
    assert_int_equal(seen.open, 0);
    for (int i = 0; i < t->n; i++) {
        assert_int_equal(seen.calls[i].start, t->calls[i].start);
        assert_int_equal(seen.calls[i].end, t->calls[i].end);
        assert_int_equal(seen.calls[i].exclusive, t->calls[i].own);
        assert_int_equal(seen.calls[i].parent_start, t->calls[i].parent_start);
        assert_int_equal(seen.calls[i].depth, t->calls[i].depth);
        assert_int_equal(seen.calls[i].recursive, t->calls[i].recursive);
        assert_string_equal(seen.calls[i].name, names[t->calls[i].name]);
    }
    profile__destroy(p);
}

static void random_trees(void **state)
{
    static struct tree t;

    (void)state;
    for (unsigned seed = 0; seed < 60; seed++) {
        memset(&t, 0, sizeof(t));
        t.seed = seed;
        while (t.n < 40 * (int)(seed + 1) && t.n < MOST / 2)
            grow(&t, -1, 0, 0);
        check_tree(&t, seed % 2); /* every second one with rows that are not in order of start, as Python writes them */
    }
}

/* ---- corners -------------------------------------------------------------------------------------------------------- */
static void calls_that_touch_are_siblings(void **state)
{
    static struct seen s;
    struct made_call calls[] = {
        {"a", 0, -1, 0, 10, -1}, {"b", 0, -1, 10, 20, -1}, {"c", 0, -1, 20, 20, -1}, {"d", 0, -1, 20, 20, -1},
    };
    struct profile *p = made_profile(calls, 4);

    (void)state;
    assert_int_equal(walk(p, 0, false, &s, NULL), 0);
    assert_int_equal(s.calls[0].depth, 0);
    assert_int_equal(s.calls[1].depth, 0);
    assert_int_equal(s.calls[2].depth, 0); /* no length, where b is over */
    assert_int_equal(s.calls[3].depth, 1); /* inside the one of no length that starts there too */
    profile__destroy(p);
}

static void the_longer_of_two_that_start_together_is_outside(void **state)
{
    static struct seen s;
    struct made_call calls[] = {{"inner", 0, -1, 5, 9, -1}, {"outer", 0, -1, 5, 10, -1}};
    struct profile *p = made_profile(calls, 2);

    (void)state;
    assert_int_equal(walk(p, 0, false, &s, NULL), 0);
    assert_string_equal(s.calls[0].name, "outer");
    assert_int_equal(s.calls[0].exclusive, 1);
    assert_int_equal(s.calls[1].depth, 1);
    profile__destroy(p);
}

static void an_overlap_names_both_calls(void **state)
{
    static struct seen s;
    struct made_call calls[] = {{"first", 7, -1, 0, 10, -1}, {"second", 7, -1, 5, 15, -1}};
    struct profile *p = made_profile(calls, 2);
    struct err err = {0};

    (void)state;
    assert_int_equal(walk(p, 0, false, &s, &err), -EILSEQ);
    assert_non_null(strstr(err.text, "made.h5"));
    assert_non_null(strstr(err.text, "rank 7"));
    assert_non_null(strstr(err.text, "'second' call 0 [5, 15]"));
    assert_non_null(strstr(err.text, "'first' call 0 [0, 10]"));
    profile__destroy(p);
}

static void split_puts_what_crosses_on_a_track_of_its_own(void **state)
{
    static struct seen s;
    struct made_call calls[] = {
        {"a", 0, -1, 0, 10, -1}, {"b", 0, -1, 5, 15, -1}, {"c", 0, -1, 6, 8, -1}, {"d", 0, -1, 20, 30, -1},
    };
    struct profile *p = made_profile(calls, 4);

    (void)state;
    assert_int_equal(walk(p, 0, true, &s, NULL), 0);
    assert_int_equal(s.n, 4);
    assert_int_equal(s.calls[1].track, 1);
    assert_true(s.calls[0].overlapping && s.calls[1].overlapping);
    assert_int_equal(s.calls[2].parent_start, 5); /* c is inside both: the one that began last */
    assert_int_equal(s.calls[3].track, 0);
    assert_false(s.calls[3].overlapping);
    profile__destroy(p);
}

static void lanes_do_not_nest_in_each_other(void **state)
{
    static struct seen s;
    struct made_call calls[] = {
        {"a", 0, 0, 0, 100, -1}, {"b", 0, 1, 10, 110, -1}, {"c", 0, 1, 20, 30, -1}, {"d", 0, 0, 40, 50, -1},
        {"e", 0, -1, 45, 300, -1}, /* a row without lanes: on a lane of nobody */
    };
    struct profile *p = made_profile(calls, 5);

    (void)state;
    assert_int_equal(walk(p, 0, false, &s, NULL), 0);
    assert_int_equal(s.calls[1].depth, 0);
    assert_int_equal(s.calls[2].parent_start, 10);
    assert_int_equal(s.calls[3].parent_start, 0);
    assert_int_equal(s.calls[4].depth, 0);
    assert_int_not_equal(s.calls[0].lane, s.calls[1].lane);
    profile__destroy(p);
}

static void a_negative_duration_is_refused(void **state)
{
    static struct seen s;
    struct made_call calls[] = {{"a", 0, -1, 10, 9, -1}};
    struct profile *p = made_profile(calls, 1);
    struct err err = {0};

    (void)state;
    assert_int_equal(walk(p, 0, true, &s, &err), -EINVAL);
    assert_non_null(strstr(err.text, "ends before it starts"));
    profile__destroy(p);
}

/* ---- paths ---------------------------------------------------------------------------------------------------------- */
static void paths_add_up(void **state)
{
    struct made_call calls[] = {
        {"f", 0, -1, 0, 100, -1}, {"f", 0, -1, 10, 60, -1}, {"g", 0, -1, 20, 30, -1}, {"g", 0, -1, 40, 50, -1},
        {"g", 0, -1, 70, 75, -1},
    };
    struct profile *p = made_profile(calls, 5);
    struct paths_options options = {0};
    struct rank_rows rows;
    struct paths t;

    (void)state;
    assert_int_equal(rank_rows__init(&rows, p), 0);
    assert_int_equal(paths__init(&t, p, &rows, 0, &options, NULL), 0);
    assert_int_equal(t.n, 4); /* f, f > f, f > f > g, f > g */
    assert_int_equal(t.top, 100);
    assert_int_equal(t.nodes[0].self, 100 - 50 - 5);
    assert_int_equal(t.nodes[1].parent, 0);
    assert_int_equal(t.nodes[1].primitive, 0);
    assert_int_equal(t.nodes[2].calls, 2);
    assert_int_equal(t.nodes[2].total, 20);
    assert_int_equal(t.nodes[3].parent, 0);
    assert_int_equal(t.nodes[3].total, 5);
    paths__deinit(&t);
    rank_rows__deinit(&rows);
    profile__destroy(p);
}

/* ---- statistics ------------------------------------------------------------------------------------------------------ */
static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* numpy.percentile by its definition, on a sorted copy; in integers, so that halves round as they must. */
static int64_t percentile(const int64_t *sorted, size_t n, unsigned percent)
{
    size_t at = (n - 1) * percent, k = at / 100, rest = at % 100;

    return rest ? sorted[k] + (int64_t)(((__int128)(sorted[k + 1] - sorted[k]) * (int64_t)rest + 50) / 100) : sorted[k];
}

static void percentiles_are_exact(void **state)
{
    static struct made_call calls[MOST];
    static int64_t plain[MOST];

    (void)state;
    for (unsigned seed = 1; seed < 40; seed++) {
        unsigned r = seed;
        size_t n = seed < 10 ? seed : (size_t)rand_r(&r) % MOST + 1, n_plain = 0;
        int64_t now = 1000;
        struct view_options all = {0};
        struct profile *p;
        struct stats s;

        for (size_t i = 0; i < n; i++) {
            int64_t d = (int64_t)rand_r(&r) << (rand_r(&r) % (seed % 3 ? 12 : 1)) >> (rand_r(&r) % 30);
            int64_t flags = i && rand_r(&r) % 10 == 0 ? 1 : 0;

            calls[i] = (struct made_call){"r", 0, -1, now, now + d, flags};
            now += d + 1;
            if (!flags)
                plain[n_plain++] = d;
        }
        p = made_profile(calls, n);
        assert_int_equal(stats__init(&s, p, &all, NULL), 0);
        qsort(plain, n_plain, sizeof(*plain), compare_i64);
        assert_int_equal(s.regions[0].plain, n_plain);
        assert_int_equal(s.regions[0].flagged[0], n - n_plain);
        assert_int_equal(s.regions[0].min, plain[0]);
        assert_int_equal(s.regions[0].max, plain[n_plain - 1]);
        assert_int_equal(s.regions[0].p50, percentile(plain, n_plain, 50));
        assert_int_equal(s.regions[0].p95, percentile(plain, n_plain, 95));
        assert_int_equal(s.regions[0].p99, percentile(plain, n_plain, 99));
        stats__deinit(&s);
        profile__destroy(p);
    }
}

static void recursion_counts_once(void **state)
{
    struct made_call calls[] = {
        {"fib", 0, -1, 0, 100, -1}, {"fib", 0, -1, 10, 50, -1}, {"fib", 0, -1, 20, 30, -1}, {"leaf", 0, -1, 60, 80, -1},
        {"fib", 0, -1, 61, 79, -1}, {"fib", 0, -1, 200, 210, -1},
    };
    struct profile *p = made_profile(calls, 6);
    struct view_options all = {0};
    struct stats s;

    (void)state;
    assert_int_equal(stats__init(&s, p, &all, NULL), 0);
    assert_int_equal(s.regions[0].calls, 5);
    assert_int_equal(s.regions[0].primitive, 2);
    assert_int_equal(s.regions[0].total, 100 + 40 + 10 + 18 + 10);
    assert_int_equal(s.regions[0].inclusive, 110);
    assert_true(s.regions[0].has_exclusive);
    assert_int_equal(s.regions[0].exclusive, (100 - 40 - 20) + (40 - 10) + 10 + 18 + 10);
    assert_int_equal(s.regions[1].exclusive, 2);
    stats__deinit(&s);
    profile__destroy(p);
}

static void ranks_are_put_together(void **state)
{
    struct made_call calls[] = {
        {"a", 2, -1, 0, 10, -1}, {"a", 5, -1, 100, 130, -1}, {"a", 5, -1, 140, 150, -1}, {"b", 5, -1, 101, 111, -1},
    };
    struct profile *p = made_profile(calls, 4);
    const int32_t five[] = {5};
    struct view_options all = {0}, one = {.ranks = five, .n_ranks = 1};
    struct stats s;

    (void)state;
    assert_int_equal(stats__init(&s, p, &all, NULL), 0);
    assert_int_equal(s.regions[0].calls, 3);
    assert_int_equal(s.regions[0].total, 50);
    assert_int_equal(s.regions[0].p50, 10);
    assert_true(s.regions[0].mean > 16.66 && s.regions[0].mean < 16.67);
    assert_true(region_stats__deviation(&s.regions[0]) > 9.42 && region_stats__deviation(&s.regions[0]) < 9.43);
    assert_int_equal(s.lifetime, 10 + 50);
    stats__deinit(&s);
    assert_int_equal(stats__init(&s, p, &one, NULL), 0);
    assert_int_equal(s.regions[0].calls, 2);
    assert_int_equal(s.lifetime, 50);
    stats__deinit(&s);
    profile__destroy(p);
}

static void own_times_are_unknown_where_calls_cross(void **state)
{
    struct made_call calls[] = {{"a", 0, -1, 0, 10, -1}, {"b", 0, -1, 5, 15, -1}, {"a", 1, -1, 0, 10, -1}};
    struct profile *p = made_profile(calls, 3);
    struct view_options all = {0};
    struct stats s;

    (void)state;
    assert_int_equal(stats__init(&s, p, &all, NULL), 0);
    assert_int_equal(s.n_overlaps, 1);
    assert_false(s.regions[0].has_exclusive);
    assert_int_equal(s.regions[0].total, 20);
    assert_true(s.rows[2].has_exclusive);
    stats__deinit(&s);
    profile__destroy(p);
}

/* ---- the tree of regions ---------------------------------------------------------------------------------------------- */
static void regions_stand_below_the_one_that_called_them_most(void **state)
{
    struct made_call calls[] = {
        {"main", 0, -1, 0, 1000, -1},  {"solve", 0, -1, 10, 500, -1}, {"dot", 0, -1, 20, 200, -1},
        {"dot", 0, -1, 600, 610, -1},  {"io", 0, -1, 700, 900, -1},   {"odd", 0, -1, 2000, 2001, -1},
    };
    static const char *const order[] = {"main", "solve", "dot", "io", "odd"};
    static const unsigned depth[] = {0, 1, 2, 1, 0};
    struct profile *p = made_profile(calls, 6);
    struct view_options all = {0};
    struct region_tree t;
    struct stats s;

    (void)state;
    assert_int_equal(stats__init(&s, p, &all, NULL), 0);
    assert_int_equal(region_tree__init(&t, &s), 0);
    assert_int_equal(t.n, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_string_equal(p->regions[t.nodes[i].region].name.s, order[i]);
        assert_int_equal(t.nodes[i].depth, depth[i]);
    }
    assert_int_equal(t.nodes[2].others, 1);
    assert_int_equal(t.nodes[2].time, 180);
    region_tree__deinit(&t);
    stats__deinit(&s);
    profile__destroy(p);
}

static void regions_that_call_each_other_make_no_circle(void **state)
{
    struct made_call calls[] = {
        {"a", 0, -1, 0, 100, -1}, {"b", 0, -1, 10, 90, -1}, {"b", 0, -1, 200, 300, -1}, {"a", 0, -1, 210, 299, -1},
    };
    struct profile *p = made_profile(calls, 4);
    struct view_options all = {0};
    struct region_tree t;
    struct stats s;

    (void)state;
    assert_int_equal(stats__init(&s, p, &all, NULL), 0);
    assert_int_equal(region_tree__init(&t, &s), 0);
    assert_int_equal(t.n, 2);
    region_tree__deinit(&t);
    stats__deinit(&s);
    profile__destroy(p);
}

static void filters_hide_regions_and_keep_the_shape(void **state)
{
    struct made_call calls[] = {{"main", 0, -1, 0, 1000, -1}, {"solve", 0, -1, 10, 500, -1}, {"dot", 0, -1, 20, 200, -1}};
    static const char *const not_solve[] = {"sol*"};
    struct profile *p = made_profile(calls, 3);
    struct view_options options = {.exclude = not_solve, .n_exclude = 1};
    struct region_tree t;
    struct stats s;

    (void)state;
    assert_int_equal(stats__init(&s, p, &options, NULL), 0);
    assert_int_equal(region_tree__init(&t, &s), 0);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.nodes[1].depth, 1);
    assert_int_equal(t.nodes[1].time, -1); /* no share of a parent that is not its own */
    assert_int_equal(s.regions[0].exclusive, 1000 - 490);
    region_tree__deinit(&t);
    stats__deinit(&s);
    profile__destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_trees),
        cmocka_unit_test(calls_that_touch_are_siblings),
        cmocka_unit_test(the_longer_of_two_that_start_together_is_outside),
        cmocka_unit_test(an_overlap_names_both_calls),
        cmocka_unit_test(split_puts_what_crosses_on_a_track_of_its_own),
        cmocka_unit_test(lanes_do_not_nest_in_each_other),
        cmocka_unit_test(a_negative_duration_is_refused),
        cmocka_unit_test(paths_add_up),
        cmocka_unit_test(percentiles_are_exact),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(ranks_are_put_together),
        cmocka_unit_test(own_times_are_unknown_where_calls_cross),
        cmocka_unit_test(regions_stand_below_the_one_that_called_them_most),
        cmocka_unit_test(regions_that_call_each_other_make_no_circle),
        cmocka_unit_test(filters_hide_regions_and_keep_the_shape),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
