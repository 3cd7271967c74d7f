/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report: one page without anything from outside.  The page itself is report.html beside this file; where it says
 * @@name@@, the JSON of a view is put in, the same that scope-report prints: the page draws, it computes nothing.
 */
#include "converters/views/lines.h"
#include "converters/views/summary.h"
#include "converters/views/tables.h"
#include "formats/exports.h"
#include "formats/html_timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINES_PER_REGION 25

__asm__(".pushsection .rodata, \"a\"\n"
        "html_page:\n.incbin \"converters/formats/report.html\"\n"
        "html_page_end:\n.byte 0\n.popsection\n");
extern const char html_page[] __attribute__((visibility("hidden")));
extern const char html_page_end[] __attribute__((visibility("hidden")));

struct page {
    const struct profile *p;
    const struct write_options *options;
    struct view_options view;
    struct out *o;
};

typedef int part_function(const struct page *page, FILE *out, struct err *err);

static int put_summary(const struct page *page, FILE *out, struct err *err)
{
    (void)err;
    return summary__print(page->p, &page->view, out);
}

static int put_tree(const struct page *page, FILE *out, struct err *err)
{
    return tree__print(page->p, &page->view, out, err);
}

static int put_ranks(const struct page *page, FILE *out, struct err *err)
{
    return ranks__print(page->p, &page->view, out, err);
}

static int put_threads(const struct page *page, FILE *out, struct err *err)
{
    return threads__print(page->p, &page->view, out, err);
}

static int put_counters(const struct page *page, FILE *out, struct err *err)
{
    return counters__print(page->p, &page->view, out, err);
}

static bool has_samples(const struct profile *p)
{
    for (uint32_t i = 0; i < p->n_ranks; i++)
        if (p->ranks[i].samples.n)
            return true;
    return false;
}

static int put_lines(const struct page *page, FILE *out, struct err *err)
{
    struct view_options view = page->view;

    (void)err;
    view.top = LINES_PER_REGION;
    view.per_rank = false;
    if (!has_samples(page->p)) {
        fputs("null", out);
        return 0;
    }
    return lines__print(page->p, &view, out, NULL);
}

static int put_timeline(const struct page *page, FILE *out, struct err *err)
{
    if (page->p->aggregate) {
        fputs("null", out);
        return 0;
    }
    return html_timeline__print(page->p, page->options, out, err);
}

static void put_meta_value(const struct meta *m, FILE *out)
{
    switch (m->kind) {
    case META_TEXT: json__string(out, m->text.s, m->text.len); return;
    case META_INT: fprintf(out, "%" PRId64, m->integer); return;
    case META_FLOAT:
        if (isfinite(m->real))
            fprintf(out, "%.17g", m->real);
        else
            fputs("null", out);
        return;
    case META_LIST: break;
    }
    fputc('[', out);
    for (uint32_t i = 0; i < m->n_list; i++) {
        fputs(i ? "," : "", out);
        json__string(out, m->list[i].s, m->list[i].len);
    }
    fputc(']', out);
}

static int put_meta(const struct page *page, FILE *out, struct err *err)
{
    (void)err;
    fputc('{', out);
    for (uint32_t i = 0; i < page->p->n_meta; i++) {
        const struct meta *m = &page->p->meta[i];
        fputs(i ? "," : "", out);
        json__string(out, m->key.s, m->key.len);
        fputc(':', out);
        put_meta_value(m, out);
    }
    fputc('}', out);
    return 0;
}

static const struct {
    const char *name;
    part_function *put;
} parts[] = {
    {"summary", put_summary}, {"tree", put_tree},         {"ranks", put_ranks}, {"threads", put_threads},
    {"counters", put_counters}, {"lines", put_lines}, {"timeline", put_timeline}, {"meta", put_meta},
};

/* JSON inside a script element: no name may end the element, or open a comment in it. */
static void put_json(struct out *o, const char *json, size_t len)
{
    size_t done = 0;

    for (size_t i = 0; i < len; i++) {
        if (json[i] != '<')
            continue;
        out__bytes(o, json + done, i - done);
        out__text(o, "\\u003c");
        done = i + 1;
    }
    out__bytes(o, json + done, len - done);
}

static int put_part(struct page *page, const char *name, size_t len, struct err *err)
{
    char *json = NULL;
    size_t size = 0;
    int rc = -EINVAL;
    FILE *memory = open_memstream(&json, &size);

    if (!memory)
        return err__set(err, ENOMEM, "not enough memory");
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (strlen(parts[i].name) == len && !memcmp(parts[i].name, name, len))
            rc = parts[i].put(page, memory, err);
    if (fclose(memory))
        rc = -ENOMEM;
    if (!rc)
        put_json(page->o, json, size);
    free(json);
    if (rc && !err->text[0])
        err__set(err, -rc, "%s", strerror(-rc));
    return rc;
}

static int put_page(struct page *page, struct err *err)
{
    const char *at = html_page, *end = html_page_end;
    int rc = 0;

    while (!rc) {
        const char *mark = memmem(at, (size_t)(end - at), "@@", 2);
        const char *close = mark ? memmem(mark + 2, (size_t)(end - mark - 2), "@@", 2) : NULL;
        if (!close)
            break;
        out__bytes(page->o, at, (size_t)(mark - at));
        rc = put_part(page, mark + 2, (size_t)(close - mark - 2), err);
        at = close + 2;
    }
    if (!rc)
        out__bytes(page->o, at, (size_t)(end - at));
    return rc;
}

static int write_html(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    struct page page = {.p = p,
                        .options = options,
                        .view = {.shape = VIEW_JSON,
                                 .ranks = options->ranks,
                                 .n_ranks = options->n_ranks,
                                 .per_rank = true,
                                 .overlaps_split = true}};
    int rc = out__open(&page.o, path, false, err);

    if (rc)
        return rc;
    err->text[0] = '\0';
    rc = put_page(&page, err);
    int closed = out__close(page.o, rc ? NULL : err);
    return rc ? rc : closed;
}

const struct format format_html = {
    .name = "html",
    .suffix = ".html",
    .help = "a report to open in a browser: tables, time line, flame graph, lines, ranks",
    .write = write_html,
};
