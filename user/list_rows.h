/* SPDX-License-Identifier: GPL-2.0-only */
/* A listing as rows, one per region and file, and the three ways to print them. */
#ifndef SCOPE_LIST_ROWS_H
#define SCOPE_LIST_ROWS_H

#include <stdio.h>

#include "listing.h"
#include "options.h"

/* Everything is borrowed from the listing. */
struct list_row {
    const struct listed_file *file;
    const struct region_def *region; /* NULL: the names that are known only at run time */
    const char *provider;
    uint32_t n_begin, n_end;         /* sites */
    uint32_t n_scope;                /* of n_begin: ended by the file's shared end */
    const char *source_file;
    int32_t source_line;
};

struct list_rows {
    struct list_row *rows;
    size_t n;
};

/* Rows of the regions that the patterns choose. 0 or -ENOMEM; free rows->rows. */
int list_rows__make(const struct listing *listing, const struct string_list *region,
                    const struct string_list *exclude, struct list_rows *rows);

/* Whether the site is one of the row's, in its file; not the shared end of scopes. */
bool list_row__has(const struct list_row *row, const struct site *site);

void list_rows__print_text(FILE *out, const struct listing *listing, const struct list_rows *rows);
void list_rows__print_csv(FILE *out, const struct listing *listing, const struct list_rows *rows);
void list_rows__print_json(FILE *out, const struct listing *listing, const struct list_rows *rows);

#endif
