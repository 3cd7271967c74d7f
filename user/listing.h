/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a program or a process offers: the files that it will map, or has mapped, and the probes in
 * each. Read only; nothing is started or attached.
 */
#ifndef SCOPE_LISTING_H
#define SCOPE_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "usdt/err.h"
#include "usdt/regions.h"

struct listed_file {
    char *path;
    const char *role;          /* "program", "library", "loader", "preload", "script", "mapped" */
    pid_t pid;                 /* the first process that maps it; 0: of a command */
    struct probe_table *table; /* NULL with a problem, or for a script */
    char *problem;             /* why it could not be read, NULL without */
};

struct listed_missing {
    char *name, *wanted_by;
};

struct listing {
    char *subject; /* "./heat" or "process 4711" */
    const struct pairing *rules; /* not owned; NULL: only `scope` makes regions */
    struct listed_file *files;
    size_t n_files;
    struct listed_missing *missing; /* libraries that were not found */
    size_t n_missing;
    struct listing_mapping *seen; /* private: files of processes, each read once */
    size_t n_seen;
};

/* An empty one, or NULL; subject is copied. */
struct listing *listing__new(const char *subject);
void listing__destroy(struct listing *listing); /* accepts NULL */

/* Both add to the listing. 0 or -errno; a file that cannot be read is listed with its problem. */
int listing__add_program(struct listing *listing, const char *program, struct err *err);
int listing__add_process(struct listing *listing, pid_t pid, struct err *err);

/* Regions and sites whose names are known only at run time. */
size_t listing__count_regions(const struct listing *listing);

/* Probes of other providers, added up by provider over all files. */
struct listed_provider {
    const char *name;
    size_t probes;
};
/* malloc'ed, by name; NULL and 0 where there are none. */
struct listed_provider *listing__providers(const struct listing *listing, size_t *ret_n);
/* "postgresql (60), libc (12)" */
void listing__providers_text(const struct listing *listing, char *text, size_t size);

/*
 * Why there is nothing to record, and what to do: one line that begins with the subject. For a listing
 * without regions.
 */
void listing__explain(const struct listing *listing, char *text, size_t size);

/* Where execvp would find it: absolute or with a slash, malloc'ed. -ENOENT, -EACCES. */
int listing__find_program(const char *program, char **ret, struct err *err);

#endif
