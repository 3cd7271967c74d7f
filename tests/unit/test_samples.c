// SPDX-License-Identifier: GPL-2.0-only
/* Ticks, modules and losses: to which rank, module and region each belongs. */
#include "rebuilt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define T BUILD_START
#define A (SB_REGION_FIRST)

static const struct sample *sample_at(const struct rank *rank, uint64_t i)
{
    assert_true(i < rank->samples.n);
    return (const struct sample *)rank->samples.data + i;
}

static const char *module_of(const struct rank *rank, uint64_t i)
{
    int32_t module = sample_at(rank, i)->module;

    assert_true(module < (int64_t)rank->n_modules);
    return module < 0 ? NULL : rank->modules[module].path.s;
}

static void module(struct capture_builder *b, uint64_t image, uint64_t start, uint64_t end, uint64_t bias,
                   int64_t time, const char *path)
{
    build_module(b, &(struct build_module){.image = image,
                                           .start = start,
                                           .end = end,
                                           .bias = bias,
                                           .known = true,
                                           .time = time,
                                           .path = path,
                                           .build_id = "\0\1\2",
                                           .build_id_len = 3});
}

static void one_process(struct capture_builder *b)
{
    *b = (struct capture_builder){0};
    build_one_process(b, 77);
    build_region(b, A, 0, "scope", "a", NULL, -1);
    build_calls(b, 1, 0);
    build_call(b, 0, A, 0, T + 10, T + 900, 0);
    build_calls_done(b);
}

static struct profile *end(struct capture_builder *b)
{
    struct profile *p;

    build_end(b, T + 100000, "command ended");
    p = rebuilt(b);
    builder__deinit(b);
    return p;
}

static void ticks_inside_outside_and_lost(void **state)
{
    struct capture_builder b;
    const struct rank *rank;
    struct profile *p;

    (void)state;
    one_process(&b);
    module(&b, 1, 0x400000, 0x500000, 0x3ff000, T, "/bin/heat");
    module(&b, 1, 0x7f0000000000, 0x7f0000100000, 0x7f0000000000, T, "/lib/libm.so");
    build_samples(&b,
                  (struct build_sample[]){{T + 20, 0, 77, 1, A, 0x400010},
                                          {T + 30, SB_SAMPLE_KERNEL, 77, 1, A, 0x7f0000000123},
                                          {T + 25, 0, 77, 0, 0, 0x400020},
                                          {T + 40, 0, 77, 1, A, 0x600000}},
                  4);
    build_samples(&b, (struct build_sample[]){{T + 950, 0, 77, 1, 0, 0xffffffffffffffffull}}, 1);
    build_loss(&b, SB_LOST_SAMPLE, 77, 0, A, 3);
    build_loss(&b, SB_LOST_DISK_SAMPLE, 0, 1, 0, 4);
    p = end(&b);
    rank = rank_numbered(p, 0);
    assert_int_equal(rank->hz, BUILD_HZ);
    assert_int_equal(rank->ticks, 5 + 3 + 4);
    assert_int_equal(rank->samples.n, 5);
    assert_int_equal(sample_at(rank, 0)->address, 0x400010);
    assert_int_equal(sample_at(rank, 0)->region, 0);
    assert_int_equal(sample_at(rank, 0)->thread, 0);
    assert_int_equal(sample_at(rank, 1)->flags, SB_SAMPLE_KERNEL);
    assert_int_equal(sample_at(rank, 2)->region, -1);
    assert_int_equal(sample_at(rank, 2)->thread, -1);
    assert_int_equal(sample_at(rank, 2)->time, T + 25);
    assert_true(sample_at(rank, 4)->address == UINT64_MAX);
    assert_string_equal(module_of(rank, 0), "/bin/heat");
    assert_string_equal(module_of(rank, 1), "/lib/libm.so");
    assert_null(module_of(rank, 3));
    assert_null(module_of(rank, 4));
    assert_int_equal(rank->modules[sample_at(rank, 0)->module].bias, 0x3ff000);
    assert_int_equal(rank->modules[0].build_id.len, 3);
    assert_int_equal(p->processes[0].samples, 5);
    assert_int_equal(p->processes[0].samples_outside, 2);
    assert_int_equal(lost(p, "ring full", true), 3);
    assert_int_equal(lost(p, "disk full", true), 4);
    assert_int_equal(lost(p, "", false), 0);
    profile__destroy(p);
}

