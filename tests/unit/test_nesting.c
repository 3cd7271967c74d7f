// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs, run by a small model of what happens inside the kernel, which also keeps the truth: who
 * called whom, for how long, what it did itself.  Their records are then lost, split into blocks and
 * shuffled.
 */
#include "rebuilt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define N_REGIONS  6
#define MOST_CALLS 4000

struct true_call {
    int64_t start, end, exclusive, parent; /* parent: index of the true call, -1 */
    int64_t children;
    uint32_t seq, region, thread;
    uint16_t depth;
    uint8_t flags;
    bool lost, touched; /* touched: a child of it was lost */
};

struct truth {
    struct true_call calls[MOST_CALLS];
    int n;
    uint32_t records[8]; /* per thread */
};

/*
 * One thread: begins, ends and jumps at random, at least `least` ns apart; every call gets its record at its
 * end.  (Where moments coincide and records are lost, nobody can tell any more who was inside whom.)
 */
static void run_thread(struct truth *t, uint32_t thread, int steps, int least, unsigned *seed)
{
    int stack[64], depth = 0;
    int64_t now = BUILD_START + rand_r(seed) % 1000;

    for (int i = 0; i < steps || depth; i++) {
        bool begin = i < steps && depth < 60 && (!depth || rand_r(seed) % 2);

        now += least + rand_r(seed) % 5;
        if (begin) {
            t->calls[t->n] = (struct true_call){
                .start = now,
                .parent = depth ? stack[depth - 1] : -1,
                .thread = thread,
                .depth = (uint16_t)depth,
                .region = (uint32_t)rand_r(seed) % N_REGIONS,
            };
            stack[depth++] = t->n++;
            continue;
        }
        /* a long jump closes several at one moment: the inner ones abandoned */
        for (int close = rand_r(seed) % 10 ? 1 : 1 + rand_r(seed) % depth; close > 0; close--) {
            struct true_call *c = &t->calls[stack[--depth]];

            c->end = now;
            c->seq = t->records[thread]++;
            c->flags = close > 1 ? SB_CALL_ABANDONED : 0;
            c->exclusive = c->end - c->start - c->children;
            if (c->parent >= 0)
                t->calls[c->parent].children += c->end - c->start;
        }
    }
}

static void lose_some(struct truth *t, int percent, unsigned *seed)
{
    for (int i = 0; i < t->n; i++) {
        struct true_call *c = &t->calls[i];

        c->lost = rand_r(seed) % 100 < percent;
        if (c->lost && c->parent >= 0)
            t->calls[c->parent].touched = true;
    }
}

static const struct true_call *by_seq(const struct truth *t, uint32_t thread, uint32_t seq)
{
    for (int i = 0; i < t->n; i++)
        if (t->calls[i].thread == thread && t->calls[i].seq == seq)
            return &t->calls[i];
    fail_msg("no record %u of thread %u", seq, thread);
    return NULL;
}

/* Writes records [from, to) of a thread: all, or every other one (the rest comes in another block). */
static void write_block(struct capture_builder *b, const struct truth *t, uint32_t thread, uint32_t from,
                        uint32_t to, uint32_t step)
{
    build_calls(b, thread + 1, from);
    for (uint32_t seq = from; seq < to; seq += step) {
        const struct true_call *c = by_seq(t, thread, seq);

        if (!c->lost)
            build_call(b, seq, SB_REGION_FIRST + c->region, c->depth, c->start, c->end, c->flags);
    }
    build_calls_done(b);
}

/* Pieces of any size, some of them interleaved with the next, in an order that is mixed up. */
static void write_thread(struct capture_builder *b, const struct truth *t, uint32_t thread, unsigned *seed)
{
    uint32_t cuts[256], n = 0, at = 0;

    while (at < t->records[thread] && n < 255) {
        cuts[n++] = at;
        at += 1 + (uint32_t)rand_r(seed) % 40;
    }
    cuts[n] = t->records[thread];
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        write_block(b, t, thread, cuts[i + 1], cuts[i + 2], 1);
        if (rand_r(seed) % 2) {
            write_block(b, t, thread, cuts[i] + 1 < cuts[i + 1] ? cuts[i] + 1 : cuts[i + 1], cuts[i + 1], 2);
            write_block(b, t, thread, cuts[i], cuts[i + 1], 2);
        } else {
            write_block(b, t, thread, cuts[i], cuts[i + 1], 1);
            write_block(b, t, thread, cuts[i], cuts[i + 1], 1); /* twice: counted once */
        }
    }
    if (n % 2)
        write_block(b, t, thread, cuts[n - 1], cuts[n], 1);
}

