/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cProfile statistics of one rank: a marshal dump of {(file, line, name): (primitive calls, calls, self s,
 * cumulative s, {caller: the same four})}, as pstats reads it.
 */
#include "converters/names.h"
#include "converters/out.h"
#include "converters/views/paths.h"
#include "formats/formats.h"
#include "formats/prof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME_BYTES (1ull << 30) /* of all path names together */

/* ---- marshal ------------------------------------------------------------------------------------------------------ */
static void put_byte(struct out *o, uint8_t byte)
{
    out__bytes(o, &byte, 1);
}

static void put_le32(struct out *o, uint32_t v)
{
    uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};

    out__bytes(o, bytes, 4);
}

/* Small ones as int32, larger ones as digits of 15 bits. */
static void put_int(struct out *o, int64_t v)
{
    uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
    int32_t n = 0;

    if (v >= INT32_MIN && v <= INT32_MAX) {
        put_byte(o, 'i');
        put_le32(o, (uint32_t)v);
        return;
    }
    for (uint64_t rest = size; rest; rest >>= 15)
        n++;
    put_byte(o, 'l');
    put_le32(o, (uint32_t)(v < 0 ? -n : n));
    for (; n; n--, size >>= 15) {
        put_byte(o, size & 0xff);
        put_byte(o, size >> 8 & 0x7f);
    }
}

static void put_seconds(struct out *o, double s)
{
    uint64_t bits;
    uint8_t bytes[8];

    memcpy(&bits, &s, sizeof(bits));
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    put_byte(o, 'g');
    out__bytes(o, bytes, 8);
}

static void put_tuple(struct out *o, uint8_t n)
{
    put_byte(o, ')');
    put_byte(o, n);
}

/* ---- keys --------------------------------------------------------------------------------------------------------- */
/* The name of a path is written from its nodes: joined names of all depths at once would take n² bytes. */
static uint64_t name_bytes(const struct prof_key *keys, int64_t key)
{
    uint64_t n = 0;

    for (int64_t k = key; k >= 0; k = keys[k].parent)
        n += keys[k].name.len + (keys[k].parent >= 0 ? 3 : 0);
    return n + (keys[key].twin ? strlen(keys[key].twin) : 0);
}

static void put_name(struct out *o, const struct prof_key *keys, int64_t key)
{
    if (keys[key].parent >= 0) {
        put_name(o, keys, keys[key].parent);
        out__bytes(o, " > ", 3);
    }
    out__bytes(o, keys[key].name.s, keys[key].name.len);
}

static void put_key(struct out *o, const struct prof_key *keys, int64_t key)
{
    const struct prof_key *k = &keys[key];

    put_tuple(o, 3);
    put_byte(o, 'u');
    put_le32(o, k->file.len);
    out__bytes(o, k->file.s, k->file.len);
    put_int(o, k->line);
    put_byte(o, 'u');
    put_le32(o, (uint32_t)name_bytes(keys, key));
    put_name(o, keys, key);
    if (k->twin)
        out__text(o, k->twin);
}

static void put_numbers(struct out *o, const struct prof_numbers *n)
{
    put_int(o, n->primitive);
    put_int(o, n->calls);
    put_seconds(o, n->self);
    put_seconds(o, n->cumulative);
}

static void put_entry(struct out *o, const struct prof_stats *s, uint64_t i)
{
    const struct prof_entry *e = &s->entries[i];

    put_key(o, s->keys, (int64_t)i);
    put_tuple(o, 5);
    put_numbers(o, &e->numbers);
    put_byte(o, '{');
    for (uint64_t c = e->first_caller; c < e->first_caller + e->n_callers; c++) {
        put_key(o, s->keys, s->callers[c].entry);
        put_tuple(o, 4);
        put_numbers(o, &s->callers[c].numbers);
    }
    put_byte(o, '0');
}

int prof_stats__write(const struct prof_stats *s, const char *path, struct err *err)
{
    struct out *o;
    int rc = out__open(&o, path, false, err);

    if (rc)
        return rc;
    put_byte(o, '{');
    for (uint64_t i = 0; i < s->n; i++)
        put_entry(o, s, i);
    put_byte(o, '0');
    return out__close(o, err);
}

void prof_stats__deinit(struct prof_stats *s)
{
    for (uint64_t i = 0; s->keys && i < s->n; i++)
        free(s->keys[i].twin);
    free(s->keys);
    free(s->entries);
    free(s->callers);
    memset(s, 0, sizeof(*s));
}

/* ---- two entries of one key ----------------------------------------------------------------------------------------- */
static char *full_name(const struct prof_key *keys, int64_t key, size_t *ret_len)
{
    size_t n = name_bytes(keys, key), at = n;
    char *s = malloc(n + 1);

    if (!s)
        return NULL;
    for (int64_t k = key; k >= 0; k = keys[k].parent) {
        at -= keys[k].name.len;
        memcpy(s + at, keys[k].name.s, keys[k].name.len);
        if (keys[k].parent >= 0)
            memcpy(s + (at -= 3), " > ", 3);
    }
    s[n] = 0;
    *ret_len = n;
    return s;
}

