/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/cli_table.h"

#include "converters/format.h"

#include <string.h>

#define WIDTH  80
#define COLUMN 28

/* Writes text word by word behind column `at`, going on at column `indent`. */
static void wrap(FILE *out, const char *text, int at, int indent)
{
    for (;;) {
        int len;

        text += strspn(text, " ");
        len = (int)strcspn(text, " \n");
        if (!len && *text != '\n')
            break;
        if (*text == '\n' || at + 1 + len > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            if (*text == '\n') {
                text++;
                continue;
            }
        }
        at += fprintf(out, "%s%.*s", at > indent ? " " : "", len, text);
        text += len;
    }
    putc('\n', out);
}

static void print_option(FILE *out, const struct cli_option *o)
{
    char left[64];
    int at;

    if (o->letter)
        snprintf(left, sizeof(left), "-%c, --%s%s%s", o->letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    else
        snprintf(left, sizeof(left), "    --%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    at = fprintf(out, "  %-*s", COLUMN - 2, left);
    if (at > COLUMN)
        fprintf(out, "\n%*s", COLUMN, "");
    wrap(out, o->help, COLUMN, COLUMN);
    if (o->choices) {
        fprintf(out, "%*s", COLUMN, "");
        wrap(out, o->choices, COLUMN, COLUMN);
    }
}

static void print_formats(FILE *out)
{
    fputs("\nFormats\n", out);
    for (size_t i = 0; formats[i]; i++) {
        char left[64], help[256];

        snprintf(left, sizeof(left), "%s (%s)", formats[i]->name, formats[i]->suffix);
        fprintf(out, "  %-*s", COLUMN - 2, left);
        if (strlen(left) > COLUMN - 3)
            fprintf(out, "\n%*s", COLUMN, "");
        snprintf(help, sizeof(help), "%s%s", formats[i]->help,
                 formats[i]->write ? formats[i]->read ? "" : " (written only)" : " (read only)");
        wrap(out, help, COLUMN, COLUMN);
    }
}

static void help_of(const struct subcommand *c, FILE *out)
{
    fprintf(out, "Usage: scope-report %s [options] %s\n\n", c->name, c->arguments);
    wrap(out, c->teach, 0, 0);
    fputs("\nOptions\n", out);
    for (size_t i = 0; i < n_cli_options; i++) {
        if (cli_option__belongs(&cli_options[i], c))
            print_option(out, &cli_options[i]);
    }
    if (!strcmp(c->name, "convert"))
        print_formats(out);
    fprintf(out, "\nExamples\n%s", c->examples);
}

void cli__help(const struct subcommand *command, FILE *out)
{
    if (command) {
        help_of(command, out);
        return;
    }
    fputs("Usage: scope-report [COMMAND] [options] [FILE...]\n\n"
          "Shows and converts what scope-bpf recorded: where the time of a program went, region by\n"
          "region.  Without a command: the summary; without a file: the newest profile of this folder.\n\n"
          "Commands\n", out);
    for (size_t i = 0; i < n_subcommands; i++) {
        if (!subcommands[i].hidden)
            fprintf(out, "  %-12s %s\n", subcommands[i].name, subcommands[i].help);
    }
    fputs("\nEach explains itself: scope-report COMMAND --help.\n"
          "Exit status: 0 done, 1 failed (or: not valid, check not passed), 2 wrong use.\n"
          "NO_COLOR=1 switches colours off, TMPDIR says where large temporary files go.\n", out);
}

/* ---- man page, completion -------------------------------------------------------------------------------------- */
/* A text for troff: no line may begin with a dot, dashes stay dashes. */
static void man_words(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '-' || *c == '\\')
            fprintf(out, *c == '-' ? "\\-" : "\\e");
        else if (*c == '\n')
            fputs("\n.br\n", out);
        else if (*c == '.' && (c == text || c[-1] == '\n'))
            fputs("\\&.", out);
        else
            putc(*c, out);
    }
}

static void man_text(FILE *out, const char *text)
{
    man_words(out, text);
    putc('\n', out);
}

/* The tag of a paragraph must be one line. */
static void man_option(FILE *out, const struct cli_option *o)
{
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    man_words(out, o->name);
    fputs("\\fR", out);
    if (o->arg) {
        fputs(" \\fI", out);
        man_words(out, o->arg);
        fputs("\\fR", out);
    }
    putc('\n', out);
    man_text(out, o->help);
}

