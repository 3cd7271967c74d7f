// SPDX-License-Identifier: GPL-2.0-only
/* What is written and read again is what it was, to the byte of a name and the last bit of a number. */
#include "whole_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "converters/format.h"

static char folder[] = "/tmp/test-round-trip-XXXXXX";

/* Writes, reads and removes all files; those of several ranks are merged. */
static struct profile *through(const struct profile *p, const char *name)
{
    struct profile *all = NULL, *one;
    struct err err = {0};
    char path[128], **files;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (format__write_files(p, format__by_suffix(path), path, NULL, &files, &n, &err))
        fail_msg("%s", err.text);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        if (format__read_file(files[i], &one, &err))
            fail_msg("%s", err.text);
        unlink(files[i]);
        free(files[i]);
        if (!all) {
            all = one;
            continue;
        }
        if (profile__merge(all, one, &err))
            fail_msg("%s", err.text);
        profile__destroy(one);
    }
    free(files);
    return all;
}

static void check(const char *name, unsigned parts, uint32_t names)
{
    struct profile *p = whole_profile_of(names), *once = through(p, name), *twice = through(once, name);

    assert_same_profile(p, once, parts);
    assert_same_profile(once, twice, parts);
    profile__destroy(twice);
    profile__destroy(once);
    profile__destroy(p);
}

static void test_h5(void **state)
{
    (void)state;
    check("p.h5", WHOLE_ALL, UINT32_MAX);
}

static void test_json(void **state)
{
    (void)state;
    check("p.json", WHOLE_ALL, UINT32_MAX);
}

static void test_json_gz(void **state)
{
    (void)state;
    check("p.json.gz", WHOLE_ALL, UINT32_MAX);
}

static void test_spt(void **state)
{
    (void)state;
    check("p.spt", WHOLE_CALLS, WHOLE_UTF8);
}

static void note(void *arg, const char *what)
{
    *(bool *)arg |= strstr(what, "UTF-8") != NULL;
}

/* A trace is UTF-8: names that are not are shown as such, stay apart, and it is said. */
static void test_spt_names(void **state)
{
    struct profile *p = whole_profile(), *q = through(p, "n.spt");
    bool said = false;
    const struct write_options options = {.say = note, .say_arg = &said};
    struct err err = {0};
    char path[128], **files;
    size_t n;

    (void)state;
    assert_int_equal(q->n_rows, p->n_rows);
    assert_int_equal(profile__region(q, "byte \xef\xbf\xbd\xef\xbf\xbd~2", 13), q->n_regions - 2);
    snprintf(path, sizeof(path), "%s/n.spt", folder);
    assert_int_equal(format__write_files(p, format__by_suffix(path), path, &options, &files, &n, &err), 0);
    assert_true(said);
    for (size_t i = 0; i < n; i++) {
        unlink(files[i]);
        free(files[i]);
    }
    free(files);
    profile__destroy(q);
    profile__destroy(p);
}

/* Samples: region by name, module by path; times, lanes and flags have no place in a .sps. */
static void test_sps(void **state)
{
    struct profile *p = whole_profile(), *q = through(p, "p.sps");

    (void)state;
    assert_int_equal(p->n_ranks, q->n_ranks);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        const struct rank *a = &p->ranks[i], *b = &q->ranks[profile__find_rank(q, a->number)];
        const struct sample *x = a->samples.data, *y = b->samples.data;

        assert_true(a->ticks == b->ticks && a->hz == b->hz && a->samples.n == b->samples.n);
        assert_memory_equal(a->modules[0].path.s, b->modules[0].path.s, a->modules[0].path.len);
        for (uint64_t k = 0; k < a->samples.n; k++)
            assert_true(x[k].address == y[k].address && x[k].module == y[k].module &&
                        x[k].region == y[k].region);
    }
    profile__destroy(q);
    profile__destroy(p);
}

/* h5 → json → h5 → spt and back: each step keeps what the next can hold. */
static void test_chain(void **state)
{
    struct profile *p = whole_profile(), *a = through(p, "a.h5"), *b = through(a, "b.json"),
                   *c = through(b, "c.h5");

    (void)state;
    assert_same_profile(p, c, WHOLE_ALL);
    profile__destroy(c);
    profile__destroy(b);
    profile__destroy(a);
    profile__destroy(p);
}

