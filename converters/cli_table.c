/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/cli_table.h"

#include <string.h>

#define AT(field) offsetof(struct cli, field)
#define TABLES    " summary lines calls tree threads ranks counters likwid event-data stats messages functions diff "

const struct cli_option cli_options[] = {
    {.name = "output", .letter = 'o', .kind = CLI_TEXT, .offset = AT(output), .arg = "FILE",
     .commands = " convert scaling ",
     .help = "the file to write; its suffix chooses the format; per-rank formats add _rank<N>"},
    {.name = "to", .kind = CLI_TEXT, .offset = AT(to), .arg = "FORMAT", .commands = " convert ",
     .help = "the format to write, whatever the suffix says"},
    {.name = "json", .kind = CLI_ON, .offset = AT(json), .commands = TABLES "info check scaling ",
     .help = "JSON instead of a table; times are integers in ns"},
    {.name = "csv", .kind = CLI_ON, .offset = AT(csv), .commands = TABLES "scaling ",
     .help = "CSV instead of a table, with all columns"},
    {.name = "sort", .kind = CLI_CHOICE, .offset = AT(view.sort), .arg = "COLUMN",
     .choices = "name|calls|total|own|mean|min|p50|p95|p99|max", .commands = " summary ",
     .help = "largest first, as a flat list (without it: by nesting)"},
    {.name = "top", .letter = 'n', .kind = CLI_NUMBER, .offset = AT(top), .arg = "N", .min = 0, .max = 1e15,
     .commands = TABLES, .help = "at most N rows (lines: per region); 0 is all"},
    {.name = "per-rank", .kind = CLI_ON, .offset = AT(view.per_rank), .commands = " summary lines ",
     .help = "a row per rank below each region"},
    {.name = "region", .kind = CLI_LIST, .offset = AT(region), .arg = "PATTERN", .commands = TABLES "check scaling ",
     .help = "only regions whose name matches (*, ?, [a-z]); several times"},
    {.name = "exclude", .kind = CLI_LIST, .offset = AT(exclude), .arg = "PATTERN", .commands = TABLES "check scaling ",
     .help = "not the regions whose name matches; several times"},
    {.name = "ranks", .kind = CLI_RANKS, .offset = AT(ranks), .arg = "LIST", .commands = TABLES "convert check ",
     .help = "only these ranks: 0,2,4-7"},
    {.name = "overlaps", .kind = CLI_CHOICE, .offset = AT(overlaps), .arg = "HOW", .choices = "error|split",
     .commands = " convert calls tree ",
     .help = "calls that cross on one thread have no stack: an error, or split onto extra tracks"},
    {.name = "by-name", .kind = CLI_ON, .offset = AT(by_name), .commands = " convert ",
     .help = "prof: one entry per region, not per call path"},
    {.name = "root", .kind = CLI_TEXT, .offset = AT(root), .arg = "NAME", .commands = " convert ",
     .help = "prof: a frame of this name above all top-level calls"},
    {.name = "renumber", .kind = CLI_ON, .offset = AT(renumber), .commands = " summary convert ",
     .help = "a rank that two inputs have gets a free number instead of an error"},
    {.name = "from", .kind = CLI_SECONDS, .offset = AT(from), .arg = "TIME", .min = 0, .max = 1e12, .commands = " calls ",
     .help = "only calls that end after this time since the start (1.5, 20ms)"},
    {.name = "until", .kind = CLI_SECONDS, .offset = AT(until), .arg = "TIME", .min = 0, .max = 1e12,
     .commands = " calls ", .help = "only calls that start before this time"},
    {.name = "thread", .kind = CLI_NUMBER, .offset = AT(lane), .arg = "N", .min = 0, .max = 1e15, .commands = " calls ",
     .help = "only calls of this thread (its number within the rank)"},
    {.name = "metric", .kind = CLI_CHOICE, .offset = AT(metric), .arg = "NUMBER",
     .choices = "total|own|mean|min|max|p50|p95|p99|calls", .commands = " diff check ",
     .help = "which number of a region is compared (total)"},
    {.name = "base", .kind = CLI_LIST, .offset = AT(base), .arg = "RUN", .commands = " diff check ",
     .help = "a run of the old program; several times: their spread is the noise"},
    {.name = "weak", .kind = CLI_ON, .offset = AT(weak), .commands = " scaling ",
     .help = "weak scaling: the work grows with the size, efficiency is T0 / T"},
    {.name = "max-slowdown", .kind = CLI_SHARE, .offset = AT(slowdown), .arg = "SHARE", .min = 0, .max = 1e6,
     .commands = " check ", .help = "a region may be so much slower before the check fails (5%)"},
    {.name = "width", .kind = CLI_NUMBER, .offset = AT(width), .arg = "PIXELS", .min = 100, .max = 100000,
     .commands = " convert ", .help = "svg: width of the picture (1200)"},
    {.name = "plot", .kind = CLI_CHOICE, .offset = AT(plot), .arg = "KIND",
     .choices = "flame-graph|flame-chart|gantt|durations|histogram|timeseries", .commands = " convert ",
     .help = "svg: which picture (flame-graph)"},
    {.name = "threshold", .kind = CLI_SHARE, .offset = AT(threshold), .arg = "SHARE", .min = 0, .max = 1,
     .commands = " convert ", .help = "svg: leave out frames below this share of the whole (0.001)"},
    {.name = "quiet", .letter = 'q', .kind = CLI_ON, .offset = AT(quiet), .commands = " convert validate ",
     .help = "say nothing but errors"},
    {.name = "help", .letter = 'h', .kind = CLI_ON, .offset = AT(help), .commands = " * ", .help = "this text"},
    {.name = "version", .kind = CLI_ON, .offset = AT(version), .commands = " * ", .help = "the version, and no more"},
};
const size_t n_cli_options = sizeof(cli_options) / sizeof(*cli_options);

bool cli_option__belongs(const struct cli_option *option, const struct subcommand *command)
{
    char word[64];

    if (strstr(option->commands, " * "))
        return true;
    snprintf(word, sizeof(word), " %s ", command->name);
    return strstr(option->commands, word) != NULL;
}
