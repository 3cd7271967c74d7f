/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void out__json_string(struct out *o, struct text t)
{
    uint32_t from = 0, i;

    out__bytes(o, "\"", 1);
    for (i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.s[i];

        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        out__bytes(o, t.s + from, i - from);
        if (c == '"' || c == '\\')
            out__printf(o, "\\%c", c);
        else
            out__printf(o, "\\u%04x", c);
        from = i + 1;
    }
    if (t.len > from)
        out__bytes(o, t.s + from, t.len - from);
    out__bytes(o, "\"", 1);
}

static bool is_xml(uint32_t c)
{
    return c >= 0x20 && c != 0x7f && c != 0xfffe && c != 0xffff && !(c >= 0x80 && c < 0xa0);
}

void out__xml(struct out *o, struct text t)
{
    uint32_t c = 0;
    unsigned n;

    for (uint32_t i = 0; i < t.len; i += n) {
        n = utf8__decode(t.s + i, t.len - i, &c);
        if (!n || !is_xml(c))
            out__text(o, "\xef\xbf\xbd");
        else if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            out__printf(o, "&#%u;", c);
        else
            out__bytes(o, t.s + i, n);
        n = n ? n : 1;
    }
}

void lane__label(struct strbuf *b, const struct rank *rank, const struct stack_lane *lane)
{
    const struct task_row *task = lane->key >= 0 ? lane__task(rank, lane->key) : NULL;
    const struct thread_row *thread = lane__thread(rank, lane->key);

    if (task && task->coro_name.len)
        strbuf__printf(b, "%.*s (%.*s) on ", (int)task->name.len, task->name.s ? task->name.s : "", (int)task->coro_name.len,
                       task->coro_name.s);
    else if (task)
        strbuf__printf(b, "%.*s on ", (int)task->name.len, task->name.s ? task->name.s : "");
    else if (lane->key >= 0)
        strbuf__printf(b, "task %" PRId64, lane->key);
    if (thread && thread->name.len)
        strbuf__printf(b, "%.*s", (int)thread->name.len, thread->name.s);
    else if (thread || lane->key < -1)
        strbuf__printf(b, "thread %" PRId64, thread ? thread->index : -2 - lane->key);
    if (lane->track)
        strbuf__printf(b, "%soverlap %u", b->len ? ", " : "", lane->track);
}

bool profile__first_start(const struct profile *p, const struct write_options *options, int64_t *ret)
{
    bool any = false;

    for (uint64_t r = 0; r < p->n_rows; r++) {
        const struct row *row = &p->rows[r];

        if (!write_options__rank(options, p->ranks[row->rank].number))
            continue;
        for (uint64_t i = row->offset; i < row->offset + row->count; i++) {
            int64_t start = column_i64(&p->start)[i];

            *ret = any && *ret < start ? *ret : start;
            any = true;
        }
    }
    return any;
}

int no_calls(struct err *err)
{
    return err__set(err, ENODATA, "there are no calls to write (totals or samples only, or ranks without calls)");
}

struct numbered {
    int32_t number;
    uint32_t index;
};

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

uint32_t *chosen_ranks(const struct profile *p, const struct write_options *options, uint32_t *ret_n)
{
    struct numbered *list = calloc((size_t)p->n_ranks + 1, sizeof(*list));
    uint32_t *ranks = calloc((size_t)p->n_ranks + 1, sizeof(*ranks)), n = 0;

    for (uint32_t k = 0; list && k < p->n_ranks; k++) {
        if (write_options__rank(options, p->ranks[k].number))
            list[n++] = (struct numbered){p->ranks[k].number, k};
    }
    if (list && n)
        qsort(list, n, sizeof(*list), compare_numbered);
    for (uint32_t i = 0; list && ranks && i < n; i++)
        ranks[i] = list[i].index;
    if (!list) {
        free(ranks);
        ranks = NULL;
    }
    free(list);
    *ret_n = n;
    return ranks;
}
