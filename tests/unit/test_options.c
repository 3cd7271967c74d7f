// SPDX-License-Identifier: GPL-2.0-only
// link: user
/* The table of options checks itself; what is typed becomes what is meant, or a line that helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/option_docs.h"
#include "user/option_table.h"
#include "user/option_values.h"
#include "user/options.h"

#define MAX_WORDS 40

/* Splits by blanks and parses; *o must be deinit'ed after 0. */
static int parse(const char *line, const char *environment, struct options *o, struct err *err)
{
    static char copy[2048];
    static char *words[MAX_WORDS + 2];
    int n = 0;

    snprintf(copy, sizeof(copy), "scope-bpf %s", line);
    for (char *word = strtok(copy, " "); word && n < MAX_WORDS; word = strtok(NULL, " "))
        words[n++] = word;
    words[n] = NULL;
    memset(err, 0, sizeof(*err));
    return options__parse(n, words, environment, o, err);
}

/* Fails, and the line names what it should. */
static void refused_env(const char *line, const char *environment, const char *part)
{
    struct options o = {.freq = 4711};
    struct err err;
    int r = parse(line, environment, &o, &err);

    if (r != -22 || !strstr(err.text, part))
        fail_msg("'%s' (env %s): %d '%s', wanted '%s'", line, environment ? environment : "-", r, err.text,
                 part);
    assert_int_equal(o.freq, 4711); /* untouched */
}

static void refused(const char *line, const char *part)
{
    refused_env(line, NULL, part);
}

static struct options accepted_env(const char *line, const char *environment)
{
    struct options o;
    struct err err;

    if (parse(line, environment, &o, &err))
        fail_msg("'%s': %s", line, err.text);
    return o;
}

static struct options accepted(const char *line)
{
    return accepted_env(line, NULL);
}

static void test_table(void **state)
{
    (void)state;
    assert_true(option_table_size > 20);
    for (size_t i = 0; i < option_table_size; i++) {
        const struct option_row *row = &option_table[i];
        size_t len = strlen(row->help);

        assert_true(strlen(row->name) >= 3);
        assert_true(len > 5 && row->help[len - 1] != '.');
        assert_true(row->kind < OPTION_KINDS && row->group < GROUP_KINDS);
        assert_true(row->offset < sizeof(struct options));
        if (row->kind == OPTION_ON || row->kind == OPTION_OFF || row->kind == OPTION_COUNT ||
            row->kind == OPTION_ACTION)
            assert_null(row->arg);
        else
            assert_non_null(row->arg);
        if (row->kind == OPTION_INT || row->kind == OPTION_SIZE || row->kind == OPTION_SECONDS)
            assert_true(row->max > row->min);
        if (row->kind == OPTION_TEXT || row->kind == OPTION_OUTPUT)
            assert_true(row->max > 0);
        if (row->kind == OPTION_CHOICE || row->kind == OPTION_CHOICE_BOOL || row->kind == OPTION_FORMATS ||
            row->kind == OPTION_WHAT)
            assert_non_null(strchr(row->choices, '|'));
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(row->name, option_table[k].name);
            assert_true(!row->letter || row->letter != option_table[k].letter);
        }
        assert_ptr_equal(option_table__find(row->name, strlen(row->name)), row);
        assert_ptr_equal(option_table__nearest(row->name, strlen(row->name)), row->hidden ? NULL : row);
    }
}

