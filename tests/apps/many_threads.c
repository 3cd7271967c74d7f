// SPDX-License-Identifier: GPL-2.0-only
/* COUNT [10000] threads one after another, one call of region "one" each. HOLD [0]: seconds to live on afterwards, so
 * that somebody can look for what was left behind. */
#include "scope_probe.h"
#include "truth.h"

#include <pthread.h>
#include <unistd.h>

static long calls;

static void *one(void *arg)
{
    SP_PROBE(one);
    calls++;
    return arg;
}

int main(int argc, char **argv)
{
    long count = truth_arg(argc, argv, 1, 10000);
    long hold = truth_arg(argc, argv, 2, 0);
    pthread_t id;

    for (long i = 0; i < count; i++) {
        if (pthread_create(&id, NULL, one, NULL)) {
            perror("many_threads: pthread_create");
            return 1;
        }
        pthread_join(id, NULL);
    }
    truth_open("many_threads");
    truth_calls("one", calls);
    truth_mid();
    truth_number("threads", count);
    truth_close();
    sleep((unsigned)hold);
    return 0;
}
