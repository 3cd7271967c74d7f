// SPDX-License-Identifier: GPL-2.0-only
#include "h5_get.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 1000000

/* An open attribute and what it is. */
struct attribute {
    hid_t id, type;
    H5T_class_t class;
    uint64_t n;
    bool scalar;
};

static void close_attribute(struct attribute *a)
{
    if (a->type >= 0)
        H5Tclose(a->type);
    if (a->id >= 0)
        H5Aclose(a->id);
}

static bool measure(struct attribute *a)
{
    AUTO_SPACE space = H5Aget_space(a->id);
    hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);

    a->type = H5Aget_type(a->id);
    a->class = a->type < 0 ? H5T_NO_CLASS : H5Tget_class(a->type);
    a->scalar = space >= 0 && H5Sget_simple_extent_type(space) == H5S_SCALAR;
    a->n = n < 0 ? 0 : (uint64_t)n;
    return n >= 0 && a->type >= 0 && a->n <= LIST_MAX && H5Tget_size(a->type) <= (16u << 20) &&
           a->n * H5Tget_size(a->type) <= (64u << 20);
}

static bool open_attribute(struct h5_reader *r, hid_t in, const char *name, struct attribute *a)
{
    htri_t there;

    *a = (struct attribute){-1, -1, H5T_NO_CLASS, 0, false};
    if (r->code || in < 0)
        return false;
    there = H5Aexists(in, name);
    if (!there)
        return false;
    if (there > 0)
        a->id = H5Aopen(in, name, H5P_DEFAULT);
    if (a->id >= 0 && measure(a))
        return true;
    h5_get__fail(r, name, "is an attribute that cannot be read");
    close_attribute(a);
    return false;
}

static struct text keep(struct h5_reader *r, const char *bytes, size_t len)
{
    struct text text = profile__text(r->p, bytes ? bytes : "", len);

    if (!text.s)
        h5_get__no_memory(r);
    return text;
}

static void read_fixed(struct h5_reader *r, const struct attribute *a, const char *name, struct text *to)
{
    size_t width = H5Tget_size(a->type);
    char *all = malloc((a->n + 1) * width);

    if (!all) {
        h5_get__no_memory(r);
        return;
    }
    if (a->n && H5Aread(a->id, a->type, all) < 0)
        h5_get__fail(r, name, "is an attribute that cannot be read");
    for (uint64_t i = 0; i < a->n && !r->code; i++) {
        size_t len = strnlen(all + i * width, width);

        while (H5Tget_strpad(a->type) == H5T_STR_SPACEPAD && len && all[i * width + len - 1] == ' ')
            len--;
        to[i] = keep(r, all + i * width, len);
    }
    free(all);
}

static void read_variable(struct h5_reader *r, const struct attribute *a, const char *name, struct text *to)
{
    AUTO_TYPE type = H5Tget_native_type(a->type, H5T_DIR_ASCEND);
    AUTO_SPACE space = H5Aget_space(a->id);
    char **all = calloc(a->n + 1, sizeof(*all));

    if (!all) {
        h5_get__no_memory(r);
        return;
    }
    if (a->n && H5Aread(a->id, type, all) < 0) {
        h5_get__fail(r, name, "is an attribute that cannot be read");
        free(all);
        return;
    }
    for (uint64_t i = 0; i < a->n && !r->code; i++)
        to[i] = keep(r, all[i], all[i] ? strlen(all[i]) : 0);
    if (a->n)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, all);
    free(all);
}

/* Numbers in a list become texts: the model has lists of texts only. */
static void read_numbers(struct h5_reader *r, const struct attribute *a, const char *name, struct text *to)
{
    bool real = a->class == H5T_FLOAT;
    union {
        int64_t i;
        double d;
    } *all = calloc(a->n + 1, sizeof(*all));

    if (!all) {
        h5_get__no_memory(r);
        return;
    }
    if (a->n && H5Aread(a->id, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, all) < 0)
        h5_get__fail(r, name, "is an attribute that cannot be read");
    for (uint64_t i = 0; i < a->n && !r->code; i++) {
        char text[40];
        int len = real ? snprintf(text, sizeof(text), "%.17g", all[i].d)
                       : snprintf(text, sizeof(text), "%" PRId64, all[i].i);

        to[i] = keep(r, text, (size_t)len);
    }
    free(all);
}

static bool is_number(const struct attribute *a)
{
    return a->class == H5T_INTEGER || a->class == H5T_ENUM || a->class == H5T_FLOAT;
}

static struct text *read_list(struct h5_reader *r, const struct attribute *a, const char *name)
{
    struct text *list = h5_get__alloc(r, a->n, sizeof(*list));

    if (!list)
        return NULL;
    if (a->class == H5T_STRING && H5Tis_variable_str(a->type) > 0)
        read_variable(r, a, name, list);
    else if (a->class == H5T_STRING)
        read_fixed(r, a, name, list);
    else if (is_number(a))
        read_numbers(r, a, name, list);
    else
        h5_get__fail(r, name, "is an attribute of a kind that is not read");
    return r->code ? NULL : list;
}

/* A single number; integers that no int64 holds are an error. */
static bool read_number(struct h5_reader *r, const struct attribute *a, const char *name, int64_t *i,
                        double *d)
{
    bool is_unsigned = a->class == H5T_INTEGER && H5Tget_sign(a->type) == H5T_SGN_NONE;
    herr_t status = 0;

    if (a->n != 1 || !is_number(a)) {
        h5_get__fail(r, name, "is an attribute where a single number should be");
        return false;
    }
    if (a->class == H5T_FLOAT)
        status = H5Aread(a->id, H5T_NATIVE_DOUBLE, d);
    else
        status = H5Aread(a->id, is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, i);
    if (status < 0)
        h5_get__fail(r, name, "is an attribute that cannot be read");
    else if (is_unsigned && *i < 0)
        h5_get__fail(r, name, "is an attribute with a number that is too large");
    return !r->code;
}

