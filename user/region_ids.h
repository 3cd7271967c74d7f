/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of regions in a run: (provider, name) → id of the cookie, written to the capture as they come. */
#ifndef SCOPE_REGION_IDS_H
#define SCOPE_REGION_IDS_H

#include "converters/capture.h"
#include "options.h"

struct region_ids;

/* `options` (kept): --region and --exclude. */
struct region_ids *region_ids__create(const struct options *options);
void region_ids__destroy(struct region_ids *ids);

/* Whether --region and --exclude let this name through; `name` as it stands in files (provider:name unless scope). */
bool region_ids__wanted(const struct region_ids *ids, const char *provider, const char *name, size_t len);
bool region_ids__filtering(const struct region_ids *ids);

/* Find or add.  -E2BIG above SB_MAX_REGIONS, -ENOMEM. */
int region_ids__get(struct region_ids *ids, const char *provider, const char *name, size_t len, const char *file,
                    int32_t line, uint32_t *ret_id);
/*
 * A name met at run time got its number in BPF.  One that the filters keep out is announced as hidden.  `provider` is
 * the number of region_ids__provider, 0 for `scope`.
 */
int region_ids__add_dynamic(struct region_ids *ids, uint32_t id, uint32_t provider, const char *name, size_t len);
/* The number of a provider whose regions are named at run time, from 1. -E2BIG above SB_MAX_NAMED_PROVIDERS. */
int region_ids__provider(struct region_ids *ids, const char *name, uint32_t *ret);

/* Payload of a REGIONS block with what is new since the last time; false: nothing new. */
bool region_ids__take_new(struct region_ids *ids, struct capture_buf *b);
size_t region_ids__count(const struct region_ids *ids); /* static ones */

#endif
