// SPDX-License-Identifier: GPL-2.0-only
#include "h5.h"

#include <stdio.h>
#include <string.h>

const struct h5_column h5_columns[] = {
    {COLUMN_CALL_ID, "call_ids"}, {COLUMN_PARENT_ID, "parent_ids"}, {COLUMN_THREAD_ID, "thread_ids"},
    {COLUMN_TASK_ID, "task_ids"}, {COLUMN_AWAIT_NS, "await_ns"},    {COLUMN_GPU_NS, "gpu_durations"},
    {COLUMN_FLAGS, "flags"},
};
const size_t n_h5_columns = sizeof(h5_columns) / sizeof(*h5_columns);

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
    static const char system[] = "error message = '";
    const char *reason = NULL, *at;

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
    at = reason ? strstr(reason, system) : NULL;
    /* Of an error of the system only strerror's text: the rest names our temporary file and a moment. */
    if (at)
        snprintf(text, size, "%.*s", (int)strcspn(at + strlen(system), "'"), at + strlen(system));
    else
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
