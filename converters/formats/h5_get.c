// SPDX-License-Identifier: GPL-2.0-only
#include "h5_get.h"
#include "h5_chunks.h"
#include "h5_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a chunk or an element may take in memory. */
#define CHUNK_MAX   (128u << 20)
#define ELEMENT_MAX (64u << 20)
/* No filter packs better than deflate, at most 1032 to 1; shuffled constant columns come near it. */
#define PACKED_MAX 1100

void h5_get__fail(struct h5_reader *r, const char *name, const char *format, ...)
{
    char what[256];
    va_list args;

    if (r->code)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    r->code = err__set(r->err, EINVAL, "%s: %s%s%s: %s", r->in->path, r->place, *r->place && *name ? "/" : "",
                       name, what);
}

static void fail_by_hdf5(struct h5_reader *r, const char *name)
{
    char reason[160];

    if (r->code)
        return;
    h5__reason(reason, sizeof(reason));
    h5_get__fail(r, name, "cannot be read: %s", reason);
}

void h5_get__no_memory(struct h5_reader *r)
{
    if (!r->code)
        r->code = err__set(r->err, ENOMEM, "%s: not enough memory or temporary disk space", r->in->path);
}

void *h5_get__alloc(struct h5_reader *r, uint64_t n, size_t width)
{
    void *at = r->code ? NULL : profile__alloc(r->p, n, width);

    if (!at)
        h5_get__no_memory(r);
    return at;
}

/* ---- links
 * ---------------------------------------------------------------------------------------------------- */

bool h5_get__exists(struct h5_reader *r, hid_t in, const char *name)
{
    htri_t there;

    if (r->code || in < 0)
        return false;
    there = H5Lexists(in, name, H5P_DEFAULT);
    if (there < 0)
        fail_by_hdf5(r, name);
    return there > 0;
}

static hid_t open_object(struct h5_reader *r, hid_t in, const char *name, bool required, H5I_type_t wanted)
{
    H5L_info_t info;
    hid_t id;

    if (r->code || in < 0)
        return -1;
    if (!h5_get__exists(r, in, name)) {
        if (required)
            h5_get__fail(r, name, "is missing");
        return -1;
    }
    if (H5Lget_info(in, name, &info, H5P_DEFAULT) < 0) {
        fail_by_hdf5(r, name);
        return -1;
    }
    if (info.type != H5L_TYPE_HARD) {
        h5_get__fail(r, name, "is a link to elsewhere: such links are not followed");
        return -1;
    }
    id = H5Oopen(in, name, H5P_DEFAULT);
    if (id < 0) {
        fail_by_hdf5(r, name);
    } else if (H5Iget_type(id) != wanted) {
        h5_get__fail(r, name, "is no %s", wanted == H5I_GROUP ? "group" : "set of data");
        H5Oclose(id);
        id = -1;
    }
    return id;
}

hid_t h5_get__group(struct h5_reader *r, hid_t in, const char *name, bool required)
{
    return open_object(r, in, name, required, H5I_GROUP);
}

