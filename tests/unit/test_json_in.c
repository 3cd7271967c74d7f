// SPDX-License-Identifier: GPL-2.0-only
/* The JSON parser: strict, exact, bounded; and JSON going out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "converters/json_in.h"
#include "converters/json_out.h"

/* The parser's code after it has copied one document; `copy` gets the strict text. */
static int parse(const char *text, size_t len, bool lenient, struct json_text *copy)
{
    struct json_in j;

    json_in__init_text(&j, text, len);
    j.lenient = lenient;
    json_in__copy(&j, copy);
    json_in__end(&j);
    return j.code;
}

static void test_documents_are_copied(void **state)
{
    static const char *const pairs[][2] = {
        {" { \"a\" : [ 1 , -2.5e+3 , true , false , null , { } , [ ] ] } ",
         "{\"a\":[1,-2.5e+3,true,false,null,{},[]]}"},
        {"\"\\u00e9\\ud83d\\ude00\\n\\\"\\/\"", "\"\xc3\xa9\xf0\x9f\x98\x80\\u000a\\\"/\""},
        {"\"\\ud800x\"", "\"\xef\xbf\xbdx\""},
        {"[[[[]]]]", "[[[[]]]]"},
        {"0", "0"},
        {"-0", "-0"},
        {"{\"a\":{\"b\":{\"c\":[{},{}]}},\"d\":\"\"}", "{\"a\":{\"b\":{\"c\":[{},{}]}},\"d\":\"\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct json_text copy = {0};

        assert_int_equal(parse(pairs[i][0], strlen(pairs[i][0]), false, &copy), 0);
        assert_string_equal(copy.s, pairs[i][1]);
        json_text__deinit(&copy);
    }
}

static void test_what_is_no_json(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{1:2}",
        "nul",
        "truex",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "--1",
        "\"abc",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "[1]]",
        "{}{}",
        "NaN",
        "Infinity",
        "'a'",
        "/*c*/1",
        "[1}",
        "{\"a\":1]",
        "\"\\ud800\\n\"",
        "\xef\xbb\xbf{}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct json_text copy = {0};

        if (!parse(bad[i], strlen(bad[i]), false, &copy))
            fail_msg("'%s' was taken", bad[i]);
        json_text__deinit(&copy);
    }
}

static void test_python_constants_become_null(void **state)
{
    struct json_text copy = {0};

    (void)state;
    assert_int_equal(parse("[NaN,Infinity,-Infinity,1]", 26, true, &copy), 0);
    assert_string_equal(copy.s, "[null,null,null,1]");
    json_text__deinit(&copy);
}

static int64_t integer(const char *text, int *code)
{
    struct json_in j;
    int64_t v;

    json_in__init_text(&j, text, strlen(text));
    v = json_in__i64(&j);
    json_in__end(&j);
    *code = j.code;
    return v;
}

static void test_integers_are_exact(void **state)
{
    int code;

    (void)state;
    assert_true(integer("9223372036854775807", &code) == INT64_MAX && !code);
    assert_true(integer("-9223372036854775808", &code) == INT64_MIN && !code);
    assert_true(integer("9007199254740993", &code) == 9007199254740993 && !code);
    integer("9223372036854775808", &code);
    assert_int_equal(code, -EINVAL);
    integer("-9223372036854775809", &code);
    assert_int_equal(code, -EINVAL);
    integer("1.0", &code);
    assert_int_equal(code, -EINVAL);
    integer("1e3", &code);
    assert_int_equal(code, -EINVAL);
}

static void test_nesting_is_bounded(void **state)
{
    size_t n = 1u << 20;
    char *deep = malloc(n);

    (void)state;
    memset(deep, '[', n);
    assert_int_equal(parse(deep, n, false, NULL), -EINVAL);
    memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    assert_int_equal(parse(deep, 2 * JSON_DEPTH_MAX, false, NULL), 0);
    free(deep);
}

/* A source that gives one byte, then two, then three: values cross every border of a buffer. */
struct dribble {
    const char *at, *end;
    size_t step;
};

static int dribble(struct json_in *j, void *buf, size_t cap)
{
    struct dribble *d = j->arg;
    size_t n = d->step = d->step % 3 + 1;

    n = n < cap ? n : cap;
    n = n < (size_t)(d->end - d->at) ? n : (size_t)(d->end - d->at);
    memcpy(buf, d->at, n);
    d->at += n;
    return (int)n;
}

static void test_values_cross_buffers(void **state)
{
    const char *text = "{\"k\\u00e9y\":[12345,-1.5,1,99999999999]}";
    struct dribble d = {text, text + strlen(text), 0};
    struct json_text key = {0};
    struct json_in j;

    (void)state;
    assert_int_equal(json_in__init(&j, dribble, &d), 0);
    assert_true(json_in__enter(&j, '{'));
    assert_true(json_in__next(&j));
    json_in__key(&j, &key);
    assert_string_equal(key.s, "k\xc3\xa9y");
    assert_true(json_in__enter(&j, '['));
    assert_true(json_in__next(&j));
    assert_true(json_in__is_integer(&j));
    assert_int_equal(json_in__i64(&j), 12345);
    assert_true(json_in__next(&j));
    assert_true(json_in__double(&j) == -1.5);
    assert_true(json_in__next(&j));
    assert_int_equal(json_in__i64(&j), 1);
    assert_true(json_in__next(&j));
    assert_int_equal(json_in__i64(&j), 99999999999);
    assert_false(json_in__next(&j));
    assert_false(json_in__next(&j));
    json_in__end(&j);
    assert_int_equal(j.code, 0);
    json_text__deinit(&key);
    json_in__deinit(&j);
}

static void test_output_is_strict(void **state)
{
    char path[] = "/tmp/test-json-out-XXXXXX", got[512] = "";
    struct json_out j = {0};
    int fd = mkstemp(path);

    (void)state;
    assert_int_equal(out__open(&j.out, path, false, NULL), 0);
    json_out__open(&j, '{');
    json_out__string_at(&j, "name", (struct text){"a\"\\\n\x7f\xff\xc3\xa9\xed\xa0\x80", 11});
    json_out__key(&j, "numbers");
    json_out__open(&j, '[');
    json_out__i64(&j, INT64_MIN);
    json_out__double(&j, 0.1);
    json_out__double(&j, 3);
    json_out__double(&j, 1e300);
    json_out__double(&j, NAN);
    json_out__double(&j, INFINITY);
    json_out__close(&j, ']');
    json_out__close(&j, '}');
    assert_int_equal(out__close(j.out, NULL), 0);
    assert_true(read(fd, got, sizeof(got) - 1) > 0);
    assert_string_equal(got,
                        "{\"name\":\"a\\u0022\\u005c\\u000a\\u007f\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffd\","
                        "\"numbers\":[-9223372036854775808,0.1,3.0,1e+300,null,null]}");
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_are_copied),
        cmocka_unit_test(test_what_is_no_json),
        cmocka_unit_test(test_python_constants_become_null),
        cmocka_unit_test(test_integers_are_exact),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_values_cross_buffers),
        cmocka_unit_test(test_output_is_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
