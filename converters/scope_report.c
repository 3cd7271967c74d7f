/* SPDX-License-Identifier: GPL-2.0-only */
/* scope-report: what a person does after a run. */
#include "converters/cli_commands.h"
#include "converters/recorder.h"
#include "usdt/streams.h"

#include <string.h>

/* What scope-bpf and the build call; nobody types it. */
static int hidden(int argc, char **argv)
{
    if (argc < 2)
        return -1;
    if (!strcmp(argv[1], "recorder"))
        return recorder_main(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--dump-man"))
        cli__man(stdout);
    else if (!strcmp(argv[1], "--dump-completion"))
        cli__completion(stdout);
    else
        return -1;
    return cli__finish(0, NULL);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct cli cli;
    int status;

    streams__hold();
    status = hidden(argc, argv);
    if (status >= 0)
        return status;
    if (cli__parse(&cli, argc - 1, argv + 1, &err)) {
        cli__fail(&err);
        status = CLI_USAGE;
    } else if (cli.help) {
        cli__help(argc > 1 && subcommand__find(argv[1]) ? cli.command : NULL, stdout);
        status = cli__finish(0, NULL);
    } else if (cli.version) {
        puts("scope-report " SCOPE_BPF_VERSION);
        status = cli__finish(0, NULL);
    } else {
        status = cli.command->run(&cli);
    }
    cli__deinit(&cli);
    return status;
}
