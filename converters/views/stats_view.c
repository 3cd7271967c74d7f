/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The statistics document of scope-profiler ("plot": "region_statistics"), with percentiles beside its fields: here all
 * calls count, those with a flag too, as they do there.
 */
#include "converters/views/stats.h"
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { C_NAME, C_RANK, C_COUNT, C_TOTAL, C_MEAN, C_MIN, C_MAX, C_STD, C_P50, C_P95, C_P99, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_NAME] = {"name", "region", CELL_TEXT, 255}, [C_RANK] = {"rank", "rank", CELL_INT, 255},
    [C_COUNT] = {"count", "count", CELL_COUNT, 255}, [C_TOTAL] = {"total_ns", "total", CELL_NS, 255},
    [C_MEAN] = {"mean_ns", "mean", CELL_NS, 250}, [C_MIN] = {"min_ns", "min", CELL_NS, 100},
    [C_MAX] = {"max_ns", "max", CELL_NS, 110}, [C_STD] = {"std_ns", "std", CELL_NS, 90},
    [C_P50] = {"p50_ns", "p50", CELL_NS, 60}, [C_P95] = {"p95_ns", "p95", CELL_NS, 50}, [C_P99] = {"p99_ns", "p99", CELL_NS, 40},
};

/* ---- table ----------------------------------------------------------------------------------------------------------- */
static struct cell ns(bool known, double v)
{
    return (struct cell){.known = known && isfinite(v), .integer = isfinite(v) ? (int64_t)(v + 0.5) : 0};
}

static void add_row(struct table *table, struct text name, bool has_rank, int32_t rank, const struct region_stats *r)
{
    struct cell *row = table__row(table);

    if (!row)
        return;
    row[C_NAME] = cell_text(name);
    row[C_RANK] = (struct cell){.known = has_rank, .integer = rank};
    row[C_COUNT] = cell_int((int64_t)r->calls);
    row[C_TOTAL] = cell_int(r->total);
    row[C_MEAN] = ns(r->plain, r->mean);
    row[C_MIN] = ns(r->has_range, (double)r->min);
    row[C_MAX] = ns(r->has_range, (double)r->max);
    row[C_STD] = ns(r->plain, region_stats__deviation(r));
    row[C_P50] = ns(r->has_percentiles, (double)r->p50);
    row[C_P95] = ns(r->has_percentiles, (double)r->p95);
    row[C_P99] = ns(r->has_percentiles, (double)r->p99);
}

/* ---- document ---------------------------------------------------------------------------------------------------------- */
struct document {
    const struct profile *p;
    const struct stats *s;
    uint64_t *next; /* rows of a region, chained: row + 1 */
    uint64_t *first;
    uint32_t *order; /* regions by the time they were entered first, as the reference lists them */
    FILE *out;
};

struct entered {
    const struct stats *s;
    const uint64_t *first;
};

static int compare_entered(const void *a, const void *b, void *arg)
{
    const struct entered *e = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct region_stats *m = &e->s->regions[x], *n = &e->s->regions[y];

    if (m->has_times != n->has_times)
        return m->has_times ? -1 : 1;
    if (m->has_times && m->first != n->first)
        return m->first < n->first ? -1 : 1;
    return (e->first[x] > e->first[y]) - (e->first[x] < e->first[y]);
}

static void seconds(struct document *d, const char *key, bool known, double v)
{
    fprintf(d->out, ", \"%s\": ", key);
    fprintf(d->out, known && isfinite(v) ? "%.17g" : "null", v / 1e9);
}

static void edge_durations(const struct document *d, const struct row *row, bool *known, int64_t *first, int64_t *last)
{
    *known = row && row->count;
    if (!*known)
        return;
    *first = column_i64(&d->p->end)[row->offset] - column_i64(&d->p->start)[row->offset];
    *last = column_i64(&d->p->end)[row->offset + row->count - 1] - column_i64(&d->p->start)[row->offset + row->count - 1];
}

static void fields(struct document *d, const struct region_stats *r, bool edges, int64_t first, int64_t last)
{
    fprintf(d->out, "\"count\": %" PRIu64, r->calls);
    seconds(d, "average_duration_seconds", r->plain, r->mean);
    seconds(d, "min_duration_seconds", r->has_range, (double)r->min);
    seconds(d, "max_duration_seconds", r->has_range, (double)r->max);
    seconds(d, "first_duration_seconds", edges, (double)first);
    seconds(d, "last_duration_seconds", edges, (double)last);
    seconds(d, "std_duration_seconds", r->plain, region_stats__deviation(r));
    seconds(d, "total_duration_seconds", r->calls, (double)r->total);
    seconds(d, "p50_duration_seconds", r->has_percentiles, (double)r->p50);
    seconds(d, "p95_duration_seconds", r->has_percentiles, (double)r->p95);
    seconds(d, "p99_duration_seconds", r->has_percentiles, (double)r->p99);
}

/* Which rank's first call came first, and whose last call ended last. */
static void region_edges(struct document *d, uint32_t region, bool *known, int64_t *first, int64_t *last)
{
    int64_t earliest = 0, latest = 0;

    *known = false;
    for (uint64_t i = d->first[region]; i; i = d->next[i - 1]) {
        const struct row *row = &d->p->rows[i - 1];
        int64_t a, b, start, end;
        bool any;

        edge_durations(d, row, &any, &a, &b);
        if (!any)
            continue;
        start = d->s->rows[i - 1].first;
        end = d->s->rows[i - 1].last;
        if (!*known || start < earliest) {
            earliest = start;
            *first = a;
        }
        if (!*known || end > latest) {
            latest = end;
            *last = b;
        }
        *known = true;
    }
}

