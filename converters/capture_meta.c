// SPDX-License-Identifier: GPL-2.0-only
#include "capture_meta.h"

#include "capture_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LONGEST_KEY  256
#define LONGEST_TEXT 65536
#define TRACE_FORMAT_VERSION                                                                                 \
    2 /* what an application's own trace of this content would have: lanes and sources */

enum { KIND_TEXT = 0, KIND_INTEGER = 1, KIND_LIST = 2 };

static int read_list(struct profile *p, struct meta *meta, struct capture_in *in)
{
    uint64_t n = capture_get_u(in);

    meta->list = NULL;
    meta->n_list = 0;
    for (; n && !in->bad; n--) {
        struct text text = capture_text(p, in, LONGEST_TEXT), *to;

        if (in->bad)
            break;
        to = profile__append(p, &meta->list, &meta->n_list, sizeof(*to));
        if (!to || !text.s)
            return -ENOMEM;
        *to = text;
    }
    return 0;
}

static int read_one(struct profile *p, struct capture_in *in)
{
    static const enum meta_kind kinds[] = {META_TEXT, META_INT, META_LIST};
    struct text key = capture_text(p, in, LONGEST_KEY);
    uint64_t kind = capture_get_u(in);
    struct meta *meta;

    if (in->bad || !key.len || kind > KIND_LIST)
        return -EBADMSG;
    meta = profile__add_meta(p, key.s, key.len, kinds[kind]);
    if (!meta)
        return -ENOMEM;
    if (kind == KIND_TEXT)
        meta->text = capture_text(p, in, LONGEST_TEXT);
    else if (kind == KIND_INTEGER)
        meta->integer = capture_get_s(in);
    else
        return read_list(p, meta, in);
    return kind == KIND_TEXT && !meta->text.s ? -ENOMEM : 0;
}

int capture_meta__read(struct profile *p, struct capture_in *in)
{
    int code = 0;

    while (!code && capture_in__more(in))
        code = read_one(p, in);
    return code ? code : in->bad ? -EBADMSG : 0;
}

bool capture_meta__full_detail(const struct profile *p)
{
    const struct meta *meta = profile__meta(p, "scope.detail");

    return meta && meta->kind == META_TEXT && meta->text.len == 4 && !memcmp(meta->text.s, "full", 4);
}

/* ---- what follows from the capture
 * ------------------------------------------------------------------------- */

static int add_text(struct profile *p, const char *key, const void *text, size_t len)
{
    if (profile__meta(p, key))
        return 0;
    for (size_t i = 0; i < len; i++)
        if (!((const char *)text)[i])
            len = i;
    return profile__set_meta_text(p, key, text, len);
}

static int add_int(struct profile *p, const char *key, int64_t value)
{
    return profile__meta(p, key) ? 0 : profile__set_meta_int(p, key, value);
}

/* "2026-11-30T04:29:00.123456+00:00" */
static int add_timestamp(struct profile *p, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    char text[64];
    struct tm tm;
    size_t len;

    if (realtime_ns < 0 || !gmtime_r(&seconds, &tm))
        return 0;
    len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    len += (size_t)snprintf(text + len, sizeof(text) - len, ".%06d+00:00",
                            (int)(realtime_ns % 1000000000 / 1000));
    return add_text(p, "timestamp", text, len);
}

static int add_run_id(struct profile *p, const struct capture_head *head)
{
    size_t n = head->run_id_len < 32 ? head->run_id_len : 32;
    char text[65] = "";

    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", head->run_id[i]);
    return add_text(p, "scope.run_id", text, 2 * n);
}

/* OMP_NUM_THREADS of the first program that ran a region: what the collector saw of its own environment comes
 * after. */
static int add_omp_threads(struct profile *p, const struct images *im)
{
    const struct image *first = NULL;

    for (uint64_t i = 0; i < im->list.n; i++)
        if (!first || images__at(im, i)->own_time < first->own_time)
            first = images__at(im, i);
    if (first && first->omp_threads)
        return profile__set_meta_int(p, "omp_num_threads", first->omp_threads);
    return add_int(p, "omp_num_threads", 1);
}

/* As the reference counts them: ranks times threads of each. */
static int add_total_cores(struct profile *p)
{
    const struct meta *ranks = profile__meta(p, "mpi_size"), *threads = profile__meta(p, "omp_num_threads");
    int64_t cores;

    if (ranks->kind != META_INT || threads->kind != META_INT ||
        __builtin_mul_overflow(ranks->integer, threads->integer, &cores))
        return 0;
    return add_int(p, "total_cores", cores);
}

static int64_t world_size(const struct profile *p)
{
    int64_t size = 1;

    for (uint32_t i = 0; i < p->n_ranks; i++)
        if (p->ranks[i].number >= size)
            size = (int64_t)p->ranks[i].number + 1;
    return size;
}

int capture_meta__complete(struct profile *p, const struct capture_head *head, const struct images *im,
                           int64_t last)
{
    int64_t first = head->monotonic;

    if (add_timestamp(p, head->realtime) || add_int(p, "start_time_ns", first) ||
        add_int(p, "finalize_time_ns", last > first ? last : first) ||
        add_int(p, "mpi_size", world_size(p)) || add_int(p, "num_nodes", 1) || add_omp_threads(p, im) ||
        add_total_cores(p) || add_text(p, "label", "", 0) || add_text(p, "source", "native", 6) ||
        add_text(p, "source_language", "native", 6) ||
        add_int(p, "trace_format_version", TRACE_FORMAT_VERSION) || add_run_id(p, head) ||
        add_text(p, "scope.version", head->tool, head->tool_len) ||
        add_text(p, "scope.architecture", head->architecture, head->architecture_len))
        return -ENOMEM;
    return 0;
}
