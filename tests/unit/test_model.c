// SPDX-License-Identifier: GPL-2.0-only
/* The model: names, ranks, rows, metadata, merging. */
#include "made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void test_names_are_bytes(void **state)
{
    struct profile *p;

    (void)state;
    assert_int_equal(profile__create(&p), 0);
    assert_int_equal(profile__region(p, "solve", 5), 0);
    assert_int_equal(profile__region(p, "solve\xff", 6), 1);
    assert_int_equal(profile__region(p, "", 0), 2);
    assert_int_equal(profile__region(p, "solve", 5), 0);
    assert_int_equal(profile__region(p, "solver", 5), 0);
    assert_int_equal(p->n_regions, 3);
    assert_memory_equal(p->regions[1].name.s, "solve\xff", 7);
    profile__destroy(p);
    profile__destroy(NULL);
}

static void test_thousands_of_rows_are_found(void **state)
{
    struct profile *p;
    char name[16];

    (void)state;
    assert_int_equal(profile__create(&p), 0);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "r%d", i);
        assert_int_equal(profile__region(p, name, strlen(name)), i);
    }
    for (int rank = 0; rank < 300; rank++) {
        /* numbers far apart and not in order */
        int64_t at = profile__rank(p, (rank * 7919) % 300 * 1000);

        assert_int_equal(at, rank);
        for (uint32_t i = 0; i < 200; i++)
            assert_non_null(profile__add_row(p, i, (uint32_t)at));
    }
    assert_int_equal(profile__find_rank(p, 5), -1);
    for (uint64_t i = 0; i < p->n_rows; i++)
        assert_ptr_equal(profile__find_row(p, p->rows[i].region, p->rows[i].rank), &p->rows[i]);
    assert_null(profile__find_row(p, 200, 0));
    profile__destroy(p);
}

static void test_appended_records_keep_their_contents(void **state)
{
    struct profile *p;

    (void)state;
    assert_int_equal(profile__create(&p), 0);
    for (int64_t i = 0; i < 1000; i++) {
        struct run_note *note = profile__append(p, &p->notes, &p->n_notes, sizeof(*note));

        assert_non_null(note);
        assert_int_equal(note->from, 0);
        note->from = i;
    }
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(p->notes[i].from, i);
    profile__destroy(p);
}

static void test_metadata_is_replaced_in_place(void **state)
{
    struct profile *p;

    (void)state;
    assert_int_equal(profile__create(&p), 0);
    assert_int_equal(profile__set_meta_int(p, "mpi_size", 4), 0);
    assert_int_equal(profile__set_meta_text(p, "label", "a", 1), 0);
    assert_int_equal(profile__set_meta_text(p, "mpi_size", "five", 4), 0);
    assert_int_equal(p->n_meta, 2);
    assert_int_equal(profile__meta(p, "mpi_size")->kind, META_TEXT);
    assert_string_equal(profile__meta(p, "mpi_size")->text.s, "five");
    assert_null(profile__meta(p, "mpi"));
    profile__destroy(p);
}

/* ---- merging
 * -------------------------------------------------------------------------------------------------- */

static void test_merge_puts_ranks_side_by_side(void **state)
{
    const struct made_call first[] = {{"a", 0, -1, 10, 20, -1}, {"b", 0, -1, 12, 15, -1}};
    const struct made_call second[] = {
        {"b", 3, 2, 100, 110, 1}, {"c", 3, 1, 105, 106, 0}, {"b", 3, 2, 120, 130, 0}};
    struct profile *into = made_profile(first, 2), *from = made_profile(second, 3);
    const struct row *row;
    struct err err = {0};

    (void)state;
    assert_int_equal(profile__merge(into, from, &err), 0);
    profile__destroy(from);
    assert_int_equal(into->n_regions, 3);
    assert_int_equal(into->n_ranks, 2);
    assert_int_equal(into->n_rows, 4);
    assert_int_equal(into->start.n, 5);
    row = profile__find_row(into, (uint32_t)profile__region(into, "b", 1),
                            (uint32_t)profile__find_rank(into, 3));
    assert_int_equal(row->count, 2);
    assert_int_equal(column_i64(&into->start)[row->offset], 100);
    assert_int_equal(column_i64(&into->end)[row->offset + 1], 130);
    assert_true(row__has(row, COLUMN_THREAD_ID));
    assert_int_equal(column_i64(&into->extra[COLUMN_THREAD_ID])[row->offset], 2);
    assert_int_equal(column_i64(&into->extra[COLUMN_FLAGS])[row->offset], 1);
    /* the calls of the other input have no lane */
    assert_int_equal(into->extra[COLUMN_THREAD_ID].n, 5);
    assert_int_equal(column_i64(&into->extra[COLUMN_THREAD_ID])[0], -1);
    assert_int_equal(column_i64(&into->extra[COLUMN_FLAGS])[0], 0);
    assert_false(row__has(&into->rows[0], COLUMN_THREAD_ID));
    profile__destroy(into);
}

static void test_merge_refuses_a_rank_twice(void **state)
{
    const struct made_call one[] = {{"a", 7, -1, 10, 20, -1}};
    struct profile *into = made_profile(one, 1), *from = made_profile(one, 1);
    struct err err = {0};

    (void)state;
    into->ranks[0].file = profile__text(into, "first.h5", 8);
    from->ranks[0].file = profile__text(from, "second.h5", 9);
    assert_int_equal(profile__merge(into, from, &err), -EEXIST);
    assert_non_null(strstr(err.text, "rank 7"));
    assert_non_null(strstr(err.text, "first.h5"));
    assert_non_null(strstr(err.text, "second.h5"));
    profile__destroy(from);
    profile__destroy(into);
}

