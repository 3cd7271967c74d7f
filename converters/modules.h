/* SPDX-License-Identifier: GPL-2.0-only */
/* Executable mappings of the images: from an address to a module of a rank. */
#ifndef SCOPE_MODULES_H
#define SCOPE_MODULES_H

#include "images.h"

struct mapping {
    uint32_t image;
    bool known; /* the load bias was computed */
    uint64_t start, end, bias;
    uint64_t furthest; /* highest end of this and the mappings of the image before it in order */
    int64_t time;
    struct text path, build_id;
};

struct modules {
    struct column list;   /* struct mapping; after modules__index by (image, start, time) */
    struct idmap in_rank; /* rank index << 32 | mapping → index in rank.modules */
};

void modules__init(struct modules *m);
void modules__deinit(struct modules *m);

/* A CAPTURE_MODULE payload: 0, -EBADMSG, -ENOMEM. */
int modules__read(struct modules *m, struct images *im, struct profile *p, struct capture_in *in);

/* After the last read: orders, drops mappings that were seen twice, tells each image where its own are. */
int modules__index(struct modules *m, struct images *im);

/* Puts all mappings of the image into the rank's modules.  0, -ENOMEM. */
int modules__fill_rank(struct modules *m, const struct images *im, uint32_t image, struct profile *p,
                       uint32_t rank);

/*
 * Index in rank.modules of what was mapped at `address` at that time (a forked image also has what its parent
 * had); -1: nothing, or something whose load bias is unknown; -ENOMEM.
 */
int64_t modules__find(struct modules *m, const struct images *im, uint32_t image, uint64_t address,
                      int64_t time, struct profile *p, uint32_t rank);

#endif
