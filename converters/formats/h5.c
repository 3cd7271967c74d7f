// SPDX-License-Identifier: GPL-2.0-only
#include "h5.h"

#include <stdio.h>
#include <string.h>

const struct h5_column h5_columns[] = {
    {COLUMN_CALL_ID, "call_ids"},   {COLUMN_PARENT_ID, "parent_ids"}, {COLUMN_THREAD_ID, "thread_ids"},
    {COLUMN_TASK_ID, "task_ids"},   {COLUMN_AWAIT_NS, "await_ns"},    {COLUMN_GPU_NS, "gpu_durations"},
    {COLUMN_FLAGS, "flags"},
};
const size_t n_h5_columns = sizeof(h5_columns) / sizeof(*h5_columns);

#define FIELD(record, field, kind, missing)                                                                            \
    {                                                                                                                  \
        #field, offsetof(struct record, field), kind, missing                                                          \
    }
static const struct h5_field thread_fields[] = {
    FIELD(thread_row, index, H5_KIND_I64, 0),     FIELD(thread_row, ident, H5_KIND_I64, 0),
    FIELD(thread_row, native_id, H5_KIND_I64, 0), FIELD(thread_row, daemon, H5_KIND_I8, 0),
    FIELD(thread_row, start_ns, H5_KIND_I64, 0),  FIELD(thread_row, end_ns, H5_KIND_I64, -1),
    FIELD(thread_row, cpu_ns, H5_KIND_I64, -1),   FIELD(thread_row, name, H5_KIND_TEXT, 0),
};
static const struct h5_field task_fields[] = {
    FIELD(task_row, index, H5_KIND_I64, 0),      FIELD(task_row, thread_index, H5_KIND_I64, -1),
    FIELD(task_row, created_ns, H5_KIND_I64, 0), FIELD(task_row, done_ns, H5_KIND_I64, -1),
    FIELD(task_row, steps, H5_KIND_I64, 0),      FIELD(task_row, running_ns, H5_KIND_I64, 0),
    FIELD(task_row, suspended_ns, H5_KIND_I64, 0), FIELD(task_row, kind, H5_KIND_TEXT, 0),
    FIELD(task_row, name, H5_KIND_TEXT, 0),      FIELD(task_row, coro_name, H5_KIND_TEXT, 0),
};
static const struct h5_field loss_fields[] = {
    FIELD(loss, cause, H5_KIND_TEXT, 0),  FIELD(loss, pid, H5_KIND_I64, 0),   FIELD(loss, rank, H5_KIND_I32, -1),
    FIELD(loss, region, H5_KIND_I32, -1), FIELD(loss, count, H5_KIND_I64, 0), FIELD(loss, sample, H5_KIND_BOOL, 0),
};
static const struct h5_field note_fields[] = {
    FIELD(run_note, from, H5_KIND_I64, 0),
    FIELD(run_note, to, H5_KIND_I64, 0),
    FIELD(run_note, pid, H5_KIND_I64, 0),
    FIELD(run_note, text, H5_KIND_TEXT, 0),
};
static const struct h5_field process_fields[] = {
    FIELD(process_row, image, H5_KIND_I64, 0),        FIELD(process_row, from, H5_KIND_I64, 0),
    FIELD(process_row, pid, H5_KIND_I64, 0),          FIELD(process_row, inner_pid, H5_KIND_I64, 0),
    FIELD(process_row, parent_pid, H5_KIND_I64, 0),   FIELD(process_row, exec_number, H5_KIND_I64, 0),
    FIELD(process_row, rank, H5_KIND_I32, -1),        FIELD(process_row, rank_source, H5_KIND_TEXT, 0),
    FIELD(process_row, path, H5_KIND_TEXT, 0),        FIELD(process_row, command, H5_KIND_TEXT, 0),
    FIELD(process_row, comm, H5_KIND_TEXT, 0),        FIELD(process_row, start_ns, H5_KIND_I64, 0),
    FIELD(process_row, end_ns, H5_KIND_I64, -1),      FIELD(process_row, status, H5_KIND_I64, -1),
    FIELD(process_row, calls, H5_KIND_I64, 0),        FIELD(process_row, samples, H5_KIND_I64, 0),
    FIELD(process_row, samples_outside, H5_KIND_I64, 0),
};
static const struct h5_field module_fields[] = {
    FIELD(module, path, H5_KIND_BYTES, 0), FIELD(module, build_id, H5_KIND_BYTES, 0),
    FIELD(module, bias, H5_KIND_I64, 0),   FIELD(module, start, H5_KIND_I64, 0),
    FIELD(module, end, H5_KIND_I64, 0),
};
static const struct h5_field rank_fields[] = {
    FIELD(h5_rank_row, number, H5_KIND_I64, -1),        FIELD(h5_rank_row, hz, H5_KIND_I64, 0),
    FIELD(h5_rank_row, ticks, H5_KIND_I64, -1),         FIELD(h5_rank_row, unmatched, H5_KIND_I64, 0),
    FIELD(h5_rank_row, begun_before, H5_KIND_I64, 0),   FIELD(h5_rank_row, depth_overflow, H5_KIND_I64, 0),
    FIELD(h5_rank_row, inherited_dropped, H5_KIND_I64, 0),
};
static const struct h5_field sample_fields[] = {
    FIELD(sample, time, H5_KIND_I64, 0),    FIELD(sample, address, H5_KIND_I64, 0),
    FIELD(sample, region, H5_KIND_I32, -1), FIELD(sample, module, H5_KIND_I32, -1),
    FIELD(sample, thread, H5_KIND_I32, -1), FIELD(sample, flags, H5_KIND_I32, 0),
};
#undef FIELD

