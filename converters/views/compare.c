/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/compare.h"

#include "converters/views/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char compare_metrics[] = "total|own|mean|min|max|p50|p95|p99|calls";

int run__measure(struct run *run, const struct view_options *options, struct err *err)
{
    run->has_stats = true;
    return stats__init(&run->stats, run->p, options, err);
}

void run__deinit(struct run *run)
{
    if (run->has_stats)
        stats__deinit(&run->stats);
    profile__destroy(run->p);
    memset(run, 0, sizeof(*run));
}

/* ---- one number of a region ------------------------------------------------------------------------------------------- */
static double metric_of(const struct region_stats *r, const char *metric)
{
    if (!strcmp(metric, "calls"))
        return (double)r->calls;
    if (!strcmp(metric, "own"))
        return r->has_exclusive ? (double)r->exclusive : NAN;
    if (!strcmp(metric, "mean"))
        return r->plain ? r->mean : NAN;
    if (!strcmp(metric, "min"))
        return r->has_range ? (double)r->min : NAN;
    if (!strcmp(metric, "max"))
        return r->has_range ? (double)r->max : NAN;
    if (metric[0] == 'p' && !r->has_percentiles)
        return NAN;
    if (!strcmp(metric, "p50"))
        return (double)r->p50;
    if (!strcmp(metric, "p95"))
        return (double)r->p95;
    if (!strcmp(metric, "p99"))
        return (double)r->p99;
    return (double)(r->aggregate ? r->total : r->inclusive);
}

static bool same_name(struct text a, struct text b)
{
    return a.len == b.len && (!a.len || !memcmp(a.s, b.s, a.len));
}

/* Regions have the same number in runs of the same program more often than not: look there first. */
static const struct region_stats *region_of(const struct run *run, struct text name, uint32_t guess)
{
    const struct profile *p = run->p;

    if (guess < p->n_regions && same_name(p->regions[guess].name, name))
        return &run->stats.regions[guess];
    for (uint32_t g = 0; g < p->n_regions; g++) {
        if (same_name(p->regions[g].name, name))
            return &run->stats.regions[g];
    }
    return NULL;
}

struct group {
    double mean, spread; /* spread: standard deviation of the runs, NAN for one */
    size_t n;            /* runs that have the region */
};

static struct group measure(const struct run *runs, size_t n, struct text name, uint32_t guess, const char *metric)
{
    struct group g = {.spread = NAN};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        const struct region_stats *r = region_of(&runs[i], name, guess);
        double v = r && r->calls ? metric_of(r, metric) : NAN;

        if (isnan(v))
            continue;
        sum += v;
        squares += v * v;
        g.n++;
    }
    g.mean = g.n ? sum / (double)g.n : NAN;
    if (g.n > 1) {
        double variance = (squares - sum * sum / (double)g.n) / (double)(g.n - 1);

        g.spread = sqrt(variance > 0 ? variance : 0);
    }
    return g;
}

/* ---- diff, check -------------------------------------------------------------------------------------------------------- */
struct difference {
    struct text name;
    struct group base, fresh;
    double delta, share, noise;
};

enum { C_NAME, C_BASE, C_FRESH, C_DELTA, C_SHARE, C_NOISE, C_VERDICT, N_COLUMNS };

static const struct table_column time_columns[N_COLUMNS] = {
    [C_NAME] = {"name", "region", CELL_TEXT, 255}, [C_BASE] = {"base", "before", CELL_NS, 200},
    [C_FRESH] = {"new", "after", CELL_NS, 255},    [C_DELTA] = {"delta", "change", CELL_NS, 255},
    [C_SHARE] = {"change_share", "% change", CELL_SHARE, 255}, [C_NOISE] = {"noise", "noise", CELL_NS, 150},
    [C_VERDICT] = {"verdict", "", CELL_TEXT, 210},
};

static struct difference difference_of(const struct run *base, size_t n_base, const struct run *fresh, size_t n_fresh,
                                       struct text name, uint32_t guess, const char *metric)
{
    struct difference d = {.name = name, .delta = NAN, .share = NAN, .noise = NAN};

    d.base = measure(base, n_base, name, guess, metric);
    d.fresh = measure(fresh, n_fresh, name, guess, metric);
    d.delta = d.fresh.mean - d.base.mean;
    if (d.base.mean > 0)
        d.share = d.delta / d.base.mean;
    if (!isnan(d.base.spread) && !isnan(d.fresh.spread))
        d.noise = sqrt(d.base.spread * d.base.spread / (double)d.base.n + d.fresh.spread * d.fresh.spread / (double)d.fresh.n);
    else if (!isnan(d.base.spread) || !isnan(d.fresh.spread))
        d.noise = isnan(d.base.spread) ? d.fresh.spread : d.base.spread;
    return d;
}

