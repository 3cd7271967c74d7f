/* SPDX-License-Identifier: GPL-2.0-only */
/* Subcommands that load a profile and print one table of it. */
#include "converters/cli_commands.h"

#include "converters/views/tables.h"

#define CALLS_ON_A_SCREEN 100

static int run_view(struct cli *cli, view_function *print, enum inputs_kind kind, uint64_t most)
{
    struct profile *p = NULL;
    struct err err = {0};
    int status = cli__load(cli, kind, &p), rc;

    if (status)
        return status;
    if (cli->top < 0 && cli->view.shape == VIEW_TEXT)
        cli->view.top = most;
    rc = print(p, &cli->view, stdout, &err);
    profile__destroy(p);
    return cli__finish(rc, &err);
}

int run_tree(struct cli *cli)
{
    return run_view(cli, tree__print, INPUTS_PROFILES, 0);
}

int run_calls(struct cli *cli)
{
    return run_view(cli, calls__print, INPUTS_PROFILES, CALLS_ON_A_SCREEN);
}

int run_threads(struct cli *cli)
{
    return run_view(cli, threads__print, INPUTS_PROFILES, 0);
}

int run_ranks(struct cli *cli)
{
    return run_view(cli, ranks__print, INPUTS_PROFILES, 0);
}

int run_counters(struct cli *cli)
{
    return run_view(cli, counters__print, INPUTS_PROFILES, 0);
}

int run_likwid(struct cli *cli)
{
    return run_view(cli, likwid__print, INPUTS_PROFILES, 0);
}

int run_event_data(struct cli *cli)
{
    return run_view(cli, event_data__print, INPUTS_PROFILES, CALLS_ON_A_SCREEN);
}

int run_messages(struct cli *cli)
{
    return run_view(cli, messages__print, INPUTS_PROFILES, 0);
}

int run_stats(struct cli *cli)
{
    return run_view(cli, stats__print, INPUTS_PROFILES, 0);
}

int run_functions(struct cli *cli)
{
    return run_view(cli, functions__print, INPUTS_SAMPLES, 10);
}
