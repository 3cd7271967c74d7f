// SPDX-License-Identifier: GPL-2.0-only
/* From captures to profiles: calls, threads, regions, metadata, and what is broken or missing. */
#include "rebuilt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define T BUILD_START
#define A (SB_REGION_FIRST)
#define B (SB_REGION_FIRST + 1)
#define C (SB_REGION_FIRST + 2)

static void regions_a_b_c(struct capture_builder *b)
{
    build_region(b, A, 0, "scope", "a", "main.c", 10);
    build_region(b, B, 0, "scope", "b", "main.c", 20);
    build_region(b, C, 0, "scope", "c", NULL, -1);
}

static void end_of_lane(struct capture_builder *b, uint64_t records)
{
    build_lane_end(
        b,
        &(struct build_lane_end){
            .id = 1, .records = records, .why = SB_END_EXIT, .end = T + 5000, .cpu = 4321, .name = "heat"});
    build_image_end(b, 1, T + 5001, 0, 0);
    build_end(b, T + 6000, "command ended");
}

static void start(struct capture_builder *b)
{
    *b = (struct capture_builder){0};
    build_one_process(b, 77);
    regions_a_b_c(b);
}

static void done(struct capture_builder *b, struct profile *p)
{
    profile__destroy(p);
    builder__deinit(b);
}

static void nested_calls(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, B, 1, T + 20, T + 50, 0);
    build_call(&b, 1, C, 2, T + 62, T + 65, 0);
    build_call(&b, 2, B, 1, T + 60, T + 80, 0);
    build_call(&b, 3, A, 0, T + 10, T + 100, 0);
    build_calls_done(&b);
    end_of_lane(&b, 4);
    p = rebuilt(&b);
    assert_int_equal(p->n_ranks, 1);
    assert_int_equal(p->ranks[0].number, 0);
    row = row_of(p, "a", 0);
    assert_int_equal(row->count, 1);
    assert_int_equal(row->exclusive_total, 90 - 30 - 20);
    assert_int_equal(row->source_line, 10);
    assert_true(text_is(row->source_file, "main.c"));
    assert_null(parent_name(p, row, 0));
    row = row_of(p, "b", 0);
    assert_int_equal(row->count, 2);
    assert_true(call_start(p, row, 0) == T + 20 && call_end(p, row, 1) == T + 80);
    assert_int_equal(row->exclusive_total, 30 + 17);
    assert_string_equal(parent_name(p, row, 1), "a");
    row = row_of(p, "c", 0);
    assert_string_equal(parent_name(p, row, 0), "b");
    assert_int_equal(call_value(p, row, 0, COLUMN_PARENT_ID), 2); /* the second b: a 0, b 1, b 2, c 3 */
    assert_int_equal(row->source_line, -1);
    assert_int_equal(p->extra[COLUMN_FLAGS].n, 0);
    assert_true(text_is(p->how_ended, "command ended"));
    assert_int_equal(p->n_losses, 0);
    assert_int_equal(p->n_notes, 0);
    done(&b, p);
}

/* fib: the outermost call has the latest record. */
static uint32_t fib(struct capture_builder *b, int n, uint32_t *seq, uint16_t depth, int64_t *now)
{
    int64_t began = (*now)++;
    uint32_t calls = 1;

    if (n > 1)
        calls += fib(b, n - 1, seq, depth + 1, now) + fib(b, n - 2, seq, depth + 1, now);
    build_call(b, (*seq)++, A, depth, began, (*now)++, 0);
    return calls;
}

static void recursion(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;
    int64_t now = T, own = 0;
    uint32_t seq = 0, calls;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    calls = fib(&b, 20, &seq, 0, &now);
    build_calls_done(&b);
    end_of_lane(&b, seq);
    assert_int_equal(calls, 21891);
    p = rebuilt(&b);
    row = row_of(p, "a", 0);
    assert_int_equal(row->count, calls);
    for (uint64_t i = 0, roots = 0; i < row->count; i++) {
        roots += call_value(p, row, i, COLUMN_PARENT_ID) < 0;
        own += call_value(p, row, i, COLUMN_EXCLUSIVE_NS);
        if (i + 1 == row->count)
            assert_int_equal(roots, 1);
    }
    assert_int_equal(own, now - 1 - T); /* the time of the outermost call */
    done(&b, p);
}

