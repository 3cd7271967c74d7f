/* SPDX-License-Identifier: GPL-2.0-only */
/* What was lost, by cause, process and region: what the collector counted, and what the capture lacks. */
#ifndef SCOPE_LOSSES_H
#define SCOPE_LOSSES_H

#include "lanes.h"
#include "ranks.h"
#include "region_table.h"

struct loss_entry {
    uint32_t cause;  /* enum sb_lost_cause; NOT_THERE: our own */
    uint32_t region; /* id of the capture, 0 unknown */
    int64_t pid;     /* 0 unknown */
    uint64_t lane;   /* id, 0 unknown */
    uint64_t count;
};

struct losses {
    struct column list; /* struct loss_entry */
};

void losses__init(struct losses *l);
void losses__deinit(struct losses *l);

/* A CAPTURE_LOSS payload: 0, -EBADMSG, -ENOMEM. */
int losses__read(struct losses *l, struct region_table *regions, struct capture_in *in);
/* Names the regions again, but those of filtered programs; after region_table__forget_uses(). */
void losses__use(const struct losses *l, const struct lanes *lanes, const struct images *im, struct region_table *regions);

/*
 * After the calls were read: adds what no cause explains, fills profile.losses, and tells each rank's ticks
 * about samples that were lost.  What is no call and no sample (records of processes, names) is said through
 * `note`.
 */
int losses__fill(struct losses *l, struct lanes *lanes, const struct images *im, const struct ranks *ranks,
                 const struct region_table *regions, struct profile *p,
                 int (*note)(void *arg, int64_t pid, const char *text), void *arg);

#endif
