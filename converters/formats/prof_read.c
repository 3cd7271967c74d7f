/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cProfile statistics as Python's marshal wrote them: a dict of tuples, with references to what stood before.  Values
 * are read into a flat list; a reference is the number of another value, so a cycle costs nothing: who interprets
 * goes down a fixed number of levels.
 */
#include "converters/reader.h"
#include "formats/formats.h"
#include "formats/prof.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 12
#define FLAG_REF  0x80

enum value_kind { VALUE_NONE, VALUE_INT, VALUE_REAL, VALUE_TEXT, VALUE_TUPLE, VALUE_DICT, VALUE_END };

struct value {
    enum value_kind kind;
    int64_t integer;
    double real;
    struct text text;
    uint32_t first, n; /* of `children`: elements; of a dict key and value in turn */
};

struct marshal {
    struct reader r;
    struct profile *p;
    struct column values;   /* struct value */
    struct column children; /* uint32 */
    struct column refs;     /* uint32 */
    struct column pending;  /* uint32: elements of what is open */
};

bool prof__match(const struct input *in)
{
    uint8_t next = in->head[1] & 0x7f;

    return in->size >= 2 && (in->head[0] & 0x7f) == '{' && (next == ')' || next == '(' || next == 'r' || next == '0');
}

/* ---- marshal -------------------------------------------------------------------------------------------------------- */
static uint8_t get_byte(struct marshal *m)
{
    uint8_t b = 0;

    reader__bytes(&m->r, &b, 1);
    return b;
}

