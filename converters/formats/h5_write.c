// SPDX-License-Identifier: GPL-2.0-only
/*
 * HDF5 profiles of schema 3: the regions' names once, a row per rank and region, and the calls of all rows
 * one behind the other in columns, which are written slab by slab: memory does not grow with the calls.
 */
#include "converters/names.h"
#include "formats/formats.h"
#include "h5_put.h"
#include "h5_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* From this number of calls on, columns are compressed. */
#define COMPRESS_CALLS 16384

static const struct row *row_at(const struct h5_writer *w, uint64_t i)
{
    return &w->p->rows[w->rows[i]];
}

static void choose_rows(struct h5_writer *w)
{
    const struct profile *p = w->p;
    bool calls = false, sums = false;

    w->rows = h5_put__alloc(w, p->n_rows, sizeof(*w->rows));
    for (uint64_t i = 0; i < p->n_rows && !w->code; i++) {
        if (!write_options__rank(w->options, p->ranks[p->rows[i].rank].number))
            continue;
        w->rows[w->n_rows++] = i;
        w->n_calls += p->rows[i].count;
        sums |= p->rows[i].aggregate.present;
        calls |= !p->rows[i].aggregate.present;
    }
    if (!w->code && calls && sums)
        w->code = err__set(w->err, ENOTSUP,
                           "an HDF5 profile holds either calls or sums of calls, and this profile has both; "
                           "convert its parts one by one");
    w->compress = w->n_calls >= COMPRESS_CALLS;
}

/* ---- names
 * ---------------------------------------------------------------------------------------------------- */

static void put_names(struct h5_writer *w)
{
    uint8_t *exact = NULL;
    struct text *bytes = h5_put__alloc(w, w->p->n_regions, sizeof(*bytes));
    bool all_exact = true;
    AUTO_GROUP group = h5_put__group(w, w->file, "region_table");

    if (w->code)
        return;
    w->region_names = names__shown_regions(w->scratch, w->p, &exact);
    if (!w->region_names) {
        h5_put__no_memory(w);
        return;
    }
    for (uint32_t i = 0; i < w->p->n_regions; i++) {
        all_exact &= exact[i];
        bytes[i] = w->p->regions[i].name;
    }
    h5_put__texts(w, group, "names", w->p->n_regions, w->region_names);
    if (!all_exact)
        h5_put__bytes(w, group, "name_bytes", w->p->n_regions, bytes, sizeof(*bytes));
}

/* ---- the index
 * ------------------------------------------------------------------------------------------------ */

static void put_u32s(struct h5_writer *w, hid_t in, const char *name, bool ranks)
{
    uint32_t *list = h5_put__alloc(w, w->n_rows, sizeof(*list));

    for (uint64_t i = 0; i < w->n_rows && list; i++)
        list[i] = ranks ? (uint32_t)w->p->ranks[row_at(w, i)->rank].number : row_at(w, i)->region;
    if (list)
        h5_put__column(w, in, name, H5T_NATIVE_UINT32, w->n_rows, sizeof(*list), list);
}

static void put_ranges(struct h5_writer *w, hid_t in, uint64_t n)
{
    uint64_t *offsets = h5_put__alloc(w, n, sizeof(*offsets)), *counts = h5_put__alloc(w, n, sizeof(*counts));
    uint64_t at = 0;

    for (uint64_t i = 0; i < n && !w->code; i++) {
        offsets[i] = at;
        counts[i] = row_at(w, i)->count;
        at += counts[i];
    }
    h5_put__column(w, in, "event_offsets", H5T_NATIVE_UINT64, n, sizeof(*offsets), offsets);
    h5_put__column(w, in, "event_counts", H5T_NATIVE_UINT64, n, sizeof(*counts), counts);
}

static void put_sources(struct h5_writer *w, hid_t in, uint64_t n)
{
    struct text *files = h5_put__alloc(w, n, sizeof(*files)), *texts = h5_put__alloc(w, n, sizeof(*texts));
    struct text *tags = h5_put__alloc(w, n, sizeof(*tags)),
                *metadata = h5_put__alloc(w, n, sizeof(*metadata));
    int64_t *lines = h5_put__alloc(w, n, sizeof(*lines));
    const struct text no_list = {"[]", 2};
    bool has_metadata = false;

    for (uint64_t i = 0; i < n && !w->code; i++) {
        const struct row *row = row_at(w, i);

        files[i] = row->source_file;
        texts[i] = row->source_text;
        lines[i] = row->source_line;
        tags[i] = row->tags.len ? row->tags : no_list;
        metadata[i] = row->event_metadata.len ? row->event_metadata : no_list;
        has_metadata |= row->event_metadata.len > 2;
    }
    h5_put__i64s(w, in, "source_lines", n, lines);
    h5_put__texts(w, in, "source_files", n, files);
    h5_put__texts(w, in, "source_texts", n, texts);
    h5_put__texts(w, in, "tags", n, tags);
    if (has_metadata)
        h5_put__texts(w, in, "event_metadata", n, metadata);
}

