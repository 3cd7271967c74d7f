/* SPDX-License-Identifier: GPL-2.0-only */
/* The subcommands: each gives an exit status and prints its own one-line message when it fails. */
#ifndef SCOPE_CLI_COMMANDS_H
#define SCOPE_CLI_COMMANDS_H

#include "converters/cli_inputs.h"
#include "converters/cli_options.h"

int run_summary(struct cli *cli);
int run_lines(struct cli *cli);
int run_convert(struct cli *cli);
int run_info(struct cli *cli);
int run_validate(struct cli *cli);
int run_tree(struct cli *cli);
int run_calls(struct cli *cli);
int run_threads(struct cli *cli);
int run_ranks(struct cli *cli);
int run_counters(struct cli *cli);
int run_likwid(struct cli *cli);
int run_event_data(struct cli *cli);
int run_messages(struct cli *cli);
int run_stats(struct cli *cli);
int run_functions(struct cli *cli);
int run_diff(struct cli *cli);
int run_check(struct cli *cli);
int run_scaling(struct cli *cli);

/* Prints "scope-report: <text>" on stderr. */
int cli__fail(const struct err *err);
/* The status of what was printed on stdout: a closed pipe is no error worth a word. */
int cli__finish(int rc, const struct err *err);
/* The inputs of the command line, or the newest profile, as one profile; CLI_OK or the status, message printed. */
int cli__load(struct cli *cli, enum inputs_kind kind, struct profile **ret);
int cli__expand(struct cli *cli, enum inputs_kind kind, struct inputs *in);
/* Whether there are samples, and no calls that could be shown or written. */
bool cli__only_samples(const struct profile *p);

#endif
