// SPDX-License-Identifier: GPL-2.0-only
/* Which process is which rank. */
#include "rebuilt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define T BUILD_START
#define A (SB_REGION_FIRST)
#define B (SB_REGION_FIRST + 1)

static void begin(struct capture_builder *b)
{
    *b = (struct capture_builder){0};
    build_header(b);
    build_region(b, A, 0, "scope", "a", NULL, -1);
    build_region(b, B, 0, "scope", "b", NULL, -1);
}

/* A process of its own: image `id`, pid 100 + id, started at `start`, whose environment names
 * `variable`=`value`. */
static void process(struct capture_builder *b, uint64_t id, int64_t start, const char *variable,
                    const char *value)
{
    build_image(b, &(struct build_image){.id = id,
                                         .how = CAPTURE_IMAGE_EXEC,
                                         .pid = 100 + id,
                                         .exec = 1,
                                         .start = start,
                                         .time = start,
                                         .env = {{variable, value}}});
    build_lane(b,
               &(struct build_lane){.id = id, .image = id, .tid = 100 + id, .start = start, .time = start});
}

static void forked(struct capture_builder *b, uint64_t id, uint64_t from, int64_t time)
{
    build_image(
        b,
        &(struct build_image){
            .id = id, .from = from, .how = CAPTURE_IMAGE_FORK, .pid = 100 + id, .start = time, .time = time});
    build_lane(
        b, &(struct build_lane){
               .id = id, .image = id, .tid = 100 + id, .flags = SB_LANE_FORKED, .start = time, .time = time});
}

static void executed(struct capture_builder *b, uint64_t id, uint64_t from, uint64_t pid, int64_t time,
                     const char *variable, const char *value)
{
    build_image(b, &(struct build_image){.id = id,
                                         .from = from,
                                         .how = CAPTURE_IMAGE_EXEC,
                                         .pid = pid,
                                         .exec = 2,
                                         .start = T,
                                         .time = time,
                                         .env = {{variable, value}}});
    build_lane(b, &(struct build_lane){.id = id, .image = id, .tid = pid, .start = time, .time = time});
}

static void call(struct capture_builder *b, uint32_t lane, uint32_t region, int64_t at, uint8_t flags)
{
    build_calls(b, lane, 0);
    build_call(b, 0, region, 0, at, at + 5, flags);
    build_calls_done(b);
}

static int32_t rank_of(const struct profile *p, int64_t pid)
{
    for (uint32_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].pid == pid)
            return p->processes[i].rank;
    fail_msg("no process %d", (int)pid);
    return -1;
}

static const char *source_of(const struct profile *p, int64_t pid)
{
    for (uint32_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].pid == pid)
            return p->processes[i].rank_source.s;
    return NULL;
}

static struct profile *end(struct capture_builder *b)
{
    struct profile *p;

    build_end(b, T + 100000, "command ended");
    p = rebuilt(b);
    builder__deinit(b);
    return p;
}

static void one_process_is_rank_0(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, NULL, NULL);
    call(&b, 1, A, T + 10, 0);
    p = end(&b);
    assert_int_equal(p->n_ranks, 1);
    assert_int_equal(rank_of(p, 101), 0);
    assert_string_equal(source_of(p, 101), "order of start");
    assert_int_equal(p->n_notes, 0);
    profile__destroy(p);
}

/* mpirun, its daemon, a shell and four programs, in any order. */
static void ranks_of_mpi(void **state)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
    static const char *const values[] = {"2", "0", "3", "1"};

    (void)state;
    for (size_t v = 0; v < 5; v++) {
        struct capture_builder b;
        struct profile *p;

        begin(&b);
        process(&b, 1, T, NULL, NULL);
        process(&b, 2, T + 1, NULL, NULL);
        for (uint64_t i = 0; i < 4; i++) {
            process(&b, 3 + i, T + 2 + (int64_t)i, variables[v], values[i]);
            call(&b, (uint32_t)(3 + i), A, T + 100, 0);
        }
        p = end(&b);
        assert_int_equal(p->n_ranks, 4);
        assert_int_equal(p->n_processes, 6);
        assert_int_equal(rank_of(p, 101), -1);
        assert_int_equal(rank_of(p, 103), 2);
        assert_int_equal(rank_of(p, 104), 0);
        assert_int_equal(rank_of(p, 105), 3);
        assert_int_equal(rank_of(p, 106), 1);
        assert_string_equal(source_of(p, 105), variables[v]);
        assert_int_equal(profile__meta(p, "mpi_size")->integer, 4);
        assert_int_equal(p->n_notes, 0);
        profile__destroy(p);
    }
}

