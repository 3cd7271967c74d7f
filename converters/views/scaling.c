/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Speed-up and efficiency.  The time of a region in a run is that of its slowest rank; the size of a run is its number of
 * ranks times its threads (metadata omp_num_threads).  Against the smallest run: strong scaling S = T0 / T, E = S × n0 / n;
 * weak scaling E = T0 / T.
 */
#include "converters/views/compare.h"
#include "converters/views/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { C_NAME, C_RUN, C_SIZE, C_TIME, C_SPEEDUP, C_EFFICIENCY, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_NAME] = {"name", "region", CELL_TEXT, 255},      [C_RUN] = {"run", "run", CELL_TEXT, 100},
    [C_SIZE] = {"size", "size", CELL_INT, 255},         [C_TIME] = {"time_ns", "time", CELL_NS, 200},
    [C_SPEEDUP] = {"speedup", "speed-up", CELL_REAL, 255}, [C_EFFICIENCY] = {"efficiency", "% efficiency", CELL_SHARE, 255},
};

struct point {
    const struct run *run;
    int64_t size;
};

static int64_t size_of(const struct run *run)
{
    const struct meta *threads = profile__meta(run->p, "omp_num_threads");
    int64_t n = 0, per_rank = 1;

    for (uint32_t k = 0; k < run->p->n_ranks; k++)
        n += run->stats.ranks_wanted[k];
    if (threads && threads->kind == META_INT && threads->integer > 0)
        per_rank = threads->integer;
    else if (threads && threads->kind == META_TEXT && threads->text.s && atoi(threads->text.s) > 0)
        per_rank = atoi(threads->text.s);
    return n * per_rank;
}

static int compare_points(const void *a, const void *b)
{
    const struct point *x = a, *y = b;

    return (x->size > y->size) - (x->size < y->size);
}

/* Of the slowest rank, NAN where the run does not have the region. */
static double time_of(const struct run *run, struct text name)
{
    const struct profile *p = run->p;
    double most = NAN;

    for (uint64_t r = 0; r < p->n_rows; r++) {
        struct text mine = p->regions[p->rows[r].region].name;
        const struct region_stats *s = &run->stats.rows[r];
        double t = (double)(s->aggregate ? s->total : s->inclusive);

        if (mine.len != name.len || (mine.len && memcmp(mine.s, name.s, name.len)) || !s->calls ||
            !run->stats.ranks_wanted[p->rows[r].rank])
            continue;
        most = isnan(most) || t > most ? t : most;
    }
    return most;
}

static void add_region(struct table *t, const struct point *points, size_t n, struct text name, bool weak)
{
    double base = time_of(points[0].run, name);

    for (size_t i = 0; i < n; i++) {
        double time = time_of(points[i].run, name), speedup = base / time;
        struct cell *row = table__row(t);

        if (!row)
            return;
        row[C_NAME] = cell_text(name);
        row[C_RUN] = cell_str(points[i].run->label);
        row[C_SIZE] = cell_int(points[i].size);
        row[C_TIME] = (struct cell){.known = !isnan(time), .integer = isnan(time) ? 0 : (int64_t)time};
        row[C_SPEEDUP] = cell_real(isfinite(speedup) ? speedup : NAN);
        row[C_EFFICIENCY] = cell_real(!isfinite(speedup) ? NAN : weak ? speedup : speedup * (double)points[0].size / (double)points[i].size);
    }
}

/* ---- plot ------------------------------------------------------------------------------------------------------------------ */
#define WIDTH  800.0
#define HEIGHT 500.0
#define LEFT   70.0
#define RIGHT  220.0
#define TOP    40.0
#define BOTTOM 60.0

static double x_of(const struct point *points, size_t n, double size)
{
    double low = log2((double)points[0].size), high = log2((double)points[n - 1].size);

    return LEFT + (high > low ? (log2(size) - low) / (high - low) : 0.5) * (WIDTH - LEFT - RIGHT);
}

static double y_of(double value, double most)
{
    return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM);
}

static void xml(FILE *svg, struct text t)
{
    uint32_t c = 0;
    unsigned n;

    for (uint32_t i = 0; i < t.len; i += n) {
        n = utf8__decode(t.s + i, t.len - i, &c);
        if (!n || c < 0x20 || c == 0x7f || c == 0xfffe || c == 0xffff)
            fputs("\xef\xbf\xbd", svg);
        else if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            fprintf(svg, "&#%u;", c);
        else
            fwrite(t.s + i, 1, n, svg);
        n = n ? n : 1;
    }
}

