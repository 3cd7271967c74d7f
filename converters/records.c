// SPDX-License-Identifier: GPL-2.0-only
#include "records.h"

#define FIELD(record, field, kind, missing)                                                                  \
    {                                                                                                        \
#field, offsetof(struct record, field), kind, missing                                                \
    }
static const struct record_field thread_fields[] = {
    FIELD(thread_row, index, RECORD_I64, 0),     FIELD(thread_row, ident, RECORD_I64, 0),
    FIELD(thread_row, native_id, RECORD_I64, 0), FIELD(thread_row, daemon, RECORD_I8, 0),
    FIELD(thread_row, start_ns, RECORD_I64, 0),  FIELD(thread_row, end_ns, RECORD_I64, -1),
    FIELD(thread_row, cpu_ns, RECORD_I64, -1),   FIELD(thread_row, name, RECORD_TEXT, 0),
};
static const struct record_field task_fields[] = {
    FIELD(task_row, index, RECORD_I64, 0),        FIELD(task_row, thread_index, RECORD_I64, -1),
    FIELD(task_row, created_ns, RECORD_I64, 0),   FIELD(task_row, done_ns, RECORD_I64, -1),
    FIELD(task_row, steps, RECORD_I64, 0),        FIELD(task_row, running_ns, RECORD_I64, 0),
    FIELD(task_row, suspended_ns, RECORD_I64, 0), FIELD(task_row, kind, RECORD_TEXT, 0),
    FIELD(task_row, name, RECORD_TEXT, 0),        FIELD(task_row, coro_name, RECORD_TEXT, 0),
};
static const struct record_field loss_fields[] = {
    FIELD(loss, cause, RECORD_TEXT, 0), FIELD(loss, pid, RECORD_I64, 0),
    FIELD(loss, rank, RECORD_I32, -1),  FIELD(loss, region, RECORD_I32, -1),
    FIELD(loss, count, RECORD_I64, 0),  FIELD(loss, sample, RECORD_BOOL, 0),
};
static const struct record_field note_fields[] = {
    FIELD(run_note, from, RECORD_I64, 0),
    FIELD(run_note, to, RECORD_I64, 0),
    FIELD(run_note, pid, RECORD_I64, 0),
    FIELD(run_note, text, RECORD_TEXT, 0),
};
static const struct record_field process_fields[] = {
    FIELD(process_row, image, RECORD_I64, 0),
    FIELD(process_row, from, RECORD_I64, 0),
    FIELD(process_row, pid, RECORD_I64, 0),
    FIELD(process_row, inner_pid, RECORD_I64, 0),
    FIELD(process_row, parent_pid, RECORD_I64, 0),
    FIELD(process_row, exec_number, RECORD_I64, 0),
    FIELD(process_row, rank, RECORD_I32, -1),
    FIELD(process_row, rank_source, RECORD_TEXT, 0),
    FIELD(process_row, path, RECORD_TEXT, 0),
    FIELD(process_row, command, RECORD_TEXT, 0),
    FIELD(process_row, comm, RECORD_TEXT, 0),
    FIELD(process_row, start_ns, RECORD_I64, 0),
    FIELD(process_row, end_ns, RECORD_I64, -1),
    FIELD(process_row, status, RECORD_I64, -1),
    FIELD(process_row, calls, RECORD_I64, 0),
    FIELD(process_row, samples, RECORD_I64, 0),
    FIELD(process_row, samples_outside, RECORD_I64, 0),
};
static const struct record_field module_fields[] = {
    FIELD(module, path, RECORD_BYTES, 0), FIELD(module, build_id, RECORD_BINARY, 0),
    FIELD(module, bias, RECORD_I64, 0),   FIELD(module, start, RECORD_I64, 0),
    FIELD(module, end, RECORD_I64, 0),
};
static const struct record_field rank_fields[] = {
    FIELD(rank_record, number, RECORD_I64, -1),
    FIELD(rank_record, hz, RECORD_I64, 0),
    FIELD(rank_record, ticks, RECORD_I64, -1),
    FIELD(rank_record, unmatched, RECORD_I64, 0),
    FIELD(rank_record, begun_before, RECORD_I64, 0),
    FIELD(rank_record, depth_overflow, RECORD_I64, 0),
    FIELD(rank_record, inherited_dropped, RECORD_I64, 0),
};
static const struct record_field sample_fields[] = {
    FIELD(sample, time, RECORD_I64, 0),    FIELD(sample, address, RECORD_I64, 0),
    FIELD(sample, region, RECORD_I32, -1), FIELD(sample, module, RECORD_I32, -1),
    FIELD(sample, thread, RECORD_I32, -1), FIELD(sample, flags, RECORD_I32, 0),
};
#undef FIELD

#define TABLE(name, record, fields)                                                                          \
    {                                                                                                        \
        name, sizeof(struct record), fields, sizeof(fields) / sizeof(*(fields))                              \
    }
const struct record_table record_threads = TABLE("thread_table", thread_row, thread_fields);
const struct record_table record_tasks = TABLE("task_table", task_row, task_fields);
const struct record_table record_losses = TABLE("losses", loss, loss_fields);
const struct record_table record_notes = TABLE("notes", run_note, note_fields);
const struct record_table record_processes = TABLE("processes", process_row, process_fields);
const struct record_table record_modules = TABLE("modules", module, module_fields);
const struct record_table record_ranks = TABLE("ranks", rank_record, rank_fields);
const struct record_table record_samples = TABLE("samples", sample, sample_fields);
#undef TABLE

void rank_record__of(const struct rank *rank, struct rank_record *ret)
{
    *ret = (struct rank_record){
        .number = rank->number,
        .hz = rank->hz,
        .ticks = rank->ticks,
        .unmatched = (int64_t)rank->unmatched,
        .begun_before = (int64_t)rank->begun_before,
        .depth_overflow = (int64_t)rank->depth_overflow,
        .inherited_dropped = (int64_t)rank->inherited_dropped,
    };
}

bool rank_record__apply(const struct rank_record *record, struct rank *rank)
{
    if (record->hz < 0 || record->hz > INT32_MAX || record->ticks < -1)
        return false;
    rank->hz = (int32_t)record->hz;
    rank->ticks = record->ticks;
    rank->unmatched = (uint64_t)record->unmatched;
    rank->begun_before = (uint64_t)record->begun_before;
    rank->depth_overflow = (uint64_t)record->depth_overflow;
    rank->inherited_dropped = (uint64_t)record->inherited_dropped;
    return true;
}
