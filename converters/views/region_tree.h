/* SPDX-License-Identifier: GPL-2.0-only */
/* One line per region, each under the region below which it spent most of its time. */
#ifndef SCOPE_REGION_TREE_H
#define SCOPE_REGION_TREE_H

#include "converters/views/stats.h"

struct region_node {
    uint32_t region;
    int64_t parent;  /* region, -1 at the top */
    unsigned depth;
    unsigned others; /* further parents that it has */
    int64_t time;    /* below that parent, ns */
};

struct region_tree {
    struct region_node *nodes; /* the wanted regions in the order of printing: parents first, longest first */
    uint32_t n;
};

int region_tree__init(struct region_tree *t, const struct stats *s); /* 0, -ENOMEM */
void region_tree__deinit(struct region_tree *t);

#endif
