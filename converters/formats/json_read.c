// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON profiles: the document and its rows. Members may come in any order, so the numbers of a row go into
 * the columns as they come, and whether they belong together is seen at the row's end.
 */
#include "json_get.h"
#include "json_profile.h"
#include "json_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool json__match(const struct input *in)
{
    size_t at = 0;

    if (in->size > 2 && in->head[0] == 0x1f && in->head[1] == 0x8b)
        return true;
    while (at < sizeof(in->head) && (in->head[at] == ' ' || (in->head[at] >= '\t' && in->head[at] <= '\r')))
        at++;
    return at < sizeof(in->head) && (in->head[at] == '{' || in->head[at] == '[');
}

/* ---- rows
 * ----------------------------------------------------------------------------------------------------- */

struct row_reader {
    uint64_t base;
    bool has_name, has_rank, has_starts, has_ends, has_hex;
    int64_t region, rank;
    uint32_t has; /* columns seen */
    struct row row;
};

static void read_column(struct json_reader *r, struct column *to, uint64_t base, int64_t fill)
{
    if (column__fill_i64(to, base, fill))
        json_get__no_memory(r);
    if (to->n != base)
        json_in__fail(&r->j, "\"%s\" stands in a row twice", r->key.s);
    if (!json_in__enter(&r->j, '['))
        return;
    while (json_in__next(&r->j)) {
        int64_t v = json_in__i64(&r->j);

        if (r->j.code)
            return;
        if (column__append_i64(to, v)) {
            json_get__no_memory(r);
            return;
        }
    }
}

static void read_aggregate(struct json_reader *r, struct aggregate *a)
{
    static const struct {
        const char *key;
        size_t offset;
    } fields[] = {
        {"count", offsetof(struct aggregate, count)},
        {"total", offsetof(struct aggregate, total_ns)},
        {"minimum", offsetof(struct aggregate, min_ns)},
        {"maximum", offsetof(struct aggregate, max_ns)},
        {"exclusive", offsetof(struct aggregate, exclusive_ns)},
    };
    size_t n = sizeof(fields) / sizeof(*fields), seen = 0;

    if (!json_in__enter(&r->j, '{'))
        return;
    a->present = true;
    while (json_get__member(r)) {
        size_t i = 0;

        while (i < n && !json_get__is(&r->key, fields[i].key))
            i++;
        if (i == n) {
            json_in__skip(&r->j);
            continue;
        }
        *(int64_t *)((char *)a + fields[i].offset) = json_in__i64(&r->j);
        seen |= 1u << i;
    }
    if (seen != (1u << n) - 1)
        json_in__fail(&r->j, "an aggregate without count, total, minimum, maximum and exclusive");
    if ((int64_t)a->count < 0)
        json_in__fail(&r->j, "an aggregate with a negative number of calls");
}

static void set_region(struct json_reader *r, struct row_reader *row, const char *name, size_t len)
{
    if (r->j.code)
        return;
    if (memchr(name, 0, len)) {
        json_in__fail(&r->j, "a name with a NUL");
        return;
    }
    row->region = profile__region(r->p, name, len);
    if (row->region < 0)
        json_get__no_memory(r);
}

/* Tags and the metadata of calls stay JSON. */
static struct text read_json_list(struct json_reader *r, bool objects, uint64_t *ret_n)
{
    struct json_text *out = &r->text;
    struct text text = {0};
    uint64_t n = 0;

    out->len = 0;
    json_text__put(out, "[", 1);
    if (!json_in__enter(&r->j, '['))
        return text;
    while (json_in__next(&r->j)) {
        if (objects && json_in__peek(&r->j) != '{')
            json_in__fail(&r->j, "metadata of a call that is no object");
        json_text__put(out, ",", n ? 1 : 0);
        json_in__copy(&r->j, out);
        n++;
    }
    if (!json_text__put(out, "]", 1))
        json_get__no_memory(r);
    if (n && !r->j.code) {
        text = profile__text(r->p, out->s, out->len);
        if (!text.s)
            json_get__no_memory(r);
    }
    *ret_n = n;
    return text;
}

static bool read_optional_column(struct json_reader *r, struct row_reader *row)
{
    for (size_t i = 0; i < n_json_columns; i++) {
        enum call_column column = json_columns[i].column;

        if (!json_get__is(&r->key, json_columns[i].key))
            continue;
        read_column(r, &r->p->extra[column], row->base, call_column__fill(column));
        row->has |= 1u << column;
        return true;
    }
    return false;
}

static void read_row_text(struct json_reader *r, struct text *to)
{
    *to = json_get__text(r);
    if (!to->len)
        *to = (struct text){0};
}

