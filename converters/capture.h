/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture (<prefix>.scope): what the collector appends while a program runs, and everything that is needed
 * to rebuild the run afterwards, also when the collector was killed or the disk was full.
 *
 * A capture is a sequence of blocks.  Each has a header of 24 bytes, little-endian:
 *
 *     u32 magic "SCPB" · u16 type · u16 0 · u32 payload bytes · u32 CRC-32C · u64 sequence
 *
 * The checksum covers the header (with 0 in its place) and the payload.  The sequence counts from 0, so that a
 * lost block is noticed.  The first block is CAPTURE_HEADER, a complete capture ends with CAPTURE_END.  A reader
 * skips and counts types it does not know, and stops at the first damaged block: what stands before it is kept.
 *
 * A payload is a sequence of fields, written one after the other without tags:
 *     u   unsigned LEB128, at most 10 bytes
 *     s   signed, zigzag, then LEB128
 *     b   bytes: u length, then the bytes (text is UTF-8 where the source was, but any byte may stand there)
 * Blocks come in no promised order between types: the LANE of a CALLS block, the IMAGE of a LANE, the region of a
 * call may stand later in the file.  IMAGE of a fork repeats path, command line and variables of its parent.
 * Times are ns of CLOCK_MONOTONIC.  A type may grow new fields at its end: readers ignore what is left over.
 *
 * `image` is the serial number (from 1) of one program executed by one process: a fork and an exec start a new one.
 * `lane` is the serial number (from 1) of one thread of one image that recorded something; never reused.
 */
#ifndef SCOPE_CAPTURE_H
#define SCOPE_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#define CAPTURE_MAGIC        0x42504353u /* "SCPB" */
#define CAPTURE_VERSION      1
#define CAPTURE_HEADER_BYTES 24
#define CAPTURE_MAX_PAYLOAD  (4u << 20)

enum capture_type {
    /* u version · b architecture ("x86_64") · b run id (16 random bytes) · s monotonic · s boottime · s realtime
     * (the three clocks at one moment, ns) · u rate of the samples asked for, Hz, 0 none · b version of the tool */
    CAPTURE_HEADER = 1,
    /* until the end of the payload: b key · u kind (0 text, 1 integer, 2 list) · text: b; integer: s;
     * list: u n, n × b.  Keys with the names of the HDF5 attributes of /metadata go there as they are; keys that
     * begin with "scope." are ours (scope.pair_cost_ns, scope.command, scope.detail = minimal|full …) */
    CAPTURE_META = 2,
    /* until the end: u region · u flags (1: dynamic name, 2: hidden by --region or
     * --exclude: its calls are left out, what they called belongs to the next visible call above) · b
     * provider · b name · b source file · s line (-1) */
    CAPTURE_REGIONS = 3,
    /* u image · u from (image that it forked from or executed in, 0: was running already) · u how (enum
     * capture_image_how) · u pid · u inner pid · u parent pid · u exec number · s process start · s time ·
     * b executable's path · u argc, argc × b · u n, n × {b name, b value} (variables that name a rank, and
     * OMP_NUM_THREADS) · b comm · u filtered (1: --filter-comm leaves it out: no rank, no calls, no samples) */
    CAPTURE_IMAGE = 4,
    /* u image · s time · u status as wait() reports it · u calls that it inherited at fork and that never
     * became visible */
    CAPTURE_IMAGE_END = 5,
    /* u lane · u image · u tid · u inner tid · s start of the thread (of this image in it) · s time of its first
     * record · u flags (enum sb_lane_flags) · b name */
    CAPTURE_LANE = 6,
    /* u lane · s end · s CPU time in ns (-1 unknown) · u records of the lane, lost ones included · u why (enum
     * sb_lane_end_why; 0: a later block with the exact CPU time, of which nothing else counts) · u calls
     * deeper than the limit · b name at the end */
    CAPTURE_LANE_END = 7,
    /* A forked image starts with the modules of the image that it forked from.
     * u image · u start · u end (addresses of the executable mapping) · u file offset · u bias (address minus the
     * address in the ELF file) · u known (1: the bias was computed) · s time · b path · b build-id */
    CAPTURE_MODULE = 8,
    /* u lane · u n · u first seq · then n records as capture_calls__put() writes them, in order of seq */
    CAPTURE_CALLS = 9,
    /* s time of the first · until the end: s time since the one before · u flags (enum sb_sample_flags) · u pid ·
     * u lane · u region · s address since the one before */
    CAPTURE_SAMPLES = 10,
    /* until the end: u cause (enum sb_lost_cause) · u pid · u lane · u region · u count (to be added up) */
    CAPTURE_LOSS = 11,
    /* s from · s to · u pid · b text: something that the summary must say, e.g. a library attached late */
    CAPTURE_NOTE = 12,
    /* s monotonic · s boottime · s realtime */
    CAPTURE_CLOCK = 13,
    /* s time (recording ended) · b how: "command ended", "detached", "duration", "interrupted", "disk full" ·
     * u status of the command as wait() reports it · u records of calls written · u samples written */
    CAPTURE_END = 14,
    /* empty, behind the end: a profile was written from this capture, which is only kept because somebody asked
     * for it; a later run of that name may replace it */
    CAPTURE_WRITTEN = 15,
};

