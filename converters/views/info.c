/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/info.h"

#include "converters/views/text_out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct counts {
    uint64_t threads, tasks, samples, perf, likwid, lines, lost_calls, lost_samples, aggregates, modules;
    int64_t ticks, first, last;
    uint32_t has;
    bool any_call, event_metadata, tags, ticks_known;
};

static struct counts count(const struct profile *p)
{
    struct counts c = {0};

    for (uint32_t k = 0; k < p->n_ranks; k++) {
        const struct rank *r = &p->ranks[k];

        c.threads += r->n_threads;
        c.tasks += r->n_tasks;
        c.samples += r->samples.n;
        c.perf += r->n_perf;
        c.likwid += r->n_likwid;
        c.lines += r->n_lines;
        c.modules += r->n_modules;
        if (r->ticks >= 0 && (r->samples.n || r->ticks || r->hz)) {
            c.ticks += r->ticks;
            c.ticks_known = true;
        }
    }
    for (uint64_t i = 0; i < p->n_rows; i++) {
        c.has |= p->rows[i].count ? p->rows[i].has : 0;
        c.aggregates += p->rows[i].aggregate.present ? p->rows[i].aggregate.count : 0;
        c.event_metadata |= p->rows[i].event_metadata.len > 2;
        c.tags |= p->rows[i].tags.len > 2;
    }
    for (uint32_t i = 0; i < p->n_losses; i++)
        *(p->losses[i].sample ? &c.lost_samples : &c.lost_calls) += p->losses[i].count;
    for (uint64_t i = 0; i < profile__calls(p); i++) {
        int64_t s = column_i64(&p->start)[i], e = column_i64(&p->end)[i];

        c.first = c.any_call && c.first < s ? c.first : s;
        c.last = c.any_call && c.last > e ? c.last : e;
        c.any_call = true;
    }
    return c;
}

static const char *const column_names[N_CALL_COLUMNS] = {
    "call_ids", "parent_ids", "thread_ids", "task_ids", "await_ns", "gpu_durations", NULL, "flags",
};