static void plot_frame(FILE *svg, const struct point *points, size_t n, double most, bool weak)
{
    fprintf(svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
                 "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"%g\" height=\"%g\" fill=\"#fff\"/>\n"
                 "<text x=\"%g\" y=\"24\" font-size=\"16\">%s</text>\n", WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT,
            weak ? "Weak scaling: efficiency" : "Speed-up");
    for (unsigned i = 0; i <= 4; i++)
        fprintf(svg, "<line x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\" stroke=\"#ddd\"/><text x=\"%g\" y=\"%g\" "
                     "text-anchor=\"end\">%.3g</text>\n", LEFT, WIDTH - RIGHT, y_of(most * i / 4, most), y_of(most * i / 4, most),
                LEFT - 8, y_of(most * i / 4, most) + 4, most * i / 4);
    for (size_t i = 0; i < n; i++)
        fprintf(svg, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%" PRId64 "</text>\n",
                x_of(points, n, (double)points[i].size), HEIGHT - BOTTOM + 20, points[i].size);
    fprintf(svg, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">ranks × threads</text>\n<polyline fill=\"none\" stroke=\"#888\" "
                 "stroke-dasharray=\"5 4\" points=\"", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16);
    for (size_t i = 0; i < n; i++)
        fprintf(svg, "%g,%g ", x_of(points, n, (double)points[i].size),
                y_of(weak ? 1 : (double)points[i].size / (double)points[0].size, most));
    fputs("\"/>\n", svg);
}

static void plot_region(FILE *svg, const struct table *t, size_t row, const struct point *points, size_t n, double most, unsigned line)
{
    static const char *const colours[] = {"#1b6ca8", "#d1495b", "#2e8b57", "#b8860b", "#6a4c93", "#008b8b", "#a0522d", "#444444"};
    const char *colour = colours[line % 8];

    fprintf(svg, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (size_t i = 0; i < n; i++) {
        const struct cell *cell = &t->cells[(row + i) * N_COLUMNS + C_SPEEDUP];

        if (cell->known)
            fprintf(svg, "%g,%g ", x_of(points, n, (double)points[i].size), y_of(cell->real, most));
    }
    fprintf(svg, "\"/>\n<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%g\" y=\"%g\">", WIDTH - RIGHT + 20,
            TOP + 20.0 * line, colour, WIDTH - RIGHT + 38, TOP + 20.0 * line + 11);
    xml(svg, t->cells[row * N_COLUMNS + C_NAME].text);
    fputs("</text>\n", svg);
}

static void plot(FILE *svg, const struct table *t, const struct point *points, size_t n, bool weak)
{
    double most = weak ? 1 : (double)points[n - 1].size / (double)points[0].size;
    unsigned line = 0;

    for (size_t r = 0; r < t->n_rows; r++) {
        const struct cell *cell = &t->cells[r * N_COLUMNS + C_SPEEDUP];

        most = cell->known && cell->real > most ? cell->real : most;
    }
    plot_frame(svg, points, n, most, weak);
    for (size_t r = 0; r + n <= t->n_rows && line < 20; r += n)
        plot_region(svg, t, r, points, n, most, line++);
    fputs("</svg>\n", svg);
}

int scaling__print(const struct run *runs, size_t n, const struct compare_options *options, FILE *out, FILE *svg)
{
    struct point *points = calloc(n + 1, sizeof(*points));
    const struct run *first;
    struct table t;
    int rc;

    if (!points)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        points[i] = (struct point){&runs[i], size_of(&runs[i])};
    qsort(points, n, sizeof(*points), compare_points);
    first = points[0].run;
    table__init(&t, columns, N_COLUMNS);
    for (uint32_t g = 0; g < first->p->n_regions; g++) {
        if (first->stats.wanted[g] && first->stats.regions[g].calls)
            add_region(&t, points, n, first->p->regions[g].name, options->weak);
    }
    rc = table__print(&t, options->view, out);
    if (!rc && options->view->shape == VIEW_JSON)
        putc('\n', out);
    if (!rc && svg && points[0].size > 0)
        plot(svg, &t, points, n, options->weak);
    table__deinit(&t);
    free(points);
    return rc;
}
