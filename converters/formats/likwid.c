/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LIKWID's marker file, as `likwid-perfctr -m` leaves it:
 *     <threads> <regions> <groups>
 *     <region>:<tag>-<group>                                   one line per region
 *     <region> <group> <cpu> <calls> <seconds> <n> <n values>  one line per region and thread
 * Names of events stand nowhere in it: they are event_0, event_1, …
 */
#include "formats/formats.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES (256u << 20)
#define MAX_EVENTS 4096

struct line { /* one region on one thread */
    long region, order;
    long cpu;
    long long calls;
    double seconds;
    long n;
    const char *values; /* in the text */
};

struct likwid {
    const struct input *in;
    struct profile *p;
    struct err *err;
    char *text, *at;
    long line; /* number of the line at `at`, from 1 */
    long threads, n_regions, groups;
    struct likwid_region *regions; /* by id, without their threads yet */
    bool *known;
    struct column lines;
};

static int bad(struct likwid *l, const char *what)
{
    return err__set(l->err, EINVAL, "%s: line %ld: %s", l->in->path, l->line, what);
}

/* Three numbers and the end of the line. */
static bool match(const struct input *in)
{
    char head[sizeof(in->head) + 1];
    int used = 0;
    unsigned a, b, c;

    memcpy(head, in->head, sizeof(in->head));
    head[sizeof(in->head)] = 0;
    return isdigit((unsigned char)head[0]) && sscanf(head, "%u %u %u%n", &a, &b, &c, &used) == 3 &&
           (head[used] == '\n' || head[used] == '\r' || (head[used] == ' ' && strchr(head + used, '\n')) ||
            in->size == (uint64_t)used);
}

/* The next line that is not blank, without the white space around it; NULL at the end. */
static char *next_line(struct likwid *l)
{
    while (*l->at) {
        char *line = l->at, *end = strchr(line, '\n');

        l->line++;
        l->at = end ? end + 1 : line + strlen(line);
        end = end ? end : l->at;
        while (line < end && isspace((unsigned char)*line))
            line++;
        while (end > line && isspace((unsigned char)end[-1]))
            end--;
        *end = 0;
        if (end > line)
            return line;
    }
    return NULL;
}

static bool get_long(char **at, long *ret)
{
    char *end;

    errno = 0;
    *ret = strtol(*at, &end, 10);
    if (errno || end == *at)
        return false;
    *at = end;
    return true;
}

static bool get_real(const char **at, double *ret)
{
    char *end;

    *ret = strtod(*at, &end);
    if (end == *at || (*end && !isspace((unsigned char)*end)))
        return false;
    *at = end;
    return true;
}

static int get_header(struct likwid *l)
{
    char *at = next_line(l);

    if (!at || !get_long(&at, &l->threads) || !get_long(&at, &l->n_regions) || !get_long(&at, &l->groups) || *at)
        return bad(l, "not <threads> <regions> <groups>");
    if (l->threads < 0 || l->n_regions < 0 || l->groups < 0 || (uint64_t)l->n_regions > l->in->size / 4)
        return bad(l, "an impossible number of threads, regions or groups");
    l->regions = calloc((size_t)l->n_regions + 1, sizeof(*l->regions));
    l->known = calloc((size_t)l->n_regions + 1, sizeof(*l->known));
    return l->regions && l->known ? 0 : -ENOMEM;
}

static int get_tag(struct likwid *l)
{
    char *at = next_line(l), *tag, *dash;
    long id, group;

    if (!at || !get_long(&at, &id) || *at != ':')
        return bad(l, "not <region>:<tag>-<group>");
    tag = at + 1;
    dash = strrchr(tag, '-');
    if (!dash || !isdigit((unsigned char)dash[1]))
        return bad(l, "no -<group> behind the tag");
    at = dash + 1;
    if (!get_long(&at, &group) || *at || group >= l->groups)
        return bad(l, "the group of the tag is not one of the groups");
    if (id < 0 || id >= l->n_regions || l->known[id])
        return bad(l, "the number of the region is out of range, or there twice");
    l->known[id] = true;
    l->regions[id].tag = profile__text(l->p, tag, (size_t)(dash - tag));
    l->regions[id].group_id = group;
    l->regions[id].source = profile__text(l->p, "marker_file", strlen("marker_file"));
    return 0;
}

static int get_values(struct likwid *l, struct line *line)
{
    const char *at = line->values;
    double v;

    for (long i = 0; i < line->n; i++) {
        if (!get_real(&at, &v))
            return bad(l, "fewer values than it says, or one is no number");
    }
    return *at ? bad(l, "more values than it says") : 0;
}

static int get_line(struct likwid *l, char *at)
{
    struct line line = {.order = l->line}, *kept;
    long group;
    double calls;
    const char *rest;
    int rc;

    if (!get_long(&at, &line.region) || !get_long(&at, &group) || !get_long(&at, &line.cpu))
        return bad(l, "not <region> <group> <cpu> <calls> <seconds> <n> <values>");
    rest = at;
    if (!get_real(&rest, &calls) || !get_real(&rest, &line.seconds))
        return bad(l, "its calls or its seconds are no number");
    at = (char *)rest;
    if (!get_long(&at, &line.n) || line.n < 0 || line.n > MAX_EVENTS)
        return bad(l, "an impossible number of values");
    if (line.region < 0 || line.region >= l->n_regions || !l->known[line.region])
        return bad(l, "a region that is not declared above");
    if (!(calls >= 0 && calls < 9e18))
        return bad(l, "an impossible number of calls");
    line.calls = (long long)calls;
    line.values = at;
    rc = get_values(l, &line);
    if (rc)
        return rc;
    kept = column__append(&l->lines);
    if (!kept)
        return -ENOMEM;
    *kept = line;
    return 0;
}

