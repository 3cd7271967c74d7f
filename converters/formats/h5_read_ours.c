// SPDX-License-Identifier: GPL-2.0-only
/* HDF5 profiles: /scope_bpf, see h5_write_ours.c. A newer version of it is read as far as it is known. */
#include "h5_get.h"

#include <stdio.h>

static bool known_region(const struct h5_reader *r, int32_t region)
{
    return region < 0 || (uint32_t)region < r->p->n_regions;
}

static void read_ranks(struct h5_reader *r, hid_t in)
{
    uint32_t n = 0;
    struct rank_record *rows = h5_get__table(r, in, &record_ranks, &n);

    for (uint32_t i = 0; i < n && !r->code; i++) {
        int64_t number = rows[i].number;
        int64_t at = number < 0 || number > INT32_MAX ? -1 : profile__rank(r->p, (int32_t)number);

        if (at < 0 || !rank_record__apply(&rows[i], &r->p->ranks[at]))
            h5_get__fail(r, "ranks", "row %u is impossible", i);
    }
}

static void check_samples(struct h5_reader *r, const struct rank *rank)
{
    const struct sample *samples = rank->samples.data;

    for (uint64_t i = 0; i < rank->samples.n; i++) {
        if (known_region(r, samples[i].region) &&
            (samples[i].module < 0 || (uint32_t)samples[i].module < rank->n_modules))
            continue;
        h5_get__fail(r, "samples", "sample %llu names a region or module that is not there",
                     (unsigned long long)i);
        return;
    }
}

static void read_samples(struct h5_reader *r, hid_t in)
{
    for (uint32_t i = 0; i < r->p->n_ranks && !r->code; i++) {
        struct rank *rank = &r->p->ranks[i];
        char name[32];

        snprintf(name, sizeof(name), "rank%d", rank->number);
        AUTO_GROUP group = h5_get__group(r, in, name, false);

        if (group < 0)
            continue;
        snprintf(r->place, sizeof(r->place), "scope_bpf/%s", name);
        rank->modules = h5_get__table(r, group, &record_modules, &rank->n_modules);
        h5_get__column_table(r, group, &record_samples, &rank->samples);
        if (!r->code)
            check_samples(r, rank);
    }
}

void h5_get__ours(struct h5_reader *r)
{
    struct profile *p = r->p;
    AUTO_GROUP group = h5_get__group(r, r->file, "scope_bpf", false);

    if (group < 0)
        return;
    snprintf(r->place, sizeof(r->place), "scope_bpf");
    p->how_ended = h5_get__text_attribute(r, group, "how_ended");
    h5_get__metas(r, group, NULL, "scope.", &p->meta, &p->n_meta);
    read_ranks(r, group);
    p->losses = h5_get__table(r, group, &record_losses, &p->n_losses);
    p->notes = h5_get__table(r, group, &record_notes, &p->n_notes);
    p->processes = h5_get__table(r, group, &record_processes, &p->n_processes);
    for (uint32_t i = 0; i < p->n_losses && !r->code; i++) {
        if (!known_region(r, p->losses[i].region))
            h5_get__fail(r, "losses", "row %u names a region that is not there", i);
    }
    read_samples(r, group);
    r->place[0] = '\0';
}
