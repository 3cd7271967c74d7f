/* SPDX-License-Identifier: GPL-2.0-only */
/* The regions of a capture, and under which name they stand in the profile. */
#ifndef SCOPE_REGION_TABLE_H
#define SCOPE_REGION_TABLE_H

#include "capture.h"
#include "model.h"

struct region_entry {
    struct text provider, name, file;
    int64_t line; /* -1 unknown */
    bool known;   /* the capture says what it is; else it was only used */
    bool used;    /* a call, sample or loss names it */
    bool hidden;  /* by --region or --exclude: its calls are left out, it never gets an index */
    uint32_t id;
    int32_t index; /* in profile.regions, -1: not used */
};

struct region_table {
    struct column entries; /* struct region_entry, in the order of the capture */
    uint32_t *entry_of_id; /* entry + 1, 0 none; one per possible id */
    bool any_hidden;
    bool hidden_late;    /* a region turned out to be hidden after region_table__use() named it */
    struct column shown; /* int64: for each index of profile.regions the entry that stands there */
};

int region_table__init(struct region_table *t); /* 0, -ENOMEM */
void region_table__deinit(struct region_table *t);

/* A CAPTURE_REGIONS payload: 0, -EBADMSG (what came before the damage is kept), -ENOMEM. */
int region_table__read(struct region_table *t, struct profile *p, struct capture_in *in);

/* Says that the region appears in the profile.  0, -EBADMSG: no such id can be, -ENOMEM. */
int region_table__use(struct region_table *t, uint64_t id);

/* Nothing appears any more; what does is named again. */
void region_table__forget_uses(struct region_table *t);

/*
 * Gives every used region its place in profile.regions.  Provider "scope": the bare name, others
 * provider:name; two identities that would look equal stay two ("~2").
 */
int region_table__resolve(struct region_table *t, struct profile *p);

int32_t region_table__index(const struct region_table *t, uint64_t id); /* -1: outside, hidden, not used */
bool region_table__hidden(const struct region_table *t, uint32_t id);
const struct region_entry *region_table__of_index(const struct region_table *t, uint32_t index);

#endif