#define TABLE(name, record, fields)                                                                                    \
    {                                                                                                                  \
        name, sizeof(struct record), fields, sizeof(fields) / sizeof(*(fields))                                        \
    }
const struct h5_table h5_thread_table = TABLE("thread_table", thread_row, thread_fields);
const struct h5_table h5_task_table = TABLE("task_table", task_row, task_fields);
const struct h5_table h5_loss_table = TABLE("losses", loss, loss_fields);
const struct h5_table h5_note_table = TABLE("notes", run_note, note_fields);
const struct h5_table h5_process_table = TABLE("processes", process_row, process_fields);
const struct h5_table h5_module_table = TABLE("modules", module, module_fields);
const struct h5_table h5_rank_table = TABLE("ranks", h5_rank_row, rank_fields);
const struct h5_table h5_sample_table = TABLE("samples", sample, sample_fields);
#undef TABLE

bool h5__is_ours(const struct meta *meta)
{
    return meta->key.len > 6 && !memcmp(meta->key.s, "scope.", 6);
}

void h5__silence(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t keep_first(unsigned n, const H5E_error2_t *error, void *arg)
{
    const char **reason = arg;

    (void)n;
    if (!*reason && error->desc && *error->desc)
        *reason = error->desc;
    return 0;
}

void h5__reason(char *text, size_t size)
{
    const char *reason = NULL;

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
    snprintf(text, size, "%s", reason ? reason : "HDF5 gives no reason");
}

hid_t h5__summary_type(void)
{
    static const struct {
        const char *name;
        size_t offset;
        int kind; /* 0 signed, 1 unsigned, 2 floating */
    } fields[] = {
        {"total", offsetof(struct h5_summary, total), 0},
        {"minimum", offsetof(struct h5_summary, minimum), 0},
        {"maximum", offsetof(struct h5_summary, maximum), 0},
        {"first", offsetof(struct h5_summary, first), 0},
        {"last", offsetof(struct h5_summary, last), 0},
        {"start_minimum", offsetof(struct h5_summary, start_minimum), 0},
        {"end_maximum", offsetof(struct h5_summary, end_maximum), 0},
        {"gpu_count", offsetof(struct h5_summary, gpu_count), 1},
        {"gpu_total", offsetof(struct h5_summary, gpu_total), 0},
        {"mean", offsetof(struct h5_summary, mean), 2},
        {"m2", offsetof(struct h5_summary, m2), 2},
    };
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct h5_summary));

    for (size_t i = 0; type >= 0 && i < sizeof(fields) / sizeof(*fields); i++)
        H5Tinsert(type, fields[i].name, fields[i].offset,
                  fields[i].kind == 2   ? H5T_NATIVE_DOUBLE
                  : fields[i].kind == 1 ? H5T_NATIVE_UINT64
                                        : H5T_NATIVE_INT64);
    return type;
}

hid_t h5__text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 && (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

hid_t h5__bytes_type(void)
{
    return H5Tvlen_create(H5T_NATIVE_UINT8);
}