enum capture_image_how { CAPTURE_IMAGE_RUNNING = 0, CAPTURE_IMAGE_FORK = 1, CAPTURE_IMAGE_EXEC = 2 };

/* ---- fields: writing into, reading from a bounded buffer -------------------------------------------------- */
struct capture_buf { /* grows; owned by the caller, free with capture_buf__deinit */
    uint8_t *data;
    size_t len, cap;
    int failed; /* out of memory: sticky, checked once at the end */
};
void capture_buf__deinit(struct capture_buf *b);
void capture_buf__reset(struct capture_buf *b);
void capture_buf__reserve(struct capture_buf *b, size_t more);
void capture_put_u(struct capture_buf *b, uint64_t v);
void capture_put_s(struct capture_buf *b, int64_t v);
void capture_put_bytes(struct capture_buf *b, const void *data, size_t len);
void capture_put_text(struct capture_buf *b, const char *text); /* NULL = "" */

struct capture_in { /* a payload being read; does not own the bytes */
    const uint8_t *at, *end;
    int bad; /* sticky: read past the end, or a number too long; then every read gives 0 */
};
uint64_t capture_get_u(struct capture_in *in);
int64_t capture_get_s(struct capture_in *in);
const uint8_t *capture_get_bytes(struct capture_in *in, size_t *ret_len); /* points into the payload */
static inline int capture_in__more(const struct capture_in *in)
{
    return !in->bad && in->at < in->end;
}

/* Fills the 24 bytes in front of `payload`. */
void capture_block_header(uint8_t out[CAPTURE_HEADER_BYTES], uint16_t type, uint64_t sequence,
                          const void *payload, uint32_t len);
uint32_t crc32c(uint32_t crc, const void *data, size_t len); /* start with 0 */

/* ---- records of calls ---------------------------------------------------------------------------------------
 * One record: a tag byte, then what the tag does not say.
 *   bit 0    unmatched end (no depth, no duration)
 *   bit 1    region is the one of the record before, else: s region minus that one's (of the block: 0 before the
 *            first); ids of one file are neighbours, but begin far from 0
 *   bits 2-3 depth: 0 as before, 1 one less, 2 one more, 3: u depth
 *   bit 4    u flags follow
 *   bit 5    u gap follows: records lost before this one
 *   then     s end minus end of the record before (of the block: 0 before the first) · u duration
 */
struct capture_call {
    uint32_t seq;
    uint32_t region;
    uint16_t depth;
    uint8_t flags;
    uint8_t unmatched;
    int64_t start, end; /* unmatched: start = end */
};
struct capture_calls { /* state of one block, for both directions; zero-initialise, set seq to the first */
    uint32_t seq, region;
    uint16_t depth;
    int64_t end;
};
void capture_calls__put(struct capture_calls *state, struct capture_buf *b, const struct capture_call *call);
/* 0, or -1 when the payload is damaged. */
int capture_calls__get(struct capture_calls *state, struct capture_in *in, struct capture_call *ret_call);

#endif
