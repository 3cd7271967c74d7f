/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2             /* blanks between columns */
#define NARROWEST_TEXT 16 /* a text column is not cut below this */

void table__init(struct table *t, const struct table_column *columns, unsigned n_columns)
{
    *t = (struct table){.columns = columns, .n_columns = n_columns};
}

void table__deinit(struct table *t)
{
    free(t->cells);
    t->cells = NULL;
    t->n_rows = t->cap = 0;
}

struct cell *table__row(struct table *t)
{
    struct cell *row;

    if (t->n_rows == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 32;
        struct cell *cells = reallocarray(t->cells, cap, t->n_columns * sizeof(*cells));

        if (!cells) {
            t->failed = true;
            return NULL;
        }
        t->cells = cells;
        t->cap = cap;
    }
    row = t->cells + t->n_rows++ * t->n_columns;
    memset(row, 0, t->n_columns * sizeof(*row));
    return row;
}

/* ---- text ------------------------------------------------------------------------------------------------- */
static void show_cell(struct strbuf *b, const struct table_column *column, const struct cell *cell, bool utf8)
{
    if (!cell->known) {
        strbuf__put(b, "-", 1);
        return;
    }
    switch (column->kind) {
    case CELL_NONE: break;
    case CELL_TEXT:
        strbuf__printf(b, "%*s", (int)cell->indent, "");
        show__text(b, cell->text, utf8);
        break;
    case CELL_COUNT:
        if (cell->integer < 0)
            strbuf__put(b, "-", 1);
        show__count(b, cell->integer < 0 ? -(uint64_t)cell->integer : (uint64_t)cell->integer);
        break;
    case CELL_UINT: show__count(b, (uint64_t)cell->integer); break;
    case CELL_INT: strbuf__printf(b, "%" PRId64, cell->integer); break;
    case CELL_NS: show__ns(b, cell->integer, utf8); break;
    case CELL_SHARE: strbuf__printf(b, "%.1f", cell->real * 100); break;
    case CELL_REAL: strbuf__printf(b, "%.4g", cell->real); break;
    }
}

struct layout {
    unsigned *width; /* per column, 0: dropped */
    unsigned total;
};

static void drop_columns(const struct table *t, const struct screen *screen, struct layout *l, unsigned flexible)
{
    unsigned least = l->width[flexible] < NARROWEST_TEXT ? l->width[flexible] : NARROWEST_TEXT;

    while (l->total - l->width[flexible] + least > screen->width) {
        unsigned worst = t->n_columns;

        for (unsigned c = 0; c < t->n_columns; c++) {
            if (l->width[c] && t->columns[c].keep < 255 &&
                (worst == t->n_columns || t->columns[c].keep <= t->columns[worst].keep))
                worst = c;
        }
        if (worst == t->n_columns)
            return;
        l->total -= l->width[worst] + GAP;
        l->width[worst] = 0;
    }
}

/* The widest text column gives way, but not more than to NARROWEST_TEXT. */
static void fit(const struct table *t, const struct screen *screen, struct layout *l)
{
    unsigned flexible = 0, room;

    for (unsigned c = 1; c < t->n_columns; c++) {
        if (t->columns[c].kind == CELL_TEXT && l->width[c] > l->width[flexible])
            flexible = c;
    }
    if (!screen->width || l->total <= screen->width || !l->width[flexible])
        return;
    drop_columns(t, screen, l, flexible);
    room = l->total - l->width[flexible];
    if (l->total > screen->width) {
        unsigned narrow = screen->width > room + NARROWEST_TEXT ? screen->width - room : NARROWEST_TEXT;

        if (narrow < l->width[flexible]) {
            l->total -= l->width[flexible] - narrow;
            l->width[flexible] = narrow;
        }
    }
}

static int measure(const struct table *t, const struct screen *screen, struct layout *l)
{
    struct strbuf b = {0};

    l->width = calloc(t->n_columns, sizeof(*l->width));
    if (!l->width)
        return -ENOMEM;
    for (unsigned c = 0; c < t->n_columns; c++) {
        if (!t->columns[c].title)
            continue;
        l->width[c] = utf8__width(t->columns[c].title, strlen(t->columns[c].title));
        for (size_t r = 0; r < t->n_rows; r++) {
            unsigned w;

            b.len = 0;
            show_cell(&b, &t->columns[c], &t->cells[r * t->n_columns + c], screen->utf8);
            w = utf8__width(b.s ? b.s : "", b.len);
            l->width[c] = w > l->width[c] ? w : l->width[c];
        }
        l->total += l->width[c] + (l->total ? GAP : 0);
    }
    strbuf__deinit(&b);
    fit(t, screen, l);
    return 0;
}

/* Cuts to `width` columns with an ellipsis, at the border of a character. */
static void cut(struct strbuf *b, unsigned width, bool utf8)
{
    const char *dots = utf8 ? "…" : "...";
    unsigned dots_width = utf8 ? 1 : 3, used = 0;
    size_t at = 0;
    uint32_t c;

    if (!b->s || utf8__width(b->s, b->len) <= width)
        return;
    while (at < b->len) {
        unsigned n = utf8__decode(b->s + at, b->len - at, &c), w;

        n = n ? n : 1;
        w = utf8__width(b->s + at, n);
        if (used + w + dots_width > width)
            break;
        used += w;
        at += n;
    }
    b->len = at;
    strbuf__put(b, dots, strlen(dots));
}

