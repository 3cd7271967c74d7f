/* SPDX-License-Identifier: GPL-2.0-only */
/* The blocks of calls: where the records of each lane stand in the file, and reading them in order. */
#ifndef SCOPE_CALL_BLOCKS_H
#define SCOPE_CALL_BLOCKS_H

#include "capture_reader.h"
#include "lanes.h"
#include "region_table.h"

struct call_record {
    int64_t seq; /* within the lane, not wrapped at 32 bits */
    int64_t start, end;
    uint32_t region; /* id of the capture */
    uint16_t depth;
    uint8_t flags;  /* enum sb_call_flags */
    bool unmatched; /* an end that closed nothing: start = end */
};

struct call_block {
    uint64_t offset;             /* of the payload */
    uint32_t len, lane;          /* lane: index */
    uint64_t n;                  /* records that can be decoded */
    int64_t base;                /* sequence number that the block begins with */
    int64_t first_seq, last_seq; /* smallest, largest of its records */
    bool unsorted;
    bool alone; /* no earlier block of the lane reaches into this one or behind it */
};

struct call_blocks {
    struct column list;   /* struct call_block */
    uint64_t records;     /* in all of them */
    uint64_t bad;         /* blocks that break off before their count of records */
    uint64_t bad_records; /* what they promised beyond */
    int64_t last_time;    /* latest end */
};

void call_blocks__init(struct call_blocks *b);
void call_blocks__deinit(struct call_blocks *b);

/* Looks at a CAPTURE_CALLS payload once: fills the index, the lane's facts, the regions in use.  0, -EBADMSG,
 * -ENOMEM. */
int call_blocks__survey(struct call_blocks *b, struct lanes *l, struct region_table *regions,
                        const struct capture_block *block);

/* Again, for the lanes' facts only: for captures that said late which regions are hidden. */
/* Names the regions of all lanes but those of filtered programs; after region_table__forget_uses(). */
int call_blocks__use(const struct call_blocks *b, const struct lanes *l, const struct images *im,
                     struct region_table *regions, struct capture_reader *r, struct err *err);
int call_blocks__survey_again(struct call_blocks *b, struct lanes *l, const struct region_table *regions,
                              struct capture_reader *r, struct err *err);

/* After the last survey: orders the blocks by lane and sequence and tells the lanes which are theirs. */
int call_blocks__index(struct call_blocks *b, struct lanes *l);

/*
 * Reads the block `last` of the list, and those before it whose numbers reach into it, into `records` (the
 * column never shrinks), ordered by sequence number.  *ret_n: how many; *ret_next: the block before them,
 * below lane.first_block when there is none.
 */
int call_blocks__load(const struct call_blocks *b, const struct lane *lane, int64_t last,
                      struct capture_reader *r, struct column *records, uint64_t *ret_n, int64_t *ret_next,
                      struct err *err);

#endif
