/* SPDX-License-Identifier: GPL-2.0-only */
/* A profile made of a built capture, and finding things in it; a test fails where something is not there. */
#ifndef SCOPE_TESTS_REBUILT_H
#define SCOPE_TESTS_REBUILT_H

#include "capture_builder.h"
#include "model.h"

/* Reconstructs; the test fails with the message when that fails.  To be destroyed by the caller. */
struct profile *rebuilt(const struct capture_builder *b);

const struct rank *rank_numbered(const struct profile *p, int32_t number);
const struct row *row_of(const struct profile *p, const char *region, int32_t rank);
bool has_row(const struct profile *p, const char *region, int32_t rank);
const struct process_row *process_of(const struct profile *p, int64_t pid, int64_t exec_number);
bool has_note(const struct profile *p, const char *part);
/* Sum of the losses with that cause ("" any) of calls, or of samples. */
uint64_t lost(const struct profile *p, const char *cause, bool samples);

int64_t call_value(const struct profile *p, const struct row *row, uint64_t i, enum call_column column);
int64_t call_start(const struct profile *p, const struct row *row, uint64_t i);
int64_t call_end(const struct profile *p, const struct row *row, uint64_t i);
/* Name of the region of the call's parent, NULL for a root; looked up by call_id among all rows of the rank.
 */
const char *parent_name(const struct profile *p, const struct row *row, uint64_t i);

bool text_is(struct text text, const char *expected);

/* What holds for every profile that comes out: rows in order, times ascending, ids dense, parents there. */
void check_sound(const struct profile *p);

#endif
