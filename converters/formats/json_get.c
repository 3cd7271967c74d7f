// SPDX-License-Identifier: GPL-2.0-only
/* JSON profiles: values, and what stands beside the rows. */
#include "json_get.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values
 * --------------------------------------------------------------------------------------------------- */

bool json_get__is(const struct json_text *key, const char *name)
{
    return key->len == strlen(name) && !memcmp(key->s, name, key->len);
}

void json_get__no_memory(struct json_reader *r)
{
    if (r->j.code)
        return;
    snprintf(r->j.message, sizeof(r->j.message), "not enough memory or temporary disk space");
    r->j.code = -ENOMEM;
}

bool json_get__member(struct json_reader *r)
{
    if (!json_in__next(&r->j))
        return false;
    json_in__key(&r->j, &r->key);
    return !r->j.code;
}

bool json_get__null(struct json_reader *r)
{
    if (json_in__peek(&r->j) != 'n')
        return false;
    json_in__skip(&r->j);
    return true;
}

static struct text keep(struct json_reader *r, const char *bytes, size_t len)
{
    struct text text = {0};

    if (r->j.code)
        return text;
    if (len && memchr(bytes, 0, len)) {
        json_in__fail(&r->j, "a text with a NUL");
        return text;
    }
    text = profile__text(r->p, len ? bytes : "", len);
    if (!text.s)
        json_get__no_memory(r);
    return text;
}

struct text json_get__text(struct json_reader *r)
{
    if (json_get__null(r))
        return (struct text){0};
    json_in__string(&r->j, &r->text);
    return keep(r, r->text.s, r->text.len);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct text json_get__hex(struct json_reader *r)
{
    struct text text = {0};
    size_t n;

    json_in__string(&r->j, &r->text);
    n = r->text.len / 2;
    if (r->text.len % 2)
        json_in__fail(&r->j, "an odd number of hexadecimal digits");
    for (size_t i = 0; i < n && !r->j.code; i++) {
        int high = hex_digit(r->text.s[2 * i]), low = hex_digit(r->text.s[2 * i + 1]);

        if (high < 0 || low < 0)
            json_in__fail(&r->j, "something else than hexadecimal digits");
        else
            r->text.s[i] = (char)(high << 4 | low);
    }
    if (r->j.code)
        return text;
    text = profile__text(r->p, n ? r->text.s : "", n);
    if (!text.s)
        json_get__no_memory(r);
    return text;
}

struct text *json_get__texts(struct json_reader *r, uint32_t *ret_n)
{
    struct text *list = NULL;

