/* SPDX-License-Identifier: GPL-2.0-only */
/* Metadata: what the collector wrote, and what follows from the capture itself. */
#ifndef SCOPE_CAPTURE_META_H
#define SCOPE_CAPTURE_META_H

#include "capture_reader.h"
#include "images.h"

/* A CAPTURE_META payload: 0, -EBADMSG (what stands before is kept), -ENOMEM. */
int capture_meta__read(struct profile *p, struct capture_in *in);

bool capture_meta__full_detail(const struct profile *p);

/* Adds the keys of formats.md that the collector did not write; `last` is the last moment of the recording.
 */
int capture_meta__complete(struct profile *p, const struct capture_head *head, const struct images *im,
                           int64_t last);

#endif
