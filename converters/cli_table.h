/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_CLI_TABLE_H
#define SCOPE_CLI_TABLE_H

#include "converters/cli_options.h"

enum cli_kind {
    CLI_ON,     /* no value: bool */
    CLI_TEXT,   /* const char *, not empty */
    CLI_CHOICE, /* the same, one of `choices` */
    CLI_LIST,   /* struct cli_strings, one more each time */
    CLI_RANKS,  /* 0,2,4-7 into cli.ranks */
    CLI_NUMBER, /* int64_t in [min, max] */
    CLI_SECONDS, /* double: 1.5, 20ms, 3us, 2m */
    CLI_SHARE,  /* double: 0.001 or 5% */
};

struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* 0 none */
    enum cli_kind kind;
    size_t offset; /* in struct cli */
    const char *arg;
    const char *choices; /* "a|b|c" */
    double min, max;
    const char *commands; /* " summary lines …", " *" all */
    const char *help;     /* one line, no full stop */
};

extern const struct cli_option cli_options[];
extern const size_t n_cli_options;
bool cli_option__belongs(const struct cli_option *option, const struct subcommand *command);

#endif