    *ret_n = 0;
    if (json_get__null(r) || !json_in__enter(&r->j, '['))
        return NULL;
    while (json_in__next(&r->j)) {
        struct text text = json_get__text(r);
        struct text *to = r->j.code ? NULL : profile__append(r->p, &list, ret_n, sizeof(*to));

        if (to)
            *to = text;
        else
            json_get__no_memory(r);
    }
    return list;
}

int64_t *json_get__i64s(struct json_reader *r, uint32_t *ret_n)
{
    int64_t *list = NULL;

    *ret_n = 0;
    if (json_get__null(r) || !json_in__enter(&r->j, '['))
        return NULL;
    while (json_in__next(&r->j)) {
        int64_t v = json_in__i64(&r->j),
                *to = r->j.code ? NULL : profile__append(r->p, &list, ret_n, sizeof(*to));

        if (to)
            *to = v;
        else
            json_get__no_memory(r);
    }
    return list;
}

static void append_doubles(struct json_reader *r, double **list, uint32_t *n, int depth)
{
    if (!json_in__enter(&r->j, '['))
        return;
    while (json_in__next(&r->j)) {
        double *to;

        if (json_in__peek(&r->j) == '[') {
            if (depth == 4)
                json_in__fail(&r->j, "a matrix with too many dimensions");
            append_doubles(r, list, n, depth + 1);
            continue;
        }
        to = profile__append(r->p, list, n, sizeof(*to));
        if (to)
            *to = json_in__double(&r->j);
        else
            json_get__no_memory(r);
    }
}

double *json_get__doubles(struct json_reader *r, uint32_t *ret_n)
{
    double *list = NULL;

    *ret_n = 0;
    if (!json_get__null(r))
        append_doubles(r, &list, ret_n, 0);
    return list;
}

/* ---- metadata
 * ------------------------------------------------------------------------------------------------- */

/* Elements of a list that are no texts are kept as their JSON. */
static void read_meta_list(struct json_reader *r, struct meta *meta)
{
    meta->kind = META_LIST;
    json_in__enter(&r->j, '[');
    while (json_in__next(&r->j)) {
        struct text *to, text;

        r->text.len = 0;
        if (json_in__peek(&r->j) == '"')
            json_in__string(&r->j, &r->text);
        else
            json_in__copy(&r->j, &r->text);
        text = keep(r, r->text.s, r->text.len);
        to = r->j.code ? NULL : profile__append(r->p, &meta->list, &meta->n_list, sizeof(*to));
        if (to)
            *to = text;
        else
            json_get__no_memory(r);
    }
}

static void read_meta(struct json_reader *r, struct meta *meta)
{
    switch (json_in__peek(&r->j)) {
    case '"':
        meta->kind = META_TEXT;
        meta->text = json_get__text(r);
        break;
    case 't':
    case 'f':
        meta->kind = META_INT;
        meta->integer = json_in__bool(&r->j);
        break;
    case '[': read_meta_list(r, meta); break;
    case '{':
        meta->kind = META_TEXT;
        r->text.len = 0;
        json_in__copy(&r->j, &r->text);
        meta->text = keep(r, r->text.s, r->text.len);
        break;
    case 0:
        meta->kind = json_in__is_integer(&r->j) ? META_INT : META_FLOAT;
        if (meta->kind == META_INT)
            meta->integer = json_in__i64(&r->j);
        else
            meta->real = json_in__double(&r->j);
        break;
    case 'N':
        meta->kind = META_FLOAT;
        meta->real = json_in__double(&r->j);
        break;
    }
}

void json_get__metas(struct json_reader *r, struct meta **list, uint32_t *n)
{
    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r)) {
        struct text key = keep(r, r->key.s, r->key.len);
        struct meta *meta;

        if (json_get__null(r) || r->j.code)
            continue;
        for (uint32_t i = 0; i < *n; i++) {
            if ((*list)[i].key.len == key.len && !memcmp((*list)[i].key.s, key.s, key.len))
                json_in__fail(&r->j, "\"%.60s\" stands in the metadata twice", key.s);
        }
        meta = r->j.code ? NULL : profile__append(r->p, list, n, sizeof(*meta));
        if (!meta) {
            json_get__no_memory(r);
            return;
        }
        meta->key = key;
        read_meta(r, meta);
    }
}

/* ---- records
 * -------------------------------------------------------------------------------------------------- */

static void read_integer(struct json_reader *r, const struct record_field *field, char *at)
{
    int c = json_in__peek(&r->j);
    int64_t v = c == 't' || c == 'f' ? json_in__bool(&r->j) : json_in__i64(&r->j);

    if (!record__put(at, field->kind, v))
        json_in__fail(&r->j, "%s %lld is out of range", field->name, (long long)v);
}

static void read_field(struct json_reader *r, const struct record_table *table, char *record)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct record_field *field = &table->fields[i];
        size_t n = strlen(field->name);
        char *at = record + field->offset;

        if (json_get__is(&r->key, field->name)) {
            if (json_get__null(r))
                return;
            if (field->kind < RECORD_TEXT)
                read_integer(r, field, at);
            else if (!(field->kind == RECORD_BYTES && ((struct text *)at)->s))
                *(struct text *)at = json_get__text(r);
            else
                json_in__skip(&r->j);
            return;
        }
        if (field->kind >= RECORD_BYTES && r->key.len == n + 4 && !memcmp(r->key.s, field->name, n) &&
            !memcmp(r->key.s + n, "_hex", 4)) {
            *(struct text *)at = json_get__hex(r);
            return;
        }
    }
    json_in__skip(&r->j);
}

static void read_record(struct json_reader *r, const struct record_table *table, char *record)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        if (table->fields[i].kind < RECORD_TEXT)
            record__put(record + table->fields[i].offset, table->fields[i].kind, table->fields[i].missing);
    }
    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r))
        read_field(r, table, record);
}

static void *read_records(struct json_reader *r, const struct record_table *table, uint32_t *n)
{
    char *list = NULL;

    *n = 0;
    if (json_get__null(r) || !json_in__enter(&r->j, '['))
        return NULL;
    while (json_in__next(&r->j)) {
        char *record = profile__append(r->p, &list, n, table->width);

        if (record)
            read_record(r, table, record);
        else
            json_get__no_memory(r);
    }
    return list;
}

