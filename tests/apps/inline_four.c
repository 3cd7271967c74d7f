// SPDX-License-Identifier: GPL-2.0-only
/* One inline function with a region, used in four places. ROUNDS [1000]; each round calls it 4 times and, in the third
 * place, a second time for every tenth value. */
#include "inline_four.h"
#include "truth.h"

long inline_four_steps;

__attribute__((noinline)) static unsigned first(unsigned x)
{
    return inline_four_step(x);
}

__attribute__((noinline)) static unsigned second(unsigned x)
{
    return x & 1 ? inline_four_step(x) : inline_four_step(x + 1);
}

__attribute__((noinline)) static unsigned third(unsigned x)
{
    for (unsigned i = 0; i <= (x % 10 == 0); i++)
        x = inline_four_step(x);
    return x;
}

int main(int argc, char **argv)
{
    long rounds = truth_arg(argc, argv, 1, 1000);
    unsigned x = 1;

    for (long i = 0; i < rounds; i++)
        x = third((unsigned)i) ^ first(x) ^ second(x) ^ inline_four_step(x);
    truth_open("inline_four");
    truth_calls("step", inline_four_steps);
    truth_mid();
    truth_number("rounds", rounds);
    truth_number("value", x);
    truth_close();
    return 0;
}