/* A library unmapped, another mapped at its place; the same one reported by the snapshot and the side-band.
 */
static void the_mapping_of_that_time(void **state)
{
    struct capture_builder b;
    const struct rank *rank;
    struct profile *p;

    (void)state;
    one_process(&b);
    module(&b, 1, 0x1000, 0x9000, 0x1000, T + 5, "/lib/first.so");
    module(&b, 1, 0x1000, 0x9000, 0x1000, T + 6, "/lib/first.so");
    module(&b, 1, 0x2000, 0x3000, 0x2000, T + 100, "/lib/second.so");
    module(&b, 1, 0x2800, 0x4000, 0x2800, T + 200, "/lib/third.so");
    build_samples(&b,
                  (struct build_sample[]){{T + 50, 0, 77, 1, A, 0x2900},
                                          {T + 150, 0, 77, 1, A, 0x2900},
                                          {T + 250, 0, 77, 1, A, 0x2900},
                                          {T + 250, 0, 77, 1, A, 0x2100},
                                          {T + 250, 0, 77, 1, A, 0x8fff},
                                          {T + 250, 0, 77, 1, A, 0x9000},
                                          {T + 1, 0, 77, 1, A, 0x2900}},
                  7);
    p = end(&b);
    rank = rank_numbered(p, 0);
    assert_int_equal(rank->n_modules, 3);
    assert_string_equal(module_of(rank, 0), "/lib/first.so");
    assert_string_equal(module_of(rank, 1), "/lib/second.so");
    assert_string_equal(module_of(rank, 2), "/lib/third.so");
    assert_string_equal(module_of(rank, 3), "/lib/second.so");
    assert_string_equal(module_of(rank, 4), "/lib/first.so");
    assert_null(module_of(rank, 5));
    assert_string_equal(module_of(rank, 6), "/lib/first.so"); /* seen late, mapped before */
    profile__destroy(p);
}

/* Lines would be wrong ones: better none. */
static void a_module_of_unknown_bias_is_no_module(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    one_process(&b);
    build_module(
        &b, &(struct build_module){.image = 1, .start = 0x1000, .end = 0x9000, .time = T, .path = "[vdso]"});
    build_samples(&b, (struct build_sample[]){{T + 50, 0, 77, 1, A, 0x2900}}, 1);
    p = end(&b);
    assert_int_equal(p->ranks[0].n_modules, 0);
    assert_null(module_of(&p->ranks[0], 0));
    profile__destroy(p);
}

