// SPDX-License-Identifier: GPL-2.0-only
/* THREADS [8] threads that call pthread_exit inside a region, in the FORM [pair] given: "pair" (SP_BEGIN, truncated at
 * the thread's end) or "block" (SP_PROBE: complete if this program unwinds, truncated if not). One more region, "before",
 * is complete in each thread. */
#include "scope_probe.h"
#include "truth.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024
static long before[THREADS_MAX], inside[THREADS_MAX];

__attribute__((noinline)) static void leave(void)
{
    usleep(1000);
    pthread_exit(NULL);
}

static void *pair(void *arg)
{
    long *slot = (long *)arg;

    SP_BEGIN(before);
    before[slot - inside]++;
    SP_END(before);
    SP_BEGIN(inside);
    ++*slot;
    leave();
    SP_END(inside);
    return NULL;
}

static void *block(void *arg)
{
    long *slot = (long *)arg;

    {
        SP_PROBE(before);
        before[slot - inside]++;
    }
    SP_PROBE(inside);
    ++*slot;
    leave();
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = truth_arg(argc, argv, 1, 8);
    int blocks = argc > 2 && !strcmp(argv[2], "block");
    struct truth in = {0, 0, 0, 0}, out = {0, 0, 0, 0};
    pthread_t ids[THREADS_MAX];

    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    for (long i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, blocks ? block : pair, &inside[i]))
            return 1;
    for (long i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        in.calls += inside[i];
        out.calls += before[i];
    }
    in.truncated = blocks && UNWINDS ? 0 : in.calls;
    truth_open("pthread_exit");
    truth_region("before", out);
    truth_region("inside", in);
    truth_mid();
    truth_number("threads", threads);
    truth_close();
    return 0;
}
