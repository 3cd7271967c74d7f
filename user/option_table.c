// SPDX-License-Identifier: GPL-2.0-only
#include "option_table.h"

#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct options, field)
#define KIB       1024.0
#define GIB       (1024.0 * 1024.0 * 1024.0)
#define LONG_TEXT 60000 /* what an HDF5 attribute may hold for the reference reader */
#define YEAR      (366.0 * 24 * 3600)

const struct options default_options = {
    .action = ACTION_RECORD,
    .output = "scope",
    .freq = 997,
    .samples = true,
    .format_h5 = true,
    .format_sps = true,
    .buffer = 64u << 20,
    .uprobes = UPROBE_AUTO,
};

const char *const option_group_titles[GROUP_KINDS] = {
    [GROUP_RECORD] = "What is recorded",
    [GROUP_CHOOSE] = "Which regions",
    [GROUP_OUTPUT] = "What is written",
    [GROUP_OTHER] = "Instead of recording, and the rest",
};

const struct option_row option_table[] = {
    {
        .name = "pid",
        .letter = 'p',
        .kind = OPTION_PIDS,
        .group = GROUP_RECORD,
        .offset = AT(pids),
        .arg = "PID[,PID...]",
        .only_typed = true,
        .help = "record processes that run already, with all their threads",
        .man = "May be given several times. Recording ends when the last of them ends, after --duration, or "
               "with Ctrl-C; the processes go on. Calls that were open when recording started are counted "
               "apart.",
    },
    {
        .name = "all",
        .letter = 'a',
        .kind = OPTION_ON,
        .group = GROUP_RECORD,
        .offset = AT(all),
        .only_typed = true,
        .help = "record every process of the machine, present and future",
        .man = "Regions of every process that has probes, samples of every process. Nothing is ever stopped: "
               "where a file was mapped before it could be attached, the gap is said. Recording ends with "
               "--duration, with Ctrl-C, or with the command if there is one (scope-bpf -a -- sleep 10).",
    },
    {
        .name = "follow",
        .kind = OPTION_CHOICE,
        .group = GROUP_RECORD,
        .offset = AT(follow_choice),
        .arg = "WHEN",
        .choices = "auto|yes|no",
        .help = "record the children of what is recorded: auto, yes, no",
        .man = "auto: the children of a command yes, those of a process given by --pid no.",
    },
    {
        .name = "filter-user",
        .kind = OPTION_TEXT,
        .group = GROUP_RECORD,
        .offset = AT(filter_user),
        .arg = "NAME",
        .max = 256,
        .help = "with -a: only processes of this user (name or number)",
    },
    {
        .name = "filter-comm",
        .kind = OPTION_LIST,
        .group = GROUP_RECORD,
        .offset = AT(filter_comm),
        .arg = "PATTERN",
        .help = "with -a: only processes whose name matches (several times: any of them)",
        .man = "The name is that of /proc/PID/comm when the program was executed: at most 15 bytes.",
    },
    {
        .name = "filter-cgroup",
        .kind = OPTION_TEXT,
        .group = GROUP_RECORD,
        .offset = AT(filter_cgroup),
        .arg = "PATH",
        .max = 4096,
        .help = "with -a: only processes in this cgroup (version 2) or below it",
        .man = "PATH is a folder of the cgroup2 file system, such as /sys/fs/cgroup/user.slice.",
    },
    {
        .name = "freq",
        .letter = 'F',
        .kind = OPTION_INT,
        .group = GROUP_RECORD,
        .offset = AT(freq),
        .arg = "HZ",
        .min = 1,
        .max = 100000,
        .help = "samples per second of CPU time of each thread",
        .man = "Samples say which source lines of a region are hot (scope-report lines). The default is no "
               "round number, so that it does not march in step with the program.",
    },
    {
        .name = "no-samples",
        .kind = OPTION_OFF,
        .group = GROUP_RECORD,
        .offset = AT(samples),
        .help = "record calls of regions only",
        .man = "Saves about 1.5 % of run time at 997 Hz. No .sps files are written.",
    },
    {
        .name = "duration",
        .kind = OPTION_SECONDS,
        .group = GROUP_RECORD,
        .offset = AT(duration),
        .arg = "SECONDS",
        .min = 0,
        .max = YEAR,
        .help = "record for this long (10, 1.5, 500ms, 2m, 1h)",
        .man = "The profile is written when the time is over. A command goes on and is waited for.",
    },
    {
        .name = "buffer",
        .kind = OPTION_SIZE,
        .group = GROUP_RECORD,
        .offset = AT(buffer),
        .arg = "SIZE",
        .min = 4 * KIB,
        .max = 64 * GIB,
        .help = "memory between kernel and scope-bpf, all CPUs together",
        .man = "Larger buffers lose fewer calls when regions are very short and the machine is busy. What is "
               "lost is counted and shown.",
    },
    {
        .name = "run-as",
        .kind = OPTION_TEXT,
        .group = GROUP_RECORD,
        .offset = AT(run_as),
        .arg = "USER",
        .max = 256,
        .help = "user that the command runs as and that owns the files",
        .man = "Without it, under sudo(8), the user who called sudo; else the caller. Only root may ask for "
               "another user.",
    },
    {
        .name = "uprobes",
        .kind = OPTION_CHOICE,
        .group = GROUP_RECORD,
        .offset = AT(uprobes),
        .arg = "HOW",
        .choices = "auto|multi|perf",
        .help = "how sites are attached: auto, multi (Linux 6.6 and later), perf",
        .man = "auto takes one link per file where the kernel has it. perf attaches each site for itself; "
               "detaching then takes 0.1 s for each, in the background.",
    },
    {
        .name = "region",
        .kind = OPTION_LIST,
        .group = GROUP_CHOOSE,
        .offset = AT(region),
        .arg = "PATTERN",
        .help = "only regions whose name matches (several times: any of them)",
        .man = "Patterns are those of a shell: * ? [a-z] [!a-z] and \\\\ before a character that shall stand "
               "for itself. The whole name must match. Names known only at run time are compared too.",
    },
    {
        .name = "exclude",
        .kind = OPTION_LIST,
        .group = GROUP_CHOOSE,
        .offset = AT(exclude),
        .arg = "PATTERN",
        .help = "no regions whose name matches (several times; stronger than --region)",
    },
    {
        .name = "usdt",
        .kind = OPTION_LIST,
        .group = GROUP_CHOOSE,
        .offset = AT(usdt),
        .arg = "RULE",
        .help = "probes of another provider as a region: PROVIDER:BEGIN,END[=NAME] (several times)",
        .man = "BEGIN and END are names of probes that the program has (SystemTap notes; --list counts them). Each may "
               "hold one *, which stands for the same text in both: postgresql:*__start,*__done. Without NAME the "
               "region is called as that text, or as what BEGIN and END have in common. =@N takes the name from "
               "the program: the text that argument N of the probe points at. In the profile regions are called "
               "PROVIDER:NAME, which is also what --region and --exclude compare. Semaphores are raised by the "
               "kernel while scope-bpf runs.",
    },
    {
        .name = "preset",
        .kind = OPTION_LIST,
        .group = GROUP_CHOOSE,
        .offset = AT(preset),
        .arg = "NAME|FILE",
        .help = "a set of such rules: postgresql, cpython, ... or a file (several times)",
        .man = "--list=presets shows what is there. A file (its name ends in .pairs or has a slash) holds one rule per "
               "line; a # at the start of a line makes it a comment, and the first line may be `title: TEXT'. A rule of "
               "--usdt is stronger than one of a preset.",
    },
    {
        .name = "output",
        .letter = 'o',
        .kind = OPTION_OUTPUT,
        .group = GROUP_OUTPUT,
        .offset = AT(output),
        .arg = "PREFIX",
        .max = 4000,
        .help = "how the names of the files begin",
        .man = "scope gives scope.h5, scope_rank00000.sps and so on. Files of an earlier run with the same "
               "prefix are replaced when the new ones are complete.",
    },
    {
        .name = "format",
        .kind = OPTION_FORMATS,
        .group = GROUP_OUTPUT,
        .offset = AT(format_h5),
        .arg = "LIST",
        .choices = "h5|spt|sps",
        .help = "what to write: h5 (profile), spt (trace), sps (samples)",
        .man = "h5 is one HDF5 profile with all ranks; spt and sps are one file per rank. scope-report(1) "
               "converts between these and other formats later.",
    },
    {
        .name = "label",
        .kind = OPTION_TEXT,
        .group = GROUP_OUTPUT,
        .offset = AT(label),
        .arg = "TEXT",
        .max = LONG_TEXT,
        .help = "a text that goes into the profile, to tell runs apart",
    },
    {
        .name = "metadata",
        .kind = OPTION_CHOICE_BOOL,
        .group = GROUP_OUTPUT,
        .offset = AT(metadata_full),
        .arg = "DETAIL",
        .choices = "minimal|full",
        .help = "minimal, or full: also host, user, folder, modules, PATH, SLURM",
        .man = "The minimal set names no person, host, folder or job.",
    },
    {
        .name = "keep-capture",
        .kind = OPTION_ON,
        .group = GROUP_OUTPUT,
        .offset = AT(keep_capture),
        .help = "keep PREFIX.scope, the raw recording",
        .man = "scope-report convert makes any format from it. It is always kept when writing a profile "
               "failed.",
    },
    {
        .name = "fail-on-loss",
        .kind = OPTION_ON,
        .group = GROUP_OUTPUT,
        .offset = AT(fail_on_loss),
        .help = "exit with status 3 if anything was lost",
    },
    {
        .name = "quiet",
        .letter = 'q',
        .kind = OPTION_ON,
        .group = GROUP_OUTPUT,
        .offset = AT(quiet),
        .help = "print errors only",
    },
    {
        .name = "verbose",
        .letter = 'v',
        .kind = OPTION_COUNT,
        .group = GROUP_OUTPUT,
        .offset = AT(verbose),
        .help = "say more: -v what is attached, -vv also what libbpf says",
    },
    {
        .name = "list",
        .letter = 'l',
        .kind = OPTION_WHAT,
        .group = GROUP_OTHER,
        .offset = AT(list_what),
        .arg = "WHAT",
        .choices = "regions|events|likwid|presets",
        .only_typed = true,
        .help = "list the regions of a program and its libraries, or of processes (-p)",
        .man = "Nothing is started, and no privilege is needed where the files can be read. Other things to "
               "list: events (hardware counters), likwid (its groups), presets (probes of other programs). "
               "The exit status is 1 when there is nothing to list.",
    },
    {
        .name = "json",
        .kind = OPTION_ON,
        .group = GROUP_OTHER,
        .offset = AT(json),
        .only_typed = true,
        .help = "JSON instead of text, for --list, --check and --calibrate",
    },
    {
        .name = "csv",
        .kind = OPTION_ON,
        .group = GROUP_OTHER,
        .offset = AT(csv),
        .only_typed = true,
        .help = "comma-separated values instead of text, for --list",
    },
    {
        .name = "calibrate",
        .kind = OPTION_ACTION,
        .group = GROUP_OTHER,
        .offset = AT(action),
        .value = ACTION_CALIBRATE,
        .only_typed = true,
        .help = "measure what one call of a region costs on this machine",
    },
    {
        .name = "check",
        .kind = OPTION_ACTION,
        .group = GROUP_OTHER,
        .offset = AT(action),
        .value = ACTION_CHECK,
        .only_typed = true,
        .help = "try each facility that recording needs, and say what to do",
        .man = "The exit status is 0 if recording can work and 1 if it cannot.",
    },
    {
        .name = "help",
        .letter = 'h',
        .kind = OPTION_ACTION,
        .group = GROUP_OTHER,
        .offset = AT(action),
        .value = ACTION_HELP,
        .only_typed = true,
        .help = "this text",
    },
    {
        .name = "version",
        .kind = OPTION_ACTION,
        .group = GROUP_OTHER,
        .offset = AT(action),
        .value = ACTION_VERSION,
        .only_typed = true,
        .help = "the version",
    },
    {
        .name = "dump-man",
        .kind = OPTION_ACTION,
        .group = GROUP_OTHER,
        .offset = AT(action),
        .value = ACTION_DUMP_MAN,
        .only_typed = true,
        .hidden = true,
        .help = "the man page, made from the table of options",
    },
    {
        .name = "dump-completion",
        .kind = OPTION_ACTION,
        .group = GROUP_OTHER,
        .offset = AT(action),
        .value = ACTION_DUMP_COMPLETION,
        .only_typed = true,
        .hidden = true,
        .help = "the completion for bash, made from the table of options",
    },
};

