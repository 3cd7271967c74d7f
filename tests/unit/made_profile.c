// SPDX-License-Identifier: GPL-2.0-only
#include "made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static bool same_row(const struct made_call *a, const struct made_call *b)
{
    return a->rank == b->rank && !strcmp(a->region, b->region);
}

static void add_calls(struct profile *p, struct row *row, const struct made_call *calls, size_t n, size_t first)
{
    row->offset = p->start.n;
    for (size_t i = first; i < n; i++) {
        if (!same_row(&calls[i], &calls[first]))
            continue;
        assert_int_equal(column__append_i64(&p->start, calls[i].start), 0);
        assert_int_equal(column__append_i64(&p->end, calls[i].end), 0);
        if (calls[i].thread >= 0) {
            row->has |= 1u << COLUMN_THREAD_ID;
            assert_int_equal(profile__use_column(p, COLUMN_THREAD_ID), 0);
            column_i64(&p->extra[COLUMN_THREAD_ID])[p->start.n - 1] = calls[i].thread;
        }
        if (calls[i].flags >= 0) {
            row->has |= 1u << COLUMN_FLAGS;
            assert_int_equal(profile__use_column(p, COLUMN_FLAGS), 0);
            column_i64(&p->extra[COLUMN_FLAGS])[p->start.n - 1] = calls[i].flags;
        }
        row->count++;
    }
}

struct profile *made_profile(const struct made_call *calls, size_t n)
{
    struct profile *p;

    assert_int_equal(profile__create(&p), 0);
    for (size_t i = 0; i < n; i++) {
        int64_t region = profile__region(p, calls[i].region, strlen(calls[i].region));
        int64_t rank = profile__rank(p, calls[i].rank);
        struct row *row;
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = same_row(&calls[k], &calls[i]);
        if (seen)
            continue;
        p->ranks[rank].file = profile__text(p, "made.h5", 7);
        p->ranks[rank].ticks = -1;
        row = profile__add_row(p, (uint32_t)region, (uint32_t)rank);
        assert_non_null(row);
        add_calls(p, row, calls, n, i);
    }
    return p;
}
