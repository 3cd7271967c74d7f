// SPDX-License-Identifier: GPL-2.0-only
#include "h5_put.h"
#include "converters/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Small sets are contiguous: a chunk and its index cost more than what is in them. */
#define CONTIGUOUS_MAX 65536
#define CHUNK_BYTES    (256u << 10)
#define GZIP_LEVEL     4

void h5_put__fail(struct h5_writer *w, const char *what)
{
    char reason[160];

    if (w->code)
        return;
    h5__reason(reason, sizeof(reason));
    /* HDF5 hides errno in its text. */
    w->code = err__set(w->err, strstr(reason, "No space left") ? ENOSPC : EIO,
                       "%s: cannot be written (%s): %s", w->path, what, reason);
}

void h5_put__no_memory(struct h5_writer *w)
{
    if (!w->code)
        w->code = err__set(w->err, ENOMEM, "%s: not enough memory", w->path);
}

void *h5_put__alloc(struct h5_writer *w, uint64_t n, size_t width)
{
    size_t bytes;
    void *at = NULL;

    if (w->code)
        return NULL;
    if (!__builtin_mul_overflow(n, width, &bytes))
        at = arena__alloc(w->scratch, bytes ? bytes : 1);
    if (!at)
        h5_put__no_memory(w);
    else
        memset(at, 0, bytes);
    return at;
}

hid_t h5_put__group(struct h5_writer *w, hid_t in, const char *name)
{
    hid_t group;

    if (w->code)
        return -1;
    AUTO_LIST list = H5Pcreate(H5P_GROUP_CREATE);

    H5Pset_obj_track_times(list, false);
    group = H5Gcreate2(in, name, H5P_DEFAULT, list, H5P_DEFAULT);
    if (group < 0)
        h5_put__fail(w, name);
    return group;
}

static herr_t choose_storage(const struct h5_writer *w, hid_t list, uint64_t n, size_t width)
{
    hsize_t chunk = CHUNK_BYTES / width < n ? CHUNK_BYTES / width : n;

    /* The same profile gives the same bytes, whenever it is written. */
    if (H5Pset_obj_track_times(list, false) < 0)
        return -1;
    if (n * width <= CONTIGUOUS_MAX)
        return 0;
    if (H5Pset_chunk(list, 1, &chunk) < 0)
        return -1;
    if (!w->compress)
        return 0;
    return H5Pset_shuffle(list) < 0 || H5Pset_deflate(list, GZIP_LEVEL) < 0 ? -1 : 0;
}

hid_t h5_put__create(struct h5_writer *w, hid_t in, const char *name, hid_t type, uint64_t n, size_t width)
{
    hsize_t size = n;
    hid_t set;

    if (w->code)
        return -1;
    AUTO_SPACE space = H5Screate_simple(1, &size, NULL);
    AUTO_LIST list = H5Pcreate(H5P_DATASET_CREATE);

    if (space < 0 || list < 0 || choose_storage(w, list, n, width) < 0) {
        h5_put__fail(w, name);
        return -1;
    }
    set = H5Dcreate2(in, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (set < 0)
        h5_put__fail(w, name);
    return set;
}

void h5_put__slab(struct h5_writer *w, hid_t set, hid_t type, uint64_t at, uint64_t n, const void *data)
{
    hsize_t start = at, count = n;

    if (w->code || !n)
        return;
    AUTO_SPACE file = H5Dget_space(set);
    AUTO_SPACE memory = H5Screate_simple(1, &count, NULL);

    if (file < 0 || memory < 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
        H5Dwrite(set, type, memory, file, H5P_DEFAULT, data) < 0)
        h5_put__fail(w, "a column");
}

void h5_put__column(struct h5_writer *w, hid_t in, const char *name, hid_t type, uint64_t n, size_t width,
                    const void *data)
{
    if (w->code)
        return;
    AUTO_SET set = h5_put__create(w, in, name, type, n, width);

    if (!w->code && n && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        h5_put__fail(w, name);
}

void h5_put__i64s(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const int64_t *data)
{
    h5_put__column(w, in, name, H5T_NATIVE_INT64, n, sizeof(*data), data);
}

/* Pointers to texts as HDF5 wants them; NULL stands for an empty one and takes no room in the file. */
static const char **pointers(struct h5_writer *w, uint64_t n, const struct text *first, size_t stride)
{
    const char **list = h5_put__alloc(w, n, sizeof(*list));

    for (uint64_t i = 0; i < n && list; i++) {
        const struct text *text = (const struct text *)((const char *)first + i * stride);
        struct text shown = text->len ? text__shown(w->scratch, *text) : (struct text){0};

        if (text->len && !shown.s) {
            h5_put__no_memory(w);
            return NULL;
        }
        list[i] = shown.s;
    }
    return list;
}

static void put_text_field(struct h5_writer *w, hid_t in, const char *name, uint64_t n,
                           const struct text *first, size_t stride)
{
    const char **list = pointers(w, n, first, stride);

    if (list)
        h5_put__column(w, in, name, w->text_type, n, sizeof(hvl_t), list);
}

void h5_put__texts(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const struct text *texts)
{
    put_text_field(w, in, name, n, texts, sizeof(*texts));
}

void h5_put__bytes(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const struct text *first,
                   size_t stride)
{
    hvl_t *list = h5_put__alloc(w, n, sizeof(*list));

    for (uint64_t i = 0; i < n && list; i++) {
        const struct text *text = (const struct text *)((const char *)first + i * stride);

        list[i] = (hvl_t){text->len, (void *)(uintptr_t)text->s};
    }
    if (list)
        h5_put__column(w, in, name, w->bytes_type, n, sizeof(*list), list);
}

void h5_put__field(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const int64_t *first,
                   size_t stride)
{
    int64_t *list = h5_put__alloc(w, n, sizeof(*list));

    for (uint64_t i = 0; i < n && list; i++)
        list[i] = *(const int64_t *)((const char *)first + i * stride);
    if (list)
        h5_put__i64s(w, in, name, n, list);
}

/* Slab by slab: a table may be long (samples). */
static void put_integers(struct h5_writer *w, hid_t in, const struct record_field *field, size_t width,
                         uint64_t n, const char *first)
{
    hid_t type = field->kind == RECORD_I64   ? H5T_NATIVE_INT64
                 : field->kind == RECORD_I32 ? H5T_NATIVE_INT32
                                             : H5T_NATIVE_INT8;
    uint64_t part = n < H5_SLAB ? n : H5_SLAB;
    int64_t *slab = w->code ? NULL : malloc((part + 1) * sizeof(*slab));
    AUTO_SET set = h5_put__create(w, in, field->name, type, n, H5Tget_size(type));

    if (!slab)
        h5_put__no_memory(w);
    for (uint64_t at = 0; at < n && !w->code; at += part) {
        part = n - at < part ? n - at : part;
        for (uint64_t i = 0; i < part; i++)
            slab[i] = record__get(first + (at + i) * width, field->kind);
        h5_put__slab(w, set, H5T_NATIVE_INT64, at, part, slab);
    }
    free(slab);
}

void h5_put__fields(struct h5_writer *w, hid_t in, const struct record_table *table, uint64_t n,
                    const void *records)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct record_field *field = &table->fields[i];
        const char *first = n ? (const char *)records + field->offset : NULL;

        if (field->kind == RECORD_TEXT)
            put_text_field(w, in, field->name, n, (const struct text *)first, table->width);
        else if (field->kind >= RECORD_BYTES)
            h5_put__bytes(w, in, field->name, n, (const struct text *)first, table->width);
        else
            put_integers(w, in, field, table->width, n, first);
    }
}

