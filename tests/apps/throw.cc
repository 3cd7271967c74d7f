// SPDX-License-Identifier: GPL-2.0-only
/* COUNT [1000] exceptions thrown through an inner region: blocks end (outer, inner), begins are abandoned (inner_pair
 * inside outer_pair, which is a block). */
#include "scope_probe.h"
#include "truth.h"

#include <stdexcept>

static long outer, inner, outer_pair, inner_pair;

__attribute__((noinline)) static void throw_block(long i)
{
    SP_PROBE(inner);
    inner++;
    if (i >= 0)
        throw std::runtime_error("block");
}

__attribute__((noinline)) static void throw_pair(long i)
{
    SP_BEGIN(inner_pair);
    inner_pair++;
    if (i >= 0)
        throw std::runtime_error("pair");
    SP_END(inner_pair);
}

static void one(long i)
{
    try {
        SP_PROBE(outer);
        outer++;
        throw_block(i);
    } catch (const std::exception &) {
    }
    SP_PROBE(outer_pair);
    outer_pair++;
    try {
        throw_pair(i);
    } catch (const std::exception &) {
    }
}

int main(int argc, char **argv)
{
    long count = truth_arg(argc, argv, 1, 1000);

    for (long i = 0; i < count; i++)
        one(i);
    truth_open("throw");
    truth_calls("outer", outer);
    truth_calls("inner", inner);
    truth_calls("outer_pair", outer_pair);
    struct truth pair = {inner_pair, inner_pair, 0, 0};
    truth_region("inner_pair", pair);
    truth_end();
    return 0;
}
