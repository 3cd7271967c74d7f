// SPDX-License-Identifier: GPL-2.0-only
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "option_table.h"
#include "option_values.h"

#define ENV_NAME "SCOPE_BPF_OPTIONS"

/* One walk over one list of words. */
struct parser {
    struct options *options;
    struct err *err;
    char **words;
    int n, at;
    bool typed;                      /* by the caller, not from the environment */
    const struct option_row *action; /* what set options->action */
};

static void *field(const struct parser *p, const struct option_row *row)
{
    return (char *)p->options + row->offset;
}

/* "--freq" or "-F", as it stands in messages. */
static const char *dashed(const struct option_row *row, char name[static 40])
{
    snprintf(name, 40, "--%s", row->name);
    return name;
}

static int append(struct parser *p, struct string_list *list, const char *text)
{
    const char **items = realloc(list->items, (list->n + 1) * sizeof(*items));

    if (!items)
        return err__set(p->err, ENOMEM, "out of memory");
    items[list->n++] = text;
    list->items = items;
    return 0;
}

static int choice(struct parser *p, const struct option_row *row, const char *text, int *ret)
{
    const char *name;
    size_t len;

    for (size_t i = 0; (name = option_row__choice(row, i, &len)); i++) {
        if (strlen(text) == len && !memcmp(text, name, len)) {
            *ret = (int)i;
            return 0;
        }
    }
    return err__set(p->err, EINVAL, "--%s: '%s' is none of %s", row->name, text, row->choices);
}

static int set_formats(struct parser *p, const struct option_row *row, const char *text)
{
    bool *const flags[] = {&p->options->format_h5, &p->options->format_spt, &p->options->format_sps};

    *flags[0] = *flags[1] = *flags[2] = false;
    for (;;) {
        size_t len = strcspn(text, ",");
        char name[16] = "";
        int which, r;

        snprintf(name, sizeof(name), "%.*s", (int)len, text);
        r = choice(p, row, name, &which);
        if (r)
            return r;
        *flags[which] = true;
        if (!text[len])
            return 0;
        text += len + 1;
    }
}

static int set_text(struct parser *p, const struct option_row *row, const char *text)
{
    if (!*text)
        return err__set(p->err, EINVAL, "--%s: an empty %s", row->name, row->arg);
    if ((double)strlen(text) > row->max)
        return err__set(p->err, EINVAL, "--%s: longer than %.0f bytes", row->name, row->max);
    *(const char **)field(p, row) = text;
    return 0;
}

static int set_output(struct parser *p, const struct option_row *row, const char *text)
{
    static const char *const suffixes[] = {".h5", ".spt", ".sps", ".scope"};
    size_t len = strlen(text);

    if (!strcmp(text, "-"))
        return err__set(p->err, EINVAL, "--%s: standard output cannot hold a set of files; give a prefix such as run1",
                        row->name);
    if (len && text[len - 1] == '/')
        return err__set(p->err, EINVAL,
                        "--%s: '%s' names a folder; add how the files shall be called: %sscope", row->name,
                        text, text);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t n = strlen(suffixes[i]);

        if (len > n && !strcmp(text + len - n, suffixes[i]))
            return err__set(p->err, EINVAL, "--%s: give the name without its ending: %.*s", row->name,
                            (int)(len - n), text);
    }
    p->options->output_given = true;
    return set_text(p, row, text);
}

static int set_action(struct parser *p, const struct option_row *row, enum action action)
{
    if (p->action && p->action != row)
        return err__set(p->err, EINVAL, "--%s and --%s do not go together", p->action->name, row->name);
    p->action = row;
    p->options->action = action;
    return 0;
}

static int set_what(struct parser *p, const struct option_row *row, const char *text)
{
    int which, r = text ? choice(p, row, text, &which) : 0;

    if (r)
        return r;
    if (text)
        *(const char **)field(p, row) = which ? text : NULL;
    return set_action(p, row, ACTION_LIST);
}

static int set_choice(struct parser *p, const struct option_row *row, const char *text)
{
    int which, r = choice(p, row, text, &which);

    if (r)
        return r;
    if (row->kind == OPTION_CHOICE_BOOL)
        *(bool *)field(p, row) = which;
    else
        *(int *)field(p, row) = which;
    return 0;
}

