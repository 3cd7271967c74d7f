/* SPDX-License-Identifier: GPL-2.0-only */
/* The reader of JSON profiles, between its files. Errors stick in j. */
#ifndef SCOPE_JSON_GET_H
#define SCOPE_JSON_GET_H

#include "converters/json_in.h"
#include "converters/records.h"

struct json_reader {
    struct json_in j;
    struct profile *p;
    struct json_text key, text; /* scratch */
    uint32_t *regions;          /* of scope_bpf's list of names → index in the profile */
    uint32_t n_regions;
};

bool json_get__is(const struct json_text *key, const char *name);
void json_get__no_memory(struct json_reader *r);
/* null: skipped, true. */
bool json_get__null(struct json_reader *r);
struct text json_get__text(struct json_reader *r);
struct text json_get__hex(struct json_reader *r);
struct text *json_get__texts(struct json_reader *r, uint32_t *ret_n);
int64_t *json_get__i64s(struct json_reader *r, uint32_t *ret_n);
/* All numbers of a list, of lists within it too; null: NaN. */
double *json_get__doubles(struct json_reader *r, uint32_t *ret_n);
void json_get__metas(struct json_reader *r, struct meta **list, uint32_t *n);

/* The next member of an object: its key in r->key. */
bool json_get__member(struct json_reader *r);
/* {"<rank>": …}: calls back for each, the reader standing before the value. */
void json_get__per_rank(struct json_reader *r, void (*read)(struct json_reader *r, uint32_t rank));

void json_get__threads(struct json_reader *r, uint32_t rank);
void json_get__tasks(struct json_reader *r, uint32_t rank);
void json_get__likwid(struct json_reader *r, uint32_t rank);
void json_get__lines(struct json_reader *r, uint32_t rank);
void json_get__perf(struct json_reader *r, uint32_t rank);
void json_get__ours(struct json_reader *r);

#endif
