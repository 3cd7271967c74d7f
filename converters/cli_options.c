/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/cli_options.h"
#include "converters/cli_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANKS (1u << 20)

static const struct cli cli_defaults = {.overlaps = "error", .metric = "total", .threshold = 0.001, .slowdown = 0.05, .width = 1200, .top = -1,
                                        .lane = -1};

/* ---- values ------------------------------------------------------------------------------------------------- */
static void *field(struct cli *cli, const struct cli_option *o)
{
    return (char *)cli + o->offset;
}

static int add_string(struct cli_strings *list, const char *item)
{
    const char **items = reallocarray(list->items, list->n + 1, sizeof(*items));

    if (!items)
        return -ENOMEM;
    list->items = items;
    list->items[list->n++] = item;
    return 0;
}

static int bad_value(const struct cli_option *o, const char *value, const char *why, struct err *err)
{
    return err__set(err, EINVAL, "--%s %.100s: %s", o->name, value, why);
}

static int parse_rank(const char **at, long *ret)
{
    char *end;

    if (**at < '0' || **at > '9')
        return -EINVAL;
    errno = 0;
    *ret = strtol(*at, &end, 10);
    *at = end;
    return errno || *ret > INT32_MAX ? -EINVAL : 0;
}

static int add_ranks(struct cli *cli, long first, long last)
{
    int32_t *ranks;

    if (last < first || (unsigned long)(last - first) >= MAX_RANKS - cli->n_ranks)
        return -EINVAL;
    ranks = reallocarray(cli->ranks, cli->n_ranks + (size_t)(last - first) + 1, sizeof(*ranks));
    if (!ranks)
        return -ENOMEM;
    cli->ranks = ranks;
    for (long r = first; r <= last; r++)
        ranks[cli->n_ranks++] = (int32_t)r;
    return 0;
}

static int parse_ranks(struct cli *cli, const struct cli_option *o, const char *value, struct err *err)
{
    const char *at = value;
    long first, last;

    for (;;) {
        if (parse_rank(&at, &first))
            break;
        last = first;
        if (*at == '-') {
            at++;
            if (parse_rank(&at, &last))
                break;
        }
        if (add_ranks(cli, first, last))
            break;
        if (!*at)
            return 0;
        if (*at++ != ',')
            break;
    }
    return bad_value(o, value, "is no list of ranks such as 0,2,4-7", err);
}

static int parse_number(const struct cli_option *o, const char *value, int64_t *ret, struct err *err)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(value, &end, 10);
    if (errno || end == value || *end || (double)v < o->min || (double)v > o->max)
        return err__set(err, EINVAL, "--%s %.100s: is no number from %.0f to %.0f", o->name, value, o->min, o->max);
    *ret = v;
    return 0;
}

static int parse_real(const struct cli_option *o, const char *value, double *ret, struct err *err)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}, {"h", 3600}};
    char *end;
    double v = strtod(value, &end), factor = 0;

    if (o->kind == CLI_SHARE)
        factor = !*end ? 1 : !strcmp(end, "%") ? 0.01 : 0;
    for (size_t i = 0; o->kind == CLI_SECONDS && i < sizeof(units) / sizeof(*units); i++)
        factor = !strcmp(end, units[i].unit) ? units[i].factor : factor;
    if (end == value || factor == 0 || !(v * factor >= o->min) || !(v * factor <= o->max))
        return bad_value(o, value, o->kind == CLI_SHARE ? "is no share such as 0.05 or 5%" : "is no time such as 1.5 or 20ms",
                         err);
    *ret = v * factor;
    return 0;
}

static int parse_choice(const struct cli_option *o, const char *value, const char **ret, struct err *err)
{
    size_t len = strlen(value);

    for (const char *c = o->choices; c; c = strchr(c, '|') ? strchr(c, '|') + 1 : NULL) {
        if (strcspn(c, "|") == len && !strncmp(c, value, len)) {
            *ret = value;
            return 0;
        }
    }
    return err__set(err, EINVAL, "--%s %.60s: must be one of %s", o->name, value, o->choices);
}

static int set_option(struct cli *cli, const struct cli_option *o, const char *value, struct err *err)
{
    switch (o->kind) {
    case CLI_ON: *(bool *)field(cli, o) = true; return 0;
    case CLI_TEXT:
        if (!*value)
            return bad_value(o, value, "must not be empty", err);
        *(const char **)field(cli, o) = value;
        return 0;
    case CLI_CHOICE: return parse_choice(o, value, field(cli, o), err);
    case CLI_LIST: return add_string(field(cli, o), value) ? err__set(err, ENOMEM, "out of memory") : 0;
    case CLI_RANKS: return parse_ranks(cli, o, value, err);
    case CLI_NUMBER: return parse_number(o, value, field(cli, o), err);
    case CLI_SECONDS:
    case CLI_SHARE: return parse_real(o, value, field(cli, o), err);
    }
    return -EINVAL;
}

