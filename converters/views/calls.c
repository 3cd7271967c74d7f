/* SPDX-License-Identifier: GPL-2.0-only */
/* Every call, in order of start: printed as it comes, whatever their number; as text at most `top` of them. */
#include "converters/views/stacks.h"
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    C_RANK, C_THREAD, C_TASK, C_CALL, C_PARENT, C_DEPTH, C_NAME, C_START, C_DURATION, C_OWN, C_FLAGS, C_GPU, C_AWAIT, C_START_NS,
    N_COLUMNS
};

static const struct table_column columns[N_COLUMNS] = {
    [C_RANK] = {"rank", "rank", CELL_INT, 200},        [C_THREAD] = {"thread", "thread", CELL_INT, 150},
    [C_TASK] = {"task", NULL, CELL_INT, 0},            [C_CALL] = {"call", "call", CELL_INT, 120},
    [C_PARENT] = {"parent", "parent", CELL_INT, 110},  [C_DEPTH] = {"depth", NULL, CELL_INT, 0},
    [C_NAME] = {"name", "region", CELL_TEXT, 255},     [C_START] = {"since_start_ns", "start", CELL_NS, 250},
    [C_DURATION] = {"duration_ns", "duration", CELL_NS, 255}, [C_OWN] = {"exclusive_ns", "own", CELL_NS, 180},
    [C_FLAGS] = {"flags", "flags", CELL_TEXT, 100},    [C_GPU] = {"gpu_ns", NULL, CELL_NS, 0},
    [C_AWAIT] = {"await_ns", NULL, CELL_NS, 0},        [C_START_NS] = {"start_ns", NULL, CELL_INT, 0},
};

struct calls {
    const struct profile *p;
    const struct view_options *options;
    FILE *out;
    struct table table; /* of the text */
    int64_t origin, from, until;
    uint64_t shown, left_out;
    uint32_t rank;
};

static const char *flags_text(int64_t flags)
{
    static const char *const names[] = {"abandoned", "truncated", "inherited", "overlapping", "begun before", "uncertain"};
    static char text[96];
    size_t at = 0;

    text[0] = 0;
    for (unsigned f = 0; f < 6; f++) {
        if (flags >> f & 1)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? ", " : "", names[f]);
    }
    return text;
}

static struct cell optional(const struct calls *c, const struct row *row, uint64_t call, enum call_column column)
{
    int64_t v = row__has(row, column) ? column_i64(&c->p->extra[column])[call] : -1;

    return (struct cell){.known = v >= 0, .integer = v};
}

static void fill(const struct calls *c, struct cell *cells, const struct stack_lane *lane, const struct stack_call *call)
{
    const struct row *row = &c->p->rows[call->row];
    int64_t flags = row__has(row, COLUMN_FLAGS) ? column_i64(&c->p->extra[COLUMN_FLAGS])[call->call] : 0;

    cells[C_RANK] = cell_int(c->p->ranks[c->rank].number);
    cells[C_THREAD] = optional(c, row, call->call, COLUMN_THREAD_ID);
    cells[C_TASK] = optional(c, row, call->call, COLUMN_TASK_ID);
    cells[C_CALL] = cell_int((int64_t)call->id);
    cells[C_PARENT] = (struct cell){.known = call->parent >= 0, .integer = call->parent};
    cells[C_DEPTH] = cell_int(call->depth);
    cells[C_NAME] = cell_text(c->p->regions[call->region].name);
    cells[C_START] = cell_int(call->start - c->origin);
    cells[C_DURATION] = cell_int(call->end - call->start);
    cells[C_OWN] = (struct cell){.known = !call->overlapping, .integer = stack_call__exclusive(call)};
    cells[C_FLAGS] = flags ? cell_str(flags_text(flags)) : (struct cell){0};
    cells[C_GPU] = optional(c, row, call->call, COLUMN_GPU_NS);
    cells[C_AWAIT] = optional(c, row, call->call, COLUMN_AWAIT_NS);
    cells[C_START_NS] = cell_int(call->start);
    (void)lane;
}

