// SPDX-License-Identifier: GPL-2.0-only
/* Recursion to DEPTH [400], then longjmp to depth HIGH [100], a shorter recursion from there, longjmp to depth LOW [3],
 * and the rest returns. Each level is one of four regions: blocks "alpha" and "beta two", pairs "gamma" and "delta".
 * ROUNDS [1] times. Abandoned are the levels that were jumped over. */
#include "scope_probe.h"
#include "truth.h"

#include <setjmp.h>

static const char *const names[4] = {"alpha", "beta two", "gamma", "delta"};
static jmp_buf high_env, low_env;
static long depth, high, low;
static volatile long begun[4], ended[4];

static void level(long n);

/* what a level does between its begin and its end */
__attribute__((noinline)) static void below(long n)
{
    if (n == low && setjmp(low_env))
        return;
    if (n == high && setjmp(high_env)) {
        level(-10);
        longjmp(low_env, 1);
    }
    if (n == depth)
        longjmp(high_env, 1);
    if (n != -1)
        level(n + 1);
}

__attribute__((noinline)) static void level_alpha(long n)
{
    SP_PROBE(alpha);
    begun[0]++;
    below(n);
    ended[0]++;
}

__attribute__((noinline)) static void level_beta(long n)
{
    SP_REGION("beta two");
    begun[1]++;
    below(n);
    ended[1]++;
}

__attribute__((noinline)) static void level_gamma(long n)
{
    SP_BEGIN(gamma);
    begun[2]++;
    below(n);
    ended[2]++;
    SP_END(gamma);
}

__attribute__((noinline)) static void level_delta(long n)
{
    SP_BEGIN_NAMED("delta");
    begun[3]++;
    below(n);
    ended[3]++;
    SP_END_NAMED("delta");
}

/* levels below zero are the shorter recursion: -10 to -1 */
static void level(long n)
{
    switch ((unsigned long)(n * n + n / 3) % 4) {
    case 0:
        level_alpha(n);
        break;
    case 1:
        level_beta(n);
        break;
    case 2:
        level_gamma(n);
        break;
    default:
        level_delta(n);
    }
}

int main(int argc, char **argv)
{
    long rounds = truth_arg(argc, argv, 4, 1);

    depth = truth_arg(argc, argv, 1, 400);
    high = truth_arg(argc, argv, 2, 100);
    low = truth_arg(argc, argv, 3, 3);
    if (low < 1 || high <= low || depth <= high) {
        fprintf(stderr, "recurse_longjmp: needs DEPTH > HIGH > LOW > 0\n");
        return 2;
    }
    for (long i = 0; i < rounds; i++)
        level(1);
    truth_open("recurse_longjmp");
    for (int i = 0; i < 4; i++)
        truth_region(names[i], (struct truth){.calls = begun[i], .abandoned = begun[i] - ended[i]});
    truth_end();
    return 0;
}
