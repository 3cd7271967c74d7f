/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing pieces of an HDF5 file. Errors stick in the writer: after the first, everything does nothing. */
#ifndef SCOPE_H5_PUT_H
#define SCOPE_H5_PUT_H

#include "h5.h"

struct h5_writer {
    const struct profile *p;
    const struct write_options *options;
    const char *path;
    struct err *err;
    int code;
    hid_t file, text_type, bytes_type;
    struct arena *scratch;
    /* The rows to be written, as indexes into p->rows, and what they hold. */
    uint64_t *rows, n_rows, n_calls;
    struct text *region_names; /* as they appear */
    bool compress;
    uint64_t done, all; /* elements, for the progress */
};

/* Sets the first error: what was being written, and HDF5's reason. */
void h5_put__fail(struct h5_writer *w, const char *what);
void h5_put__no_memory(struct h5_writer *w);
/* Scratch memory, cleared; NULL after an error. */
void *h5_put__alloc(struct h5_writer *w, uint64_t n, size_t width);

hid_t h5_put__group(struct h5_writer *w, hid_t in, const char *name);

/* A one-dimensional set; large ones are chunked and, in large profiles, compressed. To be closed. */
hid_t h5_put__create(struct h5_writer *w, hid_t in, const char *name, hid_t type, uint64_t n, size_t width);
/* n elements of `data` at `at`. */
void h5_put__slab(struct h5_writer *w, hid_t set, hid_t type, uint64_t at, uint64_t n, const void *data);

/* A whole set from memory. */
void h5_put__column(struct h5_writer *w, hid_t in, const char *name, hid_t type, uint64_t n, size_t width,
                    const void *data);
void h5_put__i64s(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const int64_t *data);
void h5_put__texts(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const struct text *texts);
void h5_put__bytes(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const struct text *first,
                   size_t stride);
/* rows × columns doubles. */
void h5_put__matrix(struct h5_writer *w, hid_t in, const char *name, uint64_t rows, uint64_t columns,
                    const double *data);

/* One field of n records that lie `stride` bytes apart, as a set of int64. */
void h5_put__field(struct h5_writer *w, hid_t in, const char *name, uint64_t n, const int64_t *first,
                   size_t stride);
/* All fields of n records of a table, and a group with them. */
void h5_put__fields(struct h5_writer *w, hid_t in, const struct record_table *table, uint64_t n,
                    const void *records);
void h5_put__table(struct h5_writer *w, hid_t in, const struct record_table *table, uint64_t n,
                   const void *records);

void h5_put__int_attribute(struct h5_writer *w, hid_t in, const char *name, int64_t value);
void h5_put__float_attribute(struct h5_writer *w, hid_t in, const char *name, double value);
void h5_put__text_attribute(struct h5_writer *w, hid_t in, const char *name, struct text text);
void h5_put__list_attribute(struct h5_writer *w, hid_t in, const char *name, uint32_t n,
                            const struct text *list);
/* The bytes of a text that is not UTF-8, beside the attribute that shows it. */
void h5_put__bytes_attribute(struct h5_writer *w, hid_t in, const char *name, struct text text);

/* The parts of the file. */
void h5_put__metadata(struct h5_writer *w);
void h5_put__our_metadata(struct h5_writer *w, hid_t in);
void h5_put__lanes(struct h5_writer *w);
void h5_put__rank_groups(struct h5_writer *w);
void h5_put__ours(struct h5_writer *w);

#endif
