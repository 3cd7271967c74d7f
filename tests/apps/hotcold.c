// SPDX-License-Identifier: GPL-2.0-only
/* A hot and a cold loop, each one line, in region "work", for SECONDS [3]: about 9 of 10 samples belong to the hot
 * line. hot_line and cold_line are the lines of this file. */
#include "scope_probe.h"
#include "truth.h"

#include <time.h>

static volatile unsigned sink;
static int hot_line, cold_line;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* the barrier keeps each turn of the loop, and everything of the loop is on its line */
__attribute__((noinline)) static void hot(unsigned n, unsigned x)
{
    hot_line = __LINE__ + 1;
    for (unsigned i = 0; i < n; i++) { x = x * 1664525u + 1013904223u; __asm__ volatile("" : "+r"(x)); }
    sink = x;
}

__attribute__((noinline)) static void cold(unsigned n, unsigned x)
{
    cold_line = __LINE__ + 1;
    for (unsigned i = 0; i < n; i++) { x = x * 1664525u + 1013904223u; __asm__ volatile("" : "+r"(x)); }
    sink = x;
}

int main(int argc, char **argv)
{
    double end = now() + (argc > 1 ? strtod(argv[1], NULL) : 3);
    long calls = 0;

    while (now() < end) {
        SP_PROBE(work);
        calls++;
        hot(900000, (unsigned)calls);
        cold(100000, (unsigned)calls);
    }
    truth_open("hotcold");
    truth_calls("work", calls);
    truth_mid();
    truth_number("hot_line", hot_line);
    truth_number("cold_line", cold_line);
    truth_number("hot_percent", 90);
    truth_close();
    return 0;
}
