/* SPDX-License-Identifier: GPL-2.0-only */
/* The inode that the kernel executes and puts breakpoints into; through overlayfs stat() shows another one. */
#ifndef SCOPE_REAL_FILE_H
#define SCOPE_REAL_FILE_H

#include "programs.h"

/* Of a regular file that is open for reading.  -errno: the kernel does not say; then stat() has to do. */
int real_file__key(struct programs *programs, int fd, struct sb_file_key *ret);

#endif