/* Options of the issue that everybody relies on. */
static void test_contract(void **state)
{
    static const char *const names[] = {"output", "freq",    "no-samples", "format",       "duration",
                                        "region", "exclude", "list",       "json",         "calibrate",
                                        "check",  "buffer",  "quiet",      "keep-capture", "fail-on-loss",
                                        "run-as", "label",   "metadata",   "help",         "version"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_non_null(option_table__find(names[i], strlen(names[i])));
    assert_string_equal(option_table__find_letter('o')->name, "output");
    assert_string_equal(option_table__find_letter('F')->name, "freq");
    assert_string_equal(option_table__find_letter('l')->name, "list");
    assert_string_equal(option_table__find_letter('p')->name, "pid");
    assert_null(option_table__find_letter(0));
}

static void test_defaults(void **state)
{
    struct options o = accepted("-- true");

    (void)state;
    assert_int_equal(o.action, ACTION_RECORD);
    assert_string_equal(o.output, "scope");
    assert_false(o.output_given);
    assert_int_equal(o.freq, 997);
    assert_true(o.samples && o.format_h5 && o.format_sps && !o.format_spt);
    assert_true(o.duration == 0 && o.buffer == 64u << 20);
    assert_true(o.follow && !o.quiet && !o.verbose && !o.metadata_full && !o.n_pids);
    assert_int_equal(o.uprobes, UPROBE_AUTO);
    assert_string_equal(o.command[0], "true");
    assert_null(o.command[1]);
    options__deinit(&o);
}

static void test_recording(void **state)
{
    struct options o =
        accepted("-qvv -o out/run1 --freq=99 --format spt,h5 --duration 1.5 --region a* --region=b "
                 "--exclude c --buffer 64K --keep-capture --fail-on-loss --run-as nobody --label x=y "
                 "--metadata full --uprobes perf ./prog -q --freq -- x");

    (void)state;
    assert_true(o.quiet && o.verbose == 2);
    assert_string_equal(o.output, "out/run1");
    assert_true(o.output_given);
    assert_int_equal(o.freq, 99);
    assert_true(o.format_h5 && o.format_spt && !o.format_sps);
    assert_true(o.duration == 1.5 && o.buffer == 65536);
    assert_int_equal(o.region.n, 2);
    assert_string_equal(o.region.items[0], "a*");
    assert_string_equal(o.region.items[1], "b");
    assert_int_equal(o.exclude.n, 1);
    assert_true(o.keep_capture && o.fail_on_loss && o.metadata_full);
    assert_string_equal(o.run_as, "nobody");
    assert_string_equal(o.label, "x=y");
    assert_int_equal(o.uprobes, UPROBE_PERF);
    assert_string_equal(o.command[0], "./prog"); /* its own options are its own */
    assert_string_equal(o.command[2], "--freq");
    assert_string_equal(o.command[4], "x");
    assert_null(o.command[5]);
    options__deinit(&o);
}

static void test_pids(void **state)
{
    struct options o = accepted("-p 12,7 --pid=4194304 -p7 -p 12");

    (void)state;
    assert_int_equal(o.n_pids, 3);
    assert_int_equal(o.pids[0], 12);
    assert_int_equal(o.pids[1], 7);
    assert_int_equal(o.pids[2], 4194304);
    assert_null(o.command);
    assert_false(o.follow);
    options__deinit(&o);
    refused("-p 0", "no process number");
    refused("-p 4194305", "no process number");
    refused("-p 99999999999999999999", "no process number");
    refused("-p 1,", "not a process number");
    refused("-p ,1", "not a process number");
    refused("-p 1x", "not a process number");
    refused("-p -1", "not a process number");
    refused("-p", "--pid needs a value");
    refused("-p 1 -- true", "do not go together");
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } sizes[] = {{"4096", 4096},   {"64K", 65536},     {"1.5k", 0},       {"1.5M", 3u << 19},
                 {"1G", 1u << 30}, {"8MiB", 8u << 20}, {"8mb", 8u << 20}, {"4096B", 4096}};
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"10", 10}, {"1.5s", 1.5}, {"500ms", 0.5}, {"2m", 120}, {"1h", 3600}, {"2min", 120}};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t bytes = 0;
        int r = option_value__size("--buffer", sizes[i].text, 4096, 1u << 31, &bytes, NULL);

        assert_int_equal(r, sizes[i].bytes ? 0 : -22); /* 1.5k is below 4K */
        assert_int_equal(bytes, sizes[i].bytes);
    }
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        double seconds = 0;

        assert_int_equal(option_value__seconds("--duration", times[i].text, 0, 4000, &seconds, NULL), 0);
        assert_true(seconds > times[i].seconds - 1e-9 && seconds < times[i].seconds + 1e-9);
    }
    refused("--freq 99x true", "--freq: '99x' is not a whole number");
    refused("--freq 0 true", "out of range, 1 to 100000");
    refused("--freq 100001 true", "out of range");
    refused("--freq 9e2 true", "not a whole number");
    refused("--freq -5 true", "not a whole number");
    refused("--freq= true", "not a whole number");
    refused("--freq 99999999999999999999 true", "out of range");
    refused("--buffer 1K true", "out of range, 4K to 64G");
    refused("--buffer 1e9 true", "not a size");
    refused("--buffer 64Q true", "not a size");
    refused("--buffer 64KKB true", "not a size");
    refused("--buffer 0x1000 true", "not a size");
    refused("--buffer 1.2.3M true", "not a size");
    refused("--buffer nan true", "not a size");
    refused("--buffer 65G true", "out of range");
    refused("--duration 0 true", "out of range");
    refused("--duration 1d true", "not a time");
    refused("--duration inf true", "not a time");
    refused("--duration -1 true", "not a time");
    refused("--duration .5 true", "not a time");
    refused("--duration 99999999h true", "out of range");
}

