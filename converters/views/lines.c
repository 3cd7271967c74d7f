/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * region 'sweep': 1,203 samples, 81.2 % of those in regions
 *   share  samples  function  place         source
 *    62.1      747  relax     heat.c:88     u[i] = 0.25 * (…
 */
#include "converters/views/lines.h"

#include "converters/views/symbols.h"
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HINT_SHARE 0.05 /* of the samples: what is less is not worth a line of advice */

struct spot { /* samples of one region at one address, later on one line */
    uint32_t region;
    int32_t rank; /* number; -1: all ranks together */
    struct binary *binary;
    uint64_t address;
    uint64_t samples;
    struct place place;
};

struct lines {
    const struct profile *p;
    const struct view_options *options;
    struct symbols *symbols;
    struct column spots;
    uint64_t *per_region; /* samples of each region */
    uint64_t inside, outside;
    int64_t ticks;
    bool ticks_known, any_samples;
    bool functions; /* a row per function, not per line */
};

/* ---- counting ------------------------------------------------------------------------------------------------------ */
static int compare_spots(const void *a, const void *b, void *arg)
{
    const struct spot *x = a, *y = b;

    (void)arg;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->binary != y->binary)
        return (uintptr_t)x->binary < (uintptr_t)y->binary ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

static int add_sample(struct lines *l, const struct rank *rank, struct binary **binaries, const struct sample *sample)
{
    bool known = sample->module >= 0 && (uint32_t)sample->module < rank->n_modules;
    struct spot *spot;

    l->any_samples = true;
    if (sample->region < 0 || (uint32_t)sample->region >= l->p->n_regions) {
        l->outside++;
        return 0;
    }
    if (!view__wants_region(l->options, l->p->regions[sample->region].name))
        return 0;
    l->inside++;
    l->per_region[sample->region]++;
    spot = column__append(&l->spots);
    if (!spot)
        return -ENOMEM;
    *spot = (struct spot){.region = (uint32_t)sample->region, .samples = 1};
    spot->rank = l->options->per_rank ? rank->number : -1;
    spot->binary = known ? binaries[sample->module] : NULL;
    spot->address = sample->address - (known ? rank->modules[sample->module].bias : 0);
    return 0;
}

/* Equal neighbours become one. */
static void unite(struct column *spots, int (*compare)(const void *, const void *, void *), void *arg)
{
    struct spot *list = spots->data;
    uint64_t n = 0;

    for (uint64_t i = 0; i < spots->n; i++) {
        if (n && !compare(&list[n - 1], &list[i], arg))
            list[n - 1].samples += list[i].samples;
        else
            list[n++] = list[i];
    }
    spots->n = n;
}

static int count_rank(struct lines *l, const struct rank *rank)
{
    struct binary **binaries = calloc((size_t)rank->n_modules + 1, sizeof(*binaries));
    int rc = binaries ? 0 : -ENOMEM;

    for (uint32_t m = 0; !rc && m < rank->n_modules; m++) {
        binaries[m] = symbols__binary(l->symbols, &rank->modules[m]);
        rc = binaries[m] ? 0 : -ENOMEM;
    }
    for (uint64_t i = 0; !rc && i < rank->samples.n; i++)
        rc = add_sample(l, rank, binaries, (const struct sample *)rank->samples.data + i);
    if (rank->ticks >= 0 && (rank->hz || rank->samples.n)) {
        l->ticks += rank->ticks;
        l->ticks_known = true;
        l->any_samples = true;
    }
    free(binaries);
    return rc;
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */
static int compare_texts(struct text a, struct text b)
{
    uint32_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.s, b.s, n) : 0;

    return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int compare_frames(const struct frame *a, const struct frame *b)
{
    int c = compare_texts(a->file, b->file);

    c = c ? c : (a->line > b->line) - (a->line < b->line);
    return c ? c : compare_texts(a->function, b->function);
}

/* The whole chain counts: the same inlined line in two callers is two places.  A table shows its two ends. */
static int compare_places(const void *a, const void *b, void *arg)
{
    const struct lines *l = arg;
    const struct spot *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (!x->place.frames[0].file.s && !y->place.frames[0].file.s && x->binary != y->binary)
        return (uintptr_t)x->binary < (uintptr_t)y->binary ? -1 : 1;
    if (l->functions) {
        int c = compare_texts(x->place.frames[0].file, y->place.frames[0].file);

        return c ? c : compare_texts(x->place.frames[0].function, y->place.frames[0].function);
    }
    if (l->options->shape != VIEW_JSON) {
        int c = compare_frames(&x->place.frames[0], &y->place.frames[0]);

        return c ? c : compare_texts(x->place.frames[x->place.n - 1].function, y->place.frames[y->place.n - 1].function);
    }
    for (unsigned i = 0; i < x->place.n && i < y->place.n; i++) {
        int c = compare_frames(&x->place.frames[i], &y->place.frames[i]);

        if (c)
            return c;
    }
    return (x->place.n > y->place.n) - (x->place.n < y->place.n);
}

static int compare_hot(const void *a, const void *b, void *arg)
{
    const struct lines *l = arg;
    const struct spot *x = a, *y = b;

    if (x->region != y->region) {
        uint64_t m = l->per_region[x->region], n = l->per_region[y->region];

        if (m != n)
            return m > n ? -1 : 1;
        return x->region < y->region ? -1 : 1;
    }
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    return compare_places(a, b, arg);
}

static void resolve(struct lines *l)
{
    static const struct frame unknown;
    struct spot *list = l->spots.data;

    for (uint64_t i = 0; i < l->spots.n; i++) {
        if (!list[i].binary)
            list[i].place = (struct place){&unknown, 1};
        else
            list[i].place = symbols__lookup(l->symbols, list[i].binary, list[i].address);
    }
}

static int count_lines(struct lines *l)
{
    int rc = 0;

    for (uint32_t k = 0; !rc && k < l->p->n_ranks; k++) {
        if (view__wants_rank(l->options, l->p->ranks[k].number))
            rc = count_rank(l, &l->p->ranks[k]);
    }
    rc = rc ? rc : column__sort(&l->spots, compare_spots, NULL);
    if (rc)
        return rc;
    unite(&l->spots, compare_spots, NULL);
    resolve(l);
    rc = column__sort(&l->spots, compare_places, l);
    if (rc)
        return rc;
    unite(&l->spots, compare_places, l);
    return column__sort(&l->spots, compare_hot, l);
}

/* ---- tables -------------------------------------------------------------------------------------------------------------- */
enum { C_REGION, C_RANK, C_SHARE, C_SAMPLES, C_FUNCTION, C_FILE, C_LINE, C_PLACE, C_SOURCE, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_REGION] = {"region", NULL, CELL_TEXT, 0},
    [C_RANK] = {"rank", NULL, CELL_INT, 0},
    [C_SHARE] = {"share", "share", CELL_SHARE, 255},
    [C_SAMPLES] = {"samples", "samples", CELL_COUNT, 255},
    [C_FUNCTION] = {"function", "function", CELL_TEXT, 255},
    [C_FILE] = {"file", NULL, CELL_TEXT, 0},
    [C_LINE] = {"line", NULL, CELL_INT, 0},
    [C_PLACE] = {"place", "place", CELL_TEXT, 255},
    [C_SOURCE] = {"source", "source", CELL_TEXT, 100},
};

static struct text or_unknown(struct text t)
{
    return t.s ? t : (struct text){"??", 2};
}

/* "relax (inlined into sweep)", "heat.c:88" */
static char *function_text(const struct place *place)
{
    struct text f = or_unknown(place->frames[0].function), outer = or_unknown(place->frames[place->n - 1].function);
    char *s = NULL;

    if (place->n < 2 || asprintf(&s, "%.*s (inlined into %.*s)", (int)f.len, f.s, (int)outer.len, outer.s) < 0)
        return NULL;
    return s;
}

static struct text base_name(struct text path)
{
    const char *slash = path.len ? memrchr(path.s, '/', path.len) : NULL;

    return slash ? (struct text){slash + 1, path.len - (uint32_t)(slash + 1 - path.s)} : path;
}

/* Without a line at least the binary: "[libmpi.so.40]". */
static char *place_text(const struct spot *spot)
{
    const struct frame *f = &spot->place.frames[0];
    struct text name = base_name(f->file.s || !spot->binary ? or_unknown(f->file) : binary__path(spot->binary));
    bool is_binary = !f->file.s && spot->binary;
    char *s = NULL;

    if (is_binary ? asprintf(&s, "[%.*s]", (int)name.len, name.s) < 0 : asprintf(&s, "%.*s:%d", (int)name.len, name.s, f->line) < 0)
        return NULL;
    return s;
}

struct strings { /* made for one table */
    char **list;
    size_t n;
};

static const char *keep(struct strings *strings, char *s)
{
    char **list = s ? reallocarray(strings->list, strings->n + 1, sizeof(*list)) : NULL;

    if (!list) {
        free(s);
        return NULL;
    }
    strings->list = list;
    return list[strings->n++] = s;
}

static void forget(struct strings *strings)
{
    for (size_t i = 0; i < strings->n; i++)
        free(strings->list[i]);
    free(strings->list);
    memset(strings, 0, sizeof(*strings));
}

static void add_row(const struct lines *l, struct table *t, struct strings *strings, const struct spot *s)
{
    const struct frame *f = &s->place.frames[0];
    struct cell *row = table__row(t);
    struct text source;
    const char *text;

    if (!row)
        return;
    source = symbols__source(l->symbols, f->file, f->line);
    row[C_REGION] = cell_text(l->p->regions[s->region].name);
    row[C_RANK] = (struct cell){.known = s->rank >= 0, .integer = s->rank};
    row[C_SHARE] = cell_real((double)s->samples / (double)l->per_region[s->region]);
    row[C_SAMPLES] = cell_int((int64_t)s->samples);
    text = keep(strings, function_text(&s->place));
    row[C_FUNCTION] = text && l->options->shape == VIEW_TEXT ? cell_str(text) : cell_text(or_unknown(f->function));
    row[C_FILE] = cell_text(or_unknown(f->file));
    row[C_LINE] = cell_int(f->line);
    row[C_PLACE] = cell_str(keep(strings, place_text(s)));
    row[C_SOURCE] = source.s ? cell_text(source) : (struct cell){0};
}

/* End of the spots that begin at `from` and are of one region and rank. */
static uint64_t group_end(const struct lines *l, uint64_t from)
{
    const struct spot *list = l->spots.data;
    uint64_t i = from;

    while (i < l->spots.n && list[i].region == list[from].region && list[i].rank == list[from].rank)
        i++;
    return i;
}

static uint64_t shown_end(const struct lines *l, uint64_t from, uint64_t end)
{
    return l->options->top && end - from > l->options->top ? from + l->options->top : end;
}

static void heading(const struct lines *l, const struct spot *s, FILE *out)
{
    struct strbuf b = {0};

    strbuf__printf(&b, "region '");
    show__text(&b, l->p->regions[s->region].name, l->options->screen.utf8);
    strbuf__printf(&b, "'");
    if (s->rank >= 0)
        strbuf__printf(&b, ", rank %d", s->rank);
    strbuf__printf(&b, ": ");
    show__count(&b, l->per_region[s->region]);
    strbuf__printf(&b, " samples%s, %.1f %% of those in regions", s->rank >= 0 ? " on all ranks" : "",
                   100.0 * (double)l->per_region[s->region] / (double)l->inside);
    fprintf(out, l->options->screen.colour ? "\033[1m%s\033[0m\n" : "%s\n", b.s ? b.s : "");
    strbuf__deinit(&b);
}

static void print_text(struct lines *l, FILE *out)
{
    for (uint64_t i = 0, end; i < l->spots.n; i = end) {
        struct strings strings = {0};
        struct table t;

        end = group_end(l, i);
        heading(l, (const struct spot *)l->spots.data + i, out);
        table__init(&t, columns, N_COLUMNS);
        for (uint64_t k = i; k < shown_end(l, i, end); k++)
            add_row(l, &t, &strings, (const struct spot *)l->spots.data + k);
        table__text(&t, &l->options->screen, out);
        if (shown_end(l, i, end) < end)
            fprintf(out, "(and %" PRIu64 " more lines; --top 0 shows all)\n", end - shown_end(l, i, end));
        putc('\n', out);
        table__deinit(&t);
        forget(&strings);
    }
    if (!l->any_samples)
        fputs("no samples here: record without --no-samples\n", out);
    else if (!l->inside)
        fprintf(out, "no sample fell into a region (%" PRId64 " ticks)\n", l->ticks_known ? l->ticks : (int64_t)l->outside);
}

static void print_csv(struct lines *l, FILE *out)
{
    struct strings strings = {0};
    struct table t;

    table__init(&t, columns, N_COLUMNS);
    for (uint64_t i = 0, end; i < l->spots.n; i = end) {
        end = group_end(l, i);
        for (uint64_t k = i; k < shown_end(l, i, end); k++)
            add_row(l, &t, &strings, (const struct spot *)l->spots.data + k);
    }
    table__csv(&t, out);
    table__deinit(&t);
    forget(&strings);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------------ */
static void json_frame(const struct frame *f, FILE *out)
{
    struct text function = or_unknown(f->function), file = or_unknown(f->file);

    fputs("\"function\": ", out);
    json__string(out, function.s, function.len);
    fputs(", \"file\": ", out);
    json__string(out, file.s, file.len);
    fprintf(out, ", \"line\": %d", f->line);
}

static void json_line(const struct lines *l, const struct spot *s, FILE *out)
{
    const struct frame *f = &s->place.frames[0];
    struct text source = symbols__source(l->symbols, f->file, f->line);

    fputs("\n  {", out);
    json_frame(f, out);
    fprintf(out, ", \"samples\": %" PRIu64 ", \"share\": %.17g", s->samples,
            (double)s->samples / (double)l->per_region[s->region]);
    if (s->rank >= 0)
        fprintf(out, ", \"rank\": %d", s->rank);
    if (s->binary) {
        fputs(", \"module\": ", out);
        json__string(out, binary__path(s->binary).s, binary__path(s->binary).len);
    }
    fputs(", \"source\": ", out);
    if (source.s)
        json__string(out, source.s, source.len);
    else
        fputs("null", out);
    fputs(", \"inlined_into\": [", out);
    for (unsigned i = 1; i < s->place.n; i++) {
        fputs(i > 1 ? ", {" : "{", out);
        json_frame(&s->place.frames[i], out);
        putc('}', out);
    }
    fputs("]}", out);
}

static void print_json(struct lines *l, FILE *out)
{
    const struct spot *list = l->spots.data;

    fputs("{\"regions\": [", out);
    for (uint64_t i = 0, end; i < l->spots.n; i = end) {
        bool new_region = !i || list[i].region != list[i - 1].region;

        end = group_end(l, i);
        if (new_region) {
            fprintf(out, "%s\n {\"name\": ", i ? "]}," : "");
            json__string(out, l->p->regions[list[i].region].name.s, l->p->regions[list[i].region].name.len);
            fprintf(out, ", \"samples\": %" PRIu64 ", \"share\": %.17g, \"lines\": [", l->per_region[list[i].region],
                    (double)l->per_region[list[i].region] / (double)l->inside);
        }
        for (uint64_t k = i; k < shown_end(l, i, end); k++) {
            fputs(k > i || !new_region ? "," : "", out);
            json_line(l, &list[k], out);
        }
    }
    fprintf(out, "%s],\n\"samples_in_regions\": %" PRIu64 ", \"samples_outside\": %" PRIu64 ", \"ticks\": ",
            l->spots.n ? "]}" : "", l->inside, l->outside);
    fprintf(out, l->ticks_known ? "%" PRId64 "}\n" : "null}\n", l->ticks);
}

/* ---- advice ---------------------------------------------------------------------------------------------------------------- */
static const char *advice(enum binary_state state)
{
    switch (state) {
    case BINARY_NO_LINES: return "has no debug information: functions only, no lines (compile it with -g)";
    case BINARY_GONE: return "is not there any more: no functions and lines of it";
    case BINARY_CHANGED: return "was built anew since the recording (another build-id): no functions and lines of it";
    case BINARY_BAD: return "cannot be read: no functions and lines of it";
    case BINARY_OK:
    case BINARY_NO_FILE: break;
    }
    return NULL;
}

static void print_hints(const struct lines *l, FILE *hint)
{
    const struct spot *list = l->spots.data;

    for (uint64_t i = 0; i < l->spots.n; i++) {
        const char *text = list[i].binary ? advice(binary__state(list[i].binary)) : NULL;
        struct strbuf b = {0};
        uint64_t k = 0, samples = 0;

        while (text && k < i && list[k].binary != list[i].binary)
            k++;
        if (!text || k < i)
            continue;
        for (; k < l->spots.n; k++)
            samples += list[k].binary == list[i].binary ? list[k].samples : 0;
        if ((double)samples < HINT_SHARE * (double)l->inside)
            continue;
        show__text(&b, binary__path(list[i].binary), true);
        fprintf(hint, "hint: %s %s\n", b.s ? b.s : "?", text);
        strbuf__deinit(&b);
    }
}

/* ---- functions --------------------------------------------------------------------------------------------------------- */
static const struct table_column function_columns[] = {
    {"region", "region", CELL_TEXT, 200}, {"rank", NULL, CELL_INT, 0},          {"share", "share", CELL_SHARE, 255},
    {"samples", "samples", CELL_COUNT, 255}, {"function", "function", CELL_TEXT, 255}, {"file", "file", CELL_TEXT, 100},
};

static int print_functions(struct lines *l, FILE *out)
{
    const struct spot *list = l->spots.data;
    struct table t;
    int rc;

    table__init(&t, function_columns, 6);
    for (uint64_t i = 0, end; i < l->spots.n; i = end) {
        end = group_end(l, i);
        for (uint64_t k = i; k < shown_end(l, i, end); k++) {
            struct cell *row = table__row(&t);

            if (!row)
                break;
            row[0] = cell_text(l->p->regions[list[k].region].name);
            row[1] = (struct cell){.known = list[k].rank >= 0, .integer = list[k].rank};
            row[2] = cell_real((double)list[k].samples / (double)l->per_region[list[k].region]);
            row[3] = cell_int((int64_t)list[k].samples);
            row[4] = cell_text(or_unknown(list[k].place.frames[0].function));
            row[5] = cell_text(or_unknown(list[k].place.frames[0].file));
        }
    }
    if (!t.n_rows && l->options->shape == VIEW_TEXT)
        fputs("no sample fell into a region\n", out);
    rc = t.n_rows || l->options->shape != VIEW_TEXT ? table__print(&t, l->options, out) : 0;
    if (!rc && l->options->shape == VIEW_JSON)
        putc('\n', out);
    table__deinit(&t);
    return rc;
}

static int print_all(const struct profile *p, const struct view_options *options, bool functions, FILE *out, FILE *hint)
{
    struct lines l = {.p = p, .options = options, .symbols = symbols__create(), .functions = functions};
    int rc = -ENOMEM;

    column__init(&l.spots, sizeof(struct spot));
    l.per_region = calloc((size_t)p->n_regions + 1, sizeof(*l.per_region));
    if (l.symbols && l.per_region)
        rc = count_lines(&l);
    if (!rc) {
        if (functions)
            rc = print_functions(&l, out);
        else if (options->shape == VIEW_JSON)
            print_json(&l, out);
        else if (options->shape == VIEW_CSV)
            print_csv(&l, out);
        else
            print_text(&l, out);
        if (hint)
            print_hints(&l, hint);
    }
    column__deinit(&l.spots);
    free(l.per_region);
    symbols__destroy(l.symbols);
    return rc ? rc : ferror(out) ? -EIO : 0;
}

int functions__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    (void)err;
    return print_all(p, options, true, out, stderr);
}

int lines__print(const struct profile *p, const struct view_options *options, FILE *out, FILE *hint)
{
    return print_all(p, options, false, out, hint);
}