const size_t option_table_size = sizeof(option_table) / sizeof(option_table[0]);

const struct option_row *option_table__find(const char *name, size_t len)
{
    for (size_t i = 0; i < option_table_size; i++) {
        if (strlen(option_table[i].name) == len && !memcmp(option_table[i].name, name, len))
            return &option_table[i];
    }
    return NULL;
}

const struct option_row *option_table__find_letter(char letter)
{
    for (size_t i = 0; letter && i < option_table_size; i++) {
        if (option_table[i].letter == letter)
            return &option_table[i];
    }
    return NULL;
}

#define LONGEST_NAME 24

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* How many letters must be added, dropped or changed; len is at most LONGEST_NAME. */
static size_t edit_distance(const char *typed, size_t len, const char *name)
{
    size_t row[LONGEST_NAME + 1], n = strlen(name);

    if (n > LONGEST_NAME)
        return LONGEST_NAME;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];

            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (typed[i - 1] != name[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const struct option_row *option_table__nearest(const char *name, size_t len)
{
    const struct option_row *best = NULL;
    size_t best_distance = len / 3 + 1;

    if (!len || len > LONGEST_NAME)
        return NULL;
    for (size_t i = 0; i < option_table_size; i++) {
        const struct option_row *row = &option_table[i];
        size_t distance = edit_distance(name, len, row->name);

        if (len >= 3 && !strncmp(name, row->name, len)) /* the beginning of a name */
            distance = 1;
        if (!row->hidden && distance <= best_distance && (!best || distance < best_distance)) {
            best = row;
            best_distance = distance;
        }
    }
    return best;
}

const char *option_row__choice(const struct option_row *row, size_t i, size_t *ret_len)
{
    const char *at = row->choices;

    for (; at && i; i--) {
        at = strchr(at, '|');
        at = at ? at + 1 : NULL;
    }
    if (at)
        *ret_len = strcspn(at, "|");
    return at;
}

static const void *field(const struct option_row *row)
{
    return (const char *)&default_options + row->offset;
}

void option_row__default_text(const struct option_row *row, char *text, size_t size)
{
    size_t len = 0;
    const char *choice;

    text[0] = 0;
    switch (row->kind) {
    case OPTION_INT: snprintf(text, size, "%d", *(const int *)field(row)); break;
    case OPTION_SIZE: snprintf(text, size, "%zuM", *(const size_t *)field(row) >> 20); break;
    case OPTION_OUTPUT: snprintf(text, size, "%s", *(const char *const *)field(row)); break;
    case OPTION_FORMATS: snprintf(text, size, "h5,sps"); break;
    case OPTION_CHOICE:
    case OPTION_CHOICE_BOOL:
        choice = option_row__choice(row, 0, &len);
        snprintf(text, size, "%.*s", (int)len, choice);
        break;
    default: break;
    }
}
