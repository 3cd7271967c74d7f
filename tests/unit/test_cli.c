// SPDX-License-Identifier: GPL-2.0-only
/* The tables of scope-report check themselves; the parser on right and wrong command lines. */
#include "converters/cli_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void every_row_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_subcommands; i++) {
        const struct subcommand *c = &subcommands[i];

        assert_true(c->name && c->arguments && c->help && c->teach && c->examples && c->run);
        assert_ptr_equal(subcommand__find(c->name), c); /* no name twice */
        assert_true(c->help[strlen(c->help) - 1] != '.');
        assert_true(c->examples[strlen(c->examples) - 1] == '\n');
    }
    for (size_t i = 0; i < n_cli_options; i++) {
        const struct cli_option *o = &cli_options[i];

        assert_true(o->name && o->help && *o->help && o->offset < sizeof(struct cli));
        assert_true((o->kind == CLI_ON) == !o->arg);
        assert_true((o->kind == CLI_CHOICE) == !!o->choices);
        assert_true(o->commands[0] == ' ' && o->commands[strlen(o->commands) - 1] == ' ');
    }
}

static void no_option_is_there_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_cli_options; i++) {
        bool used = false;

        for (size_t k = 0; k < n_subcommands; k++)
            used |= cli_option__belongs(&cli_options[i], &subcommands[k]);
        assert_true(used);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(cli_options[i].name, cli_options[k].name);
            assert_true(!cli_options[i].letter || cli_options[i].letter != cli_options[k].letter);
        }
    }
}

/* Words until NULL. */
static int parse(struct cli *cli, struct err *err, ...)
{
    char *argv[16];
    va_list args;
    int n = 0;

    va_start(args, err);
    while ((argv[n] = va_arg(args, char *)))
        n++;
    va_end(args);
    memset(err, 0, sizeof(*err));
    return cli__parse(cli, n, argv, err);
}

static void a_command_line_is_understood(void **state)
{
    struct cli cli;
    struct err err;

    (void)state;
    assert_int_equal(parse(&cli, &err, "run.h5", "--json", "--region", "a*", "--region=b", "-n5", "--ranks", "0,2,4-6", NULL), 0);
    assert_string_equal(cli.command->name, "summary");
    assert_int_equal(cli.inputs.n, 1);
    assert_int_equal(cli.view.shape, VIEW_JSON);
    assert_int_equal(cli.view.n_region, 2);
    assert_string_equal(cli.view.region[1], "b");
    assert_int_equal(cli.view.top, 5);
    assert_int_equal(cli.n_ranks, 5);
    assert_int_equal(cli.ranks[4], 6);
    cli__deinit(&cli);
    assert_int_equal(parse(&cli, &err, "convert", "-o", "x.h5", "--", "-strange-.h5", NULL), 0);
    assert_string_equal(cli.command->name, "convert");
    assert_string_equal(cli.output, "x.h5");
    assert_string_equal(cli.inputs.items[0], "-strange-.h5");
    cli__deinit(&cli);
}

static void refused(struct err *err, const char *part, int rc, struct cli *cli)
{
    assert_int_equal(rc, -EINVAL);
    if (!strstr(err->text, part))
        fail_msg("'%s' does not say '%s'", err->text, part);
    cli__deinit(cli);
}

static void a_wrong_one_is_explained(void **state)
{
    struct cli cli;
    struct err err;

    (void)state;
    refused(&err, "--sorted", parse(&cli, &err, "--sorted", "own", NULL), &cli);
    refused(&err, "name|calls", parse(&cli, &err, "--sort", "size", NULL), &cli);
    refused(&err, "--sort needs COLUMN", parse(&cli, &err, "--sort", NULL), &cli);
    refused(&err, "lines takes no --sort", parse(&cli, &err, "lines", "--sort", "own", NULL), &cli);
    refused(&err, "-Z", parse(&cli, &err, "-Z", NULL), &cli);
    refused(&err, "--json takes no value", parse(&cli, &err, "--json=1", NULL), &cli);
    refused(&err, "only one", parse(&cli, &err, "--json", "--csv", NULL), &cli);
    refused(&err, "0,2,4-7", parse(&cli, &err, "--ranks", "3-1", NULL), &cli);
    refused(&err, "0,2,4-7", parse(&cli, &err, "--ranks", "0-4294967295", NULL), &cli);
    refused(&err, "--top -1", parse(&cli, &err, "--top", "-1", NULL), &cli);
    refused(&err, "must not be empty", parse(&cli, &err, "convert", "-o", "", NULL), &cli);
}

static void help_fits_a_terminal(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_subcommands; i++) {
        char *text = NULL, *line, *at;
        size_t len;
        FILE *f = open_memstream(&text, &len);

        cli__help(&subcommands[i], f);
        fclose(f);
        for (at = text; (line = strsep(&at, "\n"));)
            if (strlen(line) > 100)
                fail_msg("%s --help: a line of %zu: %s", subcommands[i].name, strlen(line), line);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete), cmocka_unit_test(no_option_is_there_twice),
        cmocka_unit_test(a_command_line_is_understood), cmocka_unit_test(a_wrong_one_is_explained),
        cmocka_unit_test(help_fits_a_terminal),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
