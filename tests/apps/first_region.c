// build: -static
// SPDX-License-Identifier: GPL-2.0-only
/* A static program that runs one region and leaves with _exit(STATUS [7]): nothing may miss its first instruction. */
#include "scope_probe.h"
#include "truth.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    long calls = 0;

    {
        SP_PROBE(first);
        calls++;
    }
    truth_open("first_region");
    truth_calls("first", calls);
    truth_end();
    _exit((int)truth_arg(argc, argv, 1, 7));
}
