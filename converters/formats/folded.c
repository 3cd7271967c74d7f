/* SPDX-License-Identifier: GPL-2.0-only */
/* Folded stacks for flamegraph.pl, speedscope, inferno: `a;b;c nanoseconds`, own time of each call path. */
#include "converters/names.h"
#include "converters/views/paths.h"
#include "formats/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 65536

struct writer {
    const struct profile *p;
    const struct write_options *options;
    struct out *o;
    struct text *names; /* of regions, fit for a frame */
    bool name_ranks;
    uint64_t lines;
};

/* The separators of the format, and what would break a line. */
static struct text fit_for_frame(struct arena *arena, struct text name)
{
    char *s = arena__alloc(arena, (size_t)name.len + 1);

    if (!s)
        return (struct text){0};
    for (uint32_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.s[i];

        s[i] = c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    s[name.len] = 0;
    return name.len ? (struct text){s, name.len} : (struct text){"(no name)", 9};
}

static int prepare(struct writer *w)
{
    struct text *shown = names__shown_regions(w->p->arena, w->p, NULL);

    w->names = calloc((size_t)w->p->n_regions + 1, sizeof(*w->names));
    if (!shown || !w->names)
        return -ENOMEM;
    for (uint32_t g = 0; g < w->p->n_regions; g++) {
        w->names[g] = fit_for_frame(w->p->arena, shown[g]);
        if (!w->names[g].s)
            return -ENOMEM;
    }
    return 0;
}

static void put_line(struct writer *w, const struct paths *t, int64_t node, int32_t rank)
{
    int64_t chain[256], *up = chain, value = t->nodes[node].self;
    uint32_t n = 0, depth = t->nodes[node].depth + 1;

    if (depth > 256)
        up = malloc(depth * sizeof(*up));
    if (!up)
        return;
    for (int64_t at = node; at >= 0 && n < depth; at = t->nodes[at].parent)
        up[n++] = at;
    if (w->name_ranks)
        out__printf(w->o, "rank %d;", rank);
    while (n-- > 0) {
        const struct text name = w->names[t->nodes[up[n]].region];

        out__bytes(w->o, name.s, name.len);
        out__bytes(w->o, n ? ";" : " ", 1);
    }
    out__i64_decimal(w->o, value);
    out__bytes(w->o, "\n", 1);
    w->lines++;
    if (up != chain)
        free(up);
}

static int put_rank(struct writer *w, const struct rank_rows *rows, uint32_t rank, struct err *err)
{
    struct paths_options how = {.split = w->options->overlaps_split};
    struct paths t;
    int rc = paths__init(&t, w->p, rows, rank, &how, err);

    for (uint64_t i = 0; i < t.n && !rc; i++) {
        if (t.nodes[i].depth >= MAX_DEPTH)
            rc = err__set(err, E2BIG, "rank %d: calls are nested more than %d deep: too long for a line", w->p->ranks[rank].number,
                          MAX_DEPTH);
        else if (t.nodes[i].self >= 0)
            put_line(w, &t, (int64_t)i, w->p->ranks[rank].number);
    }
    paths__deinit(&t);
    return rc;
}

static int put_all(struct writer *w, struct err *err)
{
    struct rank_rows rows = {0};
    uint32_t n, *ranks = chosen_ranks(w->p, w->options, &n);
    int rc = ranks && !prepare(w) ? rank_rows__init(&rows, w->p) : -ENOMEM;

    if (rc)
        err__set(err, ENOMEM, "not enough memory");
    w->name_ranks = n > 1;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = put_rank(w, &rows, ranks[i], err);
    rank_rows__deinit(&rows);
    free(ranks);
    free(w->names);
    return rc ? rc : w->lines ? 0 : no_calls(err);
}

static int write_folded(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    struct writer w = {.p = p, .options = options};
    int closed, rc = out__open(&w.o, path, false, err);

    if (rc)
        return rc;
    rc = put_all(&w, err);
    closed = out__close(w.o, rc ? NULL : err);
    return rc ? rc : closed;
}

const struct format format_folded = {
    .name = "folded",
    .suffix = ".folded",
    .help = "folded stacks with their own ns, for flamegraph.pl and others",
    .write = write_folded,
};
