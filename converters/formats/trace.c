/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Chrome Trace Events, for Perfetto and chrome://tracing: one X event per call, process = rank, thread = lane; times
 * in µs with the ns as decimals since start_time_ns.  Calls that cross on a lane go to a track of their own.
 */
#include "converters/names.h"
#include "formats/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const struct profile *p;
    const struct write_options *options;
    struct out *o;
    struct text *shown, *files; /* names of regions; source files of rows */
    int64_t origin, last;       /* last: end of the rank's last call */
    uint32_t rank;              /* index */
    struct stack_lane *lanes;
    uint32_t n_lanes, cap_lanes;
    uint64_t events, done;
};

/* Millions of them: no printf. */
static void put_us(struct out *o, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    unsigned rest = (unsigned)(size % 1000);
    char digits[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};

    if (ns < 0)
        out__bytes(o, "-", 1);
    out__i64_decimal(o, (int64_t)(size / 1000));
    out__bytes(o, digits, 4);
}

static int remember_lane(struct writer *w, const struct stack_lane *lane)
{
    while (w->n_lanes <= lane->number) {
        if (w->n_lanes == w->cap_lanes) {
            uint32_t cap = w->cap_lanes ? w->cap_lanes * 2 : 16;
            struct stack_lane *lanes = reallocarray(w->lanes, cap, sizeof(*lanes));

            if (!lanes)
                return -ENOMEM;
            w->lanes = lanes;
            w->cap_lanes = cap;
        }
        w->lanes[w->n_lanes++] = *lane;
    }
    w->lanes[lane->number] = *lane;
    return 0;
}

static void put_number(struct out *o, const char *key, int64_t v)
{
    out__text(o, key);
    out__i64_decimal(o, v);
}

static void put_extra(struct writer *w, const struct row *row, uint64_t call, enum call_column column, const char *key,
                      int64_t unknown)
{
    int64_t v;

    if (!row__has(row, column))
        return;
    v = column_i64(&w->p->extra[column])[call];
    if (v != unknown)
        put_number(w->o, key, v);
}

static void put_args(struct writer *w, const struct stack_call *c)
{
    const struct row *row = &w->p->rows[c->row];

    put_number(w->o, ",\"args\":{\"call_index\":", (int64_t)(c->call - row->offset));
    put_extra(w, row, c->call, COLUMN_CALL_ID, ",\"call_id\":", -1);
    put_extra(w, row, c->call, COLUMN_PARENT_ID, ",\"parent_id\":", -1);
    put_extra(w, row, c->call, COLUMN_GPU_NS, ",\"gpu_ns\":", -1);
    put_extra(w, row, c->call, COLUMN_AWAIT_NS, ",\"await_ns\":", 0);
    put_extra(w, row, c->call, COLUMN_FLAGS, ",\"flags\":", 0);
    if (w->files[c->row].len) {
        out__text(w->o, ",\"source_file\":");
        out__json_string(w->o, w->files[c->row]);
        if (row->source_line >= 0)
            put_number(w->o, ",\"source_line\":", row->source_line);
    }
    out__text(w->o, "}");
}

static int enter(void *arg, const struct stack_lane *lane, struct stack_call *c, struct stack_call *above)
{
    struct writer *w = arg;

    (void)above;
    out__text(w->o, w->events++ ? ",\n{\"name\":" : "{\"name\":");
    out__json_string(w->o, w->shown[c->region]);
    out__text(w->o, ",\"cat\":\"region\",\"ph\":\"X\",\"ts\":");
    put_us(w->o, c->start - w->origin);
    out__text(w->o, ",\"dur\":");
    put_us(w->o, c->end - c->start);
    put_number(w->o, ",\"pid\":", w->p->ranks[w->rank].number);
    put_number(w->o, ",\"tid\":", lane->number);
    put_args(w, c);
    out__text(w->o, "}");
    w->last = c->end > w->last ? c->end : w->last;
    if (!(++w->done & 0xffff) && w->options->progress)
        w->options->progress(w->options->progress_arg, w->done, profile__calls(w->p));
    return lane->number < w->n_lanes ? 0 : remember_lane(w, lane);
}

static void put_name(struct writer *w, const char *kind, uint32_t tid, struct text name)
{
    out__printf(w->o, "%s{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":", w->events++ ? ",\n" : "", kind,
                w->p->ranks[w->rank].number, tid);
    out__json_string(w->o, text__shown(w->p->arena, name));
    out__text(w->o, "}}");
}

