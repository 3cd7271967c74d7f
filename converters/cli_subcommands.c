/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of subcommands: main, --help, man page and completion are made from it. */
#include "converters/cli_commands.h"

#include <string.h>

const struct subcommand subcommands[] = {
    {
        .name = "summary",
        .arguments = "[FILE...]",
        .help = "the table of regions: calls and times (without a command: this)",
        .teach = "A row per region, indented below the region that called it most. total: time of the outermost calls of the "
                 "name, so that recursion counts once. own: without the calls inside. % run: total over the time that the "
                 "threads shown lived. % parent: the time below that parent over the parent's total. min to max, mean and "
                 "percentiles cover the plain calls, not those that were abandoned (left by longjmp, an exception, an early "
                 "return), truncated (cut by the end of a thread), inherited (open at a fork), overlapping or uncertain. "
                 "imbal.: the slowest rank over the mean of the ranks. % probe: what the probes themselves cost.\n"
                 "Several files, or a folder, are taken together as the ranks of one run.",
        .examples = "  scope-report                          # the newest profile of this folder\n"
                    "  scope-report run.h5 --sort own --top 10\n"
                    "  scope-report run.h5 --per-rank --region 'solve*' --json\n",
        .run = run_summary,
    },
    {
        .name = "lines",
        .arguments = "[INPUT...]",
        .help = "the hottest source lines of each region, from its samples",
        .teach = "Samples say where the processor was while a region was open. A share is the part of the region's samples "
                 "that fell on the line: samples are no seconds. Inlined functions are named. Without debug information "
                 "(-g) there are functions and no lines. INPUT: .sps files, a profile, a folder, or the prefix of a run.",
        .examples = "  scope-report lines run\n  scope-report lines run_rank00000.sps --top 5\n",
        .run = run_lines,
    },
    {
        .name = "convert",
        .arguments = "FILE... -o OUT",
        .help = "another format; several inputs are merged",
        .teach = "Reads captures and profiles of every format below, merges the ranks of all inputs and writes OUT, whose "
                 "suffix (or --to) names the format. A rank that two inputs have is an error. What the target cannot hold "
                 "is said. OUT is written under another name first and replaced only when it is complete.",
        .examples = "  scope-report convert run.scope -o run.h5          # a capture that a crash left\n"
                    "  scope-report convert run_rank*.spt -o run.h5      # ranks together\n"
                    "  scope-report convert run.h5 -o run.speedscope.json\n"
                    "  scope-report convert run.h5 -o run.prof --ranks 0 --root main\n",
        .run = run_convert,
    },
    {
        .name = "info",
        .arguments = "[FILE...]",
        .help = "what a file is: format, ranks, regions, calls, losses, metadata",
        .teach = "What each file is, found from its content; how many ranks, threads, regions and calls; what else it holds; "
                 "what was lost, and how the recording ended.",
        .examples = "  scope-report info run.h5\n",
        .run = run_info,
    },
    {
        .name = "validate",
        .arguments = "[FILE...]",
        .help = "checks every rule of the format and names the first break",
        .teach = "Bounds, lengths, order, nesting, clocks, ids and totals. The first break is named with its place, and the "
                 "exit status is 1.",
        .examples = "  scope-report validate run.h5 && echo sound\n",
        .run = run_validate,
    },
};
const size_t n_subcommands = sizeof(subcommands) / sizeof(*subcommands);

const struct subcommand *subcommand__find(const char *name)
{
    for (size_t i = 0; i < n_subcommands; i++) {
        if (!strcmp(subcommands[i].name, name))
            return &subcommands[i];
    }
    return NULL;
}