static int compare_lines(const void *a, const void *b, void *arg)
{
    const struct line *x = a, *y = b;

    (void)arg;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* ---- into the model ------------------------------------------------------------------------------------------------ */
static bool allocate_region(struct likwid *l, struct likwid_region *r, uint32_t threads, uint32_t events)
{
    struct profile *p = l->p;

    r->n_threads = r->n_cpus = threads;
    r->n_events = events;
    r->cpus = profile__alloc(p, threads, sizeof(*r->cpus));
    r->call_counts = profile__alloc(p, threads, sizeof(*r->call_counts));
    r->times = profile__alloc(p, threads, sizeof(*r->times));
    r->event_names = profile__alloc(p, events, sizeof(*r->event_names));
    r->events = profile__alloc(p, (uint64_t)threads * events, sizeof(*r->events));
    r->metrics = profile__alloc(p, 0, sizeof(*r->metrics));
    r->metric_names = profile__alloc(p, 0, sizeof(*r->metric_names));
    r->counter_names = profile__alloc(p, 0, sizeof(*r->counter_names));
    return r->cpus && r->call_counts && r->times && r->event_names && r->events;
}

static int fill_region(struct likwid *l, struct rank *rank, const struct line *lines, uint32_t threads)
{
    struct likwid_region *r = profile__append(l->p, &rank->likwid, &rank->n_likwid, sizeof(*r));
    uint32_t events = 0;
    char name[32];

    for (uint32_t i = 0; i < threads; i++)
        events = lines[i].n > (long)events ? (uint32_t)lines[i].n : events;
    if (!r)
        return -ENOMEM;
    *r = l->regions[lines[0].region];
    if ((uint64_t)threads * events > l->in->size * 64 || !allocate_region(l, r, threads, events))
        return -ENOMEM;
    for (uint32_t e = 0; e < events; e++)
        r->event_names[e] = profile__text(l->p, name, (size_t)snprintf(name, sizeof(name), "event_%u", e));
    for (uint32_t i = 0; i < threads; i++) {
        const char *at = lines[i].values;

        r->cpus[i] = lines[i].cpu;
        r->call_counts[i] = lines[i].calls;
        r->times[i] = lines[i].seconds;
        for (long e = 0; e < lines[i].n; e++)
            get_real(&at, &r->events[(uint64_t)e * threads + i]);
    }
    return 0;
}

static int fill(struct likwid *l)
{
    const struct line *lines = l->lines.data;
    int64_t at = profile__rank(l->p, 0);
    int rc = 0;

    if (at < 0)
        return -ENOMEM;
    l->p->ranks[at].ticks = -1;
    l->p->ranks[at].file = profile__text(l->p, l->in->path, strlen(l->in->path));
    for (uint64_t i = 0, end; i < l->lines.n && !rc; i = end) {
        for (end = i; end < l->lines.n && lines[end].region == lines[i].region;)
            end++;
        rc = fill_region(l, &l->p->ranks[at], lines + i, (uint32_t)(end - i));
    }
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */
static int get_text(struct likwid *l)
{
    size_t got = 0;

    if (l->in->size > MAX_BYTES)
        return err__set(l->err, EFBIG, "%s: larger than any LIKWID marker file", l->in->path);
    l->text = l->at = malloc(l->in->size + 1);
    if (!l->text)
        return -ENOMEM;
    while (got < l->in->size) {
        ssize_t n = pread(l->in->fd, l->text + got, l->in->size - got, (off_t)got);

        if (n <= 0)
            return err__set(l->err, n ? errno : EIO, "%s: cannot be read: %s", l->in->path, n ? strerror(errno) : "it shrank");
        got += (size_t)n;
    }
    l->text[got] = 0;
    if (strlen(l->text) != got)
        return err__set(l->err, EINVAL, "%s: no text: a zero byte at %zu", l->in->path, strlen(l->text));
    return 0;
}

static int read_likwid(const struct input *in, struct profile *p, struct err *err)
{
    struct likwid l = {.in = in, .p = p, .err = err};
    char *line;
    int rc;

    column__init(&l.lines, sizeof(struct line));
    rc = get_text(&l);
    rc = rc ? rc : get_header(&l);
    for (long i = 0; !rc && i < l.n_regions; i++)
        rc = get_tag(&l);
    while (!rc && (line = next_line(&l)))
        rc = get_line(&l, line);
    rc = rc ? rc : column__sort(&l.lines, compare_lines, NULL);
    rc = rc ? rc : fill(&l);
    if (rc == -ENOMEM)
        err__set(err, ENOMEM, "%s: not enough memory", in->path);
    column__deinit(&l.lines);
    free(l.regions);
    free(l.known);
    free(l.text);
    return rc;
}

const struct format format_likwid = {
    .name = "likwid",
    .suffix = ".likwid",
    .help = "LIKWID marker file of likwid-perfctr -m",
    .match = match,
    .read = read_likwid,
};