/* BEGIN a, BEGIN b, END a, END b. */
static void overlapping_calls_are_joined(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    for (uint32_t i = 0; i < 3; i++) {
        int64_t t = T + 100 * i;

        build_call(&b, 3 * i, B, 1, t + 10, t + 20, SB_CALL_ABANDONED);
        build_call(&b, 3 * i + 1, A, 0, t, t + 20, 0);
        build_unmatched(&b, 3 * i + 2, B, t + 30);
    }
    build_calls_done(&b);
    end_of_lane(&b, 9);
    p = rebuilt(&b);
    row = row_of(p, "b", 0);
    assert_int_equal(row->count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(call_start(p, row, (uint64_t)i), T + 100 * i + 10);
        assert_int_equal(call_end(p, row, (uint64_t)i), T + 100 * i + 30);
        assert_int_equal(call_value(p, row, (uint64_t)i, COLUMN_FLAGS), SB_CALL_OVERLAPPING);
        assert_int_equal(call_value(p, row, (uint64_t)i, COLUMN_EXCLUSIVE_NS), -1);
        assert_string_equal(parent_name(p, row, (uint64_t)i), "a");
    }
    assert_int_equal(row->exclusive_total, -1);
    row = row_of(p, "a", 0);
    assert_int_equal(row->exclusive_total, 30);
    assert_int_equal(call_value(p, row, 0, COLUMN_FLAGS), 0);
    assert_int_equal(p->ranks[0].unmatched, 0);
    assert_int_equal(p->calls_abandoned, 0);
    done(&b, p);
}

static void abandoned_calls_pair_with_later_ends_as_brackets(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_unmatched(&b, 0, B, T + 1); /* an end before any begin: of nothing */
    build_call(&b, 1, B, 2, T + 12, T + 20, SB_CALL_ABANDONED);
    build_call(&b, 2, B, 1, T + 11, T + 20, SB_CALL_ABANDONED);
    build_call(&b, 3, A, 0, T + 10, T + 20, 0);
    build_unmatched(&b, 4, B, T + 30);
    build_unmatched(&b, 5, C, T + 35); /* another name */
    build_unmatched(&b, 6, B, T + 40);
    build_unmatched(&b, 7, B, T + 50); /* one too many */
    build_calls_done(&b);
    end_of_lane(&b, 8);
    p = rebuilt(&b);
    row = row_of(p, "b", 0);
    assert_int_equal(row->count, 2);
    /* The first end after it belongs to the innermost of those begun; two are left over. */
    assert_int_equal(call_end(p, row, 0) + call_end(p, row, 1), 2 * T + 30 + 40);
    assert_true(call_end(p, row, 0) > call_end(p, row, 1));
    assert_int_equal(p->ranks[0].unmatched, 3);
    assert_int_equal(p->ranks[0].begun_before, 0);
    done(&b, p);
}

static void abandoned_without_an_end_stays_abandoned(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        build_call(&b, 2 * i, B, 1, T + 10 * i + 1, T + 10 * i + 3, SB_CALL_ABANDONED);
        build_call(&b, 2 * i + 1, A, 0, T + 10 * i, T + 10 * i + 3, 0);
    }
    build_calls_done(&b);
    end_of_lane(&b, 2000);
    p = rebuilt(&b);
    row = row_of(p, "b", 0);
    assert_int_equal(row->count, 1000);
    assert_int_equal(call_value(p, row, 999, COLUMN_FLAGS), SB_CALL_ABANDONED);
    assert_int_equal(row->exclusive_total, 2000);
    assert_int_equal(p->calls_abandoned, 1000);
    row = row_of(p, "a", 0);
    assert_int_equal(row->count, 1000);
    assert_int_equal(call_value(p, row, 5, COLUMN_FLAGS), 0);
    assert_int_equal(row->exclusive_total, 1000);
    done(&b, p);
}