void json_get__per_rank(struct json_reader *r, void (*read)(struct json_reader *r, uint32_t rank))
{
    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r)) {
        char *end;
        long long number = strtoll(r->key.s, &end, 10);
        int64_t rank;

        if (!r->key.len || *end || number < 0 || number > INT32_MAX || r->key.s[0] < '0' ||
            r->key.s[0] > '9') {
            json_in__fail(&r->j, "'%.40s' is no rank", r->key.s);
            return;
        }
        if (json_get__null(r))
            continue;
        rank = profile__rank(r->p, (int32_t)number);
        if (rank < 0)
            json_get__no_memory(r);
        else
            read(r, (uint32_t)rank);
    }
}

void json_get__threads(struct json_reader *r, uint32_t rank)
{
    uint32_t n;
    struct thread_row *list = read_records(r, &record_threads, &n);

    r->p->ranks[rank].threads = list;
    r->p->ranks[rank].n_threads = n;
}

void json_get__tasks(struct json_reader *r, uint32_t rank)
{
    uint32_t n;
    struct task_row *list = read_records(r, &record_tasks, &n);

    r->p->ranks[rank].tasks = list;
    r->p->ranks[rank].n_tasks = n;
}

/* ---- counters and lines
 * --------------------------------------------------------------------------------------- */

struct likwid_counts {
    uint32_t times, call_counts, events, metrics;
};

static void read_likwid_member(struct json_reader *r, struct likwid_region *region, struct likwid_counts *n)
{
    if (json_get__is(&r->key, "tag_hex"))
        region->tag = json_get__hex(r);
    else if (json_get__is(&r->key, "tag") && !region->tag.s)
        region->tag = json_get__text(r);
    else if (json_get__null(r))
        return;
    else if (json_get__is(&r->key, "group_id"))
        region->group_id = json_in__i64(&r->j);
    else if (json_get__is(&r->key, "group_name"))
        region->group_name = json_get__text(r);
    else if (json_get__is(&r->key, "source"))
        region->source = json_get__text(r);
    else if (json_get__is(&r->key, "cpus"))
        region->cpus = json_get__i64s(r, &region->n_cpus);
    else if (json_get__is(&r->key, "times"))
        region->times = json_get__doubles(r, &n->times);
    else if (json_get__is(&r->key, "call_counts"))
        region->call_counts = json_get__i64s(r, &n->call_counts);
    else if (json_get__is(&r->key, "event_names"))
        region->event_names = json_get__texts(r, &region->n_events);
    else if (json_get__is(&r->key, "counter_names"))
        region->counter_names = json_get__texts(r, &region->n_counters);
    else if (json_get__is(&r->key, "metric_names"))
        region->metric_names = json_get__texts(r, &region->n_metrics);
    else if (json_get__is(&r->key, "events"))
        region->events = json_get__doubles(r, &n->events);
    else if (json_get__is(&r->key, "metrics"))
        region->metrics = json_get__doubles(r, &n->metrics);
    else
        json_in__skip(&r->j);
}

static void read_likwid_region(struct json_reader *r, struct likwid_region *region)
{
    struct likwid_counts n = {0};

    region->tag = (struct text){0};
    region->group_id = -1;
    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r))
        read_likwid_member(r, region, &n);
    region->n_threads = n.times;
    if (n.call_counts != n.times || (region->n_cpus && region->n_cpus != n.times) ||
        n.events != (uint64_t)region->n_events * n.times ||
        n.metrics != (uint64_t)region->n_metrics * n.times)
        json_in__fail(&r->j, "LIKWID results of different lengths");
}

void json_get__likwid(struct json_reader *r, uint32_t rank)
{
    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r)) {
        struct text key = keep(r, r->key.s, r->key.len);
        struct likwid_region region = {0}, *to;

        read_likwid_region(r, &region);
        if (!region.tag.s)
            region.tag = key;
        to = r->j.code
                 ? NULL
                 : profile__append(r->p, &r->p->ranks[rank].likwid, &r->p->ranks[rank].n_likwid, sizeof(*to));
        if (to)
            *to = region;
        else
            json_get__no_memory(r);
    }
}