bool h5_get__is_set(struct h5_reader *r, hid_t in, const char *name)
{
    H5O_info_t info;

    if (r->code || H5Oget_info_by_name2(in, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return false;
    return info.type == H5O_TYPE_DATASET;
}

struct links {
    struct h5_reader *r;
    h5_link callback;
    void *arg;
};

static herr_t on_link(hid_t in, const char *name, const H5L_info_t *info, void *arg)
{
    struct links *links = arg;

    if (info->type == H5L_TYPE_HARD)
        links->callback(links->r, in, name, links->arg);
    return links->r->code ? 1 : 0;
}

void h5_get__links(struct h5_reader *r, hid_t in, h5_link callback, void *arg)
{
    struct links links = {r, callback, arg};
    hsize_t at = 0;

    if (r->code || in < 0)
        return;
    if (H5Literate(in, H5_INDEX_NAME, H5_ITER_INC, &at, on_link, &links) < 0)
        fail_by_hdf5(r, "");
}

/* ---- sets
 * ----------------------------------------------------------------------------------------------------- */

static void check_filters(struct h5_reader *r, const char *name, hid_t list)
{
    int n = H5Pget_nfilters(list);

    for (int i = 0; i < n && !r->code; i++) {
        unsigned flags, config;
        size_t values = 0;
        char filter[64] = "";
        H5Z_filter_t id =
            H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, sizeof(filter), filter, &config);

        if (id < 0)
            fail_by_hdf5(r, name);
        else if (id > H5Z_FILTER_SCALEOFFSET && H5Zfilter_avail(id) <= 0)
            h5_get__fail(r, name,
                         "is compressed by the HDF5 filter %s (%d), which this libhdf5 does not have",
                         *filter       ? filter
                         : id == 32000 ? "lzf"
                         : id == 32015 ? "zstd"
                                       : "without a name",
                         (int)id);
    }
}

static void check_storage(struct h5_reader *r, const char *name, const struct h5_set *set)
{
    AUTO_LIST list = H5Dget_create_plist(set->id);
    AUTO_TYPE type = H5Dget_type(set->id);
    size_t width = type < 0 ? 0 : H5Tget_size(type);
    hsize_t chunk[2] = {1, 1};
    H5D_layout_t layout;

    if (list < 0 || !width) {
        fail_by_hdf5(r, name);
        return;
    }
    layout = H5Pget_layout(list);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(list) != 0) {
        h5_get__fail(r, name, "lies in another file: such data are not read");
        return;
    }
    if (layout == H5D_CHUNKED) {
        if (H5Pget_chunk(list, 2, chunk) < 0)
            fail_by_hdf5(r, name);
        else if (chunk[0] > CHUNK_MAX / width || chunk[1] > CHUNK_MAX / width / (chunk[0] ? chunk[0] : 1))
            h5_get__fail(r, name, "has chunks of more than %u MiB", CHUNK_MAX >> 20);
        check_filters(r, name, list);
    }
    if (width > ELEMENT_MAX ||
        set->n > (r->in->size * (layout == H5D_CHUNKED ? PACKED_MAX : 1) + 4096) / width)
        h5_get__fail(r, name, "says that it has %llu elements of %zu bytes: more than the file could hold",
                     (unsigned long long)set->n, width);
}

static void measure(struct h5_reader *r, const char *name, struct h5_set *set)
{
    AUTO_SPACE space = H5Dget_space(set->id);
    hsize_t size[2] = {1, 1};

    set->dimensions = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    if (set->dimensions < 0) {
        fail_by_hdf5(r, name);
        return;
    }
    if (set->dimensions < 1 || set->dimensions > 2 || H5Sget_simple_extent_type(space) != H5S_SIMPLE) {
        h5_get__fail(r, name, "is no list or matrix");
        return;
    }
    H5Sget_simple_extent_dims(space, size, NULL);
    set->size[0] = size[0];
    set->size[1] = size[1];
    if (__builtin_mul_overflow(size[0], size[1], &set->n))
        h5_get__fail(r, name, "has an impossible size");
}

bool h5_get__set(struct h5_reader *r, hid_t in, const char *name, bool required, struct h5_set *ret)
{
    *ret = (struct h5_set){.id = open_object(r, in, name, required, H5I_DATASET)};
    if (ret->id < 0)
        return false;
    measure(r, name, ret);
    if (!r->code)
        check_storage(r, name, ret);
    if (!r->code)
        return true;
    h5_get__close(ret);
    return false;
}

void h5_get__close(struct h5_set *set)
{
    if (set->id >= 0)
        H5Dclose(set->id);
    set->id = -1;
}

bool h5_get__length(struct h5_reader *r, hid_t in, const char *name, uint64_t *ret)
{
    struct h5_set set;

    if (!h5_get__set(r, in, name, true, &set))
        return false;
    *ret = set.n;
    if (set.dimensions != 1)
        h5_get__fail(r, name, "is no list");
    h5_get__close(&set);
    return !r->code;
}

/* Opens a set that must be a list of n elements. */
static bool open_list(struct h5_reader *r, hid_t in, const char *name, uint64_t n, bool required,
                      struct h5_set *ret)
{
    if (!h5_get__set(r, in, name, required, ret))
        return false;
    if (ret->dimensions == 1 && ret->n == n)
        return true;
    h5_get__fail(r, name, "has %llu elements where %llu should be", (unsigned long long)ret->n,
                 (unsigned long long)n);
    h5_get__close(ret);
    return false;
}

