// SPDX-License-Identifier: GPL-2.0-only
#include "model.h"
#include "model_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Texts up to this length are looked up before they are copied: file names repeat in every row. */
#define INTERN_MAX 255

int profile__create(struct profile **ret)
{
    struct profile_private *private = calloc(1, sizeof(*private));
    struct profile *p;

    if (!private)
        return -ENOMEM;
    p = &private->p;
    p->arena = arena__new();
    if (!p->arena) {
        free(private);
        return -ENOMEM;
    }
    names__init(&private->names, p->arena);
    names__init(&private->texts, p->arena);
    column__init(&p->start, sizeof(int64_t));
    column__init(&p->end, sizeof(int64_t));
    for (int i = 0; i < N_CALL_COLUMNS; i++)
        column__init(&p->extra[i], sizeof(int64_t));
    *ret = p;
    return 0;
}

void profile__destroy(struct profile *p)
{
    struct profile_private *private = profile_private(p);

    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_ranks; i++)
        column__deinit(&p->ranks[i].samples);
    column__deinit(&p->start);
    column__deinit(&p->end);
    for (int i = 0; i < N_CALL_COLUMNS; i++)
        column__deinit(&p->extra[i]);
    names__deinit(&private->names);
    names__deinit(&private->texts);
    free(private->row_slots);
    free(private->rank_slots);
    free(p->regions);
    free(p->ranks);
    free(p->rows);
    arena__free(p->arena);
    free(private);
}

struct text profile__text(struct profile *p, const void *bytes, size_t len)
{
    struct names *texts = &profile_private(p)->texts;
    const char *copy;
    uint32_t at;

    if (len > UINT32_MAX)
        return (struct text){0};
    if (len <= INTERN_MAX) {
        if (!names__intern(texts, bytes, len, "", 0, &at))
            return (struct text){0};
        return (struct text){texts->entries[at].first, (uint32_t)len};
    }
    copy = arena__copy(p->arena, bytes, len);
    return (struct text){copy, copy ? (uint32_t)len : 0};
}

void *profile__alloc(struct profile *p, uint64_t n, size_t width)
{
    size_t bytes;
    void *at;

    if (__builtin_mul_overflow(n, width, &bytes))
        return NULL;
    at = arena__alloc(p->arena, bytes ? bytes : 1);
    if (at)
        memset(at, 0, bytes);
    return at;
}

void *profile__append(struct profile *p, void *array, uint32_t *n, size_t width)
{
    void **pointer = array;
    char *data = *pointer;

    /* The capacity is the power of two at or above n. */
    if (!(*n & (*n - 1))) {
        data = profile__alloc(p, *n ? *n * 2ull : 1, width);
        if (!data)
            return NULL;
        if (*n)
            memcpy(data, *pointer, *n * width);
        *pointer = data;
    }
    return memset(data + (*n)++ * width, 0, width);
}

static bool grow(void *array, uint64_t *cap, uint64_t n, size_t width)
{
    void **pointer = array, *data;
    uint64_t more = *cap ? *cap * 2 : 16;

    if (n < *cap)
        return true;
    data = reallocarray(*pointer, more, width);
    if (!data)
        return false;
    *pointer = data;
    *cap = more;
    return true;
}

int64_t profile__region(struct profile *p, const char *name, size_t len)
{
    struct profile_private *private = profile_private(p);
    uint32_t at;

    if (!grow(&p->regions, &private->region_cap, p->n_regions, sizeof(*p->regions)) ||
        !names__intern(&private->names, name, len, "", 0, &at))
        return -ENOMEM;
    if (at == p->n_regions) {
        p->regions[at] = (struct region){{private->names.entries[at].first, (uint32_t)len}};
        p->n_regions++;
    }
    return at;
}

/* ---- finding ranks and rows: open addressing, slots hold index + 1
 * ----------------------------------------- */

static uint64_t mix(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 32;
}

static uint64_t rank_key(const struct profile *p, uint64_t i)
{
    return (uint32_t)p->ranks[i].number;
}

static uint64_t row_key(const struct profile *p, uint64_t i)
{
    return (uint64_t)p->rows[i].rank << 32 | p->rows[i].region;
}

typedef uint64_t (*key_of)(const struct profile *p, uint64_t i);

static int64_t find_slot(const struct profile *p, const uint32_t *slots, uint64_t n_slots, uint64_t key,
                         key_of of)
{
    if (!n_slots)
        return -1;
    for (uint64_t at = mix(key) & (n_slots - 1); slots[at]; at = (at + 1) & (n_slots - 1)) {
        if (of(p, slots[at] - 1) == key)
            return slots[at] - 1;
    }
    return -1;
}

static void put_slot(uint32_t *slots, uint64_t n_slots, uint64_t key, uint64_t i)
{
    uint64_t at = mix(key) & (n_slots - 1);

    while (slots[at])
        at = (at + 1) & (n_slots - 1);
    slots[at] = (uint32_t)i + 1;
}