static void test_merge_refuses_sums_beside_calls(void **state)
{
    const struct made_call a[] = {{"a", 0, -1, 10, 20, -1}}, b[] = {{"a", 1, -1, 10, 20, -1}};
    struct profile *into = made_profile(a, 1), *from = made_profile(b, 1);
    struct err err = {0};

    (void)state;
    from->aggregate = true;
    assert_int_equal(profile__merge(into, from, &err), -EINVAL);
    profile__destroy(from);
    profile__destroy(into);
}

static struct thread_row *add_thread(struct profile *p, int64_t start, int64_t end)
{
    struct thread_row *row = profile__append(p, &p->ranks[0].threads, &p->ranks[0].n_threads, sizeof(*row));

    assert_non_null(row);
    row->start_ns = start;
    row->end_ns = end;
    return row;
}

/* Whichever began later is shifted, whatever the order of the inputs. */
static void check_clocks(int64_t into_start, int64_t from_start)
{
    const struct made_call a[] = {{"a", 0, -1, 1000, 2000, -1}}, b[] = {{"a", 1, -1, 1000, 2000, -1}};
    struct profile *into = made_profile(a, 1), *from = made_profile(b, 1);
    int64_t earlier = into_start < from_start ? into_start : from_start;
    struct err err = {0};

    add_thread(into, 5, 50);
    add_thread(from, 7, -1);
    profile__set_meta_int(into, "start_time_ns", into_start);
    profile__set_meta_int(from, "start_time_ns", from_start);
    profile__set_meta_int(into, "finalize_time_ns", into_start + 10);
    profile__set_meta_int(from, "finalize_time_ns", from_start + 10);
    assert_int_equal(profile__merge(into, from, &err), 0);
    profile__destroy(from);
    assert_int_equal(profile__meta(into, "start_time_ns")->integer, earlier);
    assert_int_equal(profile__meta(into, "finalize_time_ns")->integer,
                     into_start + from_start - earlier + 10);
    assert_int_equal(into->ranks[0].threads[0].start_ns + earlier, into_start + 5);
    assert_int_equal(into->ranks[0].threads[0].end_ns + earlier, into_start + 50);
    assert_int_equal(into->ranks[1].threads[0].start_ns + earlier, from_start + 7);
    assert_int_equal(into->ranks[1].threads[0].end_ns, -1);
    profile__destroy(into);
}

static void test_merge_aligns_clocks(void **state)
{
    (void)state;
    check_clocks(900, 400);
    check_clocks(400, 900);
    check_clocks(400, 400);
}

static struct rank *add_rank(struct profile *p, int32_t number)
{
    int64_t at = profile__rank(p, number);

    assert_true(at >= 0);
    return &p->ranks[at];
}

/* Samples and calls of a rank come from two files: together they are the rank. */
static void test_merge_joins_samples_and_calls(void **state)
{
    const struct made_call calls[] = {{"z", 0, -1, 10, 20, -1}, {"a", 0, -1, 12, 15, -1}};
    struct profile *into = made_profile(calls, 2), *from, *third;
    struct err err = {0};
    struct sample *sample;
    struct rank *rank;

    (void)state;
    assert_int_equal(profile__create(&from), 0);
    profile__region(from, "a", 1);
    rank = add_rank(from, 0);
    rank->ticks = 12;
    rank->hz = 99;
    sample = column__append(&rank->samples);
    *sample = (struct sample){.region = 0, .address = 77, .module = -1, .thread = -1};
    assert_int_equal(profile__merge(into, from, &err), 0);
    profile__destroy(from);
    assert_int_equal(into->n_ranks, 1);
    assert_int_equal(into->ranks[0].ticks, 12);
    assert_int_equal(into->ranks[0].samples.n, 1);
    sample = into->ranks[0].samples.data;
    assert_int_equal(sample->region, profile__region(into, "a", 1));
    assert_int_equal(into->start.n, 2);
    /* once more would be a second set of samples */
    assert_int_equal(profile__create(&third), 0);
    add_rank(third, 0)->ticks = 3;
    assert_int_equal(profile__merge(into, third, &err), -EEXIST);
    profile__destroy(third);
    profile__destroy(into);
}

static void test_merge_of_many_ranks(void **state)
{
    struct profile *into;
    struct err err = {0};

    (void)state;
    assert_int_equal(profile__create(&into), 0);
    for (int32_t i = 0; i < 2000; i++) {
        const struct made_call calls[] = {{"a", i, -1, i, i + 5, -1}, {"b", i, -1, i + 1, i + 2, -1}};
        struct profile *from = made_profile(calls, 2);

        assert_int_equal(profile__merge(into, from, &err), 0);
        profile__destroy(from);
    }
    assert_int_equal(into->n_rows, 4000);
    assert_int_equal(into->n_regions, 2);
    for (uint64_t i = 0; i < into->n_rows; i++)
        assert_int_equal(column_i64(&into->start)[into->rows[i].offset],
                         into->ranks[into->rows[i].rank].number + (int64_t)into->rows[i].region);
    profile__destroy(into);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_bytes),
        cmocka_unit_test(test_thousands_of_rows_are_found),
        cmocka_unit_test(test_appended_records_keep_their_contents),
        cmocka_unit_test(test_metadata_is_replaced_in_place),
        cmocka_unit_test(test_merge_puts_ranks_side_by_side),
        cmocka_unit_test(test_merge_refuses_a_rank_twice),
        cmocka_unit_test(test_merge_refuses_sums_beside_calls),
        cmocka_unit_test(test_merge_aligns_clocks),
        cmocka_unit_test(test_merge_joins_samples_and_calls),
        cmocka_unit_test(test_merge_of_many_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
