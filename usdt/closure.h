/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_CLOSURE_H
#define SCOPE_USDT_CLOSURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "usdt/err.h"

/*
 * The files that exec and the dynamic loader will map for a program, found by reading only:
 * interpreters of scripts, the program, its loader, preloaded libraries, and the DT_NEEDED closure
 * as glibc or musl searches it. Nothing is executed or loaded.
 */
#define CLOSURE_MAX_FILES   4096u
#define CLOSURE_MAX_SCRIPTS 5u

enum closure_role {
    CLOSURE_SCRIPT, /* a #! file; its interpreter follows. No ELF file */
    CLOSURE_PROGRAM,
    CLOSURE_LOADER,
    CLOSURE_PRELOAD,
    CLOSURE_LIBRARY,
};

struct closure_file {
    char *path; /* absolute, as the program sees it (inside root) */
    int fd;     /* O_RDONLY | O_CLOEXEC, a regular file; owned by the closure, -1 after a take */
    dev_t dev;
    ino_t ino;
    enum closure_role role;
};

/* A library that was not found: the loader will fail, or finds it by other means. */
struct closure_missing {
    char *name;
    char *wanted_by;
};

struct closure {
    struct closure_file *files; /* each (dev, ino) once, in the loader's order */
    size_t n_files;
    struct closure_missing *missing;
    size_t n_missing;
};

struct closure_options {
    const char *root; /* "" or NULL: our own; else a folder such as /proc/PID/root, in which
                         absolute symlinks stay inside */
    const char *cwd;  /* inside root, for relative names; NULL: "/" in a root, else our own */
    const char *ld_library_path, *ld_preload; /* of the program's environment, or NULL */
};

/*
 * fd: the program, opened by the caller (kept). path: how the program was or will be named, for
 * $ORIGIN and messages; inside root. options may be NULL. Missing or unreadable libraries are
 * listed, no error. Errors: -ENOEXEC neither ELF file nor script, or one that we do not trace
 * (the message says which kind), -ELOOP too many script interpreters, -ENOENT an interpreter that
 * does not exist, -E2BIG beyond CLOSURE_MAX_FILES, -ENOMEM, errno of the read.
 */
int closure__list(int fd, const char *path, const struct closure_options *options, struct closure **ret,
                  struct err *err);
void closure__free(struct closure *closure); /* closes what was not taken; accepts NULL */

/* Transfers the descriptor of a file to the caller. */
int closure__take_fd(struct closure *closure, size_t file);

#endif
