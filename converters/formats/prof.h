/* SPDX-License-Identifier: GPL-2.0-only */
/* cProfile statistics in memory: entries of functions or call paths, and who called them. */
#ifndef SCOPE_FORMATS_PROF_H
#define SCOPE_FORMATS_PROF_H

#include "converters/format.h"

struct prof_numbers {
    int64_t primitive, calls;
    double self, cumulative; /* s */
};

struct prof_key {
    int64_t parent; /* key whose name and " > " stand in front of this one's; -1: none */
    struct text name, file;
    int64_t line;
    char *twin; /* "~2" where another key would look the same, else NULL; owned */
};

struct prof_caller {
    int64_t entry; /* the caller */
    struct prof_numbers numbers;
    int64_t of; /* the entry that it called */
};

struct prof_entry {
    struct prof_numbers numbers;
    uint64_t first_caller, n_callers; /* range of prof_stats.callers */
};

struct prof_stats {
    struct prof_key *keys; /* n, of the entries */
    struct prof_entry *entries;
    struct prof_caller *callers;
    uint64_t n;
};

void prof_stats__deinit(struct prof_stats *s);
int prof_stats__write(const struct prof_stats *s, const char *path, struct err *err);

bool prof__match(const struct input *in);
int prof__read(const struct input *in, struct profile *p, struct err *err);

#endif
