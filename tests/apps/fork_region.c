// SPDX-License-Identifier: GPL-2.0-only
/* fork() inside region "open", which the parent ends after its child. MODE [work] of the CHILDREN [10]:
 *   work    each runs region "child" CALLS [5] times and then ends "open" itself: 1 call of "open" in the parent, and an
 *           inherited one in each child, which is a rank of its own
 *   quiet   each exits at once: no calls, no rank
 *   kill    each runs "child" once, begins "deep" and is killed by SIGKILL: "open" and "deep" are truncated there
 * The regions printed are sums over all processes; "ranks" says how many processes have calls. */
#include "scope_probe.h"
#include "truth.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void child_work(long calls)
{
    for (long i = 0; i < calls; i++) {
        SP_PROBE(child);
        usleep(100);
    }
}

__attribute__((noinline)) static void child_killed(void)
{
    child_work(1);
    SP_BEGIN(deep);
    raise(SIGKILL);
    SP_END(deep);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "work";
    long children = truth_arg(argc, argv, 2, 10);
    long calls = truth_arg(argc, argv, 3, 5);
    int work = !strcmp(mode, "work"), killed = !strcmp(mode, "kill");
    struct truth open = {.calls = 1}, child = {0}, deep = {0};

    SP_BEGIN(open);
    for (long i = 0; i < children; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid == 0) {
            if (work)
                child_work(calls);
            if (killed)
                child_killed();
            if (work)
                SP_END(open);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        open.calls += work || killed;
        open.truncated += killed;
        child.calls += work ? calls : killed;
        deep.calls += killed;
        deep.truncated += killed;
    }
    SP_END(open);
    truth_open("fork_region");
    truth_region("open", open);
    if (child.calls)
        truth_region("child", child);
    if (deep.calls)
        truth_region("deep", deep);
    truth_mid();
    truth_number("ranks", work || killed ? 1 + children : 1);
    truth_close();
    return 0;
}
