// SPDX-License-Identifier: GPL-2.0-only
/* A region that calls system() COUNT [100] times: the children make neither calls nor ranks. */
#include "scope_probe.h"
#include "truth.h"

int main(int argc, char **argv)
{
    long count = truth_arg(argc, argv, 1, 100);
    long failed = 0;

    {
        SP_PROBE(shell);
        for (long i = 0; i < count; i++) {
            SP_PROBE(command);
            failed += system("exit 3") != 3 << 8;
        }
    }
    truth_open("sysregion");
    truth_calls("shell", 1);
    truth_calls("command", count);
    truth_mid();
    truth_number("failed", failed);
    truth_close();
    return failed != 0;
}
