// SPDX-License-Identifier: GPL-2.0-only
/* COUNT [1000] times a longjmp out of an inner region, in both forms (blocks: outer, inner; begin and end: outer_pair,
 * inner_pair): the outer ones complete, the inner ones abandoned; then a region "next" at top level. */
#include "scope_probe.h"
#include "truth.h"

#include <setjmp.h>

static jmp_buf env;
static volatile long outer, inner, outer_pair, inner_pair;

__attribute__((noinline)) static void jump_block(void)
{
    SP_PROBE(inner);
    inner++;
    longjmp(env, 1);
}

__attribute__((noinline)) static void jump_pair(void)
{
    SP_BEGIN(inner_pair);
    inner_pair++;
    longjmp(env, 1);
    SP_END(inner_pair);
}

__attribute__((noinline)) static void one_block(void)
{
    SP_PROBE(outer);
    if (!setjmp(env))
        jump_block();
    outer++;
}

__attribute__((noinline)) static void one_pair(void)
{
    SP_BEGIN(outer_pair);
    if (!setjmp(env))
        jump_pair();
    outer_pair++;
    SP_END(outer_pair);
}

int main(int argc, char **argv)
{
    long count = truth_arg(argc, argv, 1, 1000);

    for (long i = 0; i < count; i++) {
        one_block();
        one_pair();
    }
    {
        SP_PROBE(next);
        truth_open("longjmp");
    }
    truth_calls("outer", outer);
    truth_region("inner", (struct truth){.calls = inner, .abandoned = inner});
    truth_calls("outer_pair", outer_pair);
    truth_region("inner_pair", (struct truth){.calls = inner_pair, .abandoned = inner_pair});
    truth_calls("next", 1);
    truth_end();
    return 0;
}
