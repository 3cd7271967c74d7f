/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Presets: which probes of other people's programs are regions, as text files.
 *
 *   # a comment; empty lines count nothing
 *   title: PostgreSQL: queries, waits, checkpoints     (optional, before the first rule)
 *   postgresql:query__start,query__done                (one rule per line, as --usdt takes it)
 *
 * A preset is called as its file without `.pairs`. They lie beside the build (../usdt), in
 * ../share/scope-bpf/presets seen from the program, or where `make install` put them.
 */
#ifndef SCOPE_PRESETS_H
#define SCOPE_PRESETS_H

#include "options.h"
#include "usdt/pairing.h"

#include <stdio.h>

/* The rules of --usdt, then those of --preset; *ret is NULL without any. -errno with a line that says which.
 */
int presets__rules(const struct options *options, struct pairing **ret, struct err *err);

/* What --list=presets prints: text, or with the options' flags JSON or CSV. */
int presets__print(FILE *out, const struct options *options, struct err *err);

#endif
