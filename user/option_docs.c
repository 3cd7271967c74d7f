// SPDX-License-Identifier: GPL-2.0-only
#include "option_docs.h"

#include <string.h>

#include "option_table.h"

#ifndef SCOPE_BPF_VERSION
#define SCOPE_BPF_VERSION "0"
#endif

/* Plain text to roff: dashes stay ASCII (they are typed), a dot at a line's start is no request. */
static void roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
    }
}

static void man_row(FILE *out, const struct option_row *row)
{
    char fallback[64];

    fputs(".TP\n", out);
    if (row->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
    fputs("\\fB\\-\\-", out);
    roff(out, row->name);
    fputs("\\fR", out);
    if (row->arg) {
        fputs(row->kind == OPTION_WHAT ? "[=\\fI" : " \\fI", out);
        roff(out, row->arg);
        fputs(row->kind == OPTION_WHAT ? "\\fR]" : "\\fR", out);
    }
    fputc('\n', out);
    roff(out, row->help);
    option_row__default_text(row, fallback, sizeof(fallback));
    if (*fallback) {
        fputs(" (default ", out);
        roff(out, fallback);
        fputc(')', out);
    }
    fputs(".\n", out);
    if (row->man) {
        roff(out, row->man);
        fputc('\n', out);
    }
}

static const char man_head[] =
    ".SH NAME\n"
    "scope\\-bpf \\- record where the time of a running program goes, region by region\n"
    ".SH SYNOPSIS\n"
    ".B scope\\-bpf\n"
    "[\\fIoptions\\fR] [\\fB\\-\\-\\fR] \\fICOMMAND\\fR [\\fIARG\\fR...]\n"
    ".br\n"
    ".B scope\\-bpf\n"
    "[\\fIoptions\\fR] \\fB\\-p\\fR \\fIPID\\fR[,\\fIPID\\fR...]\n"
    ".br\n"
    ".B scope\\-bpf\n"
    "\\fB\\-\\-list\\fR [\\fB\\-\\-\\fR] \\fIPROGRAM\\fR | \\fB\\-\\-check\\fR | \\fB\\-\\-calibrate\\fR\n"
    ".SH DESCRIPTION\n"
    "A program marks its regions with\n"
    ".B SP_PROBE(name)\n"
    "from\n"
    ".BR scope_probe.h .\n"
    "Such a mark is a few nop instructions and costs nothing until somebody looks.\n"
    ".B scope\\-bpf\n"
    "looks: it attaches to the marks of a command or of running processes, records each call of each\n"
    "region with its thread, start and duration, samples which source lines are hot inside, follows\n"
    "children, and writes a profile that\n"
    ".BR scope\\-report (1)\n"
    "and the Python package scope\\-profiler read.\n"
    ".PP\n"
    "The command gets the terminal, and its exit status becomes that of scope\\-bpf. Recording needs root\n"
    "(sudo) or file capabilities (make install\\-caps); files belong to the user who called sudo.\n";

static const char man_tail[] =
    ".SH ENVIRONMENT\n"
    ".TP\n"
    ".B SCOPE_BPF_OPTIONS\n"
    "Options that come before those of the command line, split as a shell splits words; nothing in it is\n"
    "expanded. sudo drops it unless told \\-\\-preserve\\-env=SCOPE_BPF_OPTIONS.\n"
    ".TP\n"
    ".BR SUDO_UID ,\\  SUDO_GID\n"
    "Who called sudo: used only when the real user is root.\n"
    ".SH FILES\n"
    ".TP\n"
    "\\fIPREFIX\\fB.h5\\fR\n"
    "The profile, all ranks: HDF5.\n"
    ".TP\n"
    "\\fIPREFIX\\fB_rank\\fINNNNN\\fB.spt\\fR, \\fB.sps\\fR\n"
    "Trace and samples of one rank.\n"
    ".TP\n"
    "\\fIPREFIX\\fB.scope\\fR\n"
    "The capture: removed when the profile is complete, unless \\-\\-keep\\-capture is given. One that a "
    "crash\n"
    "left behind becomes a profile with\n"
    ".BR \"scope\\-report convert\" .\n"
    ".SH EXIT STATUS\n"
    "That of the command. 128 + N if signal N ended it; 0 at the end of \\-p; 3 if something was lost and\n"
    "\\-\\-fail\\-on\\-loss is given; 125 if scope\\-bpf itself failed; 126 if the command cannot be run and "
    "127\n"
    "if it is not found. \\-\\-check: 0 if recording can work, else 1. \\-\\-list: 1 if there is nothing to "
    "list.\n"
    ".SH OVERHEAD\n"
    "A region that nobody records costs two nops. Recorded, a call costs about a microsecond: a trap into "
    "the\n"
    "kernel at each end.\n"
    ".B scope\\-bpf \\-\\-calibrate\n"
    "measures it here; the profile's table shows the share of it in each region and warns where it matters.\n"
    "Mark regions that take at least twenty times as long. Samples cost about 1.5 % at 1000 Hz, only in\n"
    "processes that are recorded.\n"
    ".SH EXAMPLES\n"
    ".TP\n"
    ".B sudo scope\\-bpf \\-o run1 \\-\\- mpirun \\-n 4 ./heat\n"
    "All ranks in one profile, run1.h5.\n"
    ".TP\n"
    ".B sudo scope\\-bpf \\-p 4711 \\-\\-duration 10s\n"
    "Ten seconds of a process that runs already.\n"
    ".TP\n"
    ".B scope\\-bpf \\-\\-list \\-\\- ./heat\n"
    "What could be recorded.\n"
    ".SH SEE ALSO\n"
    ".BR scope\\-report (1),\n"
    ".BR sudo (8),\n"
    ".BR capabilities (7)\n";

void option_docs__man(FILE *out)
{
    fputs(".\\\" Made from the table of options: see user/option_table.c.\n", out);
    fprintf(out, ".TH SCOPE\\-BPF 1 \"\" \"scope\\-bpf %s\" \"User Commands\"\n%s.SH OPTIONS\n",
            SCOPE_BPF_VERSION, man_head);
    for (int group = 0; group < GROUP_KINDS; group++) {
        fprintf(out, ".SS %s\n", option_group_titles[group]);
        for (size_t i = 0; i < option_table_size; i++) {
            if ((int)option_table[i].group == group && !option_table[i].hidden)
                man_row(out, &option_table[i]);
        }
    }
    fputs(man_tail, out);
}

/* Words for `compgen -W` of a row's choices, with a prefix. */
static void choices(FILE *out, const struct option_row *row, const char *prefix)
{
    const char *name;
    size_t len;

    for (size_t i = 0; (name = option_row__choice(row, i, &len)); i++)
        fprintf(out, "%s%s%.*s", i ? " " : "", prefix, (int)len, name);
}

static void value_case(FILE *out, const struct option_row *row)
{
    if (!row->arg || row->kind == OPTION_WHAT || row->hidden)
        return;
    fputs("        ", out);
    if (row->letter)
        fprintf(out, "-%c|", row->letter);
    fprintf(out, "--%s) ", row->name);
    if (row->choices) {
        fputs("COMPREPLY=($(compgen -W '", out);
        choices(out, row, "");
        fputs("' -- \"$cur\"))", out);
    } else if (row->kind == OPTION_OUTPUT) {
        fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", out);
    } else if (row->kind == OPTION_PIDS) {
        fputs("COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep -- \"^$cur\"))", out);
    } else if (!strcmp(row->arg, "USER")) {
        fputs("COMPREPLY=($(compgen -u -- \"$cur\"))", out);
    } else {
        fputs("COMPREPLY=()", out);
    }
    fputs("; return ;;\n", out);
}

static void all_names(FILE *out)
{
    for (size_t i = 0; i < option_table_size; i++) {
        const struct option_row *row = &option_table[i];

        if (row->hidden)
            continue;
        if (row->letter)
            fprintf(out, "-%c ", row->letter);
        fprintf(out, "--%s ", row->name);
        if (row->kind == OPTION_WHAT) {
            char prefix[64];

            snprintf(prefix, sizeof(prefix), "--%s=", row->name);
            choices(out, row, prefix);
            fputc(' ', out);
        }
    }
}

/* The options that take the next word, as a pattern of `case`. */
static void takers(FILE *out)
{
    const char *bar = "";

    for (size_t i = 0; i < option_table_size; i++) {
        const struct option_row *row = &option_table[i];

        if (!row->arg || row->kind == OPTION_WHAT)
            continue;
        if (row->letter)
            fprintf(out, "%s-%c", bar, row->letter);
        fprintf(out, "%s--%s", row->letter ? "|" : bar, row->name);
        bar = "|";
    }
}

void option_docs__completion(FILE *out)
{
    fputs("# bash completion of scope-bpf, made from its table of options\n"
          "_scope_bpf() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
          "    # Behind the first word that is neither an option nor a value stands a command.\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "        ",
          out);
    takers(out);
    fputs(") ((i++)) ;;\n"
          "        --) ((i++)); break ;;\n"
          "        -*|=) ;;\n"
          "        *) [[ ${COMP_WORDS[i-1]} == = ]] || break ;;\n"
          "        esac\n"
          "    done\n"
          "    if ((i < COMP_CWORD)) || [[ $prev == -- ]]; then\n"
          "        if declare -F _command_offset >/dev/null; then _command_offset \"$i\"\n"
          "        elif ((i == COMP_CWORD)); then COMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
          "        else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
          "        return\n"
          "    fi\n"
          "    case $prev in\n",
          out);
    for (size_t i = 0; i < option_table_size; i++)
        value_case(out, &option_table[i]);
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '",
          out);
    all_names(out);
    fputs("' -- \"$cur\"))\n"
          "    else COMPREPLY=($(compgen -c -f -- \"$cur\")); fi\n"
          "}\n"
          "complete -o bashdefault -o default -F _scope_bpf scope-bpf\n",
          out);
}
