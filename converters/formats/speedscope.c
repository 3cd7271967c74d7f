/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * speedscope's file format (its file-format-schema.json): one evented profile per rank and lane, in ns since the first
 * call of the file, so that nothing is rounded.
 */
#include "converters/names.h"
#include "formats/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct event {
    int64_t at;
    uint32_t lane;
    uint32_t region_open; /* region << 1 | 1 for an open */
};

struct lanes { /* of one rank */
    struct stack_lane *list;
    uint32_t n;
};

struct collector {
    struct column events;
    struct lanes lanes;
    bool mixed; /* more than one lane */
};

static int add_event(struct collector *c, const struct stack_lane *lane, int64_t at, uint32_t region_open)
{
    struct event *e = column__append(&c->events);

    if (!e)
        return -ENOMEM;
    *e = (struct event){at, lane->number, region_open};
    return 0;
}

static int enter(void *arg, const struct stack_lane *lane, struct stack_call *call, struct stack_call *above)
{
    struct collector *c = arg;

    (void)above;
    if (lane->number >= c->lanes.n) {
        struct stack_lane *list = reallocarray(c->lanes.list, lane->number + 1ull, sizeof(*list));

        if (!list)
            return -ENOMEM;
        c->lanes.list = list;
        for (; c->lanes.n <= lane->number; c->lanes.n++)
            list[c->lanes.n] = (struct stack_lane){-1, c->lanes.n, 0};
    }
    c->lanes.list[lane->number] = *lane;
    return add_event(c, lane, call->start, call->region << 1 | 1);
}

static int leave(void *arg, const struct stack_lane *lane, struct stack_call *call, struct stack_call *above)
{
    (void)above;
    return add_event(arg, lane, call->end, call->region << 1);
}

static int compare_lanes(const void *a, const void *b, void *arg)
{
    const struct event *x = a, *y = b;

    (void)arg;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */
struct writer {
    const struct profile *p;
    const struct write_options *options;
    struct out *o;
    int64_t origin;
    uint64_t profiles, done, all;
};

static void put_frames(struct writer *w, const struct text *shown)
{
    uint64_t *row_of = calloc((size_t)w->p->n_regions + 1, sizeof(*row_of));

    for (uint64_t r = w->p->n_rows; row_of && r-- > 0;)
        row_of[w->p->rows[r].region] = r + 1;
    out__text(w->o, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[");
    for (uint32_t g = 0; g < w->p->n_regions; g++) {
        const struct row *row = row_of && row_of[g] ? &w->p->rows[row_of[g] - 1] : NULL;

        out__text(w->o, g ? ",{\"name\":" : "{\"name\":");
        out__json_string(w->o, shown[g]);
        if (row && row->source_file.len) {
            out__text(w->o, ",\"file\":");
            out__json_string(w->o, text__shown(w->p->arena, row->source_file));
            if (row->source_line > 0)
                out__printf(w->o, ",\"line\":%" PRId64, row->source_line);
        }
        out__text(w->o, "}");
    }
    out__text(w->o, "]},\"profiles\":[");
    free(row_of);
}

static void put_name(struct writer *w, const struct rank *rank, const struct stack_lane *lane)
{
    struct strbuf label = {0}, name = {0};

    lane__label(&label, rank, lane);
    strbuf__printf(&name, "rank %d%s%s", rank->number, label.len ? " - " : "", label.len ? label.s : "");
    out__json_string(w->o, text__shown(w->p->arena, (struct text){name.s, (uint32_t)name.len}));
    strbuf__deinit(&label);
    strbuf__deinit(&name);
}

static void put_events(struct writer *w, const struct event *events, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        out__text(w->o, i ? ",\n{\"type\":" : "{\"type\":");
        out__text(w->o, events[i].region_open & 1 ? "\"O\",\"frame\":" : "\"C\",\"frame\":");
        out__i64_decimal(w->o, events[i].region_open >> 1);
        out__text(w->o, ",\"at\":");
        out__i64_decimal(w->o, events[i].at - w->origin);
        out__text(w->o, "}");
        if (!(++w->done & 0xffff) && w->options->progress)
            w->options->progress(w->options->progress_arg, w->done, w->all);
    }
}

static void put_profile(struct writer *w, const struct rank *rank, const struct stack_lane *lane, const struct event *events,
                        uint64_t n)
{
    out__text(w->o, w->profiles++ ? ",\n{\"type\":\"evented\",\"name\":" : "{\"type\":\"evented\",\"name\":");
    put_name(w, rank, lane);
    out__printf(w->o, ",\"unit\":\"nanoseconds\",\"startValue\":%" PRId64 ",\"endValue\":%" PRId64 ",\"events\":[\n",
                events[0].at - w->origin, events[n - 1].at - w->origin);
    put_events(w, events, n);
    out__text(w->o, "]}");
}

static int put_rank(struct writer *w, const struct rank_rows *rows, uint32_t rank, struct err *err)
{
    static const struct stacks_visitor visitor = {enter, leave};
    struct stacks_options how = {.split = w->options->overlaps_split};
    struct collector c = {0};
    const struct event *events;
    int rc;

    column__init(&c.events, sizeof(struct event));
    rc = stacks__walk(w->p, rows, rank, &how, &visitor, &c, err);
    if (!rc && c.lanes.n > 1)
        rc = column__sort(&c.events, compare_lanes, NULL);
    events = c.events.data;
    for (uint64_t i = 0, end; !rc && i < c.events.n; i = end) {
        for (end = i; end < c.events.n && events[end].lane == events[i].lane;)
            end++;
        put_profile(w, &w->p->ranks[rank], &c.lanes.list[events[i].lane], events + i, end - i);
    }
    column__deinit(&c.events);
    free(c.lanes.list);
    return rc;
}

static int put_all(struct writer *w, struct err *err)
{
    struct text *shown = names__shown_regions(w->p->arena, w->p, NULL);
    struct rank_rows rows = {0};
    uint32_t n, *ranks = chosen_ranks(w->p, w->options, &n);
    int rc = shown && ranks ? rank_rows__init(&rows, w->p) : -ENOMEM;
    const struct meta *label = profile__meta(w->p, "label");

    if (!rc) {
        put_frames(w, shown);
        for (uint32_t i = 0; i < n && !rc; i++)
            rc = put_rank(w, &rows, ranks[i], err);
        out__text(w->o, "],\"name\":");
        out__json_string(w->o, label && label->text.len ? text__shown(w->p->arena, label->text) : (struct text){"scope", 5});
        out__text(w->o, ",\"exporter\":\"scope-report@" SCOPE_BPF_VERSION "\"}\n");
    } else {
        err__set(err, ENOMEM, "not enough memory");
    }
    rank_rows__deinit(&rows);
    free(ranks);
    return rc;
}

static int write_speedscope(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    struct writer w = {.p = p, .options = options, .all = 2 * profile__calls(p)};
    int rc, closed;

    if (!profile__first_start(p, options, &w.origin))
        return no_calls(err);
    rc = out__open(&w.o, path, false, err);
    if (rc)
        return rc;
    rc = put_all(&w, err);
    closed = out__close(w.o, rc ? NULL : err);
    return rc ? rc : closed;
}

const struct format format_speedscope = {
    .name = "speedscope",
    .suffix = ".speedscope.json",
    .help = "time line of every call for www.speedscope.app",
    .write = write_speedscope,
};
