/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of scope-bpf: one table makes parser, help and man page. */
#ifndef SCOPE_OPTIONS_H
#define SCOPE_OPTIONS_H

#include "usdt/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum action {
    ACTION_RECORD,
    ACTION_LIST,
    ACTION_CALIBRATE,
    ACTION_CHECK,
    ACTION_HELP,
    ACTION_VERSION,
    ACTION_DUMP_MAN,
    ACTION_DUMP_COMPLETION
};
enum uprobe_road { UPROBE_AUTO, UPROBE_MULTI, UPROBE_PERF };

struct string_list {
    const char **items; /* not owned: argv or the environment's copy */
    size_t n;
};

struct options {
    enum action action;
    char **command; /* NULL-terminated, NULL without a command */
    pid_t *pids;
    size_t n_pids;
    const char *output; /* prefix, "scope" */
    bool output_given;
    int freq; /* Hz, 997 */
    bool samples;
    bool format_h5, format_spt, format_sps;
    double duration; /* seconds, 0 none */
    struct string_list region, exclude;
    struct string_list usdt, preset; /* probes of other providers that are regions */
    const char *list_what; /* NULL = regions */
    bool json, csv;
    size_t buffer; /* bytes for all hot rings together, 64 MiB */
    bool keep_capture, fail_on_loss;
    const char *run_as, *label;
    bool metadata_full;
    bool all;             /* every process of the machine */
    bool follow;          /* children: on for a command and -a, off for -p */
    int follow_choice;    /* --follow: 0 auto, 1 yes, 2 no */
    const char *filter_user, *filter_cgroup;
    struct string_list filter_comm;
    bool quiet;
    int verbose;
    enum uprobe_road uprobes; /* --uprobes auto|multi|perf */
    char **environment_words; /* private: the copy that strings above may point into */
};

extern const struct options default_options;

/*
 * Parses SCOPE_BPF_OPTIONS (split as a shell would split words, without expansion), then argv.  0, or -EINVAL
 * with a line that says which option, why, and what to type.
 */
int options__parse(int argc, char **argv, const char *environment, struct options *ret, struct err *err);
void options__deinit(struct options *options); /* frees the lists; a program that ends need not */
void options__help(FILE *out);

#endif