static void ends_of_what_was_open_before_are_counted_apart(void **state)
{
    struct capture_builder b = {0};
    struct profile *p;

    (void)state;
    build_header(&b);
    regions_a_b_c(&b);
    build_image(
        &b,
        &(struct build_image){
            .id = 1, .how = CAPTURE_IMAGE_RUNNING, .pid = 5, .start = T - 5000, .time = T, .path = "server"});
    build_lane(&b, &(struct build_lane){.id = 1, .image = 1, .tid = 5, .start = T - 5000, .time = T + 3});
    build_calls(&b, 1, 0);
    build_unmatched(&b, 0, A, T + 3);
    build_call(&b, 1, A, 0, T + 10, T + 20, 0);
    build_calls_done(&b);
    build_lane_end(
        &b, &(struct build_lane_end){.id = 1, .records = 2, .why = SB_END_DETACH, .end = T + 90, .cpu = 3});
    build_end(&b, T + 100, "detached");
    p = rebuilt(&b);
    assert_int_equal(p->ranks[0].begun_before, 1);
    assert_int_equal(p->ranks[0].unmatched, 0);
    assert_int_equal(row_of(p, "a", 0)->count, 1);
    assert_int_equal(p->ranks[0].threads[0].start_ns, 0);
    assert_int_equal(p->ranks[0].threads[0].end_ns, -1);
    done(&b, p);
}

/* 0: a(  b( x ) [lost 1] c ) — the lost one was inside c's surroundings, not inside the first b. */
static void a_gap_makes_exclusive_times_around_it_uncertain(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, B, 1, T + 10, T + 20, 0); /* before the gap: certain */
    build_call(&b, 2, C, 2, T + 32, T + 35, 0); /* right behind it: uncertain */
    build_call(&b, 3, B, 1, T + 25, T + 40, 0); /* open then: uncertain */
    build_call(&b, 4, B, 1, T + 50, T + 60, 0); /* later: certain */
    build_call(&b, 5, A, 0, T + 1, T + 100, 0); /* open then, and at the record before: uncertain */
    build_call(&b, 6, A, 0, T + 200, T + 300, 0);
    build_calls_done(&b);
    end_of_lane(&b, 9); /* two more were lost at the end */
    p = rebuilt(&b);
    row = row_of(p, "b", 0);
    assert_int_equal(call_value(p, row, 0, COLUMN_EXCLUSIVE_NS), 10);
    assert_int_equal(call_value(p, row, 1, COLUMN_EXCLUSIVE_NS), -1);
    assert_int_equal(call_value(p, row, 2, COLUMN_EXCLUSIVE_NS), 10);
    assert_int_equal(call_end(p, row, 1) - call_start(p, row, 1), 15); /* inclusive time is as it was */
    assert_int_equal(row->exclusive_total, -1);
    row = row_of(p, "a", 0);
    assert_int_equal(call_value(p, row, 0, COLUMN_EXCLUSIVE_NS), -1);
    assert_int_equal(call_value(p, row, 1, COLUMN_EXCLUSIVE_NS), 100);
    assert_int_equal(call_value(p, row_of(p, "c", 0), 0, COLUMN_EXCLUSIVE_NS), -1);
    assert_int_equal(p->extra[COLUMN_FLAGS].n, 0); /* a gap is no flag: the calls themselves are right */
    assert_int_equal(lost(p, "missing in the capture", false), 3);
    done(&b, p);
}

static void a_gap_leaves_outer_calls_certain(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, C, 2, T + 11, T + 12, 0);
    build_call(&b, 2, C, 2, T + 15, T + 16, 0); /* one was lost inside b or inside this c */
    build_call(&b, 3, B, 1, T + 10, T + 20, 0);
    build_call(&b, 4, A, 0, T + 1, T + 100, 0);
    build_calls_done(&b);
    end_of_lane(&b, 5);
    p = rebuilt(&b);
    assert_int_equal(row_of(p, "a", 0)->exclusive_total, 89);
    assert_int_equal(row_of(p, "b", 0)->exclusive_total, -1);
    done(&b, p);
}