static const char *describe_source(const struct profile *p)
{
    static const struct {
        const char *name, *what;
    } known[] = {
        {"h5", "HDF5 profile"}, {"spt", "trace of one rank (.spt)"}, {"sps", "samples of one rank (.sps)"},
        {"json", "JSON profile"}, {"json.gz", "JSON profile, gzipped"}, {"scope", "capture of scope-bpf"},
        {"capture", "capture of scope-bpf"}, {"likwid", "LIKWID marker file"}, {"prof", "cProfile statistics (.prof)"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (p->source.len == strlen(known[i].name) && !memcmp(p->source.s, known[i].name, p->source.len))
            return known[i].what;
    }
    return p->source.s ? p->source.s : "profile";
}

/* ---- text ------------------------------------------------------------------------------------------------------ */
static void put_text(FILE *out, struct text t, bool utf8)
{
    struct strbuf b = {0};

    show__text(&b, t, utf8);
    fputs(b.s ? b.s : "", out);
    strbuf__deinit(&b);
}

static void put_count(FILE *out, uint64_t n, const char *one, const char *many)
{
    struct strbuf b = {0};

    show__count(&b, n);
    fprintf(out, "%s %s", b.s ? b.s : "?", n == 1 ? one : many);
    strbuf__deinit(&b);
}

static void put_ranks(FILE *out, const struct profile *p)
{
    put_count(out, p->n_ranks, "rank", "ranks");
    for (uint32_t k = 0; k < p->n_ranks && k < 16; k++)
        fprintf(out, "%s%d", k ? "," : " (", p->ranks[k].number);
    if (p->n_ranks)
        fputs(p->n_ranks > 16 ? ",…)" : ")", out);
}

static void text_meta(FILE *out, const struct profile *p, bool utf8)
{
    for (uint32_t i = 0; i < p->n_meta; i++) {
        const struct meta *m = &p->meta[i];

        fputs("  ", out);
        put_text(out, m->key, utf8);
        fputs(" = ", out);
        if (m->kind == META_TEXT)
            put_text(out, m->text, utf8);
        else if (m->kind == META_INT)
            fprintf(out, "%" PRId64, m->integer);
        else if (m->kind == META_FLOAT)
            fprintf(out, "%.17g", m->real);
        for (uint32_t k = 0; m->kind == META_LIST && k < m->n_list; k++) {
            fputs(k ? ", " : "", out);
            put_text(out, m->list[k], utf8);
        }
        putc('\n', out);
    }
}

static void text_columns(FILE *out, const struct counts *c)
{
    unsigned n = 0;

    for (unsigned i = 0; i < N_CALL_COLUMNS; i++) {
        if (c->has >> i & 1 && column_names[i])
            fprintf(out, "%s%s", n++ ? ", " : "columns: ", column_names[i]);
    }
    if (c->event_metadata)
        fprintf(out, "%sevent metadata", n++ ? ", " : "columns: ");
    if (c->tags)
        fprintf(out, "%stags", n++ ? ", " : "columns: ");
    if (n)
        putc('\n', out);
}

static void text_also(FILE *out, const struct counts *c)
{
    const struct {
        uint64_t n;
        const char *what;
    } also[] = {{c->perf, "regions with performance counters"}, {c->likwid, "LIKWID results"}, {c->lines, "line profiles"},
                {c->tasks, "tasks"}, {c->modules, "modules"}};
    unsigned n = 0;

    for (unsigned i = 0; i < sizeof(also) / sizeof(*also); i++) {
        if (also[i].n)
            fprintf(out, "%s%" PRIu64 " %s", n++ ? ", " : "also: ", also[i].n, also[i].what);
    }
    if (n)
        putc('\n', out);
}

static void print_text(const struct profile *p, const char *path, const struct counts *c, const struct screen *screen, FILE *out)
{
    struct strbuf b = {0};

    put_text(out, (struct text){path, (uint32_t)strlen(path)}, screen->utf8);
    fprintf(out, ": %s", describe_source(p));
    if (p->schema)
        fprintf(out, ", schema %d, %s", p->schema, p->aggregate ? "totals only" : "all calls");
    fputs("\n", out);
    put_ranks(out, p);
    fputs(", ", out);
    put_count(out, c->threads, "thread", "threads");
    fputs(", ", out);
    put_count(out, p->n_regions, "region", "regions");
    fputs(", ", out);
    put_count(out, profile__calls(p) + c->aggregates, "call", "calls");
    if (c->any_call) {
        show__ns(&b, c->last - c->first, screen->utf8);
        fprintf(out, " within %s", b.s ? b.s : "?");
        strbuf__deinit(&b);
    }
    putc('\n', out);
    if (c->samples || c->ticks_known)
        fprintf(out, "%" PRIu64 " samples, %" PRId64 " ticks\n", c->samples, c->ticks);
    text_columns(out, c);
    text_also(out, c);
    if (p->n_losses || p->n_processes || p->how_ended.len)
        fprintf(out, "lost: %" PRIu64 " calls, %" PRIu64 " samples\n", c->lost_calls, c->lost_samples);
    if (p->how_ended.len) {
        fputs("recording ended: ", out);
        put_text(out, p->how_ended, screen->utf8);
        putc('\n', out);
    }
    if (p->n_meta) {
        fputs("metadata:\n", out);
        text_meta(out, p, screen->utf8);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */
static void json_text(FILE *out, struct text t)
{
    if (t.s)
        json__string(out, t.s, t.len);
    else
        fputs("null", out);
}

static void json_meta(FILE *out, const struct profile *p)
{
    fputs("\"metadata\": {", out);
    for (uint32_t i = 0; i < p->n_meta; i++) {
        const struct meta *m = &p->meta[i];

        fputs(i ? ",\n " : "\n ", out);
        json__string(out, m->key.s, m->key.len);
        fputs(": ", out);
        if (m->kind == META_TEXT)
            json_text(out, m->text);
        else if (m->kind == META_INT)
            fprintf(out, "%" PRId64, m->integer);
        else if (m->kind == META_FLOAT && m->real - m->real == 0)
            fprintf(out, "%.17g", m->real);
        else if (m->kind == META_FLOAT)
            fputs("null", out);
        else
            putc('[', out);
        for (uint32_t k = 0; m->kind == META_LIST && k < m->n_list; k++) {
            fputs(k ? ", " : "", out);
            json_text(out, m->list[k]);
        }
        if (m->kind == META_LIST)
            putc(']', out);
    }
    fputs("}", out);
}

static void print_json(const struct profile *p, const char *path, const struct counts *c, FILE *out)
{
    fputs("{\"file\": ", out);
    json__string(out, path, strlen(path));
    fputs(", \"format\": ", out);
    json_text(out, p->source);
    fprintf(out, ", \"schema\": %d, \"layout\": \"%s\",\n\"ranks\": [", p->schema, p->aggregate ? "aggregate" : "columnar");
    for (uint32_t k = 0; k < p->n_ranks; k++)
        fprintf(out, "%s%d", k ? ", " : "", p->ranks[k].number);
    fprintf(out, "], \"regions\": %u, \"calls\": %" PRIu64 ", \"threads\": %" PRIu64 ", \"tasks\": %" PRIu64
            ", \"samples\": %" PRIu64 ", \"ticks\": ", p->n_regions, profile__calls(p) + c->aggregates, c->threads, c->tasks,
            c->samples);
    fprintf(out, c->ticks_known ? "%" PRId64 : "null", c->ticks);
    if (c->any_call)
        fprintf(out, ", \"first_start_ns\": %" PRId64 ", \"last_end_ns\": %" PRId64, c->first, c->last);
    fputs(",\n\"columns\": [", out);
    for (unsigned i = 0, n = 0; i < N_CALL_COLUMNS; i++) {
        if (c->has >> i & 1 && column_names[i])
            fprintf(out, "%s\"%s\"", n++ ? ", " : "", column_names[i]);
    }
    fprintf(out, "], \"perf_events\": %" PRIu64 ", \"likwid\": %" PRIu64 ", \"line_profiles\": %" PRIu64
            ", \"modules\": %" PRIu64 ",\n\"lost\": %" PRIu64 ", \"lost_samples\": %" PRIu64 ", \"how_ended\": ",
            c->perf, c->likwid, c->lines, c->modules, c->lost_calls, c->lost_samples);
    if (p->how_ended.len)
        json_text(out, p->how_ended);
    else
        fputs("null", out);
    fputs(",\n", out);
    json_meta(out, p);
    fputs("}", out);
}

int info__print(const struct profile *p, const char *path, const struct view_options *options, FILE *out)
{
    struct counts c = count(p);

    if (options->shape == VIEW_JSON)
        print_json(p, path, &c, out);
    else
        print_text(p, path, &c, &options->screen, out);
    return ferror(out) ? -EIO : 0;
}
