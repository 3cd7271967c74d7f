/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures made by code: every type of block, and whatever bytes a test wants. */
#ifndef SCOPE_TESTS_CAPTURE_BUILDER_H
#define SCOPE_TESTS_CAPTURE_BUILDER_H

#include "capture.h"
#include "events.h"

#include <stdbool.h>

/* Moments of the captures that tests build. */
#define BUILD_START    1000000000ll          /* CLOCK_MONOTONIC of the header */
#define BUILD_REALTIME 1764476940123456789ll /* 2025-11-30T04:29:00.123456789 UTC */
#define BUILD_HZ       997

struct capture_builder { /* zero-initialise */
    struct capture_buf file, payload;
    uint64_t sequence;
    struct capture_calls calls; /* of the block of calls that is open */
    uint64_t n_calls;
    uint32_t lane, first_seq;
};

void builder__deinit(struct capture_builder *b);
/* One block with this payload; takes the next sequence number. */
void builder__block(struct capture_builder *b, uint16_t type, const void *payload, size_t len);
/* The file so far in an unlinked file of its own, to be closed by the caller. */
int builder__fd(const struct capture_builder *b);
int builder__fd_of(const void *bytes, size_t len);
/* As a file of that name; for fixtures.  0, -1. */
int builder__save(const struct capture_builder *b, const char *path);

struct build_image {
    uint64_t id, from;
    enum capture_image_how how;
    uint64_t pid, inner_pid, parent, exec;
    int64_t start, time;
    const char *path;    /* "" where NULL */
    const char *argv[8]; /* until NULL */
    const char *env[8][2];
    const char *comm;
    bool filtered; /* the last field was added later: false leaves it out */
};
struct build_lane {
    uint64_t id, image, tid, inner_tid, flags;
    int64_t start, time;
    const char *name;
};
struct build_lane_end {
    uint64_t id, records, why, too_deep;
    int64_t end, cpu;
    const char *name;
};
struct build_module {
    uint64_t image, start, end, offset, bias;
    bool known;
    int64_t time;
    const char *path;
    const void *build_id;
    size_t build_id_len;
};
struct build_sample {
    int64_t time;
    uint64_t flags, pid, lane, region, address;
};

void build_header(struct capture_builder *b);
void build_header_of(struct capture_builder *b, uint64_t version, uint64_t hz);
void build_meta_text(struct capture_builder *b, const char *key, const char *text);
void build_meta_int(struct capture_builder *b, const char *key, int64_t value);
void build_meta_list(struct capture_builder *b, const char *key, const char *const *items, size_t n);
void build_region(struct capture_builder *b, uint64_t id, uint64_t flags, const char *provider,
                  const char *name, const char *file, int64_t line);
void build_image(struct capture_builder *b, const struct build_image *image);
/* The last field was added later: 0 leaves it out. */
void build_image_end(struct capture_builder *b, uint64_t image, int64_t time, uint64_t status,
                     uint64_t dropped);
void build_lane(struct capture_builder *b, const struct build_lane *lane);
void build_lane_end(struct capture_builder *b, const struct build_lane_end *end);
void build_module(struct capture_builder *b, const struct build_module *module);
void build_samples(struct capture_builder *b, const struct build_sample *samples, size_t n);
void build_loss(struct capture_builder *b, uint64_t cause, uint64_t pid, uint64_t lane, uint64_t region,
                uint64_t count);
void build_note(struct capture_builder *b, int64_t from, int64_t to, uint64_t pid, const char *text);
void build_clock(struct capture_builder *b, int64_t monotonic);
void build_end(struct capture_builder *b, int64_t time, const char *how);

/* A block of calls: begin, records, finish. */
void build_calls(struct capture_builder *b, uint32_t lane, uint32_t first_seq);
void build_call(struct capture_builder *b, uint32_t seq, uint32_t region, uint16_t depth, int64_t start,
                int64_t end, uint8_t flags);
void build_unmatched(struct capture_builder *b, uint32_t seq, uint32_t region, int64_t time);
void build_calls_done(struct capture_builder *b);

/* What most tests need: header, process `pid` as image 1 from BUILD_START on, its main thread as lane 1. */
void build_one_process(struct capture_builder *b, uint64_t pid);

#endif
