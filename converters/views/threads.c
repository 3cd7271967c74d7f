/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads: life, CPU time, calls, time at the top level.  Lanes without a row in the thread table are shown too. */
#include "converters/views/stacks.h"
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <stdlib.h>

enum { C_RANK, C_THREAD, C_NAME, C_TID, C_START, C_LIFE, C_CPU, C_CPU_SHARE, C_CALLS, C_TIME, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_RANK] = {"rank", "rank", CELL_INT, 255},          [C_THREAD] = {"thread", "thread", CELL_INT, 200},
    [C_NAME] = {"name", "name", CELL_TEXT, 255},         [C_TID] = {"native_id", "tid", CELL_INT, 100},
    [C_START] = {"start_ns", "start", CELL_NS, 80},      [C_LIFE] = {"lifetime_ns", "lifetime", CELL_NS, 150},
    [C_CPU] = {"cpu_ns", "CPU time", CELL_NS, 180},      [C_CPU_SHARE] = {"cpu_share", "% CPU", CELL_SHARE, 170},
    [C_CALLS] = {"calls", "calls", CELL_COUNT, 255},     [C_TIME] = {"region_ns", "in regions", CELL_NS, 160},
};

struct lane_sum {
    int64_t thread; /* -1: not on a thread that is known */
    uint64_t calls;
    int64_t time;
};

struct threads {
    const struct profile *p;
    const struct rank *rank;
    struct lane_sum *lanes;
    size_t n, cap;
};

static struct lane_sum *lane_of(struct threads *t, const struct stack_lane *lane)
{
    const struct thread_row *row = lane__thread(t->rank, lane->key);
    int64_t thread = row ? row->index : lane->key < -1 ? -2 - lane->key : -1;

    for (size_t i = t->n; i-- > 0;) {
        if (t->lanes[i].thread == thread)
            return &t->lanes[i];
    }
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct lane_sum *lanes = reallocarray(t->lanes, cap, sizeof(*lanes));

        if (!lanes)
            return NULL;
        t->lanes = lanes;
        t->cap = cap;
    }
    t->lanes[t->n] = (struct lane_sum){.thread = thread};
    return &t->lanes[t->n++];
}

static int leave(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct lane_sum *sum = lane_of(arg, lane);

    if (!sum)
        return -ENOMEM;
    sum->calls++;
    sum->time += above ? 0 : c->end - c->start;
    return 0;
}

static const struct lane_sum *sum_of(const struct threads *t, int64_t thread)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->lanes[i].thread == thread)
            return &t->lanes[i];
    }
    return NULL;
}

static void add_thread(const struct threads *t, struct table *table, const struct thread_row *thread)
{
    const struct lane_sum *sum = sum_of(t, thread->index);
    int64_t life = thread->end_ns - thread->start_ns;
    struct cell *row = table__row(table);

    if (!row)
        return;
    row[C_RANK] = cell_int(t->rank->number);
    row[C_THREAD] = cell_int(thread->index);
    row[C_NAME] = cell_text(thread->name);
    row[C_TID] = cell_int(thread->native_id);
    row[C_START] = cell_int(thread->start_ns);
    row[C_LIFE] = (struct cell){.known = thread->end_ns >= 0, .integer = life};
    row[C_CPU] = (struct cell){.known = thread->cpu_ns >= 0, .integer = thread->cpu_ns};
    if (thread->cpu_ns >= 0 && thread->end_ns >= 0 && life > 0)
        row[C_CPU_SHARE] = cell_real((double)thread->cpu_ns / (double)life);
    row[C_CALLS] = cell_int(sum ? (int64_t)sum->calls : 0);
    row[C_TIME] = cell_int(sum ? sum->time : 0);
}

static void add_unknown(const struct threads *t, struct table *table, const struct lane_sum *sum)
{
    struct cell *row = table__row(table);

    if (!row)
        return;
    row[C_RANK] = cell_int(t->rank->number);
    row[C_THREAD] = (struct cell){.known = sum->thread >= 0, .integer = sum->thread};
    row[C_NAME] = cell_str(t->rank->n_threads ? "(unknown thread)" : "(whole rank)");
    row[C_CALLS] = cell_int((int64_t)sum->calls);
    row[C_TIME] = cell_int(sum->time);
}

static void add_rank(const struct threads *t, struct table *table)
{
    for (uint32_t i = 0; i < t->rank->n_threads; i++)
        add_thread(t, table, &t->rank->threads[i]);
    for (size_t i = 0; i < t->n; i++) {
        bool known = false;

        for (uint32_t k = 0; k < t->rank->n_threads && !known; k++)
            known = t->rank->threads[k].index == t->lanes[i].thread;
        if (!known)
            add_unknown(t, table, &t->lanes[i]);
    }
}

int threads__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    static const struct stacks_visitor visitor = {.leave = leave};
    struct stacks_options split = {.split = true};
    struct threads t = {.p = p};
    struct rank_rows rows;
    struct table table;
    int rc = rank_rows__init(&rows, p);

    if (rc)
        return rc;
    table__init(&table, columns, N_COLUMNS);
    for (uint32_t k = 0; k < p->n_ranks && !rc; k++) {
        if (!view__wants_rank(options, p->ranks[k].number))
            continue;
        t.rank = &p->ranks[k];
        t.n = 0;
        rc = stacks__walk(p, &rows, k, &split, &visitor, &t, err);
        if (!rc)
            add_rank(&t, &table);
    }
    rc = rc ? rc : table__print(&table, options, out);
    if (!rc && options->shape == VIEW_JSON)
        putc('\n', out);
    table__deinit(&table);
    rank_rows__deinit(&rows);
    free(t.lanes);
    return rc;
}
