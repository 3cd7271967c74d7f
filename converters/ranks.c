// SPDX-License-Identifier: GPL-2.0-only
#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ranks__init(struct ranks *r)
{
    column__init(&r->processes, sizeof(struct process));
    r->highest_claim = -1;
}

void ranks__deinit(struct ranks *r)
{
    column__deinit(&r->processes);
}

/*
 * The image that this one came from, IMAGE_NONE: none (or a capture that contradicts itself: numbers grow
 * with time).
 */
static uint32_t origin_of(const struct images *im, uint32_t i)
{
    const struct image *image = images__at(im, i);

    if (image->how == CAPTURE_IMAGE_RUNNING || image->from >= image->id)
        return IMAGE_NONE;
    return images__find(im, image->from);
}

static int add_process(struct ranks *r, const struct image *image, uint32_t i, uint32_t *ret)
{
    struct process *to = column__append(&r->processes);

    if (!to)
        return -ENOMEM;
    *to = (struct process){
        .first_image = i,
        .start = image->process_start,
        .own_time = INT64_MAX,
        .claim = -1,
        .number = -1,
        .rank = -1,
    };
    *ret = (uint32_t)r->processes.n - 1;
    return 0;
}

/* Images come in the order of their numbers, so what an image came from is known already. */
static int join_process(struct ranks *r, struct images *im, uint32_t i)
{
    struct image *image = images__at(im, i);
    uint32_t from = origin_of(im, i);
    struct process *process;
    int code = 0;

    if (from != IMAGE_NONE && image->how == CAPTURE_IMAGE_EXEC && images__at(im, from)->pid == image->pid)
        image->process = images__at(im, from)->process;
    else
        code = add_process(r, image, i, &image->process);
    if (code)
        return code;
    if (from != IMAGE_NONE && image->how == CAPTURE_IMAGE_FORK && image->claim < 0) {
        image->claim = images__at(im, from)->claim;
        image->claim_source = images__at(im, from)->claim_source;
    }
    if (image->claim > r->highest_claim)
        r->highest_claim = image->claim;
    process = ranks__at(r, image->process);
    if (image->own_time == INT64_MAX)
        return 0;
    if (image->own_time < process->own_time)
        process->own_time = image->own_time;
    if (process->claim < 0) {
        process->claim = image->claim;
        process->claim_source = image->claim_source;
    }
    return 0;
}

static int by_id(const void *a, const void *b, void *arg)
{
    uint64_t x = images__at(arg, *(const uint32_t *)a)->id, y = images__at(arg, *(const uint32_t *)b)->id;

    return x < y ? -1 : x > y;
}