/* Makes room for one more among n. */
static bool grow_slots(const struct profile *p, uint32_t **slots, uint64_t *n_slots, uint64_t n, key_of of)
{
    uint64_t more = *n_slots ? *n_slots * 2 : 32;
    uint32_t *fresh;

    if (n * 2 < *n_slots)
        return true;
    if (n >= UINT32_MAX - 1)
        return false;
    fresh = calloc(more, sizeof(*fresh));
    if (!fresh)
        return false;
    for (uint64_t i = 0; i < n; i++)
        put_slot(fresh, more, of(p, i), i);
    free(*slots);
    *slots = fresh;
    *n_slots = more;
    return true;
}

int64_t profile__find_rank(const struct profile *p, int32_t number)
{
    const struct profile_private *private = (const struct profile_private *)p;

    return find_slot(p, private->rank_slots, private->n_rank_slots, (uint32_t)number, rank_key);
}

int64_t profile__rank(struct profile *p, int32_t number)
{
    struct profile_private *private = profile_private(p);
    int64_t at = profile__find_rank(p, number);
    struct rank *rank;

    if (at >= 0)
        return at;
    if (!grow(&p->ranks, &private->rank_cap, p->n_ranks, sizeof(*p->ranks)) ||
        !grow_slots(p, &private->rank_slots, &private->n_rank_slots, p->n_ranks, rank_key))
        return -ENOMEM;
    rank = &p->ranks[p->n_ranks];
    *rank = (struct rank){.number = number, .ticks = -1};
    column__init(&rank->samples, sizeof(struct sample));
    put_slot(private->rank_slots, private->n_rank_slots, (uint32_t)number, p->n_ranks);
    return p->n_ranks++;
}

struct row *profile__find_row(const struct profile *p, uint32_t region, uint32_t rank)
{
    const struct profile_private *private = (const struct profile_private *)p;
    uint64_t key = (uint64_t)rank << 32 | region;
    int64_t at = find_slot(p, private->row_slots, private->n_row_slots, key, row_key);

    return at < 0 ? NULL : &p->rows[at];
}

struct row *profile__add_row(struct profile *p, uint32_t region, uint32_t rank)
{
    struct profile_private *private = profile_private(p);
    struct row *row;

    if (!grow(&p->rows, &private->row_cap, p->n_rows, sizeof(*p->rows)) ||
        !grow_slots(p, &private->row_slots, &private->n_row_slots, p->n_rows, row_key))
        return NULL;
    row = &p->rows[p->n_rows];
    *row = (struct row){.region = region, .rank = rank, .source_line = -1, .exclusive_total = -1};
    put_slot(private->row_slots, private->n_row_slots, (uint64_t)rank << 32 | region, p->n_rows);
    if (!p->ranks[rank].n_rows++)
        p->ranks[rank].first_row = p->n_rows;
    p->ranks[rank].end_row = ++p->n_rows;
    return row;
}

int64_t call_column__fill(enum call_column column)
{
    return column == COLUMN_AWAIT_NS || column == COLUMN_FLAGS ? 0 : -1;
}

int profile__use_column(struct profile *p, enum call_column column)
{
    return column__fill_i64(&p->extra[column], p->start.n, call_column__fill(column));
}

/* ---- metadata
 * ---------------------------------------------------------------------------------------------- */

static struct meta *find_meta(const struct profile *p, const char *key, size_t len)
{
    for (uint32_t i = 0; i < p->n_meta; i++) {
        if (p->meta[i].key.len == len && !memcmp(p->meta[i].key.s, key, len))
            return &p->meta[i];
    }
    return NULL;
}

const struct meta *profile__meta(const struct profile *p, const char *key)
{
    return find_meta(p, key, strlen(key));
}

struct meta *profile__add_meta(struct profile *p, const char *key, size_t len, enum meta_kind kind)
{
    struct meta *meta = find_meta(p, key, len);
    struct text name;

    if (!meta) {
        name = profile__text(p, key, len);
        meta = name.s ? profile__append(p, &p->meta, &p->n_meta, sizeof(*meta)) : NULL;
        if (!meta)
            return NULL;
        meta->key = name;
    }
    meta->kind = kind;
    return meta;
}

int profile__set_meta_text(struct profile *p, const char *key, const char *text, size_t len)
{
    struct text copy = profile__text(p, text, len);
    struct meta *meta = copy.s ? profile__add_meta(p, key, strlen(key), META_TEXT) : NULL;

    if (!meta)
        return -ENOMEM;
    meta->text = copy;
    return 0;
}

int profile__set_meta_int(struct profile *p, const char *key, int64_t value)
{
    struct meta *meta = profile__add_meta(p, key, strlen(key), META_INT);

    if (!meta)
        return -ENOMEM;
    meta->integer = value;
    return 0;
}

int profile__set_meta_float(struct profile *p, const char *key, double value)
{
    struct meta *meta = profile__add_meta(p, key, strlen(key), META_FLOAT);

    if (!meta)
        return -ENOMEM;
    meta->real = value;
    return 0;
}