static void region(struct document *d, uint32_t g)
{
    int64_t first = 0, last = 0;
    bool known, comma = false;

    region_edges(d, g, &known, &first, &last);
    json__string(d->out, d->p->regions[g].name.s, d->p->regions[g].name.len);
    fputs(": {", d->out);
    fields(d, &d->s->regions[g], known, first, last);
    fputs(", \"per_rank\": {", d->out);
    for (uint64_t i = d->first[g]; i; i = d->next[i - 1]) {
        const struct row *row = &d->p->rows[i - 1];

        edge_durations(d, row, &known, &first, &last);
        fprintf(d->out, "%s\"%d\": {", comma ? ", " : "", d->p->ranks[row->rank].number);
        fields(d, &d->s->rows[i - 1], known, first, last);
        putc('}', d->out);
        comma = true;
    }
    fputs("}}", d->out);
}

static bool chain_rows(struct document *d)
{
    d->next = calloc(d->p->n_rows + 1, sizeof(*d->next));
    d->first = calloc((size_t)d->p->n_regions + 1, sizeof(*d->first));
    for (uint64_t r = d->p->n_rows; d->next && d->first && r-- > 0;) {
        if (!d->s->ranks_wanted[d->p->rows[r].rank])
            continue;
        d->next[r] = d->first[d->p->rows[r].region];
        d->first[d->p->rows[r].region] = r + 1;
    }
    d->order = calloc((size_t)d->p->n_regions + 1, sizeof(*d->order));
    if (d->order && d->first) {
        struct entered entered = {d->s, d->first};

        for (uint32_t g = 0; g < d->p->n_regions; g++)
            d->order[g] = g;
        qsort_r(d->order, d->p->n_regions, sizeof(*d->order), compare_entered, &entered);
    }
    return d->next && d->first && d->order;
}

static int64_t number_of_ranks(const struct profile *p)
{
    const struct meta *size = profile__meta(p, "mpi_size");
    int64_t n = size && size->kind == META_INT ? size->integer : 0;

    for (uint32_t k = 0; k < p->n_ranks; k++)
        n = p->ranks[k].number + 1 > n ? p->ranks[k].number + 1 : n;
    return n;
}

static void head(struct document *d)
{
    const struct meta *label = profile__meta(d->p, "label"), *start = profile__meta(d->p, "start_time_ns"),
                      *end = profile__meta(d->p, "finalize_time_ns");
    bool comma = false;

    fputs("{\"format\": \"scope-profiler-plot-data\", \"format_version\": 1, \"plot\": \"region_statistics\", "
          "\"units\": {\"durations\": \"seconds\"}, \"filters\": {\"include\": null, \"exclude\": null, \"ranks\": null},\n"
          "\"common_regions\": [", d->out);
    for (uint32_t i = 0; i < d->p->n_regions; i++) {
        uint32_t g = d->order[i];

        if (!d->first[g] || !d->s->wanted[g])
            continue;
        fputs(comma ? ", " : "", d->out);
        json__string(d->out, d->p->regions[g].name.s, d->p->regions[g].name.len);
        comma = true;
    }
    fputs("],\n\"files\": [{\"label\": ", d->out);
    json__string(d->out, label && label->text.s ? label->text.s : "", label && label->text.s ? label->text.len : 0);
    fprintf(d->out, ", \"num_ranks\": %" PRId64 ", \"total_time_seconds\": ", number_of_ranks(d->p));
    if (start && end && start->kind == META_INT && end->kind == META_INT)
        fprintf(d->out, "%.17g", (double)(end->integer - start->integer) / 1e9);
    else
        fputs("null", d->out);
    fputs(", \"region_statistics\": {", d->out);
}

static int print_document(const struct stats *s, FILE *out)
{
    struct document d = {.p = s->p, .s = s, .out = out};
    bool comma = false, ok = chain_rows(&d);

    if (ok) {
        head(&d);
        for (uint32_t i = 0; i < s->p->n_regions; i++) {
            uint32_t g = d.order[i];

            if (!d.first[g] || !s->wanted[g])
                continue;
            fputs(comma ? ",\n " : "\n ", out);
            region(&d, g);
            comma = true;
        }
        fputs("}}]}\n", out);
    }
    free(d.next);
    free(d.first);
    free(d.order);
    return ok ? 0 : -ENOMEM;
}

static int print_table(const struct stats *s, const struct view_options *options, FILE *out)
{
    const struct profile *p = s->p;
    struct table table;
    int rc;

    table__init(&table, columns, N_COLUMNS);
    for (uint64_t r = 0; r < p->n_rows && (!options->top || table.n_rows < options->top); r++) {
        if (s->wanted[p->rows[r].region] && s->ranks_wanted[p->rows[r].rank])
            add_row(&table, p->regions[p->rows[r].region].name, true, p->ranks[p->rows[r].rank].number, &s->rows[r]);
    }
    rc = table__print(&table, options, out);
    table__deinit(&table);
    return rc;
}

int stats__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    struct view_options all = *options;
    struct stats s;
    int rc;

    all.all_plain = true;
    rc = stats__init(&s, p, &all, err);
    if (!rc)
        rc = options->shape == VIEW_JSON ? print_document(&s, out) : print_table(&s, options, out);
    stats__deinit(&s);
    return rc ? rc : ferror(out) ? -EIO : 0;
}