static void write_capture(struct capture_builder *b, const struct truth *t, uint32_t threads, unsigned *seed)
{
    static const char *const names[N_REGIONS] = {"a", "b", "c", "d", "e", "f"};

    build_one_process(b, 100);
    for (uint32_t i = 0; i < N_REGIONS; i++)
        build_region(b, SB_REGION_FIRST + i, 0, "scope", names[i], "x.c", 1 + (int64_t)i);
    for (uint32_t i = 1; i < threads; i++)
        build_lane(b, &(struct build_lane){.id = i + 1,
                                           .image = 1,
                                           .tid = 100 + i,
                                           .start = BUILD_START + i,
                                           .time = BUILD_START + i,
                                           .name = "worker"});
    for (uint32_t i = threads; i-- > 0;)
        write_thread(b, t, i, seed);
    for (uint32_t i = 0; i < threads; i++)
        build_lane_end(b, &(struct build_lane_end){.id = i + 1,
                                                   .records = t->records[i],
                                                   .why = SB_END_EXIT,
                                                   .end = BUILD_START + 1000000,
                                                   .cpu = 7});
    build_end(b, BUILD_START + 2000000, "command ended");
}

/* The call that came out for a true one: the only one of that region and thread with that start and end. */
static int64_t place_of(const struct profile *p, const struct true_call *c, const int64_t *taken)
{
    static const char *const names[N_REGIONS] = {"a", "b", "c", "d", "e", "f"};
    const struct row *row = row_of(p, names[c->region], 0);

    for (uint64_t i = 0; i < row->count; i++) {
        if (call_start(p, row, i) == c->start && call_end(p, row, i) == c->end && !taken[row->offset + i] &&
            call_value(p, row, i, COLUMN_THREAD_ID) == c->thread)
            return (int64_t)(row->offset + i);
    }
    fail_msg("call of %s at %lld is not there", names[c->region], (long long)c->start);
    return -1;
}

/* The nearest call around it that was not lost. */
static int64_t known_parent(const struct truth *t, int i)
{
    int64_t parent = t->calls[i].parent;

    while (parent >= 0 && t->calls[parent].lost)
        parent = t->calls[parent].parent;
    return parent;
}

/* Calls of one region, thread, start and end cannot be told apart: then only their number is compared. */
static bool is_unique(const struct truth *t, int i)
{
    const struct true_call *c = &t->calls[i];

    for (int k = 0; k < t->n; k++) {
        const struct true_call *d = &t->calls[k];

        if (k != i && c->thread == d->thread && c->region == d->region && c->start == d->start &&
            c->end == d->end)
            return false;
    }
    return true;
}

static void compare(const struct profile *p, const struct truth *t)
{
    int64_t *place = calloc((size_t)t->n + 1, sizeof(*place)),
            *taken = calloc(p->start.n + 1, sizeof(*taken));
    uint64_t kept = 0, missing = 0, uncertain = 0;

    for (int i = 0; i < t->n; i++) {
        missing += t->calls[i].lost;
        if (t->calls[i].lost)
            continue;
        place[i] = place_of(p, &t->calls[i], taken);
        taken[place[i]] = 1;
        kept++;
    }
    assert_int_equal(p->start.n, kept);
    assert_int_equal(lost(p, "", false), missing);
    for (int i = 0; i < t->n; i++) {
        const struct true_call *c = &t->calls[i];
        int64_t parent = known_parent(t, i), exclusive;

        if (c->lost || !is_unique(t, i) || (parent >= 0 && !is_unique(t, (int)parent)))
            continue;
        exclusive = column_i64(&p->extra[COLUMN_EXCLUSIVE_NS])[place[i]];
        assert_int_equal(p->extra[COLUMN_FLAGS].n ? column_i64(&p->extra[COLUMN_FLAGS])[place[i]] : 0,
                         c->flags);
        assert_int_equal(column_i64(&p->extra[COLUMN_PARENT_ID])[place[i]],
                         parent < 0 ? -1 : column_i64(&p->extra[COLUMN_CALL_ID])[place[parent]]);
        /* never a wrong number: right, or "uncertain"; and where nothing of it was lost nearby, right */
        if (exclusive != -1)
            assert_int_equal(exclusive, c->exclusive);
        else
            uncertain++;
        if (c->touched)
            assert_int_equal(exclusive, -1);
        if (!missing)
            assert_int_equal(exclusive, c->exclusive);
    }
    if (!missing)
        assert_int_equal(uncertain, 0);
    free(place);
    free(taken);
}

static void run_and_compare(unsigned seed, uint32_t threads, int steps, int percent)
{
    struct truth *t = calloc(1, sizeof(*t));
    struct capture_builder b = {0};
    struct profile *p;

    assert_non_null(t);
    for (uint32_t i = 0; i < threads; i++)
        run_thread(t, i, steps, percent ? 1 : 0, &seed);
    lose_some(t, percent, &seed);
    write_capture(&b, t, threads, &seed);
    p = rebuilt(&b);
    compare(p, t);
    assert_false(has_note(p, "contradict"));
    profile__destroy(p);
    builder__deinit(&b);
    free(t);
}

static void random_programs_without_loss(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++)
        run_and_compare(seed, 1 + seed % 4, (int)(20 + seed * 17 % 900), 0);
}

static void random_programs_with_loss(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++)
        run_and_compare(seed, 1 + seed % 4, (int)(20 + seed * 17 % 900), 1 + (int)(seed % 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_without_loss),
        cmocka_unit_test(random_programs_with_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
