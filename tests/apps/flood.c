// SPDX-License-Identifier: GPL-2.0-only
/* CALLS [5000000] of region "f" on one thread as fast as possible; REGIONS [1]: 2 puts every other call under "g". */
#include "scope_probe.h"
#include "truth.h"

#include <time.h>

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    long calls = truth_arg(argc, argv, 1, 5000000);
    int two = truth_arg(argc, argv, 2, 1) == 2;
    long f = 0, g = 0;
    long long start = now();

    for (long i = 0; i < calls; i++) {
        if (two && i % 2) {
            SP_PROBE(g);
            g++;
        } else {
            SP_PROBE(f);
            f++;
        }
    }
    start = now() - start;
    truth_open("flood");
    truth_calls("f", f);
    if (two)
        truth_calls("g", g);
    truth_mid();
    truth_number("elapsed_ns", (long)start);
    truth_close();
    return 0;
}
