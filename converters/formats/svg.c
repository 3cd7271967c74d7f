/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A flame graph of one rank: a frame per call path, as wide as its time, callers below.  One file without anything from
 * outside: hover for numbers, click to zoom, Ctrl-F or the box to search; without scripts (in print, as an image) it is a
 * picture.  Frames below a share of the whole are left out.
 */
#include "converters/names.h"
#include "converters/views/paths.h"
#include "formats/exports.h"
#include "formats/plots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROW         18
#define TOP         46
#define BOTTOM      12
#define SIDE        10
#define CHAR_WIDTH  7.0
#define MAX_ROWS    600 /* deeper frames are left out, and that is said */

struct flame {
    const struct profile *p;
    struct out *o;
    struct paths t;
    struct text *shown;
    int64_t *sum;      /* total of a node, not less than its children's */
    double *left;      /* x of its left edge, ns */
    uint64_t left_out; /* frames */
    unsigned rows;
    double width, threshold;
};

static const char style[] =
    "<style>text{font:12px Verdana,DejaVu Sans,sans-serif;pointer-events:none}.h{font-size:16px}.f:hover rect{stroke:#000}"
    ".f{cursor:pointer}.m rect{fill:#c040d0}.d{opacity:.35}#q{cursor:pointer;pointer-events:auto;fill:#555}</style>\n";

/* x and w of the frames are data-x and data-w in shares of the whole: zooming is a change of scale. */
static const char script[] =
    "<script><![CDATA[\n"
    "(function(){var s=document.documentElement,fs=[].slice.call(s.querySelectorAll('.f')),info=s.getElementById('i'),"
    "W=+s.getAttribute('data-w'),S=+s.getAttribute('data-s'),C=7;\n"
    "function n(f,k){return +f.getAttribute(k)}\n"
    "function place(f,x,w){var r=f.querySelector('rect'),t=f.querySelector('text'),name=f.getAttribute('data-n'),"
    "m=Math.floor((w-6)/C);r.setAttribute('x',S+x);r.setAttribute('width',Math.max(w-.5,.1));t.setAttribute('x',S+x+3);"
    "t.textContent=m<3?'':name.length<=m?name:name.slice(0,m-1)+'\\u2026'}\n"
    "function zoom(z){var x0=z?n(z,'data-x'):0,w0=z?n(z,'data-w'):1,d=z?n(z,'data-d'):0;fs.forEach(function(f){"
    "var x=n(f,'data-x'),w=n(f,'data-w'),above=n(f,'data-d')<d&&x<=x0+1e-12&&x+w>=x0+w0-1e-12,"
    "inside=x>=x0-1e-12&&x+w<=x0+w0+1e-12&&n(f,'data-d')>=d;f.style.display=above||inside?'':'none';"
    "f.classList.toggle('d',above&&!!z);if(above)place(f,0,W);else if(inside)place(f,(x-x0)/w0*W,w/w0*W)})}\n"
    "function search(){var q=prompt('Search (a part of a name, or a regular expression):','');if(q===null)return;var e;"
    "try{e=new RegExp(q)}catch(x){e={test:function(v){return v.indexOf(q)>=0}}}var c=0;fs.forEach(function(f){"
    "var m=q!==''&&e.test(f.getAttribute('data-n'));f.classList.toggle('m',m);c+=m});"
    "info.textContent=q===''?'':c+' frames match '+q}\n"
    "fs.forEach(function(f){f.addEventListener('click',function(){zoom(n(f,'data-d')?f:null)});"
    "f.addEventListener('mouseover',function(){info.textContent=f.querySelector('title').textContent})});\n"
    "s.getElementById('q').addEventListener('click',search);\n"
    "window.addEventListener('keydown',function(e){if(e.key==='f'&&(e.ctrlKey||e.metaKey)){e.preventDefault();search()}"
    "if(e.key==='Escape')zoom(null)})})();\n]]></script>\n";

