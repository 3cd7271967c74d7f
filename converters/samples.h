/* SPDX-License-Identifier: GPL-2.0-only */
/* Timer ticks: to which rank, module and region each belongs. */
#ifndef SCOPE_SAMPLES_H
#define SCOPE_SAMPLES_H

#include "capture_reader.h"
#include "hidden_ticks.h"
#include "lanes.h"
#include "modules.h"
#include "ranks.h"
#include "region_table.h"

struct samples {
    struct column blocks; /* where their payloads stand */
    uint64_t n;           /* in all of them */
    uint64_t nowhere;     /* of a process that the capture does not describe */
    struct hidden_ticks hidden;
    int64_t last_time;
};

void samples__init(struct samples *s);
void samples__deinit(struct samples *s);

/* Looks at a CAPTURE_SAMPLES payload once: regions in use.  0, -EBADMSG (what stands before is kept),
 * -ENOMEM. */
int samples__survey(struct samples *s, struct region_table *regions, const struct capture_block *block);
/* Names the regions again, but those of filtered programs; after region_table__forget_uses(). */
int samples__use(const struct samples *s, const struct lanes *lanes, const struct images *im,
                 struct region_table *regions, struct capture_reader *r, struct err *err);

/* Before the calls are put in order: finds the ticks in hidden regions.  Message in err. */
int samples__find_hidden(struct samples *s, const struct lanes *lanes, const struct region_table *regions,
                         struct capture_reader *r, struct err *err);

/* Fills rank.samples, ticks and hz of all ranks, and the counts of the images.  Message in err. */
int samples__fill(struct samples *s, struct images *im, const struct lanes *lanes, const struct ranks *ranks,
                  struct modules *modules, const struct region_table *regions, struct profile *p,
                  struct capture_reader *r, struct err *err);

#endif
