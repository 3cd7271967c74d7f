/* SPDX-License-Identifier: GPL-2.0-only */
#include "nothing_found.h"

#include <stdio.h>
#include <string.h>

/* Names of other providers, each once, as many as fit. */
static size_t list_providers(const struct attach *a, char *text, size_t size)
{
    const struct attached_file *f;
    size_t n = 0, len = 0;

    text[0] = '\0';
    for (size_t i = 0; (f = attach__nth(a, i)); i++)
        for (size_t k = 0; f->table && k < f->table->n_foreign; k++) {
            const char *provider = f->table->foreign[k].provider;
            size_t more = strlen(provider);
            if (strstr(text, provider) || len + more + 3 > size)
                continue;
            len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "", provider);
            n++;
        }
    return n;
}

static const struct attached_file *stripped_file(const struct attach *a)
{
    const struct attached_file *f;

    for (size_t i = 0; (f = attach__nth(a, i)); i++)
        if (f->table && f->table->state == NOTES_STRIPPED)
            return f;
    return NULL;
}

void nothing_found__line(const struct attach *a, const char *what, char *line, size_t size)
{
    const struct attached_file *stripped = stripped_file(a);
    char providers[160];
    size_t n = list_providers(a, providers, sizeof(providers));

    if (stripped)
        snprintf(line, size,
                 "%s: no regions: the notes of %s were stripped (it has %zu sites that look like probes); keep them "
                 "with `llvm-strip --keep-section=.note.stapsdt`, or use GNU strip",
                 what, stripped->name, stripped->table->n_stripped_sites);
    else if (attach__rules(a))
        snprintf(line, size,
                 "%s: no regions: no probe of --usdt or --preset was found in it or its libraries%s%s (`scope-bpf --list` "
                 "shows what a program offers)",
                 what, n ? "; others there are of: " : "", providers);
    else
        snprintf(line, size,
                 "%s: no regions: no SP_PROBE or SP_BEGIN was found in it or its libraries%s%s (`scope-bpf --list` "
                 "shows what a program offers)",
                 what, n ? "; --preset or --usdt make regions of the probes of other providers: " : "", providers);
}
