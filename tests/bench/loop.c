// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that everything is measured on: it stays the same while tracers come and go.  One command per line on
 * stdin, one line of numbers back, in nanoseconds of this thread's CPU time: what the scheduler gives to others in
 * between does not count.
 *
 *   pairs N CHUNKS   begin and end of a region, N times: nanoseconds per pair, CHUNKS numbers
 *   empty N CHUNKS   the same loop without the region
 *   work N CHUNKS    N units of computing inside one region, then nanoseconds per unit
 *   spin             works until the next line comes, an empty one for instance; answers nothing
 */
#include "scope_probe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHUNKS_MAX 4096

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/*
 * The compiler may neither drop nor unroll a loop differently because of what is in it.  Both begin a cache line:
 * a loop of some 30 bytes takes a cycle more where it crosses one, whatever is in it.
 */
#define MEASURED __attribute__((noinline, aligned(64))) static

MEASURED void run_empty(long n)
{
    for (long i = 0; i < n; i++)
        __asm__ volatile("" : : "r"(i));
}

MEASURED void run_pairs(long n)
{
    for (long i = 0; i < n; i++) {
        __asm__ volatile("" : : "r"(i));
        SP_BEGIN(bench);
        SP_END(bench);
    }
}

/* A unit is about half a microsecond in registers and the nearest cache. */
MEASURED void run_work(long n)
{
    static volatile unsigned sink;
    unsigned x = sink + 1;

    SP_BEGIN(work);
    for (long i = 0; i < n; i++)
        for (int k = 0; k < 256; k++)
            x = (x * 1664525u + 1013904223u) ^ (x >> 7);
    sink = x;
    SP_END(work);
}

static void measure(void (*run)(long), long n, long chunks)
{
    static double result[CHUNKS_MAX];

    for (long i = 0; i < chunks; i++) {
        double start = now();
        run(n);
        result[i] = (now() - start) / (double)n;
    }
    for (long i = 0; i < chunks; i++)
        printf("%s%.4f", i ? " " : "", result[i]);
    printf("\n");
    fflush(stdout);
}

static int spin(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    while (poll(&in, 1, 0) == 0)
        run_work(10000);
    return 0;
}

static int obey(const char *line)
{
    static const struct {
        const char *name;
        void (*run)(long);
    } table[] = {{"pairs", run_pairs}, {"empty", run_empty}, {"work", run_work}};
    char name[16];
    long n, chunks;

    if (!*line)
        return 0; /* what ended a spin */
    if (!strcmp(line, "spin"))
        return spin();
    if (sscanf(line, "%15s %ld %ld", name, &n, &chunks) != 3 || n < 1 || chunks < 1 || chunks > CHUNKS_MAX)
        return -1;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (!strcmp(name, table[i].name)) {
            measure(table[i].run, n, chunks);
            return 0;
        }
    return -1;
}

int main(void)
{
    char line[128];
    size_t n = 0;

    /* No stdio on this side: poll must see what is left to read. */
    while (n < sizeof(line) - 1 && read(STDIN_FILENO, &line[n], 1) == 1) {
        if (line[n] != '\n') {
            n++;
            continue;
        }
        line[n] = '\0';
        n = 0;
        if (obey(line)) {
            fprintf(stderr, "loop: cannot do '%s'\n", line);
            return 2;
        }
    }
    return 0;
}
