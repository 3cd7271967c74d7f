/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   gantt        a row per region, a box per call, over time
 *   flame-chart  a block of rows per thread, calls below their callers, over time
 *   durations    a bar per region: its total, and its own time in it
 *   histogram    a strip per region: how many calls took how long (logarithmic)
 *   timeseries   a strip per region: how long each call took, over time
 */
#include "formats/plots.h"

#include "converters/names.h"
#include "converters/views/stats.h"
#include "formats/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEFT   190.0
#define TOP    50.0
#define ROW    18.0
#define STRIP  90.0
#define BOTTOM 40.0
#define SIDE   20.0
#define STRIPS 12
#define BARS   40

struct plot {
    const struct profile *p;
    const struct rank *rank;
    const struct write_options *options;
    struct out *o;
    struct text *shown;
    struct stats stats;   /* of this rank */
    struct rank_rows rows;
    uint32_t *top, n_top; /* regions with calls, longest first */
    int64_t from, until;
    double width, height;
    uint64_t left_out;
    /* time lines */
    uint32_t *row_of, n_rows, n_lanes; /* of a region, or the first row of a lane */
    double *drawn;                     /* where the last box of a row ended */
    bool by_lane;
};

/* ---- pieces --------------------------------------------------------------------------------------------------------- */
static double inner(const struct plot *l)
{
    return l->width - LEFT - SIDE;
}

static double x_of(const struct plot *l, int64_t time)
{
    double span = (double)(l->until - l->from);

    return LEFT + (span > 0 ? (double)(time - l->from) / span : 0) * inner(l);
}

static void head(struct plot *l, const char *title)
{
    out__printf(l->o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
                      "font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"12\">\n<rect width=\"%g\" height=\"%g\" "
                      "fill=\"#fff\"/>\n<text x=\"%g\" y=\"24\" font-size=\"16\">%s, rank %d</text>\n", l->width, l->height,
                l->width, l->height, SIDE, title, l->rank->number);
}

/* At most `most` bytes, at the border of a character. */
static struct text shorten(struct text name, uint32_t most)
{
    struct text cut = name;

    while (cut.len > most || (cut.len && cut.len < name.len && ((uint8_t)name.s[cut.len] & 0xc0) == 0x80))
        cut.len--;
    return cut;
}

static void label(struct plot *l, struct text name, double y)
{
    struct text cut = shorten(name, 24);

    out__printf(l->o, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\"><title>", LEFT - 8, y);
    out__xml(l->o, name);
    out__text(l->o, "</title>");
    out__xml(l->o, cut);
    out__text(l->o, cut.len < name.len ? "\xe2\x80\xa6</text>\n" : "</text>\n");
}

static const char *colour(uint32_t region)
{
    static const char *const list[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#882255",
                                       "#44aa99", "#dd7788", "#117733", "#cc9955"};

    return list[region % (sizeof(list) / sizeof(*list))];
}

static void show_duration(struct plot *l, int64_t ns)
{
    struct strbuf b = {0};

    show__ns(&b, ns, true);
    out__text(l->o, b.s ? b.s : "");
    strbuf__deinit(&b);
}

static void time_axis(struct plot *l, double y)
{
    for (unsigned i = 0; i <= 4; i++) {
        int64_t t = (l->until - l->from) / 4 * i;

        out__printf(l->o, "<line x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\" stroke=\"#ddd\"/><text x=\"%g\" y=\"%g\" text-anchor=\"%s\">",
                    LEFT + inner(l) * i / 4, LEFT + inner(l) * i / 4, TOP - 6, y, LEFT + inner(l) * i / 4, y + 18,
                    i == 4 ? "end" : "middle");
        show_duration(l, t);
        out__text(l->o, "</text>\n");
    }
}

static void tail(struct plot *l)
{
    if (l->left_out)
        out__printf(l->o, "<text x=\"%g\" y=\"40\" fill=\"#555\">%" PRIu64 " calls narrower than a pixel are drawn together</text>\n",
                    SIDE, l->left_out);
    out__text(l->o, "</svg>\n");
}

/* ---- time lines ------------------------------------------------------------------------------------------------------ */
static int measure_lane(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct plot *l = arg;

    (void)above;
    if (lane->number >= l->n_lanes) {
        uint32_t *rows = reallocarray(l->row_of, lane->number + 2ull, sizeof(*rows));

        if (!rows)
            return -ENOMEM;
        l->row_of = rows;
        for (; l->n_lanes <= lane->number; l->n_lanes++)
            rows[l->n_lanes] = 0;
    }
    if (c->depth < 200 && c->depth + 1 > l->row_of[lane->number])
        l->row_of[lane->number] = c->depth + 1;
    return 0;
}

