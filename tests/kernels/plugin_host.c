// SPDX-License-Identifier: GPL-2.0-only
/* Opens a library ROUNDS [2] times, calls it ten times each, closes it: recorded from the constructor on. */
#include "truth.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    long rounds = truth_arg(argc, argv, 1, 2), calls = 0;

    for (long i = 0; i < rounds; i++) {
        void *library = dlopen("/usr/lib/plugin.so", RTLD_NOW);
        int (*work)(void);

        if (!library)
            return 1;
        *(void **)&work = dlsym(library, "plugin_work");
        for (int k = 0; work && k < 10; k++)
            calls += work();
        dlclose(library);
    }
    truth_open("plugin_host");
    truth_calls("constructor", rounds);
    truth_calls("plugin_work", calls);
    truth_mid();
    truth_close();
    return 0;
}