struct named {
    const struct prof_key *key;
    char *name;
    size_t len;
    uint64_t number;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = n ? memcmp(x->name, y->name, n) : 0;

    if (c || x->len != y->len)
        return c ? c : x->len < y->len ? -1 : 1;
    if (x->key->line != y->key->line)
        return x->key->line < y->key->line ? -1 : 1;
    n = x->key->file.len < y->key->file.len ? x->key->file.len : y->key->file.len;
    c = n ? memcmp(x->key->file.s, y->key->file.s, n) : 0;
    if (c || x->key->file.len != y->key->file.len)
        return c ? c : x->key->file.len < y->key->file.len ? -1 : 1;
    return 0;
}

static int mark_twins(struct prof_stats *s, struct named *list)
{
    for (uint64_t i = 1, run = 1; i < s->n; i++) {
        run = compare_named(&list[i - 1], &list[i]) ? 1 : run + 1;
        if (run > 1 && asprintf(&s->keys[list[i].number].twin, "~%llu", (unsigned long long)run) < 0) {
            s->keys[list[i].number].twin = NULL;
            return -ENOMEM;
        }
    }
    return 0;
}

/* A region named "a > b" and the path a > b must not become one entry. Only names with a ">" can collide. */
static int separate_twins(struct prof_stats *s)
{
    struct named *list;
    bool possible = false;
    int rc = 0;

    for (uint64_t i = 0; i < s->n && !possible; i++)
        possible = s->keys[i].name.len && memchr(s->keys[i].name.s, '>', s->keys[i].name.len);
    if (!possible)
        return 0;
    list = calloc(s->n + 1, sizeof(*list));
    for (uint64_t i = 0; list && i < s->n; i++) {
        list[i] = (struct named){.key = &s->keys[i], .number = i};
        list[i].name = full_name(s->keys, (int64_t)i, &list[i].len);
        rc = list[i].name ? rc : -ENOMEM;
    }
    if (list && !rc) {
        qsort(list, s->n, sizeof(*list), compare_named);
        rc = mark_twins(s, list);
    }
    for (uint64_t i = 0; list && i < s->n; i++)
        free(list[i].name);
    free(list);
    return list ? rc : -ENOMEM;
}

/* ---- from calls to entries -------------------------------------------------------------------------------------------- */
static struct prof_numbers numbers(int64_t primitive, int64_t calls, int64_t self, int64_t cumulative)
{
    return (struct prof_numbers){primitive, calls, (double)self / 1e9, (double)cumulative / 1e9};
}

static struct prof_key key_of(const struct profile *p, const struct text *shown, uint32_t region, uint64_t row)
{
    struct prof_key k = {.parent = -1, .name = shown[region], .file = {"~", 1}};

    if (p->rows[row].source_file.len && p->rows[row].source_line >= 0) {
        k.file = text__shown(p->arena, p->rows[row].source_file);
        k.line = p->rows[row].source_line;
    }
    return k;
}

static int allocate(struct prof_stats *s, uint64_t entries, uint64_t callers)
{
    s->keys = calloc(entries + 1, sizeof(*s->keys));
    s->entries = calloc(entries + 1, sizeof(*s->entries));
    s->callers = calloc(callers + 1, sizeof(*s->callers));
    return s->keys && s->entries && s->callers ? 0 : -ENOMEM;
}

static void add_root(struct prof_stats *s, const struct paths *t, const char *root)
{
    s->keys[s->n] = (struct prof_key){.parent = -1, .name = {root, (uint32_t)strlen(root)}, .file = {"~", 1}};
    s->entries[s->n].numbers = numbers(1, 1, 0, t->top);
    s->n++;
}

static int from_paths(struct prof_stats *s, const struct profile *p, const struct text *shown, const struct paths *t,
                      const char *root, struct err *err)
{
    uint64_t bytes = 0;
    int rc = allocate(s, t->n + 1, t->n);

    for (uint64_t i = 0; !rc && i < t->n; i++) {
        const struct path_node *n = &t->nodes[i];
        struct prof_numbers all = numbers((int64_t)n->calls, (int64_t)n->calls, n->self, n->total);

        s->keys[i] = key_of(p, shown, n->region, n->row);
        s->keys[i].parent = n->parent;
        s->entries[i] = (struct prof_entry){all, i, n->parent >= 0 || root};
        s->callers[i] = (struct prof_caller){n->parent >= 0 ? n->parent : (int64_t)t->n, all};
        bytes += name_bytes(s->keys, (int64_t)i);
        if (bytes > MAX_NAME_BYTES)
            return err__set(err, E2BIG, "the names of the call paths need more than 1 GiB: the recursion is too deep; use --by-name");
    }
    s->n = t->n;
    if (!rc && root)
        add_root(s, t, root);
    return rc;
}

