/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * region          calls  % run  % parent     total       own      mean       min       p50       p95       p99       max
 * solve               1   99.1         -   1.203 s   3.10 ms   1.203 s   1.203 s   1.203 s   1.203 s   1.203 s   1.203 s
 *   sweep         1,000   98.7      99.6   1.199 s   1.199 s  1.199 ms  1.002 ms  1.190 ms  1.401 ms  1.702 ms  2.310 ms
 * lost: 0
 */
#include "converters/views/summary.h"

#include "converters/views/no_regions.h"
#include "converters/views/region_tree.h"
#include "converters/views/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COSTLY 20 /* a region whose mean is below so many times the cost of a pair is warned of */

enum {
    C_NAME, C_RANK, C_CALLS, C_PRIMITIVE, C_RUN, C_PARENT, C_TOTAL_ALL, C_TOTAL, C_OWN, C_MEAN, C_MIN, C_P50, C_P95,
    C_P99, C_MAX, C_IMBALANCE, C_PROBE, C_ABANDONED, C_TRUNCATED, C_INHERITED, C_OVERLAPPING, C_BEGUN_BEFORE,
    C_UNCERTAIN, N_COLUMNS
};

static const struct table_column all_columns[N_COLUMNS] = {
    [C_NAME] = {"name", "region", CELL_TEXT, 255},
    [C_RANK] = {"rank", NULL, CELL_INT, 255},
    [C_CALLS] = {"calls", "calls", CELL_COUNT, 255},
    [C_PRIMITIVE] = {"primitive_calls", NULL, CELL_INT, 0},
    [C_RUN] = {"run_share", "% run", CELL_SHARE, 200},
    [C_PARENT] = {"parent_share", "% parent", CELL_SHARE, 60},
    [C_TOTAL_ALL] = {"total_ns", NULL, CELL_NS, 0},
    [C_TOTAL] = {"inclusive_ns", "total", CELL_NS, 255},
    [C_OWN] = {"exclusive_ns", "own", CELL_NS, 210},
    [C_MEAN] = {"mean_ns", "mean", CELL_NS, 190},
    [C_MIN] = {"min_ns", "min", CELL_NS, 50},
    [C_P50] = {"p50_ns", "p50", CELL_NS, 40},
    [C_P95] = {"p95_ns", "p95", CELL_NS, 30},
    [C_P99] = {"p99_ns", "p99", CELL_NS, 45},
    [C_MAX] = {"max_ns", "max", CELL_NS, 100},
    [C_IMBALANCE] = {"imbalance", "imbal.", CELL_REAL, 90},
    [C_PROBE] = {"probe_share", "% probe", CELL_SHARE, 55},
    [C_ABANDONED] = {"abandoned", "abandoned", CELL_COUNT, 150},
    [C_TRUNCATED] = {"truncated", "truncated", CELL_COUNT, 150},
    [C_INHERITED] = {"inherited", "inherited", CELL_COUNT, 150},
    [C_OVERLAPPING] = {"overlapping", "overlapping", CELL_COUNT, 150},
    [C_BEGUN_BEFORE] = {"begun_before", "begun before", CELL_COUNT, 150},
    [C_UNCERTAIN] = {"uncertain", "uncertain", CELL_COUNT, 150},
};

const char *const summary_sorts[] = {"name", "calls", "total", "own", "mean", "min", "p50", "p95", "p99", "max", NULL};
static const int sort_columns[] = {C_NAME, C_CALLS, C_TOTAL, C_OWN, C_MEAN, C_MIN, C_P50, C_P95, C_P99, C_MAX};

struct summary {
    const struct profile *p;
    const struct view_options *options;
    struct stats stats;
    struct region_tree tree;
    uint64_t *by_region, *first; /* wanted rows of each region: by_region[first[g] … first[g + 1]) */
    struct table_column columns[N_COLUMNS];
    struct table table;
    int64_t pair_cost, inner_cost;
    double *below; /* by region: calls of the regions under it in the tree */
    FILE *out;
};