static bool read_slab(struct h5_reader *r, const struct h5_set *set, const char *name, uint64_t at,
                      uint64_t n, hid_t type, void *to)
{
    hsize_t start = at, count = n;
    AUTO_SPACE file = H5Dget_space(set->id);
    AUTO_SPACE memory = H5Screate_simple(1, &count, NULL);

    if (file < 0 || memory < 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
        H5Dread(set->id, type, memory, file, H5P_DEFAULT, to) < 0)
        fail_by_hdf5(r, name);
    return !r->code;
}

void h5_get__slab(struct h5_reader *r, const struct h5_set *set, const char *name, uint64_t at, uint64_t n,
                  bool wrap, int64_t *to)
{
    AUTO_TYPE type = H5Dget_type(set->id);
    H5T_class_t class = H5Tget_class(type);
    bool is_unsigned = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;

    if (r->code || !n)
        return;
    if (class != H5T_INTEGER && class != H5T_ENUM) {
        h5_get__fail(r, name, "does not hold integers");
        return;
    }
    if (H5Tget_size(type) > sizeof(int64_t)) {
        h5_get__fail(r, name, "holds integers of more than 64 bits");
        return;
    }
    if (!read_slab(r, set, name, at, n, is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, to))
        return;
    for (uint64_t i = 0; is_unsigned && !wrap && i < n; i++) {
        if (to[i] < 0) {
            h5_get__fail(r, name, "element %llu is %llu: too large", (unsigned long long)(at + i),
                         (unsigned long long)to[i]);
            return;
        }
    }
}

/* Slab by slab through HDF5, into `to` or, for the structure only, into nothing. */
static void append_slabs(struct h5_reader *r, const struct h5_set *set, const char *name, uint64_t n,
                         int64_t *to)
{
    int64_t *slab = to ? NULL : malloc(H5_SLAB * sizeof(*slab));

    if (!to && !slab)
        h5_get__no_memory(r);
    for (uint64_t at = 0; at < n && !r->code; at += H5_SLAB)
        h5_get__slab(r, set, name, at, n - at < H5_SLAB ? n - at : H5_SLAB, false, to ? to + at : slab);
    free(slab);
}

/* An unsigned column may hold what no int64 can. */
static void check_sign(struct h5_reader *r, const struct h5_set *set, const char *name, uint64_t n,
                       const int64_t *to)
{
    AUTO_TYPE type = H5Dget_type(set->id);

    for (uint64_t i = 0; to && i < n && !r->code && H5Tget_sign(type) == H5T_SGN_NONE; i++) {
        if (to[i] < 0)
            h5_get__fail(r, name, "element %llu is too large", (unsigned long long)i);
    }
}

void h5_get__append(struct h5_reader *r, hid_t in, const char *name, uint64_t n, struct column *to)
{
    struct h5_set set;
    uint64_t base = to->n;
    int64_t *first = NULL;

    if (!open_list(r, in, name, n, true, &set))
        return;
    if (!r->structure_only && column__resize(to, base + n))
        h5_get__no_memory(r);
    if (!r->structure_only)
        first = column_i64(to) + base;
    if (r->code || !n) {
        h5_get__close(&set);
        return;
    }
    if (h5_chunks__can(&set)) {
        h5_chunks__read(r, &set, name, first);
        check_sign(r, &set, name, n, first);
    } else {
        append_slabs(r, &set, name, n, first);
    }
    h5_get__close(&set);
}

int64_t *h5_get__i64s(struct h5_reader *r, hid_t in, const char *name, uint64_t n, bool required, bool wrap)
{
    struct h5_set set;
    int64_t *list;

    if (!open_list(r, in, name, n, required, &set))
        return NULL;
    list = h5_get__alloc(r, n, sizeof(*list));
    if (list)
        h5_get__slab(r, &set, name, 0, n, wrap, list);
    h5_get__close(&set);
    return r->code ? NULL : list;
}