/* ---- layout ---------------------------------------------------------------------------------------------------------------- */
static int layout(struct flame *f)
{
    struct paths *t = &f->t;
    double *next = calloc(t->n + 1, sizeof(*next)), top = 0;

    f->sum = calloc(t->n + 1, sizeof(*f->sum));
    f->left = calloc(t->n + 1, sizeof(*f->left));
    if (!f->sum || !f->left || !next) {
        free(next);
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < t->n; i++)
        f->sum[i] = t->nodes[i].total;
    for (uint64_t i = 0; i < t->n; i++) { /* parents come first */
        double *at = t->nodes[i].parent < 0 ? &top : &next[t->nodes[i].parent];

        f->left[i] = *at;
        *at += (double)f->sum[i];
        next[i] = f->left[i];
    }
    free(next);
    return 0;
}

static double share(const struct flame *f, uint64_t i)
{
    return f->t.top > 0 ? (double)f->sum[i] / (double)f->t.top : 0;
}

static bool is_drawn(const struct flame *f, uint64_t i)
{
    return share(f, i) >= f->threshold && f->t.nodes[i].depth < MAX_ROWS;
}

static void count_rows(struct flame *f)
{
    f->rows = 1;
    for (uint64_t i = 0; i < f->t.n; i++) {
        if (!is_drawn(f, i))
            f->left_out++;
        else if (f->t.nodes[i].depth + 2 > f->rows)
            f->rows = f->t.nodes[i].depth + 2;
    }
}

/* ---- drawing --------------------------------------------------------------------------------------------------------------- */
/* The same name has the same colour in every graph. */
static void put_colour(struct out *o, struct text name)
{
    uint32_t h = 2166136261u;

    for (uint32_t i = 0; i < name.len; i++)
        h = (h ^ (uint8_t)name.s[i]) * 16777619u;
    h ^= h >> 15;
    out__printf(o, "rgb(%u,%u,%u)", 205 + h % 50, 90 + (h >> 8) % 130, 40 + (h >> 16) % 50);
}

/* As many characters as fit, cut at the border of one. */
static struct text fit(struct text name, double width, char *buffer, size_t size)
{
    size_t most = width > 6 + 3 * CHAR_WIDTH ? (size_t)((width - 6) / CHAR_WIDTH) : 0, used = 0, chars = 0;
    uint32_t c;

    if (!most || utf8__width(name.s ? name.s : "", name.len) <= most)
        return most ? name : (struct text){0};
    while (used < name.len && chars + 1 < most && used + 8 < size) {
        unsigned n = utf8__decode(name.s + used, name.len - used, &c);

        n = n ? n : 1;
        memcpy(buffer + used, name.s + used, n);
        used += n;
        chars++;
    }
    memcpy(buffer + used, "\xe2\x80\xa6", 3);
    return (struct text){buffer, (uint32_t)used + 3};
}

static void put_frame(struct flame *f, struct text name, double x, double w, unsigned depth, uint64_t calls, int64_t total,
                      int64_t self)
{
    double pixels = w * (f->width - 2 * SIDE), left = SIDE + x * (f->width - 2 * SIDE);
    double y = TOP + (double)(f->rows - 1 - depth) * ROW;
    struct strbuf b = {0};
    char buffer[512];

    show__ns(&b, total, true);
    strbuf__printf(&b, ", own ");
    show__ns(&b, self, true);
    out__text(f->o, "<g class=\"f\" data-n=\"");
    out__xml(f->o, name);
    out__printf(f->o, "\" data-x=\"%.12g\" data-w=\"%.12g\" data-d=\"%u\"><title>", x, w, depth);
    out__xml(f->o, name);
    out__printf(f->o, ": %s, %" PRIu64 " call%s, %.2f %%</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"",
                b.s ? b.s : "", calls, calls == 1 ? "" : "s", w * 100, left, y, pixels > 0.6 ? pixels - 0.5 : 0.1, ROW - 1);
    put_colour(f->o, name);
    out__printf(f->o, "\"/><text x=\"%.2f\" y=\"%.0f\">", left + 3, y + ROW - 5);
    out__xml(f->o, fit(name, pixels, buffer, sizeof(buffer)));
    out__text(f->o, "</text></g>\n");
    strbuf__deinit(&b);
}

