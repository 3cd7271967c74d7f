/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_ROOTED_H
#define SCOPE_USDT_ROOTED_H

#include <stdbool.h>

/*
 * Paths as another process sees them: below its root (`/proc/PID/root`), with absolute symlinks
 * and `..` kept inside.
 */
struct rooted {
    int fd; /* of the root, -1: our own root */
    const char *root;
    const char *cwd; /* for relative paths, absolute; never NULL after init */
    char own_cwd[4096];
};

/* root "" or NULL: our own; cwd NULL: ours, or "/" in another root. Keeps both pointers. 0 or -errno. */
int rooted__init(struct rooted *rooted, const char *root, const char *cwd);
void rooted__deinit(struct rooted *rooted);

/* Opens a regular file for reading; the descriptor, or -errno (-EACCES for anything else). */
int rooted__open(const struct rooted *rooted, const char *path);
bool rooted__is_folder(const struct rooted *rooted, const char *path);

/* path made absolute by cwd, in buffer; false where it does not fit. */
bool rooted__absolute(const struct rooted *rooted, const char *path, char *buffer, unsigned long size);

#endif
