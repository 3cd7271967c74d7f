/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/cli_commands.h"

#include "converters/format.h"
#include "converters/views/info.h"
#include "converters/views/lines.h"
#include "converters/views/summary.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int cli__fail(const struct err *err)
{
    fprintf(stderr, "scope-report: %s\n", err->text);
    return CLI_FAILED;
}

int cli__finish(int rc, const struct err *err)
{
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        if (errno != EPIPE)
            fprintf(stderr, "scope-report: standard output cannot be written: %s\n", strerror(errno ? errno : EIO));
        return CLI_FAILED;
    }
    if (!rc)
        return CLI_OK;
    if (err && err->text[0])
        return cli__fail(err);
    fprintf(stderr, "scope-report: %s\n", rc == -ENOMEM ? "out of memory" : strerror(-rc));
    return CLI_FAILED;
}

static void show_progress(void *arg, size_t done, size_t all)
{
    (void)arg;
    if (all > 1)
        fprintf(stderr, done < all ? "\rreading %zu of %zu\033[K" : "\r\033[K", done, all);
}

int cli__expand(struct cli *cli, enum inputs_kind kind, struct inputs *in)
{
    struct err err = {0};
    int rc = cli->inputs.n ? inputs__expand(in, cli->inputs.items, cli->inputs.n, kind, &err) : inputs__newest(in, kind, &err);

    if (!rc && !cli->inputs.n && cli->view.shape == VIEW_TEXT)
        printf("%s%s\n", in->paths[0], in->n > 1 ? " and its other ranks" : "");
    return rc ? cli__fail(&err) : CLI_OK;
}

int cli__load(struct cli *cli, enum inputs_kind kind, struct profile **ret)
{
    struct load_options options = {.renumber = cli->renumber, .progress = isatty(2) ? show_progress : NULL};
    struct inputs in = {0};
    struct err err = {0};
    int status = cli__expand(cli, kind, &in);

    if (!status && inputs__load(&in, &options, ret, &err))
        status = cli__fail(&err);
    inputs__deinit(&in);
    return status;
}

bool cli__only_samples(const struct profile *p)
{
    bool samples = false;

    for (uint32_t k = 0; k < p->n_ranks; k++)
        samples |= p->ranks[k].samples.n || p->ranks[k].hz;
    return samples && !p->n_rows;
}

int run_summary(struct cli *cli)
{
    struct profile *p = NULL;
    struct err err = {0};
    int status = cli__load(cli, INPUTS_PROFILES, &p), rc;

    if (status)
        return status;
    if (cli__only_samples(p) && cli->view.shape == VIEW_TEXT) {
        rc = err__set(&err, ENODATA, "%s holds samples and no calls: scope-report lines shows them",
                      cli->inputs.n ? cli->inputs.items[0] : "the input");
    } else {
        rc = summary__print(p, &cli->view, stdout);
    }
    profile__destroy(p);
    return cli__finish(rc, &err);
}

int run_lines(struct cli *cli)
{
    struct profile *p = NULL;
    int status, rc;

    if (cli->top < 0)
        cli->view.top = 10;
    status = cli__load(cli, INPUTS_SAMPLES, &p);
    if (status)
        return status;
    rc = lines__print(p, &cli->view, stdout, stderr);
    profile__destroy(p);
    return cli__finish(rc, NULL);
}

static int info_of(struct cli *cli, const char *path, bool first)
{
    struct profile *p = NULL;
    struct err err = {0};
    int rc = format__read_file(path, &p, &err);

    if (rc)
        return cli__fail(&err);
    if (!first)
        fputs(cli->view.shape == VIEW_JSON ? ",\n" : "\n", stdout);
    rc = info__print(p, path, &cli->view, stdout);
    profile__destroy(p);
    return rc ? cli__finish(rc, NULL) : CLI_OK;
}

int run_info(struct cli *cli)
{
    struct inputs in = {0};
    int status = cli__expand(cli, INPUTS_PROFILES, &in);
    bool list = cli->view.shape == VIEW_JSON && in.n > 1;

    if (list)
        putchar('[');
    for (size_t i = 0; i < in.n && !status; i++)
        status = info_of(cli, in.paths[i], !i);
    if (list)
        putchar(']');
    if (cli->view.shape == VIEW_JSON && !status)
        putchar('\n');
    inputs__deinit(&in);
    return status ? status : cli__finish(0, NULL);
}

static int validate_file(struct cli *cli, const char *path)
{
    struct profile *p = NULL;
    struct err err = {0};
    int rc = format__read_file(path, &p, &err);

    if (!rc)
        rc = validate__profile(p, path, &err);
    if (!rc && !cli->quiet)
        printf("%s: valid\n", path);
    profile__destroy(p);
    return rc ? cli__fail(&err) : CLI_OK;
}

/* Each file by itself, then all together: a rank must not come twice. */
int run_validate(struct cli *cli)
{
    struct inputs in = {0};
    int status = cli__expand(cli, INPUTS_PROFILES, &in);

    for (size_t i = 0; i < in.n && status == CLI_OK; i++)
        status = validate_file(cli, in.paths[i]);
    if (!status && in.n > 1) {
        struct load_options options = {0};
        struct profile *p = NULL;
        struct err err = {0};

        if (inputs__load(&in, &options, &p, &err))
            status = cli__fail(&err);
        profile__destroy(p);
    }
    inputs__deinit(&in);
    return status ? status : cli__finish(0, NULL);
}