static int draw_call(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct plot *l = arg;
    uint32_t row = l->by_lane ? l->row_of[lane->number] + (c->depth < 199 ? c->depth : 199) : l->row_of[c->region];
    double x = x_of(l, c->start), end = x_of(l, c->end);

    (void)above;
    if (row >= l->n_rows)
        return 0;
    if (end - x < 0.5 && end <= l->drawn[row] + 0.5) {
        l->left_out++;
        return 0;
    }
    end = end - x < 0.5 ? x + 0.5 : end;
    l->drawn[row] = end > l->drawn[row] ? end : l->drawn[row];
    out__printf(l->o, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"><title>", x, TOP + row * ROW, end - x,
                ROW - 2, colour(c->region));
    out__xml(l->o, l->shown[c->region]);
    out__text(l->o, ": ");
    show_duration(l, c->end - c->start);
    out__text(l->o, "</title></rect>\n");
    if (l->by_lane && end - x > 40) {
        out__printf(l->o, "<text x=\"%.1f\" y=\"%.0f\" fill=\"#fff\" pointer-events=\"none\">", x + 4, TOP + row * ROW + ROW - 6);
        out__xml(l->o, shorten(l->shown[c->region], (uint32_t)((end - x - 6) / 8)));
        out__text(l->o, "</text>\n");
    }
    return 0;
}

static int walk(struct plot *l, struct stacks_visitor visitor, struct err *err)
{
    struct stacks_options split = {.split = true};

    return stacks__walk(l->p, &l->rows, (uint32_t)(l->rank - l->p->ranks), &split, &visitor, l, err);
}

static int rows_by_lane(struct plot *l, struct err *err)
{
    int rc = walk(l, (struct stacks_visitor){.enter = measure_lane}, err);

    for (uint32_t i = 0; i < l->n_lanes; i++) { /* heights become first rows */
        uint32_t height = l->row_of[i];

        l->row_of[i] = l->n_rows;
        l->n_rows += height;
    }
    return rc;
}

static int rows_by_region(struct plot *l)
{
    l->row_of = calloc((size_t)l->p->n_regions + 1, sizeof(*l->row_of));
    if (!l->row_of)
        return -ENOMEM;
    for (uint32_t g = 0; g < l->p->n_regions; g++)
        l->row_of[g] = UINT32_MAX;
    for (uint32_t i = 0; i < l->n_top; i++)
        l->row_of[l->top[i]] = i;
    l->n_rows = l->n_top;
    return 0;
}

static void label_lane(struct plot *l, uint32_t lane)
{
    char text[32];

    if (l->n_lanes > 1 && lane < 1000) {
        snprintf(text, sizeof(text), "lane %u", lane);
        label(l, (struct text){text, (uint32_t)strlen(text)}, TOP + l->row_of[lane] * ROW + ROW - 6);
    }
}

static int time_line(struct plot *l, struct err *err)
{
    int rc = l->by_lane ? rows_by_lane(l, err) : rows_by_region(l);

    l->drawn = rc ? NULL : calloc((size_t)l->n_rows + 1, sizeof(*l->drawn));
    if (!l->drawn)
        return rc ? rc : -ENOMEM;
    l->height = TOP + l->n_rows * ROW + BOTTOM;
    head(l, l->by_lane ? "Flame chart" : "Calls over time");
    time_axis(l, TOP + l->n_rows * ROW);
    for (uint32_t i = 0; !l->by_lane && i < l->n_top; i++)
        label(l, l->shown[l->top[i]], TOP + i * ROW + ROW - 6);
    for (uint32_t i = 0; l->by_lane && i < l->n_lanes; i++)
        label_lane(l, i);
    return walk(l, (struct stacks_visitor){.enter = draw_call}, err);
}

static int gantt(struct plot *l, struct err *err)
{
    return time_line(l, err);
}

static int flame_chart(struct plot *l, struct err *err)
{
    l->by_lane = true;
    return time_line(l, err);
}

/* ---- bars ------------------------------------------------------------------------------------------------------------ */
static int durations(struct plot *l, struct err *err)
{
    uint32_t n = l->n_top < BARS ? l->n_top : BARS;
    double most = (double)l->stats.regions[l->top[0]].inclusive;

    (void)err;
    l->height = TOP + n * ROW + BOTTOM;
    head(l, "Total and own time");
    for (uint32_t i = 0; i < n; i++) {
        const struct region_stats *r = &l->stats.regions[l->top[i]];
        double total = most > 0 ? (double)r->inclusive / most * (inner(l) - 80) : 0;
        double own = most > 0 && r->has_exclusive ? (double)r->exclusive / most * (inner(l) - 80) : 0;

        label(l, l->shown[l->top[i]], TOP + i * ROW + ROW - 6);
        out__printf(l->o, "<rect x=\"%g\" y=\"%g\" width=\"%.2f\" height=\"%g\" fill=\"#a8c4dd\"/><rect x=\"%g\" y=\"%g\" width=\"%.2f\" "
                          "height=\"%g\" fill=\"#4477aa\"/><text x=\"%.2f\" y=\"%g\">", LEFT, TOP + i * ROW, total, ROW - 4, LEFT,
                    TOP + i * ROW, own < total ? own : total, ROW - 4, LEFT + total + 6, TOP + i * ROW + ROW - 6);
        show_duration(l, r->inclusive);
        out__text(l->o, "</text>\n");
    }
    return 0;
}

