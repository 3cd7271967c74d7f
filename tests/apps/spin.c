// SPDX-License-Identifier: GPL-2.0-only
/* A thread that spins only inside region s and sleeps outside it, for SECONDS [10] (a fraction is fine): BUSY_MS [40]
 * in s, then IDLE_MS [10] asleep. THREADS [1] of them. cpu_ns is each thread's own CLOCK_THREAD_CPUTIME_ID at its end,
 * inside_ns the part of it between the two ends of s. */
#include "scope_probe.h"
#include "truth.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
struct spinner {
    pthread_t id;
    long tid, calls;
    long long cpu_ns, inside_ns;
};

static double seconds = 10;
static long busy_ms, idle_ms;

static long long now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* no system call in here: the time is spent where the samples should fall */
__attribute__((noinline)) static void spin_until(long long end)
{
    while (now(CLOCK_MONOTONIC) < end)
        for (volatile int i = 0; i < 2000; i++)
            ;
}

static void *spin(void *arg)
{
    struct spinner *me = arg;
    long long end = now(CLOCK_MONOTONIC) + (long long)(seconds * 1e9);

    me->tid = syscall(SYS_gettid);
    while (now(CLOCK_MONOTONIC) < end) {
        long long cpu = now(CLOCK_THREAD_CPUTIME_ID);

        SP_BEGIN(s);
        spin_until(now(CLOCK_MONOTONIC) + busy_ms * 1000000LL);
        SP_END(s);
        me->inside_ns += now(CLOCK_THREAD_CPUTIME_ID) - cpu;
        me->calls++;
        nanosleep(&(struct timespec){.tv_nsec = idle_ms * 1000000L}, NULL);
    }
    me->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void print(const struct spinner *s, long threads)
{
    long calls = 0;

    for (long i = 0; i < threads; i++)
        calls += s[i].calls;
    truth_open("spin");
    truth_calls("s", calls);
    truth_mid();
    printf(", \"threads\": [");
    for (long i = 0; i < threads; i++)
        printf("%s{\"tid\": %ld, \"calls\": %ld, \"cpu_ns\": %lld, \"inside_ns\": %lld}", i ? ", " : "", s[i].tid,
               s[i].calls, s[i].cpu_ns, s[i].inside_ns);
    printf("]");
    truth_close();
}

int main(int argc, char **argv)
{
    static struct spinner spinners[THREADS_MAX];
    long threads = truth_arg(argc, argv, 4, 1);

    if (argc > 1)
        seconds = strtod(argv[1], NULL);
    busy_ms = truth_arg(argc, argv, 2, 40);
    idle_ms = truth_arg(argc, argv, 3, 10);
    if (threads < 1 || threads > THREADS_MAX || idle_ms > 999)
        return 2;
    for (long i = 0; i < threads; i++)
        if (pthread_create(&spinners[i].id, NULL, spin, &spinners[i]))
            return 1;
    for (long i = 0; i < threads; i++)
        pthread_join(spinners[i].id, NULL);
    print(spinners, threads);
    return 0;
}
