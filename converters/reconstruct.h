/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a capture to a profile: which process is which rank, which calls belong to which thread, who called
 * whom, what was lost.  No I/O but reading the capture and temporary files, no BPF, no clock: the same bytes
 * give the same profile.
 *
 * Anonymous memory does not grow with the number of calls: calls travel through columns that leave memory
 * when they become large (see column.h; set its folder first).
 */
#ifndef SCOPE_RECONSTRUCT_H
#define SCOPE_RECONSTRUCT_H

#include "model.h"

struct reconstruct_options {
    /* Called now and then, done <= all; NULL: not at all. */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

/*
 * Reads the capture behind `fd` (a regular file, read with pread; the offset does not matter) into a new
 * profile. `name` is what messages call it.  An unfinished or damaged capture gives what stands before the
 * damage: how_ended is then "unfinished", and a note says where and why.  options may be NULL.
 *
 * 0; -EINVAL: not a capture, a newer version, or damaged in its first block; -ENOMEM, -ENOSPC (temporary
 * files), -EIO and other errors of reading.  *ret is untouched on failure.
 */
int reconstruct__capture(int fd, const char *name, const struct reconstruct_options *options,
                         struct profile **ret, struct err *err);

/* The same into a profile that is empty; after a failure its content is not defined, destroy it. */
int reconstruct__into(int fd, const char *name, const struct reconstruct_options *options,
                      struct profile *into, struct err *err);

#endif