static void test_texts(void **state)
{
    struct options o;

    (void)state;
    refused("--format h5,xyz true", "'xyz' is none of h5|spt|sps");
    refused("--format= true", "'' is none of");
    refused("--format h5, true", "'' is none of");
    refused("--format hhhhhhhhhhhhhhhhhhhhhhhhhhhh true", "is none of");
    refused("--metadata some true", "'some' is none of minimal|full");
    refused("--uprobes mult true", "none of auto|multi|perf");
    refused("-o out/ true", "names a folder");
    refused("-o run.h5 true", "without its ending: run");
    refused("--label= true", "an empty TEXT");
    refused("--region= true", "an empty pattern");
    refused("--quiet=1 true", "--quiet takes no value");
    refused("--label", "--label needs a value: --label TEXT");
    o = accepted("--format spt -o .h5 true"); /* a name that is nothing but an ending is a name */
    assert_true(o.format_spt && !o.format_h5 && !o.format_sps);
    options__deinit(&o);
    o = accepted("--no-samples true");
    assert_true(!o.samples && o.format_h5 && !o.format_sps);
    options__deinit(&o);
    refused("--no-samples --format sps true", "needs samples");
}

static void test_suggestions(void **state)
{
    (void)state;
    refused("--frek 9 true", "did you mean --freq?");
    refused("--outptu x true", "did you mean --output?");
    refused("--nosamples true", "did you mean --no-samples?");
    refused("--dur 3 true", "did you mean --duration?");
    refused("--qiuet true", "did you mean --quiet?");
    refused("--completely-different true", "scope-bpf --help shows them");
    refused("--dump-mam true", "--help shows them"); /* hidden ones are not offered */
    refused("-Z true", "no option -Z");
    refused("-qZ true", "no option -Z");
    refused("--= true", "no option --");
}

static void test_actions(void **state)
{
    struct options o = accepted("-l ./prog");

    (void)state;
    assert_int_equal(o.action, ACTION_LIST);
    assert_null(o.list_what);
    options__deinit(&o);
    o = accepted("--list=events");
    assert_string_equal(o.list_what, "events");
    options__deinit(&o);
    o = accepted("--list=regions --json -- ./prog");
    assert_null(o.list_what);
    options__deinit(&o);
    o = accepted("--check --json");
    assert_int_equal(o.action, ACTION_CHECK);
    options__deinit(&o);
    o = accepted("--calibrate");
    assert_int_equal(o.action, ACTION_CALIBRATE);
    options__deinit(&o);
    o = accepted("--help");
    assert_int_equal(o.action, ACTION_HELP);
    options__deinit(&o);
    o = accepted("-h --no-such-option"); /* help is help, whatever follows */
    assert_int_equal(o.action, ACTION_HELP);
    options__deinit(&o);
    o = accepted("--version");
    assert_int_equal(o.action, ACTION_VERSION);
    options__deinit(&o);
    refused("", "nothing to record: type scope-bpf -- COMMAND");
    refused("--", "nothing to record");
    refused("-l", "nothing to look at");
    refused("--check --calibrate", "--check and --calibrate do not go together");
    refused("--list=stuff", "'stuff' is none of regions|events|likwid|presets");
    refused("--json true", "--json goes with --list");
    refused("--csv --check", "--csv goes with --list");
    refused("-l --json --csv true", "--json and --csv do not go together");
}

