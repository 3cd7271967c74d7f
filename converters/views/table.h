/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of typed cells, shown as aligned text, JSON or CSV from one description of the columns. */
#ifndef SCOPE_TABLE_H
#define SCOPE_TABLE_H

#include "converters/views/text_out.h"
#include "converters/views/view.h"

enum cell_kind {
    CELL_NONE,  /* not known: "-", null, an empty CSV cell */
    CELL_TEXT,  /* left-aligned */
    CELL_COUNT, /* 12,345 */
    CELL_UINT,  /* the same, unsigned */
    CELL_INT,   /* plain */
    CELL_NS,    /* 1.234 ms; JSON and CSV: integer ns */
    CELL_SHARE, /* 0.25 is 25.0 %; JSON and CSV: the fraction */
    CELL_REAL,  /* four digits; JSON and CSV: all of them */
};

struct table_column {
    const char *key;   /* field of JSON and CSV */
    const char *title; /* head of the text; NULL: not in the text */
    enum cell_kind kind;
    uint8_t keep; /* a narrow terminal drops the columns with the smallest keep first; 255 never */
};

struct cell {
    bool known;
    struct text text; /* borrowed until the table is printed */
    int64_t integer;
    double real;
    unsigned indent; /* of a text: columns */
};

struct table {
    const struct table_column *columns;
    unsigned n_columns;
    struct cell *cells; /* n_rows × n_columns */
    size_t n_rows, cap;
    bool failed; /* out of memory, sticky */
};

void table__init(struct table *t, const struct table_column *columns, unsigned n_columns);
void table__deinit(struct table *t);
/* A row of unknown cells; NULL without memory. Valid until the next row is added. */
struct cell *table__row(struct table *t);

static inline struct cell cell_text(struct text t) { return (struct cell){.known = true, .text = t}; }
static inline struct cell cell_int(int64_t v) { return (struct cell){.known = true, .integer = v}; }
static inline struct cell cell_real(double v) { return (struct cell){.known = v == v, .real = v}; }
static inline struct cell cell_str(const char *s)
{
    struct text t = {s, 0};

    while (s && s[t.len])
        t.len++;
    return (struct cell){.known = s != NULL, .text = t};
}

void table__text(const struct table *t, const struct screen *screen, FILE *out);
void table__csv(const struct table *t, FILE *out);
/* A list of objects; a text that is not UTF-8 has its bytes beside it as <key>_hex. */
void table__json(const struct table *t, FILE *out);
/* Row by row, for tables that are too long to be held: a head, then rows, then a foot (JSON). */
void table__csv_head(const struct table_column *columns, unsigned n, FILE *out);
void table__csv_row(const struct table_column *columns, unsigned n, const struct cell *row, FILE *out);
void table__json_row(const struct table_column *columns, unsigned n, const struct cell *row, bool first, FILE *out);
/* One of the three; 0, -ENOMEM, -EIO. */
int table__print(const struct table *t, const struct view_options *options, FILE *out);

/* One cell as JSON and as CSV, for those who write other shapes. */
void cell__json(const struct table_column *column, const struct cell *cell, FILE *out);

#endif