static void blocks_out_of_order(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 3);
    build_call(&b, 3, A, 0, T + 30, T + 31, 0);
    build_call(&b, 5, A, 0, T + 50, T + 51, 0);
    build_calls_done(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, A, 0, T + 0, T + 1, 0);
    build_call(&b, 4, A, 0, T + 40, T + 41, 0);
    build_calls_done(&b);
    build_calls(&b, 1, 1);
    build_call(&b, 1, A, 0, T + 10, T + 11, 0);
    build_call(&b, 2, A, 0, T + 20, T + 21, 0);
    build_call(&b, 3, A, 0, T + 30, T + 31, 0); /* twice */
    build_calls_done(&b);
    end_of_lane(&b, 6);
    p = rebuilt(&b);
    row = row_of(p, "a", 0);
    assert_int_equal(row->count, 6);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(call_start(p, row, i), T + 10 * (int64_t)i);
    assert_int_equal(p->n_losses, 0);
    assert_true(has_note(p, "1 calls stand twice"));
    done(&b, p);
}

/* Sequence numbers have 32 bits; a lane goes on behind them. */
static void sequence_numbers_wrap(void **state)
{
    static const uint32_t firsts[] = {0, 0x60000000u, 0xc0000000u, 0xfffffffeu, 2};
    struct capture_builder b;
    struct profile *p;

    (void)state;
    start(&b);
    for (int i = 0; i < 5; i++) {
        build_calls(&b, 1, firsts[i]);
        for (uint32_t k = 0; k < 4; k++)
            build_call(&b, firsts[i] + k, A, 0, T + 100 * i + k * 10, T + 100 * i + k * 10 + 5, 0);
        build_calls_done(&b);
    }
    end_of_lane(&b, 6);
    p = rebuilt(&b);
    assert_int_equal(row_of(p, "a", 0)->count, 20);
    assert_int_equal(lost(p, "", false), (1ull << 32) + 6 - 20);
    done(&b, p);
}

static void threads_have_tables(void **state)
{
    struct capture_builder b;
    const struct thread_row *t;
    struct profile *p;

    (void)state;
    start(&b);
    build_lane(&b, &(struct build_lane){.id = 9, .image = 1, .tid = 79, .start = T + 400, .time = T + 405});
    build_lane(&b, &(struct build_lane){
                       .id = 3, .image = 1, .tid = 78, .start = T + 300, .time = T + 305, .name = "early"});
    for (uint32_t lane = 9; lane; lane = lane == 9 ? 3 : lane == 3 ? 1 : 0) {
        build_calls(&b, lane, 0);
        build_call(&b, 0, A, 0, T + 500 - lane, T + 600, 0);
        build_calls_done(&b);
    }
    build_lane_end(&b,
                   &(struct build_lane_end){
                       .id = 3, .records = 1, .why = SB_END_EXIT, .end = T + 700, .cpu = 42, .name = "late"});
    end_of_lane(&b, 1);
    p = rebuilt(&b);
    assert_int_equal(p->ranks[0].n_threads, 3);
    t = p->ranks[0].threads;
    assert_int_equal(t[0].native_id, 77);
    assert_int_equal(t[0].start_ns, 0);
    assert_int_equal(t[0].end_ns, 5000);
    assert_int_equal(t[0].cpu_ns, 4321);
    assert_int_equal(t[1].native_id, 78);
    assert_int_equal(t[1].start_ns, 300);
    assert_int_equal(t[1].end_ns, 700);
    assert_int_equal(t[1].cpu_ns, 42);
    assert_true(text_is(t[0].name, "heat") && text_is(t[1].name, "late") && text_is(t[2].name, ""));
    assert_int_equal(t[2].native_id, 79);
    assert_int_equal(t[2].end_ns, 5001); /* its process ended */
    assert_int_equal(t[2].cpu_ns, -1);
    for (uint64_t i = 0; i < 3; i++) /* by start: lane 9, 3, 1 */
        assert_int_equal(call_value(p, row_of(p, "a", 0), i, COLUMN_THREAD_ID), 2 - (int64_t)i);
    done(&b, p);
}

