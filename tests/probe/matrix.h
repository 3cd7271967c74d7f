// SPDX-License-Identifier: GPL-2.0-only
/* What the matrix program's two units share. Every region statement is followed, on its line, by TRUTH with the name:
 * the program prints each name, line and file it went through, and how often. */
#ifndef MATRIX_H
#define MATRIX_H
#include "scope_probe.h"

#ifdef __cplusplus
extern "C" {
#endif
void truth(const char *name, const char *file, int line);
int other_unit(int n);
#ifdef __cplusplus
}
#endif
#define TRUTH(name) truth(name, __FILE__, __LINE__)

/* one inline function with regions, in both units */
static inline int shared_inline(int x)
{
    SP_PROBE(shared); TRUTH("shared");
    if (x > 2)
        return x;
    SP_REGION("shared 100% {x|y}"); TRUTH("shared 100% {x|y}");
    return x + 1;
}
#endif
