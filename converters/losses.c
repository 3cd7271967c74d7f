// SPDX-License-Identifier: GPL-2.0-only
#include "losses.h"

#include "events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NOT_THERE SB_LOST_MAX /* records that nobody counted as lost and that are not in the capture */

/* What each cause means: the words, and what was lost. */
static const struct cause {
    const char *words;
    enum { CALLS, SAMPLES, OTHER } what;
    bool numbered; /* the lost records had a number in their lane: they leave a gap there */
} causes[] = {
    [SB_LOST_RING] = {"ring full", CALLS, true},
    [SB_LOST_SAMPLE] = {"ring full", SAMPLES, false},
    [SB_LOST_COLD] =
        {"records of processes, threads or names were lost (their ring was full): some may be missing", OTHER,
         false},
    [SB_LOST_STORAGE] = {"no memory for a thread's state", CALLS, false},
    [SB_LOST_DEPTH] = {"nested too deep", CALLS, false},
    [SB_LOST_NAME] = {"calls stand under (other names): their names could not be read or were too many",
                      OTHER, false},
    [SB_LOST_DISK] = {"disk full", CALLS, true},
    [SB_LOST_TABLE] = {"ring full, details lost", CALLS, true},
    [SB_LOST_DISK_SAMPLE] = {"disk full", SAMPLES, false},
    [SB_LOST_BUSY] = {"at a busy probe, before Linux 6.2", SAMPLES, false},
    [NOT_THERE] = {"missing in the capture", CALLS, false},
};
#define N_CAUSES (sizeof(causes) / sizeof(*causes))

void losses__init(struct losses *l)
{
    column__init(&l->list, sizeof(struct loss_entry));
}

void losses__deinit(struct losses *l)
{
    column__deinit(&l->list);
}

static struct loss_entry *entry_at(const struct losses *l, uint64_t i)
{
    return (struct loss_entry *)l->list.data + i;
}

static struct cause cause_of(uint32_t cause)
{
    static const struct cause unknown = {"a cause unknown to this version", CALLS, false};

    return cause < N_CAUSES && causes[cause].words ? causes[cause] : unknown;
}

static int add(struct losses *l, const struct loss_entry *entry)
{
    return entry->count ? column__append_many(&l->list, entry, 1) : 0;
}

int losses__read(struct losses *l, struct region_table *regions, struct capture_in *in)
{
    while (capture_in__more(in)) {
        uint64_t cause = capture_get_u(in), pid = capture_get_u(in), lane = capture_get_u(in);
        uint64_t region = capture_get_u(in), count = capture_get_u(in);
        struct loss_entry entry = {.lane = lane, .count = count, .pid = (int64_t)pid};
        int code;

        if (in->bad || pid > INT32_MAX || region >= SB_MAX_REGIONS)
            return -EBADMSG;
        entry.cause = cause == NOT_THERE || cause > UINT32_MAX ? UINT32_MAX : (uint32_t)cause;
        entry.region = (uint32_t)region;
        code = region && count ? region_table__use(regions, region) : 0;
        if (!code)
            code = add(l, &entry);
        if (code)
            return code;
    }
    return in->bad ? -EBADMSG : 0;
}

void losses__use(const struct losses *l, const struct lanes *lanes, const struct images *im, struct region_table *regions)
{
    for (uint64_t i = 0; i < l->list.n; i++) {
        const struct loss_entry *e = entry_at(l, i);

        if (e->region && !lanes__is_filtered(lanes, im, e->lane))
            region_table__use(regions, e->region);
    }
}

static void add_count(uint64_t *sum, uint64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum))
        *sum = UINT64_MAX;
}

static void subtract(uint64_t *from, uint64_t *what)
{
    uint64_t n = *what < *from ? *what : *from;

    *from -= n;
    *what -= n;
}

static void find_pids(struct losses *l, const struct lanes *lanes, const struct images *im)
{
    for (uint64_t i = 0; i < l->list.n; i++) {
        struct loss_entry *e = entry_at(l, i);
        uint32_t lane = e->lane ? lanes__find(lanes, e->lane) : LANE_NONE;

        if (lane == LANE_NONE)
            e->lane = 0;
        else if (!e->pid)
            e->pid = images__at(im, lanes__at(lanes, lane)->image)->pid;
    }
}

/* What of each lane's gaps no cause explains; causes without a lane explain any. */
static int add_unexplained(struct losses *l, struct lanes *lanes, const struct images *im)
{
    uint64_t anywhere = 0, n = l->list.n;

    for (uint64_t i = 0; i < n; i++) {
        struct loss_entry *e = entry_at(l, i);
        uint64_t count = e->count;

        if (!cause_of(e->cause).numbered)
            continue;
        if (e->lane)
            subtract(&lanes__at(lanes, lanes__find(lanes, e->lane))->missing, &count);
        else
            add_count(&anywhere, count);
    }
    for (uint64_t i = 0; i < lanes->list.n; i++) {
        struct lane *lane = lanes__at(lanes, i);
        struct loss_entry entry = {
            .cause = NOT_THERE, .lane = lane->id, .pid = images__at(im, lane->image)->pid};
        int code;

        subtract(&lane->missing, &anywhere);
        entry.count = lane->missing;
        code = lane->rank >= 0 ? add(l, &entry) : 0;
        if (code)
            return code;
    }
    return 0;
}