static void truncated_calls_end_with_their_thread(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, A, 0, T + 10, T + 9000, SB_CALL_TRUNCATED);
    build_calls_done(&b);
    end_of_lane(&b, 1);
    p = rebuilt(&b);
    row = row_of(p, "a", 0);
    assert_int_equal(call_end(p, row, 0), T + 5000);
    assert_int_equal(call_value(p, row, 0, COLUMN_FLAGS), SB_CALL_TRUNCATED);
    done(&b, p);
}

static void names_of_providers_and_dynamic_names(void **state)
{
    struct capture_builder b = {0};
    struct profile *p;

    (void)state;
    build_one_process(&b, 77);
    build_region(&b, SB_REGION_FIRST, 0, "scope", "solve", NULL, -1);
    build_region(&b, SB_REGION_FIRST + 1, 0, "postgresql", "query", NULL, -1);
    build_region(&b, SB_REGION_FIRST + 2, 0, "scope", "postgresql:query", NULL, -1);
    build_region(&b, SB_REGION_FIRST_DYNAMIC, 1, "scope", "solve", "late.c", 3);
    build_region(&b, SB_REGION_FIRST_DYNAMIC + 1, 1, "scope", "100 % {\xc3\xa4}", NULL, -1);
    build_region(&b, SB_REGION_FIRST_DYNAMIC + 2, 1, "scope", "never called", NULL, -1);
    build_calls(&b, 1, 0);
    for (uint32_t i = 0; i < 3; i++)
        build_call(&b, i, SB_REGION_FIRST + i, 0, T + 10 * i, T + 10 * i + 5, 0);
    for (uint32_t i = 3; i < 5; i++)
        build_call(&b, i, SB_REGION_FIRST_DYNAMIC + i - 3, 0, T + 10 * i, T + 10 * i + 5, 0);
    build_call(&b, 5, SB_REGION_OTHER, 0, T + 60, T + 61, 0);
    build_call(&b, 6, SB_REGION_FIRST + 9, 0, T + 70, T + 71, 0);
    build_calls_done(&b);
    end_of_lane(&b, 7);
    p = rebuilt(&b);
    assert_int_equal(row_of(p, "solve", 0)->count, 2); /* known at compile time and at run time: one region */
    assert_int_equal(row_of(p, "solve", 0)->source_line, 3);
    assert_int_equal(row_of(p, "postgresql:query", 0)->count, 1);
    assert_int_equal(row_of(p, "postgresql:query~2", 0)->count, 1);
    assert_int_equal(row_of(p, "100 % {\xc3\xa4}", 0)->count, 1);
    assert_int_equal(row_of(p, "(other names)", 0)->count, 1);
    assert_int_equal(row_of(p, "(region 65547)", 0)->count, 1);
    assert_false(has_row(p, "never called", 0));
    assert_int_equal(p->n_regions, 6);
    done(&b, p);
}

/* Left out by --exclude: what it called belongs to the call above, also when its name came late. */
static void hidden_regions(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct capture_builder b = {0};
        struct profile *p;

        build_one_process(&b, 77);
        build_region(&b, A, 0, "scope", "a", NULL, -1);
        build_region(&b, C, 0, "scope", "c", NULL, -1);
        if (!late)
            build_region(&b, SB_REGION_FIRST_DYNAMIC, 3, "scope", "hidden", NULL, -1);
        build_calls(&b, 1, 0);
        build_call(&b, 0, C, 1, T + 11, T + 15, 0);
        build_call(&b, 1, C, 2, T + 25, T + 35, 0);
        build_call(&b, 2, SB_REGION_FIRST_DYNAMIC, 1, T + 20, T + 40, 0);
        build_unmatched(&b, 3, SB_REGION_FIRST_DYNAMIC, T + 45);
        build_call(&b, 4, A, 0, T + 10, T + 50, 0);
        build_calls_done(&b);
        if (late)
            build_region(&b, SB_REGION_FIRST_DYNAMIC, 3, "scope", "hidden", NULL, -1);
        end_of_lane(&b, 5);
        p = rebuilt(&b);
        assert_int_equal(p->start.n, 3);
        assert_int_equal(row_of(p, "a", 0)->exclusive_total, 40 - 4 - 10);
        assert_string_equal(parent_name(p, row_of(p, "c", 0), 1), "a");
        assert_int_equal(p->ranks[0].unmatched, 0);
        assert_int_equal(p->processes[0].calls, 3);
        assert_int_equal(p->n_losses, 0);
        done(&b, p);
    }
}