static void read_row_member(struct json_reader *r, struct row_reader *row, uint64_t *metadata)
{
    struct json_in *j = &r->j;
    uint64_t n;

    if (json_get__is(&r->key, "name")) {
        json_in__string(j, &r->text);
        row->has_name = true;
        if (!row->has_hex)
            set_region(r, row, r->text.s ? r->text.s : "", r->text.len);
    } else if (json_get__is(&r->key, "name_hex")) {
        struct text name = json_get__hex(r);

        row->has_hex = true;
        if (name.s)
            set_region(r, row, name.s, name.len);
    } else if (json_get__is(&r->key, "rank")) {
        int64_t number = json_in__i64(j);

        if (!j->code && (number < 0 || number > INT32_MAX))
            json_in__fail(j, "%lld is no rank", (long long)number);
        row->rank = j->code ? 0 : profile__rank(r->p, (int32_t)number);
        row->has_rank = true;
        if (row->rank < 0)
            json_get__no_memory(r);
    } else if (json_get__null(r)) {
        return;
    } else if (json_get__is(&r->key, "start_times_ns")) {
        read_column(r, &r->p->start, row->base, 0);
        row->has_starts = true;
    } else if (json_get__is(&r->key, "end_times_ns")) {
        read_column(r, &r->p->end, row->base, 0);
        row->has_ends = true;
    } else if (json_get__is(&r->key, "aggregate")) {
        read_aggregate(r, &row->row.aggregate);
    } else if (json_get__is(&r->key, "source_file")) {
        read_row_text(r, &row->row.source_file);
    } else if (json_get__is(&r->key, "source_text")) {
        read_row_text(r, &row->row.source_text);
    } else if (json_get__is(&r->key, "source_lineno")) {
        row->row.source_line = json_in__i64(j);
    } else if (json_get__is(&r->key, "tags")) {
        row->row.tags = read_json_list(r, false, &n);
    } else if (json_get__is(&r->key, "event_metadata")) {
        row->row.event_metadata = read_json_list(r, true, metadata);
    } else if (json_get__is(&r->key, "exclusive_total_ns")) {
        row->row.exclusive_total = json_in__i64(j);
        row->row.has_exclusive = row->row.exclusive_total >= 0;
    } else if (!read_optional_column(r, row)) {
        json_in__skip(j);
    }
}

/* All columns of a row are of one length; those that it does not have are filled up. */
static void settle_columns(struct json_reader *r, struct row_reader *row)
{
    struct profile *p = r->p;
    uint64_t count = p->start.n - row->base;
    int64_t *start = column_i64(&p->start), *end = column_i64(&p->end);

    if (p->end.n != p->start.n)
        json_in__fail(&r->j, "a row with %llu starts and %llu ends", (unsigned long long)count,
                      (unsigned long long)(p->end.n - row->base));
    for (int i = 0; i < N_CALL_COLUMNS && !r->j.code; i++) {
        if (row->has >> i & 1 && p->extra[i].n != p->start.n)
            json_in__fail(&r->j, "a row with %llu starts and a column of another length",
                          (unsigned long long)count);
        else if (p->extra[i].n && profile__use_column(p, (enum call_column)i))
            json_get__no_memory(r);
    }
    for (uint64_t i = row->base; i < p->start.n && !r->j.code; i++) {
        if (end[i] < start[i])
            json_in__fail(&r->j, "call %llu of a row ends before it starts (%lld, %lld)",
                          (unsigned long long)(i - row->base), (long long)start[i], (long long)end[i]);
    }
}

static bool any_gpu(const struct profile *p, uint64_t base)
{
    for (uint64_t i = base; i < p->extra[COLUMN_GPU_NS].n; i++) {
        if (column_i64(&p->extra[COLUMN_GPU_NS])[i] >= 0)
            return true;
    }
    return false;
}

static void add_row(struct json_reader *r, struct row_reader *row, uint64_t metadata)
{
    struct row *to;

    if (!row->has_name || !row->has_rank)
        json_in__fail(&r->j, "a row without %s", row->has_name ? "rank" : "name");
    settle_columns(r, row);
    if (r->j.code)
        return;
    row->row.count = r->p->start.n - row->base;
    if (metadata && metadata != row->row.count)
        json_in__fail(&r->j, "a row with %llu calls and metadata for %llu",
                      (unsigned long long)row->row.count, (unsigned long long)metadata);
    if (row->row.aggregate.present && row->row.count)
        json_in__fail(&r->j, "a row with calls and an aggregate");
    if (profile__find_row(r->p, (uint32_t)row->region, (uint32_t)row->rank))
        json_in__fail(&r->j, "region '%.100s' of rank %d has two rows", r->p->regions[row->region].name.s,
                      r->p->ranks[row->rank].number);
    if (r->j.code)
        return;
    to = profile__add_row(r->p, (uint32_t)row->region, (uint32_t)row->rank);
    if (!to) {
        json_get__no_memory(r);
        return;
    }
    row->row.region = to->region;
    row->row.rank = to->rank;
    row->row.offset = row->base;
    row->row.has = row->has;
    if (row->has >> COLUMN_GPU_NS & 1 && !any_gpu(r->p, row->base))
        row->row.has &= ~(1u << COLUMN_GPU_NS);
    *to = row->row;
}

