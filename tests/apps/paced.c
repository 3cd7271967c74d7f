// SPDX-License-Identifier: GPL-2.0-only
/* CALLS [1000] of region "work" by each of THREADS [1] threads and CHILDREN [0] forked children, PAUSE [0] microseconds
 * after each; WAIT [0]: prints "ready", and nothing runs before a line comes on stdin, though the threads exist. */
#include "scope_probe.h"
#include "truth.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64

static pthread_barrier_t go;
static long calls, pause_us;

static void *work(void *arg)
{
    if (arg)
        pthread_barrier_wait(&go);
    for (long i = 0; i < calls; i++) {
        SP_PROBE(work);
        if (pause_us)
            usleep((useconds_t)pause_us);
    }
    return NULL;
}

static int wait_for_line(void)
{
    int c;

    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while ((c = getchar()) != '\n')
        if (c == EOF)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    long threads = truth_arg(argc, argv, 3, 1), children = truth_arg(argc, argv, 4, 0);
    pthread_t ids[MOST];

    calls = truth_arg(argc, argv, 1, 1000);
    pause_us = truth_arg(argc, argv, 2, 0);
    if (threads < 1 || threads > MOST)
        return 2;
    pthread_barrier_init(&go, NULL, (unsigned)threads);
    for (long i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, work, &go);
    if (truth_arg(argc, argv, 5, 0) && wait_for_line())
        return 1;
    for (long i = 0; i < children; i++)
        if (!fork()) {
            work(NULL);
            _exit(0);
        }
    work(threads > 1 ? &go : NULL);
    for (long i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    while (wait(NULL) > 0)
        ;
    truth_open("paced");
    truth_calls("work", calls * (threads + children));
    truth_mid();
    truth_number("pid", getpid());
    truth_close();
    return 0;
}