void h5_put__table(struct h5_writer *w, hid_t in, const struct record_table *table, uint64_t n,
                   const void *records)
{
    AUTO_GROUP group = h5_put__group(w, in, table->name);

    h5_put__fields(w, group, table, n, records);
}

void h5_put__matrix(struct h5_writer *w, hid_t in, const char *name, uint64_t rows, uint64_t columns,
                    const double *data)
{
    hsize_t size[2] = {rows, columns};

    if (w->code)
        return;
    AUTO_SPACE space = H5Screate_simple(2, size, NULL);
    AUTO_LIST list = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_obj_track_times(list, false);
    AUTO_SET set = H5Dcreate2(in, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);

    if (set < 0 ||
        (rows && columns && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0))
        h5_put__fail(w, name);
}

/* ---- attributes
 * ---------------------------------------------------------------------------------------------- */

static void put_attribute(struct h5_writer *w, hid_t in, const char *name, hid_t type, hid_t space,
                          const void *data)
{
    if (w->code)
        return;
    AUTO_ATTRIBUTE attribute =
        type < 0 || space < 0 ? -1 : H5Acreate2(in, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

    if (attribute < 0 || H5Awrite(attribute, type, data) < 0)
        h5_put__fail(w, name);
}

static void put_scalar(struct h5_writer *w, hid_t in, const char *name, hid_t type, const void *data)
{
    if (w->code)
        return;
    AUTO_SPACE space = H5Screate(H5S_SCALAR);

    put_attribute(w, in, name, type, space, data);
}

void h5_put__int_attribute(struct h5_writer *w, hid_t in, const char *name, int64_t value)
{
    put_scalar(w, in, name, H5T_NATIVE_INT64, &value);
}

void h5_put__float_attribute(struct h5_writer *w, hid_t in, const char *name, double value)
{
    put_scalar(w, in, name, H5T_NATIVE_DOUBLE, &value);
}

void h5_put__text_attribute(struct h5_writer *w, hid_t in, const char *name, struct text text)
{
    struct text shown;
    const char *bytes;

    if (w->code)
        return;
    shown = text__shown(w->scratch, text);
    bytes = shown.s ? shown.s : "";
    put_scalar(w, in, name, w->text_type, &bytes);
}

void h5_put__list_attribute(struct h5_writer *w, hid_t in, const char *name, uint32_t n,
                            const struct text *list)
{
    const char **texts = pointers(w, n, list, sizeof(*list));
    hsize_t size = n;

    if (w->code)
        return;
    AUTO_SPACE space = H5Screate_simple(1, &size, NULL);

    put_attribute(w, in, name, w->text_type, space, texts);
}

void h5_put__bytes_attribute(struct h5_writer *w, hid_t in, const char *name, struct text text)
{
    hsize_t size = text.len;

    if (w->code || utf8__valid(text.s, text.len))
        return;
    AUTO_SPACE space = H5Screate_simple(1, &size, NULL);

    put_attribute(w, in, name, H5T_NATIVE_UINT8, space, text.s);
}
