/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/no_regions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINES 10 /* of text; a machine runs hundreds of commands */

static int by_comm(const void *a, const void *b)
{
    const struct no_region *x = a, *y = b;
    uint32_t len = x->comm.len < y->comm.len ? x->comm.len : y->comm.len;
    int order = len ? memcmp(x->comm.s, y->comm.s, len) : 0;

    return order ? order : (x->comm.len > y->comm.len) - (x->comm.len < y->comm.len);
}

static int by_samples(const void *a, const void *b)
{
    const struct no_region *x = a, *y = b;

    return x->samples != y->samples ? (x->samples < y->samples ? 1 : -1) : by_comm(a, b);
}

static size_t join_equal(struct no_region *list, size_t n)
{
    size_t kept = 0;

    qsort(list, n, sizeof(*list), by_comm);
    for (size_t i = 0; i < n; i++) {
        if (kept && !by_comm(&list[kept - 1], &list[i])) {
            list[kept - 1].processes += list[i].processes;
            list[kept - 1].samples += list[i].samples;
        } else {
            list[kept++] = list[i];
        }
    }
    return kept;
}

int no_regions__list(const struct profile *p, struct no_region **ret, size_t *ret_n)
{
    struct no_region *list = calloc((size_t)p->n_processes + 1, sizeof(*list));
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->n_processes; i++) {
        const struct process_row *row = &p->processes[i];

        if (row->rank < 0 && row->samples)
            list[n++] = (struct no_region){.comm = row->comm, .processes = 1, .samples = row->samples};
    }
    n = join_equal(list, n);
    qsort(list, n, sizeof(*list), by_samples);
    *ret = list;
    *ret_n = n;
    return 0;
}

void no_regions__print(const struct profile *p, bool utf8, FILE *out)
{
    struct no_region *list;
    uint64_t rest = 0;
    size_t n;

    if (no_regions__list(p, &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct strbuf name = {0};

        if (i >= LINES) {
            rest += list[i].samples;
            continue;
        }
        show__text(&name, list[i].comm, utf8);
        fprintf(out, "no regions: %s, %" PRIu64 " sample%s\n", name.s ? name.s : "", list[i].samples,
                list[i].samples == 1 ? "" : "s");
        strbuf__deinit(&name);
    }
    if (n > LINES)
        fprintf(out, "no regions: %zu more commands, %" PRIu64 " samples\n", n - LINES, rest);
    free(list);
}

void no_regions__json(const struct profile *p, FILE *out)
{
    struct no_region *list = NULL;
    size_t n = 0;

    if (no_regions__list(p, &list, &n))
        n = 0;
    fputc('[', out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s\n {\"command\": ", i ? "," : "");
        json__string(out, list[i].comm.s, list[i].comm.len);
        fprintf(out, ", \"processes\": %" PRIu64 ", \"samples\": %" PRIu64 "}", list[i].processes, list[i].samples);
    }
    fputc(']', out);
    free(list);
}
