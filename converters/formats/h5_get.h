/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading pieces of an HDF5 file that nobody vouches for. Errors stick in the reader. Links are followed one
 * name at a time and only when they are hard links: no other file is opened, no cycle is walked. What a set
 * says about its size is believed only as far as the file could hold it.
 */
#ifndef SCOPE_H5_GET_H
#define SCOPE_H5_GET_H

#include "h5.h"

struct h5_reader {
    const struct input *in;
    struct profile *p;
    struct err *err;
    int code;
    hid_t file;
    bool structure_only; /* the calls themselves are not read (h5_guard.h) */
    uint64_t n_calls;    /* elements of the columns in /events */
    uint32_t *regions;   /* id in the file → index in the profile */
    uint64_t n_regions;
    char place[160]; /* the group being read, for messages */
};

struct h5_set {
    hid_t id;
    uint64_t n;       /* elements in all */
    uint64_t size[2]; /* of the dimensions */
    int dimensions;
};

/* The first error: "<file>: <place>/<name>: <what>". */
void h5_get__fail(struct h5_reader *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void h5_get__no_memory(struct h5_reader *r);
void *h5_get__alloc(struct h5_reader *r, uint64_t n, size_t width); /* in the profile's arena, cleared */

/* The group or set of that name. Absent: -1, an error when it is required. */
hid_t h5_get__group(struct h5_reader *r, hid_t in, const char *name, bool required);
bool h5_get__set(struct h5_reader *r, hid_t in, const char *name, bool required, struct h5_set *ret);
void h5_get__close(struct h5_set *set);
bool h5_get__exists(struct h5_reader *r, hid_t in, const char *name);
bool h5_get__is_set(struct h5_reader *r, hid_t in, const char *name); /* a set, not a group */

/* Calls back for each hard link of a group, in the order of names, until an error. */
typedef void (*h5_link)(struct h5_reader *r, hid_t in, const char *name, void *arg);
void h5_get__links(struct h5_reader *r, hid_t in, h5_link callback, void *arg);

/* n integers from `at` on; those that no int64 can hold are an error, or with `wrap` come as their bits. */
void h5_get__slab(struct h5_reader *r, const struct h5_set *set, const char *name, uint64_t at, uint64_t n,
                  bool wrap, int64_t *to);
/* A list of n integers appended to a column. */
void h5_get__append(struct h5_reader *r, hid_t in, const char *name, uint64_t n, struct column *to);
/* A set of n integers, doubles or texts in the arena; NULL where it is absent (an error when required). */
int64_t *h5_get__i64s(struct h5_reader *r, hid_t in, const char *name, uint64_t n, bool required, bool wrap);
double *h5_get__doubles(struct h5_reader *r, hid_t in, const char *name, uint64_t n, bool required);
struct text *h5_get__texts(struct h5_reader *r, hid_t in, const char *name, uint64_t n, bool required);
/* The number of elements of a one-dimensional set. */
bool h5_get__length(struct h5_reader *r, hid_t in, const char *name, uint64_t *ret);

/* All fields of a table into records in the arena. n: as many as the field `count` has. NULL: no such group.
 */
void *h5_get__fields(struct h5_reader *r, hid_t group, const struct record_table *table, uint64_t n);
void *h5_get__table(struct h5_reader *r, hid_t in, const struct record_table *table, uint32_t *ret_n);
/* The same into a column of records, slab by slab. */
void h5_get__column_table(struct h5_reader *r, hid_t in, const struct record_table *table, struct column *to);

/* Attributes. Absent: the default. */
int64_t h5_get__int_attribute(struct h5_reader *r, hid_t in, const char *name, int64_t missing);
double h5_get__float_attribute(struct h5_reader *r, hid_t in, const char *name, double missing);
struct text h5_get__text_attribute(struct h5_reader *r, hid_t in, const char *name); /* {NULL, 0}: absent */
struct text *h5_get__list_attribute(struct h5_reader *r, hid_t in, const char *name, uint32_t *ret_n);
/* A name: its exact bytes where they stand beside it (attribute `bytes`), else the attribute, else
 * `otherwise`. */
struct text h5_get__name_attribute(struct h5_reader *r, hid_t in, const char *name, const char *bytes,
                                   const char *otherwise);
/* All attributes as metadata, except those that `skip` names; only those that begin with `prefix` (may be
 * NULL). */
void h5_get__metas(struct h5_reader *r, hid_t in, const char *skip, const char *prefix, struct meta **list,
                   uint32_t *n);

/* The parts of a file. */
void h5_get__metadata(struct h5_reader *r);
void h5_get__columnar(struct h5_reader *r);
void h5_get__aggregate(struct h5_reader *r);
void h5_get__lanes(struct h5_reader *r);
void h5_get__rank_groups(struct h5_reader *r, bool schema1);
void h5_get__ours(struct h5_reader *r);

#endif
