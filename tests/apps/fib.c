// SPDX-License-Identifier: GPL-2.0-only
/* fib(N [20]) with a region around every call: 21,891 calls for 20, one of them primitive. */
#include "scope_probe.h"
#include "truth.h"

static long calls;

static long fib(long n)
{
    SP_PROBE(fib);
    calls++;
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
    long value = fib(truth_arg(argc, argv, 1, 20));

    truth_open("fib");
    truth_calls("fib", calls);
    truth_mid();
    truth_number("primitive", 1);
    truth_number("value", value);
    truth_close();
    return 0;
}
