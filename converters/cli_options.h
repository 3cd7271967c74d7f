/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line of scope-report: one table of subcommands, one of options.  Parser, --help, man page and shell
 * completion are made from them; a new option is a new row and a field in struct cli.
 */
#ifndef SCOPE_CLI_OPTIONS_H
#define SCOPE_CLI_OPTIONS_H

#include "converters/views/view.h"

enum cli_status { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_strings {
    const char **items; /* not owned: argv */
    size_t n;
};

struct subcommand;

struct cli {
    const struct subcommand *command;
    struct cli_strings inputs;
    struct view_options view;
    const char *output, *to, *root, *plot, *title;
    const char *overlaps; /* "error" or "split" */
    bool json, csv, by_name, renumber, quiet, help, version;
    int64_t width;
    double threshold;   /* share of the whole */
    double slowdown;    /* share: 0.05 = 5 % */
    bool has_thread;
    struct cli_strings region, exclude, base;
    const char *metric;
    bool weak;
    int32_t *ranks;
    size_t n_ranks;
    int64_t top, lane;
    double from, until;
};

struct subcommand {
    const char *name;
    const char *arguments; /* "[FILE…]" */
    const char *help;      /* one line, no full stop */
    const char *teach;     /* what it shows and how to read it; paragraphs */
    const char *examples;  /* lines, each "command  # why" */
    int (*run)(struct cli *cli);
    bool hidden;
};

/* Bits of the commands that take an option, by position in the table. */
extern const struct subcommand subcommands[];
extern const size_t n_subcommands;
const struct subcommand *subcommand__find(const char *name);

/*
 * Parses argv behind the program's name.  The first word that is no option chooses the subcommand if it is one;
 * without one it is `summary`.  0, or -EINVAL with a line that says which option, why, and what to type.
 */
int cli__parse(struct cli *cli, int argc, char **argv, struct err *err);
void cli__deinit(struct cli *cli);

void cli__help(const struct subcommand *command, FILE *out); /* NULL: of the whole program */
void cli__man(FILE *out);
void cli__completion(FILE *out);

#endif