/* ---- filling ------------------------------------------------------------------------------------------------ */
static struct cell share(double part, double whole)
{
    return whole > 0 ? cell_real(part / whole) : (struct cell){0};
}

static struct cell time_cell(bool known, int64_t ns)
{
    return (struct cell){.known = known, .integer = ns};
}

static int64_t shown_total(const struct region_stats *r)
{
    return r->aggregate ? r->total : r->inclusive;
}

/*
 * What of a region's time the probes took: of its own pairs the part that it reads itself, of the pairs below it all.
 * `region`: where the rows of single ranks belong; they share what is below by their calls.
 */
static struct cell probe_share(const struct summary *s, const struct region_stats *r, uint32_t region)
{
    double all = (double)s->stats.regions[region].calls;
    double below = all > 0 ? s->below[region] * (double)r->calls / all : 0;
    double cost = (double)s->inner_cost * (double)r->calls + (double)s->pair_cost * below;
    double total = (double)shown_total(r);

    return share(cost < total ? cost : total, total);
}

static void fill_row(struct summary *s, struct cell *row, const struct region_stats *r, uint32_t region, int64_t lifetime)
{
    row[C_CALLS] = cell_int((int64_t)r->calls);
    row[C_PRIMITIVE] = time_cell(!r->aggregate, (int64_t)r->primitive);
    row[C_RUN] = share((double)shown_total(r), (double)lifetime);
    row[C_TOTAL_ALL] = cell_int(r->total);
    row[C_TOTAL] = cell_int(shown_total(r));
    row[C_OWN] = time_cell(r->has_exclusive, r->exclusive);
    row[C_MEAN] = time_cell(r->plain, (int64_t)(r->mean + 0.5));
    row[C_MIN] = time_cell(r->has_range, r->min);
    row[C_MAX] = time_cell(r->has_range, r->max);
    row[C_P50] = time_cell(r->has_percentiles, r->p50);
    row[C_P95] = time_cell(r->has_percentiles, r->p95);
    row[C_P99] = time_cell(r->has_percentiles, r->p99);
    if (s->pair_cost && s->below)
        row[C_PROBE] = probe_share(s, r, region);
    for (unsigned f = 0; f < N_CALL_FLAGS; f++)
        row[C_ABANDONED + f] = cell_int((int64_t)r->flagged[f]);
}

/* The slowest rank's time over the mean of all ranks that were asked for. */
static struct cell imbalance(const struct summary *s, uint32_t region)
{
    double sum = 0, most = 0;
    uint32_t ranks = 0;

    for (uint32_t k = 0; k < s->p->n_ranks; k++)
        ranks += s->stats.ranks_wanted[k];
    for (uint64_t i = s->first[region]; i < s->first[region + 1]; i++) {
        double t = (double)shown_total(&s->stats.rows[s->by_region[i]]);

        sum += t;
        most = t > most ? t : most;
    }
    return ranks > 1 ? share(most * ranks, sum) : (struct cell){0};
}

static void add_ranks(struct summary *s, const struct region_node *node)
{
    for (uint64_t i = s->first[node->region]; i < s->first[node->region + 1]; i++) {
        uint64_t r = s->by_region[i];
        struct cell *row = table__row(&s->table);

        if (!row)
            return;
        row[C_NAME] = cell_text(s->p->regions[node->region].name);
        row[C_RANK] = cell_int(s->p->ranks[s->p->rows[r].rank].number);
        fill_row(s, row, &s->stats.rows[r], node->region, s->stats.lifetimes[s->p->rows[r].rank]);
    }
}

static void add_region(struct summary *s, const struct region_node *node)
{
    const struct region_stats *parent = node->parent >= 0 ? &s->stats.regions[node->parent] : NULL;
    struct cell *row = table__row(&s->table);

    if (!row)
        return;
    row[C_NAME] = cell_text(s->p->regions[node->region].name);
    row[C_NAME].indent = s->options->sort ? 0 : node->depth * 2;
    fill_row(s, row, &s->stats.regions[node->region], node->region, s->stats.lifetime);
    if (parent && node->time >= 0)
        row[C_PARENT] = share((double)node->time, (double)parent->inclusive);
    row[C_IMBALANCE] = imbalance(s, node->region);
    if (s->options->per_rank)
        add_ranks(s, node);
}

