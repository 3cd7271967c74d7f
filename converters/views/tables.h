/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One function per subcommand that shows a table.  All: 0, or -errno with a message in err (which may be empty for
 * -ENOMEM, -EIO); JSON is a list of objects unless said otherwise; times are integers in ns.
 */
#ifndef SCOPE_TABLES_H
#define SCOPE_TABLES_H

#include "converters/views/view.h"

typedef int view_function(const struct profile *p, const struct view_options *options, FILE *out, struct err *err);

view_function tree__print;       /* call paths, all wanted ranks together */
view_function calls__print;      /* every call, filtered by time, rank, thread, region */
view_function threads__print;    /* life, CPU time, calls of each thread */
view_function ranks__print;      /* each region over the ranks: imbalance */
view_function counters__print;   /* performance counters by region */
view_function likwid__print;     /* LIKWID results by region, thread and event */
view_function event_data__print; /* per-call metadata */
view_function messages__print;   /* decoded mpi: regions */
view_function stats__print;      /* a row per region and rank; JSON: the statistics document of scope-profiler */
view_function functions__print;  /* samples by function */

#endif
