/* SPDX-License-Identifier: GPL-2.0-only */
/* Subcommands that put several runs side by side: every word of the command line is a run (file, folder or prefix). */
#include "converters/cli_commands.h"

#include "converters/formats/formats.h"
#include "converters/views/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct runs {
    struct run *list;
    size_t n;
};

static void runs__deinit(struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        run__deinit(&runs->list[i]);
    free(runs->list);
}

static int load_run(struct cli *cli, const char *word, struct run *run, struct err *err)
{
    struct load_options options = {.renumber = false};
    struct inputs in = {0};
    int rc = inputs__expand(&in, &word, 1, INPUTS_PROFILES, err);

    rc = rc ? rc : inputs__load(&in, &options, &run->p, err);
    inputs__deinit(&in);
    run->label = word;
    return rc ? rc : run__measure(run, &cli->view, err);
}

static int load_runs(struct cli *cli, const struct cli_strings *words, struct runs *runs)
{
    struct err err = {0};

    runs->list = calloc(words->n + 1, sizeof(*runs->list));
    for (size_t i = 0; runs->list && i < words->n; i++) {
        runs->n = i + 1;
        if (load_run(cli, words->items[i], &runs->list[i], &err))
            return cli__fail(&err);
    }
    return runs->list ? CLI_OK : CLI_FAILED;
}

static int usage(const struct cli *cli, const char *what)
{
    fprintf(stderr, "scope-report: %s needs %s; see scope-report %s --help\n", cli->command->name, what, cli->command->name);
    return CLI_USAGE;
}

static struct compare_options options_of(struct cli *cli)
{
    return (struct compare_options){&cli->view, cli->metric, cli->slowdown, cli->weak};
}

/* A B; or A B1 B2 …; or --base A1 --base A2 … B1 B2 … */
static int compare(struct cli *cli, uint64_t *ret_slower)
{
    struct compare_options options = options_of(cli);
    size_t n_base = cli->base.n ? 0 : 1;
    struct runs base = {0}, runs = {0};
    int status, rc;

    if (cli->inputs.n < n_base + 1)
        return usage(cli, "two runs: A B, or --base A ... B ...");
    status = load_runs(cli, &cli->base, &base);
    status = status ? status : load_runs(cli, &cli->inputs, &runs);
    if (!status) {
        rc = compare__print(n_base ? runs.list : base.list, n_base ? 1 : base.n, runs.list + n_base, runs.n - n_base, &options,
                            stdout, ret_slower);
        status = cli__finish(rc, NULL);
    }
    runs__deinit(&base);
    runs__deinit(&runs);
    return status;
}

int run_diff(struct cli *cli)
{
    return compare(cli, NULL);
}

int run_check(struct cli *cli)
{
    uint64_t slower = 0;
    int status = compare(cli, &slower);

    if (status)
        return status;
    if (slower) {
        fprintf(stderr, "scope-report: check failed: %llu region%s slower by more than %g %% (%s)\n", (unsigned long long)slower,
                slower > 1 ? "s are" : " is", cli->slowdown * 100, cli->metric);
        return CLI_FAILED;
    }
    if (cli->view.shape == VIEW_TEXT)
        printf("no region is slower by more than %g %% (%s)\n", cli->slowdown * 100, cli->metric);
    return cli__finish(0, NULL);
}

/* The plot appears whole or not at all. */
static int publish(const char *path, const char *text, size_t len, struct err *err)
{
    char *temporary;
    int fd, rc = format__check_target(path, err);
    size_t done = 0;
    mode_t mask = umask(0);

    umask(mask);
    if (rc)
        return rc;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return err__set(err, ENOMEM, "out of memory");
    fd = mkstemp(temporary);
    while (fd >= 0 && done < len) {
        ssize_t n = write(fd, text + done, len - done);

        if (n < 0)
            break;
        done += (size_t)n;
    }
    if (fd < 0 || done < len || fchmod(fd, 0666 & ~mask) || fsync(fd) || rename(temporary, path)) {
        rc = err__set(err, errno, "%s: cannot be written: %s", path, strerror(errno));
        if (fd >= 0)
            unlink(temporary);
    }
    if (fd >= 0)
        close(fd);
    free(temporary);
    return rc;
}

int run_scaling(struct cli *cli)
{
    struct compare_options options = options_of(cli);
    struct runs runs = {0};
    struct err err = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *svg;
    int status, rc;

    if (cli->inputs.n < 2)
        return usage(cli, "at least two runs of different size");
    status = load_runs(cli, &cli->inputs, &runs);
    svg = cli->output ? open_memstream(&text, &len) : NULL;
    if (!status) {
        rc = scaling__print(runs.list, runs.n, &options, stdout, svg);
        if (svg)
            fclose(svg);
        rc = rc || !cli->output ? rc : publish(cli->output, text, len, &err);
        status = cli__finish(rc, &err);
    } else if (svg) {
        fclose(svg);
    }
    free(text);
    runs__deinit(&runs);
    return status;
}
