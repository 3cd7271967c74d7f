/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a run: a lane is one thread of one image that recorded something. */
#ifndef SCOPE_LANES_H
#define SCOPE_LANES_H

#include "images.h"

#define LANE_NONE UINT32_MAX

struct lane {
    uint64_t id;                    /* as in the capture */
    uint32_t image;                 /* index */
    bool known, ended;              /* its first, its last block was read */
    bool detached;                  /* recording ended, the thread went on */
    bool forked;                    /* starts with what its thread's parent had open */
    int64_t tid, start, first_time; /* start of the thread; time of its first record */
    int64_t end, cpu_ns;            /* -1 unknown */
    uint64_t records;               /* lost ones included; when ended */
    uint64_t too_deep;              /* calls deeper than the limit */
    struct text name, last_name;
    /* what its calls say, see call_blocks.h */
    int64_t last_seq;        /* of the block read last: sequence numbers of 32 bits go on from there */
    int64_t min_start;       /* of its calls that are not inherited; INT64_MAX none */
    int64_t first_unmatched; /* INT64_MAX none */
    int64_t max_end;
    uint64_t calls, inherited;
    uint64_t first_block, n_blocks;
    /* what came out */
    int32_t rank;       /* index in profile.ranks, -1 none */
    int64_t thread;     /* thread_row.index */
    uint64_t missing;   /* records that the capture should hold and does not */
    uint64_t unmatched; /* ends that closed nothing */
};

struct lanes {
    struct column list; /* struct lane, in the order of the capture */
    struct idmap by_id;
    struct column in_order; /* uint32 indexes of those of ranks, by (rank, start) */
};

void lanes__init(struct lanes *l);
void lanes__deinit(struct lanes *l);

/* Payloads of CAPTURE_LANE, CAPTURE_LANE_END: 0, -EBADMSG, -ENOMEM. */
int lanes__read(struct lanes *l, struct images *im, struct profile *p, struct capture_in *in);
int lanes__read_end(struct lanes *l, struct profile *p, struct capture_in *in);

/* Of a program that --filter-comm leaves out. */
bool lanes__is_filtered(const struct lanes *l, const struct images *im, uint64_t id);

/* Index of the lane with this number, made (not known, of no image) where it is new; -ENOMEM. */
int64_t lanes__need(struct lanes *l, uint64_t id);
uint32_t lanes__find(const struct lanes *l, uint64_t id); /* or LANE_NONE */
static inline struct lane *lanes__at(const struct lanes *l, uint64_t i)
{
    return (struct lane *)l->list.data + i;
}

/*
 * After the last survey: lanes that nobody described get an image that is not known (number 0), and the
 * images learn what their lanes' calls say: how many, the first region of their own.  0, -ENOMEM.
 */
int lanes__tell_images(struct lanes *l, struct images *im);

/* When it began, as far as its calls do not prove that it was there before. */
int64_t lanes__start(const struct lane *lane);

/*
 * Lanes of ranks (lane.rank is set) get their order and numbers, ranks their thread tables; times relative to
 * `origin`, never before it.
 */
int lanes__fill_threads(struct lanes *l, const struct images *im, struct profile *p, int64_t origin);

/* The lanes of a rank: in_order[*ret_from, *ret_to). */
void lanes__of_rank(const struct lanes *l, int32_t rank, uint64_t *ret_from, uint64_t *ret_to);

#endif
