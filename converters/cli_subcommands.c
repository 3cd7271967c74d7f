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
    {
        .name = "tree",
        .arguments = "[FILE...]",
        .help = "call paths: how often and how long, by who called whom",
        .teach = "A row per call path, below its parent, longest first; all ranks and threads together. total: all calls of "
                 "the path. own: without the calls inside. % of top: over all calls that nobody called.",
        .examples = "  scope-report tree run.h5\n  scope-report tree run.h5 --ranks 0 --json\n",
        .run = run_tree,
    },
    {
        .name = "calls",
        .arguments = "[FILE...]",
        .help = "each call: rank, thread, region, start, duration, parent",
        .teach = "A row per call, per thread in the order of their ends. call is its number within the rank in order of start, "
                 "parent that of the call around it; start counts from the start of the recording. As text the first 100; "
                 "--json and --csv give all, as they come.",
        .examples = "  scope-report calls run.h5 --region solve --from 1.5 --until 2s\n"
                    "  scope-report calls run.h5 --csv > calls.csv\n",
        .run = run_calls,
    },
    {
        .name = "threads",
        .arguments = "[FILE...]",
        .help = "threads: lifetime, CPU time, calls, time in regions",
        .teach = "A row per thread. % CPU is its CPU time over its lifetime; in regions is the time of its top-level calls.",
        .examples = "  scope-report threads run.h5\n",
        .run = run_threads,
    },
    {
        .name = "ranks",
        .arguments = "[FILE...]",
        .help = "imbalance: each region over the ranks",
        .teach = "A row per region: its time on the ranks that have it (mean, fastest, slowest), max/mean, the standard "
                 "deviation, and max-mean: what a perfect balance could save. The most costly first.",
        .examples = "  scope-report ranks run.h5 --top 10\n",
        .run = run_ranks,
    },
    {
        .name = "functions",
        .arguments = "[INPUT...]",
        .help = "the hottest functions of each region, from its samples",
        .teach = "As lines, added up by function (inlined ones by themselves).",
        .examples = "  scope-report functions run --top 5\n",
        .run = run_functions,
    },
    {
        .name = "counters",
        .arguments = "[FILE...]",
        .help = "performance counters of each region",
        .teach = "A row per rank, region and event: the total, and per call.",
        .examples = "  scope-report counters run.h5 --csv\n",
        .run = run_counters,
    },
    {
        .name = "likwid",
        .arguments = "[FILE...]",
        .help = "LIKWID results: events and metrics by region and thread",
        .teach = "A row per rank, region, thread and event or metric, from profiles and from marker files.",
        .examples = "  scope-report likwid run.h5\n",
        .run = run_likwid,
    },
    {
        .name = "event-data",
        .arguments = "[FILE...]",
        .help = "what a program attached to its calls",
        .teach = "A row per call that carries data; call is its number within its region and rank.",
        .examples = "  scope-report event-data run.h5 --json\n",
        .run = run_event_data,
    },
    {
        .name = "messages",
        .arguments = "[FILE...]",
        .help = "MPI regions decoded: operation, peer, bytes, time",
        .teach = "Regions named mpi:<operation> kind=... bytes=... peer=... are taken apart: a row per rank, operation, peer and "
                 "communicator.",
        .examples = "  scope-report messages run.h5 --ranks 0\n",
        .run = run_messages,
    },
    {
        .name = "stats",
        .arguments = "[FILE...]",
        .help = "statistics per region and rank; --json as scope-profiler writes them",
        .teach = "count, total, mean, min, max, standard deviation and percentiles per region and rank, over all calls. --json is "
                 "the document scope-profiler-plot-data / region_statistics, times in seconds.",
        .examples = "  scope-report stats run.h5 --json\n",
        .run = run_stats,
    },
    {
        .name = "diff",
        .arguments = "A B... | --base A... B...",
        .help = "two programs, region by region",
        .teach = "What changed from A to B, largest change first. With several runs of either, means are compared, and the noise "
                 "is the standard error of their difference: a change within twice that is marked. Each word is a run: a file, "
                 "a folder of rank files, or a prefix.",
        .examples = "  scope-report diff before.h5 after.h5\n"
                    "  scope-report diff --base a1.h5 --base a2.h5 b1.h5 b2.h5 --metric p95\n",
        .run = run_diff,
    },
    {
        .name = "check",
        .arguments = "A B... | --base A... B...",
        .help = "fails (status 1) when a region became slower",
        .teach = "As diff, but only shows the regions that became slower by more than --max-slowdown (and more than the noise, "
                 "where several runs tell it); then the exit status is 1.",
        .examples = "  scope-report check before.h5 after.h5 --max-slowdown 5% --region 'solve*'\n",
        .run = run_check,
    },
    {
        .name = "scaling",
        .arguments = "R1 R2 R4...",
        .help = "speed-up and efficiency over runs of different size",
        .teach = "A row per region and run. The size of a run is its ranks times its threads (omp_num_threads); the time of a "
                 "region is that of its slowest rank. -o writes a plot of the speed-up (SVG).",
        .examples = "  scope-report scaling n1.h5 n2.h5 n4.h5 -o speedup.svg\n",
        .run = run_scaling,
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
