// SPDX-License-Identifier: GPL-2.0-only
/* Columns: the same contents on the heap and in a file, sorting, full disks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "converters/column.h"

#define SPILLED (COLUMN_SPILL_BYTES / sizeof(int64_t) + 1000)

static void test_append_spills_and_keeps(void **state)
{
    struct column c;

    (void)state;
    column__init(&c, sizeof(int64_t));
    for (uint64_t i = 0; i < SPILLED * 3; i++)
        assert_int_equal(column__append_i64(&c, (int64_t)(i * 7)), 0);
    assert_true(c.fd >= 0);
    for (uint64_t i = 0; i < c.n; i++)
        assert_int_equal(column_i64(&c)[i], i * 7);
    column__deinit(&c);
    assert_int_equal(c.n, 0);
    assert_int_equal(column__append_i64(&c, 3), 0);
    assert_int_equal(c.fd, -1);
    column__deinit(&c);
}

static void test_zeroed_column_is_empty(void **state)
{
    struct column c = {0};

    (void)state;
    column__deinit(&c);
    column__init(&c, 8);
    assert_non_null(column_i64(&c));
    column__deinit(&c);
}

static void test_resize_clears(void **state)
{
    struct column c;

    (void)state;
    column__init(&c, sizeof(int64_t));
    assert_int_equal(column__fill_i64(&c, 100, -1), 0);
    assert_int_equal(column__resize(&c, 10), 0);
    assert_int_equal(column__resize(&c, SPILLED), 0);
    for (uint64_t i = 0; i < c.n; i++)
        assert_int_equal(column_i64(&c)[i], i < 10 ? -1 : 0);
    assert_int_equal(column__resize(&c, UINT64_MAX / 2), -ENOMEM);
    assert_int_equal(c.n, SPILLED);
    column__deinit(&c);
}

static void test_append_many(void **state)
{
    static int64_t block[50000];
    struct column c;

    (void)state;
    column__init(&c, sizeof(int64_t));
    for (int64_t round = 0; round < 20; round++) {
        for (int i = 0; i < 50000; i++)
            block[i] = round * 50000 + i;
        assert_int_equal(column__append_many(&c, block, 50000), 0);
    }
    for (uint64_t i = 0; i < c.n; i++)
        assert_int_equal(column_i64(&c)[i], i);
    assert_int_equal(column__append_many(&c, block, UINT64_MAX - 3), -ENOMEM);
    column__deinit(&c);
}

/* ---- sorting: records of a key and the place where they came from
 * -------------------------------------------- */

struct record {
    uint32_t key, serial;
    uint8_t rest[5];
};

static int by_key(const void *a, const void *b, void *arg)
{
    const struct record *x = a, *y = b;

    ++*(uint64_t *)arg;
    return (x->key > y->key) - (x->key < y->key);
}

static void sort_and_check(uint64_t n, uint32_t keys, unsigned seed)
{
    uint64_t compared = 0, sum = 0, wanted = 0;
    struct column c;
    const struct record *r;

    column__init(&c, sizeof(struct record));
    for (uint64_t i = 0; i < n; i++) {
        struct record *record = column__append(&c);

        *record = (struct record){(uint32_t)rand_r(&seed) % keys, (uint32_t)i, {(uint8_t)i}};
        wanted += record->key;
    }
    assert_int_equal(column__sort(&c, by_key, &compared), 0);
    r = c.data;
    for (uint64_t i = 0; i < n; i++) {
        sum += r[i].key;
        assert_int_equal(r[i].rest[0], (uint8_t)r[i].serial);
        if (!i)
            continue;
        assert_true(r[i - 1].key <= r[i].key);
        if (r[i - 1].key == r[i].key)
            assert_true(r[i - 1].serial < r[i].serial);
    }
    assert_int_equal(sum, wanted);
    column__deinit(&c);
}

static void test_sort_is_stable(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 60; n++) {
        sort_and_check(n, 5, (unsigned)n);
        sort_and_check(n, 1000, (unsigned)n + 1000);
    }
    sort_and_check(1000, 10, 1);
    sort_and_check(COLUMN_SPILL_BYTES / sizeof(struct record) + 12345, 1 << 20, 2);
}

static void test_sorted_is_left_alone(void **state)
{
    uint64_t compared = 0;
    struct column c;

    (void)state;
    column__init(&c, sizeof(struct record));
    for (uint32_t i = 0; i < 100000; i++)
        ((struct record *)column__append(&c))->key = i / 3;
    assert_int_equal(column__sort(&c, by_key, &compared), 0);
    assert_int_equal(compared, 99999);
    column__deinit(&c);
}

/* ---- the disk
 * ------------------------------------------------------------------------------------------------- */

/* A file that may not grow stands for a full disk: the error comes when space is asked for, not at a store.
 */
static void test_full_disk_is_an_error(void **state)
{
    struct rlimit old, tight = {COLUMN_SPILL_BYTES + 4096, RLIM_INFINITY};
    struct column c;
    int code = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    column__init(&c, sizeof(int64_t));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    for (uint64_t i = 0; i < SPILLED * 4 && !code; i++)
        code = column__append_i64(&c, (int64_t)i);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(code == -EFBIG || code == -ENOSPC);
    for (uint64_t i = 0; i < c.n; i++)
        assert_int_equal(column_i64(&c)[i], i);
    column__deinit(&c);
}

static void test_folder_of_temporary_files(void **state)
{
    char folder[] = "/tmp/test-column-XXXXXX", link[64], target[256] = "";
    const char *before = getenv("TMPDIR");
    char *saved = before ? strdup(before) : NULL;
    struct column c;

    (void)state;
    assert_non_null(mkdtemp(folder));
    unsetenv("TMPDIR");
    column__set_folder(folder);
    column__init(&c, sizeof(int64_t));
    assert_int_equal(column__resize(&c, SPILLED), 0);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", c.fd);
    assert_true(readlink(link, target, sizeof(target) - 1) > 0);
    assert_int_equal(strncmp(target, folder, strlen(folder)), 0);
    column__deinit(&c);
    /* nothing stays behind, and a folder that is gone is no reason to fail */
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(column__resize(&c, SPILLED), 0);
    column__deinit(&c);
    column__set_folder(NULL);
    if (saved)
        setenv("TMPDIR", saved, 1);
    free(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_spills_and_keeps), cmocka_unit_test(test_zeroed_column_is_empty),
        cmocka_unit_test(test_resize_clears),           cmocka_unit_test(test_append_many),
        cmocka_unit_test(test_sort_is_stable),          cmocka_unit_test(test_sorted_is_left_alone),
        cmocka_unit_test(test_full_disk_is_an_error),   cmocka_unit_test(test_folder_of_temporary_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