static void put_lanes(struct writer *w)
{
    const struct rank *rank = &w->p->ranks[w->rank];
    struct strbuf b = {0};

    strbuf__printf(&b, "rank %d", rank->number);
    put_name(w, "process_name", 0, (struct text){b.s, (uint32_t)b.len});
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        b.len = 0;
        lane__label(&b, rank, &w->lanes[i]);
        if (!b.len)
            strbuf__printf(&b, "rank %d", rank->number);
        put_name(w, "thread_name", w->lanes[i].number, (struct text){b.s, (uint32_t)b.len});
    }
    strbuf__deinit(&b);
}

static void put_counters(struct writer *w)
{
    const struct rank *rank = &w->p->ranks[w->rank];

    for (uint32_t i = 0; i < rank->n_perf; i++) {
        const struct perf_region *perf = &rank->perf[i];
        struct strbuf b = {0};

        strbuf__printf(&b, "perf events: %.*s", (int)perf->region.len, perf->region.s ? perf->region.s : "");
        out__text(w->o, w->events++ ? ",\n{\"name\":" : "{\"name\":");
        out__json_string(w->o, text__shown(w->p->arena, (struct text){b.s, (uint32_t)b.len}));
        out__text(w->o, ",\"cat\":\"perf_events\",\"ph\":\"C\",\"ts\":");
        put_us(w->o, w->last - w->origin);
        out__printf(w->o, ",\"pid\":%d,\"tid\":0,\"args\":{", rank->number);
        for (uint32_t k = 0; k < perf->n_events; k++) {
            out__json_string(w->o, text__shown(w->p->arena, perf->events[k]));
            out__printf(w->o, ":%" PRIu64 ",", perf->values[k]);
        }
        out__printf(w->o, "\"calls\":%" PRIu64 "}}", perf->calls);
        strbuf__deinit(&b);
    }
}

static int put_rank(struct writer *w, const struct rank_rows *rows, uint32_t rank, struct err *err)
{
    static const struct stacks_visitor visitor = {.enter = enter};
    struct stacks_options split = {.split = true};
    int rc;

    w->rank = rank;
    w->n_lanes = 0;
    w->last = w->origin;
    rc = stacks__walk(w->p, rows, rank, &split, &visitor, w, err);
    if (rc)
        return rc;
    put_lanes(w);
    put_counters(w);
    return 0;
}

static int prepare(struct writer *w)
{
    w->shown = names__shown_regions(w->p->arena, w->p, NULL);
    w->files = calloc(w->p->n_rows + 1, sizeof(*w->files));
    if (!w->shown || !w->files)
        return -ENOMEM;
    for (uint64_t r = 0; r < w->p->n_rows; r++)
        w->files[r] = text__shown(w->p->arena, w->p->rows[r].source_file);
    return 0;
}

static int put_all(struct writer *w, struct err *err)
{
    struct rank_rows rows = {0};
    uint32_t n, *ranks = chosen_ranks(w->p, w->options, &n);
    int rc = ranks && !prepare(w) ? rank_rows__init(&rows, w->p) : -ENOMEM;

    if (rc)
        err__set(err, ENOMEM, "not enough memory");
    out__text(w->o, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"exporter\":\"scope-report@" SCOPE_BPF_VERSION
                    "\"},\"traceEvents\":[\n");
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = put_rank(w, &rows, ranks[i], err);
    out__text(w->o, "\n]}\n");
    rank_rows__deinit(&rows);
    free(ranks);
    free(w->files);
    free(w->lanes);
    return rc;
}

static int write_trace(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    const struct meta *start = profile__meta(p, "start_time_ns");
    struct writer w = {.p = p, .options = options};
    int rc, closed;

    if (!profile__first_start(p, options, &w.origin))
        return no_calls(err);
    if (start && start->kind == META_INT && start->integer > 0 && start->integer <= w.origin)
        w.origin = start->integer;
    rc = out__open(&w.o, path, false, err);
    if (rc)
        return rc;
    rc = put_all(&w, err);
    closed = out__close(w.o, rc ? NULL : err);
    return rc ? rc : closed;
}

const struct format format_trace = {
    .name = "trace",
    .suffix = ".trace.json",
    .help = "Chrome Trace Events for ui.perfetto.dev and chrome://tracing",
    .write = write_trace,
};
