// SPDX-License-Identifier: GPL-2.0-only
#include "list_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "usdt/glob.h"
#include "usdt/notes.h"

static bool matches_any(const struct string_list *patterns, const char *name, size_t len)
{
    for (size_t i = 0; i < patterns->n; i++) {
        if (glob__match_str(patterns->items[i], name, len))
            return true;
    }
    return false;
}

/* Compared by the name in files: bare for our own provider, else provider:name. */
static bool chosen(const struct region_def *region, const struct string_list *yes,
                   const struct string_list *no)
{
    char name[2 * NOTES_MAX_NAME + 2];
    size_t len = region->name_len;
    const char *text = region->name;

    if (strcmp(region->provider, "scope") != 0) {
        int n = snprintf(name, sizeof(name), "%s:%.*s", region->provider, (int)len, region->name);

        text = name;
        len = n < (int)sizeof(name) ? (size_t)n : sizeof(name) - 1;
    }
    return (!yes->n || matches_any(yes, text, len)) && !matches_any(no, text, len);
}

static int add_row(struct list_rows *rows, const struct list_row *row)
{
    struct list_row *grown;

    if (!(rows->n & (rows->n - 1))) { /* full at each power of two */
        grown = realloc(rows->rows, (rows->n ? 2 * rows->n : 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        rows->rows = grown;
    }
    rows->rows[rows->n++] = *row;
    return 0;
}

/* Who names its regions at run time at this site, or NULL. */
static const char *provider_of_names(const struct site *site)
{
    switch (site->kind) {
    case SITE_DYNAMIC_BEGIN:
    case SITE_DYNAMIC_END:
    case SITE_DYNAMIC_OPEN:
    case SITE_DYNAMIC_CLOSE: return "scope";
    case SITE_NAMED_OPEN:
    case SITE_NAMED_CLOSE: return site->provider;
    default: return NULL;
    }
}

bool list_row__has(const struct list_row *row, const struct site *site)
{
    const char *provider = provider_of_names(site);

    if (row->region)
        return site->region != SITE_NO_REGION &&
               site->region == (uint32_t)(row->region - row->file->table->regions);
    return provider && !strcmp(provider, row->provider);
}

static int add_dynamic_of(struct list_rows *rows, const struct listed_file *file, const char *provider)
{
    struct list_row row = {.file = file, .source_line = -1, .provider = provider};

    for (size_t i = 0; i < file->table->n_sites; i++) {
        const struct site *site = &file->table->sites[i];
        bool begin = site->kind == SITE_DYNAMIC_BEGIN || site->kind == SITE_DYNAMIC_OPEN ||
                     site->kind == SITE_NAMED_OPEN;

        if (!list_row__has(&row, site))
            continue;
        row.n_begin += begin;
        row.n_end += !begin;
        if (begin && !row.source_file && site->source_file) {
            row.source_file = site->source_file;
            row.source_line = site->source_line;
        }
    }
    return add_row(rows, &row);
}

/* A row for each provider of the file that names regions at run time. */
static int add_dynamic(struct list_rows *rows, const struct listed_file *file)
{
    size_t first = rows->n;
    int r = 0;

    for (size_t i = 0; !r && i < file->table->n_sites; i++) {
        const char *provider = provider_of_names(&file->table->sites[i]);
        size_t k = first;

        if (!provider)
            continue;
        while (k < rows->n && strcmp(rows->rows[k].provider, provider) != 0)
            k++;
        if (k == rows->n)
            r = add_dynamic_of(rows, file, provider);
    }
    return r;
}

int list_rows__make(const struct listing *listing, const struct string_list *region,
                    const struct string_list *exclude, struct list_rows *rows)
{
    int r = 0;

    for (size_t i = 0; !r && i < listing->n_files; i++) {
        const struct listed_file *file = &listing->files[i];

        for (size_t k = 0; file->table && !r && k < file->table->n_regions; k++) {
            const struct region_def *def = &file->table->regions[k];

            if (chosen(def, region, exclude))
                r = add_row(rows, &(struct list_row){file, def, def->provider, def->n_begin, def->n_end, def->n_scope_begin,
                                                     def->source_file, def->source_line});
        }
        if (!r && file->table)
            r = add_dynamic(rows, file);
    }
    return r;
}
