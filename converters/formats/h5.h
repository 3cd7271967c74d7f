/* SPDX-License-Identifier: GPL-2.0-only */
/* What the HDF5 files share: handles that close themselves, HDF5's errors as one line. */
#ifndef SCOPE_H5_H
#define SCOPE_H5_H

#include "converters/format.h"
#include "converters/records.h"

#include <hdf5.h>

/* One cleanup per kind of handle. */
#define H5_HANDLE(kind, close)                                                                               \
    static inline void h5__close_##kind(const hid_t *id)                                                     \
    {                                                                                                        \
        if (*id >= 0)                                                                                        \
            close(*id);                                                                                      \
    }
H5_HANDLE(file, H5Fclose)
H5_HANDLE(group, H5Gclose)
H5_HANDLE(set, H5Dclose)
H5_HANDLE(space, H5Sclose)
H5_HANDLE(type, H5Tclose)
H5_HANDLE(attribute, H5Aclose)
H5_HANDLE(list, H5Pclose)
#undef H5_HANDLE

#define AUTO_FILE      __attribute__((cleanup(h5__close_file))) hid_t
#define AUTO_GROUP     __attribute__((cleanup(h5__close_group))) hid_t
#define AUTO_SET       __attribute__((cleanup(h5__close_set))) hid_t
#define AUTO_SPACE     __attribute__((cleanup(h5__close_space))) hid_t
#define AUTO_TYPE      __attribute__((cleanup(h5__close_type))) hid_t
#define AUTO_ATTRIBUTE __attribute__((cleanup(h5__close_attribute))) hid_t
#define AUTO_LIST      __attribute__((cleanup(h5__close_list))) hid_t

#define H5_SCHEMA       3
#define H5_OURS_VERSION 1 /* of the group /scope_bpf */

/* Elements that are read or written at once. */
#define H5_SLAB (1u << 18)

/* Metadata whose key begins with "scope." are ours: attributes of /scope_bpf, not of /metadata. */
bool h5__is_ours(const struct meta *meta);

/* HDF5 prints its errors unless told not to; called before anything else. */
void h5__silence(void);

/* The innermost reason that HDF5 gives for its last failure, in `text`. */
void h5__reason(char *text, size_t size);

/* The optional columns of /events by their names; -1 ends. */
struct h5_column {
    enum call_column column;
    const char *name;
};
extern const struct h5_column h5_columns[];
extern const size_t n_h5_columns;

/* The record of /rank_region_index/summary_statistics, as in memory and in the file. */
struct h5_summary {
    int64_t total, minimum, maximum, first, last, start_minimum, end_maximum;
    uint64_t gpu_count;
    int64_t gpu_total;
    double mean, m2;
};
hid_t h5__summary_type(void);
/* A string type of variable length, UTF-8. */
hid_t h5__text_type(void);
/* Variable-length bytes. */
hid_t h5__bytes_type(void);

#endif