/* fork, exec, and a pid that is used again: the time says which program it was. */
static void pid_and_time_say_which_program(void **state)
{
    struct capture_builder b;
    const struct rank *rank;
    struct profile *p;

    (void)state;
    one_process(&b);
    module(&b, 1, 0x1000, 0x9000, 0x1000, T, "/bin/heat");
    build_image(
        &b, &(struct build_image){
                .id = 2, .from = 1, .how = CAPTURE_IMAGE_FORK, .pid = 88, .start = T + 100, .time = T + 100});
    build_image(&b, &(struct build_image){.id = 3,
                                          .from = 2,
                                          .how = CAPTURE_IMAGE_EXEC,
                                          .pid = 88,
                                          .exec = 1,
                                          .start = T + 100,
                                          .time = T + 200});
    module(&b, 1, 0x1000, 0x9000, 0x1000, T + 150, "/lib/late.so"); /* in the parent only */
    module(&b, 3, 0x1000, 0x2000, 0x1000, T + 200, "/bin/other");
    build_image_end(&b, 3, T + 300, 0, 0);
    build_image(&b, &(struct build_image){
                        .id = 4, .how = CAPTURE_IMAGE_RUNNING, .pid = 88, .start = T + 400, .time = T + 400});
    for (uint64_t lane = 2; lane <= 4; lane++) {
        build_lane(&b, &(struct build_lane){.id = lane,
                                            .image = lane,
                                            .tid = 88,
                                            .start = T + (int64_t)lane * 100 - 100,
                                            .time = T + 100});
        build_calls(&b, (uint32_t)lane, 0);
        build_call(&b, 0, A, 0, T + (int64_t)lane * 100 - 90, T + (int64_t)lane * 100 - 80, 0);
        build_calls_done(&b);
    }
    build_samples(
        &b,
        (struct build_sample[]){{T + 160, 0, 88, 0, 0, 0x1500}, /* the fork, with its parent's modules */
                                {T + 250, 0, 88, 0, 0, 0x1500}, /* after the exec */
                                {T + 250, 0, 88, 0, 0, 0x3500},
                                {T + 450, 0, 88, 0, 0, 0x1500}, /* another process */
                                {T + 250, 0, 77, 0, 0, 0x1500},
                                {T + 250, 0, 99, 0, 0, 0x1500}},
        6); /* nobody */
    p = end(&b);
    assert_int_equal(p->n_ranks, 3); /* heat; its child before and after the exec; the other one */
    rank = rank_numbered(p, 0);
    assert_int_equal(rank->samples.n, 1);
    assert_string_equal(module_of(rank, 0), "/lib/late.so");
    rank = rank_numbered(p, 1);
    assert_int_equal(rank->samples.n, 3);
    assert_string_equal(module_of(rank, 0), "/bin/heat");
    assert_string_equal(module_of(rank, 1), "/bin/other");
    assert_null(module_of(rank, 2));
    assert_int_equal(rank_numbered(p, 2)->samples.n, 1);
    assert_null(module_of(rank_numbered(p, 2), 0));
    assert_true(has_note(p, "1 samples belong to processes that the capture does not describe"));
    profile__destroy(p);
}

/* A tick in a region that is left out belongs to the visible call around it, if there is one. */
static void ticks_in_hidden_regions(void **state)
{
    static const struct {
        int64_t at;
        const char *region;
    } ticks[] = {{15, "a"}, {25, "b"}, {31, "a"},   {35, "a"},  {45, "b"},
                 {50, "b"}, {70, "a"}, {105, NULL}, {305, NULL}};
    struct capture_builder b = {0};
    struct build_sample samples[9];
    struct profile *p;

    (void)state;
    build_one_process(&b, 77);
    build_region(&b, A, 0, "scope", "a", NULL, -1);
    build_region(&b, A + 1, 0, "scope", "b", NULL, -1);
    build_region(&b, SB_REGION_FIRST_DYNAMIC, 3, "scope", "hidden", NULL, -1);
    build_calls(&b, 1, 0);
    build_call(&b, 0, A + 1, 1, T + 20, T + 30, 0);
    build_call(&b, 1, A + 1, 2, T + 40, T + 50, 0);
    build_call(&b, 2, SB_REGION_FIRST_DYNAMIC, 1, T + 33, T + 60, 0);
    build_call(&b, 3, A, 0, T + 10, T + 100, 0);
    build_call(&b, 4, A, 0, T + 200, T + 300, 0);
    build_calls_done(&b);
    for (int i = 0; i < 9; i++) /* in any order */
        samples[8 - i] = (struct build_sample){T + ticks[i].at, 0, 77, 1, SB_REGION_FIRST_DYNAMIC, 0x1000};
    build_samples(&b, samples, 9);
    p = end(&b);
    assert_int_equal(p->ranks[0].samples.n, 9);
    for (uint64_t i = 0; i < 9; i++) {
        int32_t region = sample_at(&p->ranks[0], 8 - i)->region;

        if (!ticks[i].region)
            assert_int_equal(region, -1);
        else
            assert_string_equal(region < 0 ? "(outside)" : p->regions[region].name.s, ticks[i].region);
    }
    assert_int_equal(p->processes[0].samples_outside, 2);
    profile__destroy(p);
}

