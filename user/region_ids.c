/* SPDX-License-Identifier: GPL-2.0-only */
#include "region_ids.h"

#include "bpf/events.h"
#include "usdt/arena.h"
#include "usdt/glob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct region_ids {
    const struct options *options;
    struct arena *arena;
    struct names names; /* static regions: entry i has id SB_REGION_FIRST + i */
    struct capture_buf fresh;
    const char *providers[SB_MAX_NAMED_PROVIDERS]; /* 0 is `scope` */
    uint32_t n_providers;
};

struct region_ids *region_ids__create(const struct options *options)
{
    struct region_ids *ids = calloc(1, sizeof(*ids));
    if (!ids)
        return NULL;
    ids->options = options;
    ids->arena = arena__new();
    if (!ids->arena) {
        free(ids);
        return NULL;
    }
    names__init(&ids->names, ids->arena);
    ids->providers[ids->n_providers++] = "scope";
    return ids;
}

void region_ids__destroy(struct region_ids *ids)
{
    if (!ids)
        return;
    names__deinit(&ids->names);
    arena__free(ids->arena);
    capture_buf__deinit(&ids->fresh);
    free(ids);
}

static bool matches(const struct string_list *list, const char *name, size_t len)
{
    for (size_t i = 0; i < list->n; i++)
        if (glob__match_str(list->items[i], name, len))
            return true;
    return false;
}

bool region_ids__filtering(const struct region_ids *ids)
{
    return ids->options->region.n || ids->options->exclude.n;
}

bool region_ids__wanted(const struct region_ids *ids, const char *provider, const char *name, size_t len)
{
    char full[2 * SB_NAME_MAX + 2];
    size_t p = strlen(provider);

    if (!region_ids__filtering(ids))
        return true;
    if (strcmp(provider, "scope") != 0 && p + 1 + len <= sizeof(full)) {
        memcpy(full, provider, p);
        full[p] = ':';
        memcpy(full + p + 1, name, len);
        name = full;
        len += p + 1;
    }
    if (ids->options->region.n && !matches(&ids->options->region, name, len))
        return false;
    return !matches(&ids->options->exclude, name, len);
}

static void announce(struct region_ids *ids, uint32_t id, unsigned flags, const char *provider, const char *name,
                     size_t len, const char *file, int32_t line)
{
    struct capture_buf *b = &ids->fresh;

    capture_put_u(b, id);
    capture_put_u(b, flags);
    capture_put_text(b, provider);
    capture_put_bytes(b, name, len);
    capture_put_text(b, file);
    capture_put_s(b, file ? line : -1);
}

int region_ids__get(struct region_ids *ids, const char *provider, const char *name, size_t len, const char *file,
                    int32_t line, uint32_t *ret_id)
{
    size_t before = ids->names.count;
    uint32_t n;

    if (before >= SB_MAX_REGIONS - SB_REGION_FIRST)
        return -E2BIG;
    if (!names__intern(&ids->names, provider, strlen(provider), name, len, &n))
        return -ENOMEM;
    *ret_id = SB_REGION_FIRST + n;
    if (ids->names.count > before)
        announce(ids, *ret_id, 0, provider, name, len, file, line);
    return 0;
}

int region_ids__provider(struct region_ids *ids, const char *name, uint32_t *ret)
{
    for (*ret = 0; *ret < ids->n_providers; ++*ret)
        if (!strcmp(ids->providers[*ret], name))
            return 0;
    if (ids->n_providers == SB_MAX_NAMED_PROVIDERS)
        return -E2BIG;
    ids->providers[*ret] = arena__copy(ids->arena, name, strlen(name));
    if (!ids->providers[*ret])
        return -ENOMEM;
    ids->n_providers++;
    return 0;
}

int region_ids__add_dynamic(struct region_ids *ids, uint32_t id, uint32_t provider, const char *name, size_t len)
{
    uint32_t n = id - SB_REGION_FIRST_DYNAMIC;

    if (id < SB_REGION_FIRST_DYNAMIC || n >= SB_MAX_DYNAMIC || provider >= ids->n_providers)
        return -EINVAL;
    const char *of = ids->providers[provider];
    announce(ids, id, region_ids__wanted(ids, of, name, len) ? 1 : 3, of, name, len, NULL, -1);
    return 0;
}

bool region_ids__take_new(struct region_ids *ids, struct capture_buf *b)
{
    if (!ids->fresh.len)
        return false;
    struct capture_buf swap = *b;
    *b = ids->fresh;
    ids->fresh = swap;
    capture_buf__reset(&ids->fresh);
    return true;
}

size_t region_ids__count(const struct region_ids *ids)
{
    return ids->names.count;
}