static void read_lines_member(struct json_reader *r, struct line_profile *lines, uint32_t n[3])
{
    if (json_get__is(&r->key, "region_hex"))
        lines->region = json_get__hex(r);
    else if (json_get__is(&r->key, "region") && !lines->region.s)
        lines->region = json_get__text(r);
    else if (json_get__null(r))
        return;
    else if (json_get__is(&r->key, "filename"))
        lines->filename = json_get__text(r);
    else if (json_get__is(&r->key, "function"))
        lines->function = json_get__text(r);
    else if (json_get__is(&r->key, "first_lineno"))
        lines->first_lineno = json_in__i64(&r->j);
    else if (json_get__is(&r->key, "source"))
        lines->source = json_get__text(r);
    else if (json_get__is(&r->key, "source_first_lineno"))
        lines->source_first_lineno = json_in__i64(&r->j);
    else if (json_get__is(&r->key, "unit"))
        lines->unit = json_in__double(&r->j);
    else if (json_get__is(&r->key, "line_numbers"))
        lines->line_numbers = json_get__i64s(r, &n[0]);
    else if (json_get__is(&r->key, "hits"))
        lines->hits = json_get__i64s(r, &n[1]);
    else if (json_get__is(&r->key, "times"))
        lines->times = json_get__doubles(r, &n[2]);
    else
        json_in__skip(&r->j);
}

void json_get__lines(struct json_reader *r, uint32_t rank)
{
    if (!json_in__enter(&r->j, '['))
        return;
    while (json_in__next(&r->j)) {
        struct line_profile lines = {.unit = 1, .source_first_lineno = -1}, *to;
        uint32_t n[3] = {0};

        if (!json_in__enter(&r->j, '{'))
            return;
        while (json_get__member(r))
            read_lines_member(r, &lines, n);
        if (n[0] != n[1] || n[0] != n[2])
            json_in__fail(&r->j, "a line profile with columns of different lengths");
        lines.n = n[0];
        lines.has_source = lines.source.s && lines.source_first_lineno >= 0;
        to = r->j.code
                 ? NULL
                 : profile__append(r->p, &r->p->ranks[rank].lines, &r->p->ranks[rank].n_lines, sizeof(*to));
        if (to)
            *to = lines;
        else
            json_get__no_memory(r);
    }
}

static void read_perf_region(struct json_reader *r, struct perf_region *perf)
{
    uint32_t n = 0;

    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r)) {
        if (json_get__is(&r->key, "region_hex"))
            perf->region = json_get__hex(r);
        else if (json_get__is(&r->key, "region") && !perf->region.s)
            perf->region = json_get__text(r);
        else if (json_get__is(&r->key, "calls"))
            perf->calls = (uint64_t)json_in__i64(&r->j);
        else if (json_get__is(&r->key, "event_names"))
            perf->events = json_get__texts(r, &perf->n_events);
        else if (json_get__is(&r->key, "values"))
            perf->values = (uint64_t *)json_get__i64s(r, &n);
        else
            json_in__skip(&r->j);
    }
    if (n != perf->n_events)
        json_in__fail(&r->j, "counters with %u names and %u values", perf->n_events, n);
}

void json_get__perf(struct json_reader *r, uint32_t rank)
{
    if (!json_in__enter(&r->j, '['))
        return;
    while (json_in__next(&r->j)) {
        struct perf_region perf = {0}, *to;

        read_perf_region(r, &perf);
        to = r->j.code
                 ? NULL
                 : profile__append(r->p, &r->p->ranks[rank].perf, &r->p->ranks[rank].n_perf, sizeof(*to));
        if (to)
            *to = perf;
        else
            json_get__no_memory(r);
    }
}

/* ---- scope_bpf
 * ------------------------------------------------------------------------------------------------ */

static void read_region_name(struct json_reader *r)
{
    struct text name = {0};
    int64_t region;
    uint32_t *to;

    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r)) {
        if (json_get__is(&r->key, "name_hex"))
            name = json_get__hex(r);
        else if (json_get__is(&r->key, "name") && !name.s)
            name = json_get__text(r);
        else
            json_in__skip(&r->j);
    }
    if (!name.s)
        json_in__fail(&r->j, "a region without a name");
    if (r->j.code)
        return;
    region = profile__region(r->p, name.s, name.len);
    to = region < 0 ? NULL : profile__append(r->p, &r->regions, &r->n_regions, sizeof(*to));
    if (to)
        *to = (uint32_t)region;
    else
        json_get__no_memory(r);
}

