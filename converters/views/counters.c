/* SPDX-License-Identifier: GPL-2.0-only */
/* Performance counters and LIKWID results: a row per region and event (and thread). */
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <inttypes.h>

static int print(struct table *table, const struct view_options *options, const char *none, FILE *out)
{
    int rc;

    if (!table->n_rows && options->shape == VIEW_TEXT) {
        fputs(none, out);
        return 0;
    }
    rc = table__print(table, options, out);
    if (!rc && options->shape == VIEW_JSON)
        putc('\n', out);
    return rc;
}

static bool room(const struct table *table, const struct view_options *options)
{
    return !options->top || table->n_rows < options->top;
}

/* ---- perf events --------------------------------------------------------------------------------------------------- */
enum { P_RANK, P_REGION, P_CALLS, P_EVENT, P_VALUE, P_PER_CALL, P_COLUMNS };

static const struct table_column perf_columns[P_COLUMNS] = {
    [P_RANK] = {"rank", "rank", CELL_INT, 255},      [P_REGION] = {"name", "region", CELL_TEXT, 255},
    [P_CALLS] = {"calls", "calls", CELL_COUNT, 100}, [P_EVENT] = {"event", "event", CELL_TEXT, 255},
    [P_VALUE] = {"value", "value", CELL_UINT, 255}, [P_PER_CALL] = {"per_call", "per call", CELL_REAL, 150},
};

static void add_perf(struct table *table, const struct rank *rank, const struct perf_region *perf, uint32_t event)
{
    struct cell *row = table__row(table);

    if (!row)
        return;
    row[P_RANK] = cell_int(rank->number);
    row[P_REGION] = cell_text(perf->region);
    row[P_CALLS] = cell_int((int64_t)perf->calls);
    row[P_EVENT] = cell_text(perf->events[event]);
    row[P_VALUE] = cell_int((int64_t)perf->values[event]);
    if (perf->calls)
        row[P_PER_CALL] = cell_real((double)perf->values[event] / (double)perf->calls);
}

int counters__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    struct table table;
    int rc;

    (void)err;
    table__init(&table, perf_columns, P_COLUMNS);
    for (uint32_t k = 0; k < p->n_ranks; k++) {
        const struct rank *rank = &p->ranks[k];

        for (uint32_t i = 0; view__wants_rank(options, rank->number) && i < rank->n_perf; i++) {
            for (uint32_t e = 0; e < rank->perf[i].n_events && room(&table, options); e++) {
                if (view__wants_region(options, rank->perf[i].region))
                    add_perf(&table, rank, &rank->perf[i], e);
            }
        }
    }
    rc = print(&table, options, "no performance counters in this profile\n", out);
    table__deinit(&table);
    return rc;
}

/* ---- LIKWID ---------------------------------------------------------------------------------------------------------- */
enum { L_RANK, L_TAG, L_GROUP, L_GROUP_NAME, L_SOURCE, L_THREAD, L_CPU, L_CALLS, L_TIME, L_KIND, L_NAME, L_COUNTER, L_VALUE, L_COLUMNS };

static const struct table_column likwid_columns[L_COLUMNS] = {
    [L_RANK] = {"rank", "rank", CELL_INT, 200},          [L_TAG] = {"name", "region", CELL_TEXT, 255},
    [L_GROUP] = {"group_id", "group", CELL_INT, 150},    [L_GROUP_NAME] = {"group_name", NULL, CELL_TEXT, 0},
    [L_SOURCE] = {"source", NULL, CELL_TEXT, 0},         [L_THREAD] = {"thread", NULL, CELL_INT, 0},
    [L_CPU] = {"cpu", "CPU", CELL_INT, 240},             [L_CALLS] = {"calls", "calls", CELL_COUNT, 100},
    [L_TIME] = {"seconds", "seconds", CELL_REAL, 120},   [L_KIND] = {"kind", NULL, CELL_TEXT, 0},
    [L_NAME] = {"event", "event or metric", CELL_TEXT, 255}, [L_COUNTER] = {"counter", "counter", CELL_TEXT, 50},
    [L_VALUE] = {"value", "value", CELL_REAL, 255},
};

static struct cell *likwid_row(struct table *table, const struct rank *rank, const struct likwid_region *r, uint32_t thread)
{
    struct cell *row = table__row(table);

    if (!row)
        return NULL;
    row[L_RANK] = cell_int(rank->number);
    row[L_TAG] = cell_text(r->tag);
    row[L_GROUP] = cell_int(r->group_id);
    row[L_GROUP_NAME] = cell_text(r->group_name);
    row[L_SOURCE] = cell_text(r->source);
    row[L_THREAD] = cell_int(thread);
    row[L_CPU] = thread < r->n_cpus ? cell_int(r->cpus[thread]) : (struct cell){0};
    row[L_CALLS] = cell_int(r->call_counts[thread]);
    row[L_TIME] = cell_real(r->times[thread]);
    return row;
}

static void add_likwid(struct table *table, const struct rank *rank, const struct likwid_region *r, uint32_t thread,
                       const struct view_options *options)
{
    struct cell *row;

    for (uint32_t e = 0; e < r->n_events && room(table, options); e++) {
        row = likwid_row(table, rank, r, thread);
        if (!row)
            return;
        row[L_KIND] = cell_str("event");
        row[L_NAME] = cell_text(r->event_names[e]);
        row[L_COUNTER] = e < r->n_counters ? cell_text(r->counter_names[e]) : (struct cell){0};
        row[L_VALUE] = cell_real(r->events[(uint64_t)e * r->n_threads + thread]);
    }
    for (uint32_t m = 0; m < r->n_metrics && room(table, options); m++) {
        row = likwid_row(table, rank, r, thread);
        if (!row)
            return;
        row[L_KIND] = cell_str("metric");
        row[L_NAME] = cell_text(r->metric_names[m]);
        row[L_VALUE] = cell_real(r->metrics[(uint64_t)m * r->n_threads + thread]);
    }
    if (!r->n_events && !r->n_metrics && room(table, options))
        likwid_row(table, rank, r, thread);
}

int likwid__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    struct table table;
    int rc;

    (void)err;
    table__init(&table, likwid_columns, L_COLUMNS);
    for (uint32_t k = 0; k < p->n_ranks; k++) {
        const struct rank *rank = &p->ranks[k];

        for (uint32_t i = 0; view__wants_rank(options, rank->number) && i < rank->n_likwid; i++) {
            for (uint32_t t = 0; view__wants_region(options, rank->likwid[i].tag) && t < rank->likwid[i].n_threads; t++)
                add_likwid(&table, rank, &rank->likwid[i], t, options);
        }
    }
    rc = print(&table, options, "no LIKWID results in this profile\n", out);
    table__deinit(&table);
    return rc;
}
