/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model: a profile in memory, columnar.  Readers fill it, writers and views read it; only they know a
 * format.
 *
 *     profile ─ regions (names)
 *             ─ ranks ─ threads, tasks, modules, samples, counters, process facts
 *             ─ rows: one per (region, rank): source, tags, aggregate, and a range of
 *             ─ the call columns: one element per call, the rows one behind the other
 *
 * Strings live in the profile's arena and die with it.  Times are int64 ns of CLOCK_MONOTONIC (of
 * time.perf_counter_ns for Python runs), except where a field says "relative": those count from metadata
 * start_time_ns.  Pointers into arrays move when the array grows: keep indexes.
 */
#ifndef SCOPE_MODEL_H
#define SCOPE_MODEL_H

#include "column.h"
#include "usdt/arena.h"
#include "usdt/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes with a length, NUL behind them for convenience; may hold invalid UTF-8, never NUL.  {NULL, 0}:
 * unknown. */
struct text {
    const char *s;
    uint32_t len;
};

/* ---- metadata: attributes by name, in the order they came ------------------------------------------------
 */
enum meta_kind { META_TEXT, META_INT, META_FLOAT, META_LIST };
struct meta {
    struct text key;
    enum meta_kind kind;
    struct text text;
    int64_t integer;
    double real;
    struct text *list;
    uint32_t n_list;
};

/* ---- what a rank holds beside its calls -----------------------------------------------------------------
 */
struct thread_row {
    int64_t index, ident, native_id; /* index: the value in the column thread_id */
    int8_t daemon;
    int64_t start_ns, end_ns; /* relative; end -1: alive */
    int64_t cpu_ns;           /* -1 unknown */
    struct text name;
};
struct task_row {
    int64_t index, thread_index, created_ns, done_ns, steps, running_ns, suspended_ns;
    struct text kind, name, coro_name;
};
struct perf_region { /* totals of a region, one value per event */
    struct text region;
    uint64_t calls;
    uint32_t n_events;
    struct text *events;
    uint64_t *values;
};
struct likwid_region {
    struct text tag, group_name, source;
    int64_t group_id;
    uint32_t n_threads, n_events, n_metrics, n_counters;
    uint32_t n_cpus;             /* n_threads, or 0 where not known */
    int64_t *cpus, *call_counts; /* [n_threads] */
    double *times;               /* [n_threads] s */
    struct text *event_names, *counter_names, *metric_names;
    double *events, *metrics; /* [n_events][n_threads], [n_metrics][n_threads] */
};
struct line_profile {
    struct text region, filename, function, source;
    int64_t first_lineno, source_first_lineno;
    bool has_source;
    double unit;
    uint32_t n;
    int64_t *line_numbers, *hits;
    double *times;
};
struct module {
    struct text path, build_id; /* build-id: raw bytes */
    uint64_t bias;              /* run-time address minus ELF address */
    uint64_t start, end;        /* of the executable mapping; 0 where the format does not say */
};
struct sample {       /* one timer tick inside or outside a region */
    int64_t time;     /* 0 where the format does not say */
    uint64_t address; /* run-time address */
    int32_t region;   /* index into profile.regions, -1 outside */
    int32_t module;   /* index into rank.modules, -1 unknown */
    int32_t thread;   /* value of thread_row.index, -1 unknown */
    uint32_t flags;   /* enum sb_sample_flags */
};

enum loss_cause_set { LOSS_TEXT_MAX = 32 };
struct loss {
    struct text cause; /* "ring full", "disk full", … */
    int64_t pid;       /* 0 unknown */
    int32_t rank;      /* rank number, -1 none */
    int32_t region;    /* index, -1 unknown */
    uint64_t count;
    bool sample; /* samples, not calls */
};
struct run_note { /* something that every summary must say */
    int64_t from, to, pid;
    struct text text;
};
struct process_row { /* every program of the run, ranks and helpers */
    int64_t image, from, pid, inner_pid, parent_pid, exec_number;
    int32_t rank;            /* rank number, -1: none */
    struct text rank_source; /* "OMPI_COMM_WORLD_RANK", "order of start", … */
    struct text path, command, comm;
    int64_t start_ns, end_ns; /* monotonic, end -1 unknown */
    int64_t status;           /* as wait() reports it, -1 unknown */
    uint64_t calls, samples, samples_outside;
};

struct rank {
    int32_t number;
    /* Its rows: how many, and the range of indexes that holds them all (others may stand between). */
    uint64_t n_rows, first_row, end_row;
    struct text file; /* the input that it came from, for messages */
    struct thread_row *threads;
    uint32_t n_threads;
    struct task_row *tasks;
    uint32_t n_tasks;
    struct perf_region *perf;
    uint32_t n_perf;
    struct likwid_region *likwid;
    uint32_t n_likwid;
    struct meta *likwid_env;
    uint32_t n_likwid_env;
    struct line_profile *lines;
    uint32_t n_lines;
    struct module *modules;
    uint32_t n_modules;
    struct column samples; /* struct sample */
    int64_t ticks;         /* all ticks, in regions or not; -1: no samples were taken */
    int32_t hz;            /* rate asked for */
    uint64_t unmatched, begun_before, depth_overflow, inherited_dropped;
    const struct prof_stats
        *prof; /* of a .prof file: who called whom how often, without calls; NULL elsewhere */
};