static int32_t map_region(struct json_reader *r, int32_t region)
{
    if (region < 0)
        return region;
    if ((uint32_t)region < r->n_regions)
        return (int32_t)r->regions[region];
    json_in__fail(&r->j, "region %d of %u", region, r->n_regions);
    return -1;
}

static void read_rank_records(struct json_reader *r)
{
    uint32_t n;
    struct rank_record *list = read_records(r, &record_ranks, &n);

    for (uint32_t i = 0; i < n && !r->j.code; i++) {
        int64_t number = list[i].number;
        int64_t at = number < 0 || number > INT32_MAX ? -1 : profile__rank(r->p, (int32_t)number);

        if (at < 0 || !rank_record__apply(&list[i], &r->p->ranks[at]))
            json_in__fail(&r->j, "an impossible rank");
    }
}

static void read_sample_column(struct json_reader *r, struct column *samples, uint64_t *n, size_t field)
{
    const struct record_field *f = &record_samples.fields[field];

    *n = 0;
    if (!json_in__enter(&r->j, '['))
        return;
    while (json_in__next(&r->j)) {
        int64_t v = json_in__i64(&r->j);

        if (r->j.code)
            return;
        if (*n == samples->n && !column__append(samples)) {
            json_get__no_memory(r);
            return;
        }
        if (!record__put((char *)samples->data + *n * samples->width + f->offset, f->kind, v))
            json_in__fail(&r->j, "a sample's %s is out of range", f->name);
        ++*n;
    }
}

static void check_samples(struct json_reader *r, struct rank *rank)
{
    struct sample *samples = rank->samples.data;

    for (uint64_t i = 0; i < rank->samples.n && !r->j.code; i++) {
        samples[i].region = map_region(r, samples[i].region);
        if (samples[i].module >= 0 && (uint32_t)samples[i].module >= rank->n_modules)
            json_in__fail(&r->j, "a sample in module %d of %u", samples[i].module, rank->n_modules);
    }
}

static void read_samples(struct json_reader *r, uint32_t at)
{
    struct rank *rank = &r->p->ranks[at];
    uint64_t n[8] = {0};
    size_t fields = record_samples.n_fields;

    if (rank->samples.n)
        json_in__fail(&r->j, "samples of one rank twice");
    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r)) {
        size_t k = 0;

        while (k < fields && !json_get__is(&r->key, record_samples.fields[k].name))
            k++;
        if (k < fields)
            read_sample_column(r, &rank->samples, &n[k], k);
        else if (json_get__is(&r->key, "modules"))
            rank->modules = read_records(r, &record_modules, &rank->n_modules);
        else
            json_in__skip(&r->j);
    }
    for (size_t k = 0; k < fields; k++) {
        if (n[k] != rank->samples.n)
            json_in__fail(&r->j, "samples with columns of different lengths");
    }
    check_samples(r, rank);
}

static void read_likwid_env(struct json_reader *r, uint32_t rank)
{
    json_get__metas(r, &r->p->ranks[rank].likwid_env, &r->p->ranks[rank].n_likwid_env);
}

static void read_region_names(struct json_reader *r)
{
    if (!json_in__enter(&r->j, '['))
        return;
    while (json_in__next(&r->j))
        read_region_name(r);
}

void json_get__ours(struct json_reader *r)
{
    struct profile *p = r->p;

    if (!json_in__enter(&r->j, '{'))
        return;
    while (json_get__member(r)) {
        if (json_get__is(&r->key, "how_ended"))
            p->how_ended = json_get__text(r);
        else if (json_get__is(&r->key, "region_names"))
            read_region_names(r);
        else if (json_get__is(&r->key, record_ranks.name))
            read_rank_records(r);
        else if (json_get__is(&r->key, record_losses.name))
            p->losses = read_records(r, &record_losses, &p->n_losses);
        else if (json_get__is(&r->key, record_notes.name))
            p->notes = read_records(r, &record_notes, &p->n_notes);
        else if (json_get__is(&r->key, record_processes.name))
            p->processes = read_records(r, &record_processes, &p->n_processes);
        else if (json_get__is(&r->key, record_samples.name))
            json_get__per_rank(r, read_samples);
        else if (json_get__is(&r->key, "likwid_environment"))
            json_get__per_rank(r, read_likwid_env);
        else
            json_in__skip(&r->j);
    }
    for (uint32_t i = 0; i < p->n_losses && !r->j.code; i++)
        p->losses[i].region = map_region(r, p->losses[i].region);
}
