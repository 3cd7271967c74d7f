// SPDX-License-Identifier: GPL-2.0-only
/* Captures that are cut, damaged, contradictory or old: what is there comes out, and the rest is said. */
#include "rebuilt.h"
#include "reconstruct.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void an_unfinished_capture_gives_what_is_there(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, A, 0, T + 10, T + 20, 0);
    build_calls_done(&b);
    p = rebuilt(&b);
    assert_true(text_is(p->how_ended, "unfinished"));
    assert_true(has_note(p, "not finished"));
    assert_int_equal(row_of(p, "a", 0)->count, 1);
    assert_int_equal(p->ranks[0].threads[0].end_ns, -1);
    assert_int_equal(profile__meta(p, "finalize_time_ns")->integer, T + 20);
    assert_int_equal(p->n_losses, 0);
    done(&b, p);
}

static void a_damaged_capture_says_where(void **state)
{
    struct capture_builder b;
    struct profile *p;
    size_t good;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, A, 0, T + 10, T + 20, 0);
    build_calls_done(&b);
    good = b.file.len;
    end_of_lane(&b, 1);
    b.file.data[good + 30] ^= 4;
    p = rebuilt(&b);
    assert_true(text_is(p->how_ended, "unfinished"));
    assert_true(has_note(p, "damaged at byte"));
    assert_int_equal(row_of(p, "a", 0)->count, 1);
    done(&b, p);
}

static void everything(struct capture_builder *b)
{
    start(b);
    build_meta_text(b, "label", "x");
    build_image(b, &(struct build_image){.id = 2,
                                         .from = 1,
                                         .how = CAPTURE_IMAGE_FORK,
                                         .pid = 80,
                                         .parent = 77,
                                         .start = T + 50,
                                         .time = T + 50,
                                         .env = {{"SCOPE_RANK", "3"}}});
    build_lane(b,
               &(struct build_lane){
                   .id = 2, .image = 2, .tid = 80, .flags = SB_LANE_FORKED, .start = T + 50, .time = T + 60});
    build_module(b, &(struct build_module){.image = 1,
                                           .start = 0x1000,
                                           .end = 0x2000,
                                           .bias = 0x1000,
                                           .known = true,
                                           .time = T,
                                           .path = "/bin/heat",
                                           .build_id = "\1\2",
                                           .build_id_len = 2});
    build_calls(b, 1, 0);
    build_call(b, 0, B, 1, T + 20, T + 50, SB_CALL_ABANDONED);
    build_call(b, 1, A, 0, T + 10, T + 100, 0);
    build_unmatched(b, 2, B, T + 110);
    build_calls_done(b);
    build_calls(b, 2, 0);
    build_call(b, 0, A, 0, T + 70, T + 71, 0);
    build_calls_done(b);
    build_samples(b, (struct build_sample[]){{T + 30, 0, 77, 1, B, 0x1234}, {T + 75, 1, 80, 0, 0, 0x1300}},
                  2);
    build_loss(b, SB_LOST_RING, 77, 1, A, 1ull << 60);
    build_loss(b, SB_LOST_SAMPLE, 77, 0, 0, 1ull << 60);
    build_note(b, T, T + 1, 77, "a library came late");
    build_clock(b, T + 200);
    end_of_lane(b, 3);
}

/* Whatever is cut off: a sound profile, or (in the first block) one line that says so. */
static void cut_at_every_byte(void **state)
{
    struct capture_builder b;

    (void)state;
    everything(&b);
    for (size_t len = 0; len <= b.file.len; len++) {
        struct profile *p = NULL;
        struct err err = {""};
        int fd = builder__fd_of(b.file.data, len);
        int code = reconstruct__capture(fd, "cut.scope", NULL, &p, &err);

        close(fd);
        if (!code)
            check_sound(p);
        else
            assert_true(code == -EINVAL && strstr(err.text, "cut.scope") && !p);
        profile__destroy(p);
    }
    builder__deinit(&b);
}

/* Content that the checksum fits: every byte of every payload set to something else, and sealed again. */
static void every_byte_replaced_and_sealed_again(void **state)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    struct capture_builder b;

    (void)state;
    everything(&b);
    for (size_t at = 0, len; at < b.file.len; at += CAPTURE_HEADER_BYTES + len) {
        uint8_t *h = b.file.data + at, *payload = h + CAPTURE_HEADER_BYTES, header[CAPTURE_HEADER_BYTES];
        uint64_t sequence;

        memcpy(header, h, sizeof(header));
        memcpy(&sequence, h + 16, 8);
        len = h[8] | (size_t)h[9] << 8;
        for (size_t i = 0; i < 5 * len; i++) {
            uint8_t old = payload[i / 5];
            struct profile *p = NULL;
            int fd, code;

            payload[i / 5] = values[i % 5];
            capture_block_header(h, (uint16_t)(h[4] | h[5] << 8), sequence, payload, (uint32_t)len);
            fd = builder__fd(&b);
            code = reconstruct__capture(fd, "odd.scope", NULL, &p, NULL);
            close(fd);
            if (!code)
                check_sound(p);
            else
                assert_true(code == -EINVAL || code == -E2BIG);
            profile__destroy(p);
            payload[i / 5] = old;
        }
        memcpy(h, header, sizeof(header));
    }
    builder__deinit(&b);
}

