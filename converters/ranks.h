/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which process is which rank.
 *
 * A process is a chain of images linked by exec.  It is a rank when it executed a region of its own (what a
 * fork inherited does not count).  Its number is the one that its environment names (a forked image has its
 * parent's); among several claimants of one number the first that executed a region keeps it.  The others,
 * and processes without a claim, get free numbers above the highest that any environment of the run names, in
 * order of start.
 */
#ifndef SCOPE_RANKS_H
#define SCOPE_RANKS_H

#include "images.h"

struct process {
    uint32_t first_image;
    int64_t start, own_time; /* own_time INT64_MAX: no region of its own */
    int32_t claim;           /* -1 none */
    const char *claim_source;
    int32_t number;     /* -1: not a rank */
    int32_t rank;       /* index in profile.ranks, -1: not a rank */
    const char *source; /* where the number came from */
};

struct ranks {
    struct column processes; /* struct process */
    int32_t highest_claim;   /* of all images, -1 none */
};

void ranks__init(struct ranks *r);
void ranks__deinit(struct ranks *r);

/*
 * Sets image.process and decides the numbers; says what is to be noted (a number claimed twice) through
 * `note`, one call per note.  0, -ENOMEM, -E2BIG (more processes than numbers).
 */
int ranks__assign(struct ranks *r, struct images *im, int (*note)(void *arg, int64_t pid, const char *text),
                  void *arg);

/* Makes the ranks of the profile, in order of number, and fills rank and rank_source of its processes. */
int ranks__fill(struct ranks *r, const struct images *im, struct profile *p, const char *file);

static inline struct process *ranks__at(const struct ranks *r, uint64_t i)
{
    return (struct process *)r->processes.data + i;
}
/* Index in profile.ranks of an image's process, -1 none. */
static inline int32_t ranks__of_image(const struct ranks *r, const struct images *im, uint32_t image)
{
    return ranks__at(r, images__at(im, image)->process)->rank;
}

#endif
