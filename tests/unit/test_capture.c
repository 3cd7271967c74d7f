// SPDX-License-Identifier: GPL-2.0-only
/* The reader of captures: what it gives out of whole, cut, flipped and foreign files. */
#include "capture_builder.h"
#include "capture_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct seen {
    uint64_t blocks, bytes;
    struct capture_state state;
};

/* Reads all of it; what an error of opening is goes back. */
static int read_all(const void *bytes, size_t len, struct seen *ret, struct err *err)
{
    struct capture_reader *r = NULL;
    struct capture_block block;
    int fd = builder__fd_of(bytes, len), more;
    int code = capture_reader__open(fd, "t.scope", &r, err);

    *ret = (struct seen){0};
    if (!code) {
        while ((more = capture_reader__next(r, &block, err)) > 0) {
            ret->blocks++;
            ret->bytes += block.len;
        }
        assert_int_equal(more, 0);
        ret->state = *capture_reader__state(r);
        capture_reader__close(r);
    }
    close(fd);
    return code;
}

static void small_capture(struct capture_builder *b)
{
    build_one_process(b, 77);
    build_region(b, SB_REGION_FIRST, 0, "scope", "solve", "solve.c", 12);
    build_calls(b, 1, 0);
    build_call(b, 0, SB_REGION_FIRST, 0, BUILD_START + 10, BUILD_START + 20, 0);
    build_calls_done(b);
    build_end(b, BUILD_START + 100, "command ended");
}

static void fields_come_back(void **state)
{
    static const uint64_t u[] = {0, 1, 127, 128, 1ull << 32, 1ull << 60, UINT64_MAX - 1, UINT64_MAX};
    static const int64_t s[] = {0, -1, 1, -64, 64, INT64_MAX, INT64_MIN, -(1ll << 60)};
    struct capture_buf b = {0};
    struct capture_in in;
    size_t len;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        capture_put_u(&b, u[i]);
        capture_put_s(&b, s[i]);
    }
    capture_put_text(&b, "solve");
    capture_put_text(&b, NULL);
    in = (struct capture_in){.at = b.data, .end = b.data + b.len};
    for (size_t i = 0; i < 8; i++) {
        assert_true(capture_get_u(&in) == u[i]);
        assert_true(capture_get_s(&in) == s[i]);
    }
    assert_memory_equal(capture_get_bytes(&in, &len), "solve", 5);
    assert_int_equal(len, 5);
    capture_get_bytes(&in, &len);
    assert_int_equal(len, 0);
    assert_false(in.bad);
    assert_false(capture_in__more(&in));
    capture_get_u(&in);
    assert_true(in.bad);
    capture_buf__deinit(&b);
}

static void impossible_fields_are_refused(void **state)
{
    static const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01};
    static const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t long_text[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'};
    struct capture_in in = {.at = eleven, .end = eleven + sizeof(eleven)};
    size_t len;

    (void)state;
    assert_true(capture_get_u(&in) == 0 && in.bad);
    in = (struct capture_in){.at = too_large, .end = too_large + sizeof(too_large)};
    assert_true(capture_get_u(&in) == 0 && in.bad);
    in = (struct capture_in){.at = long_text, .end = long_text + sizeof(long_text)};
    capture_get_bytes(&in, &len);
    assert_true(len == 0 && in.bad);
}

static struct capture_call any_call(unsigned *seed, uint32_t seq)
{
    struct capture_call c = {.seq = seq, .region = (uint32_t)rand_r(seed) % 5 + 1};
    int64_t length = rand_r(seed) % 3 ? rand_r(seed) : (int64_t)rand_r(seed) << 24;

    c.end = 1 + length + rand_r(seed);
    c.unmatched = rand_r(seed) % 7 == 0;
    c.start = c.unmatched ? c.end : c.end - length;
    c.depth = c.unmatched ? 0 : (uint16_t)(rand_r(seed) % 4 ? rand_r(seed) % 4 : rand_r(seed));
    c.flags = (uint8_t)(rand_r(seed) % 5 ? 0 : rand_r(seed));
    return c;
}