static void huge_counts_do_not_overflow(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    start(&b);
    build_calls(&b, 1, 0);
    build_call(&b, 0, A, 0, T + 10, T + 20, 0);
    build_calls_done(&b);
    for (int i = 0; i < 20; i++) {
        build_loss(&b, SB_LOST_STORAGE, 77, 0, A, 1ull << 60);
        build_loss(&b, SB_LOST_SAMPLE, 77, 0, A, 1ull << 60);
        build_loss(&b, SB_LOST_DEPTH, 77, 0, A, 1ull << 60);
    }
    build_loss(&b, SB_LOST_TABLE, 0, 0, 0, 1ull << 60);
    end_of_lane(&b, 1);
    p = rebuilt(&b);
    assert_true(lost(p, "no memory for a thread's state", false) == UINT64_MAX);
    assert_true(lost(p, "ring full", true) == UINT64_MAX);
    assert_true(lost(p, "ring full, details lost", false) == 1ull << 60);
    assert_true(p->ranks[0].ticks == INT64_MAX);
    done(&b, p);
}

/* A block that promises more calls than it holds, and one whose counts nothing could hold. */
static void impossible_counts_in_a_block_of_calls(void **state)
{
    struct capture_buf payload = {0};
    struct capture_calls calls = {0};
    struct capture_builder b;
    struct profile *p;

    (void)state;
    start(&b);
    capture_put_u(&payload, 1);
    capture_put_u(&payload, 1ull << 60);
    capture_put_u(&payload, 0);
    capture_calls__put(&calls, &payload,
                       &(struct capture_call){.seq = 0, .region = A, .start = T + 1, .end = T + 2});
    builder__block(&b, CAPTURE_CALLS, payload.data, payload.len);
    end_of_lane(&b, 1);
    p = rebuilt(&b);
    assert_int_equal(row_of(p, "a", 0)->count, 1);
    assert_true(has_note(p, "break off"));
    capture_buf__deinit(&payload);
    done(&b, p);
}

static void calls_of_a_thread_that_nobody_described(void **state)
{
    struct capture_builder b = {0};
    struct profile *p;

    (void)state;
    build_header(&b);
    build_calls(&b, 42, 0);
    build_call(&b, 0, A, 0, T + 10, T + 20, 0);
    build_calls_done(&b);
    p = rebuilt(&b);
    assert_int_equal(p->n_ranks, 1);
    assert_int_equal(p->start.n, 1);
    done(&b, p);
}

static void a_capture_without_anything(void **state)
{
    struct capture_builder b = {0};
    struct profile *p;

    (void)state;
    build_header(&b);
    build_end(&b, T + 5, "command ended");
    p = rebuilt(&b);
    assert_int_equal(p->n_ranks, 0);
    assert_int_equal(p->start.n, 0);
    assert_int_equal(p->n_notes, 0);
    done(&b, p);
}

struct seen_progress {
    uint64_t last, times;
    bool bad;
};

static void see_progress(void *arg, uint64_t finished, uint64_t all)
{
    struct seen_progress *s = arg;

    s->bad |= finished > all || !all;
    s->last = finished == all;
    s->times++;
}

static void progress_is_told(void **state)
{
    struct seen_progress seen = {0};
    struct reconstruct_options options = {.progress = see_progress, .progress_arg = &seen};
    struct capture_builder b;
    struct profile *p;
    int fd;

    (void)state;
    everything(&b);
    fd = builder__fd(&b);
    assert_int_equal(reconstruct__capture(fd, "t", &options, &p, NULL), 0);
    close(fd);
    assert_true(seen.times && seen.last && !seen.bad);
    done(&b, p);
}

/* tests/fixtures/capture_v1.scope is what everything() wrote when version 1 was made: it must be read for
 * ever. */
static void version_1_is_read(void **state)
{
    struct capture_builder b = {0};
    const struct row *row;
    struct profile *p;
    FILE *f = fopen(TESTS_DIR "/fixtures/capture_v1.scope", "rb");
    size_t n;

    (void)state;
    assert_non_null(f);
    capture_buf__reserve(&b.file, 65536);
    n = fread(b.file.data, 1, 65536, f);
    fclose(f);
    b.file.len = n;
    p = rebuilt(&b);
    row = row_of(p, "b", 4); /* the child names rank 3: its parent gets the next free number above */
    assert_int_equal(p->n_ranks, 2);
    assert_int_equal(call_value(p, row, 0, COLUMN_FLAGS), SB_CALL_OVERLAPPING);
    assert_int_equal(call_end(p, row, 0), T + 110);
    assert_int_equal(row_of(p, "a", 3)->count, 1);
    assert_int_equal(rank_numbered(p, 4)->n_modules, 1);
    assert_int_equal(rank_numbered(p, 3)->samples.n, 1);
    assert_true(has_note(p, "a library came late"));
    assert_true(text_is(p->how_ended, "command ended"));
    done(&b, p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unfinished_capture_gives_what_is_there),
        cmocka_unit_test(a_damaged_capture_says_where),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(every_byte_replaced_and_sealed_again),
        cmocka_unit_test(huge_counts_do_not_overflow),
        cmocka_unit_test(impossible_counts_in_a_block_of_calls),
        cmocka_unit_test(calls_of_a_thread_that_nobody_described),
        cmocka_unit_test(a_capture_without_anything),
        cmocka_unit_test(progress_is_told),
        cmocka_unit_test(version_1_is_read),
    };

    if (argc == 3 && !strcmp(argv[1], "--make-fixture")) { /* for the day when a version 2 begins */
        struct capture_builder b;

        int code;

        everything(&b);
        code = builder__save(&b, argv[2]);
        builder__deinit(&b);
        return code ? 1 : 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
