/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_OPTION_DOCS_H
#define SCOPE_OPTION_DOCS_H

#include <stdio.h>

/* What the build installs, made from the table of options. */
void option_docs__man(FILE *out);
void option_docs__completion(FILE *out);

#endif