static void read_row(struct json_reader *r)
{
    struct row_reader row = {.base = r->p->start.n, .row = {.source_line = -1, .exclusive_total = -1}};
    uint64_t metadata = 0;

    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r))
        read_row_member(r, &row, &metadata);
    if (!r->j.code)
        add_row(r, &row, metadata);
}

static void read_rows(struct json_reader *r)
{
    bool sums = false, calls = false;

    if (r->p->n_rows)
        json_in__fail(&r->j, "\"regions\" stands in it twice");
    if (!json_in__enter(&r->j, '['))
        return;
    while (json_in__next(&r->j)) {
        read_row(r);
        if (r->p->n_rows && !r->j.code) {
            sums |= r->p->rows[r->p->n_rows - 1].aggregate.present;
            calls |= !r->p->rows[r->p->n_rows - 1].aggregate.present;
        }
    }
    r->p->aggregate = sums && !calls;
}

/* ---- the document
 * --------------------------------------------------------------------------------------------- */

static void read_format(struct json_reader *r)
{
    json_in__string(&r->j, &r->text);
    if (!r->j.code && !json_get__is(&r->text, JSON_PROFILE_FORMAT))
        json_in__fail(&r->j, "its format is '%.60s', not %s", r->text.s, JSON_PROFILE_FORMAT);
}

static void read_version(struct json_reader *r)
{
    int64_t version = json_in__i64(&r->j);

    if (!r->j.code && version > JSON_PROFILE_VERSION)
        json_in__fail(&r->j, "version %lld of the format; versions up to %d can be read", (long long)version,
                      JSON_PROFILE_VERSION);
}

static void read_member(struct json_reader *r, bool *has_format)
{
    static const struct {
        const char *key;
        void (*read)(struct json_reader *r, uint32_t rank);
    } per_rank[] = {
        {"threads", json_get__threads},    {"tasks", json_get__tasks},      {"likwid", json_get__likwid},
        {"line_profile", json_get__lines}, {"perf_events", json_get__perf},
    };

    if (json_get__is(&r->key, "format")) {
        read_format(r);
        *has_format = true;
        return;
    }
    if (json_get__is(&r->key, "format_version")) {
        read_version(r);
        return;
    }
    if (json_get__null(r))
        return;
    for (size_t i = 0; i < sizeof(per_rank) / sizeof(*per_rank); i++) {
        if (json_get__is(&r->key, per_rank[i].key)) {
            json_get__per_rank(r, per_rank[i].read);
            return;
        }
    }
    if (json_get__is(&r->key, "metadata"))
        json_get__metas(r, &r->p->meta, &r->p->n_meta);
    else if (json_get__is(&r->key, "regions"))
        read_rows(r);
    else if (json_get__is(&r->key, "scope_bpf"))
        json_get__ours(r);
    else
        json_in__skip(&r->j);
}

static void read_document(struct json_reader *r)
{
    bool has_format = false;

    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r))
        read_member(r, &has_format);
    json_in__end(&r->j);
    if (!has_format)
        json_in__fail(&r->j, "is JSON, but no profile (no \"format\": \"%s\")", JSON_PROFILE_FORMAT);
}

static void name_file(struct profile *p, const struct input *in)
{
    for (uint32_t i = 0; i < p->n_ranks; i++)
        p->ranks[i].file = profile__text(p, in->path, strlen(in->path));
}

int json__read(const struct input *in, struct profile *into, struct err *err)
{
    struct json_source *source = malloc(sizeof(*source));
    struct json_reader r = {.p = into};
    int code = -ENOMEM;

    if (source && !json_source__init(source, in)) {
        code = json_in__init(&r.j, json_source__fill, source);
        r.j.lenient = true;
        if (!code)
            read_document(&r);
        json_source__deinit(source);
        code = code ? code : r.j.code;
    }
    if (code)
        err__set(err, -code, "%s: near byte %llu: %s", in->path, (unsigned long long)json_in__offset(&r.j),
                 r.j.code ? r.j.message : "not enough memory");
    else
        name_file(into, in);
    json_in__deinit(&r.j);
    json_text__deinit(&r.key);
    json_text__deinit(&r.text);
    free(source);
    return code;
}