static void without_samples(void **state)
{
    struct capture_builder b = {0};
    struct profile *p;

    (void)state;
    build_header_of(&b, 1, 0);
    build_image(&b, &(struct build_image){.id = 1, .pid = 77, .start = T, .time = T});
    build_lane(&b, &(struct build_lane){.id = 1, .image = 1, .tid = 77, .start = T, .time = T});
    build_calls(&b, 1, 0);
    build_call(&b, 0, A, 0, T + 10, T + 900, 0);
    build_calls_done(&b);
    p = end(&b);
    assert_int_equal(p->ranks[0].ticks, -1);
    assert_int_equal(p->ranks[0].hz, 0);
    profile__destroy(p);
}

static void losses_have_causes_processes_and_regions(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    one_process(&b);
    build_calls(&b, 1, 8); /* 1 to 7 are lost */
    build_call(&b, 8, A, 0, T + 910, T + 920, 0);
    build_calls_done(&b);
    build_lane_end(
        &b, &(struct build_lane_end){.id = 1, .records = 20, .why = SB_END_EXIT, .end = T + 5000, .cpu = 1});
    build_loss(&b, SB_LOST_RING, 77, 1, A, 4);
    build_loss(&b, SB_LOST_RING, 77, 1, A, 2);
    build_loss(&b, SB_LOST_DISK, 0, 1, A, 5);
    build_loss(&b, SB_LOST_TABLE, 0, 0, 0, 3);
    build_loss(&b, SB_LOST_DEPTH, 77, 1, A, 100);
    build_loss(&b, SB_LOST_STORAGE, 77, 0, A, 50);
    build_loss(&b, SB_LOST_COLD, 0, 0, 0, 6);
    build_loss(&b, SB_LOST_NAME, 77, 1, SB_REGION_OTHER, 9);
    p = end(&b);
    assert_int_equal(lost(p, "ring full", false), 6);
    assert_int_equal(lost(p, "disk full", false), 5);
    assert_int_equal(lost(p, "ring full, details lost", false), 3);
    assert_int_equal(lost(p, "nested too deep", false), 100);
    assert_int_equal(lost(p, "no memory for a thread's state", false), 50);
    /* 18 of 20 numbers are not there, 14 have a cause; calls too deep and without memory have no number */
    assert_int_equal(lost(p, "missing in the capture", false), 4);
    assert_true(has_note(p, "6 records of processes"));
    assert_true(has_note(p, "9 calls stand under (other names)"));
    for (uint32_t i = 0; i < p->n_losses; i++)
        if (text_is(p->losses[i].cause, "ring full")) {
            assert_int_equal(p->losses[i].pid, 77);
            assert_int_equal(p->losses[i].rank, 0);
            assert_true(text_is(p->regions[p->losses[i].region].name, "a"));
        }
    profile__destroy(p);
}

static void calls_too_deep_are_counted_once(void **state)
{
    (void)state;
    for (int told_twice = 0; told_twice < 2; told_twice++) {
        struct capture_builder b;
        struct profile *p;

        one_process(&b);
        build_lane_end(
            &b, &(struct build_lane_end){
                    .id = 1, .records = 1, .why = SB_END_EXIT, .end = T + 5000, .cpu = 1, .too_deep = 12});
        if (told_twice)
            build_loss(&b, SB_LOST_DEPTH, 77, 1, A, 12);
        p = end(&b);
        assert_int_equal(p->ranks[0].depth_overflow, 12);
        assert_int_equal(lost(p, "", false), 12);
        profile__destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_inside_outside_and_lost),
        cmocka_unit_test(the_mapping_of_that_time),
        cmocka_unit_test(a_module_of_unknown_bias_is_no_module),
        cmocka_unit_test(pid_and_time_say_which_program),
        cmocka_unit_test(ticks_in_hidden_regions),
        cmocka_unit_test(without_samples),
        cmocka_unit_test(losses_have_causes_processes_and_regions),
        cmocka_unit_test(calls_too_deep_are_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