/* ---- names -------------------------------------------------------------------------------------------------- */
static const struct cli_option *find_long(const struct subcommand *command, const char *name, size_t len)
{
    for (size_t i = 0; i < n_cli_options; i++) {
        if (strlen(cli_options[i].name) == len && !memcmp(cli_options[i].name, name, len) &&
            cli_option__belongs(&cli_options[i], command))
            return &cli_options[i];
    }
    return NULL;
}

static const struct cli_option *find_letter(const struct subcommand *command, char letter)
{
    for (size_t i = 0; i < n_cli_options; i++) {
        if (cli_options[i].letter == letter && cli_option__belongs(&cli_options[i], command))
            return &cli_options[i];
    }
    return NULL;
}

static int unknown_option(const struct subcommand *command, const char *typed, struct err *err)
{
    size_t len = strcspn(typed, "=");

    for (size_t i = 0; i < n_cli_options; i++) {
        if (!strncmp(typed, "--", 2) && strlen(cli_options[i].name) == len - 2 &&
            !memcmp(cli_options[i].name, typed + 2, len - 2))
            return err__set(err, EINVAL, "%s takes no %.60s; see scope-report %s --help", command->name, typed, command->name);
    }
    return err__set(err, EINVAL, "unknown option %.60s; see scope-report %s --help", typed, command->name);
}

struct words {
    char **argv;
    int argc, at;
};

static const char *next_word(struct words *w)
{
    return w->at < w->argc ? w->argv[w->at++] : NULL;
}

static int take_value(struct cli *cli, const struct cli_option *o, const char *value, struct words *w, struct err *err)
{
    if (o->kind == CLI_ON)
        return value ? err__set(err, EINVAL, "--%s takes no value", o->name) : set_option(cli, o, NULL, err);
    value = value ? value : next_word(w);
    if (!value)
        return err__set(err, EINVAL, "--%s needs %s", o->name, o->arg);
    return set_option(cli, o, value, err);
}

static int parse_long(struct cli *cli, const char *word, struct words *w, struct err *err)
{
    size_t len = strcspn(word + 2, "=");
    const struct cli_option *o = find_long(cli->command, word + 2, len);

    if (!o)
        return unknown_option(cli->command, word, err);
    return take_value(cli, o, word[2 + len] ? word + 3 + len : NULL, w, err);
}

static int parse_letters(struct cli *cli, const char *word, struct words *w, struct err *err)
{
    for (const char *c = word + 1; *c; c++) {
        const struct cli_option *o = find_letter(cli->command, *c);
        char typed[3] = {'-', *c, 0};
        int rc;

        if (!o)
            return unknown_option(cli->command, typed, err);
        if (o->kind != CLI_ON)
            return take_value(cli, o, c[1] ? c + 1 : NULL, w, err);
        rc = take_value(cli, o, NULL, w, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* The subcommand is the first word, behind --help or --version at most. */
static const struct subcommand *choose(struct words *w)
{
    const struct subcommand *command = w->argc ? subcommand__find(w->argv[0]) : NULL;

    if (command)
        w->at = 1;
    return command ? command : subcommand__find("summary");
}

static void settle(struct cli *cli)
{
    cli->view.shape = cli->json ? VIEW_JSON : cli->csv ? VIEW_CSV : VIEW_TEXT;
    cli->view.region = cli->region.items;
    cli->view.n_region = cli->region.n;
    cli->view.exclude = cli->exclude.items;
    cli->view.n_exclude = cli->exclude.n;
    cli->view.ranks = cli->ranks;
    cli->view.n_ranks = cli->n_ranks;
    cli->view.top = cli->top > 0 ? (uint64_t)cli->top : 0;
    cli->view.overlaps_split = !strcmp(cli->overlaps, "split");
    cli->view.from_s = cli->from;
    cli->view.to_s = cli->until;
    cli->view.has_thread = cli->lane >= 0;
    cli->view.thread = cli->lane;
    cli->view.screen = screen__of(stdout);
}

int cli__parse(struct cli *cli, int argc, char **argv, struct err *err)
{
    struct words w = {argv, argc, 0};
    bool only_inputs = false;
    const char *word;
    int rc = 0;

    *cli = cli_defaults;
    cli->command = choose(&w);
    while (!rc && (word = next_word(&w))) {
        if (only_inputs || word[0] != '-' || !word[1])
            rc = add_string(&cli->inputs, word) ? err__set(err, ENOMEM, "out of memory") : 0;
        else if (!strcmp(word, "--"))
            only_inputs = true;
        else if (word[1] == '-')
            rc = parse_long(cli, word, &w, err);
        else
            rc = parse_letters(cli, word, &w, err);
    }
    if (!rc && cli->json && cli->csv)
        rc = err__set(err, EINVAL, "--json and --csv: only one of them");
    settle(cli);
    return rc;
}

void cli__deinit(struct cli *cli)
{
    free(cli->inputs.items);
    free(cli->region.items);
    free(cli->exclude.items);
    free(cli->base.items);
    free(cli->ranks);
}