/* Twice the standard error: what repeated runs of the same program exceed one time in twenty. */
static bool within_noise(const struct difference *d)
{
    return !isnan(d->noise) && fabs(d->delta) <= 2 * d->noise;
}

static int compare_differences(const void *a, const void *b)
{
    const struct difference *x = a, *y = b;
    double m = isnan(x->delta) ? -1 : fabs(x->delta), n = isnan(y->delta) ? -1 : fabs(y->delta);

    if (m != n)
        return m > n ? -1 : 1;
    return (x->name.s > y->name.s) - (x->name.s < y->name.s);
}

static const char *verdict(const struct difference *d)
{
    if (!d->base.n)
        return "new";
    if (!d->fresh.n)
        return "gone";
    return within_noise(d) ? "within noise" : NULL;
}

static struct cell number(double v)
{
    return (struct cell){.known = !isnan(v), .integer = isnan(v) ? 0 : (int64_t)llround(v)};
}

static void add_row(struct table *t, const struct difference *d, bool check)
{
    struct cell *row = table__row(t);
    const char *text = check ? "SLOWER" : verdict(d);

    if (!row)
        return;
    row[C_NAME] = cell_text(d->name);
    row[C_BASE] = number(d->base.mean);
    row[C_FRESH] = number(d->fresh.mean);
    row[C_DELTA] = number(d->delta);
    row[C_SHARE] = cell_real(d->share);
    row[C_NOISE] = number(d->noise);
    row[C_VERDICT] = text ? cell_str(text) : (struct cell){0};
}

/* Names of all regions of both groups, each once: those of the first run first. */
static size_t collect(const struct run *base, size_t n_base, const struct run *fresh, size_t n_fresh, const char *metric,
                      struct difference *list)
{
    size_t n = 0;

    for (size_t i = 0; i < n_base + n_fresh; i++) {
        const struct run *run = i < n_base ? &base[i] : &fresh[i - n_base];

        for (uint32_t g = 0; g < run->p->n_regions; g++) {
            bool seen = !run->stats.wanted[g] || !run->stats.regions[g].calls;

            for (size_t k = 0; k < i && !seen; k++) {
                const struct run *before = k < n_base ? &base[k] : &fresh[k - n_base];
                const struct region_stats *r = region_of(before, run->p->regions[g].name, g);

                seen = r && r->calls;
            }
            if (!seen)
                list[n++] = difference_of(base, n_base, fresh, n_fresh, run->p->regions[g].name, g, metric);
        }
    }
    return n;
}

static bool is_slower(const struct difference *d, double limit)
{
    return d->base.n && d->fresh.n && d->delta > 0 && d->delta > limit * d->base.mean && !within_noise(d);
}

static void set_columns(struct table_column *columns, const char *metric)
{
    memcpy(columns, time_columns, sizeof(time_columns));
    for (unsigned c = C_BASE; !strcmp(metric, "calls") && c <= C_NOISE; c++)
        columns[c].kind = columns[c].kind == CELL_NS ? CELL_COUNT : columns[c].kind;
}

static bool any_verdict(const struct table *t)
{
    for (size_t r = 0; r < t->n_rows; r++) {
        if (t->cells[r * N_COLUMNS + C_VERDICT].known)
            return true;
    }
    return false;
}

int compare__print(const struct run *base, size_t n_base, const struct run *fresh, size_t n_fresh,
                   const struct compare_options *options, FILE *out, uint64_t *ret_slower)
{
    struct table_column columns[N_COLUMNS];
    struct difference *list;
    struct table t;
    size_t n = 1;
    int rc;

    for (size_t i = 0; i < n_base + n_fresh; i++)
        n += (i < n_base ? &base[i] : &fresh[i - n_base])->p->n_regions;
    list = calloc(n, sizeof(*list));
    if (!list)
        return -ENOMEM;
    n = collect(base, n_base, fresh, n_fresh, options->metric, list);
    qsort(list, n, sizeof(*list), compare_differences);
    set_columns(columns, options->metric);
    table__init(&t, columns, N_COLUMNS);
    for (size_t i = 0; i < n; i++) {
        bool slower = is_slower(&list[i], options->max_slowdown);

        if (ret_slower)
            *ret_slower += slower;
        if ((!ret_slower || slower) && (!options->view->top || t.n_rows < options->view->top))
            add_row(&t, &list[i], ret_slower);
    }
    if (n_base < 2 && n_fresh < 2)
        columns[C_NOISE].title = NULL;
    if (!any_verdict(&t))
        columns[C_VERDICT].title = NULL;
    rc = t.n_rows || options->view->shape != VIEW_TEXT ? table__print(&t, options->view, out) : 0;
    if (!rc && options->view->shape == VIEW_JSON)
        putc('\n', out);
    table__deinit(&t);
    free(list);
    return rc;
}