/* Columns in which nothing stands are left out of the text. */
static void hide_empty(struct summary *s)
{
    for (unsigned c = C_PARENT; c < N_COLUMNS; c++) {
        bool counter = c >= C_ABANDONED, any = false;

        for (size_t r = 0; r < s->table.n_rows && !any; r++) {
            const struct cell *cell = &s->table.cells[r * N_COLUMNS + c];

            any = cell->known && (!counter || cell->integer);
        }
        if (!any)
            s->columns[c].title = NULL;
    }
}

struct by_column {
    int column;
    const struct summary *s;
};

static int compare_nodes(const void *a, const void *b, void *arg)
{
    const struct by_column *by = arg;
    const struct region_node *x = a, *y = b;
    struct cell rows[2][N_COLUMNS] = {0};
    struct summary *s = (struct summary *)by->s;

    if (by->column == C_NAME) {
        struct text m = s->p->regions[x->region].name, n = s->p->regions[y->region].name;
        uint32_t len = m.len < n.len ? m.len : n.len;
        int c = len ? memcmp(m.s, n.s, len) : 0;

        return c ? c : (m.len > n.len) - (m.len < n.len);
    }
    fill_row(s, rows[0], &s->stats.regions[x->region], x->region, 0);
    fill_row(s, rows[1], &s->stats.regions[y->region], y->region, 0);
    if (rows[0][by->column].known != rows[1][by->column].known)
        return rows[0][by->column].known ? -1 : 1;
    if (rows[0][by->column].integer != rows[1][by->column].integer)
        return rows[0][by->column].integer > rows[1][by->column].integer ? -1 : 1;
    return (x->region > y->region) - (x->region < y->region);
}

static void sort_nodes(struct summary *s)
{
    struct by_column by = {C_TOTAL, s};

    for (unsigned i = 0; summary_sorts[i]; i++) {
        if (!strcmp(summary_sorts[i], s->options->sort))
            by.column = sort_columns[i];
    }
    qsort_r(s->tree.nodes, s->tree.n, sizeof(*s->tree.nodes), compare_nodes, &by);
}

static int group_rows(struct summary *s)
{
    const struct profile *p = s->p;

    s->by_region = calloc(p->n_rows + 1, sizeof(*s->by_region));
    s->first = calloc((size_t)p->n_regions + 3, sizeof(*s->first));
    if (!s->by_region || !s->first)
        return -ENOMEM;
    for (uint64_t r = 0; r < p->n_rows; r++)
        s->first[p->rows[r].region + 2] += s->stats.ranks_wanted[p->rows[r].rank];
    for (uint32_t g = 2; g < p->n_regions + 1; g++)
        s->first[g] += s->first[g - 1];
    for (uint64_t r = 0; r < p->n_rows; r++) {
        if (s->stats.ranks_wanted[p->rows[r].rank])
            s->by_region[s->first[p->rows[r].region + 1]++] = r;
    }
    return 0;
}

/* ---- what must not be missed ----------------------------------------------------------------------------------- */
static uint64_t lost(const struct profile *p, bool samples)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < p->n_losses; i++)
        n += p->losses[i].sample == samples ? p->losses[i].count : 0;
    return n;
}

/* Only a recording of ours knows whether something was lost. */
static bool knows_losses(const struct profile *p)
{
    return p->n_processes || p->n_losses || p->how_ended.len;
}

static bool same_cause(const struct loss *a, const struct loss *b)
{
    return a->sample == b->sample && a->cause.len == b->cause.len &&
           !memcmp(a->cause.s ? a->cause.s : "", b->cause.s ? b->cause.s : "", a->cause.len);
}

