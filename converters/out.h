/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffered writing of one file. Errors stick and are reported once, by out__close. */
#ifndef SCOPE_OUT_H
#define SCOPE_OUT_H

#include "model.h"

#include <stdbool.h>

struct out;

/* Opens `path` for writing from its start; gzip: everything goes through a gzip stream. 0 or -errno with a
 * message. */
int out__open(struct out **ret, const char *path, bool gzip, struct err *err);
/* Flushes and closes; 0, or the first error that happened. `o` is gone in any case. */
int out__close(struct out *o, struct err *err);

void out__bytes(struct out *o, const void *bytes, size_t n);
void out__text(struct out *o, const char *text);
void out__printf(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void out__i64_decimal(struct out *o, int64_t v); /* as text, fast */
void out__i32(struct out *o, int32_t v);         /* as bytes, in our order */
void out__i64(struct out *o, int64_t v);
bool out__failed(const struct out *o);
void out__fail(struct out *o, int code); /* sets the first error, an errno */

#endif
