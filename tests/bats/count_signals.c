// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts signals; each line of its report is written when it comes, so that a test can wait for it.
 *
 *     count_signals [LAST]   ends with status 9 after the signal LAST (number), default never
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scope_probe.h"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};

static int wait_for_one(const sigset_t *set)
{
    siginfo_t info;

    SP_PROBE(waiting);
    while (sigwaitinfo(set, &info) < 0)
        continue;
    return info.si_signo;
}

int main(int argc, char **argv)
{
    int last = argc > 1 ? atoi(argv[1]) : 0, signal_number;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        sigaddset(&set, watched[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    do {
        signal_number = wait_for_one(&set);
        printf("got %d\n", signal_number);
        fflush(stdout);
    } while (signal_number != last);
    /* What comes in the next moment came twice. */
    struct timespec moment = {0, 300000000};
    while ((signal_number = sigtimedwait(&set, NULL, &moment)) > 0) {
        printf("got %d\n", signal_number);
        fflush(stdout);
    }
    return 9;
}