/* value is NULL exactly where the row takes none. */
static int set(struct parser *p, const struct option_row *row, const char *value)
{
    char name[40];

    dashed(row, name);
    switch (row->kind) {
    case OPTION_ON:
    case OPTION_OFF: *(bool *)field(p, row) = row->kind == OPTION_ON; return 0;
    case OPTION_COUNT: ++*(int *)field(p, row); return 0;
    case OPTION_ACTION: return set_action(p, row, (enum action)row->value);
    case OPTION_INT: return option_value__int(name, value, row->min, row->max, field(p, row), p->err);
    case OPTION_SIZE: return option_value__size(name, value, row->min, row->max, field(p, row), p->err);
    case OPTION_SECONDS: return option_value__seconds(name, value, row->min, row->max, field(p, row), p->err);
    case OPTION_TEXT: return set_text(p, row, value);
    case OPTION_OUTPUT: return set_output(p, row, value);
    case OPTION_LIST:
        if (!*value)
            return err__set(p->err, EINVAL, "%s: an empty pattern matches nothing", name);
        return append(p, field(p, row), value);
    case OPTION_PIDS: return option_value__pids(name, value, &p->options->pids, &p->options->n_pids, p->err);
    case OPTION_FORMATS: return set_formats(p, row, value);
    case OPTION_CHOICE:
    case OPTION_CHOICE_BOOL: return set_choice(p, row, value);
    case OPTION_WHAT: return set_what(p, row, value);
    case OPTION_KINDS: break;
    }
    return err__set(p->err, EINVAL, "%s: not an option", name);
}

static int unknown(struct parser *p, const char *name, size_t len)
{
    const struct option_row *near = option_table__nearest(name, len);

    if (near)
        return err__set(p->err, EINVAL, "no option --%.*s; did you mean --%s?", (int)len, name, near->name);
    return err__set(p->err, EINVAL, "no option --%.*s; scope-bpf --help shows them", (int)len, name);
}

static int refuse_untyped(struct parser *p, const struct option_row *row)
{
    return err__set(p->err, EINVAL, "--%s cannot stand in " ENV_NAME ", only on the command line", row->name);
}

/* The next word as the value of an option that needs one. */
static int next_value(struct parser *p, const struct option_row *row, const char **ret)
{
    if (p->at >= p->n)
        return err__set(p->err, EINVAL, "--%s needs a value: --%s %s", row->name, row->name, row->arg);
    *ret = p->words[p->at++];
    return 0;
}

static int parse_long(struct parser *p, const char *word)
{
    size_t len = strcspn(word, "=");
    const char *value = word[len] ? word + len + 1 : NULL;
    const struct option_row *row = option_table__find(word, len);
    int r = 0;

    if (!row)
        return unknown(p, word, len);
    if (row->only_typed && !p->typed)
        return refuse_untyped(p, row);
    if (!row->arg && value)
        return err__set(p->err, EINVAL, "--%s takes no value", row->name);
    if (row->arg && !value && row->kind != OPTION_WHAT)
        r = next_value(p, row, &value);
    return r ? r : set(p, row, value);
}

/* Letters of one word: `-qv`, `-F99`, `-p 1,2`. */
static int parse_letters(struct parser *p, const char *letters)
{
    for (; *letters; letters++) {
        const struct option_row *row = option_table__find_letter(*letters);
        const char *value = NULL;
        int r = 0;

        if (!row)
            return err__set(p->err, EINVAL, "no option -%c; scope-bpf --help shows them", *letters);
        if (row->only_typed && !p->typed)
            return refuse_untyped(p, row);
        if (row->arg && row->kind != OPTION_WHAT) {
            value = letters[1] ? letters + 1 : NULL;
            r = value ? 0 : next_value(p, row, &value);
        }
        r = r ? r : set(p, row, value);
        if (r || value)
            return r;
    }
    return 0;
}

static bool wants_only_text(const struct options *options)
{
    return options->action == ACTION_HELP || options->action == ACTION_VERSION;
}

