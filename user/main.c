// SPDX-License-Identifier: GPL-2.0-only
/* scope-bpf: parse, then do the one thing that was asked for. */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"
#include "check.h"
#include "list.h"
#include "msg.h"
#include "option_docs.h"
#include "options.h"
#include "session.h"
#include "streams.h"

#define STATUS_OURS 125

static int print(void (*text)(FILE *))
{
    text(stdout);
    return fflush(stdout) || ferror(stdout) ? STATUS_OURS : 0;
}

static void version(FILE *out)
{
    fprintf(out, "scope-bpf %s\n", SCOPE_BPF_VERSION);
}

static int run(const struct options *options)
{
    switch (options->action) {
    case ACTION_RECORD: return session__run(options);
    case ACTION_CALIBRATE: return calibrate__run(options);
    case ACTION_LIST: return list__run(options);
    case ACTION_CHECK: return check__run(options);
    case ACTION_HELP: return print(options__help);
    case ACTION_VERSION: return print(version);
    case ACTION_DUMP_MAN: return print(option_docs__man);
    case ACTION_DUMP_COMPLETION: return print(option_docs__completion);
    }
    return STATUS_OURS;
}

int main(int argc, char **argv)
{
    struct options options;
    struct err err = {""};

    streams__hold();
    if (options__parse(argc, argv, getenv("SCOPE_BPF_OPTIONS"), &options, &err)) {
        msg__error("%s", err.text);
        return STATUS_OURS;
    }
    msg__init(options.quiet, options.verbose);
    return run(&options);
}