/* Calls above the depth that is kept are counted twice: by lane, and (if that got through) by region. */
static int add_depth(struct losses *l, const struct lanes *lanes, const struct images *im)
{
    for (uint64_t i = 0; i < l->list.n; i++)
        if (entry_at(l, i)->cause == SB_LOST_DEPTH)
            return 0;
    for (uint64_t i = 0; i < lanes->list.n; i++) {
        const struct lane *lane = lanes__at(lanes, i);
        struct loss_entry entry = {
            .cause = SB_LOST_DEPTH,
            .lane = lane->id,
            .pid = images__at(im, lane->image)->pid,
            .count = lane->too_deep,
        };
        int code = add(l, &entry);

        if (code)
            return code;
    }
    return 0;
}

static int by_cause(const void *a, const void *b, void *arg)
{
    const struct loss_entry *x = a, *y = b;

    (void)arg;
    if (x->cause != y->cause)
        return x->cause < y->cause ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return 0;
}

/* The rank of a loss: of its lane, else of the last rank that had this pid; index in profile.ranks, -1 none.
 */
static int32_t rank_of(const struct loss_entry *e, const struct lanes *lanes, const struct images *im,
                       const struct ranks *ranks)
{
    uint32_t lane = e->lane ? lanes__find(lanes, e->lane) : LANE_NONE, image;

    if (lane != LANE_NONE)
        return lanes__at(lanes, lane)->rank;
    image = e->pid ? images__at_time(im, e->pid, INT64_MAX) : IMAGE_NONE;
    return image == IMAGE_NONE ? -1 : ranks__of_image(ranks, im, image);
}

/* A loss in a program that --filter-comm leaves out. */
static bool is_filtered(const struct loss_entry *e, const struct lanes *lanes, const struct images *im)
{
    uint32_t lane = e->lane ? lanes__find(lanes, e->lane) : LANE_NONE;

    if (lane != LANE_NONE)
        return images__is_filtered(im, lanes__at(lanes, lane)->image);
    return e->pid && images__is_filtered(im, images__at_time(im, e->pid, INT64_MAX));
}

static int fill_one(const struct loss_entry *e, int32_t rank, const struct region_table *regions,
                    struct profile *p)
{
    struct cause cause = cause_of(e->cause);
    struct loss *to = profile__append(p, &p->losses, &p->n_losses, sizeof(*to));

    if (!to)
        return -ENOMEM;
    *to = (struct loss){
        .cause = profile__text(p, cause.words, strlen(cause.words)),
        .pid = e->pid,
        .rank = rank < 0 ? -1 : p->ranks[rank].number,
        .region = region_table__index(regions, e->region),
        .count = e->count,
        .sample = cause.what == SAMPLES,
    };
    if (!to->cause.s)
        return -ENOMEM;
    if (to->sample && rank >= 0 && p->ranks[rank].ticks >= 0) {
        uint64_t sum = (uint64_t)p->ranks[rank].ticks;

        add_count(&sum, e->count);
        p->ranks[rank].ticks = sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
    }
    return 0;
}

int losses__fill(struct losses *l, struct lanes *lanes, const struct images *im, const struct ranks *ranks,
                 const struct region_table *regions, struct profile *p,
                 int (*note)(void *arg, int64_t pid, const char *text), void *arg)
{
    int code;

    find_pids(l, lanes, im);
    code = add_unexplained(l, lanes, im);
    if (!code)
        code = add_depth(l, lanes, im);
    if (!code)
        code = column__sort(&l->list, by_cause, NULL);
    for (uint64_t i = 0, next; !code && i < l->list.n; i = next) {
        struct loss_entry sum = *entry_at(l, i);
        int32_t rank = rank_of(&sum, lanes, im, ranks);
        char text[256];

        for (next = i + 1; next < l->list.n && !by_cause(&sum, entry_at(l, next), NULL); next++)
            if (rank_of(entry_at(l, next), lanes, im, ranks) != rank)
                break;
            else
                add_count(&sum.count, entry_at(l, next)->count);
        if (region_table__hidden(regions, sum.region) || is_filtered(&sum, lanes, im))
            continue;
        if (cause_of(sum.cause).what != OTHER) {
            code = fill_one(&sum, rank, regions, p);
            continue;
        }
        snprintf(text, sizeof(text), "%" PRIu64 " %s", sum.count, cause_of(sum.cause).words);
        code = note(arg, sum.pid, text);
    }
    return code;
}
