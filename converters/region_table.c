// SPDX-License-Identifier: GPL-2.0-only
#include "region_table.h"

#include "capture_text.h"
#include "events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 4096
#define FLAG_HIDDEN  2u

int region_table__init(struct region_table *t)
{
    t->any_hidden = t->hidden_late = false;
    column__init(&t->entries, sizeof(struct region_entry));
    column__init(&t->shown, sizeof(int64_t));
    t->entry_of_id = calloc(SB_MAX_REGIONS, sizeof(*t->entry_of_id));
    return t->entry_of_id ? 0 : -ENOMEM;
}

void region_table__deinit(struct region_table *t)
{
    column__deinit(&t->entries);
    column__deinit(&t->shown);
    free(t->entry_of_id);
    t->entry_of_id = NULL;
}

static struct region_entry *entry_at(const struct region_table *t, uint64_t i)
{
    return (struct region_entry *)t->entries.data + i;
}

/* Found or made; NULL: out of memory. */
static struct region_entry *entry_of(struct region_table *t, uint32_t id)
{
    struct region_entry *e;

    if (t->entry_of_id[id])
        return entry_at(t, t->entry_of_id[id] - 1);
    e = column__append(&t->entries);
    if (!e)
        return NULL;
    e->id = id;
    e->line = -1;
    e->index = -1;
    t->entry_of_id[id] = (uint32_t)t->entries.n;
    return e;
}

static int read_one(struct region_table *t, struct profile *p, struct capture_in *in)
{
    uint64_t id = capture_get_u(in), flags = capture_get_u(in);
    struct region_entry *e, got = {.known = true, .hidden = flags & FLAG_HIDDEN};

    got.provider = capture_text(p, in, LONGEST_NAME);
    got.name = capture_text(p, in, LONGEST_NAME);
    got.file = capture_text(p, in, LONGEST_NAME);
    got.line = capture_get_s(in);
    if (in->bad || id == SB_REGION_NONE || id >= SB_MAX_REGIONS)
        return -EBADMSG;
    if (!got.provider.s || !got.name.s || !got.file.s)
        return -ENOMEM;
    e = entry_of(t, (uint32_t)id);
    if (!e)
        return -ENOMEM;
    if (e->known)
        return 0;
    got.id = e->id;
    got.index = e->index;
    got.used = e->used;
    t->any_hidden |= got.hidden;
    t->hidden_late |= got.hidden && got.used;
    if (got.line < 0)
        got.line = -1;
    *e = got;
    return 0;
}

int region_table__read(struct region_table *t, struct profile *p, struct capture_in *in)
{
    int code = 0;

    while (!code && capture_in__more(in))
        code = read_one(t, p, in);
    return code;
}

int region_table__use(struct region_table *t, uint64_t id)
{
    struct region_entry *e;

    if (id == SB_REGION_NONE || id >= SB_MAX_REGIONS)
        return -EBADMSG;
    e = entry_of(t, (uint32_t)id);
    if (!e)
        return -ENOMEM;
    e->used = true;
    return 0;
}

static bool same_text(struct text a, struct text b)
{
    return a.len == b.len && (!a.len || !memcmp(a.s, b.s, a.len));
}

static bool has_provider(const struct region_entry *e)
{
    return e->provider.len && !(e->provider.len == 5 && !memcmp(e->provider.s, "scope", 5));
}

/* The name to be shown; the attempt-th way to write it. */
static int shown_name(const struct region_entry *e, unsigned attempt, char *to, size_t cap)
{
    char suffix[16] = "";

    if (attempt > 1)
        snprintf(suffix, sizeof(suffix), "~%u", attempt);
    if (!e->known && e->id == SB_REGION_OTHER)
        return snprintf(to, cap, "(other names)%s", suffix);
    if (!e->known)
        return snprintf(to, cap, "(region %u)%s", e->id, suffix);
    if (!e->name.len)
        return snprintf(to, cap, "(no name)%s", suffix);
    if (has_provider(e))
        return snprintf(to, cap, "%.*s:%.*s%s", (int)e->provider.len, e->provider.s, (int)e->name.len,
                        e->name.s, suffix);
    return snprintf(to, cap, "%.*s%s", (int)e->name.len, e->name.s, suffix);
}

static bool same_region(const struct region_entry *a, const struct region_entry *b)
{
    return a->known && b->known && has_provider(a) == has_provider(b) && same_text(a->name, b->name) &&
           (!has_provider(a) || same_text(a->provider, b->provider));
}

/* One region may be known under several ids; the one that stands in the profile gets file and line of any. */
static void join(struct region_entry *shown, struct region_entry *e, int32_t index)
{
    e->index = index;
    if (shown->file.len)
        return;
    shown->file = e->file;
    shown->line = e->line;
}

static int resolve_one(struct region_table *t, struct profile *p, struct region_entry *e)
{
    char name[2 * LONGEST_NAME + 32];

    for (unsigned attempt = 1;; attempt++) {
        int len = shown_name(e, attempt, name, sizeof(name));
        int64_t index = profile__region(p, name, (size_t)len);
        struct region_entry *shown;

        if (index < 0)
            return (int)index;
        if ((uint64_t)index >= t->shown.n) {
            e->index = (int32_t)index;
            return column__append_i64(&t->shown, e - entry_at(t, 0));
        }
        shown = entry_at(t, (uint64_t)column_i64(&t->shown)[index]);
        if (same_region(shown, e)) {
            join(shown, e, (int32_t)index);
            return 0;
        }
    }
}

int region_table__resolve(struct region_table *t, struct profile *p)
{
    int code = 0;

    for (uint64_t i = 0; !code && i < t->entries.n; i++)
        if (entry_at(t, i)->used && !entry_at(t, i)->hidden)
            code = resolve_one(t, p, entry_at(t, i));
    return code;
}

int32_t region_table__index(const struct region_table *t, uint64_t id)
{
    if (id == SB_REGION_NONE || id >= SB_MAX_REGIONS || !t->entry_of_id[id])
        return -1;
    return entry_at(t, t->entry_of_id[id] - 1)->index;
}

void region_table__forget_uses(struct region_table *t)
{
    for (uint64_t i = 0; i < t->entries.n; i++)
        entry_at(t, i)->used = false;
}

bool region_table__hidden(const struct region_table *t, uint32_t id)
{
    return id < SB_MAX_REGIONS && t->entry_of_id[id] && entry_at(t, t->entry_of_id[id] - 1)->hidden;
}

const struct region_entry *region_table__of_index(const struct region_table *t, uint32_t index)
{
    return entry_at(t, (uint64_t)column_i64(&t->shown)[index]);
}