static void show_text(FILE *out, struct text t, bool utf8)
{
    struct strbuf b = {0};

    show__text(&b, t, utf8);
    fputs(b.s ? b.s : "", out);
    strbuf__deinit(&b);
}

static void print_losses(const struct summary *s)
{
    const struct profile *p = s->p;

    if (!lost(p, false) && !lost(p, true)) {
        fputs("lost: 0\n", s->out);
        return;
    }
    fprintf(s->out, "lost: %" PRIu64 " calls, %" PRIu64 " samples (", lost(p, false), lost(p, true));
    for (uint32_t i = 0, shown = 0; i < p->n_losses; i++) {
        uint64_t n = 0;
        uint32_t k = 0;

        while (k < i && !same_cause(&p->losses[k], &p->losses[i]))
            k++;
        if (k < i)
            continue;
        for (; k < p->n_losses; k++)
            n += same_cause(&p->losses[k], &p->losses[i]) ? p->losses[k].count : 0;
        fprintf(s->out, "%s", shown++ ? "; " : "");
        show_text(s->out, p->losses[i].cause, s->options->screen.utf8);
        fprintf(s->out, ": %" PRIu64 "%s", n, p->losses[i].sample ? " samples" : "");
    }
    fputs(")\n", s->out);
}

static void print_odd(const struct summary *s)
{
    uint64_t unmatched = 0, before = 0, deep = 0, dropped = 0;

    for (uint32_t k = 0; k < s->p->n_ranks; k++) {
        unmatched += s->p->ranks[k].unmatched;
        before += s->p->ranks[k].begun_before;
        deep += s->p->ranks[k].depth_overflow;
        dropped += s->p->ranks[k].inherited_dropped;
    }
    if (unmatched)
        fprintf(s->out, "unmatched: %" PRIu64 " ends without a begin\n", unmatched);
    if (before)
        fprintf(s->out, "begun before: %" PRIu64 " call%s ended that had begun before the recording\n", before,
                before == 1 ? "" : "s");
    if (deep)
        fprintf(s->out, "too deep: %" PRIu64 " calls below the deepest frame that is kept\n", deep);
    if (dropped)
        fprintf(s->out, "inherited: %" PRIu64 " open calls of forked children that ran no region are left out\n",
                dropped);
    if (s->stats.n_overlaps)
        fprintf(s->out, "overlapping: calls cross each other on %u rank%s: no own times there\n", s->stats.n_overlaps,
                s->stats.n_overlaps > 1 ? "s" : "");
    if (s->p->how_ended.len == strlen("unfinished") && !memcmp(s->p->how_ended.s, "unfinished", s->p->how_ended.len))
        fputs("unfinished: the recording has no end; what was written until then is shown\n", s->out);
}

static void print_notes(const struct summary *s)
{
    for (uint32_t i = 0; i < s->p->n_notes; i++) {
        fputs("note: ", s->out);
        show_text(s->out, s->p->notes[i].text, s->options->screen.utf8);
        putc('\n', s->out);
    }
}