static bool is_wanted(const struct calls *c, const struct stack_lane *lane, const struct stack_call *call)
{
    if (c->options->has_thread && lane->key != lane_key__thread(c->options->thread))
        return false;
    if (call->end < c->from || call->start > c->until)
        return false;
    return view__wants_region(c->options, c->p->regions[call->region].name);
}

/* When a call ends all is known of it: calls come in order of their ends, as they would be written by a tracer. */
static int leave(void *arg, const struct stack_lane *lane, struct stack_call *call, struct stack_call *above)
{
    struct calls *c = arg;
    struct cell cells[N_COLUMNS] = {0}, *row;

    (void)above;
    if (!is_wanted(c, lane, call))
        return 0;
    if (c->options->top && c->shown >= c->options->top) {
        c->left_out++;
        return 0;
    }
    fill(c, cells, lane, call);
    c->shown++;
    if (c->options->shape == VIEW_JSON) {
        table__json_row(columns, N_COLUMNS, cells, c->shown == 1, c->out);
    } else if (c->options->shape == VIEW_CSV) {
        table__csv_row(columns, N_COLUMNS, cells, c->out);
    } else {
        row = table__row(&c->table);
        if (!row)
            return -ENOMEM;
        memcpy(row, cells, sizeof(cells));
        if (cells[C_FLAGS].known) /* the text of the next call takes its place */
            row[C_FLAGS].text = profile__text((struct profile *)c->p, cells[C_FLAGS].text.s, cells[C_FLAGS].text.len);
    }
    return ferror(c->out) ? -EIO : 0;
}

static void set_window(struct calls *c)
{
    const struct meta *start = profile__meta(c->p, "start_time_ns");
    bool any = false;

    for (uint64_t i = 0; i < profile__calls(c->p); i++) {
        int64_t s = column_i64(&c->p->start)[i];

        c->origin = any && c->origin < s ? c->origin : s;
        any = true;
    }
    if (start && start->kind == META_INT && start->integer > 0 && start->integer < c->origin)
        c->origin = start->integer;
    c->from = c->options->from_s > 0 ? c->origin + (int64_t)(c->options->from_s * 1e9) : INT64_MIN;
    c->until = c->options->to_s > 0 ? c->origin + (int64_t)(c->options->to_s * 1e9) : INT64_MAX;
}

static void finish(struct calls *c)
{
    if (c->options->shape == VIEW_JSON)
        fputs(c->shown ? "\n]\n" : "]\n", c->out);
    if (c->options->shape != VIEW_TEXT)
        return;
    if (c->table.n_rows)
        table__text(&c->table, &c->options->screen, c->out);
    else
        fputs("no calls\n", c->out);
    if (c->left_out)
        fprintf(c->out, "(and %" PRIu64 " more calls; --top 0 shows all)\n", c->left_out);
}

int calls__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    static const struct stacks_visitor visitor = {.leave = leave};
    struct stacks_options how = {.split = options->overlaps_split};
    struct calls c = {.p = p, .options = options, .out = out};
    struct rank_rows rows;
    int rc = rank_rows__init(&rows, p);

    if (rc)
        return rc;
    set_window(&c);
    table__init(&c.table, columns, N_COLUMNS);
    if (options->shape == VIEW_CSV)
        table__csv_head(columns, N_COLUMNS, out);
    else if (options->shape == VIEW_JSON)
        putc('[', out);
    for (c.rank = 0; c.rank < p->n_ranks && !rc; c.rank++) {
        if (view__wants_rank(options, p->ranks[c.rank].number))
            rc = stacks__walk(p, &rows, c.rank, &how, &visitor, &c, err);
    }
    if (!rc)
        finish(&c);
    table__deinit(&c.table);
    rank_rows__deinit(&rows);
    return rc ? rc : ferror(out) ? -EIO : 0;
}
