/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_LIB_SEARCH_H
#define SCOPE_USDT_LIB_SEARCH_H

#include <stdbool.h>

#include "usdt/elf_file.h"

/* Where a dynamic loader looks for a library: glibc's rules, or musl's. */
struct lib_search;
struct rooted;

/* Who asks: strings owned by the caller, NULL where absent. */
struct requester {
    const char *origin; /* folder of its file */
    const char *rpath, *runpath;
    bool no_default_lib;
    const struct requester *loaded_by; /* NULL for the program */
};

/* interp decides whose rules; library_path may be NULL. Keeps the pointers. NULL without memory. */
struct lib_search *lib_search__new(const struct rooted *rooted, enum elf_machine machine, const char *interp,
                                   const char *library_path);
void lib_search__free(struct lib_search *search); /* accepts NULL */

bool lib_search__is_musl(const struct lib_search *search);

/* Whether the name is part of the loader itself (musl: libc.so, libpthread.so.0…). */
bool lib_search__is_loader(const struct lib_search *search, const char *name);

/*
 * Finds and opens a library of the right machine. 0 with a path that the caller frees and a
 * descriptor; -ENOENT; -ENOMEM; -E2BIG after 1,000,000 places.
 */
int lib_search__find(struct lib_search *search, const struct requester *requester, const char *name,
                     char **ret_path, int *ret_fd);

#endif