static void test_environment(void **state)
{
    struct options o =
        accepted_env("--freq 5 --region z -- true", " --freq 7  -q --label 'two words' --region \"a b\" "
                                                    "-o x\\ y ");

    (void)state;
    assert_int_equal(o.freq, 5); /* the command line is stronger */
    assert_true(o.quiet);
    assert_string_equal(o.label, "two words");
    assert_string_equal(o.output, "x y");
    assert_int_equal(o.region.n, 2); /* lists add up */
    assert_string_equal(o.region.items[0], "a b");
    options__deinit(&o);
    o = accepted_env("true", "");
    options__deinit(&o);
    o = accepted_env("true", "   ");
    options__deinit(&o);
    refused_env("true", "--frek 3", "SCOPE_BPF_OPTIONS: no option --frek");
    refused_env("true", "--pid 3", "SCOPE_BPF_OPTIONS: --pid cannot stand in");
    refused_env("true", "-l", "--list cannot stand in");
    refused_env("true", "--help", "--help cannot stand in");
    refused_env("true", "./prog", "'./prog' is no option");
    refused_env("true", "-- ./prog", "a command cannot stand there");
    refused_env("true", "--label 'open", "a quote is not closed");
    refused_env("true", "--label", "needs a value");
}

static void test_words(void **state)
{
    char **words;
    int n;

    (void)state;
    assert_int_equal(option_value__words("a'b c'd \"x\\\"y\" '' \"\\n\" \\'", &words, &n, NULL), 0);
    assert_int_equal(n, 5);
    assert_string_equal(words[0], "ab cd");
    assert_string_equal(words[1], "x\"y");
    assert_string_equal(words[2], "");
    assert_string_equal(words[3], "\\n"); /* as in a shell: only \\ and \" are special between quotes */
    assert_string_equal(words[4], "'");
    assert_null(words[5]);
    free(words);
    assert_int_equal(option_value__words("a b c d e f", &words, &n, NULL), 0);
    assert_int_equal(n, 6);
    free(words);
}

/* "--no-samples", or with roff's dashes */
static void written_name(const char *option, bool roff, char name[static 64])
{
    char plain[32];
    size_t at = 0;

    snprintf(plain, sizeof(plain), "--%s", option);
    for (const char *c = plain; *c; c++) {
        if (*c == '-' && roff)
            name[at++] = '\\';
        name[at++] = *c;
    }
    name[at] = 0;
}

/* Everything that is no secret stands in help, man page and completion. */
static void test_documents(void **state)
{
    void (*const writers[])(FILE *) = {options__help, option_docs__man, option_docs__completion};

    (void)state;
    for (size_t w = 0; w < 3; w++) {
        char *text = NULL, name[64];
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        writers[w](out);
        fclose(out);
        for (size_t i = 0; i < option_table_size; i++) {
            written_name(option_table[i].name, w == 1, name);
            assert_int_equal(!!strstr(text, name), !option_table[i].hidden);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),    cmocka_unit_test(test_contract),
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_recording),
        cmocka_unit_test(test_pids),     cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),    cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_actions),  cmocka_unit_test(test_environment),
        cmocka_unit_test(test_words),    cmocka_unit_test(test_documents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
