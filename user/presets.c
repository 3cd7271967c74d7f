/* SPDX-License-Identifier: GPL-2.0-only */
#include "presets.h"

#include "json_print.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX     ".pairs"
#define SUFFIX_LEN (sizeof(SUFFIX) - 1)
#define MAX_FILE   (1 << 20)
#define N_FOLDERS  3

/* Folder number i of those that may hold presets. */
static void folder(size_t i, char path[static PATH_MAX])
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash;

    exe[n > 0 ? n : 0] = '\0';
    slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    if (i == 0)
        snprintf(path, PATH_MAX, "%.4000s/../usdt", exe);
    else if (i == 1)
        snprintf(path, PATH_MAX, "%.4000s/../share/scope-bpf/presets", exe);
    else
        snprintf(path, PATH_MAX, "%s/presets", SCOPE_BPF_DATADIR);
}

struct preset {
    char *title; /* NULL without */
    struct pairing *rules;
};

static void preset__deinit(struct preset *p)
{
    free(p->title);
    pairing__free(p->rules);
}

static char *trim(char *line)
{
    size_t n;

    line += strspn(line, " \t");
    n = strlen(line);
    while (n && strchr(" \t\r\n", line[n - 1]))
        line[--n] = '\0';
    return line;
}

static int add_line(struct preset *p, char *line, const char *path, unsigned number, struct err *err)
{
    static const char title[] = "title:";
    struct err why;
    int r;

    line = trim(line);
    if (!*line || *line == '#')
        return 0;
    if (!p->title && !pairing__count(p->rules) && !strncmp(line, title, sizeof(title) - 1)) {
        p->title = strdup(trim(line + sizeof(title) - 1));
        return p->title ? 0 : err__set(err, ENOMEM, "out of memory");
    }
    r = pairing__add(p->rules, line, &why);
    return r ? err__set(err, -r, "%s, line %u: %s", path, number, why.text) : 0;
}

static int read_lines(struct preset *p, FILE *in, const char *path, struct err *err)
{
    char *line = NULL;
    size_t size = 0;
    unsigned number = 0;
    ssize_t n;
    int r = 0;

    while (!r && (n = getline(&line, &size, in)) > 0) {
        number++;
        r = strlen(line) == (size_t)n ? add_line(p, line, path, number, err)
                                      : err__set(err, EINVAL, "%s, line %u: it holds a byte 0", path, number);
    }
    if (!r && ferror(in))
        r = err__set(err, EIO, "cannot read %s: %s", path, strerror(errno));
    free(line);
    return r;
}