static void put_exclusive(struct h5_writer *w, hid_t in)
{
    int64_t *totals = h5_put__alloc(w, w->n_rows, sizeof(*totals));
    bool any = false;

    for (uint64_t i = 0; i < w->n_rows && totals; i++) {
        const struct row *row = row_at(w, i);

        totals[i] = row->has_exclusive ? row->exclusive_total : -1;
        any |= totals[i] >= 0;
    }
    if (any)
        h5_put__i64s(w, in, "exclusive_totals", w->n_rows, totals);
}

static void summarize_gpu(struct h5_summary *s, const struct profile *p, const struct row *row)
{
    const int64_t *gpu = column_i64(&p->extra[COLUMN_GPU_NS]) + row->offset;

    if (!row__has(row, COLUMN_GPU_NS))
        return;
    for (uint64_t i = 0; i < row->count; i++) {
        if (gpu[i] < 0)
            continue;
        s->gpu_count++;
        s->gpu_total = (int64_t)((uint64_t)s->gpu_total + (uint64_t)gpu[i]);
    }
}

/* Sums wrap as the reference's do; squares are summed one call after the other (Welford). */
static struct h5_summary summarize(const struct profile *p, const struct row *row)
{
    const int64_t *start = column_i64(&p->start) + row->offset, *end = column_i64(&p->end) + row->offset;
    struct h5_summary s = {0};
    __int128 total = 0;

    for (uint64_t i = 0; i < row->count; i++) {
        int64_t d = (int64_t)((uint64_t)end[i] - (uint64_t)start[i]);
        double delta = (double)d - s.mean;

        total += d;
        s.minimum = !i || d < s.minimum ? d : s.minimum;
        s.maximum = !i || d > s.maximum ? d : s.maximum;
        s.start_minimum = !i || start[i] < s.start_minimum ? start[i] : s.start_minimum;
        s.end_maximum = !i || end[i] > s.end_maximum ? end[i] : s.end_maximum;
        s.first = !i ? d : s.first;
        s.last = d;
        s.mean += delta / (double)(i + 1);
        s.m2 += delta * ((double)d - s.mean);
    }
    s.total = (int64_t)total;
    if (row->count)
        s.mean = (double)total / (double)row->count;
    summarize_gpu(&s, p, row);
    return s;
}

static void put_summaries(struct h5_writer *w, hid_t in)
{
    struct h5_summary *list = h5_put__alloc(w, w->n_rows, sizeof(*list));
    AUTO_TYPE type = h5__summary_type();

    for (uint64_t i = 0; i < w->n_rows && list; i++)
        list[i] = summarize(w->p, row_at(w, i));
    if (list)
        h5_put__column(w, in, "summary_statistics", type, w->n_rows, sizeof(*list), list);
}

static void put_index(struct h5_writer *w)
{
    AUTO_GROUP group = h5_put__group(w, w->file, "rank_region_index");

    put_u32s(w, group, "region_ids", false);
    put_u32s(w, group, "ranks", true);
    put_ranges(w, group, w->n_rows);
    put_sources(w, group, w->n_rows);
    put_exclusive(w, group);
    put_summaries(w, group);
}

static void put_aggregate_index(struct h5_writer *w)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
        {"aggregate_counts", offsetof(struct aggregate, count)},
        {"aggregate_totals", offsetof(struct aggregate, total_ns)},
        {"aggregate_minimums", offsetof(struct aggregate, min_ns)},
        {"aggregate_maximums", offsetof(struct aggregate, max_ns)},
        {"aggregate_exclusives", offsetof(struct aggregate, exclusive_ns)},
    };
    AUTO_GROUP group = h5_put__group(w, w->file, "rank_region_index");
    struct aggregate *list = h5_put__alloc(w, w->n_rows, sizeof(*list));

    put_u32s(w, group, "region_ids", false);
    put_u32s(w, group, "ranks", true);
    put_ranges(w, group, 0);
    put_sources(w, group, 0);
    for (uint64_t i = 0; i < w->n_rows && list; i++)
        list[i] = row_at(w, i)->aggregate;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields) && list; i++)
        h5_put__field(w, group, fields[i].name, w->n_rows, (int64_t *)((char *)list + fields[i].offset),
                      sizeof(*list));
}

