// SPDX-License-Identifier: GPL-2.0-only
#include "rebuilt.h"

#include "reconstruct.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

struct profile *rebuilt(const struct capture_builder *b)
{
    struct profile *p = NULL;
    struct err err = {""};
    int fd = builder__fd(b);
    int code = reconstruct__capture(fd, "test.scope", NULL, &p, &err);

    close(fd);
    if (code)
        fail_msg("reconstruction failed: %d %s", code, err.text);
    check_sound(p);
    return p;
}

bool text_is(struct text text, const char *expected)
{
    return text.s && text.len == strlen(expected) && !memcmp(text.s, expected, text.len);
}

const struct rank *rank_numbered(const struct profile *p, int32_t number)
{
    int64_t at = profile__find_rank(p, number);

    if (at < 0)
        fail_msg("no rank %d among %u", number, p->n_ranks);
    return &p->ranks[at];
}

static const struct row *find_row(const struct profile *p, const char *region, int32_t rank)
{
    for (uint64_t i = 0; i < p->n_rows; i++)
        if (text_is(p->regions[p->rows[i].region].name, region) && p->ranks[p->rows[i].rank].number == rank)
            return &p->rows[i];
    return NULL;
}

const struct row *row_of(const struct profile *p, const char *region, int32_t rank)
{
    const struct row *row = find_row(p, region, rank);

    if (!row)
        fail_msg("no calls of %s on rank %d", region, rank);
    return row;
}

bool has_row(const struct profile *p, const char *region, int32_t rank)
{
    return find_row(p, region, rank);
}

const struct process_row *process_of(const struct profile *p, int64_t pid, int64_t exec_number)
{
    for (uint32_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].pid == pid && p->processes[i].exec_number == exec_number)
            return &p->processes[i];
    fail_msg("no process %d", (int)pid);
    return NULL;
}

bool has_note(const struct profile *p, const char *part)
{
    for (uint32_t i = 0; i < p->n_notes; i++)
        if (memmem(p->notes[i].text.s, p->notes[i].text.len, part, strlen(part)))
            return true;
    return false;
}

uint64_t lost(const struct profile *p, const char *cause, bool samples)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < p->n_losses; i++)
        if (p->losses[i].sample == samples && (!*cause || text_is(p->losses[i].cause, cause)))
            sum += p->losses[i].count;
    return sum;
}

int64_t call_value(const struct profile *p, const struct row *row, uint64_t i, enum call_column column)
{
    assert_true(i < row->count);
    return p->extra[column].n ? column_i64(&p->extra[column])[row->offset + i] : 0;
}

int64_t call_start(const struct profile *p, const struct row *row, uint64_t i)
{
    assert_true(i < row->count);
    return column_i64(&p->start)[row->offset + i];
}

int64_t call_end(const struct profile *p, const struct row *row, uint64_t i)
{
    assert_true(i < row->count);
    return column_i64(&p->end)[row->offset + i];
}

const char *parent_name(const struct profile *p, const struct row *row, uint64_t i)
{
    int64_t parent = call_value(p, row, i, COLUMN_PARENT_ID);

    for (uint64_t r = 0; parent >= 0 && r < p->n_rows; r++)
        for (uint64_t c = 0; p->rows[r].rank == row->rank && c < p->rows[r].count; c++)
            if (call_value(p, &p->rows[r], c, COLUMN_CALL_ID) == parent)
                return p->regions[p->rows[r].region].name.s;
    return NULL;
}

static void check_row(const struct profile *p, const struct row *row, uint64_t first_of_rank)
{
    const struct rank *rank = &p->ranks[row->rank];
    int64_t sum = 0;

    for (uint64_t i = 0; i < row->count; i++) {
        int64_t start = call_start(p, row, i), exclusive = call_value(p, row, i, COLUMN_EXCLUSIVE_NS);
        int64_t thread = call_value(p, row, i, COLUMN_THREAD_ID);

        assert_true(start <= call_end(p, row, i));
        if (i)
            assert_true(call_start(p, row, i - 1) <= start);
        assert_int_equal(call_value(p, row, i, COLUMN_CALL_ID), (int64_t)(row->offset - first_of_rank + i));
        assert_true(call_value(p, row, i, COLUMN_PARENT_ID) >= -1);
        assert_true(thread >= 0 && thread < rank->n_threads);
        assert_true(exclusive >= -1 && exclusive <= call_end(p, row, i) - start);
        sum = exclusive < 0 || sum < 0 ? -1 : sum + exclusive;
    }
    assert_true(row->has_exclusive);
    assert_int_equal(row->exclusive_total, sum);
}

void check_sound(const struct profile *p)
{
    uint64_t behind = 0, first = 0;

    for (uint64_t i = 0; i < p->n_rows; i++) {
        const struct row *row = &p->rows[i];

        if (i && (row - 1)->rank != row->rank)
            first = behind;
        if (i)
            assert_true((row - 1)->rank < row->rank ||
                        ((row - 1)->rank == row->rank && (row - 1)->region < row->region));
        assert_int_equal(row->offset, behind);
        assert_true(row->count > 0);
        check_row(p, row, first);
        behind += row->count;
    }
    assert_int_equal(behind, p->start.n);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        if (i)
            assert_true(p->ranks[i - 1].number < p->ranks[i].number);
        for (uint32_t t = 0; t < p->ranks[i].n_threads; t++)
            assert_int_equal(p->ranks[i].threads[t].index, t);
    }
}