static int read_preset(struct preset *p, const char *path, struct err *err)
{
    struct stat st;
    FILE *in = fopen(path, "re");
    int r = 0;

    *p = (struct preset){.rules = pairing__new()};
    if (!p->rules)
        r = err__set(err, ENOMEM, "out of memory");
    else if (!in || fstat(fileno(in), &st))
        r = err__set(err, errno, "cannot read the preset %s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode) || st.st_size > MAX_FILE)
        r = err__set(err, EINVAL, "%s is no preset: it is %s", path,
                     S_ISREG(st.st_mode) ? "larger than 1 MiB" : "no file");
    else
        r = read_lines(p, in, path, err);
    if (in)
        fclose(in);
    return r;
}

static bool ends_in_suffix(const char *name)
{
    size_t n = strlen(name);

    return n > SUFFIX_LEN && !strcmp(name + n - SUFFIX_LEN, SUFFIX);
}

static int find_preset(const char *name, char path[static PATH_MAX], struct err *err)
{
    char dir[PATH_MAX];

    if (strchr(name, '/') || ends_in_suffix(name)) {
        snprintf(path, PATH_MAX, "%s", name);
        return 0;
    }
    for (size_t i = 0; i < N_FOLDERS; i++) {
        folder(i, dir);
        if (snprintf(path, PATH_MAX, "%s/%s%s", dir, name, SUFFIX) < PATH_MAX && !access(path, R_OK))
            return 0;
    }
    return err__set(
        err, ENOENT,
        "--preset: there is no preset '%s'; scope-bpf --list=presets shows them, ./FILE names a file", name);
}

static int add_preset(struct pairing *rules, const char *name, struct err *err)
{
    char path[PATH_MAX];
    struct preset p = {0};
    int r = find_preset(name, path, err);

    r = r ? r : read_preset(&p, path, err);
    for (size_t i = 0; !r && i < pairing__count(p.rules); i++)
        r = pairing__add(rules, pairing__text(p.rules, i), err);
    if (!r && !pairing__count(p.rules))
        r = err__set(err, EINVAL, "the preset %s holds no rule", path);
    preset__deinit(&p);
    return r;
}

int presets__rules(const struct options *options, struct pairing **ret, struct err *err)
{
    struct pairing *rules;
    int r = 0;

    *ret = NULL;
    if (!options->usdt.n && !options->preset.n)
        return 0;
    rules = pairing__new();
    if (!rules)
        return err__set(err, ENOMEM, "out of memory");
    for (size_t i = 0; !r && i < options->usdt.n; i++) {
        struct err why;
        r = pairing__add(rules, options->usdt.items[i], &why);
        if (r)
            err__set(err, -r, "--usdt: %s", why.text);
    }
    for (size_t i = 0; !r && i < options->preset.n; i++)
        r = add_preset(rules, options->preset.items[i], err);
    if (r)
        pairing__free(rules);
    else
        *ret = rules;
    return r;
}

/* ---- the list
 * ---------------------------------------------------------------------------------------------- */

struct printer {
    FILE *out;
    const struct options *options;
    struct json_print json;
};

static void print_csv_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_json(struct json_print *j, const char *name, const char *path, const struct preset *p)
{
    json_print__object(j, NULL);
    json_print__text(j, "name", name);
    json_print__text(j, "title", p->title);
    json_print__text(j, "path", path);
    json_print__list(j, "rules");
    for (size_t i = 0; i < pairing__count(p->rules); i++)
        json_print__text(j, NULL, pairing__text(p->rules, i));
    json_print__end_list(j);
    json_print__end_object(j);
}

/* cpython   2 rules  Python: garbage collections and imports */
static void print_preset(struct printer *pr, const char *name, const char *path, const struct preset *p)
{
    const char *title = p->title ? p->title : "";

    if (pr->options->json) {
        print_json(&pr->json, name, path, p);
    } else if (pr->options->csv) {
        print_csv_text(pr->out, name);
        fprintf(pr->out, ",%zu,", pairing__count(p->rules));
        print_csv_text(pr->out, title);
        fputc(',', pr->out);
        print_csv_text(pr->out, path);
        fputc('\n', pr->out);
    } else {
        size_t n = pairing__count(p->rules);
        fprintf(pr->out, "%-18s %3zu rule%s  %s\n", name, n, n == 1 ? " " : "s", title);
    }
}

static int is_preset(const struct dirent *entry)
{
    return ends_in_suffix(entry->d_name);
}

static int print_folder(struct printer *pr, const char *dir, struct err *err)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, is_preset, alphasort), r = 0;

    for (int i = 0; i < n; i++) {
        char *path = NULL, *name = entries[i]->d_name;
        struct preset p = {0};

        if (asprintf(&path, "%s/%s", dir, name) < 0)
            path = NULL;
        r = r ? r : path ? read_preset(&p, path, err) : err__set(err, ENOMEM, "out of memory");
        name[strlen(name) - SUFFIX_LEN] = '\0';
        if (!r)
            print_preset(pr, name, path, &p);
        preset__deinit(&p);
        free(path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return r ? r : n > 0;
}

/* Of the folders the first that has presets: what --preset would find. */
int presets__print(FILE *out, const struct options *options, struct err *err)
{
    struct printer pr = {.out = out, .options = options, .json = {.file = out}};
    char dir[PATH_MAX], real[PATH_MAX];
    int r = 0;

    if (options->json)
        json_print__list(&pr.json, NULL);
    else if (options->csv)
        fputs("name,rules,title,path\n", out);
    for (size_t i = 0; !r && i < N_FOLDERS; i++) {
        folder(i, dir);
        r = print_folder(&pr, realpath(dir, real) ? real : dir, err);
    }
    if (options->json)
        json_print__end_list(&pr.json);
    if (!r)
        return err__set(err, ENOENT, "no presets were found; `make install` puts them into %s/presets",
                        SCOPE_BPF_DATADIR);
    if (r > 0 && (fflush(out) || ferror(out)))
        return err__set(err, EIO, "cannot write the list");
    return r < 0 ? r : 0;
}
