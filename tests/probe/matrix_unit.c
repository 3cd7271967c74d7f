// SPDX-License-Identifier: GPL-2.0-only
/* The second unit: the same names and the same inline function again. */
#include "matrix.h"

int other_unit(int n)
{
    SP_PROBE(outer); TRUTH("outer");
    SP_PROBE(only_here); TRUTH("only_here");
    return shared_inline(n) + shared_inline(n + 4);
}