/* ---- strips ---------------------------------------------------------------------------------------------------------- */
typedef void strip_function(struct plot *l, uint32_t region, double y, uint32_t *cells, unsigned columns, unsigned lines);

static void each_duration(struct plot *l, uint32_t region, void (*take)(void *arg, int64_t start, int64_t duration), void *arg)
{
    uint32_t rank = (uint32_t)(l->rank - l->p->ranks);

    for (uint64_t i = l->rows.first[rank]; i < l->rows.first[rank + 1]; i++) {
        const struct row *row = &l->p->rows[l->rows.rows[i]];

        for (uint64_t k = row->offset; row->region == region && k < row->offset + row->count; k++)
            take(arg, column_i64(&l->p->start)[k], column_i64(&l->p->end)[k] - column_i64(&l->p->start)[k]);
    }
}

struct bins {
    struct plot *l;
    uint32_t *cells;
    unsigned columns, lines;
    double low, high; /* logarithms of the durations */
    int64_t most;
};

static void count_bin(void *arg, int64_t start, int64_t duration)
{
    struct bins *b = arg;
    double v = log2((double)(duration > 0 ? duration : 1)), span = b->high - b->low;
    unsigned at = span > 0 ? (unsigned)((v - b->low) / span * b->columns) : 0;

    (void)start;
    b->cells[at < b->columns ? at : b->columns - 1]++;
}

static void mark_cell(void *arg, int64_t start, int64_t duration)
{
    struct bins *b = arg;
    unsigned x = (unsigned)((x_of(b->l, start) - LEFT) / inner(b->l) * (b->columns - 1));
    unsigned y = b->most > 0 ? (unsigned)((double)duration / (double)b->most * (b->lines - 1)) : 0;

    x = x < b->columns ? x : b->columns - 1;
    y = y < b->lines ? y : b->lines - 1;
    b->cells[(size_t)y * b->columns + x]++;
}

static void edge_labels(struct plot *l, double y, int64_t low, int64_t high, bool below)
{
    if (below)
        out__printf(l->o, "<text x=\"%g\" y=\"%g\" fill=\"#555\">", LEFT, y + STRIP - 12);
    else
        out__printf(l->o, "<text x=\"%g\" y=\"%g\" fill=\"#555\" text-anchor=\"end\">", LEFT - 8, y + 30);
    if (below)
        show_duration(l, low);
    else
        show_duration(l, high);
    out__text(l->o, "</text>\n");
    if (!below)
        return;
    out__printf(l->o, "<text x=\"%g\" y=\"%g\" fill=\"#555\" text-anchor=\"end\">", LEFT + inner(l), y + STRIP - 12);
    show_duration(l, high);
    out__text(l->o, "</text>\n");
}

static void histogram_strip(struct plot *l, uint32_t region, double y, uint32_t *cells, unsigned columns, unsigned lines)
{
    const struct region_stats *r = &l->stats.regions[region];
    struct bins b = {l, cells, columns, lines, log2((double)(r->min > 0 ? r->min : 1)), log2((double)(r->max > 0 ? r->max : 1)), 0};
    uint32_t most = 1;

    each_duration(l, region, count_bin, &b);
    for (unsigned i = 0; i < columns; i++)
        most = cells[i] > most ? cells[i] : most;
    for (unsigned i = 0; i < columns; i++) {
        double h = (double)cells[i] / most * (STRIP - 34), w = inner(l) / columns;

        if (cells[i])
            out__printf(l->o, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"><title>%u calls</title></rect>\n",
                        LEFT + w * i, y + STRIP - 28 - h, w > 1.5 ? w - 0.5 : w, h > 0.5 ? h : 0.5, colour(region), cells[i]);
    }
    edge_labels(l, y, r->min, r->max, true);
}

