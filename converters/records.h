/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of the model that files keep as tables: their fields, by name. */
#ifndef SCOPE_RECORDS_H
#define SCOPE_RECORDS_H

#include "model.h"

/*
 * One description serves writing and reading, in HDF5 (a group with one set per field) and in JSON (a list of
 * objects).
 */
/* BYTES: text that must keep its exact bytes; BINARY: no text. */
enum record_kind { RECORD_I64, RECORD_I32, RECORD_I8, RECORD_BOOL, RECORD_TEXT, RECORD_BYTES, RECORD_BINARY };
struct record_field {
    const char *name;
    size_t offset;
    enum record_kind kind;
    int64_t missing; /* where the file does not have the field */
};
struct record_table {
    const char *name;
    size_t width; /* of a record */
    const struct record_field *fields;
    size_t n_fields;
};
extern const struct record_table record_threads, record_tasks, record_losses, record_notes, record_processes,
    record_modules, record_ranks, record_samples;

/* An integer field of a record. */
static inline int64_t record__get(const void *at, enum record_kind kind)
{
    switch (kind) {
    case RECORD_I32: return *(const int32_t *)at;
    case RECORD_I8: return *(const int8_t *)at;
    case RECORD_BOOL: return *(const bool *)at;
    default: return *(const int64_t *)at;
    }
}

/* false: does not fit. */
static inline bool record__put(void *at, enum record_kind kind, int64_t v)
{
    switch (kind) {
    case RECORD_I32: *(int32_t *)at = (int32_t)v; return v >= INT32_MIN && v <= INT32_MAX;
    case RECORD_I8: *(int8_t *)at = (int8_t)v; return v >= INT8_MIN && v <= INT8_MAX;
    case RECORD_BOOL: *(bool *)at = v != 0; return true;
    default: *(int64_t *)at = v; return true;
    }
}

/* A record of record_ranks. */
struct rank_record {
    int64_t number, hz, ticks, unmatched, begun_before, depth_overflow, inherited_dropped;
};

void rank_record__of(const struct rank *rank, struct rank_record *ret);
/* false: impossible */
bool rank_record__apply(const struct rank_record *record, struct rank *rank);

#endif