static void call_records_come_back(void **state)
{
    struct capture_calls put = {.seq = 5}, get = {.seq = 5};
    struct capture_call calls[2000], got;
    struct capture_buf b = {0};
    struct capture_in in;
    unsigned seed = 7;

    (void)state;
    for (uint32_t i = 0, seq = 5; i < 2000; i++) {
        seq += rand_r(&seed) % 9 ? 0 : (uint32_t)rand_r(&seed) % 1000;
        calls[i] = any_call(&seed, seq++);
        capture_calls__put(&put, &b, &calls[i]);
    }
    in = (struct capture_in){.at = b.data, .end = b.data + b.len};
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(capture_calls__get(&get, &in, &got), 0);
        assert_int_equal(got.seq, calls[i].seq);
        assert_int_equal(got.region, calls[i].region);
        assert_int_equal(got.depth, calls[i].depth);
        assert_int_equal(got.flags, calls[i].flags);
        assert_int_equal(got.unmatched, calls[i].unmatched);
        assert_true(got.start == calls[i].start && got.end == calls[i].end);
    }
    assert_int_equal(capture_calls__get(&get, &in, &got), -1);
    capture_buf__deinit(&b);
}

/* Calls of one thread that follow each other closely: what a busy program writes. */
static void a_call_takes_at_most_eight_bytes(void **state)
{
    struct capture_calls put = {0};
    struct capture_buf b = {0};
    uint32_t seq = 0;
    int64_t now = BUILD_START;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        int64_t outer = now;

        for (int k = 0; k < 10; k++, now += 1200)
            capture_calls__put(
                &put, &b,
                &(struct capture_call){
                    .seq = seq++, .region = 70000, .depth = 1, .start = now, .end = now + 600});
        capture_calls__put(&put, &b,
                           &(struct capture_call){.seq = seq++, .region = 70001, .start = outer, .end = now});
    }
    assert_true(b.len <= (size_t)seq * 8);
    capture_buf__deinit(&b);
}

static void a_whole_capture_is_read(void **state)
{
    struct capture_builder b = {0};
    struct err err = {""};
    struct seen seen;

    (void)state;
    small_capture(&b);
    assert_int_equal(read_all(b.file.data, b.file.len, &seen, &err), 0);
    assert_int_equal(seen.blocks, 5);
    assert_true(seen.state.complete && !seen.state.damaged);
    assert_string_equal(seen.state.why, "");
    assert_int_equal(seen.state.offset, b.file.len);
    builder__deinit(&b);
}

static void the_head_is_read(void **state)
{
    struct capture_builder b = {0};
    struct capture_reader *r;
    const struct capture_head *head;
    int fd;

    (void)state;
    build_header(&b);
    fd = builder__fd(&b);
    assert_int_equal(capture_reader__open(fd, "t.scope", &r, NULL), 0);
    head = capture_reader__head(r);
    assert_int_equal(head->version, 1);
    assert_int_equal(head->hz, BUILD_HZ);
    assert_true(head->monotonic == BUILD_START && head->realtime == BUILD_REALTIME);
    assert_true(head->architecture_len == 6 && !memcmp(head->architecture, "x86_64", 6));
    assert_int_equal(head->run_id_len, 16);
    capture_reader__close(r);
    close(fd);
    builder__deinit(&b);
}

