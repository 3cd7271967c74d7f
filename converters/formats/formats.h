/* SPDX-License-Identifier: GPL-2.0-only */
/* The rows of the table in format.c, and what format.c and format_write.c share. */
#ifndef SCOPE_FORMATS_H
#define SCOPE_FORMATS_H

#include "converters/format.h"

#include <sys/types.h>

extern const struct format format_h5, format_capture, format_spt, format_sps, format_json, format_json_gz;
extern const struct format format_prof, format_speedscope, format_trace, format_folded, format_likwid;
extern const struct format format_csv, format_pprof, format_svg, format_html;

/* "a folder", "a FIFO", …, for messages. */
const char *format__kind_of(mode_t mode);

/* The name of one rank's file of the output name `out`: malloc'ed, NULL without memory. */
char *format__rank_path(const struct format *format, const char *out, int32_t rank);

/* Refuses what a rename must not replace: links, FIFOs, folders, files with several names. 0 or -errno. */
int format__check_target(const char *path, struct err *err);

#endif
