// SPDX-License-Identifier: GPL-2.0-only
#include "hidden_ticks.h"

#include <errno.h>

void hidden_ticks__init(struct hidden_ticks *h)
{
    column__init(&h->list, sizeof(struct hidden_tick));
}

void hidden_ticks__deinit(struct hidden_ticks *h)
{
    column__deinit(&h->list);
}

int hidden_ticks__add(struct hidden_ticks *h, uint32_t lane, int64_t time)
{
    return column__append_many(&h->list, &(struct hidden_tick){.time = time, .lane = lane, .region = -1}, 1);
}

static int compare(const struct hidden_tick *a, uint32_t lane, int64_t time)
{
    if (a->lane != lane)
        return a->lane < lane ? -1 : 1;
    return a->time < time ? -1 : a->time > time;
}

static int by_lane_and_time(const void *a, const void *b, void *arg)
{
    const struct hidden_tick *y = b;

    (void)arg;
    return compare(a, y->lane, y->time);
}

int hidden_ticks__sort(struct hidden_ticks *h)
{
    return column__sort(&h->list, by_lane_and_time, NULL);
}

static uint64_t first_not_below(const struct hidden_ticks *h, uint32_t lane, int64_t time)
{
    const struct hidden_tick *list = h->list.data;
    uint64_t low = 0, high = h->list.n;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (compare(&list[middle], lane, time) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct hidden_tick *hidden_ticks__of_lane(const struct hidden_ticks *h, uint32_t lane, uint64_t *ret_n)
{
    uint64_t from = first_not_below(h, lane, INT64_MIN);

    *ret_n = first_not_below(h, lane + 1, INT64_MIN) - from;
    return *ret_n ? (struct hidden_tick *)h->list.data + from : NULL;
}

int32_t hidden_ticks__region(const struct hidden_ticks *h, uint32_t lane, int64_t time)
{
    uint64_t at = first_not_below(h, lane, time);
    const struct hidden_tick *tick = at < h->list.n ? (const struct hidden_tick *)h->list.data + at : NULL;

    return tick && !compare(tick, lane, time) ? tick->region : -1;
}
