// SPDX-License-Identifier: GPL-2.0-only
/* ROUNDS [100] through probes of another provider that are compiled with semaphores: only where the kernel raised them. */
#define _SDT_HAS_SEMAPHORES 1
#include "truth.h"

#include <sys/sdt.h>

#define SEMAPHORE(name)                                                                                      \
    __extension__ unsigned short name __attribute__((unused)) __attribute__((section(".probes")))
SEMAPHORE(app_work_begin_semaphore);
SEMAPHORE(app_work_end_semaphore);
SEMAPHORE(app_never_semaphore);

static int is_up(volatile unsigned short *semaphore)
{
    return *semaphore;
}

int main(int argc, char **argv)
{
    long rounds = truth_arg(argc, argv, 1, 100), begun = 0;

    for (long i = 0; i < rounds; i++) {
        if (is_up(&app_work_begin_semaphore)) {
            DTRACE_PROBE1(app, work_begin, i);
            begun++;
        }
        if (is_up(&app_work_end_semaphore))
            DTRACE_PROBE(app, work_end);
        if (is_up(&app_never_semaphore))
            DTRACE_PROBE(app, never);
    }
    truth_open("guarded");
    truth_calls("app:work", begun);
    truth_mid();
    truth_close();
    return begun != rounds;
}