static uint32_t get_le32(struct marshal *m)
{
    uint8_t b[4] = {0};

    reader__bytes(&m->r, b, 4);
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static double get_real(struct marshal *m)
{
    uint64_t low = get_le32(m), bits = low | (uint64_t)get_le32(m) << 32;
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static int64_t get_long(struct marshal *m)
{
    int32_t n = (int32_t)get_le32(m), digits = n < 0 ? -n : n;
    uint64_t v = 0;

    if (n < -4 || n > 4) {
        reader__fail(&m->r, "a number is too large");
        return 0;
    }
    for (int32_t i = 0; i < digits; i++) {
        uint64_t digit = get_byte(m);

        digit |= (uint64_t)get_byte(m) << 8;
        v |= (digit & 0x7fff) << 15 * i;
    }
    return n < 0 ? -(int64_t)v : (int64_t)v;
}

static int no_memory(struct marshal *m)
{
    return m->r.code ? m->r.code : (m->r.code = err__set(m->r.err, ENOMEM, "%s: not enough memory", m->r.in->path));
}

static bool push(struct column *c, uint32_t v)
{
    uint32_t *at = column__append(c);

    if (at)
        *at = v;
    return at;
}

static struct value *value_at(struct marshal *m, uint32_t i)
{
    return (struct value *)m->values.data + i;
}

static int64_t get_value(struct marshal *m, unsigned depth);

/* Elements until n are there or, with n = -1, until the end mark. Their numbers go into `children` side by side. */
static void get_elements(struct marshal *m, uint32_t self, int64_t n, unsigned depth)
{
    uint64_t base = m->pending.n;

    for (int64_t i = 0; !m->r.code && (n < 0 || i < n); i++) {
        int64_t v = get_value(m, depth + 1);

        if (v < 0)
            return;
        if (value_at(m, (uint32_t)v)->kind == VALUE_END) {
            if (n >= 0)
                reader__fail(&m->r, "an end mark inside a tuple");
            break;
        }
        if (!push(&m->pending, (uint32_t)v))
            no_memory(m);
    }
    value_at(m, self)->first = (uint32_t)m->children.n;
    value_at(m, self)->n = (uint32_t)(m->pending.n - base);
    for (uint64_t i = base; i < m->pending.n && !m->r.code; i++) {
        if (!push(&m->children, ((uint32_t *)m->pending.data)[i]))
            no_memory(m);
    }
    m->pending.n = base;
}

static void get_text(struct marshal *m, uint32_t self, int64_t len)
{
    struct text t = reader__text(&m->r, m->p, len, "a text");

    value_at(m, self)->kind = VALUE_TEXT;
    value_at(m, self)->text = t;
}

static void get_tuple(struct marshal *m, uint32_t self, int64_t n, unsigned depth)
{
    value_at(m, self)->kind = VALUE_TUPLE;
    if (n < 0 || (uint64_t)n > reader__left(&m->r))
        reader__fail(&m->r, "a tuple of %" PRId64 " elements does not fit", n);
    else
        get_elements(m, self, n, depth);
}

static int64_t get_reference(struct marshal *m)
{
    uint32_t i = get_le32(m);

    if (m->r.code)
        return -1;
    if (i >= m->refs.n) {
        reader__fail(&m->r, "a reference to value %u, and there are %" PRIu64, i, m->refs.n);
        return -1;
    }
    return ((uint32_t *)m->refs.data)[i];
}

static void get_content(struct marshal *m, uint32_t self, uint8_t type, unsigned depth)
{
    switch (type) {
    case '0': value_at(m, self)->kind = VALUE_END; break;
    case 'N': break;
    case 'i':
        value_at(m, self)->integer = (int32_t)get_le32(m);
        value_at(m, self)->kind = VALUE_INT;
        break;
    case 'l':
        value_at(m, self)->integer = get_long(m);
        value_at(m, self)->kind = VALUE_INT;
        break;
    case 'g':
        value_at(m, self)->real = get_real(m);
        value_at(m, self)->kind = VALUE_REAL;
        break;
    case 'u':
    case 't':
    case 'a':
    case 'A':
    case 's': get_text(m, self, (int32_t)get_le32(m)); break;
    case 'z':
    case 'Z': get_text(m, self, get_byte(m)); break;
    case ')': get_tuple(m, self, get_byte(m), depth); break;
    case '(': get_tuple(m, self, (int32_t)get_le32(m), depth); break;
    case '{':
        value_at(m, self)->kind = VALUE_DICT;
        get_elements(m, self, -1, depth);
        break;
    default: reader__fail(&m->r, "a value of kind %u is none of a profile", type);
    }
}

/* The number of the value, -1 after an error. */
static int64_t get_value(struct marshal *m, unsigned depth)
{
    uint8_t type = get_byte(m);
    struct value *v;
    uint32_t self;

    if (!m->r.code && depth > MAX_DEPTH)
        reader__fail(&m->r, "values are nested too deep");
    if (m->r.code)
        return -1;
    if ((type & 0x7f) == 'r')
        return get_reference(m);
    self = (uint32_t)m->values.n;
    v = column__append(&m->values);
    if (!v || self == UINT32_MAX || (type & FLAG_REF && !push(&m->refs, self))) {
        no_memory(m);
        return -1;
    }
    get_content(m, self, type & 0x7f, depth);
    return m->r.code ? -1 : (int64_t)self;
}

/* ---- what it means --------------------------------------------------------------------------------------------------- */
struct meaning {
    struct marshal *m;
    struct prof_stats *stats;
    uint32_t *slots; /* hash of keys: entry + 1 */
    uint64_t n_slots, cap;
    uint64_t n_callers, cap_callers;
};

static int damaged(struct meaning *g, const char *what)
{
    return err__set(g->m->r.err, EINVAL, "%s: not cProfile statistics: %s", g->m->r.in->path, what);
}

static const struct value *child(struct meaning *g, const struct value *v, uint32_t i)
{
    return value_at(g->m, ((uint32_t *)g->m->children.data)[v->first + i]);
}

static bool get_key(struct meaning *g, const struct value *v, struct prof_key *ret)
{
    if (v->kind != VALUE_TUPLE || v->n != 3 || child(g, v, 0)->kind != VALUE_TEXT || child(g, v, 1)->kind != VALUE_INT ||
        child(g, v, 2)->kind != VALUE_TEXT)
        return false;
    *ret = (struct prof_key){.parent = -1, .file = child(g, v, 0)->text, .line = child(g, v, 1)->integer,
                             .name = child(g, v, 2)->text};
    return true;
}

static bool get_seconds(const struct value *v, double *ret)
{
    *ret = v->kind == VALUE_INT ? (double)v->integer : v->real;
    return (v->kind == VALUE_INT || v->kind == VALUE_REAL) && isfinite(*ret);
}

static bool get_numbers(struct meaning *g, const struct value *v, uint32_t fields, struct prof_numbers *ret)
{
    if (v->kind != VALUE_TUPLE || v->n != fields || child(g, v, 0)->kind != VALUE_INT || child(g, v, 1)->kind != VALUE_INT)
        return false;
    ret->primitive = child(g, v, 0)->integer;
    ret->calls = child(g, v, 1)->integer;
    return ret->primitive >= 0 && ret->calls >= ret->primitive && get_seconds(child(g, v, 2), &ret->self) &&
           get_seconds(child(g, v, 3), &ret->cumulative);
}

static uint64_t hash_text(uint64_t h, struct text t)
{
    for (uint32_t i = 0; i < t.len; i++)
        h = (h ^ (uint8_t)t.s[i]) * 0x100000001b3ull;
    return h;
}

static bool same_text(struct text a, struct text b)
{
    return a.len == b.len && (!a.len || !memcmp(a.s, b.s, a.len));
}

/* Entry of a key: found, or new (*ret_new) without numbers. There is room for every key that the file can hold. */
static uint64_t entry_of(struct meaning *g, const struct prof_key *key, bool *ret_new)
{
    struct prof_key *keys = g->stats->keys;
    uint64_t s = hash_text(hash_text(0xcbf29ce484222325ull ^ (uint64_t)key->line, key->file), key->name);

    for (s ^= s >> 32;; s++) {
        uint32_t e = g->slots[s & (g->n_slots - 1)];

        if (!e)
            break;
        if (keys[e - 1].line == key->line && same_text(keys[e - 1].file, key->file) && same_text(keys[e - 1].name, key->name)) {
            *ret_new = false;
            return e - 1;
        }
    }
    *ret_new = true;
    keys[g->stats->n] = *key;
    g->slots[s & (g->n_slots - 1)] = (uint32_t)++g->stats->n;
    return g->stats->n - 1;
}

static int get_callers(struct meaning *g, uint64_t entry, const struct value *dict)
{
    struct prof_entry *e = &g->stats->entries[entry];

    if (dict->kind != VALUE_DICT || dict->n % 2)
        return damaged(g, "the callers of an entry are no dict");
    e->first_caller = g->n_callers;
    for (uint32_t i = 0; i < dict->n; i += 2) {
        struct prof_caller *c = &g->stats->callers[g->n_callers];
        struct prof_key key;
        bool new;

        if (!get_key(g, child(g, dict, i), &key) || !get_numbers(g, child(g, dict, i + 1), 4, &c->numbers))
            return damaged(g, "a caller is not (file, line, name): (primitive calls, calls, self, cumulative)");
        c->entry = (int64_t)entry_of(g, &key, &new);
        c->of = (int64_t)entry;
        g->n_callers++;
    }
    e->n_callers = g->n_callers - e->first_caller;
    return 0;
}

static int get_entry(struct meaning *g, const struct value *key_value, const struct value *v, uint8_t *seen)
{
    struct prof_key key;
    uint64_t entry;
    bool new;

    if (!get_key(g, key_value, &key))
        return damaged(g, "a key is not (file, line, name)");
    entry = entry_of(g, &key, &new);
    if (seen[entry])
        return damaged(g, "a key stands there twice");
    seen[entry] = 1;
    if (!get_numbers(g, v, 5, &g->stats->entries[entry].numbers))
        return damaged(g, "an entry is not (primitive calls, calls, self, cumulative, callers)");
    return get_callers(g, entry, child(g, v, 4));
}

/* Callers that dicts share by reference count once for each: bounded by the square of what a file lists. */
static uint64_t count_callers(struct meaning *g, const struct value *dict)
{
    uint64_t n = 0;

    for (uint32_t i = 1; i < dict->n; i += 2) {
        const struct value *v = child(g, dict, i);

        if (v->kind == VALUE_TUPLE && v->n == 5 && child(g, v, 4)->kind == VALUE_DICT)
            n += child(g, v, 4)->n / 2;
    }
    return n;
}

static int interpret(struct meaning *g, const struct value *dict)
{
    struct profile *p = g->m->p;
    uint64_t keys, callers;
    uint8_t *seen;
    int rc = 0;

    if (dict->kind != VALUE_DICT || dict->n % 2)
        return damaged(g, "no dict");
    callers = count_callers(g, dict);
    if (callers > 16 * (g->m->values.n + 1))
        return damaged(g, "more callers than the file holds");
    keys = dict->n / 2 + callers + 1;
    for (g->n_slots = 16; g->n_slots < 2 * keys;)
        g->n_slots *= 2;
    g->slots = profile__alloc(p, g->n_slots, sizeof(*g->slots));
    g->stats->keys = profile__alloc(p, keys, sizeof(struct prof_key));
    g->stats->entries = profile__alloc(p, keys, sizeof(struct prof_entry));
    g->stats->callers = profile__alloc(p, callers + 1, sizeof(struct prof_caller));
    seen = profile__alloc(p, keys, 1);
    if (!g->slots || !g->stats->keys || !g->stats->entries || !g->stats->callers || !seen)
        return no_memory(g->m);
    for (uint32_t i = 0; i < dict->n && !rc; i += 2)
        rc = get_entry(g, child(g, dict, i), child(g, dict, i + 1), seen);
    return rc;
}

/* ---- as totals of regions ------------------------------------------------------------------------------------------------ */
static int64_t to_ns(double s)
{
    double ns = s * 1e9;

    return ns >= 9e18 ? INT64_MAX : ns <= 0 ? 0 : (int64_t)(ns + 0.5);
}

static int64_t region_of(struct profile *p, const struct prof_key *key, uint32_t rank)
{
    int64_t region = profile__region(p, key->name.s ? key->name.s : "", key->name.len);
    char *long_name;
    int len;

    if (region < 0 || !profile__find_row(p, (uint32_t)region, rank))
        return region;
    len = asprintf(&long_name, "%.*s (%.*s:%" PRId64 ")", (int)key->name.len, key->name.s ? key->name.s : "", (int)key->file.len,
                   key->file.s ? key->file.s : "", key->line);
    if (len < 0)
        return -ENOMEM;
    region = profile__region(p, long_name, (size_t)len);
    free(long_name);
    return region;
}

static int add_rows(struct profile *p, const struct prof_stats *s, uint32_t rank)
{
    for (uint64_t i = 0; i < s->n; i++) {
        const struct prof_key *k = &s->keys[i];
        int64_t region = region_of(p, k, rank);
        struct row *row = region < 0 ? NULL : profile__add_row(p, (uint32_t)region, rank);

        if (!row)
            return -ENOMEM;
        if (!(k->file.len == 1 && k->file.s[0] == '~')) {
            row->source_file = k->file;
            row->source_line = k->line;
        }
        row->aggregate = (struct aggregate){.present = true, .count = (uint64_t)s->entries[i].numbers.calls, .min_ns = -1,
                                            .max_ns = -1, .total_ns = to_ns(s->entries[i].numbers.cumulative),
                                            .exclusive_ns = to_ns(s->entries[i].numbers.self)};
    }
    return 0;
}

/* …_rank<N>.prof is rank N, else it is rank 0. */
static int32_t rank_of(const char *path)
{
    const char *at = strrchr(path, '/');
    long n;

    at = strstr(at ? at : path, "_rank");
    n = at && at[5] >= '0' && at[5] <= '9' ? strtol(at + 5, NULL, 10) : 0;
    return n < INT32_MAX ? (int32_t)n : 0;
}

static int take(struct marshal *m, int64_t top)
{
    struct prof_stats *stats = profile__alloc(m->p, 1, sizeof(*stats));
    struct meaning g = {.m = m, .stats = stats};
    int64_t rank = profile__rank(m->p, rank_of(m->r.in->path));
    int rc;

    if (!stats || rank < 0)
        return no_memory(m);
    rc = interpret(&g, value_at(m, (uint32_t)top));
    if (rc)
        return rc;
    m->p->aggregate = true;
    m->p->ranks[rank].prof = stats;
    m->p->ranks[rank].ticks = -1;
    m->p->ranks[rank].file = profile__text(m->p, m->r.in->path, strlen(m->r.in->path));
    return add_rows(m->p, stats, (uint32_t)rank) ? no_memory(m) : 0;
}

int prof__read(const struct input *in, struct profile *p, struct err *err)
{
    struct marshal *m = calloc(1, sizeof(*m));
    int64_t top;
    int rc;

    if (!m)
        return err__set(err, ENOMEM, "%s: not enough memory", in->path);
    reader__init(&m->r, in, err);
    m->p = p;
    column__init(&m->values, sizeof(struct value));
    column__init(&m->children, sizeof(uint32_t));
    column__init(&m->refs, sizeof(uint32_t));
    column__init(&m->pending, sizeof(uint32_t));
    top = get_value(m, 0);
    if (!m->r.code && reader__left(&m->r))
        reader__fail(&m->r, "bytes are left behind the statistics");
    rc = m->r.code ? m->r.code : take(m, top);
    column__deinit(&m->values);
    column__deinit(&m->children);
    column__deinit(&m->refs);
    column__deinit(&m->pending);
    free(m);
    return rc;
}
