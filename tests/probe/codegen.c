// SPDX-License-Identifier: GPL-2.0-only
/* Functions whose values live in registers, compiled with and without SCOPE_DISABLE and compared instruction by
 * instruction (compare-code.py). C and C++. */
#include "scope_probe.h"

#ifdef __cplusplus
extern "C" {
#endif

unsigned leaf_scope(unsigned a, unsigned b);
unsigned leaf_pair(unsigned a, unsigned b);
unsigned leaf_five(unsigned a, unsigned b);
unsigned three_exits(unsigned a, unsigned b);
unsigned loop_outside(unsigned n, unsigned x);
unsigned loop_inside(unsigned n, unsigned x);
unsigned inlined(unsigned a, unsigned b);
double floating(double a, double b);
unsigned named_pair(unsigned a, unsigned b);

unsigned leaf_scope(unsigned a, unsigned b)
{
    SP_PROBE(leaf_scope);
    return a * 3 + b;
}

unsigned leaf_pair(unsigned a, unsigned b)
{
    SP_BEGIN(leaf_pair);
    a = a * 5 + b;
    SP_END(leaf_pair);
    return a;
}

unsigned leaf_five(unsigned a, unsigned b)
{
    SP_PROBE(one);
    SP_PROBE(two);
    SP_PROBE(three);
    {
        SP_PROBE(four);
        a ^= b << 3;
    }
    SP_PROBE(five);
    return a + b;
}

unsigned three_exits(unsigned a, unsigned b)
{
    SP_PROBE(three_exits);
    if (a > b)
        return a * 7;
    if (b & 1)
        return b - a;
    return a ^ b;
}

unsigned loop_outside(unsigned n, unsigned x)
{
    SP_PROBE(loop_outside);
    while (n--)
        x = x * 1664525u + 1013904223u;
    return x;
}

/* the barrier stands for work that no optimiser folds */
unsigned loop_inside(unsigned n, unsigned x)
{
    for (; n; n--) {
        SP_PROBE(loop_inside);
        __asm__ volatile("" : "+r"(x));
        x = x * 1664525u + 1013904223u;
    }
    return x;
}

static unsigned small(unsigned a)
{
    SP_PROBE(small);
    return a * a + 1;
}

unsigned inlined(unsigned a, unsigned b)
{
    return small(a) ^ small(b) ^ small(a + b);
}

double floating(double a, double b)
{
    SP_PROBE(floating);
    return a * b + a;
}

unsigned named_pair(unsigned a, unsigned b)
{
    SP_BEGIN_NAMED("named 100 % pair");
    a = a * 11 + b;
    SP_END_NAMED("named 100 % pair");
    return a;
}

#ifdef __cplusplus
}
#endif
