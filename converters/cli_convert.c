/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/cli_commands.h"

#include "converters/format.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct converting {
    struct cli *cli;
    bool terminal;
    struct timespec shown; /* when the progress line was written last */
};

static void say(void *arg, const char *what)
{
    struct converting *c = arg;

    if (!c->cli->quiet)
        fprintf(stderr, "%snote: %s\n", c->terminal ? "\r\033[K" : "", what);
}

static void progress(void *arg, uint64_t done, uint64_t all)
{
    struct converting *c = arg;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (done < all && (now.tv_sec - c->shown.tv_sec) * 1000 + (now.tv_nsec - c->shown.tv_nsec) / 1000000 < 100)
        return;
    c->shown = now;
    fprintf(stderr, done < all ? "\rwriting %3.0f %%\033[K" : "\r\033[K", all ? 100.0 * (double)done / (double)all : 100.0);
}

static const struct format *target_format(const struct cli *cli, struct err *err)
{
    const struct format *f = cli->to ? format__by_name(cli->to) : format__by_suffix(cli->output);

    if (!f && cli->to)
        err__set(err, EINVAL, "--to %.60s: no such format; scope-report convert --help lists them", cli->to);
    else if (!f)
        err__set(err, EINVAL, "%.300s: its suffix is that of no format; add --to FORMAT (scope-report convert --help lists them)",
                 cli->output);
    else if (!f->write) {
        err__set(err, EINVAL, "%s can be read, but not written", f->name);
        f = NULL;
    }
    return f;
}

/* Large temporary files go beside the output: /tmp may be memory. */
static void use_folder_of(const char *output)
{
    const char *slash = strrchr(output, '/');
    char *folder = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");

    if (folder)
        column__set_folder(folder);
    free(folder);
}

static int check_ranks(const struct cli *cli, const struct profile *p, struct err *err)
{
    for (size_t i = 0; i < cli->n_ranks; i++) {
        if (profile__find_rank(p, cli->ranks[i]) < 0)
            return err__set(err, EINVAL, "--ranks: %s has no rank %d", cli->inputs.n == 1 ? cli->inputs.items[0] : "the input",
                            cli->ranks[i]);
    }
    return 0;
}

/* Samples to samples, statistics to statistics: one file becomes one. */
static bool is_same_kind(const struct profile *p, const struct format *format)
{
    bool kind = !strcmp(format->name, "sps") || !strcmp(format->name, "prof");

    return kind && p->source.len == strlen(format->name) && !memcmp(p->source.s, format->name, p->source.len);
}

/* Ctrl-C in the middle of it leaves nothing behind; the status is that of the signal. */
static void give_up(int signal_number)
{
    format__discard_temporaries();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void clean_up_on_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
    struct sigaction action = {.sa_handler = give_up}, old;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(numbers[i], &action, NULL);
    }
}

static int write_files(struct converting *c, const struct profile *p, const struct format *format, struct err *err)
{
    const struct cli *cli = c->cli;
    struct write_options options = {
        .ranks = cli->n_ranks ? cli->ranks : NULL,
        .n_ranks = (uint32_t)cli->n_ranks,
        .by_name = cli->by_name,
        .root = cli->root,
        .overlaps_split = cli->view.overlaps_split,
        .width = (unsigned)cli->width,
        .threshold = cli->threshold,
        .plot = cli->plot,
        .progress = c->terminal ? progress : NULL,
        .progress_arg = c,
        .say = say,
        .say_arg = c,
    };
    char **files = NULL;
    size_t n = 0;
    int rc = check_ranks(cli, p, err);

    if (!options.ranks && p->n_ranks == 1 && is_same_kind(p, format)) { /* one in, one out: exactly that name */
        options.ranks = &p->ranks[0].number;
        options.n_ranks = 1;
    }
    clean_up_on_signals();
    rc = rc ? rc : format__write_files(p, format, cli->output, &options, &files, &n, err);
    if (c->terminal)
        fputs("\r\033[K", stderr);
    for (size_t i = 0; i < n; i++) {
        if (!cli->quiet)
            printf("%s\n", files[i]);
        free(files[i]);
    }
    free(files);
    return rc;
}

/* Readers name the file; who writes may only know what is wrong with its calls. */
static void name_input(const struct cli *cli, struct err *err)
{
    struct err old = *err;

    for (size_t i = 0; i < cli->inputs.n; i++) {
        if (strstr(err->text, cli->inputs.items[i]))
            return;
    }
    if (cli->inputs.n == 1)
        err__set(err, EINVAL, "%.160s: %.340s", cli->inputs.items[0], old.text);
}

int run_convert(struct cli *cli)
{
    struct converting c = {.cli = cli, .terminal = isatty(2) && !cli->quiet};
    const struct format *format;
    struct profile *p = NULL;
    struct err err = {0};
    int status, rc;

    if (!cli->output) {
        fputs("scope-report: convert needs -o FILE; see scope-report convert --help\n", stderr);
        return CLI_USAGE;
    }
    if (!strcmp(cli->output, "-")) {
        fputs("scope-report: -o -: a file is written under another name and renamed, which standard output cannot be; "
              "give a file name\n", stderr);
        return CLI_USAGE;
    }
    format = target_format(cli, &err);
    if (!format) {
        cli__fail(&err);
        return CLI_USAGE;
    }
    use_folder_of(cli->output);
    if (!cli->inputs.n) {
        fputs("scope-report: convert needs at least one FILE; see scope-report convert --help\n", stderr);
        return CLI_USAGE;
    }
    status = cli__load(cli, !strcmp(format->name, "sps") ? INPUTS_SAMPLES : INPUTS_PROFILES, &p);
    if (status)
        return status;
    if (strcmp(format->name, "sps") && cli__only_samples(p))
        rc = err__set(&err, EINVAL, "%s: holds samples and no calls: they can be written as .sps only", cli->inputs.items[0]);
    else
        rc = write_files(&c, p, format, &err);
    if (rc)
        name_input(cli, &err);
    profile__destroy(p);
    return cli__finish(rc, &err);
}
