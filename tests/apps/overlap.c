// SPDX-License-Identifier: GPL-2.0-only
/* COUNT [100] times BEGIN a, BEGIN b, END a, END b: both kept; b overlaps. */
#include "scope_probe.h"
#include "truth.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    long count = truth_arg(argc, argv, 1, 100);
    long a = 0, b = 0;

    for (long i = 0; i < count; i++) {
        SP_BEGIN(a);
        a++;
        usleep(20);
        SP_BEGIN(b);
        b++;
        usleep(20);
        SP_END(a);
        usleep(20);
        SP_END(b);
    }
    truth_open("overlap");
    truth_calls("a", a);
    truth_region("b", (struct truth){.calls = b, .overlapping = b});
    truth_end();
    return 0;
}
