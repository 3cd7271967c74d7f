/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of regions as CSV: a row per region, then one for each of its ranks. */
#include "converters/views/summary.h"
#include "formats/formats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int write_csv(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    struct view_options view = {.shape = VIEW_CSV, .per_rank = true, .ranks = options->ranks,
                                .n_ranks = options->ranks ? options->n_ranks : 0};
    FILE *f = fopen(path, "w");
    int rc;

    if (!f)
        return err__set(err, errno, "%s: cannot be written: %s", path, strerror(errno));
    if (options->say)
        write_options__say(options, "a .csv holds the table of regions, not the calls (scope-report calls --csv lists them)");
    rc = summary__print(p, &view, f);
    if (fclose(f) && !rc)
        rc = -errno;
    return rc ? err__set(err, -rc, "%s: cannot be written: %s", path, strerror(-rc)) : 0;
}

const struct format format_csv = {
    .name = "csv",
    .suffix = ".csv",
    .help = "the table of regions, for spreadsheets",
    .write = write_csv,
};
