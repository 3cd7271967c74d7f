// SPDX-License-Identifier: GPL-2.0-only
#include "options.h"

#include <string.h>

#include "option_table.h"

#define WIDTH  80
#define COLUMN 28

/* "-F, --freq HZ" */
static int signature(const struct option_row *row, char *text, size_t size)
{
    char letter[8] = "    ";

    if (row->letter)
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    if (row->kind == OPTION_WHAT)
        return snprintf(text, size, "%s--%s[=%s]", letter, row->name, row->arg);
    return snprintf(text, size, "%s--%s%s%s", letter, row->name, row->arg ? " " : "",
                    row->arg ? row->arg : "");
}

/* Writes text word by word behind column `at`, going on at COLUMN. */
static void wrap(FILE *out, const char *text, int at)
{
    for (;;) {
        int len;

        text += strspn(text, " ");
        len = (int)strcspn(text, " ");
        if (!len)
            break;
        if (at + 1 + len > WIDTH) {
            fprintf(out, "\n%*s", COLUMN, "");
            at = COLUMN;
        }
        at += fprintf(out, " %.*s", len, text);
        text += len;
    }
    fputc('\n', out);
}

/*
 *   -F, --freq HZ             samples per second of CPU time of each thread (default
 *                             997)
 */
static void print_row(FILE *out, const struct option_row *row)
{
    char text[256], fallback[64];
    int at;

    signature(row, text, sizeof(text));
    at = fprintf(out, "  %-*s", COLUMN - 2, text);
    if (at > COLUMN)
        at = fprintf(out, "\n%*s", COLUMN, "") - 1;
    option_row__default_text(row, fallback, sizeof(fallback));
    snprintf(text, sizeof(text), *fallback ? "%s (default %s)" : "%s", row->help, fallback);
    wrap(out, text, at);
}

void options__help(FILE *out)
{
    fputs("scope-bpf: where does the time of a running program go, region by region\n\n"
          "Usage: scope-bpf [options] [--] COMMAND [ARG...]\n"
          "       scope-bpf [options] -p PID[,PID...]\n"
          "       scope-bpf --list [--] PROGRAM | --check | --calibrate\n",
          out);
    for (int group = 0; group < GROUP_KINDS; group++) {
        fprintf(out, "\n%s:\n", option_group_titles[group]);
        for (size_t i = 0; i < option_table_size; i++) {
            if ((int)option_table[i].group == group && !option_table[i].hidden)
                print_row(out, &option_table[i]);
        }
    }
    fputs("\nSCOPE_BPF_OPTIONS holds options that come before those of the command line.\n"
          "Exit status: that of the command; 128 + N after signal N; 125 when scope-bpf\n"
          "itself failed; 126 or 127 when the command cannot be run or found.\n",
          out);
}
