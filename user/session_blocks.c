/* SPDX-License-Identifier: GPL-2.0-only */
#include "session_blocks.h"

#include "converters/capture.h"
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The three clocks at one moment: the middle of two readings of the first. */
static void put_clocks(struct capture_buf *b)
{
    int64_t before = clock_ns(CLOCK_MONOTONIC), boot = clock_ns(CLOCK_BOOTTIME), real = clock_ns(CLOCK_REALTIME);
    int64_t after = clock_ns(CLOCK_MONOTONIC);

    capture_put_s(b, before + (after - before) / 2);
    capture_put_s(b, boot);
    capture_put_s(b, real);
}

static void put_block(struct capture_writer *w, uint16_t type, struct capture_buf *b)
{
    if (!b->failed)
        capture_writer__put(w, type, b->data, b->len);
    capture_buf__deinit(b);
}

void session_blocks__header(struct capture_writer *w, const struct options *options, int hz)
{
    struct capture_buf b = { 0 };
    unsigned char run_id[16] = { 0 };
    struct utsname name;

    (void)options;
    if (getrandom(run_id, sizeof(run_id), 0) != sizeof(run_id))
        memset(run_id, 0, sizeof(run_id));
    capture_put_u(&b, CAPTURE_VERSION);
    capture_put_text(&b, uname(&name) ? "" : name.machine);
    capture_put_bytes(&b, run_id, sizeof(run_id));
    put_clocks(&b);
    capture_put_u(&b, (uint64_t)hz);
    capture_put_text(&b, SCOPE_BPF_VERSION);
    put_block(w, CAPTURE_HEADER, &b);
}

static void meta_text(void *arg, const char *key, const char *value)
{
    struct capture_buf *b = arg;

    capture_put_text(b, key);
    capture_put_u(b, 0);
    capture_put_text(b, value);
}

static void meta_integer(void *arg, const char *key, int64_t value)
{
    struct capture_buf *b = arg;

    capture_put_text(b, key);
    capture_put_u(b, 1);
    capture_put_s(b, value);
}

static void meta_list(void *arg, const char *key, const char *const *values, size_t n)
{
    struct capture_buf *b = arg;

    capture_put_text(b, key);
    capture_put_u(b, 2);
    capture_put_u(b, n);
    for (size_t i = 0; i < n; i++)
        capture_put_text(b, values[i]);
}

void session_blocks__meta(struct capture_writer *w, const struct options *options, const struct pair_cost *cost,
                          const char *user, char *const *environment, const char *sample_event)
{
    struct capture_buf b = { 0 };
    const struct machine_options machine = { .full = options->metadata_full, .label = options->label, .user = user,
                                             .environment = environment };
    const struct machine_sink sink = { .text = meta_text, .integer = meta_integer, .list = meta_list, .arg = &b };

    machine__collect(&machine, &sink);
    meta_text(&b, "scope.detail", options->metadata_full ? "full" : "minimal");
    meta_integer(&b, "scope.pair_cost_ns", (int64_t)(cost->pair_ns + 0.5));
    meta_integer(&b, "scope.empty_region_ns", (int64_t)(cost->region_ns + 0.5));
    if (sample_event)
        meta_text(&b, "scope.sample_event", sample_event);
    put_block(w, CAPTURE_META, &b);
}

void session_blocks__clock(struct capture_writer *w)
{
    struct capture_buf b = { 0 };

    put_clocks(&b);
    put_block(w, CAPTURE_CLOCK, &b);
}

void session_blocks__note(struct capture_writer *w, uint64_t from, uint64_t to, const char *format, ...)
{
    struct capture_buf b = { 0 };
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    capture_put_s(&b, (int64_t)from);
    capture_put_s(&b, (int64_t)to);
    capture_put_u(&b, 0);
    capture_put_text(&b, text);
    if (!b.failed)
        capture_writer__put_last(w, CAPTURE_NOTE, b.data, b.len);
    capture_buf__deinit(&b);
}

void session_blocks__end(struct capture_writer *w, uint64_t time, const char *how, int wstatus,
                         const struct drain_totals *totals)
{
    struct capture_buf b = { 0 };

    capture_put_s(&b, (int64_t)time);
    capture_put_text(&b, how);
    capture_put_u(&b, (uint64_t)(unsigned)wstatus);
    capture_put_u(&b, totals->calls + totals->unmatched - totals->disk_lost);
    capture_put_u(&b, totals->samples - totals->disk_lost_samples);
    if (!b.failed)
        capture_writer__put_last(w, CAPTURE_END, b.data, b.len);
    capture_buf__deinit(&b);
}