double *h5_get__doubles(struct h5_reader *r, hid_t in, const char *name, uint64_t n, bool required)
{
    struct h5_set set;
    double *list;

    if (!h5_get__set(r, in, name, required, &set))
        return NULL;
    AUTO_TYPE type = H5Dget_type(set.id);

    if (set.n != n)
        h5_get__fail(r, name, "has %llu elements where %llu should be", (unsigned long long)set.n,
                     (unsigned long long)n);
    if (H5Tget_class(type) != H5T_FLOAT && H5Tget_class(type) != H5T_INTEGER)
        h5_get__fail(r, name, "does not hold numbers");
    list = h5_get__alloc(r, n, sizeof(*list));
    if (list && n && H5Dread(set.id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, list) < 0)
        fail_by_hdf5(r, name);
    h5_get__close(&set);
    return r->code ? NULL : list;
}

struct text *h5_get__texts(struct h5_reader *r, hid_t in, const char *name, uint64_t n, bool required)
{
    struct h5_set set;
    struct text *list;

    if (!open_list(r, in, name, n, required, &set))
        return NULL;
    list = h5_get__alloc(r, n, sizeof(*list));
    if (list)
        h5_text__read(r, &set, name, list);
    h5_get__close(&set);
    return r->code ? NULL : list;
}

/* ---- tables
 * --------------------------------------------------------------------------------------------------- */

static void get_integers(struct h5_reader *r, hid_t group, const struct record_field *field, size_t width,
                         uint64_t n, char *first)
{
    struct h5_set set;
    int64_t *slab;

    if (!h5_get__exists(r, group, field->name)) {
        for (uint64_t i = 0; i < n && !r->code; i++)
            record__put(first + i * width, field->kind, field->missing);
        return;
    }
    if (!open_list(r, group, field->name, n, true, &set))
        return;
    slab = calloc(H5_SLAB, sizeof(*slab));
    if (!slab)
        h5_get__no_memory(r);
    for (uint64_t at = 0; at < n && !r->code; at += H5_SLAB) {
        uint64_t part = n - at < H5_SLAB ? n - at : H5_SLAB;

        h5_get__slab(r, &set, field->name, at, part, true, slab);
        for (uint64_t i = 0; i < part && !r->code; i++) {
            if (!record__put(first + (at + i) * width, field->kind, slab[i]))
                h5_get__fail(r, field->name, "element %llu is out of range", (unsigned long long)(at + i));
        }
    }
    free(slab);
    h5_get__close(&set);
}

static void get_text_field(struct h5_reader *r, hid_t group, const struct record_field *field, size_t width,
                           uint64_t n, char *first)
{
    struct text *list = h5_get__texts(r, group, field->name, n, false);

    for (uint64_t i = 0; i < n && list; i++)
        *(struct text *)(first + i * width) = list[i];
}

static void get_all_fields(struct h5_reader *r, hid_t group, const struct record_table *table, uint64_t n,
                           char *records)
{
    for (size_t i = 0; i < table->n_fields && !r->code; i++) {
        const struct record_field *field = &table->fields[i];

        if (field->kind >= RECORD_TEXT)
            get_text_field(r, group, field, table->width, n, records + field->offset);
        else
            get_integers(r, group, field, table->width, n, records + field->offset);
    }
}

void *h5_get__fields(struct h5_reader *r, hid_t group, const struct record_table *table, uint64_t n)
{
    char *records = h5_get__alloc(r, n, table->width);

    if (records)
        get_all_fields(r, group, table, n, records);
    return r->code ? NULL : records;
}

void *h5_get__table(struct h5_reader *r, hid_t in, const struct record_table *table, uint32_t *ret_n)
{
    AUTO_GROUP group = h5_get__group(r, in, table->name, false);
    uint64_t n;
    void *records;

    if (group < 0 || !h5_get__length(r, group, table->fields[0].name, &n))
        return NULL;
    if (n > UINT32_MAX / 2)
        h5_get__fail(r, table->name, "is too long");
    records = h5_get__fields(r, group, table, n);
    if (records)
        *ret_n = (uint32_t)n;
    return records;
}

void h5_get__column_table(struct h5_reader *r, hid_t in, const struct record_table *table, struct column *to)
{
    AUTO_GROUP group = h5_get__group(r, in, table->name, false);
    uint64_t n;

    if (group < 0 || !h5_get__length(r, group, table->fields[0].name, &n))
        return;
    if (column__resize(to, n))
        h5_get__no_memory(r);
    else if (n)
        get_all_fields(r, group, table, n, to->data);
}