static void put_head(struct flame *f, const struct rank *rank)
{
    double height = TOP + (double)f->rows * ROW + BOTTOM;
    struct strbuf b = {0};

    show__ns(&b, f->t.top, true);
    out__printf(f->o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
                      "data-w=\"%g\" data-s=\"%d\">\n<title>Flame graph, rank %d</title>\n", f->width, height, f->width - 2 * SIDE,
                SIDE, rank->number);
    out__text(f->o, style);
    out__printf(f->o, "<rect width=\"%g\" height=\"%g\" fill=\"#fffaf2\"/>\n<text class=\"h\" x=\"%d\" y=\"20\">Rank %d: %" PRIu64
                      " calls, %s</text>\n<text id=\"i\" x=\"%d\" y=\"38\">", f->width, height, SIDE, rank->number, f->t.calls,
                b.s ? b.s : "", SIDE);
    if (f->left_out)
        out__printf(f->o, "%" PRIu64 " frames below %g %% are left out", f->left_out, f->threshold * 100);
    out__printf(f->o, "</text>\n<text id=\"q\" x=\"%g\" y=\"20\" text-anchor=\"end\">search</text>\n", f->width - SIDE);
    strbuf__deinit(&b);
}

static void put_frames(struct flame *f)
{
    double top = f->t.top > 0 ? (double)f->t.top : 1;

    put_frame(f, (struct text){"all", 3}, 0, 1, 0, f->t.calls, f->t.top, 0);
    for (uint64_t i = 0; i < f->t.n; i++) {
        const struct path_node *n = &f->t.nodes[i];

        if (is_drawn(f, i))
            put_frame(f, f->shown[n->region], f->left[i] / top, share(f, i), n->depth + 1, n->calls, n->total, n->self);
    }
}

static int draw(struct flame *f, const char *path, const struct rank *rank, struct err *err)
{
    int rc = out__open(&f->o, path, false, err);

    if (rc)
        return rc;
    count_rows(f);
    put_head(f, rank);
    put_frames(f);
    out__text(f->o, script);
    out__text(f->o, "</svg>\n");
    return out__close(f->o, err);
}

static int write_svg(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    int64_t rank = profile__find_rank(p, options->ranks[0]);
    struct paths_options how = {.split = options->overlaps_split};
    struct flame f = {.p = p, .width = options->width ? options->width : 1200, .threshold = options->threshold};
    struct rank_rows rows;
    int rc;

    if (options->plot && strcmp(options->plot, "flame-graph"))
        return plots__write(p, (uint32_t)rank, path, options, err);
    rc = rank_rows__init(&rows, p);
    if (rc)
        return err__set(err, ENOMEM, "%s: not enough memory", path);
    rc = paths__init(&f.t, p, &rows, (uint32_t)rank, &how, err);
    f.shown = names__shown_regions(p->arena, p, NULL);
    if (!rc && !f.t.n)
        rc = FORMAT_NOTHING;
    if (!rc && (!f.shown || layout(&f)))
        rc = err__set(err, ENOMEM, "%s: not enough memory", path);
    rc = rc ? rc : draw(&f, path, &p->ranks[rank], err);
    paths__deinit(&f.t);
    rank_rows__deinit(&rows);
    free(f.sum);
    free(f.left);
    return rc;
}

const struct format format_svg = {
    .name = "svg",
    .suffix = ".svg",
    .help = "flame graph with zoom and search; one file per rank",
    .flags = FORMAT_PER_RANK | FORMAT_SHORT_RANK | FORMAT_ONE_RANK_EXACT,
    .write = write_svg,
};
