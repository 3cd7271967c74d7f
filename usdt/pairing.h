/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_PAIRING_H
#define SCOPE_USDT_PAIRING_H

#include <stdbool.h>
#include <stddef.h>

#include "usdt/err.h"

/*
 * Which probes of other people's programs begin and end a region. A rule is
 *   PROVIDER:BEGIN,END[=NAME]
 * BEGIN and END are probe names, each with one `*` or both without: what the star stands for is
 * the same on both sides. A `\` takes the next byte as it is. NAME is the region's name; a `*` in
 * it stands for the same text. Without NAME: the text of the star, or what BEGIN and END have in
 * common at their start (`gc__start,gc__done` → gc), or BEGIN. Examples:
 *   postgresql:*__start,*__done
 *   python:gc__start,gc__done=gc
 * `=@N` (N from 1) takes the name from the program: the text that argument N of the probe points at,
 * read when it fires. `\@` begins a name with that character.
 *   python:function__entry,function__return=@2
 */
struct pairing;

enum pairing_role {
    PAIRING_BEGIN,
    PAIRING_END,
};

/* An empty set of rules, or NULL (no memory). */
struct pairing *pairing__new(void);
void pairing__free(struct pairing *pairing); /* accepts NULL */

/* Adds one rule; -EINVAL with a message that quotes the rule, -E2BIG above 4,096 rules, -ENOMEM. */
int pairing__add(struct pairing *pairing, const char *text, struct err *err);
size_t pairing__count(const struct pairing *pairing);
/* The rule as it was typed. */
const char *pairing__text(const struct pairing *pairing, size_t rule);
/* Whether it was the first rule to match some probe so far. */
bool pairing__was_used(const struct pairing *pairing, size_t rule);
bool pairing__has_provider(const struct pairing *pairing, const char *provider);

/*
 * The region that this probe begins or ends, by the first rule that says so: two rules that match
 * one probe count once. Writes at most size bytes of the name (no NUL) and returns its length, at
 * most 255; 0 where no rule matches, the name would be longer or is an argument's.
 */
size_t pairing__region(const struct pairing *pairing, enum pairing_role role, const char *provider,
                       const char *probe, size_t probe_len, char *name, size_t size);

/* The argument whose text names the region that this probe begins or ends; 0: none does. */
unsigned int pairing__argument(const struct pairing *pairing, enum pairing_role role, const char *provider,
                               const char *probe, size_t probe_len);

#endif
