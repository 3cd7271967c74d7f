// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <fnmatch.h>

#include "usdt/glob.h"

static bool match(const char *pattern, const char *name)
{
    return glob__match_str(pattern, name, strlen(name));
}

static void test_matches(void **state)
{
    (void)state;
    assert_true(match("solve", "solve"));
    assert_true(match("*", ""));
    assert_true(match("**", "x"));
    assert_true(match("s*e", "solve"));
    assert_true(match("*a*b*c", "xxaxxbxbcxc"));
    assert_true(match("mpi:*", "mpi:send kind=wait"));
    assert_true(match("a?c", "abc"));
    assert_true(match("a?c", "a\xc3\xbc"
                             "c")); /* one character of two bytes */
    assert_true(match("a?c", "a\xff"
                             "c"));
    assert_true(match("[a-c]x", "bx"));
    assert_true(match("[!a-c]x", "dx"));
    assert_true(match("[]]", "]"));
    assert_true(match("[\\]a]", "]"));
    assert_true(match("[a-]", "-"));
    assert_true(match("\\*", "*"));
    assert_true(match("a[b", "a[b")); /* not closed: itself */
    assert_true(match("x\\", "x\\"));
    assert_true(match("/*", "/.hidden/x"));
}

static void test_differs(void **state)
{
    (void)state;
    assert_false(match("solve", "solver"));
    assert_false(match("solver", "solve"));
    assert_false(match("", "x"));
    assert_false(match("?", ""));
    assert_false(match("s*x", "solve"));
    assert_false(match("[a-c]", "d"));
    assert_false(match("[^a-c]", "b"));
    assert_false(match("\\*", "x"));
    assert_false(match("*a*b*c", "xxaxxbxb"));
    assert_false(match("[c-a]", "b"));
}

static void test_bytes_without_end(void **state)
{
    static const char name[] = {'a', 0, 'b'};

    (void)state;
    assert_true(glob__match("a*b", 3, name, 3));
    assert_true(glob__match("a?b!", 3, name, 3));
    assert_false(glob__match("a*", 1, name, 3));
    assert_true(glob__match("", 0, "", 0));
}

/* The C library's fnmatch is the truth for patterns over ASCII without classes and ranges ends. */
static void test_against_fnmatch(void **state)
{
    static const char pattern_bytes[] = "ab*?[]!\\-", name_bytes[] = "ab[]!-*";
    unsigned int seed = 7;
    char pattern[8], name[8];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t pattern_len = (size_t)rand_r(&seed) % 7, name_len = (size_t)rand_r(&seed) % 7;

        for (size_t k = 0; k < pattern_len; k++)
            pattern[k] = pattern_bytes[(size_t)rand_r(&seed) % (sizeof(pattern_bytes) - 1)];
        for (size_t k = 0; k < name_len; k++)
            name[k] = name_bytes[(size_t)rand_r(&seed) % (sizeof(name_bytes) - 1)];
        pattern[pattern_len] = name[name_len] = '\0';
        /* Where POSIX leaves the meaning open, libraries differ. */
        if (strchr(pattern, '[') && (strchr(pattern, '\\') || strchr(pattern, '-')))
            continue;
        if (pattern_len && pattern[pattern_len - 1] == '\\')
            continue;
        if (match(pattern, name) != !fnmatch(pattern, name, 0))
            fail_msg("\"%s\" and \"%s\": %d", pattern, name, match(pattern, name));
    }
}

static void test_many_stars_are_fast(void **state)
{
    char pattern[2001], name[4001];
    clock_t start = clock();

    (void)state;
    for (size_t i = 0; i < 2000; i++)
        pattern[i] = i & 1 ? 'a' : '*';
    pattern[1999] = 'b';
    pattern[2000] = '\0';
    memset(name, 'a', 4000);
    name[4000] = '\0';
    assert_false(match(pattern, name));
    assert_true(clock() - start < CLOCKS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_differs),
        cmocka_unit_test(test_bytes_without_end),
        cmocka_unit_test(test_against_fnmatch),
        cmocka_unit_test(test_many_stars_are_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