static int parse_words(struct parser *p)
{
    while (p->at < p->n) {
        char *word = p->words[p->at];
        int r;

        if (word[0] != '-' || !word[1]) {
            if (p->typed)
                break;
            return err__set(p->err, EINVAL, "'%s' is no option; a command cannot stand there", word);
        }
        p->at++;
        if (!strcmp(word, "--")) {
            if (p->typed)
                break;
            return err__set(p->err, EINVAL, "a command cannot stand there");
        }
        r = word[1] == '-' ? parse_long(p, word + 2) : parse_letters(p, word + 1);
        if (r || wants_only_text(p->options))
            return r;
    }
    if (p->typed && p->at < p->n)
        p->options->command = p->words + p->at;
    return 0;
}

static int parse_environment(struct parser *p, const char *text)
{
    struct err why = {""};
    struct parser words = *p;
    int r = option_value__words(text, &words.words, &words.n, &why);

    if (r)
        return err__set(p->err, -r, ENV_NAME ": %s", why.text);
    p->options->environment_words = words.words;
    words.err = &why;
    words.at = 0;
    words.typed = false;
    r = parse_words(&words);
    if (r)
        return err__set(p->err, -r, ENV_NAME ": %s", why.text);
    return 0;
}

static int check_target(const struct options *o, struct err *err)
{
    bool needs_none = o->action == ACTION_CHECK || o->action == ACTION_CALIBRATE ||
                      (o->action == ACTION_LIST && o->list_what && strcmp(o->list_what, "presets") != 0);

    if (o->command && o->n_pids)
        return err__set(err, EINVAL, "a command and --pid do not go together: type one of them");
    if (o->all && o->n_pids)
        return err__set(err, EINVAL, "--all and --pid do not go together: --all records those processes too");
    if (!o->all && (o->filter_user || o->filter_cgroup || o->filter_comm.n))
        return err__set(err, EINVAL, "--filter-user, --filter-comm and --filter-cgroup choose among the processes of --all");
    if (needs_none || o->command || o->n_pids || o->list_what || (o->all && o->action == ACTION_RECORD))
        return 0;
    if (o->action == ACTION_LIST)
        return err__set(err, EINVAL,
                        "nothing to look at: type scope-bpf --list -- PROGRAM, or scope-bpf "
                        "--list -p PID");
    return err__set(err, EINVAL,
                    "nothing to record: type scope-bpf -- COMMAND, scope-bpf -p PID, or scope-bpf -a; --help "
                    "shows more");
}

static int check_output(const struct options *o, struct err *err)
{
    bool json_fits = o->action == ACTION_LIST || o->action == ACTION_CHECK || o->action == ACTION_CALIBRATE;

    if (o->json && o->csv)
        return err__set(err, EINVAL, "--json and --csv do not go together");
    if (o->json && !json_fits)
        return err__set(err, EINVAL,
                        "--json goes with --list, --check and --calibrate; scope-report --json "
                        "prints a profile");
    if (o->csv && o->action != ACTION_LIST)
        return err__set(err, EINVAL, "--csv goes with --list; scope-report --csv prints a profile");
    if (!o->format_h5 && !o->format_spt && !o->format_sps)
        return err__set(err, EINVAL, "--format sps needs samples, and --no-samples takes none");
    return 0;
}

static int finish(struct options *o, struct err *err)
{
    int r = 0;

    if (wants_only_text(o) || o->action == ACTION_DUMP_MAN || o->action == ACTION_DUMP_COMPLETION)
        return 0;
    if (!o->samples)
        o->format_sps = false;
    o->follow = o->follow_choice ? o->follow_choice == 1 : o->command || o->all;
    r = check_target(o, err);
    return r ? r : check_output(o, err);
}

void options__deinit(struct options *options)
{
    free(options->region.items);
    free(options->exclude.items);
    free(options->usdt.items);
    free(options->preset.items);
    free(options->pids);
    free(options->environment_words);
    *options = default_options;
}

int options__parse(int argc, char **argv, const char *environment, struct options *ret, struct err *err)
{
    struct options options = default_options;
    struct parser p = {.options = &options, .err = err, .words = argv, .n = argc, .at = 1, .typed = true};
    int r = environment && *environment ? parse_environment(&p, environment) : 0;

    r = r ? r : parse_words(&p);
    r = r ? r : finish(&options, err);
    if (r)
        options__deinit(&options);
    else
        *ret = options;
    return r;
}