static void man_command(FILE *out, const struct subcommand *c)
{
    fprintf(out, ".SS \"%s\"\n.B scope\\-report ", c->name);
    man_text(out, c->name);
    fputs("[options] ", out);
    man_text(out, c->arguments);
    fputs(".PP\n", out);
    man_text(out, c->teach);
    for (size_t i = 0; i < n_cli_options; i++) {
        const struct cli_option *o = &cli_options[i];

        if (strstr(o->commands, " * ") || !cli_option__belongs(o, c))
            continue;
        man_option(out, o);
    }
    fputs(".PP\n.nf\n", out);
    man_text(out, c->examples);
    fputs(".fi\n", out);
}

void cli__man(FILE *out)
{
    fprintf(out, ".TH SCOPE\\-REPORT 1 \"\" \"scope\\-bpf %s\" \"User Commands\"\n", SCOPE_BPF_VERSION);
    fputs(".SH NAME\nscope\\-report \\- show and convert profiles of regions of a program\n"
          ".SH SYNOPSIS\n.B scope\\-report\n[\\fICOMMAND\\fR] [\\fIoptions\\fR] [\\fIFILE\\fR...]\n"
          ".SH DESCRIPTION\nShows and converts what\n.BR scope\\-bpf (1)\nrecorded: where the time of a program went, region "
          "by region.\nWithout a command: the summary; without a file: the newest profile of the folder.\n"
          "What a file is, is found from its content.\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < n_subcommands; i++) {
        if (!subcommands[i].hidden)
            man_command(out, &subcommands[i]);
    }
    fputs(".SH FORMATS\n", out);
    for (size_t i = 0; formats[i]; i++) {
        fprintf(out, ".TP\n.B %s (%s)\n", formats[i]->name, formats[i]->suffix);
        man_text(out, formats[i]->help);
    }
    fputs(".SH EXIT STATUS\n0 done, 1 failed (or: not valid, check not passed), 2 wrong use.\n"
          ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours on a terminal\n.TP\n.B TMPDIR\nwhere large temporary files go\n"
          ".SH SEE ALSO\n.BR scope\\-bpf (1)\n", out);
}

static void completion_case(FILE *out, const struct subcommand *c)
{
    fprintf(out, "    %s) opts='", c->name);
    for (size_t i = 0; i < n_cli_options; i++) {
        if (cli_option__belongs(&cli_options[i], c))
            fprintf(out, "--%s ", cli_options[i].name);
    }
    fputs("' ;;\n", out);
}

static void completion_choices(FILE *out)
{
    for (size_t i = 0; i < n_cli_options; i++) {
        if (!cli_options[i].choices)
            continue;
        fprintf(out, "    --%s) COMPREPLY=($(compgen -W '", cli_options[i].name);
        for (const char *c = cli_options[i].choices; *c; c++)
            putc(*c == '|' ? ' ' : *c, out);
        fputs("' -- \"$cur\")); return ;;\n", out);
    }
    fputs("    --to) COMPREPLY=($(compgen -W '", out);
    for (size_t i = 0; formats[i]; i++)
        fprintf(out, "%s ", formats[i]->write ? formats[i]->name : "");
    fputs("' -- \"$cur\")); return ;;\n", out);
}

void cli__completion(FILE *out)
{
    fputs("# bash completion of scope-report\n_scope_report()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} opts=\n"
          "    case $prev in\n", out);
    completion_choices(out);
    fputs("    esac\n    case ${COMP_WORDS[1]} in\n", out);
    for (size_t i = 0; i < n_subcommands; i++) {
        if (!subcommands[i].hidden)
            completion_case(out, &subcommands[i]);
    }
    fputs("    *) opts='--help --version' ;;\n    esac\n"
          "    if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\"))\n"
          "    elif [[ $COMP_CWORD -eq 1 ]]; then\n        COMPREPLY=($(compgen -f -W '", out);
    for (size_t i = 0; i < n_subcommands; i++)
        fprintf(out, "%s%s", subcommands[i].hidden ? "" : subcommands[i].name, subcommands[i].hidden ? "" : " ");
    fputs("' -- \"$cur\"))\n    else\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
          "complete -o filenames -F _scope_report scope-report\n", out);
}
