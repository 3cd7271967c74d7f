/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_SESSION_H
#define SCOPE_SESSION_H

#include "options.h"

/*
 * A recording, from the first check to the last file; prints what there is to say.  The exit status of the program:
 * the command's, 128 + N after signal N, 125 when we failed, 126 and 127 as env, 3 with --fail-on-loss after a loss;
 * with -p 0 at the end.
 */
int session__run(const struct options *options);

#endif