/* ---- regions and calls ----------------------------------------------------------------------------------
 */
struct region {
    struct text name;
};

enum call_column { /* optional columns of calls */
                   COLUMN_CALL_ID,
                   COLUMN_PARENT_ID,
                   COLUMN_THREAD_ID,
                   COLUMN_TASK_ID,
                   COLUMN_AWAIT_NS,
                   COLUMN_GPU_NS,
                   COLUMN_EXCLUSIVE_NS, /* ours, per call; -1 uncertain; never written by formats of others */
                   COLUMN_FLAGS,        /* enum sb_call_flags, as int64 */
                   N_CALL_COLUMNS
};

struct aggregate { /* for a row without a time line */
    bool present;
    uint64_t count;
    int64_t total_ns, min_ns, max_ns, exclusive_ns;
};

struct row {
    uint32_t region;        /* index into profile.regions */
    uint32_t rank;          /* index into profile.ranks, not the number */
    uint64_t offset, count; /* range in the call columns; ordered by start (as the input had it) */
    uint32_t has;           /* bit 1 << enum call_column: this row has that column */
    int64_t source_line;    /* -1 unknown */
    struct text source_file, source_text;
    struct text tags;           /* a JSON list, or unknown */
    struct text event_metadata; /* a JSON list: [] or one object per call, or unknown */
    bool has_exclusive;
    int64_t exclusive_total; /* ns; -1: not computed or uncertain */
    struct aggregate aggregate;
};

struct profile {
    struct arena *arena;
    bool aggregate;     /* storage layout: no time line */
    int schema;         /* of the HDF5 file that was read; 0 from elsewhere */
    struct text source; /* name of the format that was read */
    struct meta *meta;
    uint32_t n_meta;
    struct region *regions;
    uint32_t n_regions;
    struct rank *ranks;
    uint32_t n_ranks;
    struct row *rows;
    uint64_t n_rows;
    struct column start, end;            /* int64, n_calls each */
    struct column extra[N_CALL_COLUMNS]; /* int64; n = n_calls, or 0 where no row has it */
    struct loss *losses;
    uint32_t n_losses;
    struct run_note *notes;
    uint32_t n_notes;
    struct process_row *processes;
    uint32_t n_processes;
    struct text how_ended;   /* "" unknown; "unfinished": the capture has no end */
    int64_t calls_abandoned; /* informative totals are computed by views, not stored */
};

int profile__create(struct profile **ret);
void profile__destroy(struct profile *p); /* accepts NULL */

/* A copy that lives as long as the profile; short ones are stored once. {NULL, 0}: no memory. */
struct text profile__text(struct profile *p, const void *bytes, size_t len);

/*
 * Appends a zeroed element to one of the arrays of the profile or of a rank that live in the arena: meta,
 * losses, notes, processes, threads, tasks, perf, likwid, likwid_env, lines, modules (rows, regions and ranks
 * have their own functions).  `array` is the address of the pointer, `n` its count.  NULL: no memory; the old
 * elements may move.
 */
void *profile__append(struct profile *p, void *array, uint32_t *n, size_t width);
/* n zeroed elements in the arena; NULL: no memory.  n = 0 gives a pointer that must not be read. */
void *profile__alloc(struct profile *p, uint64_t n, size_t width);

/* What stands in an optional column for a call whose row does not have it: -1, or 0 (await, flags). */
int64_t call_column__fill(enum call_column column);
/* Makes the optional column exist for all calls so far, filled with the above.  0, -ENOMEM, -ENOSPC. */
int profile__use_column(struct profile *p, enum call_column column);
static inline bool row__has(const struct row *row, enum call_column column)
{
    return row->has >> column & 1;
}

/* Find or add; the index, or -ENOMEM.  Names are compared as bytes. */
int64_t profile__region(struct profile *p, const char *name, size_t len);
int64_t profile__rank(struct profile *p, int32_t number);            /* find or add; index */
int64_t profile__find_rank(const struct profile *p, int32_t number); /* index or -1 */

struct row *profile__add_row(struct profile *p, uint32_t region,
                             uint32_t rank); /* zeroed, source_line -1; NULL: no memory */
struct row *profile__find_row(const struct profile *p, uint32_t region, uint32_t rank); /* NULL: none */

const struct meta *profile__meta(const struct profile *p, const char *key);
int profile__set_meta_text(struct profile *p, const char *key, const char *text, size_t len);
int profile__set_meta_int(struct profile *p, const char *key, int64_t value);

static inline uint64_t profile__calls(const struct profile *p)
{
    return p->start.n;
}

int profile__set_meta_float(struct profile *p, const char *key, double value);
struct meta *profile__add_meta(struct profile *p, const char *key, size_t len,
                               enum meta_kind kind); /* found or new */

/*
 * Moves everything of `from` into `into`, ranks by number; a rank in both is an error (-EEXIST) that names
 * both files.  Metadata: that of `into` stays, keys that it has not are added, start_time_ns becomes the
 * smaller one, finalize_time_ns the larger, and relative times are shifted to fit.  After an error both may
 * only be destroyed; after success `from` is empty and is still the caller's to destroy.
 */
int profile__merge(struct profile *into, struct profile *from, struct err *err);

#endif