static void print_costly(const struct summary *s)
{
    unsigned n = 0;

    for (uint32_t i = 0; s->pair_cost && i < s->tree.n; i++) {
        const struct region_stats *r = &s->stats.regions[s->tree.nodes[i].region];

        if (!r->plain || r->mean >= COSTLY * (double)s->pair_cost)
            continue;
        if (!n++)
            fprintf(s->out, "warning: the probes of a call cost %" PRId64 " ns, more than %d %% of the mean call of: ",
                    s->pair_cost, 100 / COSTLY);
        if (n <= 5) {
            fputs(n > 1 ? ", " : "", s->out);
            show_text(s->out, s->p->regions[s->tree.nodes[i].region].name, s->options->screen.utf8);
        }
    }
    if (n > 5)
        fprintf(s->out, " and %u more", n - 5);
    if (n)
        putc('\n', s->out);
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */
static void name_ranks(struct summary *s)
{
    for (size_t r = 0; r < s->table.n_rows; r++) {
        struct cell *row = s->table.cells + r * N_COLUMNS;
        char *name;

        if (!row[C_RANK].known || asprintf(&name, "rank %" PRId64, row[C_RANK].integer) < 0)
            continue;
        row[C_NAME] = cell_str(name); /* freed by forget_ranks */
        row[C_NAME].indent = (r ? s->table.cells[(r - 1) * N_COLUMNS + C_NAME].indent : 0) +
                             (r && !s->table.cells[(r - 1) * N_COLUMNS + C_RANK].known ? 4 : 0);
    }
}

static void forget_ranks(struct summary *s)
{
    for (size_t r = 0; r < s->table.n_rows; r++) {
        if (s->table.cells[r * N_COLUMNS + C_RANK].known)
            free((char *)s->table.cells[r * N_COLUMNS + C_NAME].text.s);
    }
}

static void print_text(struct summary *s)
{
    hide_empty(s);
    name_ranks(s);
    if (s->table.n_rows)
        table__text(&s->table, &s->options->screen, s->out);
    else
        fputs("no calls of a region were recorded\n", s->out);
    forget_ranks(s);
    if (s->options->top && s->tree.n > s->options->top)
        fprintf(s->out, "%" PRIu64 " more rows: scope-report summary --top 0 shows all\n",
                (uint64_t)(s->tree.n - s->options->top));
    if (knows_losses(s->p))
        print_losses(s);
    print_odd(s);
    print_costly(s);
    no_regions__print(s->p, s->options->screen.utf8, s->out);
    print_notes(s);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */
static void json_fields(const struct summary *s, const struct cell *row, unsigned from)
{
    for (unsigned c = from; c < N_COLUMNS; c++) {
        if (c == C_RANK && !row[C_RANK].known)
            continue;
        fprintf(s->out, "%s\"%s\": ", c > from ? ", " : "", s->columns[c].key);
        cell__json(&s->columns[c], &row[c], s->out);
    }
}

static void json_regions(struct summary *s)
{
    fputs("{\"regions\": [", s->out);
    for (size_t r = 0; r < s->table.n_rows;) {
        const struct cell *row = s->table.cells + r * N_COLUMNS;

        fprintf(s->out, "%s\n {", r ? "," : "");
        json_fields(s, row, C_NAME);
        fputs(", \"per_rank\": [", s->out);
        for (r++; r < s->table.n_rows && s->table.cells[r * N_COLUMNS + C_RANK].known; r++) {
            fprintf(s->out, "%s\n  {", s->table.cells[(r - 1) * N_COLUMNS + C_RANK].known ? "," : "");
            json_fields(s, s->table.cells + r * N_COLUMNS, C_RANK);
            putc('}', s->out);
        }
        fputs("]}", s->out);
    }
    fputs("]", s->out);
}

static void json_losses(const struct summary *s)
{
    const struct profile *p = s->p;

    fputs(",\n\"losses\": [", s->out);
    for (uint32_t i = 0; i < p->n_losses; i++) {
        const struct loss *l = &p->losses[i];

        fprintf(s->out, "%s\n {\"cause\": ", i ? "," : "");
        json__string(s->out, l->cause.s, l->cause.len);
        fprintf(s->out, ", \"what\": \"%s\", \"pid\": %" PRId64 ", \"rank\": %d, \"region\": ",
                l->sample ? "samples" : "calls", l->pid, l->rank);
        if (l->region >= 0 && (uint32_t)l->region < p->n_regions)
            json__string(s->out, p->regions[l->region].name.s, p->regions[l->region].name.len);
        else
            fputs("null", s->out);
        fprintf(s->out, ", \"count\": %" PRIu64 "}", l->count);
    }
    fputs("]", s->out);
}

static void print_json(struct summary *s)
{
    const struct profile *p = s->p;
    uint64_t unmatched = 0, before = 0, deep = 0;

    json_regions(s);
    fputs(",\n\"ranks\": [", s->out);
    for (uint32_t k = 0, n = 0; k < p->n_ranks; k++) {
        unmatched += p->ranks[k].unmatched;
        before += p->ranks[k].begun_before;
        deep += p->ranks[k].depth_overflow;
        if (s->stats.ranks_wanted[k])
            fprintf(s->out, "%s%d", n++ ? ", " : "", p->ranks[k].number);
    }
    fprintf(s->out, "],\n\"lost\": ");
    if (knows_losses(p))
        fprintf(s->out, "%" PRIu64 ", \"lost_samples\": %" PRIu64, lost(p, false), lost(p, true));
    else
        fputs("null, \"lost_samples\": null", s->out);
    json_losses(s);
    fprintf(s->out, ",\n\"unmatched\": %" PRIu64 ", \"begun_before\": %" PRIu64 ", \"too_deep\": %" PRIu64
            ", \"lifetime_ns\": %" PRId64 ", \"pair_cost_ns\": ", unmatched, before, deep, s->stats.lifetime);
    fprintf(s->out, s->pair_cost ? "%" PRId64 : "null", s->pair_cost);
    fputs(",\n\"no_regions\": ", s->out);
    no_regions__json(p, s->out);
    fputs(",\n\"notes\": [", s->out);
    for (uint32_t i = 0; i < p->n_notes; i++) {
        fputs(i ? ",\n " : "\n ", s->out);
        json__string(s->out, p->notes[i].text.s, p->notes[i].text.len);
    }
    fputs("],\n\"how_ended\": ", s->out);
    if (p->how_ended.len)
        json__string(s->out, p->how_ended.s, p->how_ended.len);
    else
        fputs("null", s->out);
    fputs("}\n", s->out);
}

/* ---- all together ------------------------------------------------------------------------------------------------------ */
/* Parents stand before their children: from the end on, each hands on what it has. */
static int count_below(struct summary *s)
{
    s->below = calloc((size_t)s->p->n_regions + 1, sizeof(*s->below));
    if (!s->below)
        return -ENOMEM;
    for (uint32_t i = s->tree.n; i-- > 0;) {
        const struct region_node *node = &s->tree.nodes[i];
        if (node->parent >= 0)
            s->below[node->parent] += s->below[node->region] + (double)s->stats.regions[node->region].calls;
    }
    return 0;
}

static int summarise(struct summary *s, const struct view_options *per_rank)
{
    struct err err;
    int rc = stats__init(&s->stats, s->p, s->options, &err);

    rc = rc ? rc : group_rows(s);
    rc = rc ? rc : region_tree__init(&s->tree, &s->stats);
    rc = rc ? rc : count_below(s);
    if (rc)
        return rc;
    if (s->options->sort)
        sort_nodes(s);
    s->options = per_rank;
    for (uint32_t i = 0; i < s->tree.n && (!s->options->top || i < s->options->top); i++)
        add_region(s, &s->tree.nodes[i]);
    return s->table.failed ? -ENOMEM : 0;
}

int summary__print(const struct profile *p, const struct summary_options *options, FILE *out)
{
    struct summary s = {.p = p, .options = options, .out = out, .pair_cost = profile__pair_cost(p),
                        .inner_cost = profile__inner_cost(p)};
    struct view_options mine = *options;
    int rc;

    mine.per_rank |= options->shape == VIEW_JSON; /* JSON always has them */
    memcpy(s.columns, all_columns, sizeof(all_columns));
    table__init(&s.table, s.columns, N_COLUMNS);
    rc = summarise(&s, &mine);
    if (!rc) {
        if (options->shape == VIEW_JSON)
            print_json(&s);
        else if (options->shape == VIEW_CSV)
            table__csv(&s.table, out);
        else
            print_text(&s);
        rc = ferror(out) ? -EIO : 0;
    }
    table__deinit(&s.table);
    region_tree__deinit(&s.tree);
    stats__deinit(&s.stats);
    free(s.by_region);
    free(s.first);
    free(s.below);
    return rc;
}