static void refused(const void *bytes, size_t len, const char *part)
{
    struct err err = {""};
    struct seen seen;

    assert_int_equal(read_all(bytes, len, &seen, &err), -EINVAL);
    if (!strstr(err.text, part) || !strstr(err.text, "t.scope"))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

static void what_is_no_capture_is_refused(void **state)
{
    static const uint64_t versions[] = {0, 2, 1ull << 60};
    struct capture_builder b = {0};
    struct err err = {""};
    struct capture_reader *r;
    int pipes[2];

    (void)state;
    refused("", 0, "empty");
    refused("SCOPEPRF\2\0\0\0", 12, "not a capture");
    refused("SCP", 3, "not a capture");
    refused("SCPB", 4, "first block");
    build_end(&b, BUILD_START, "command ended");
    refused(b.file.data, b.file.len, "beginning is missing");
    for (size_t i = 0; i < 3; i++) {
        builder__deinit(&b);
        build_header_of(&b, versions[i], 0);
        refused(b.file.data, b.file.len, "version");
    }
    builder__deinit(&b);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(capture_reader__open(pipes[0], "t.scope", &r, &err), -EINVAL);
    assert_non_null(strstr(err.text, "regular file"));
    close(pipes[0]);
    close(pipes[1]);
}

/* Ends of the blocks of a sound file. */
static size_t block_ends(const struct capture_builder *b, size_t *ends, size_t max)
{
    size_t n = 0;

    for (size_t at = 0; at < b->file.len && n < max;) {
        const uint8_t *h = b->file.data + at;
        uint32_t len;

        memcpy(&len, h + 8, 4);
        at += CAPTURE_HEADER_BYTES + len;
        ends[n++] = at;
    }
    return n;
}

static void cut_at_every_byte(void **state)
{
    struct capture_builder b = {0};
    size_t ends[16], n, whole = 0;

    (void)state;
    small_capture(&b);
    n = block_ends(&b, ends, 16);
    for (size_t len = ends[0]; len <= b.file.len; len++) {
        struct err err = {""};
        struct seen seen;

        while (whole < n && ends[whole] <= len)
            whole++;
        assert_int_equal(read_all(b.file.data, len, &seen, &err), 0);
        assert_int_equal(seen.blocks, whole - 1);
        assert_false(seen.state.damaged);
        assert_int_equal(seen.state.complete, len == b.file.len);
        assert_int_equal(seen.state.offset, ends[whole - 1]);
    }
    for (size_t len = 1; len < ends[0]; len++)
        refused(b.file.data, len, len < 4 ? "not a capture" : "first block");
    builder__deinit(&b);
}

static void every_flipped_bit_is_noticed(void **state)
{
    struct capture_builder b = {0};
    size_t ends[16], n;

    (void)state;
    small_capture(&b);
    n = block_ends(&b, ends, 16);
    for (size_t bit = 0; bit < 8 * b.file.len; bit++) {
        struct err err = {""};
        struct seen seen;
        size_t before = 0;
        int code;

        while (before < n && ends[before] <= bit / 8)
            before++;
        b.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        code = read_all(b.file.data, b.file.len, &seen, &err);
        b.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (!before) {
            assert_int_equal(code, -EINVAL);
            continue;
        }
        assert_int_equal(code, 0);
        assert_int_equal(seen.blocks, before - 1);
        assert_false(seen.state.complete);
        assert_string_not_equal(seen.state.why, "");
    }
    builder__deinit(&b);
}

static void unknown_types_are_skipped_and_counted(void **state)
{
    struct capture_builder b = {0};
    struct err err = {""};
    struct seen seen;

    (void)state;
    build_header(&b);
    builder__block(&b, 999, "new", 3);
    builder__block(&b, 0xffff, "", 0);
    builder__block(&b, 0, "zero", 4);
    builder__block(&b, CAPTURE_HEADER, "again", 5);
    build_end(&b, BUILD_START, "detached");
    assert_int_equal(read_all(b.file.data, b.file.len, &seen, &err), 0);
    assert_int_equal(seen.blocks, 1);
    assert_int_equal(seen.state.unknown, 4);
    assert_true(seen.state.complete);
    builder__deinit(&b);
}

static void the_mark_behind_the_end_is_seen(void **state)
{
    struct capture_builder b = {0};
    struct err err = {""};
    struct seen seen;
    size_t end;

    (void)state;
    build_header(&b);
    build_end(&b, BUILD_START, "detached");
    end = b.file.len;
    b.sequence = 0;
    builder__block(&b, CAPTURE_WRITTEN, "", 0);
    assert_int_equal(read_all(b.file.data, b.file.len, &seen, &err), 0);
    assert_true(seen.state.complete && seen.state.written);
    assert_int_equal(seen.state.offset, b.file.len);
    b.file.data[end + 5] ^= 1; /* anything else there is not ours to judge */
    assert_int_equal(read_all(b.file.data, b.file.len, &seen, &err), 0);
    assert_true(seen.state.complete && !seen.state.written && !seen.state.damaged);
    assert_int_equal(seen.state.offset, end);
    builder__deinit(&b);
}

static void sequence_is_watched(void **state)
{
    struct capture_builder b = {0};
    struct err err = {""};
    struct seen seen;

    (void)state;
    build_header(&b);
    b.sequence += 3;
    build_clock(&b, BUILD_START + 1);
    b.sequence--;
    build_clock(&b, BUILD_START + 2);
    build_end(&b, BUILD_START, "detached");
    assert_int_equal(read_all(b.file.data, b.file.len, &seen, &err), 0);
    assert_int_equal(seen.state.missing, 3);
    assert_int_equal(seen.blocks, 1);
    assert_true(seen.state.damaged);
    builder__deinit(&b);
}

static void a_tail_of_zeros_is_unfinished_not_damaged(void **state)
{
    static const uint8_t zeros[65536];
    struct capture_builder b = {0};
    struct err err = {""};
    struct seen seen;

    (void)state;
    build_header(&b);
    build_clock(&b, BUILD_START + 1);
    capture_buf__reserve(&b.file, sizeof(zeros));
    memcpy(b.file.data + b.file.len, zeros, sizeof(zeros));
    b.file.len += sizeof(zeros);
    assert_int_equal(read_all(b.file.data, b.file.len, &seen, &err), 0);
    assert_int_equal(seen.blocks, 1);
    assert_false(seen.state.damaged || seen.state.complete);
    builder__deinit(&b);
}

static void the_largest_block_and_one_too_large(void **state)
{
    uint8_t *payload = calloc(1, CAPTURE_MAX_PAYLOAD + 1);
    struct capture_builder b = {0};
    struct err err = {""};
    struct seen seen;

    (void)state;
    assert_non_null(payload);
    build_header(&b);
    for (int i = 0; i < 3; i++)
        builder__block(&b, CAPTURE_NOTE, payload, CAPTURE_MAX_PAYLOAD);
    builder__block(&b, CAPTURE_NOTE, payload, CAPTURE_MAX_PAYLOAD + 1);
    assert_int_equal(read_all(b.file.data, b.file.len, &seen, &err), 0);
    assert_int_equal(seen.blocks, 3);
    assert_int_equal(seen.bytes, 3ull * CAPTURE_MAX_PAYLOAD);
    assert_true(seen.state.damaged);
    builder__deinit(&b);
    free(payload);
}

static void a_payload_is_loaded_again(void **state)
{
    struct capture_builder b = {0};
    struct capture_reader *r;
    struct capture_block block;
    struct capture_in in;
    struct err err;
    int fd;

    (void)state;
    build_header(&b);
    build_meta_text(&b, "label", "a label");
    fd = builder__fd(&b);
    assert_int_equal(capture_reader__open(fd, "t.scope", &r, &err), 0);
    assert_int_equal(capture_reader__next(r, &block, &err), 1);
    assert_int_equal(capture_reader__load(r, block.offset, block.len, &in, &err), 0);
    assert_int_equal(in.end - in.at, block.len);
    assert_memory_equal(in.at, b.file.data + block.offset, block.len);
    assert_int_equal(ftruncate(fd, (off_t)block.offset + 1), 0);
    assert_int_equal(capture_reader__load(r, block.offset, block.len, &in, &err), -EIO);
    assert_non_null(strstr(err.text, "shorter"));
    capture_reader__close(r);
    close(fd);
    builder__deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(impossible_fields_are_refused),
        cmocka_unit_test(call_records_come_back),
        cmocka_unit_test(a_call_takes_at_most_eight_bytes),
        cmocka_unit_test(a_whole_capture_is_read),
        cmocka_unit_test(the_head_is_read),
        cmocka_unit_test(what_is_no_capture_is_refused),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(unknown_types_are_skipped_and_counted),
        cmocka_unit_test(the_mark_behind_the_end_is_seen),
        cmocka_unit_test(sequence_is_watched),
        cmocka_unit_test(a_tail_of_zeros_is_unfinished_not_damaged),
        cmocka_unit_test(the_largest_block_and_one_too_large),
        cmocka_unit_test(a_payload_is_loaded_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
