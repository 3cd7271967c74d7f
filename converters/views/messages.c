/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Regions of MPI calls carry what they moved in their name:
 *     mpi:<operation> kind=<point-to-point|collective|wait> bytes=<n> peer=<r> root=<r> tag=<n> comm=<n>[ request=<id>]
 * A row per rank, operation, peer, root and communicator; bytes and times are sums over its regions.
 */
#include "converters/views/stats.h"
#include "converters/views/table.h"
#include "converters/views/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { C_RANK, C_OPERATION, C_KIND, C_PEER, C_ROOT, C_COMM, C_CALLS, C_BYTES, C_MEAN_BYTES, C_TOTAL, C_MEAN, C_RATE, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
    [C_RANK] = {"rank", "rank", CELL_INT, 255},          [C_OPERATION] = {"operation", "operation", CELL_TEXT, 255},
    [C_KIND] = {"kind", "kind", CELL_TEXT, 100},         [C_PEER] = {"peer", "peer", CELL_INT, 200},
    [C_ROOT] = {"root", "root", CELL_INT, 80},           [C_COMM] = {"comm", NULL, CELL_INT, 0},
    [C_CALLS] = {"calls", "calls", CELL_COUNT, 255},     [C_BYTES] = {"bytes", "bytes", CELL_COUNT, 250},
    [C_MEAN_BYTES] = {"mean_bytes", "bytes/call", CELL_REAL, 110}, [C_TOTAL] = {"total_ns", "time", CELL_NS, 255},
    [C_MEAN] = {"mean_ns", "mean", CELL_NS, 180},        [C_RATE] = {"bytes_per_s", "bytes/s", CELL_REAL, 90},
};

struct message {
    int32_t rank;
    struct text operation, kind;
    int64_t bytes, peer, root, comm; /* -1 unknown; bytes of one call, then of all */
    uint64_t calls;
    int64_t time;
    bool bytes_known;
};

/* The number behind " key=" in the name, -1 where it is not. */
static int64_t field(struct text name, const char *key)
{
    size_t n = strlen(key);
    const char *at = memmem(name.s, name.len, key, n);
    int64_t v = 0;

    if (!at || at + n >= name.s + name.len || at[n] < '0' || at[n] > '9')
        return -1;
    for (at += n; at < name.s + name.len && *at >= '0' && *at <= '9'; at++) {
        if (v > (INT64_MAX - 9) / 10)
            return -1;
        v = 10 * v + (*at - '0');
    }
    return v;
}

static bool decode(struct text name, struct message *m)
{
    const char *end = name.s + name.len, *blank, *kind;

    if (name.len < 5 || memcmp(name.s, "mpi:", 4))
        return false;
    blank = memchr(name.s, ' ', name.len);
    m->operation = (struct text){name.s + 4, (uint32_t)((blank ? blank : end) - name.s - 4)};
    kind = memmem(name.s, name.len, " kind=", 6);
    if (kind) {
        kind += 6;
        blank = memchr(kind, ' ', (size_t)(end - kind));
        m->kind = (struct text){kind, (uint32_t)((blank ? blank : end) - kind)};
    }
    m->bytes = field(name, " bytes=");
    m->peer = field(name, " peer=");
    m->root = field(name, " root=");
    m->comm = field(name, " comm=");
    return true;
}

static int compare_texts(struct text a, struct text b)
{
    uint32_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.s, b.s, n) : 0;

    return c ? c : (a.len > b.len) - (a.len < b.len);
}

#define COMPARE(field)                                                                                                 \
    do {                                                                                                               \
        if (x->field != y->field)                                                                                      \
            return x->field < y->field ? -1 : 1;                                                                       \
    } while (0)

static int compare_messages(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
    int c;

    COMPARE(rank);
    c = compare_texts(x->operation, y->operation);
    c = c ? c : compare_texts(x->kind, y->kind);
    if (c)
        return c;
    COMPARE(peer);
    COMPARE(root);
    COMPARE(comm);
    return 0;
}

static uint64_t unite(struct message *list, uint64_t n)
{
    uint64_t kept = 0;

    if (n)
        qsort(list, n, sizeof(*list), compare_messages);
    for (uint64_t i = 0; i < n; i++) {
        struct message m = list[i];

        m.bytes_known = m.bytes >= 0;
        if (__builtin_mul_overflow(m.bytes_known ? m.bytes : 0, (int64_t)m.calls, &m.bytes))
            m.bytes = INT64_MAX;
        if (kept && !compare_messages(&list[kept - 1], &m)) {
            list[kept - 1].calls += m.calls;
            list[kept - 1].time += m.time;
            list[kept - 1].bytes += m.bytes;
            list[kept - 1].bytes_known |= m.bytes_known;
        } else {
            list[kept++] = m;
        }
    }
    return kept;
}

static struct cell known_or_none(int64_t v)
{
    return (struct cell){.known = v >= 0, .integer = v};
}

static void add_row(struct table *table, const struct message *m)
{
    struct cell *row = table__row(table);

    if (!row)
        return;
    row[C_RANK] = cell_int(m->rank);
    row[C_OPERATION] = cell_text(m->operation);
    row[C_KIND] = m->kind.s ? cell_text(m->kind) : (struct cell){0};
    row[C_PEER] = known_or_none(m->peer);
    row[C_ROOT] = known_or_none(m->root);
    row[C_COMM] = known_or_none(m->comm);
    row[C_CALLS] = cell_int((int64_t)m->calls);
    row[C_TOTAL] = cell_int(m->time);
    row[C_MEAN] = m->calls ? cell_int(m->time / (int64_t)m->calls) : (struct cell){0};
    if (!m->bytes_known)
        return;
    row[C_BYTES] = cell_int(m->bytes);
    row[C_MEAN_BYTES] = m->calls ? cell_real((double)m->bytes / (double)m->calls) : (struct cell){0};
    row[C_RATE] = m->time > 0 ? cell_real((double)m->bytes * 1e9 / (double)m->time) : (struct cell){0};
}

static uint64_t collect(const struct stats *s, struct message *list)
{
    const struct profile *p = s->p;
    uint64_t n = 0;

    for (uint64_t r = 0; r < p->n_rows; r++) {
        const struct row *row = &p->rows[r];

        if (!s->ranks_wanted[row->rank] || !s->wanted[row->region] || !s->rows[r].calls ||
            !decode(p->regions[row->region].name, &list[n]))
            continue;
        list[n].rank = p->ranks[row->rank].number;
        list[n].calls = s->rows[r].calls;
        list[n].time = s->rows[r].total;
        n++;
    }
    return unite(list, n);
}

int messages__print(const struct profile *p, const struct view_options *options, FILE *out, struct err *err)
{
    struct message *list = calloc(p->n_rows + 1, sizeof(*list));
    struct table table;
    struct stats s = {0};
    int rc = list ? stats__init(&s, p, options, err) : -ENOMEM;

    table__init(&table, columns, N_COLUMNS);
    if (!rc) {
        uint64_t n = collect(&s, list);

        for (uint64_t i = 0; i < n && (!options->top || i < options->top); i++)
            add_row(&table, &list[i]);
        if (!n && options->shape == VIEW_TEXT)
            fputs("no mpi: regions in this profile\n", out);
        else
            rc = table__print(&table, options, out);
        if (!rc && options->shape == VIEW_JSON)
            putc('\n', out);
    }
    table__deinit(&table);
    stats__deinit(&s);
    free(list);
    return rc;
}