static void print_row(const struct table *t, const struct layout *l, const struct cell *row,
                      const struct screen *screen, FILE *out)
{
    struct strbuf line = {0}, b = {0};
    bool first = true;

    for (unsigned c = 0; c < t->n_columns; c++) {
        bool left = t->columns[c].kind == CELL_TEXT;
        unsigned w;

        if (!l->width[c])
            continue;
        b.len = 0;
        if (row)
            show_cell(&b, &t->columns[c], &row[c], screen->utf8);
        else
            strbuf__put(&b, t->columns[c].title, strlen(t->columns[c].title));
        cut(&b, l->width[c], screen->utf8);
        w = utf8__width(b.s ? b.s : "", b.len);
        w = w < l->width[c] ? l->width[c] - w : 0;
        strbuf__printf(&line, "%*s", (first ? 0 : GAP) + (left ? 0 : (int)w), "");
        strbuf__put(&line, b.s ? b.s : "", b.len);
        if (left)
            strbuf__printf(&line, "%*s", (int)w, "");
        first = false;
    }
    while (line.len && line.s[line.len - 1] == ' ')
        line.len--;
    if (!row && screen->colour)
        fprintf(out, "\033[1m%.*s\033[0m\n", (int)line.len, line.s ? line.s : "");
    else
        fprintf(out, "%.*s\n", (int)line.len, line.s ? line.s : "");
    strbuf__deinit(&line);
    strbuf__deinit(&b);
}

static void say_dropped(const struct table *t, const struct layout *l, FILE *out)
{
    unsigned n = 0;

    for (unsigned c = 0; c < t->n_columns; c++) {
        if (!t->columns[c].title || l->width[c])
            continue;
        fprintf(out, "%s%s", n++ ? ", " : "(the terminal is too narrow for: ", t->columns[c].title);
    }
    if (n)
        fputs("; --csv shows all)\n", out);
}

void table__text(const struct table *t, const struct screen *screen, FILE *out)
{
    struct layout l = {0};

    if (measure(t, screen, &l))
        return;
    print_row(t, &l, NULL, screen, out);
    for (size_t r = 0; r < t->n_rows; r++)
        print_row(t, &l, t->cells + r * t->n_columns, screen, out);
    say_dropped(t, &l, out);
    free(l.width);
}

/* ---- JSON, CSV -------------------------------------------------------------------------------------------- */
static void print_real(double v, FILE *out)
{
    if (isfinite(v))
        fprintf(out, "%.17g", v);
    else
        fputs("null", out);
}

static void json_text(const struct table_column *column, struct text t, FILE *out)
{
    if (!json__string(out, t.s, t.len))
        return;
    fprintf(out, ", \"%s_hex\": \"", column->key);
    for (uint32_t i = 0; i < t.len; i++)
        fprintf(out, "%02x", (unsigned char)t.s[i]);
    putc('"', out);
}

void cell__json(const struct table_column *column, const struct cell *cell, FILE *out)
{
    if (!cell->known) {
        fputs("null", out);
        return;
    }
    switch (column->kind) {
    case CELL_NONE: fputs("null", out); break;
    case CELL_TEXT: json_text(column, cell->text, out); break;
    case CELL_UINT: fprintf(out, "%" PRIu64, (uint64_t)cell->integer); break;
    case CELL_COUNT:
    case CELL_INT:
    case CELL_NS: fprintf(out, "%" PRId64, cell->integer); break;
    case CELL_SHARE:
    case CELL_REAL: print_real(cell->real, out); break;
    }
}

void table__json_row(const struct table_column *columns, unsigned n, const struct cell *row, bool first, FILE *out)
{
    fputs(first ? "\n {" : ",\n {", out);
    for (unsigned c = 0; c < n; c++) {
        fprintf(out, "%s\"%s\": ", c ? ", " : "", columns[c].key);
        cell__json(&columns[c], &row[c], out);
    }
    putc('}', out);
}

void table__json(const struct table *t, FILE *out)
{
    putc('[', out);
    for (size_t r = 0; r < t->n_rows; r++)
        table__json_row(t->columns, t->n_columns, t->cells + r * t->n_columns, !r, out);
    fputs(t->n_rows ? "\n]" : "]", out);
}

static void csv_value(const struct table_column *column, const struct cell *cell, FILE *out)
{
    if (!cell->known)
        return;
    if (column->kind == CELL_TEXT)
        csv__cell(out, cell->text.s ? cell->text.s : "", cell->text.len);
    else
        cell__json(column, cell, out);
}

void table__csv_head(const struct table_column *columns, unsigned n, FILE *out)
{
    for (unsigned c = 0; c < n; c++)
        fprintf(out, "%s%s", c ? "," : "", columns[c].key);
    fputs("\r\n", out);
}

void table__csv_row(const struct table_column *columns, unsigned n, const struct cell *row, FILE *out)
{
    for (unsigned c = 0; c < n; c++) {
        if (c)
            putc(',', out);
        csv_value(&columns[c], &row[c], out);
    }
    fputs("\r\n", out);
}

void table__csv(const struct table *t, FILE *out)
{
    table__csv_head(t->columns, t->n_columns, out);
    for (size_t r = 0; r < t->n_rows; r++)
        table__csv_row(t->columns, t->n_columns, t->cells + r * t->n_columns, out);
}

int table__print(const struct table *t, const struct view_options *options, FILE *out)
{
    if (t->failed)
        return -ENOMEM;
    if (options->shape == VIEW_CSV)
        table__csv(t, out);
    else if (options->shape == VIEW_JSON)
        table__json(t, out);
    else
        table__text(t, &options->screen, out);
    return ferror(out) ? -EIO : 0;
}