static int join_processes(struct ranks *r, struct images *im)
{
    struct column order;
    int code;

    column__init(&order, sizeof(uint32_t));
    code = column__resize(&order, im->list.n);
    for (uint64_t i = 0; !code && i < im->list.n; i++)
        ((uint32_t *)order.data)[i] = (uint32_t)i;
    if (!code)
        code = column__sort(&order, by_id, im);
    for (uint64_t i = 0; !code && i < order.n; i++)
        code = join_process(r, im, ((const uint32_t *)order.data)[i]);
    column__deinit(&order);
    return code;
}

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Claimants first, by number; of one number the first that executed a region first. */
static int by_claim(const void *a, const void *b, void *arg)
{
    const struct ranks *r = arg;
    const struct process *x = ranks__at(r, *(const uint32_t *)a), *y = ranks__at(r, *(const uint32_t *)b);
    int order = compare_i64(y->claim >= 0, x->claim >= 0);

    if (!order)
        order = compare_i64(x->claim, y->claim);
    if (!order)
        order = compare_i64(x->own_time, y->own_time);
    if (!order)
        order = compare_i64(x->start, y->start);
    return order ? order : compare_i64(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int by_start(const void *a, const void *b, void *arg)
{
    const struct ranks *r = arg;
    const struct process *x = ranks__at(r, *(const uint32_t *)a), *y = ranks__at(r, *(const uint32_t *)b);
    int order = compare_i64(x->start, y->start);

    return order ? order : compare_i64(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int by_number(const void *a, const void *b, void *arg)
{
    const struct ranks *r = arg;

    return compare_i64(ranks__at(r, *(const uint32_t *)a)->number,
                       ranks__at(r, *(const uint32_t *)b)->number);
}

/* Indexes of the processes that are ranks: executed a region, have (or have not yet) a number. */
static int select_processes(const struct ranks *r, bool numbered, struct column *ret)
{
    column__init(ret, sizeof(uint32_t));
    for (uint64_t i = 0; i < r->processes.n; i++) {
        const struct process *process = ranks__at(r, i);
        uint32_t *to;

        if (process->own_time == INT64_MAX || (process->number >= 0) != numbered)
            continue;
        to = column__append(ret);
        if (!to)
            return -ENOMEM;
        *to = (uint32_t)i;
    }
    return 0;
}

struct noting {
    const struct images *im;
    int (*note)(void *arg, int64_t pid, const char *text);
    void *arg;
};

static int note_clash(const struct noting *n, const struct process *first, uint64_t others)
{
    int64_t pid = images__at(n->im, first->first_image)->pid;
    char text[256];

    snprintf(text, sizeof(text),
             "rank %" PRId32 " (%s) is claimed by %" PRIu64 " processes: pid %" PRId64
             ", the first that ran a region, keeps it; the %s a free number (set SCOPE_RANK to choose)",
             first->claim, first->claim_source, others + 1, pid, others == 1 ? "other got" : "others got");
    return n->note(n->arg, pid, text);
}

static int number_claimants(struct ranks *r, const struct noting *n)
{
    struct column order;
    int code = select_processes(r, false, &order);
    const uint32_t *list;

    if (!code)
        code = column__sort(&order, by_claim, r);
    list = order.data;
    for (uint64_t i = 0, next; !code && i < order.n && ranks__at(r, list[i])->claim >= 0; i = next) {
        struct process *first = ranks__at(r, list[i]);

        first->number = first->claim;
        first->source = first->claim_source;
        for (next = i + 1; next < order.n && ranks__at(r, list[next])->claim == first->claim; next++)
            ;
        if (next > i + 1)
            code = note_clash(n, first, next - i - 1);
    }
    column__deinit(&order);
    return code;
}

static int number_others(struct ranks *r)
{
    struct column order;
    int code = select_processes(r, false, &order);
    const uint32_t *list;

    if (!code)
        code = column__sort(&order, by_start, r);
    list = order.data;
    if (!code && order.n > (uint64_t)(INT32_MAX - 1 - (r->highest_claim + 1)))
        code = -E2BIG;
    for (uint64_t i = 0; !code && i < order.n; i++) {
        struct process *process = ranks__at(r, list[i]);

        process->number = r->highest_claim + 1 + (int32_t)i;
        process->source = process->claim >= 0 ? "order of start (its number was taken)" : "order of start";
    }
    column__deinit(&order);
    return code;
}

int ranks__assign(struct ranks *r, struct images *im, int (*note)(void *arg, int64_t pid, const char *text),
                  void *arg)
{
    struct noting noting = {im, note, arg};
    int code = join_processes(r, im);

    if (!code)
        code = number_claimants(r, &noting);
    return code ? code : number_others(r);
}

static int make_rank(struct process *process, struct profile *p, struct text file)
{
    int64_t index = profile__rank(p, process->number);

    if (index < 0)
        return (int)index;
    process->rank = (int32_t)index;
    p->ranks[index].file = file;
    return 0;
}

static int name_processes(const struct ranks *r, const struct images *im, struct profile *p)
{
    for (uint32_t i = 0; i < p->n_processes; i++) {
        const struct process *process = ranks__at(r, images__at(im, i)->process);

        if (process->number < 0)
            continue;
        p->processes[i].rank = process->number;
        p->processes[i].rank_source = profile__text(p, process->source, strlen(process->source));
        if (!p->processes[i].rank_source.s)
            return -ENOMEM;
    }
    return 0;
}

int ranks__fill(struct ranks *r, const struct images *im, struct profile *p, const char *file)
{
    struct text name = profile__text(p, file, strlen(file));
    struct column order;
    int code = select_processes(r, true, &order);

    if (!code && !name.s)
        code = -ENOMEM;
    if (!code)
        code = column__sort(&order, by_number, r);
    for (uint64_t i = 0; !code && i < order.n; i++)
        code = make_rank(ranks__at(r, ((const uint32_t *)order.data)[i]), p, name);
    column__deinit(&order);
    return code ? code : name_processes(r, im, p);
}
