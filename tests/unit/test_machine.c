// SPDX-License-Identifier: GPL-2.0-only
// link: user
/* The metadata of a run, against Python's own words for this machine and against made-up environments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/machine.h"

#define MAX_ITEMS 64

struct collected {
    struct item {
        char key[80];
        char *text; /* lists joined by | */
        int64_t number;
    } items[MAX_ITEMS];
    size_t n;
};

static struct item *add(struct collected *c, const char *key)
{
    assert_true(c->n < MAX_ITEMS);
    snprintf(c->items[c->n].key, sizeof(c->items[0].key), "%s", key);
    return &c->items[c->n++];
}

static void take_text(void *arg, const char *key, const char *value)
{
    add(arg, key)->text = strdup(value);
}

static void take_integer(void *arg, const char *key, int64_t value)
{
    add(arg, key)->number = value;
}

static void take_list(void *arg, const char *key, const char *const *items, size_t n)
{
    char joined[1024] = "";

    for (size_t i = 0; i < n; i++)
        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", i ? "|" : "", items[i]);
    add(arg, key)->text = strdup(joined);
}

static const struct item *find(const struct collected *c, const char *key)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!strcmp(c->items[i].key, key))
            return &c->items[i];
    }
    return NULL;
}

static const char *text_of(const struct collected *c, const char *key)
{
    const struct item *item = find(c, key);

    if (!item || !item->text)
        fail_msg("no text %s", key);
    return item->text;
}

static void collect(const struct machine_options *options, struct collected *c)
{
    const struct machine_sink sink = {c, take_text, take_integer, take_list};

    memset(c, 0, sizeof(*c));
    assert_int_equal(machine__collect(options, &sink), 0);
}

static void release(struct collected *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->items[i].text);
}

/* What Python prints for an expression, without blanks at the end; skips without Python. */
static void python(const char *expression, char *text, size_t size)
{
    char command[512];
    FILE *pipe;

    snprintf(command, sizeof(command), "/usr/bin/python3 -c 'import platform, socket, os; print(%s)'",
             expression);
    pipe = popen(command, "r");
    text[0] = 0;
    if (pipe && !fgets(text, (int)size, pipe))
        text[0] = 0;
    if (!pipe || pclose(pipe)) {
        print_message("# skip: no Python here\n");
        skip();
    }
    for (size_t n = strlen(text); n && strchr(" \n", text[n - 1]); n--)
        text[n - 1] = 0;
}

static void test_as_python(void **state)
{
    struct collected c;
    char text[1024];

    (void)state;
    python("platform.platform()", text, sizeof(text));
    collect(&(struct machine_options){.full = true, .user = "somebody"}, &c);
    assert_string_equal(text_of(&c, "platform"), text);
    python("\" \".join(platform.uname())", text, sizeof(text));
    assert_string_equal(text_of(&c, "uname"), text);
    python("socket.gethostname()", text, sizeof(text));
    assert_string_equal(text_of(&c, "hostname"), text);
    python("os.getcwd()", text, sizeof(text));
    assert_string_equal(text_of(&c, "working_directory"), text);
    python("len(os.sched_getaffinity(0))", text, sizeof(text));
    assert_int_equal(machine__cpus(), atoi(text));
    python("next((l.split(\":\", 1)[1].strip() for l in open(\"/proc/cpuinfo\") if "
           "l.lower().startswith((\"model "
           "name\", \"cpu model\"))), platform.machine())",
           text, sizeof(text));
    assert_string_equal(text_of(&c, "chip_information"), text);
    assert_string_equal(text_of(&c, "user"), "somebody");
    release(&c);
}

static char *everything[] = {"PATH=/a:/b",
                             "HOME=/home/secret",
                             "LD_LIBRARY_PATH=",
                             "LOADEDMODULES=gcc/12::mpi/4",
                             "SLURM_JOB_ID=77",
                             "SLURMD_NODENAME=n1",
                             "SLURM_EMPTY=",
                             "MODULEPATH=/m",
                             "PYTHON_LIB=/p",
                             "OMP_NUM_THREADS=8,2",
                             "XSLURM_X=1",
                             "USER=secret",
                             NULL};

/* The minimal set holds these keys and nothing that names a person, host, folder or job. */
static void test_minimal(void **state)
{
    static const char *const keys[] = {"platform", "chip_information", "omp_num_threads", "label"};
    struct collected c;

    (void)state;
    collect(&(struct machine_options){.environment = everything, .user = "secret", .label = "L"}, &c);
    assert_int_equal(c.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_non_null(find(&c, keys[i]));
    assert_int_equal(find(&c, "omp_num_threads")->number, 8);
    assert_string_equal(text_of(&c, "label"), "L");
    release(&c);
}

static void test_full(void **state)
{
    struct collected c;

    (void)state;
    collect(&(struct machine_options){.full = true, .environment = everything, .user = "me"}, &c);
    assert_string_equal(text_of(&c, "PATH"), "/a:/b");
    assert_string_equal(text_of(&c, "modules"), "gcc/12|mpi/4");
    assert_string_equal(text_of(&c, "LOADEDMODULES"), "gcc/12::mpi/4");
    assert_string_equal(text_of(&c, "SLURM_JOB_ID"), "77");
    assert_string_equal(text_of(&c, "SLURMD_NODENAME"), "n1");
    assert_string_equal(text_of(&c, "MODULEPATH"), "/m");
    assert_string_equal(text_of(&c, "PYTHON_LIB"), "/p");
    assert_null(find(&c, "LD_LIBRARY_PATH")); /* empty: as not set */
    assert_null(find(&c, "SLURM_EMPTY"));
    assert_null(find(&c, "XSLURM_X"));
    assert_null(find(&c, "HOME"));
    assert_null(find(&c, "label"));
    release(&c);
}

static int64_t threads(const char *value, int openmp)
{
    char variable[64];
    char *environment[] = {variable, NULL};
    struct collected c;
    int64_t n;

    snprintf(variable, sizeof(variable), "OMP_NUM_THREADS=%s", value);
    collect(&(struct machine_options){.environment = environment, .openmp_threads = openmp}, &c);
    n = find(&c, "omp_num_threads")->number;
    release(&c);
    return n;
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(threads("3", 0), 3);
    assert_int_equal(threads(" 4 ,2", 16), 4);
    assert_int_equal(threads("", 0), 1);
    assert_int_equal(threads("", 16), 16);
    assert_int_equal(threads("many", 16), 16);
    assert_int_equal(threads("0", 0), 1);
    assert_int_equal(threads("-2", 0), 1);
    assert_int_equal(threads("99999999999999999999", 0), 1);
}

/* Cut as the reference cuts: 60,000 characters with the marker, never inside one. */
static void test_cut(void **state)
{
    static char label[140001];
    struct collected c;
    const char *text;
    size_t characters = 0;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(label); i += 2)
        memcpy(label + i, "\xc3\xbc", 2);
    collect(&(struct machine_options){.environment = everything, .label = label}, &c);
    text = text_of(&c, "label");
    for (const char *at = text; *at; at++)
        characters += (*at & 0xc0) != 0x80;
    assert_int_equal(characters, 60000);
    assert_string_equal(text + strlen(text) - 14, "...[truncated]");
    assert_memory_equal(text + strlen(text) - 16, "\xc3\xbc", 2);
    release(&c);
    label[120000] = 0; /* exactly 60,000 characters stay */
    collect(&(struct machine_options){.environment = everything, .label = label}, &c);
    assert_string_equal(text_of(&c, "label"), label);
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_python), cmocka_unit_test(test_minimal), cmocka_unit_test(test_full),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
