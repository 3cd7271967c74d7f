// SPDX-License-Identifier: GPL-2.0-only
/* Traces (.spt): the calls of one rank, region by region. */
#include "converters/names.h"
#include "converters/out.h"
#include "converters/reader.h"
#include "formats/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'S', 'C', 'O', 'P', 'E', 'P', 'R', 'F'};

#define VERSION_NEWEST 2
/* What a region takes at least: the length of its name and the number of its calls. */
#define REGION_MIN 12

static bool match(const struct input *in)
{
    return in->size >= sizeof(magic) && !memcmp(in->head, magic, sizeof(magic));
}

static bool known(int32_t version)
{
    return version >= 1 && version <= VERSION_NEWEST;
}

/* Exactly one byte order of the version is a version that exists. */
static int32_t read_version(struct reader *r)
{
    int32_t version = reader__i32(r), swapped = (int32_t)__builtin_bswap32((uint32_t)version);

    if (r->code)
        return 0;
    if (!known(version) && known(swapped)) {
        r->swap = true;
        version = swapped;
    }
    if (!known(version))
        r->code = err__set(r->err, EINVAL, "%s: trace version %d; versions 1 and 2 can be read", r->in->path,
                           version);
    return version;
}

static void read_source(struct reader *r, struct profile *p, struct row *row)
{
    int32_t len = reader__i32(r);

    row->source_file = reader__text(r, p, len, "the name of a source file");
    row->source_line = reader__i32(r);
    if (row->source_line < 0)
        row->source_line = -1;
}

static void check_calls(struct reader *r, const struct profile *p, const struct row *row)
{
    const int64_t *start = column_i64(&p->start), *end = column_i64(&p->end);

    for (uint64_t i = row->offset; i < row->offset + row->count; i++) {
        if (end[i] < start[i]) {
            reader__fail(r, "call %llu of region '%s' ends before it starts (%lld, %lld)",
                         (unsigned long long)(i - row->offset), p->regions[row->region].name.s,
                         (long long)start[i], (long long)end[i]);
            return;
        }
    }
}

static void read_calls(struct reader *r, struct profile *p, struct row *row)
{
    int64_t count = reader__i64(r);

    if (!r->code && (count < 0 || (uint64_t)count > reader__left(r) / 16))
        reader__fail(r, "region '%s' has the impossible number of %lld calls", p->regions[row->region].name.s,
                     (long long)count);
    if (r->code)
        return;
    row->offset = p->start.n;
    row->count = (uint64_t)count;
    reader__column(r, &p->start, row->count);
    reader__column(r, &p->end, row->count);
    if (!r->code)
        check_calls(r, p, row);
}

static void read_region(struct reader *r, struct profile *p, uint32_t rank, int32_t version)
{
    struct text name = reader__text(r, p, reader__i32(r), "the name of a region");
    struct row *row = NULL;
    int64_t region;

    if (r->code)
        return;
    region = profile__region(p, name.s, name.len);
    if (region >= 0 && profile__find_row(p, (uint32_t)region, rank)) {
        reader__fail(r, "region '%s' stands in it twice", name.s);
        return;
    }
    if (region >= 0)
        row = profile__add_row(p, (uint32_t)region, rank);
    if (!row) {
        r->code = err__set(r->err, ENOMEM, "%s: not enough memory", r->in->path);
        return;
    }
    if (version >= 2)
        read_source(r, p, row);
    read_calls(r, p, row);
}

/* What a trace says of its run: where it comes from, and that its time line begins with its first call. */
static void describe(struct reader *r, struct profile *p, uint32_t rank)
{
    const int64_t *start = column_i64(&p->start);
    int64_t first = p->start.n ? start[0] : 0;
    int code;

    for (uint64_t i = 1; i < p->start.n; i++)
        first = start[i] < first ? start[i] : first;
    p->ranks[rank].file = profile__text(p, r->in->path, strlen(r->in->path));
    code = profile__set_meta_text(p, "source", "native", 6);
    if (!code)
        code = profile__set_meta_int(p, "trace_format_version", VERSION_NEWEST);
    if (!code && p->start.n)
        code = profile__set_meta_int(p, "start_time_ns", first);
    if (code || !p->ranks[rank].file.s)
        r->code = err__set(r->err, ENOMEM, "%s: not enough memory", r->in->path);
}

static void read_trace(struct reader *r, struct profile *p)
{
    int32_t version, number;
    int64_t regions, rank;

    reader__bytes(r, (char[sizeof(magic)]){0}, sizeof(magic));
    version = read_version(r);
    number = reader__i32(r);
    regions = reader__i64(r);
    if (!r->code && number < 0)
        reader__fail(r, "the rank %d is negative", number);
    if (!r->code && (regions < 0 || (uint64_t)regions > reader__left(r) / REGION_MIN))
        reader__fail(r, "the number of regions, %lld, is impossible", (long long)regions);
    rank = r->code ? 0 : profile__rank(p, number);
    if (rank < 0)
        r->code = err__set(r->err, ENOMEM, "%s: not enough memory", r->in->path);
    for (int64_t i = 0; i < regions && !r->code; i++)
        read_region(r, p, (uint32_t)rank, version);
    if (!r->code && reader__left(r))
        reader__fail(r, "%llu bytes follow the last region", (unsigned long long)reader__left(r));
    if (!r->code)
        describe(r, p, (uint32_t)rank);
}