/* ---- by name -------------------------------------------------------------------------------------------------------- */
static int compare_callers(const void *a, const void *b)
{
    const struct prof_caller *x = a, *y = b;

    if (x->of != y->of)
        return x->of < y->of ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static void add_numbers(struct prof_numbers *into, const struct prof_numbers *from)
{
    into->primitive += from->primitive;
    into->calls += from->calls;
    into->self += from->self;
    into->cumulative += from->cumulative;
}

static uint64_t unite_callers(struct prof_caller *callers, uint64_t n)
{
    uint64_t kept = 0;

    qsort(callers, n, sizeof(*callers), compare_callers);
    for (uint64_t i = 0; i < n; i++) {
        if (kept && !compare_callers(&callers[kept - 1], &callers[i]))
            add_numbers(&callers[kept - 1].numbers, &callers[i].numbers);
        else
            callers[kept++] = callers[i];
    }
    return kept;
}

/* Entries in the order of their first call; map: region -> entry. */
static void number_regions(struct prof_stats *s, const struct profile *p, const struct text *shown, const struct paths *t,
                           int64_t *map)
{
    for (uint32_t g = 0; g < p->n_regions; g++)
        map[g] = -1;
    for (uint64_t i = 0; i < t->n; i++) {
        const struct path_node *n = &t->nodes[i];
        struct prof_numbers own = numbers((int64_t)n->primitive, (int64_t)n->calls, n->self, n->outermost);

        if (map[n->region] < 0) {
            map[n->region] = (int64_t)s->n;
            s->keys[s->n++] = key_of(p, shown, n->region, n->row);
        }
        add_numbers(&s->entries[map[n->region]].numbers, &own);
    }
}

static int from_names(struct prof_stats *s, const struct profile *p, const struct text *shown, const struct paths *t,
                      const char *root)
{
    int64_t *map = malloc(((size_t)p->n_regions + 1) * sizeof(*map));
    uint64_t n = 0;
    int rc = map ? allocate(s, p->n_regions + 1ull, t->n) : -ENOMEM;

    if (!rc) {
        number_regions(s, p, shown, t, map);
        for (uint64_t i = 0; i < t->n; i++) {
            const struct path_node *node = &t->nodes[i];

            if (node->parent < 0 && !root)
                continue;
            s->callers[n++] = (struct prof_caller){
                node->parent >= 0 ? map[t->nodes[node->parent].region] : (int64_t)s->n,
                numbers((int64_t)node->primitive, (int64_t)node->calls, node->self, node->outermost), map[node->region]};
        }
        n = unite_callers(s->callers, n);
        for (uint64_t i = 0; i < n; i++) {
            struct prof_entry *e = &s->entries[s->callers[i].of];

            if (!e->n_callers++)
                e->first_caller = i;
        }
        if (root)
            add_root(s, t, root);
    }
    free(map);
    return rc;
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */
static int write_rank(const struct profile *p, const struct rank_rows *rows, uint32_t rank, const char *path,
                      const struct write_options *options, struct err *err)
{
    struct paths_options how = {.split = options->overlaps_split};
    struct text *shown = names__shown_regions(p->arena, p, NULL);
    struct prof_stats s = {0};
    struct paths t;
    int rc = paths__init(&t, p, rows, rank, &how, err);

    if (!rc && !shown)
        rc = err__set(err, ENOMEM, "%s: not enough memory", path);
    if (!rc && t.n) {
        rc = options->by_name ? from_names(&s, p, shown, &t, options->root) : from_paths(&s, p, shown, &t, options->root, err);
        rc = rc ? rc : separate_twins(&s);
        if (rc == -ENOMEM)
            err__set(err, ENOMEM, "%s: not enough memory", path);
        rc = rc ? rc : prof_stats__write(&s, path, err);
    } else if (!rc) {
        rc = FORMAT_NOTHING; /* pstats refuses an empty dict */
    }
    prof_stats__deinit(&s);
    paths__deinit(&t);
    return rc;
}

static int write_prof(const struct profile *p, const char *path, const struct write_options *options, struct err *err)
{
    int64_t rank = profile__find_rank(p, options->ranks[0]);
    struct rank_rows rows;
    int rc;

    if (p->ranks[rank].prof)
        return prof_stats__write(p->ranks[rank].prof, path, err);
    rc = rank_rows__init(&rows, p);
    if (rc)
        return err__set(err, ENOMEM, "%s: not enough memory", path);
    rc = write_rank(p, &rows, (uint32_t)rank, path, options, err);
    rank_rows__deinit(&rows);
    return rc;
}

const struct format format_prof = {
    .name = "prof",
    .suffix = ".prof",
    .help = "cProfile statistics for pstats, snakeviz, gprof2dot; one file per rank",
    .flags = FORMAT_PER_RANK | FORMAT_SHORT_RANK | FORMAT_ONE_RANK_EXACT,
    .match = prof__match,
    .read = prof__read,
    .write = write_prof,
};
