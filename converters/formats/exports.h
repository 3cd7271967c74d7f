/* SPDX-License-Identifier: GPL-2.0-only */
/* What the exporters of stacks and time lines share. */
#ifndef SCOPE_FORMATS_EXPORTS_H
#define SCOPE_FORMATS_EXPORTS_H

#include "converters/out.h"
#include "converters/views/stacks.h"
#include "converters/views/text_out.h"
#include "formats/formats.h"

/* A JSON string with its quotes; the text must be UTF-8 (names__shown). */
void out__json_string(struct out *o, struct text t);
/* Text of XML and HTML, and of attributes in quotes; characters that XML does not know become U+FFFD. */
void out__xml(struct out *o, struct text t);

/* "main on rank 2", "task (coro) on main"; "" where a rank has no lanes. */
void lane__label(struct strbuf *b, const struct rank *rank, const struct stack_lane *lane);

/* The first start of the ranks that options choose; false: they have no calls. */
bool profile__first_start(const struct profile *p, const struct write_options *options, int64_t *ret);

/* The message of an export of no calls. */
int no_calls(struct err *err);

/* Rank indexes chosen by options, in order of their numbers; malloc'ed, NULL: no memory. */
uint32_t *chosen_ranks(const struct profile *p, const struct write_options *options, uint32_t *ret_n);

#endif
