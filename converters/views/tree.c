/* SPDX-License-Identifier: GPL-2.0-only */
/* Call paths: main, main > solve, main > solve > dot. */
#include "converters/views/paths.h"
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { C_NAME, C_DEPTH, C_PARENT_ID, C_ID, C_CALLS, C_RUN, C_PARENT, C_TOTAL, C_OWN, C_MEAN, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_NAME] = {"name", "region", CELL_TEXT, 255},        [C_DEPTH] = {"depth", NULL, CELL_INT, 0},
    [C_PARENT_ID] = {"parent_path", NULL, CELL_INT, 0},   [C_ID] = {"path", NULL, CELL_INT, 0},
    [C_CALLS] = {"calls", "calls", CELL_COUNT, 255},      [C_RUN] = {"top_share", "% of top", CELL_SHARE, 100},
    [C_PARENT] = {"parent_share", "% parent", CELL_SHARE, 90}, [C_TOTAL] = {"total_ns", "total", CELL_NS, 255},
    [C_OWN] = {"exclusive_ns", "own", CELL_NS, 200},      [C_MEAN] = {"mean_ns", "mean", CELL_NS, 150},
};

struct tree {
    const struct profile *p;
    const struct view_options *options;
    struct paths paths;
    uint64_t *sorted; /* nodes grouped by parent, longest first */
};

static int compare_nodes(const void *a, const void *b, void *arg)
{
    const struct path_node *nodes = arg, *x = &nodes[*(const uint64_t *)a], *y = &nodes[*(const uint64_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : 1;
}

static void add_row(struct tree *t, struct table *table, uint64_t node)
{
    const struct path_node *n = &t->paths.nodes[node];
    int64_t above = n->parent >= 0 ? t->paths.nodes[n->parent].total : 0;
    struct cell *row = table__row(table);

    if (!row)
        return;
    row[C_NAME] = cell_text(t->p->regions[n->region].name);
    row[C_NAME].indent = 2 * (n->depth < 40 ? n->depth : 40);
    row[C_DEPTH] = cell_int(n->depth);
    row[C_ID] = cell_int((int64_t)node);
    row[C_PARENT_ID] = (struct cell){.known = n->parent >= 0, .integer = n->parent};
    row[C_CALLS] = cell_int((int64_t)n->calls);
    row[C_RUN] = t->paths.top ? cell_real((double)n->total / (double)t->paths.top) : (struct cell){0};
    row[C_PARENT] = above ? cell_real((double)n->total / (double)above) : (struct cell){0};
    row[C_TOTAL] = cell_int(n->total);
    row[C_OWN] = cell_int(n->self);
    row[C_MEAN] = cell_int(n->calls ? n->total / (int64_t)n->calls : 0);
}

/* Where the children of each node begin in `sorted`: they stand side by side. */
static uint64_t *first_children(const struct tree *t)
{
    uint64_t *first = malloc((t->paths.n + 2) * sizeof(*first));

    for (uint64_t i = 0; first && i < t->paths.n + 2; i++)
        first[i] = t->paths.n;
    for (uint64_t i = t->paths.n; first && i-- > 0;)
        first[t->paths.nodes[t->sorted[i]].parent + 1] = i;
    return first;
}

/* Depth first without recursion: paths may be deep. */
static int fill(struct tree *t, struct table *table)
{
    uint64_t *first = first_children(t), *stack = malloc((t->paths.n + 2) * sizeof(*stack)), depth = 0;
    int64_t at = -1;

    if (first && stack) {
        stack[0] = first[0];
        for (;;) {
            uint64_t i = stack[depth];
            bool more = i < t->paths.n && t->paths.nodes[t->sorted[i]].parent == at;

            if (t->options->top && table->n_rows >= t->options->top)
                break;
            if (more) {
                stack[depth]++;
                at = (int64_t)t->sorted[i];
                if (view__wants_region(t->options, t->p->regions[t->paths.nodes[at].region].name))
                    add_row(t, table, (uint64_t)at);
                stack[++depth] = first[at + 1];
            } else if (depth) {
                depth--;
                at = t->paths.nodes[at].parent;
            } else {
                break;
            }
        }
    }
    table->failed |= !first || !stack;
    free(first);
    free(stack);
    return table->failed ? -ENOMEM : 0;
}

static int sort_paths(struct tree *t)
{
    t->sorted = malloc((t->paths.n + 1) * sizeof(*t->sorted));
    if (!t->sorted)
        return -ENOMEM;
    for (uint64_t i = 0; i < t->paths.n; i++)
        t->sorted[i] = i;
    qsort_r(t->sorted, t->paths.n, sizeof(*t->sorted), compare_nodes, t->paths.nodes);
    return 0;
}

int tree__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    struct paths_options how = {.split = options->overlaps_split};
    struct tree t = {.p = p, .options = options};
    struct rank_rows rows;
    struct table table;
    int rc = rank_rows__init(&rows, p);

    if (rc)
        return rc;
    table__init(&table, columns, N_COLUMNS);
    for (uint32_t k = 0; k < p->n_ranks && !rc; k++)
        rc = view__wants_rank(options, p->ranks[k].number) ? paths__add(&t.paths, p, &rows, k, &how, err) : 0;
    rc = rc ? rc : sort_paths(&t);
    rc = rc ? rc : fill(&t, &table);
    rc = rc ? rc : table__print(&table, options, out);
    if (!rc && options->shape == VIEW_JSON)
        putc('\n', out);
    table__deinit(&table);
    paths__deinit(&t.paths);
    rank_rows__deinit(&rows);
    free(t.sorted);
    return rc;
}