/* ---- the calls
 * ------------------------------------------------------------------------------------------------ */

/* One column of all rows on its way to the file: rows fill a slab, full slabs are written. */
struct stream {
    struct h5_writer *w;
    hid_t set;
    int64_t *slab;
    uint64_t in_slab, at;
};

static void flush_slab(struct stream *s)
{
    h5_put__slab(s->w, s->set, H5T_NATIVE_INT64, s->at, s->in_slab, s->slab);
    s->at += s->in_slab;
    s->w->done += s->in_slab;
    s->in_slab = 0;
    if (s->w->options && s->w->options->progress)
        s->w->options->progress(s->w->options->progress_arg, s->w->done, s->w->all);
}

typedef void (*fill_slab)(const struct profile *p, const struct row *row, uint64_t from, uint64_t n,
                          int column, int64_t *to);

static void fill_start(const struct profile *p, const struct row *row, uint64_t from, uint64_t n, int column,
                       int64_t *to)
{
    const int64_t *start = column_i64(&p->start) + row->offset;

    (void)column;
    for (uint64_t i = 0; i < n; i++, from++)
        to[i] = (int64_t)((uint64_t)start[from] - (from ? (uint64_t)start[from - 1] : 0));
}

static void fill_duration(const struct profile *p, const struct row *row, uint64_t from, uint64_t n,
                          int column, int64_t *to)
{
    const int64_t *start = column_i64(&p->start) + row->offset + from;
    const int64_t *end = column_i64(&p->end) + row->offset + from;

    (void)column;
    for (uint64_t i = 0; i < n; i++)
        to[i] = (int64_t)((uint64_t)end[i] - (uint64_t)start[i]);
}

