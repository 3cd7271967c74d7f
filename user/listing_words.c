// SPDX-License-Identifier: GPL-2.0-only
/* What a listing says in words: the other providers, and why there is nothing to record. */
#include "listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_dynamic(const struct probe_table *table)
{
    size_t n = 0;

    for (size_t i = 0; i < table->n_sites; i++)
        n += table->sites[i].kind == SITE_DYNAMIC_BEGIN || table->sites[i].kind == SITE_DYNAMIC_OPEN ||
             table->sites[i].kind == SITE_NAMED_OPEN;
    return n;
}

size_t listing__count_regions(const struct listing *listing)
{
    size_t n = 0;

    for (size_t i = 0; i < listing->n_files; i++) {
        const struct probe_table *table = listing->files[i].table;

        if (table)
            n += table->n_regions + count_dynamic(table);
    }
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct listed_provider *)a)->name, ((const struct listed_provider *)b)->name);
}

static bool count_probe(struct listed_provider **list, size_t *n, const char *name)
{
    struct listed_provider *grown;

    for (size_t i = 0; i < *n; i++) {
        if (!strcmp((*list)[i].name, name)) {
            (*list)[i].probes++;
            return true;
        }
    }
    grown = realloc(*list, (*n + 1) * sizeof(*grown));
    if (!grown)
        return false;
    *list = grown;
    grown[(*n)++] = (struct listed_provider){name, 1};
    return true;
}

struct listed_provider *listing__providers(const struct listing *listing, size_t *ret_n)
{
    struct listed_provider *list = NULL;

    *ret_n = 0;
    for (size_t i = 0; i < listing->n_files; i++) {
        const struct probe_table *table = listing->files[i].table;

        for (size_t k = 0; table && k < table->n_foreign; k++) {
            if (!count_probe(&list, ret_n, table->foreign[k].provider))
                break;
        }
    }
    if (list)
        qsort(list, *ret_n, sizeof(*list), by_name);
    return list;
}

void listing__providers_text(const struct listing *listing, char *text, size_t size)
{
    size_t n, at = 0;
    struct listed_provider *list = listing__providers(listing, &n);

    text[0] = 0;
    for (size_t i = 0; i < n && at < size; i++)
        at +=
            (size_t)snprintf(text + at, size - at, "%s%s (%zu)", i ? ", " : "", list[i].name, list[i].probes);
    free(list);
}

/* What the files hold together. */
struct sums {
    size_t elf_files, unreadable, stripped_sites, dropped, refused;
    const char *stripped, *refusal, *damage;
};

static void add_table(struct sums *sums, const struct listed_file *file)
{
    const struct probe_table *table = file->table;

    sums->elf_files++;
    sums->dropped += table->n_dropped;
    sums->refused += table->n_refused;
    if (table->n_refused && !sums->refusal)
        sums->refusal = table->refused[0].why;
    if (table->n_damaged && !sums->damage)
        sums->damage = table->damage;
    if (table->state == NOTES_STRIPPED) {
        sums->stripped = file->path;
        sums->stripped_sites += table->n_stripped_sites;
    }
}

static struct sums add_up(const struct listing *listing)
{
    struct sums sums = {0};

    for (size_t i = 0; i < listing->n_files; i++) {
        if (listing->files[i].problem)
            sums.unreadable++;
        if (listing->files[i].table)
            add_table(&sums, &listing->files[i]);
    }
    return sums;
}

void listing__explain(const struct listing *listing, char *text, size_t size)
{
    struct sums sums = add_up(listing);
    char providers[300];
    const char *subject = listing->subject;

    listing__providers_text(listing, providers, sizeof(providers));
    if (sums.stripped)
        snprintf(
            text, size,
            "%s: the probes of %s were stripped (%zu places look like some): build it again without strip, "
            "or use GNU strip, or llvm-strip --keep-section=.note.stapsdt",
            subject, sums.stripped, sums.stripped_sites);
    else if (sums.refused)
        snprintf(text, size, "%s: all %zu probes were refused, the first because: %s", subject, sums.refused,
                 sums.refusal);
    else if (sums.damage)
        snprintf(text, size, "%s: its probe notes are damaged: %s; build it again", subject, sums.damage);
    else if (sums.dropped)
        snprintf(
            text, size,
            "%s: the linker dropped all functions with regions (%zu notes without code): nothing calls them",
            subject, sums.dropped);
    else
        snprintf(text, size,
                 "%s: no regions in %zu file%s%s%s%s; put SP_PROBE(name) of scope_probe.h where time is "
                 "spent, and "
                 "build again%s",
                 subject, sums.elf_files, sums.elf_files == 1 ? "" : "s",
                 sums.unreadable ? " (others could not be read)" : "", *providers ? ", only probes of: " : "",
                 providers, *providers ? ", or take those as regions by --preset or --usdt" : "");
}