static void series_strip(struct plot *l, uint32_t region, double y, uint32_t *cells, unsigned columns, unsigned lines)
{
    const struct region_stats *r = &l->stats.regions[region];
    struct bins b = {l, cells, columns, lines, 0, 0, r->max};

    each_duration(l, region, mark_cell, &b);
    for (unsigned row = 0; row < lines; row++) {
        for (unsigned i = 0; i < columns; i++) {
            if (cells[(size_t)row * columns + i])
                out__printf(l->o, "<rect x=\"%.1f\" y=\"%.1f\" width=\"2\" height=\"2\" fill=\"%s\"/>\n", LEFT + inner(l) * i / columns,
                            y + (STRIP - 20) * (1 - (double)row / lines) - 2, colour(region));
        }
    }
    edge_labels(l, y, 0, r->max, false);
}

static int strips(struct plot *l, const char *title, strip_function *draw, unsigned columns, unsigned lines)
{
    uint32_t n = l->n_top < STRIPS ? l->n_top : STRIPS;
    size_t bytes = (size_t)columns * lines * sizeof(uint32_t);
    uint32_t *cells = malloc(bytes);

    if (!cells)
        return -ENOMEM;
    l->height = TOP + n * STRIP + BOTTOM;
    head(l, title);
    if (lines > 1)
        time_axis(l, TOP + n * STRIP);
    for (uint32_t i = 0; i < n; i++) {
        memset(cells, 0, bytes);
        label(l, l->shown[l->top[i]], TOP + i * STRIP + 14);
        draw(l, l->top[i], TOP + i * STRIP, cells, columns, lines);
    }
    free(cells);
    return 0;
}

static int histogram(struct plot *l, struct err *err)
{
    (void)err;
    return strips(l, "How long calls took (logarithmic)", histogram_strip, 60, 1);
}

static int timeseries(struct plot *l, struct err *err)
{
    (void)err;
    return strips(l, "How long each call took, over time", series_strip, (unsigned)(inner(l) / 2), 30);
}

/* ---- all together ---------------------------------------------------------------------------------------------------- */
static const struct {
    const char *name;
    int (*draw)(struct plot *l, struct err *err);
} kinds[] = {
    {"gantt", gantt}, {"flame-chart", flame_chart}, {"durations", durations}, {"histogram", histogram}, {"timeseries", timeseries},
};

static int compare_regions(const void *a, const void *b, void *arg)
{
    const struct stats *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (s->regions[x].inclusive != s->regions[y].inclusive)
        return s->regions[x].inclusive > s->regions[y].inclusive ? -1 : 1;
    return (x > y) - (x < y);
}

static int prepare(struct plot *l, struct err *err)
{
    struct view_options view = {.ranks = &l->rank->number, .n_ranks = 1, .all_plain = true};
    int rc = rank_rows__init(&l->rows, l->p);
    bool any = false;

    rc = rc ? rc : stats__init(&l->stats, l->p, &view, err);
    l->top = calloc((size_t)l->p->n_regions + 1, sizeof(*l->top));
    l->shown = names__shown_regions(l->p->arena, l->p, NULL);
    if (rc || !l->top || !l->shown)
        return rc ? rc : -ENOMEM;
    for (uint32_t g = 0; g < l->p->n_regions; g++) {
        const struct region_stats *r = &l->stats.regions[g];

        if (!r->has_times)
            continue;
        l->top[l->n_top++] = g;
        l->from = any && l->from < r->first ? l->from : r->first;
        l->until = any && l->until > r->last ? l->until : r->last;
        any = true;
    }
    if (l->n_top)
        qsort_r(l->top, l->n_top, sizeof(*l->top), compare_regions, &l->stats);
    return l->n_top ? 0 : FORMAT_NOTHING;
}

static int draw_kind(struct plot *l, const char *path, struct err *err)
{
    int rc, closed;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].name, l->options->plot))
            continue;
        rc = out__open(&l->o, path, false, err);
        if (rc)
            return rc;
        rc = kinds[i].draw(l, err);
        tail(l);
        closed = out__close(l->o, rc ? NULL : err);
        return rc ? rc : closed;
    }
    return err__set(err, EINVAL, "no such plot: %.60s", l->options->plot);
}

int plots__write(const struct profile *p, uint32_t rank, const char *path, const struct write_options *options,
                 struct err *err)
{
    struct plot l = {.p = p, .rank = &p->ranks[rank], .options = options, .width = options->width ? options->width : 1200};
    int rc;

    l.width = l.width < 400 ? 400 : l.width;
    rc = prepare(&l, err);
    rc = rc ? rc : draw_kind(&l, path, err);
    if (rc == -ENOMEM)
        err__set(err, ENOMEM, "%s: not enough memory", path);
    rank_rows__deinit(&l.rows);
    stats__deinit(&l.stats);
    free(l.top);
    free(l.row_of);
    free(l.drawn);
    return rc;
}