static void fill_extra(const struct profile *p, const struct row *row, uint64_t from, uint64_t n, int column,
                       int64_t *to)
{
    if (row__has(row, (enum call_column)column)) {
        memcpy(to, column_i64(&p->extra[column]) + row->offset + from, n * sizeof(*to));
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        to[i] = call_column__fill((enum call_column)column);
}

static void put_events(struct h5_writer *w, hid_t in, const char *name, bool bytes, fill_slab fill,
                       int column)
{
    struct stream s = {.w = w};
    AUTO_SET set =
        h5_put__create(w, in, name, bytes ? H5T_NATIVE_UINT8 : H5T_NATIVE_INT64, w->n_calls, bytes ? 1 : 8);

    s.set = set;
    s.slab = w->code ? NULL : malloc(H5_SLAB * sizeof(*s.slab));
    if (!s.slab) {
        h5_put__no_memory(w);
        return;
    }
    for (uint64_t i = 0; i < w->n_rows && !w->code; i++) {
        const struct row *row = row_at(w, i);

        for (uint64_t from = 0; from < row->count && !w->code;) {
            uint64_t room = H5_SLAB - s.in_slab, left = row->count - from, n = left < room ? left : room;

            fill(w->p, row, from, n, column, s.slab + s.in_slab);
            s.in_slab += n;
            from += n;
            if (s.in_slab == H5_SLAB)
                flush_slab(&s);
        }
    }
    flush_slab(&s);
    free(s.slab);
}

static bool any_flag(const struct h5_writer *w)
{
    for (uint64_t i = 0; i < w->n_rows; i++) {
        const struct row *row = row_at(w, i);
        const int64_t *flags = column_i64(&w->p->extra[COLUMN_FLAGS]) + row->offset;

        for (uint64_t k = 0; row__has(row, COLUMN_FLAGS) && k < row->count; k++) {
            if (flags[k])
                return true;
        }
    }
    return false;
}

/* Each rank with calls has the column in one of its rows at least. */
static bool on_every_rank(struct h5_writer *w, enum call_column column)
{
    uint8_t *seen = h5_put__alloc(w, w->p->n_ranks, 1);
    bool all = true;

    for (uint64_t i = 0; i < w->n_rows && seen; i++) {
        const struct row *row = row_at(w, i);

        if (row->count)
            seen[row->rank] |= row__has(row, column) ? 2 : 1;
    }
    for (uint32_t i = 0; i < w->p->n_ranks && seen; i++)
        all &= seen[i] != 1;
    return all;
}

/*
 * Which optional columns the file gets. Ids of calls only where every rank has some: the reference takes a
 * rank of ids filled with -1 for a single call.
 */
static bool wanted(struct h5_writer *w, enum call_column column)
{
    bool any = false;

    for (uint64_t i = 0; i < w->n_rows && !any; i++)
        any = row_at(w, i)->count && row__has(row_at(w, i), column);
    if (!any)
        return false;
    if (column == COLUMN_FLAGS)
        return any_flag(w);
    if (column != COLUMN_CALL_ID && column != COLUMN_PARENT_ID)
        return true;
    if (on_every_rank(w, column))
        return true;
    if (column == COLUMN_CALL_ID)
        write_options__say(
            w->options, "call ids are left out: not every rank has them, and a .h5 has them for all or none");
    return false;
}

static void put_calls(struct h5_writer *w)
{
    bool want[N_CALL_COLUMNS] = {false};
    AUTO_GROUP group = h5_put__group(w, w->file, "events");

    w->all = w->n_calls * 2;
    for (size_t i = 0; i < n_h5_columns; i++) {
        enum call_column column = h5_columns[i].column;

        want[column] = wanted(w, column);
        w->all += want[column] ? w->n_calls : 0;
    }
    /* A parent is the id of a call. */
    want[COLUMN_PARENT_ID] &= want[COLUMN_CALL_ID];
    put_events(w, group, "start_deltas", false, fill_start, 0);
    put_events(w, group, "durations", false, fill_duration, 0);
    for (size_t i = 0; i < n_h5_columns && !w->code; i++) {
        enum call_column column = h5_columns[i].column;

        if (want[column])
            put_events(w, group, h5_columns[i].name, column == COLUMN_FLAGS, fill_extra, column);
    }
}

/* ---- the file
 * ------------------------------------------------------------------------------------------------- */

static void put_all(struct h5_writer *w)
{
    bool aggregate = w->p->aggregate || (w->n_rows && row_at(w, 0)->aggregate.present);

    h5_put__int_attribute(w, w->file, "scope_profiler_schema", H5_SCHEMA);
    h5_put__text_attribute(w, w->file, "storage_layout",
                           aggregate ? (struct text){"aggregate", 9} : (struct text){"columnar", 8});
    h5_put__metadata(w);
    put_names(w);
    if (aggregate) {
        put_aggregate_index(w);
    } else {
        put_index(w);
        put_calls(w);
    }
    h5_put__lanes(w);
    h5_put__rank_groups(w);
    h5_put__ours(w);
}

static void create(struct h5_writer *w)
{
    AUTO_LIST access = H5Pcreate(H5P_FILE_ACCESS);
    AUTO_LIST creation = H5Pcreate(H5P_FILE_CREATE);

    w->text_type = h5__text_type();
    w->bytes_type = h5__bytes_type();
    /* 1.8: groups and attributes in their small form, read by everything since 2008. */
    if (access < 0 || w->text_type < 0 || w->bytes_type < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0 ||
        H5Pset_obj_track_times(creation, false) < 0)
        h5_put__fail(w, "properties");
    else
        w->file = H5Fcreate(w->path, H5F_ACC_TRUNC, creation, access);
    if (!w->code && w->file < 0)
        h5_put__fail(w, "the file");
}

static void finish(struct h5_writer *w)
{
    if (w->file >= 0 && !w->code && H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0)
        h5_put__fail(w, "the last blocks");
    if (w->file >= 0 && H5Fclose(w->file) < 0)
        h5_put__fail(w, "the last blocks");
    if (w->text_type >= 0)
        H5Tclose(w->text_type);
    if (w->bytes_type >= 0)
        H5Tclose(w->bytes_type);
    arena__free(w->scratch);
}

static int write_h5(const struct profile *p, const char *path, const struct write_options *options,
                    struct err *err)
{
    struct h5_writer w = {
        .p = p, .options = options, .path = path, .err = err, .file = -1, .text_type = -1, .bytes_type = -1};

    h5__silence();
    w.scratch = arena__new();
    if (!w.scratch)
        h5_put__no_memory(&w);
    choose_rows(&w);
    if (!w.code)
        create(&w);
    if (!w.code)
        put_all(&w);
    finish(&w);
    return w.code;
}

const struct format format_h5 = {
    .name = "h5",
    .suffix = ".h5",
    .help = "HDF5 profile: everything, all ranks",
    .match = h5__match,
    .read = h5__read,
    .write = write_h5,
};