static void text_is_meta(const struct profile *p, const char *key, const char *expected)
{
    const struct meta *m = profile__meta(p, key);

    if (!m || m->kind != META_TEXT || !text_is(m->text, expected))
        fail_msg("%s is not \"%s\" but \"%s\"", key, expected, m ? m->text.s : "(absent)");
}

static void metadata(void **state)
{
    static const char *const modules[] = {"gcc/12", "openmpi/4"};
    struct capture_builder b;
    struct profile *p;

    (void)state;
    start(&b);
    build_meta_text(&b, "label", "first light");
    build_meta_int(&b, "total_cores", 64);
    build_meta_list(&b, "modules", modules, 2);
    build_calls(&b, 1, 0);
    build_call(&b, 0, A, 0, T + 10, T + 20, 0);
    build_calls_done(&b);
    end_of_lane(&b, 1);
    p = rebuilt(&b);
    text_is_meta(p, "timestamp", "2025-11-30T04:29:00.123456+00:00");
    text_is_meta(p, "label", "first light");
    text_is_meta(p, "source", "native");
    text_is_meta(p, "scope.run_id", "30313233343536373839616263646566");
    text_is_meta(p, "scope.architecture", "x86_64");
    assert_int_equal(profile__meta(p, "start_time_ns")->integer, T);
    assert_int_equal(profile__meta(p, "finalize_time_ns")->integer, T + 6000);
    assert_int_equal(profile__meta(p, "mpi_size")->integer, 1);
    assert_int_equal(profile__meta(p, "total_cores")->integer, 64);
    assert_int_equal(profile__meta(p, "modules")->n_list, 2);
    assert_true(text_is(profile__meta(p, "modules")->list[1], "openmpi/4"));
    assert_true(text_is(p->source, "capture"));
    assert_true(text_is(p->ranks[0].file, "test.scope"));
    done(&b, p);
}

static void folders_and_command_lines_only_in_full_detail(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        struct capture_builder b;
        struct profile *p;

        start(&b);
        build_meta_text(&b, "scope.detail", full ? "full" : "minimal");
        build_calls(&b, 1, 0);
        build_call(&b, 0, A, 0, T + 10, T + 20, 0);
        build_calls_done(&b);
        end_of_lane(&b, 1);
        p = rebuilt(&b);
        assert_true(text_is(p->processes[0].path, full ? "/home/ada/bin/heat" : "heat"));
        if (full)
            assert_true(text_is(p->processes[0].command, "heat -n 10"));
        else
            assert_int_equal(p->processes[0].command.len, 0);
        done(&b, p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_calls),
        cmocka_unit_test(recursion),
        cmocka_unit_test(overlapping_calls_are_joined),
        cmocka_unit_test(abandoned_calls_pair_with_later_ends_as_brackets),
        cmocka_unit_test(abandoned_without_an_end_stays_abandoned),
        cmocka_unit_test(ends_of_what_was_open_before_are_counted_apart),
        cmocka_unit_test(a_gap_makes_exclusive_times_around_it_uncertain),
        cmocka_unit_test(a_gap_leaves_outer_calls_certain),
        cmocka_unit_test(blocks_out_of_order),
        cmocka_unit_test(sequence_numbers_wrap),
        cmocka_unit_test(threads_have_tables),
        cmocka_unit_test(truncated_calls_end_with_their_thread),
        cmocka_unit_test(names_of_providers_and_dynamic_names),
        cmocka_unit_test(hidden_regions),
        cmocka_unit_test(metadata),
        cmocka_unit_test(folders_and_command_lines_only_in_full_detail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