static void the_first_variable_of_the_list_counts(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    build_meta_int(&b, "omp_num_threads", 3);
    build_image(&b, &(struct build_image){.id = 1,
                                          .how = CAPTURE_IMAGE_EXEC,
                                          .pid = 101,
                                          .start = T,
                                          .time = T,
                                          .env = {{"SLURM_PROCID", "9"},
                                                  {"PMIX_RANK", "8"},
                                                  {"OMPI_COMM_WORLD_RANK", "7"},
                                                  {"PMI_RANK", "6"},
                                                  {"OMP_NUM_THREADS", "12"}}});
    build_lane(&b, &(struct build_lane){.id = 1, .image = 1, .tid = 101, .start = T, .time = T});
    call(&b, 1, A, T + 10, 0);
    build_image(&b, &(struct build_image){.id = 2,
                                          .how = CAPTURE_IMAGE_EXEC,
                                          .pid = 102,
                                          .start = T + 20,
                                          .time = T + 20,
                                          .env = {{"OMPI_COMM_WORLD_RANK", "7"}, {"SCOPE_RANK", "2"}}});
    build_lane(&b, &(struct build_lane){.id = 2, .image = 2, .tid = 102, .start = T + 20, .time = T + 20});
    call(&b, 2, A, T + 30, 0);
    p = end(&b);
    assert_int_equal(rank_of(p, 101), 7);
    assert_int_equal(rank_of(p, 102), 2);
    assert_string_equal(source_of(p, 102), "SCOPE_RANK");
    assert_int_equal(profile__meta(p, "omp_num_threads")->integer,
                     12); /* the program's own, not the collector's */
    assert_int_equal(profile__meta(p, "mpi_size")->integer, 8);
    assert_int_equal(profile__meta(p, "total_cores")->integer, 96);
    assert_int_equal(p->n_notes, 0);
    profile__destroy(p);
}

static void values_that_are_no_rank_are_ignored(void **state)
{
    static const char *const values[] = {"", " 1", "-1", "1x", "0x1", "99999999999", "1.0", "+1"};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct capture_builder b;
        struct profile *p;

        begin(&b);
        process(&b, 1, T, "OMPI_COMM_WORLD_RANK", values[i]);
        call(&b, 1, A, T + 10, 0);
        p = end(&b);
        assert_int_equal(rank_of(p, 101), 0);
        assert_string_equal(source_of(p, 101), "order of start");
        profile__destroy(p);
    }
}

/* The one that executed a region first keeps the number, not the one that started first. */
static void a_number_claimed_twice(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, "PMI_RANK", "1");
    process(&b, 2, T + 1, "PMI_RANK", "1");
    process(&b, 3, T + 2, "PMI_RANK", "1");
    process(&b, 4, T + 3, "PMI_RANK", "5"); /* a helper: its number is named all the same */
    process(&b, 5, T + 4, NULL, NULL);
    call(&b, 1, A, T + 300, 0);
    call(&b, 2, A, T + 200, 0);
    call(&b, 3, A, T + 250, 0);
    call(&b, 5, A, T + 100, 0);
    p = end(&b);
    assert_int_equal(rank_of(p, 102), 1);
    assert_int_equal(rank_of(p, 101), 6);
    assert_int_equal(rank_of(p, 103), 7);
    assert_int_equal(rank_of(p, 105), 8);
    assert_int_equal(rank_of(p, 104), -1);
    assert_int_equal(p->n_notes, 1);
    assert_true(has_note(p, "rank 1 (PMI_RANK) is claimed by 3 processes: pid 102"));
    profile__destroy(p);
}

static void an_exec_keeps_the_rank(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, "PMI_RANK", "2");
    call(&b, 1, A, T + 10, 0);
    executed(&b, 2, 1, 101, T + 50, NULL, NULL); /* without the variable */
    call(&b, 2, B, T + 60, 0);
    process(&b, 3, T + 1, NULL, NULL);
    executed(&b, 4, 3, 103, T + 50, "SCOPE_RANK", "1"); /* the shell's exec: the program's claim counts */
    call(&b, 4, B, T + 60, 0);
    p = end(&b);
    assert_int_equal(p->n_ranks, 2);
    assert_int_equal(row_of(p, "a", 2)->count, 1);
    assert_int_equal(row_of(p, "b", 2)->count, 1);
    assert_int_equal(row_of(p, "b", 1)->count, 1);
    assert_int_equal(rank_numbered(p, 2)->n_threads, 2);
    assert_int_equal(process_of(p, 101, 1)->rank, 2);
    assert_int_equal(process_of(p, 101, 2)->rank, 2);
    assert_int_equal(process_of(p, 103, 1)->rank, 1);
    profile__destroy(p);
}

