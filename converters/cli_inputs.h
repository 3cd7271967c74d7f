/* SPDX-License-Identifier: GPL-2.0-only */
/* From the words of a command line to files, and from files to one profile. */
#ifndef SCOPE_CLI_INPUTS_H
#define SCOPE_CLI_INPUTS_H

#include "converters/model.h"

enum inputs_kind {
    INPUTS_PROFILES, /* folders: *.spt and *_rank[0-9]*.h5, else the *.h5 that are there */
    INPUTS_SAMPLES,  /* folders: *.sps, else as profiles; a prefix: its files */
};

struct inputs {
    char **paths; /* owned */
    size_t n;
};
void inputs__deinit(struct inputs *in);

/*
 * Folders and prefixes become the files behind them.  -ENOENT where there is nothing, -EEXIST where a folder holds
 * both per-rank files and a merged profile: the message names both.
 */
int inputs__expand(struct inputs *in, const char *const *words, size_t n, enum inputs_kind kind, struct err *err);

/* The newest profile of the current folder, with all its ranks; -ENOENT with what to do. */
int inputs__newest(struct inputs *in, enum inputs_kind kind, struct err *err);

struct load_options {
    bool renumber; /* clashing ranks get free numbers */
    void (*progress)(void *arg, size_t done, size_t all);
    void *arg;
};

/* Reads and merges.  A rank in two files: -EEXIST, the message names both. */
int inputs__load(const struct inputs *in, const struct load_options *options, struct profile **ret, struct err *err);

#endif
