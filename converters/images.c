// SPDX-License-Identifier: GPL-2.0-only
#include "images.h"

#include "capture_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_PATH    4096
#define LONGEST_COMMAND 4096
#define HIGHEST_CLAIM   (1 << 30)

/* Variables that name a rank; the first one that is there counts. */
static const char *const rank_variables[] = {
    "SCOPE_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID",
};
#define N_RANK_VARIABLES (sizeof(rank_variables) / sizeof(*rank_variables))

void images__init(struct images *im)
{
    column__init(&im->list, sizeof(struct image));
    column__init(&im->by_pid, sizeof(uint32_t));
    idmap__init(&im->by_id);
}

void images__deinit(struct images *im)
{
    column__deinit(&im->list);
    column__deinit(&im->by_pid);
    idmap__deinit(&im->by_id);
}

uint32_t images__find(const struct images *im, uint64_t id)
{
    return idmap__get(&im->by_id, id);
}

int64_t images__need(struct images *im, uint64_t id)
{
    uint32_t found = images__find(im, id);
    struct image *image;
    int code;

    if (found != IMAGE_NONE)
        return found;
    if (im->list.n >= IMAGE_NONE - 1)
        return -ENOMEM;
    code = idmap__put(&im->by_id, id, (uint32_t)im->list.n);
    if (code)
        return code;
    image = column__append(&im->list);
    if (!image)
        return -ENOMEM;
    *image = (struct image){
        .id = id,
        .end = -1,
        .status = -1,
        .claim = -1,
        .own_time = INT64_MAX,
        .how = CAPTURE_IMAGE_RUNNING,
    };
    return (int64_t)im->list.n - 1;
}

/* A whole number without sign, blank or anything behind it; -1: it is something else. */
static int64_t parse_number(const uint8_t *at, size_t len, int64_t highest)
{
    int64_t v = 0;

    if (!len)
        return -1;
    for (; len; len--, at++) {
        if (*at < '0' || *at > '9')
            return -1;
        v = v * 10 + (*at - '0');
        if (v > highest)
            return -1;
    }
    return v;
}

static bool is_name(const uint8_t *at, size_t len, const char *name)
{
    return len == strlen(name) && !memcmp(at, name, len);
}

static void read_environment(struct image *image, struct capture_in *in)
{
    size_t best = N_RANK_VARIABLES;

    for (uint64_t n = capture_get_u(in); n && !in->bad; n--) {
        size_t name_len, value_len;
        const uint8_t *name = capture_get_bytes(in, &name_len);
        const uint8_t *value = capture_get_bytes(in, &value_len);
        int64_t number = parse_number(value, value_len, HIGHEST_CLAIM);

        if (number < 0)
            continue;
        if (is_name(name, name_len, "OMP_NUM_THREADS"))
            image->omp_threads = number;
        for (size_t i = 0; i < best; i++) {
            if (!is_name(name, name_len, rank_variables[i]))
                continue;
            best = i;
            image->claim = (int32_t)number;
            image->claim_source = rank_variables[i];
        }
    }
}

/* "mpirun -n 2 './my program'": blanks in an argument are seen, nothing is meant to be run again. */
static struct text read_command(struct profile *p, struct capture_in *in)
{
    char line[LONGEST_COMMAND];
    size_t len = 0;

    for (uint64_t n = capture_get_u(in); n && !in->bad; n--) {
        size_t arg_len;
        const uint8_t *arg = capture_get_bytes(in, &arg_len);
        bool quote = !arg_len || memchr(arg, ' ', arg_len);
        int got = snprintf(line + len, sizeof(line) - len, "%s%s%.*s%s", len ? " " : "", quote ? "'" : "",
                           (int)(arg_len > sizeof(line) ? sizeof(line) : arg_len), (const char *)arg,
                           quote ? "'" : "");

        len += (size_t)got;
        if (len >= sizeof(line))
            len = sizeof(line) - 1;
    }
    return profile__text(p, line, len);
}

static bool plausible(const struct image *i)
{
    return i->pid >= 0 && i->pid <= INT32_MAX && i->inner_pid >= 0 && i->inner_pid <= INT32_MAX &&
           i->parent_pid >= 0 && i->parent_pid <= INT32_MAX && i->exec_number >= 0 && i->process_start >= 0 &&
           i->process_start <= TIME_MAX && i->time >= 0 && i->time <= TIME_MAX;
}

static void copy_known(struct image *to, const struct image *got)
{
    struct image old = *to;

    *to = *got;
    to->known = true;
    to->end = old.end;
    to->status = old.status;
    to->own_time = old.own_time;
    to->inherited_dropped = old.inherited_dropped;
}