/* A recycled pid, and an exec of which the capture says nonsense, are processes of their own. */
static void an_exec_of_another_process_does_not_join(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, NULL, NULL);
    call(&b, 1, A, T + 10, 0);
    executed(&b, 2, 1, 999, T + 50, NULL, NULL);
    call(&b, 2, A, T + 60, 0);
    executed(&b, 3, 3, 103, T + 50, NULL, NULL); /* from itself */
    call(&b, 3, A, T + 60, 0);
    executed(&b, 4, 77, 104, T + 50, NULL, NULL); /* from nowhere */
    call(&b, 4, A, T + 60, 0);
    p = end(&b);
    assert_int_equal(p->n_ranks, 4);
    profile__destroy(p);
}

/* system() inside a region, 100 times: what the children inherited makes no rank and no extra calls. */
static void children_that_only_inherited(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, NULL, NULL);
    for (uint32_t i = 0; i < 100; i++) {
        forked(&b, 2 + 2 * i, 1, T + 10 + i);
        if (i % 2)
            call(&b, 2 + 2 * i, A, T + 10 + i, SB_CALL_INHERITED | SB_CALL_TRUNCATED);
        else
            build_image_end(&b, 2 + 2 * i, T + 11 + i, 0, 1);
        executed(&b, 3 + 2 * i, 2 + 2 * i, 102 + 2 * i, T + 11 + i, NULL, NULL);
    }
    call(&b, 1, A, T + 5, 0);
    p = end(&b);
    assert_int_equal(p->n_ranks, 1);
    assert_int_equal(row_of(p, "a", 0)->count, 1);
    assert_int_equal(p->start.n, 1);
    assert_int_equal(p->ranks[0].inherited_dropped, 100);
    assert_int_equal(p->n_notes, 0);
    assert_int_equal(p->n_processes, 201);
    profile__destroy(p);
}

/* A child that goes on to run a region itself is a rank, and what it inherited is shown, from the fork on. */
static void a_child_with_a_region_of_its_own(void **state)
{
    struct capture_builder b;
    const struct row *row;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, "PMI_RANK", "0");
    forked(&b, 2, 1, T + 50);
    build_calls(&b, 2, 0);
    build_call(&b, 0, B, 1, T + 60, T + 65, 0);
    build_call(&b, 1, A, 0, T + 10, T + 70, SB_CALL_INHERITED);
    build_calls_done(&b);
    call(&b, 1, A, T + 10, 0);
    p = end(&b);
    assert_int_equal(p->n_ranks, 2);
    row = row_of(p, "a", 1);
    assert_int_equal(call_start(p, row, 0), T + 50);
    assert_int_equal(call_value(p, row, 0, COLUMN_FLAGS), SB_CALL_INHERITED);
    assert_int_equal(row->exclusive_total, 15);
    assert_string_equal(parent_name(p, row_of(p, "b", 1), 0), "a");
    assert_int_equal(call_value(p, row_of(p, "a", 0), 0, COLUMN_FLAGS), 0);
    assert_true(has_note(p, "claimed by 2 processes")); /* the child has its parent's environment */
    profile__destroy(p);
}

static void all_of_a_process_was_lost(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, NULL, NULL);
    build_lane_end(
        &b, &(struct build_lane_end){.id = 1, .records = 5, .why = SB_END_EXIT, .end = T + 100, .cpu = 1});
    build_loss(&b, SB_LOST_RING, 101, 1, A, 3);
    build_loss(&b, SB_LOST_DISK, 0, 1, B, 2);
    p = end(&b);
    assert_int_equal(p->n_ranks, 1);
    assert_int_equal(p->start.n, 0);
    assert_int_equal(lost(p, "ring full", false), 3);
    assert_int_equal(lost(p, "disk full", false), 2);
    assert_int_equal(lost(p, "", false), 5);
    for (uint32_t i = 0; i < p->n_losses; i++) {
        assert_int_equal(p->losses[i].pid, 101);
        assert_int_equal(p->losses[i].rank, 0);
    }
    profile__destroy(p);
}

static void the_highest_possible_number(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    process(&b, 1, T, "SCOPE_RANK", "1073741824");
    process(&b, 2, T + 1, NULL, NULL);
    call(&b, 1, A, T + 10, 0);
    call(&b, 2, A, T + 10, 0);
    p = end(&b);
    assert_int_equal(rank_of(p, 101), 1 << 30);
    assert_int_equal(rank_of(p, 102), (1 << 30) + 1);
    profile__destroy(p);
}

