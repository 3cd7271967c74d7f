/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of one recording: <prefix>.scope while it runs, then <prefix>.h5 and <prefix>_rank*.spt|.sps together.
 *
 * A set is complete or not there: all files are written beside their names first, renamed when the last of them is on
 * disk, and only then are rank files of an older set removed.  Nothing is written through a link, into a FIFO, or
 * over a file of somebody else.
 */
#ifndef SCOPE_OUTPUT_SET_H
#define SCOPE_OUTPUT_SET_H

#include "format.h"

struct output_set;

/* `list`: names of formats, by commas.  -EINVAL: unknown format, or a prefix that names no file. */
int output_set__create(const char *prefix, const char *list, struct output_set **ret, struct err *err);
void output_set__destroy(struct output_set *set); /* accepts NULL */

/* May everything be written, as far as can be seen before?  One line says which file, why not, what to do. */
int output_set__check(const struct output_set *set, struct err *err);

/*
 * Makes the capture, exclusively, and locks it.  -EEXIST: a recording of that name is running or was never made into
 * a profile (the line has the command to type).
 */
int output_set__open_capture(struct output_set *set, int *ret_fd, struct err *err);
const char *output_set__capture(const struct output_set *set);
const char *output_set__folder(const struct output_set *set);

/* Writes p as the whole new set.  On failure nothing was replaced, unless the line says so. */
int output_set__write(struct output_set *set, const struct profile *p, const struct write_options *options,
                      struct err *err);
/* What the last write made: n names. */
char *const *output_set__files(const struct output_set *set, size_t *ret_n);

/* The capture is not needed any more: removed, or marked so that the next run may replace it. */
int output_set__drop_capture(struct output_set *set, int fd, bool keep, struct err *err);
/* Nothing was recorded: it goes, and an older one that was kept on request is back. */
void output_set__discard_capture(struct output_set *set, int fd);
/* "scope-report convert run.scope -o run.h5", quoted for a shell where it must be. */
void output_set__convert_command(const struct output_set *set, char *text, size_t size);

#endif
