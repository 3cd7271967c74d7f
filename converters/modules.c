// SPDX-License-Identifier: GPL-2.0-only
#include "modules.h"

#include "capture_text.h"

#include <errno.h>
#include <string.h>

#define LONGEST_PATH      4096
#define LONGEST_BUILD_ID  64
#define FARTHEST_ANCESTOR 64

void modules__init(struct modules *m)
{
    column__init(&m->list, sizeof(struct mapping));
    idmap__init(&m->in_rank);
}

void modules__deinit(struct modules *m)
{
    column__deinit(&m->list);
    idmap__deinit(&m->in_rank);
}

static struct mapping *mapping_at(const struct modules *m, uint64_t i)
{
    return (struct mapping *)m->list.data + i;
}

/* A build-id is bytes that may hold 0, so it does not go through capture_text(). */
static struct text read_build_id(struct profile *p, struct capture_in *in)
{
    size_t len;
    const uint8_t *bytes = capture_get_bytes(in, &len);

    return profile__text(p, bytes, len > LONGEST_BUILD_ID ? LONGEST_BUILD_ID : len);
}

int modules__read(struct modules *m, struct images *im, struct profile *p, struct capture_in *in)
{
    struct mapping got = {0}, *to;
    uint64_t image = capture_get_u(in);
    int64_t index;

    got.start = capture_get_u(in);
    got.end = capture_get_u(in);
    capture_get_u(in); /* file offset: the bias says what it was needed for */
    got.bias = capture_get_u(in);
    got.known = capture_get_u(in) == 1;
    got.time = capture_get_s(in);
    got.path = capture_text(p, in, LONGEST_PATH);
    got.build_id = read_build_id(p, in);
    if (in->bad || got.end <= got.start || got.time < 0 || got.time > TIME_MAX)
        return -EBADMSG;
    if (!got.path.s || !got.build_id.s || m->list.n >= UINT32_MAX)
        return -ENOMEM;
    index = images__need(im, image);
    if (index < 0)
        return (int)index;
    got.image = (uint32_t)index;
    to = column__append(&m->list);
    if (!to)
        return -ENOMEM;
    *to = got;
    return 0;
}

static int by_place(const void *a, const void *b, void *arg)
{
    const struct mapping *x = a, *y = b;

    (void)arg;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->time < y->time ? -1 : x->time > y->time;
}

static bool same_text(struct text a, struct text b)
{
    return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

/* A snapshot and the side-band both report what was mapped between their beginnings. */
static bool seen_twice(const struct mapping *a, const struct mapping *b)
{
    return a->image == b->image && a->start == b->start && a->end == b->end && a->bias == b->bias &&
           a->known == b->known && same_text(a->path, b->path) && same_text(a->build_id, b->build_id);
}

static void drop_doubles(struct modules *m)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < m->list.n; i++) {
        if (kept && seen_twice(mapping_at(m, kept - 1), mapping_at(m, i)))
            continue;
        *mapping_at(m, kept++) = *mapping_at(m, i);
    }
    m->list.n = kept;
}

int modules__index(struct modules *m, struct images *im)
{
    int code = column__sort(&m->list, by_place, NULL);

    if (code)
        return code;
    drop_doubles(m);
    for (uint64_t i = 0; i < m->list.n; i++) {
        struct mapping *at = mapping_at(m, i);
        struct image *image = images__at(im, at->image);

        if (!image->n_modules++)
            image->first_module = (uint32_t)i;
        at->furthest = at->end;
        if (image->n_modules > 1 && (at - 1)->furthest > at->end)
            at->furthest = (at - 1)->furthest;
    }
    return 0;
}

/* Index in rank.modules of a mapping, put there where it is new; -ENOMEM. */
static int64_t put_in_rank(struct modules *m, uint64_t i, struct profile *p, uint32_t rank)
{
    uint64_t key = (uint64_t)rank << 32 | i;
    uint32_t found = idmap__get(&m->in_rank, key);
    const struct mapping *from = mapping_at(m, i);
    struct rank *r = &p->ranks[rank];
    struct module *to;
    int code;

    if (found != IDMAP_NONE)
        return found;
    to = profile__append(p, &r->modules, &r->n_modules, sizeof(*to));
    if (!to)
        return -ENOMEM;
    *to = (struct module){
        .path = from->path,
        .build_id = from->build_id,
        .bias = from->bias,
        .start = from->start,
        .end = from->end,
    };
    code = idmap__put(&m->in_rank, key, r->n_modules - 1);
    return code ? code : (int64_t)r->n_modules - 1;
}

int modules__fill_rank(struct modules *m, const struct images *im, uint32_t image, struct profile *p,
                       uint32_t rank)
{
    const struct image *of = images__at(im, image);

    for (uint32_t i = 0; i < of->n_modules; i++) {
        int64_t code = 0;

        if (mapping_at(m, of->first_module + i)->known)
            code = put_in_rank(m, of->first_module + i, p, rank);
        if (code < 0)
            return (int)code;
    }
    return 0;
}

/* The later mapping hides the earlier one; one that was seen late (a snapshot) serves what came before it. */
static bool is_better(const struct mapping *a, const struct mapping *than, int64_t time)
{
    if (!than)
        return true;
    if ((a->time <= time) != (than->time <= time))
        return a->time <= time;
    return a->time <= time ? a->time > than->time : a->time < than->time;
}

static const struct mapping *find_in(const struct modules *m, const struct image *image, uint64_t address,
                                     int64_t time)
{
    const struct mapping *first = mapping_at(m, image->first_module), *best = NULL;
    uint32_t low = 0, high = image->n_modules;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (first[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low && first[low - 1].furthest > address; low--)
        if (first[low - 1].end > address && is_better(&first[low - 1], best, time))
            best = &first[low - 1];
    return best;
}

int64_t modules__find(struct modules *m, const struct images *im, uint32_t image, uint64_t address,
                      int64_t time, struct profile *p, uint32_t rank)
{
    for (int i = 0; i < FARTHEST_ANCESTOR && image != IMAGE_NONE; i++) {
        const struct image *of = images__at(im, image);
        const struct mapping *found = of->n_modules ? find_in(m, of, address, time) : NULL;

        if (found)
            return found->known ? put_in_rank(m, (uint64_t)(found - mapping_at(m, 0)), p, rank) : -1;
        if (of->how != CAPTURE_IMAGE_FORK)
            return -1;
        image = images__find(im, of->from);
        time = of->time;
    }
    return -1;
}