static void test_chosen_rank(void **state)
{
    struct profile *p = whole_profile(), *q;
    const int32_t rank = 12;
    const struct write_options options = {.ranks = &rank, .n_ranks = 1};
    static const char *const targets[] = {"r.h5", "r.json", "r.spt"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct err err = {0};
        char path[128], **files;
        size_t n;

        snprintf(path, sizeof(path), "%s/%s", folder, targets[i]);
        assert_int_equal(format__write_files(p, format__by_suffix(path), path, &options, &files, &n, &err),
                         0);
        assert_int_equal(n, 1);
        assert_int_equal(format__read_file(files[0], &q, &err), 0);
        assert_int_equal(q->n_ranks, 1);
        assert_int_equal(q->ranks[0].number, 12);
        assert_int_equal(q->start.n, p->start.n / 2);
        unlink(files[0]);
        free(files[0]);
        free(files);
        profile__destroy(q);
    }
    profile__destroy(p);
}

/* More calls than a slab, several chunks, so many that columns spill and are compressed. */
static void test_many_calls(void **state)
{
    struct profile *p, *q;
    struct row *row;

    (void)state;
    assert_int_equal(profile__create(&p), 0);
    for (uint32_t r = 0; r < 3; r++) {
        char name[8];

        snprintf(name, sizeof(name), "r%u", r);
        assert_int_equal(profile__region(p, name, 2), r);
        assert_int_equal(profile__rank(p, 0), 0);
        row = profile__add_row(p, r, 0);
        row->offset = p->start.n;
        row->count = 300000 + r;
        for (uint64_t i = 0; i < row->count; i++) {
            column__append_i64(&p->start, (int64_t)(i * 1000 + r));
            column__append_i64(&p->end, (int64_t)(i * 1000 + r + i % 777));
        }
    }
    q = through(p, "many.h5");
    assert_same_profile(p, q, WHOLE_CALLS);
    profile__destroy(q);
    q = through(p, "many.json.gz");
    assert_same_profile(p, q, WHOLE_CALLS);
    profile__destroy(q);
    q = through(p, "many.spt");
    assert_same_profile(p, q, WHOLE_CALLS);
    profile__destroy(q);
    profile__destroy(p);
}

static void test_extreme_times(void **state)
{
    static const int64_t times[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    static const char *const targets[] = {"x.h5", "x.json", "x.spt"};
    struct profile *p, *q;
    struct row *row;

    (void)state;
    assert_int_equal(profile__create(&p), 0);
    profile__region(p, "x", 1);
    profile__rank(p, INT32_MAX);
    row = profile__add_row(p, 0, 0);
    row->count = 6;
    for (int i = 0; i < 6; i++) {
        column__append_i64(&p->start, times[i]);
        column__append_i64(&p->end, times[i]);
    }
    for (int i = 0; i < 3; i++) {
        q = through(p, targets[i]);
        assert_same_profile(p, q, WHOLE_CALLS);
        profile__destroy(q);
    }
    profile__destroy(p);
}

static void test_sums_without_calls(void **state)
{
    static const char *const targets[] = {"s.h5", "s.json"};
    const struct aggregate wanted = {true, 1ull << 40, 1234567890123, 1, 99, 77};
    struct profile *p, *q;

    (void)state;
    assert_int_equal(profile__create(&p), 0);
    p->aggregate = true;
    profile__region(p, "x", 1);
    profile__rank(p, 3);
    profile__add_row(p, 0, 0)->aggregate = wanted;
    for (int i = 0; i < 2; i++) {
        q = through(p, targets[i]);
        assert_true(q->aggregate);
        assert_int_equal(q->n_rows, 1);
        assert_int_equal(q->rows[0].aggregate.count, wanted.count);
        assert_int_equal(q->rows[0].aggregate.total_ns, wanted.total_ns);
        assert_int_equal(q->rows[0].aggregate.min_ns, wanted.min_ns);
        assert_int_equal(q->rows[0].aggregate.max_ns, wanted.max_ns);
        assert_int_equal(q->rows[0].aggregate.exclusive_ns, wanted.exclusive_ns);
        profile__destroy(q);
    }
    profile__destroy(p);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when a test left something behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h5),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_gz),
        cmocka_unit_test(test_spt),
        cmocka_unit_test(test_spt_names),
        cmocka_unit_test(test_sps),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_chosen_rank),
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_extreme_times),
        cmocka_unit_test(test_sums_without_calls),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