/* Blocks of different types come in any order: here all of them backwards. */
static void everything_backwards(void **state)
{
    struct capture_builder b;
    struct profile *p;

    (void)state;
    begin(&b);
    call(&b, 3, A, T + 300, 0);
    build_calls(&b, 2, 0);
    build_unmatched(&b, 0, A, T + 25);
    build_calls_done(&b);
    build_lane(&b, &(struct build_lane){.id = 3, .image = 3, .tid = 101, .start = T + 50, .time = T + 50});
    build_lane(
        &b, &(struct build_lane){
                .id = 2, .image = 2, .tid = 102, .flags = SB_LANE_FORKED, .start = T + 20, .time = T + 20});
    build_image(&b, &(struct build_image){.id = 3,
                                          .from = 1,
                                          .how = CAPTURE_IMAGE_EXEC,
                                          .pid = 101,
                                          .exec = 2,
                                          .start = T,
                                          .time = T + 50});
    build_image(
        &b, &(struct build_image){
                .id = 2, .from = 1, .how = CAPTURE_IMAGE_FORK, .pid = 102, .start = T + 20, .time = T + 20});
    process(&b, 1, T, "PMI_RANK", "4");
    call(&b, 1, A, T + 10, 0);
    p = end(&b);
    assert_int_equal(p->n_ranks, 1);
    assert_int_equal(row_of(p, "a", 4)->count, 2);
    assert_int_equal(p->n_processes, 3);
    profile__destroy(p);
}

/* The same blocks in another order give the same ranks. */
static void the_order_of_blocks_does_not_matter(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct capture_builder b;
        struct profile *p;

        begin(&b);
        if (turn)
            call(&b, 2, A, T + 200, 0);
        process(&b, 1, T + 1, NULL, NULL);
        call(&b, 1, A, T + 100, 0);
        process(&b, 2, T, NULL, NULL);
        if (!turn)
            call(&b, 2, A, T + 200, 0);
        p = end(&b);
        assert_int_equal(rank_of(p, 102), 0);
        assert_int_equal(rank_of(p, 101), 1);
        assert_int_equal(p->n_ranks, 2);
        profile__destroy(p);
    }
}

/* A program that --filter-comm leaves out leaves no trace, whatever stands before its image. */
static void filtered_programs_leave_nothing(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct build_image image = {.id = 2, .how = CAPTURE_IMAGE_EXEC, .pid = 102, .start = T, .time = T, .filtered = true};
        struct build_sample samples[] = {{T + 20, 0, 101, 1, A, 0x10}, {T + 30, 0, 102, 2, B, 0x20}, {T + 40, 0, 102, 0, 0, 0x20}};
        struct capture_builder b;
        struct profile *p;

        begin(&b);
        process(&b, 1, T + 1, NULL, NULL);
        if (turn)
            build_image(&b, &image);
        call(&b, 2, B, T + 100, 0);
        build_lane(&b, &(struct build_lane){.id = 2, .image = 2, .tid = 102, .start = T, .time = T});
        build_loss(&b, SB_LOST_RING, 102, 2, B, 7);
        build_samples(&b, samples, 3);
        call(&b, 1, A, T + 100, 0);
        if (!turn)
            build_image(&b, &image);
        p = end(&b);
        assert_int_equal(p->n_ranks, 1);
        assert_int_equal(rank_of(p, 101), 0);
        assert_int_equal(p->n_regions, 1);
        assert_int_equal(p->n_losses, 0);
        assert_int_equal(p->n_processes, 1);
        assert_int_equal(p->processes[0].samples, 1);
        assert_int_equal(rank_numbered(p, 0)->samples.n, 1);
        profile__destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_is_rank_0),
        cmocka_unit_test(ranks_of_mpi),
        cmocka_unit_test(the_first_variable_of_the_list_counts),
        cmocka_unit_test(values_that_are_no_rank_are_ignored),
        cmocka_unit_test(a_number_claimed_twice),
        cmocka_unit_test(an_exec_keeps_the_rank),
        cmocka_unit_test(an_exec_of_another_process_does_not_join),
        cmocka_unit_test(children_that_only_inherited),
        cmocka_unit_test(a_child_with_a_region_of_its_own),
        cmocka_unit_test(all_of_a_process_was_lost),
        cmocka_unit_test(the_highest_possible_number),
        cmocka_unit_test(everything_backwards),
        cmocka_unit_test(the_order_of_blocks_does_not_matter),
        cmocka_unit_test(filtered_programs_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
