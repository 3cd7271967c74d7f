/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-call metadata: the JSON object that a program attached to a call. */
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { C_RANK, C_NAME, C_CALL, C_START, C_DURATION, C_DATA, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_RANK] = {"rank", "rank", CELL_INT, 200},           [C_NAME] = {"name", "region", CELL_TEXT, 255},
    [C_CALL] = {"call_index", "call", CELL_INT, 150},     [C_START] = {"start_ns", NULL, CELL_INT, 0},
    [C_DURATION] = {"duration_ns", "duration", CELL_NS, 180}, [C_DATA] = {"data", "data", CELL_TEXT, 255},
};

/* The next element of a JSON list that a reader has found to be sound; false behind the last. */
static bool next_object(const char **at, const char *end, struct text *ret)
{
    const char *from, *c;
    int depth = 0;
    bool quoted = false;

    for (from = *at; from < end && *from != '{'; from++)
        ;
    for (c = from; c < end; c++) {
        if (quoted) {
            c += *c == '\\';
            quoted = *c != '"';
        } else if (*c == '"') {
            quoted = true;
        } else if (*c == '{' || *c == '[') {
            depth++;
        } else if ((*c == '}' || *c == ']') && !--depth) {
            *ret = (struct text){from, (uint32_t)(c + 1 - from)};
            *at = c + 1;
            return true;
        }
    }
    return false;
}

static void fill(const struct profile *p, const struct row *row, uint64_t i, struct text data, struct cell *cells)
{
    int64_t start = column_i64(&p->start)[row->offset + i], end = column_i64(&p->end)[row->offset + i];

    cells[C_RANK] = cell_int(p->ranks[row->rank].number);
    cells[C_NAME] = cell_text(p->regions[row->region].name);
    cells[C_CALL] = cell_int((int64_t)i);
    cells[C_START] = cell_int(start);
    cells[C_DURATION] = cell_int(end - start);
    cells[C_DATA] = cell_text(data);
}

/* In JSON the data is the object itself, not a string that holds one. */
static void print_json(const struct cell *cells, bool first, FILE *out)
{
    fputs(first ? "\n {" : ",\n {", out);
    for (unsigned c = 0; c < C_DATA; c++) {
        fprintf(out, "\"%s\": ", columns[c].key);
        cell__json(&columns[c], &cells[c], out);
        fputs(", ", out);
    }
    fprintf(out, "\"data\": %.*s}", (int)cells[C_DATA].text.len, cells[C_DATA].text.s);
}

static void add_row(const struct profile *p, const struct row *row, const struct view_options *options, struct table *table,
                    uint64_t *shown, FILE *out)
{
    const char *at = row->event_metadata.s, *end = at + row->event_metadata.len;
    struct text data;

    for (uint64_t i = 0; i < row->count && next_object(&at, end, &data); i++) {
        struct cell cells[N_COLUMNS] = {0}, *kept;

        if (data.len == 2 || (options->top && *shown >= options->top))
            continue;
        fill(p, row, i, data, cells);
        if (options->shape == VIEW_JSON)
            print_json(cells, !*shown, out);
        else if (options->shape == VIEW_CSV)
            table__csv_row(columns, N_COLUMNS, cells, out);
        else if ((kept = table__row(table)))
            memcpy(kept, cells, sizeof(cells));
        ++*shown;
    }
}

int event_data__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    struct table table;
    uint64_t shown = 0;

    (void)err;
    table__init(&table, columns, N_COLUMNS);
    if (options->shape == VIEW_CSV)
        table__csv_head(columns, N_COLUMNS, out);
    else if (options->shape == VIEW_JSON)
        putc('[', out);
    for (uint64_t r = 0; r < p->n_rows; r++) {
        const struct row *row = &p->rows[r];

        if (row->event_metadata.len > 2 && view__wants_rank(options, p->ranks[row->rank].number) &&
            view__wants_region(options, p->regions[row->region].name))
            add_row(p, row, options, &table, &shown, out);
    }
    if (options->shape == VIEW_JSON)
        fputs(shown ? "\n]\n" : "]\n", out);
    else if (options->shape == VIEW_TEXT && !shown)
        fputs("no call of this profile carries data\n", out);
    else if (options->shape == VIEW_TEXT)
        table__text(&table, &options->screen, out);
    table__deinit(&table);
    return table.failed ? -ENOMEM : ferror(out) ? -EIO : 0;
}
