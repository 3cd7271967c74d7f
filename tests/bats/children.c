// SPDX-License-Identifier: GPL-2.0-only
/* children COUNT PROGRAM: starts PROGRAM 7 so often, one after another, and counts those that ended with 7. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[1]) : 0, good = 0;
    char seven[] = "7", *child[] = { argv[2], seven, NULL };

    for (long i = 0; i < n; i++) {
        pid_t pid;
        int status;

        if (posix_spawn(&pid, argv[2], NULL, NULL, child, environ) || waitpid(pid, &status, 0) != pid)
            return 1;
        good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    fprintf(stderr, "children %ld\n", good);
    return good != n;
}
