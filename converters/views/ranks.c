/* SPDX-License-Identifier: GPL-2.0-only */
/* Each region over the ranks: who waits for whom.  Times are those of the outermost calls (`total`). */
#include "converters/views/stats.h"
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { C_NAME, C_RANKS, C_CALLS, C_MEAN, C_MIN, C_MIN_RANK, C_MAX, C_MAX_RANK, C_IMBALANCE, C_DEVIATION, C_LOSS, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_NAME] = {"name", "region", CELL_TEXT, 255},         [C_RANKS] = {"ranks", "ranks", CELL_COUNT, 200},
    [C_CALLS] = {"calls", "calls", CELL_COUNT, 100},       [C_MEAN] = {"mean_ns", "mean", CELL_NS, 255},
    [C_MIN] = {"min_ns", "min", CELL_NS, 150},             [C_MIN_RANK] = {"min_rank", "on rank", CELL_INT, 90},
    [C_MAX] = {"max_ns", "max", CELL_NS, 255},             [C_MAX_RANK] = {"max_rank", "on rank", CELL_INT, 200},
    [C_IMBALANCE] = {"imbalance", "max/mean", CELL_REAL, 255}, [C_DEVIATION] = {"std_ns", "std", CELL_NS, 120},
    [C_LOSS] = {"lost_ns", "max-mean", CELL_NS, 110},
};

struct sums {
    uint32_t ranks;
    uint64_t calls;
    double sum, squares;
    int64_t min, max;
    int32_t min_rank, max_rank;
};

static void add(struct sums *s, int64_t time, int32_t rank, uint64_t calls)
{
    if (!s->ranks || time < s->min) {
        s->min = time;
        s->min_rank = rank;
    }
    if (!s->ranks || time > s->max) {
        s->max = time;
        s->max_rank = rank;
    }
    s->ranks++;
    s->calls += calls;
    s->sum += (double)time;
    s->squares += (double)time * (double)time;
}

static void add_row(struct table *table, const struct profile *p, uint32_t region, const struct sums *s)
{
    struct cell *row = table__row(table);
    double mean = s->sum / s->ranks, variance = s->squares / s->ranks - mean * mean;

    if (!row)
        return;
    row[C_NAME] = cell_text(p->regions[region].name);
    row[C_RANKS] = cell_int(s->ranks);
    row[C_CALLS] = cell_int((int64_t)s->calls);
    row[C_MEAN] = cell_int((int64_t)(mean + 0.5));
    row[C_MIN] = cell_int(s->min);
    row[C_MIN_RANK] = cell_int(s->min_rank);
    row[C_MAX] = cell_int(s->max);
    row[C_MAX_RANK] = cell_int(s->max_rank);
    row[C_IMBALANCE] = mean > 0 ? cell_real((double)s->max / mean) : (struct cell){0};
    row[C_DEVIATION] = cell_int((int64_t)(sqrt(variance > 0 ? variance : 0) + 0.5));
    row[C_LOSS] = cell_int((int64_t)((double)s->max - mean + 0.5));
}


/* What the imbalance costs, most first. */
static int compare_regions(const void *a, const void *b, void *arg)
{
    const struct sums *s = arg, *x = &s[*(const uint32_t *)a], *y = &s[*(const uint32_t *)b];
    double m = x->ranks ? (double)x->max - x->sum / x->ranks : -1, n = y->ranks ? (double)y->max - y->sum / y->ranks : -1;

    if (m != n)
        return m > n ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int fill(struct table *table, const struct stats *s, const struct view_options *options)
{
    const struct profile *p = s->p;
    struct sums *sums = calloc((size_t)p->n_regions + 1, sizeof(*sums));
    uint32_t *sorted = calloc((size_t)p->n_regions + 1, sizeof(*sorted));

    for (uint64_t r = 0; sums && r < p->n_rows; r++) {
        const struct region_stats *row = &s->rows[r];

        if (s->ranks_wanted[p->rows[r].rank])
            add(&sums[p->rows[r].region], row->aggregate ? row->total : row->inclusive, p->ranks[p->rows[r].rank].number,
                row->calls);
    }
    for (uint32_t g = 0; sorted && g < p->n_regions; g++)
        sorted[g] = g;
    if (sums && sorted)
        qsort_r(sorted, p->n_regions, sizeof(*sorted), compare_regions, sums);
    for (uint32_t g = 0; sums && sorted && g < p->n_regions; g++) {
        if (s->wanted[sorted[g]] && sums[sorted[g]].ranks && (!options->top || table->n_rows < options->top))
            add_row(table, p, sorted[g], &sums[sorted[g]]);
    }
    table->failed |= !sums || !sorted;
    free(sums);
    free(sorted);
    return table->failed ? -ENOMEM : 0;
}

int ranks__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    struct table table;
    struct stats s;
    int rc = stats__init(&s, p, options, err);

    table__init(&table, columns, N_COLUMNS);
    rc = rc ? rc : fill(&table, &s, options);
    rc = rc ? rc : table__print(&table, options, out);
    if (!rc && options->shape == VIEW_JSON)
        putc('\n', out);
    table__deinit(&table);
    stats__deinit(&s);
    return rc;
}
