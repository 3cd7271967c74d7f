// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "usdt/pairing.h"

/* The region of a probe as a string; "" for none. */
static const char *region(const struct pairing *pairing, enum pairing_role role, const char *provider,
                          const char *probe)
{
    static char name[256];
    size_t len = pairing__region(pairing, role, provider, probe, strlen(probe), name, 255);

    name[len] = '\0';
    return name;
}

static struct pairing *with(const char *rule)
{
    struct pairing *pairing = pairing__new();
    struct err err;

    assert_non_null(pairing);
    if (pairing__add(pairing, rule, &err) < 0)
        fail_msg("%s", err.text);
    return pairing;
}

static void test_star(void **state)
{
    struct pairing *p = with("postgresql:*__start,*__done");

    (void)state;
    assert_string_equal(region(p, PAIRING_BEGIN, "postgresql", "query__parse__start"), "query__parse");
    assert_string_equal(region(p, PAIRING_END, "postgresql", "query__parse__done"), "query__parse");
    assert_string_equal(region(p, PAIRING_END, "postgresql", "query__parse__start"), "");
    assert_string_equal(region(p, PAIRING_BEGIN, "mysql", "query__start"), "");
    assert_string_equal(region(p, PAIRING_BEGIN, "postgresql", "__start"),
                        ""); /* the star stands for nothing */
    assert_true(pairing__has_provider(p, "postgresql"));
    assert_false(pairing__has_provider(p, "postgres"));
    pairing__free(p);
}

static void test_names(void **state)
{
    static const struct {
        const char *rule, *provider, *begin, *name;
    } rows[] = {
        {"python:gc__start,gc__done", "python", "gc__start", "gc"},
        {"python:gc__start,gc__done=collect", "python", "gc__start", "collect"},
        {"db:*-start,*-done=db.*.time", "db", "sort-start", "db.sort.time"},
        {"db:lock-wait-start,lock-wait-done", "db", "lock-wait-start", "lock-wait"},
        {"p:entry,return", "p", "entry", "entry"},
        {"p:x*y,z*=q", "p", "xaby", "q"},
        {"p:a\\*,b\\,c=d\\=e", "p", "a*", "d=e"},
        {"p\\:q:a,b=n", "p:q", "a", "n"},
        {"p:a,b=x:y=z", "p", "a", "x:y=z"},
        {"p:a,b,c=n", "p", "a", "n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pairing *p = with(rows[i].rule);

        assert_string_equal(region(p, PAIRING_BEGIN, rows[i].provider, rows[i].begin), rows[i].name);
        assert_string_equal(pairing__text(p, 0), rows[i].rule);
        pairing__free(p);
    }
}

static void test_first_rule_counts(void **state)
{
    struct pairing *p = with("db:query__start,query__done=the query");

    (void)state;
    assert_int_equal(pairing__add(p, "db:*__start,*__done", NULL), 0);
    assert_int_equal(pairing__count(p), 2);
    assert_string_equal(region(p, PAIRING_BEGIN, "db", "query__start"), "the query");
    assert_string_equal(region(p, PAIRING_END, "db", "query__done"), "the query");
    assert_string_equal(region(p, PAIRING_BEGIN, "db", "sort__start"), "sort");
    pairing__free(p);
}

static void test_long_names(void **state)
{
    struct pairing *p = with("p:*__b,*__e");
    char probe[300], name[300];

    (void)state;
    memset(probe, 'x', sizeof(probe));
    memcpy(probe + 255, "__b", 3);
    assert_int_equal(pairing__region(p, PAIRING_BEGIN, "p", probe, 258, name, sizeof(name)), 255);
    assert_int_equal(pairing__region(p, PAIRING_BEGIN, "p", probe, 258, name, 254), 0);
    memcpy(probe + 255, "x__b", 4);
    assert_int_equal(pairing__region(p, PAIRING_BEGIN, "p", probe, 259, name, sizeof(name)), 0);
    pairing__free(p);
}

static unsigned int argument(const struct pairing *pairing, enum pairing_role role, const char *probe)
{
    return pairing__argument(pairing, role, "p", probe, strlen(probe));
}

static void test_named_by_an_argument(void **state)
{
    struct pairing *p = with("p:call,return=@2");
    struct err err;

    (void)state;
    assert_int_equal(pairing__add(p, "p:call,leave=other", &err), 0);
    assert_int_equal(pairing__add(p, "p:\\@a,b=\\@2", &err), 0);
    assert_int_equal(argument(p, PAIRING_BEGIN, "call"), 2);
    assert_int_equal(argument(p, PAIRING_END, "return"), 2);
    assert_int_equal(argument(p, PAIRING_END, "call"), 0);
    assert_int_equal(argument(p, PAIRING_END, "leave"), 0);
    assert_string_equal(region(p, PAIRING_BEGIN, "p", "call"), ""); /* the first rule counts */
    assert_string_equal(region(p, PAIRING_END, "p", "leave"), "other");
    assert_string_equal(region(p, PAIRING_BEGIN, "p", "@a"), "@2"); /* a name like any other */
    assert_int_equal(argument(p, PAIRING_BEGIN, "@a"), 0);
    assert_int_equal(pairing__add(p, "p:call,never", &err), 0);
    assert_int_equal(argument(p, PAIRING_BEGIN, "call"), 2);
    assert_true(pairing__was_used(p, 0));
    assert_true(pairing__was_used(p, 1));
    assert_false(pairing__was_used(p, 3)); /* its begin is another rule's, its end nobody's */
    pairing__free(p);
}

static void test_refused(void **state)
{
    static const struct {
        const char *rule, *why;
    } rows[] = {
        {"", "no provider"},
        {"start,done", "no provider"},
        {":a,b", "no provider"},
        {"p:a", "a begin, a comma and an end"},
        {"p:a=n", "a begin, a comma and an end"},
        {"p:,b", "a begin, a comma and an end"},
        {"p:a,", "no end"},
        {"p:a,=n", "no end"},
        {"p:a,b=", "name behind the = is empty"},
        {"p:*a*,*b", "more than one *"},
        {"p:*a,*b=*x*", "more than one *"},
        {"p:*a,b", "one side only"},
        {"p:a,*b", "one side only"},
        {"p:a,b=*", "none in the probes"},
        {"p:a,b=@", "number of an argument"},
        {"p:a,b=@0", "number of an argument"},
        {"p:a,b=@13", "number of an argument"},
        {"p:a,b=@-1", "number of an argument"},
        {"p:a,b=@2x", "number of an argument"},
    };
    struct pairing *p = pairing__new();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err;

        if (pairing__add(p, rows[i].rule, &err) != -EINVAL)
            fail_msg("%s was taken", rows[i].rule);
        if (!strstr(err.text, rows[i].why) || !strstr(err.text, rows[i].rule))
            fail_msg("%s: %s", rows[i].rule, err.text);
    }
    assert_int_equal(pairing__count(p), 0);
    pairing__free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_star),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_first_rule_counts),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_named_by_an_argument),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
