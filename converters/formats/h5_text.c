// SPDX-License-Identifier: GPL-2.0-only
#include "h5_text.h"

#include <stdlib.h>
#include <string.h>

/* Texts that are taken out of the file at once. */
#define PART       4096
#define PART_BYTES (1u << 20)

static void keep(struct h5_reader *r, const char *name, const void *bytes, size_t len, struct text *to)
{
    if (len && memchr(bytes, 0, len)) {
        h5_get__fail(r, name, "holds a text with a NUL");
        return;
    }
    *to = profile__text(r->p, len ? bytes : "", len);
    if (!to->s)
        h5_get__no_memory(r);
}

static bool read_part(struct h5_reader *r, const struct h5_set *set, const char *name, uint64_t at,
                      uint64_t n, hid_t type, void *to)
{
    hsize_t start = at, count = n;
    char reason[160];
    AUTO_SPACE file = H5Dget_space(set->id);
    AUTO_SPACE memory = H5Screate_simple(1, &count, NULL);

    if (file >= 0 && memory >= 0 &&
        H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0 &&
        H5Dread(set->id, type, memory, file, H5P_DEFAULT, to) >= 0)
        return true;
    h5__reason(reason, sizeof(reason));
    h5_get__fail(r, name, "cannot be read: %s", reason);
    return false;
}

static void reclaim(hid_t type, uint64_t n, void *data)
{
    hsize_t count = n;
    AUTO_SPACE space = H5Screate_simple(1, &count, NULL);

    H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
}

static void read_strings(struct h5_reader *r, const struct h5_set *set, const char *name, struct text *to)
{
    /* The file's own character set: HDF5 does not convert, and the bytes are all we want. */
    AUTO_TYPE file_type = H5Dget_type(set->id);
    AUTO_TYPE type = H5Tget_native_type(file_type, H5T_DIR_ASCEND);
    char **part = calloc(PART, sizeof(*part));

    if (!part)
        h5_get__no_memory(r);
    for (uint64_t at = 0; at < set->n && !r->code; at += PART) {
        uint64_t n = set->n - at < PART ? set->n - at : PART;

        memset(part, 0, PART * sizeof(*part));
        if (!read_part(r, set, name, at, n, type, part))
            break;
        for (uint64_t i = 0; i < n && !r->code; i++)
            keep(r, name, part[i], part[i] ? strlen(part[i]) : 0, &to[at + i]);
        reclaim(type, n, part);
    }
    free(part);
}

static void read_bytes(struct h5_reader *r, const struct h5_set *set, const char *name, struct text *to)
{
    AUTO_TYPE type = h5__bytes_type();
    hvl_t *part = calloc(PART, sizeof(*part));

    if (!part)
        h5_get__no_memory(r);
    for (uint64_t at = 0; at < set->n && !r->code; at += PART) {
        uint64_t n = set->n - at < PART ? set->n - at : PART;

        memset(part, 0, PART * sizeof(*part));
        if (!read_part(r, set, name, at, n, type, part))
            break;
        for (uint64_t i = 0; i < n && !r->code; i++) {
            /* A build-id may hold any byte. */
            to[at + i] = profile__text(r->p, part[i].len ? part[i].p : "", part[i].len);
            if (!to[at + i].s)
                h5_get__no_memory(r);
        }
        reclaim(type, n, part);
    }
    free(part);
}

static size_t fixed_length(const char *s, size_t width, H5T_str_t pad)
{
    size_t n = strnlen(s, width);

    while (pad == H5T_STR_SPACEPAD && n && s[n - 1] == ' ')
        n--;
    return n;
}

static void read_fixed(struct h5_reader *r, const struct h5_set *set, const char *name, hid_t type,
                       struct text *to)
{
    size_t width = H5Tget_size(type);
    uint64_t step = PART_BYTES / width ? PART_BYTES / width : 1;
    H5T_str_t pad = H5Tget_strpad(type);
    char *part = malloc((step < set->n ? step : set->n + 1) * width);

    if (!part)
        h5_get__no_memory(r);
    for (uint64_t at = 0; at < set->n && !r->code; at += step) {
        uint64_t n = set->n - at < step ? set->n - at : step;

        if (!read_part(r, set, name, at, n, type, part))
            break;
        for (uint64_t i = 0; i < n && !r->code; i++)
            keep(r, name, part + i * width, fixed_length(part + i * width, width, pad), &to[at + i]);
    }
    free(part);
}

static bool is_bytes(hid_t type)
{
    AUTO_TYPE inner = H5Tget_super(type);

    return inner >= 0 && H5Tget_class(inner) == H5T_INTEGER && H5Tget_size(inner) == 1;
}

void h5_text__read(struct h5_reader *r, const struct h5_set *set, const char *name, struct text *to)
{
    AUTO_TYPE type = H5Dget_type(set->id);
    H5T_class_t class = H5Tget_class(type);

    if (class == H5T_STRING && H5Tis_variable_str(type) > 0)
        read_strings(r, set, name, to);
    else if (class == H5T_STRING)
        read_fixed(r, set, name, type, to);
    else if (class == H5T_VLEN && is_bytes(type))
        read_bytes(r, set, name, to);
    else
        h5_get__fail(r, name, "does not hold texts");
}