int64_t h5_get__int_attribute(struct h5_reader *r, hid_t in, const char *name, int64_t missing)
{
    struct attribute a;
    int64_t i = missing;
    double d = 0;

    if (!open_attribute(r, in, name, &a))
        return missing;
    if (a.class == H5T_FLOAT || !a.scalar)
        h5_get__fail(r, name, "is an attribute where a single integer should be");
    else
        read_number(r, &a, name, &i, &d);
    close_attribute(&a);
    return i;
}

double h5_get__float_attribute(struct h5_reader *r, hid_t in, const char *name, double missing)
{
    struct attribute a;
    int64_t i = 0;
    double d = missing;

    if (!open_attribute(r, in, name, &a))
        return missing;
    if (read_number(r, &a, name, &i, &d) && a.class != H5T_FLOAT)
        d = (double)i;
    close_attribute(&a);
    return d;
}

struct text *h5_get__list_attribute(struct h5_reader *r, hid_t in, const char *name, uint32_t *ret_n)
{
    struct attribute a;
    struct text *list;

    *ret_n = 0;
    if (!open_attribute(r, in, name, &a))
        return NULL;
    list = read_list(r, &a, name);
    if (list)
        *ret_n = (uint32_t)a.n;
    close_attribute(&a);
    return list;
}

struct text h5_get__text_attribute(struct h5_reader *r, hid_t in, const char *name)
{
    uint32_t n;
    struct text *list = h5_get__list_attribute(r, in, name, &n);

    return list && n ? list[0] : (struct text){0};
}

static struct text bytes_attribute(struct h5_reader *r, hid_t in, const char *name)
{
    struct attribute a;
    struct text text = {0};
    char *bytes;

    if (!open_attribute(r, in, name, &a))
        return text;
    bytes = malloc(a.n + 1);
    if (!bytes)
        h5_get__no_memory(r);
    else if (a.class != H5T_INTEGER || (a.n && H5Aread(a.id, H5T_NATIVE_UINT8, bytes) < 0))
        h5_get__fail(r, name, "is an attribute that cannot be read");
    else if (a.n && memchr(bytes, 0, a.n))
        h5_get__fail(r, name, "holds a NUL");
    else
        text = keep(r, bytes, a.n);
    free(bytes);
    close_attribute(&a);
    return text;
}

struct text h5_get__name_attribute(struct h5_reader *r, hid_t in, const char *name, const char *bytes,
                                   const char *otherwise)
{
    struct text text = bytes_attribute(r, in, bytes);

    if (!text.s)
        text = h5_get__text_attribute(r, in, name);
    if (!text.s && !r->code)
        text = keep(r, otherwise, strlen(otherwise));
    return text;
}

/* ---- metadata
 * ------------------------------------------------------------------------------------------------- */

struct metas {
    struct h5_reader *r;
    const char *skip, *prefix;
    struct meta **list;
    uint32_t *n;
};

static void fill_meta(struct h5_reader *r, const struct attribute *a, const char *name, struct meta *meta)
{
    bool single = a->n == 1 && a->scalar;
    struct text *list;

    if (is_number(a) && single) {
        meta->kind = a->class == H5T_FLOAT ? META_FLOAT : META_INT;
        read_number(r, a, name, &meta->integer, &meta->real);
        return;
    }
    list = read_list(r, a, name);
    if (!list)
        return;
    meta->kind = single ? META_TEXT : META_LIST;
    if (single) {
        meta->text = list[0];
        return;
    }
    meta->list = list;
    meta->n_list = (uint32_t)a->n;
}

static herr_t on_attribute(hid_t in, const char *name, const H5A_info_t *info, void *arg)
{
    struct metas *m = arg;
    struct attribute a;
    struct meta *meta;

    (void)info;
    if ((m->skip && !strcmp(name, m->skip)) || (m->prefix && strncmp(name, m->prefix, strlen(m->prefix))))
        return 0;
    if (!open_attribute(m->r, in, name, &a))
        return m->r->code ? 1 : 0;
    /* Of a kind that no one writes: not ours to keep. */
    if (a.class == H5T_STRING || is_number(&a)) {
        meta = profile__append(m->r->p, m->list, m->n, sizeof(*meta));
        if (!meta)
            h5_get__no_memory(m->r);
        else
            fill_meta(m->r, &a, name, meta);
        if (meta && !m->r->code)
            meta->key = keep(m->r, name, strlen(name));
    }
    close_attribute(&a);
    return m->r->code ? 1 : 0;
}

void h5_get__metas(struct h5_reader *r, hid_t in, const char *skip, const char *prefix, struct meta **list,
                   uint32_t *n)
{
    struct metas m = {r, skip, prefix, list, n};
    hsize_t at = 0;

    if (r->code || in < 0)
        return;
    if (H5Aiterate2(in, H5_INDEX_NAME, H5_ITER_INC, &at, on_attribute, &m) < 0)
        h5_get__fail(r, "", "its attributes cannot be read");
}

void h5_get__metadata(struct h5_reader *r)
{
    AUTO_GROUP group = h5_get__group(r, r->file, "metadata", false);

    snprintf(r->place, sizeof(r->place), "metadata");
    h5_get__metas(r, group, NULL, NULL, &r->p->meta, &r->p->n_meta);
    r->place[0] = '\0';
}