static int read_spt(const struct input *in, struct profile *p, struct err *err)
{
    struct reader *r = malloc(sizeof(*r));
    int code;

    if (!r)
        return err__set(err, ENOMEM, "%s: not enough memory", in->path);
    reader__init(r, in, err);
    read_trace(r, p);
    code = r->code;
    free(r);
    return code;
}

/* ---- writing
 * ------------------------------------------------------------------------------------------------- */

static void put_text(struct out *o, struct text text)
{
    out__i32(o, (int32_t)text.len);
    out__bytes(o, text.s, text.len);
}

/*
 * Names as they appear: a trace is UTF-8, and the reference refuses one that is not. NULL: no memory; the names
 * themselves where all can stand as they are.
 */
static struct text *shown_names(struct arena *arena, const struct profile *p,
                                const struct write_options *options)
{
    uint8_t *exact = NULL;
    struct text *names = names__shown_regions(arena, p, &exact);

    for (uint32_t i = 0; names && i < p->n_regions; i++) {
        if (exact[i])
            continue;
        write_options__say(
            options, "a .spt has no place for names that are not UTF-8: bad bytes are written as U+FFFD");
        break;
    }
    return names;
}

static void put_row(struct out *o, struct arena *arena, const struct text *names, const struct profile *p,
                    const struct row *row)
{
    bool line_fits = row->source_line >= 0 && row->source_line <= INT32_MAX;

    put_text(o, names[row->region]);
    put_text(o, text__shown(arena, row->source_file));
    out__i32(o, line_fits ? (int32_t)row->source_line : -1);
    out__i64(o, (int64_t)row->count);
    out__bytes(o, column_i64(&p->start) + row->offset, row->count * sizeof(int64_t));
    out__bytes(o, column_i64(&p->end) + row->offset, row->count * sizeof(int64_t));
}

/* ---- what a rank has and a trace has no place for -------------------------------------------------------- */

static bool in_rank(const struct profile *p, const struct row *row, const struct rank *rank)
{
    return &p->ranks[row->rank] == rank;
}

/* Whether a column of the rank's calls has a value other than `usual`. */
static bool has_other(const struct profile *p, const struct rank *rank, enum call_column column,
                      int64_t usual)
{
    for (uint64_t i = rank->first_row; i < rank->end_row; i++) {
        const struct row *row = &p->rows[i];
        const int64_t *values = column_i64(&p->extra[column]) + row->offset;

        for (uint64_t k = 0; in_rank(p, row, rank) && row__has(row, column) && k < row->count; k++) {
            if (values[k] != usual)
                return true;
        }
    }
    return false;
}

static int64_t first_thread(const struct profile *p, const struct rank *rank)
{
    for (uint64_t i = rank->first_row; i < rank->end_row; i++) {
        const struct row *row = &p->rows[i];

        if (in_rank(p, row, rank) && row->count && row__has(row, COLUMN_THREAD_ID))
            return column_i64(&p->extra[COLUMN_THREAD_ID])[row->offset];
    }
    return -1;
}

static void say_losses(const struct profile *p, const struct rank *rank, const struct write_options *options)
{
    if (!options || !options->say)
        return;
    if (has_other(p, rank, COLUMN_THREAD_ID, first_thread(p, rank)))
        write_options__say(options, "a .spt has no threads: calls of several threads stand in one list");
    if (has_other(p, rank, COLUMN_TASK_ID, -1))
        write_options__say(options, "a .spt has no tasks");
    if (has_other(p, rank, COLUMN_GPU_NS, -1))
        write_options__say(options, "a .spt has no GPU times");
    if (has_other(p, rank, COLUMN_FLAGS, 0))
        write_options__say(options,
                           "a .spt has no flags: abandoned and truncated calls look like complete ones");
}

static void put_rank(struct out *o, struct arena *arena, const struct text *names, const struct profile *p,
                     const struct rank *rank)
{
    out__bytes(o, magic, sizeof(magic));
    out__i32(o, VERSION_NEWEST);
    out__i32(o, rank->number);
    out__i64(o, (int64_t)rank->n_rows);
    for (uint64_t i = rank->first_row; i < rank->end_row; i++) {
        if (in_rank(p, &p->rows[i], rank))
            put_row(o, arena, names, p, &p->rows[i]);
    }
}

static int write_spt(const struct profile *p, const char *path, const struct write_options *options,
                     struct err *err)
{
    int64_t rank = options && options->n_ranks == 1 ? profile__find_rank(p, options->ranks[0]) : -1;
    struct arena *arena;
    struct text *names;
    struct out *o;
    int code;

    if (p->aggregate)
        return err__set(err, ENOTSUP,
                        "a .spt holds calls, and this profile has only sums of them (aggregate layout)");
    if (rank < 0)
        return err__set(err, EINVAL, "a .spt holds exactly one rank");
    arena = arena__new();
    names = arena ? shown_names(arena, p, options) : NULL;
    code = names ? out__open(&o, path, false, err) : err__set(err, ENOMEM, "%s: not enough memory", path);
    if (!code) {
        say_losses(p, &p->ranks[rank], options);
        put_rank(o, arena, names, p, &p->ranks[rank]);
        code = out__close(o, err);
    }
    arena__free(arena);
    return code;
}

const struct format format_spt = {
    .name = "spt",
    .suffix = ".spt",
    .help = "trace: the calls of one rank",
    .flags = FORMAT_PER_RANK,
    .match = match,
    .read = read_spt,
    .write = write_spt,
};
