// SPDX-License-Identifier: GPL-2.0-only
/* HDF5 profiles: /scope_bpf, what we know of a run and the reference has no place for. It does not look
 * there. */
#include "h5_put.h"

#include <stdio.h>

static bool has_own(const struct rank *rank)
{
    return rank->ticks >= 0 || rank->n_modules || rank->samples.n || rank->unmatched || rank->begun_before ||
           rank->depth_overflow || rank->inherited_dropped;
}

static bool anything(const struct profile *p)
{
    for (uint32_t i = 0; i < p->n_meta; i++) {
        if (h5__is_ours(&p->meta[i]))
            return true;
    }
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        if (has_own(&p->ranks[i]))
            return true;
    }
    return p->n_losses || p->n_notes || p->n_processes || p->how_ended.len;
}

static void put_ranks(struct h5_writer *w, hid_t in)
{
    struct rank_record *rows = h5_put__alloc(w, w->p->n_ranks, sizeof(*rows));
    uint64_t n = 0;

    for (uint32_t i = 0; i < w->p->n_ranks && rows; i++) {
        const struct rank *rank = &w->p->ranks[i];

        if (!write_options__rank(w->options, rank->number))
            continue;
        rank_record__of(rank, &rows[n++]);
    }
    h5_put__table(w, in, &record_ranks, n, rows);
}

static void put_samples(struct h5_writer *w, hid_t in)
{
    for (uint32_t i = 0; i < w->p->n_ranks && !w->code; i++) {
        const struct rank *rank = &w->p->ranks[i];
        char name[32];

        if (!write_options__rank(w->options, rank->number) || (!rank->samples.n && !rank->n_modules))
            continue;
        snprintf(name, sizeof(name), "rank%d", rank->number);
        AUTO_GROUP group = h5_put__group(w, in, name);

        h5_put__table(w, group, &record_modules, rank->n_modules, rank->modules);
        h5_put__table(w, group, &record_samples, rank->samples.n, rank->samples.data);
    }
}

void h5_put__ours(struct h5_writer *w)
{
    const struct profile *p = w->p;

    if (w->code || !anything(p))
        return;
    AUTO_GROUP group = h5_put__group(w, w->file, "scope_bpf");

    h5_put__int_attribute(w, group, "version", H5_OURS_VERSION);
    if (p->how_ended.len)
        h5_put__text_attribute(w, group, "how_ended", p->how_ended);
    h5_put__our_metadata(w, group);
    put_ranks(w, group);
    if (p->n_losses)
        h5_put__table(w, group, &record_losses, p->n_losses, p->losses);
    if (p->n_notes)
        h5_put__table(w, group, &record_notes, p->n_notes, p->notes);
    if (p->n_processes)
        h5_put__table(w, group, &record_processes, p->n_processes, p->processes);
    put_samples(w, group);
}
