/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pprof's profile.proto, gzipped: one sample per call path and rank, with the number of calls and their own time, and the
 * rank as a label.
 */
#include "converters/names.h"
#include "converters/views/paths.h"
#include "formats/exports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6,
       PROFILE_DEFAULT_TYPE = 14 };

enum { TEXT_EMPTY, TEXT_CALLS, TEXT_COUNT, TEXT_TIME, TEXT_NS, TEXT_RANK, TEXT_FIRST_REGION };

static const char *const fixed_texts[] = {"", "calls", "count", "time", "nanoseconds", "rank"};

struct writer {
    const struct profile *p;
    const struct write_options *options;
    struct out *o;
    uint64_t samples;
};

/* ---- wire format ------------------------------------------------------------------------------------------------------- */
static void put_varint(struct strbuf *b, uint64_t v)
{
    uint8_t bytes[10];
    unsigned n = 0;

    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    strbuf__put(b, bytes, n);
}

static void put_number(struct strbuf *b, unsigned field, uint64_t v)
{
    put_varint(b, field << 3);
    put_varint(b, v);
}

static void put_block(struct strbuf *b, unsigned field, const void *bytes, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    strbuf__put(b, bytes, n);
}

/* A message that was built in `inner` becomes a field of the profile. */
static void emit(struct writer *w, unsigned field, struct strbuf *inner)
{
    struct strbuf head = {0};

    put_varint(&head, field << 3 | 2);
    put_varint(&head, inner->len);
    out__bytes(w->o, head.s, head.len);
    out__bytes(w->o, inner->s ? inner->s : "", inner->len);
    strbuf__deinit(&head);
    inner->len = 0;
}

static void emit_text(struct writer *w, struct text t)
{
    struct strbuf b = {0};

    strbuf__put(&b, t.s ? t.s : "", t.len);
    emit(w, PROFILE_STRING, &b);
    strbuf__deinit(&b);
}

/* ---- tables: string 6 + 2 g is the name of region g, the next one its file ---------------------------------------------- */
static void put_types(struct writer *w)
{
    struct strbuf b = {0};

    put_number(&b, 1, TEXT_CALLS);
    put_number(&b, 2, TEXT_COUNT);
    emit(w, PROFILE_SAMPLE_TYPE, &b);
    put_number(&b, 1, TEXT_TIME);
    put_number(&b, 2, TEXT_NS);
    emit(w, PROFILE_SAMPLE_TYPE, &b);
    strbuf__deinit(&b);
}

static void put_region(struct writer *w, uint32_t g, int64_t line)
{
    struct strbuf b = {0}, inner = {0};

    put_number(&b, 1, g + 1ull);
    put_number(&b, 2, TEXT_FIRST_REGION + 2ull * g);
    put_number(&b, 3, TEXT_FIRST_REGION + 2ull * g);
    put_number(&b, 4, TEXT_FIRST_REGION + 2ull * g + 1);
    if (line > 0)
        put_number(&b, 5, (uint64_t)line);
    emit(w, PROFILE_FUNCTION, &b);
    put_number(&inner, 1, g + 1ull);
    if (line > 0)
        put_number(&inner, 2, (uint64_t)line);
    put_number(&b, 1, g + 1ull);
    put_block(&b, 4, inner.s, inner.len);
    emit(w, PROFILE_LOCATION, &b);
    strbuf__deinit(&b);
    strbuf__deinit(&inner);
}

static int put_regions(struct writer *w)
{
    struct text *shown = names__shown_regions(w->p->arena, w->p, NULL);
    uint64_t *row_of = calloc((size_t)w->p->n_regions + 1, sizeof(*row_of));

    if (!shown || !row_of) {
        free(row_of);
        return -ENOMEM;
    }
    for (uint64_t r = w->p->n_rows; r-- > 0;)
        row_of[w->p->rows[r].region] = r + 1;
    for (unsigned i = 0; i < TEXT_FIRST_REGION; i++)
        emit_text(w, (struct text){fixed_texts[i], (uint32_t)strlen(fixed_texts[i])});
    for (uint32_t g = 0; g < w->p->n_regions; g++) {
        const struct row *row = row_of[g] ? &w->p->rows[row_of[g] - 1] : NULL;

        emit_text(w, shown[g]);
        emit_text(w, row ? text__shown(w->p->arena, row->source_file) : (struct text){0});
        put_region(w, g, row ? row->source_line : -1);
    }
    free(row_of);
    return 0;
}

/* ---- samples --------------------------------------------------------------------------------------------------------------- */
static void put_sample(struct writer *w, const struct paths *t, int64_t node, int32_t rank, struct strbuf *b, struct strbuf *inner)
{
    inner->len = 0;
    for (int64_t at = node; at >= 0; at = t->nodes[at].parent)
        put_varint(inner, t->nodes[at].region + 1ull); /* the leaf first */
    put_block(b, 1, inner->s, inner->len);
    inner->len = 0;
    put_varint(inner, t->nodes[node].calls);
    put_varint(inner, (uint64_t)t->nodes[node].self);
    put_block(b, 2, inner->s, inner->len);
    inner->len = 0;
    put_number(inner, 1, TEXT_RANK);
    put_number(inner, 3, (uint64_t)rank);
    put_block(b, 3, inner->s, inner->len);
    emit(w, PROFILE_SAMPLE, b);
    w->samples++;
}

static int put_rank(struct writer *w, const struct rank_rows *rows, uint32_t rank, struct err *err)
{
    struct paths_options how = {.split = w->options->overlaps_split};
    struct strbuf b = {0}, inner = {0};
    struct paths t;
    int rc = paths__init(&t, w->p, rows, rank, &how, err);

    for (uint64_t i = 0; i < t.n && !rc; i++)
        put_sample(w, &t, (int64_t)i, w->p->ranks[rank].number, &b, &inner);
    strbuf__deinit(&b);
    strbuf__deinit(&inner);
    paths__deinit(&t);
    return rc;
}

static int put_all(struct writer *w, struct err *err)
{
    struct rank_rows rows = {0};
    uint32_t n, *ranks = chosen_ranks(w->p, w->options, &n);
    struct strbuf b = {0};
    int rc = ranks ? rank_rows__init(&rows, w->p) : -ENOMEM;

    if (!rc) {
        put_types(w);
        rc = put_regions(w);
    }
    if (rc)
        err__set(err, ENOMEM, "not enough memory");
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = put_rank(w, &rows, ranks[i], err);
    put_number(&b, PROFILE_DEFAULT_TYPE, TEXT_TIME);
    out__bytes(w->o, b.s ? b.s : "", b.len);
    strbuf__deinit(&b);
    rank_rows__deinit(&rows);
    free(ranks);
    return rc ? rc : w->samples ? 0 : no_calls(err);
}

static int write_pprof(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    struct writer w = {.p = p, .options = options};
    int closed, rc = out__open(&w.o, path, true, err);

    if (rc)
        return rc;
    rc = put_all(&w, err);
    closed = out__close(w.o, rc ? NULL : err);
    return rc ? rc : closed;
}

const struct format format_pprof = {
    .name = "pprof",
    .suffix = ".pb.gz",
    .help = "call paths for pprof, the rank as a label",
    .write = write_pprof,
};