int images__read(struct images *im, struct profile *p, struct capture_in *in)
{
    struct image got = {.claim = -1};
    uint64_t how;
    int64_t at;

    got.id = capture_get_u(in);
    got.from = capture_get_u(in);
    how = capture_get_u(in);
    got.how = how > CAPTURE_IMAGE_EXEC ? CAPTURE_IMAGE_RUNNING : (enum capture_image_how)how;
    got.pid = (int64_t)capture_get_u(in);
    got.inner_pid = (int64_t)capture_get_u(in);
    got.parent_pid = (int64_t)capture_get_u(in);
    got.exec_number = (int64_t)capture_get_u(in);
    got.process_start = capture_get_s(in);
    got.time = capture_get_s(in);
    got.path = capture_text(p, in, LONGEST_PATH);
    got.command = read_command(p, in);
    read_environment(&got, in);
    got.comm = capture_text(p, in, LONGEST_PATH);
    got.filtered = capture_in__more(in) && capture_get_u(in);
    if (in->bad || !plausible(&got))
        return -EBADMSG;
    if (!got.path.s || !got.command.s || !got.comm.s)
        return -ENOMEM;
    at = images__need(im, got.id);
    if (at < 0)
        return (int)at;
    im->any_filtered |= got.filtered;
    if (!images__at(im, (uint64_t)at)->known)
        copy_known(images__at(im, (uint64_t)at), &got);
    return 0;
}

int images__read_end(struct images *im, struct capture_in *in)
{
    uint64_t id = capture_get_u(in);
    int64_t time = capture_get_s(in), at;
    uint64_t status = capture_get_u(in), dropped = capture_in__more(in) ? capture_get_u(in) : 0;

    if (in->bad || dropped > UINT32_MAX || time < 0 || time > TIME_MAX || status > UINT32_MAX)
        return -EBADMSG;
    at = images__need(im, id);
    if (at < 0)
        return (int)at;
    images__at(im, (uint64_t)at)->end = time;
    images__at(im, (uint64_t)at)->status = (int64_t)status;
    images__at(im, (uint64_t)at)->inherited_dropped = dropped;
    return 0;
}

static int by_pid_and_time(const void *a, const void *b, void *arg)
{
    const struct images *im = arg;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct image *x = images__at(im, i), *y = images__at(im, j);

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return i < j ? -1 : i > j;
}

int images__index(struct images *im)
{
    int code = column__resize(&im->by_pid, im->list.n);

    for (uint64_t i = 0; !code && i < im->list.n; i++)
        ((uint32_t *)im->by_pid.data)[i] = (uint32_t)i;
    return code ? code : column__sort(&im->by_pid, by_pid_and_time, im);
}

uint32_t images__at_time(const struct images *im, int64_t pid, int64_t time)
{
    const uint32_t *order = im->by_pid.data;
    uint64_t low = 0, high = im->by_pid.n;

    /* the first entry that is behind (pid, time) */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct image *image = images__at(im, order[middle]);

        if (image->pid < pid || (image->pid == pid && image->time <= time))
            low = middle + 1;
        else
            high = middle;
    }
    if (low && images__at(im, order[low - 1])->pid == pid)
        return order[low - 1];
    if (low < im->by_pid.n && images__at(im, order[low])->pid == pid)
        return order[low];
    return IMAGE_NONE;
}

bool images__is_filtered(const struct images *im, uint32_t i)
{
    return i != IMAGE_NONE && images__at(im, i)->filtered;
}

void images__forget_filtered(const struct images *im, struct profile *p)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->n_processes; i++)
        if (!images__is_filtered(im, i))
            p->processes[kept++] = p->processes[i];
    p->n_processes = kept;
}

/* Folders may name a person or a job: minimal detail keeps the last part of the path only. */
static struct text last_part(struct text path)
{
    const char *slash = path.len ? memrchr(path.s, '/', path.len) : NULL;

    if (!slash)
        return path;
    return (struct text){slash + 1, path.len - (uint32_t)(slash + 1 - path.s)};
}

int images__fill_rows(const struct images *im, struct profile *p, bool full_detail)
{
    p->processes = profile__alloc(p, im->list.n, sizeof(*p->processes));
    if (!p->processes)
        return -ENOMEM;
    p->n_processes = (uint32_t)im->list.n;
    for (uint64_t i = 0; i < im->list.n; i++) {
        const struct image *image = images__at(im, i);

        p->processes[i] = (struct process_row){
            .image = (int64_t)image->id,
            .from = (int64_t)image->from,
            .pid = image->pid,
            .inner_pid = image->inner_pid,
            .parent_pid = image->parent_pid,
            .exec_number = image->exec_number,
            .rank = -1,
            .path = full_detail ? image->path : last_part(image->path),
            .command = full_detail ? image->command : (struct text){0},
            .comm = image->comm,
            .start_ns = image->time,
            .end_ns = image->end,
            .status = image->status,
            .calls = image->calls,
            .samples = image->samples,
            .samples_outside = image->samples_outside,
        };
    }
    return 0;
}
