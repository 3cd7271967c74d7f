/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_CAPTURE_TEXT_H
#define SCOPE_CAPTURE_TEXT_H

#include "capture.h"
#include "model.h"

/*
 * The next field of bytes as a text of the profile: cut at `max` bytes, NUL replaced (a text of the model
 * holds none).  {NULL, 0}: out of memory.  A damaged payload gives an empty text and in->bad.
 */
struct text capture_text(struct profile *p, struct capture_in *in, size_t max);

#endif
