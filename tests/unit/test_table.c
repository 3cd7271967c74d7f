// SPDX-License-Identifier: GPL-2.0-only
/* What people and parsers see: widths, escapes, numbers, cut columns; names that try to play tricks. */
#include "converters/views/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const struct screen wide = {.utf8 = true};

static struct text text_of(const char *s)
{
    return (struct text){s, (uint32_t)strlen(s)};
}

static void shown_as(const char *name, const char *expected)
{
    struct strbuf b = {0};

    show__text(&b, text_of(name), true);
    assert_string_equal(b.s ? b.s : "", expected);
    strbuf__deinit(&b);
}

static void names_cannot_play_with_the_terminal(void **state)
{
    (void)state;
    shown_as("plain name", "plain name");
    shown_as("решение 日本", "решение 日本");
    shown_as("\x1b[31mred", "\\x1b[31mred");
    shown_as("a\nb\tc\x7f", "a\\nb\\tc\\x7f");
    shown_as("\xff\xfe", "\\xff\\xfe");
    shown_as("\xc0\xaf", "\\xc0\\xaf");       /* overlong / */
    shown_as("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* half a surrogate pair */
    shown_as("a\u202eb", "a\\u202eb");     /* would write backwards */
    shown_as("\xc2\x9b" "31m", "\\u009b31m");  /* a C1 control sequence */
    shown_as("", "");
}

static void ns_as(int64_t ns, const char *expected)
{
    struct strbuf b = {0};

    show__ns(&b, ns, true);
    assert_string_equal(b.s, expected);
    strbuf__deinit(&b);
}

static void times_have_four_digits(void **state)
{
    (void)state;
    ns_as(0, "0 ns");
    ns_as(9999, "9999 ns");
    ns_as(10000, "10.00 µs");
    ns_as(99994, "99.99 µs");
    ns_as(99996, "100.0 µs");
    ns_as(999949, "999.9 µs");
    ns_as(999950, "1.000 ms");
    ns_as(1234567, "1.235 ms");
    ns_as(999950000, "1.000 s");
    ns_as(3600000000000, "3600 s");
    ns_as(-20000, "-20.00 µs");
    ns_as(INT64_MAX, "9223372037 s");
}

static const struct table_column columns[] = {
    {"name", "region", CELL_TEXT, 255}, {"calls", "calls", CELL_COUNT, 255}, {"share", "%", CELL_SHARE, 10},
    {"p50_ns", "p50", CELL_NS, 5},      {"hidden", NULL, CELL_INT, 0},
};

static void fill(struct table *t)
{
    struct cell *row;

    table__init(t, columns, 5);
    row = table__row(t);
    row[0] = cell_text(text_of("решение"));
    row[1] = cell_int(1234567);
    row[2] = cell_real(0.125);
    row[3] = cell_int(1500);
    row[4] = cell_int(-3);
    row = table__row(t);
    row[0] = cell_text(text_of("a, \"quoted\"\nname"));
    row[0].indent = 2;
    row[1] = cell_int(1);
    row = table__row(t);
    row[0] = cell_text((struct text){"\xff/", 2});
}

static char *printed(void (*print)(const struct table *, FILE *), const struct table *t)
{
    size_t len;
    char *s = NULL;
    FILE *f = open_memstream(&s, &len);

    print(t, f);
    fclose(f);
    return s;
}

static void print_wide(const struct table *t, FILE *f)
{
    table__text(t, &wide, f);
}

static void print_narrow(const struct table *t, FILE *f)
{
    struct screen narrow = {.width = 30, .utf8 = true};

    table__text(t, &narrow, f);
}

static void columns_stand_below_each_other(void **state)
{
    struct table t;
    char *s;

    (void)state;
    fill(&t);
    s = printed(print_wide, &t);
    assert_string_equal(s, "region                   calls     %      p50\n"
                           "решение              1,234,567  12.5  1500 ns\n"
                           "  a, \"quoted\"\\nname          1     -        -\n"
                           "\\xff/                        -     -        -\n");
    free(s);
    table__deinit(&t);
}

static void narrow_terminals_lose_the_least_important(void **state)
{
    struct table t;
    char *s;

    (void)state;
    fill(&t);
    s = printed(print_narrow, &t);
    assert_string_equal(s, "region                   calls\n"
                           "решение              1,234,567\n"
                           "  a, \"quoted\"\\nname          1\n"
                           "\\xff/                        -\n"
                           "(the terminal is too narrow for: %, p50; --csv shows all)\n");
    free(s);
    table__deinit(&t);
}

static void json_is_strict_and_keeps_the_bytes(void **state)
{
    struct table t;
    char *s;

    (void)state;
    fill(&t);
    s = printed(table__json, &t);
    assert_string_equal(
        s, "[\n {\"name\": \"решение\", \"calls\": 1234567, \"share\": 0.125, \"p50_ns\": 1500, \"hidden\": -3},\n"
           " {\"name\": \"a, \\\"quoted\\\"\\u000aname\", \"calls\": 1, \"share\": null, \"p50_ns\": null, \"hidden\": null},\n"
           " {\"name\": \"\xef\xbf\xbd/\", \"name_hex\": \"ff2f\", \"calls\": null, \"share\": null, \"p50_ns\": null, "
           "\"hidden\": null}\n]");
    free(s);
    table__deinit(&t);
}

static void csv_has_all_columns_and_exact_names(void **state)
{
    struct table t;
    char *s;

    (void)state;
    fill(&t);
    s = printed(table__csv, &t);
    assert_string_equal(s, "name,calls,share,p50_ns,hidden\r\nрешение,1234567,0.125,1500,-3\r\n"
                           "\"a, \"\"quoted\"\"\nname\",1,,,\r\n\xff/,,,,\r\n");
    free(s);
    table__deinit(&t);
}

static void wide_characters_take_two_columns(void **state)
{
    (void)state;
    assert_int_equal(utf8__width("abc", 3), 3);
    assert_int_equal(utf8__width("日本", strlen("日本")), 4);
    assert_int_equal(utf8__width("e\u0301", strlen("e\u0301")), 1);
    assert_int_equal(utf8__width("\xff", 1), 1);
}

static void counts_have_commas(void **state)
{
    struct strbuf b = {0};

    (void)state;
    show__count(&b, 999);
    strbuf__put(&b, " ", 1);
    show__count(&b, 1000);
    strbuf__put(&b, " ", 1);
    show__count(&b, UINT64_MAX);
    assert_string_equal(b.s, "999 1,000 18,446,744,073,709,551,615");
    strbuf__deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cannot_play_with_the_terminal),
        cmocka_unit_test(times_have_four_digits),
        cmocka_unit_test(columns_stand_below_each_other),
        cmocka_unit_test(narrow_terminals_lose_the_least_important),
        cmocka_unit_test(json_is_strict_and_keeps_the_bytes),
        cmocka_unit_test(csv_has_all_columns_and_exact_names),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(counts_have_commas),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
