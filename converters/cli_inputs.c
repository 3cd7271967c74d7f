/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/cli_inputs.h"

#include "converters/format.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void inputs__deinit(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        free(in->paths[i]);
    free(in->paths);
    memset(in, 0, sizeof(*in));
}

static int add_path(struct inputs *in, const char *folder, const char *name)
{
    char **paths = reallocarray(in->paths, in->n + 1, sizeof(*paths)), *path;
    size_t len = folder ? strlen(folder) : 0;

    if (!paths)
        return -ENOMEM;
    in->paths = paths;
    if (!folder)
        path = strdup(name);
    else if (asprintf(&path, "%s%s%s", folder, len && folder[len - 1] == '/' ? "" : "/", name) < 0)
        path = NULL;
    if (!path)
        return -ENOMEM;
    in->paths[in->n++] = path;
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct inputs *in)
{
    if (in->n)
        qsort(in->paths, in->n, sizeof(*in->paths), compare_paths);
}

/* ---- what a name says ------------------------------------------------------------------------------------------ */
static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    return n > m && !strcmp(name + n - m, suffix);
}

/* Length of the stem in front of "_rank<digits><suffix>", 0 when it is no such name. */
static size_t rank_stem(const char *name, const char *suffix)
{
    size_t at = strlen(name) - strlen(suffix), digits = 0;

    if (!ends_with(name, suffix))
        return 0;
    while (at && isdigit((unsigned char)name[at - 1])) {
        at--;
        digits++;
    }
    return digits && at >= 5 && !memcmp(name + at - 5, "_rank", 5) ? at - 5 : 0;
}

static bool is_rank_file(const char *name)
{
    return name[0] != '.' && (ends_with(name, ".spt") || rank_stem(name, ".h5"));
}

static bool is_merged(const char *name)
{
    return name[0] != '.' && ends_with(name, ".h5") && !rank_stem(name, ".h5");
}

static bool is_samples(const char *name)
{
    return name[0] != '.' && ends_with(name, ".sps");
}

static int collect(struct inputs *in, const char *folder, bool (*wanted)(const char *))
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    int rc = dir ? 0 : -errno;

    while (!rc && (e = readdir(dir))) {
        if (wanted(e->d_name))
            rc = add_path(in, strcmp(folder, ".") ? folder : NULL, e->d_name);
    }
    if (dir)
        closedir(dir);
    sort(in);
    return rc;
}

/* ---- folders and prefixes ---------------------------------------------------------------------------------------- */
static int take_all(struct inputs *into, struct inputs *from)
{
    int rc = 0;

    for (size_t i = 0; i < from->n && !rc; i++)
        rc = add_path(into, NULL, from->paths[i]);
    return rc;
}

static int expand_folder(struct inputs *in, const char *folder, enum inputs_kind kind, struct err *err)
{
    struct inputs samples = {0}, ranks = {0}, merged = {0};
    int rc = kind == INPUTS_SAMPLES ? collect(&samples, folder, is_samples) : 0;

    if (!rc)
        rc = collect(&ranks, folder, is_rank_file);
    if (!rc)
        rc = collect(&merged, folder, is_merged);
    if (rc)
        err__set(err, -rc, "%s: cannot be read: %s", folder, strerror(-rc));
    else if (samples.n)
        rc = take_all(in, &samples);
    else if (ranks.n && merged.n)
        rc = err__set(err, EEXIST, "%s: holds per-rank files (%s) and a whole profile (%s): name the one that is meant", folder,
                      ranks.paths[0], merged.paths[0]);
    else if (ranks.n || merged.n)
        rc = take_all(in, ranks.n ? &ranks : &merged);
    else
        rc = err__set(err, ENOENT, "%s: no profile in this folder (%s)", folder,
                      kind == INPUTS_SAMPLES ? "*.sps, *.h5" : "*.spt, *.h5");
    inputs__deinit(&samples);
    inputs__deinit(&ranks);
    inputs__deinit(&merged);
    return rc;
}

static int collect_stem(struct inputs *in, const char *folder, const char *stem, size_t len, const char *suffix)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    int rc = dir ? 0 : -errno;

    while (!rc && (e = readdir(dir))) {
        if (rank_stem(e->d_name, suffix) == len && !memcmp(e->d_name, stem, len))
            rc = add_path(in, strcmp(folder, ".") ? folder : NULL, e->d_name);
    }
    if (dir)
        closedir(dir);
    sort(in);
    return rc;
}

static bool exists(const char *path)
{
    struct stat st;

    return !stat(path, &st);
}

/* `out/run` for out/run_rank00000.sps …, out/run.h5 or out/run.scope. */
static int expand_prefix(struct inputs *in, const char *prefix, enum inputs_kind kind)
{
    static const char *const suffixes[] = {".h5", ".scope", ".json", ".json.gz"};
    const char *slash = strrchr(prefix, '/'), *stem = slash ? slash + 1 : prefix;
    char *folder = slash ? strndup(prefix, (size_t)(slash - prefix) + 1) : strdup(".");
    size_t before = in->n;

    if (!folder)
        return -ENOMEM;
    if (kind == INPUTS_SAMPLES)
        collect_stem(in, folder, stem, strlen(stem), ".sps");
    for (size_t i = 0; i < 4 && in->n == before; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s%s", prefix, suffixes[i]);
        if (exists(path))
            add_path(in, NULL, path);
    }
    if (in->n == before)
        collect_stem(in, folder, stem, strlen(stem), ".spt");
    if (in->n == before)
        collect_stem(in, folder, stem, strlen(stem), ".h5");
    free(folder);
    return in->n > before ? 0 : -ENOENT;
}

int inputs__expand(struct inputs *in, const char *const *words, size_t n, enum inputs_kind kind, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < n && !rc; i++) {
        struct stat st;

        if (!stat(words[i], &st)) {
            rc = S_ISDIR(st.st_mode) ? expand_folder(in, words[i], kind, err) : add_path(in, NULL, words[i]);
        } else {
            int code = errno;

            rc = code == ENOENT ? expand_prefix(in, words[i], kind) : -code;
            if (rc)
                err__set(err, -rc, "%s: cannot be opened: %s", words[i], strerror(code));
        }
        if (rc == -ENOMEM)
            err__set(err, ENOMEM, "out of memory");
    }
    return rc;
}

/* ---- the newest ------------------------------------------------------------------------------------------------------ */
static bool is_profile(const char *name)
{
    return name[0] != '.' && (ends_with(name, ".h5") || ends_with(name, ".scope") || ends_with(name, ".spt"));
}

static bool is_profile_or_samples(const char *name)
{
    return is_profile(name) || is_samples(name);
}

static bool newer(const struct stat *a, const struct stat *b)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
    return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* Of files of one stem and second the merged one tells most. */
static const char *choose_newest(const struct inputs *all)
{
    const char *best = NULL;
    struct stat st, best_st = {0};

    for (size_t i = 0; i < all->n; i++) {
        if (stat(all->paths[i], &st) || !S_ISREG(st.st_mode))
            continue;
        if (!best || newer(&st, &best_st)) {
            best = all->paths[i];
            best_st = st;
        }
    }
    return best;
}

static int with_its_ranks(struct inputs *in, const char *newest, enum inputs_kind kind)
{
    static const char *const suffixes[] = {".sps", ".spt", ".h5"};
    char whole[4096];
    size_t len = 0;
    unsigned s;

    for (s = 0; s < 3 && !len; s++)
        len = rank_stem(newest, suffixes[s]);
    if (!len)
        return add_path(in, NULL, newest);
    snprintf(whole, sizeof(whole), "%.*s.h5", (int)len, newest);
    if (kind == INPUTS_PROFILES && exists(whole))
        return add_path(in, NULL, whole);
    return collect_stem(in, ".", newest, len, suffixes[s - 1]);
}

int inputs__newest(struct inputs *in, enum inputs_kind kind, struct err *err)
{
    struct inputs all = {0};
    const char *newest;
    int rc = collect(&all, ".", kind == INPUTS_SAMPLES ? is_profile_or_samples : is_profile);

    newest = rc ? NULL : choose_newest(&all);
    if (rc)
        err__set(err, -rc, "the current folder cannot be read: %s", strerror(-rc));
    else if (!newest)
        rc = err__set(err, ENOENT, "no profile in this folder (*.h5, *.spt, *.scope): name a file, or record one: "
                                   "scope-bpf -- COMMAND");
    else
        rc = with_its_ranks(in, newest, kind);
    inputs__deinit(&all);
    return rc;
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */
static int32_t highest_rank(const struct profile *p)
{
    int32_t highest = -1;

    for (uint32_t i = 0; i < p->n_ranks; i++)
        highest = p->ranks[i].number > highest ? p->ranks[i].number : highest;
    return highest;
}

static void renumber_one(struct profile *p, int32_t from, int32_t to)
{
    for (uint32_t i = 0; i < p->n_losses; i++)
        p->losses[i].rank = p->losses[i].rank == from ? to : p->losses[i].rank;
    for (uint32_t i = 0; i < p->n_processes; i++)
        p->processes[i].rank = p->processes[i].rank == from ? to : p->processes[i].rank;
}

static int renumber(const struct profile *into, struct profile *from, struct err *err)
{
    int32_t next = highest_rank(into), mine = highest_rank(from);

    next = next > mine ? next : mine;
    for (uint32_t i = 0; i < from->n_ranks; i++) {
        if (profile__find_rank(into, from->ranks[i].number) < 0)
            continue;
        if (next == INT32_MAX)
            return err__set(err, EOVERFLOW, "no rank number is free above %d", next);
        renumber_one(from, from->ranks[i].number, ++next);
        from->ranks[i].number = next;
    }
    return 0;
}

int inputs__load(const struct inputs *in, const struct load_options *options, struct profile **ret, struct err *err)
{
    struct profile *all = NULL, *one = NULL;
    int rc = 0;

    for (size_t i = 0; i < in->n && !rc; i++) {
        one = NULL;
        rc = format__read_file(in->paths[i], &one, err);
        if (!rc && !all) {
            all = one;
            one = NULL;
        } else if (!rc) {
            rc = options->renumber ? renumber(all, one, err) : 0;
            rc = rc ? rc : profile__merge(all, one, err);
        }
        profile__destroy(one);
        if (!rc && options->progress)
            options->progress(options->arg, i + 1, in->n);
    }
    if (rc) {
        profile__destroy(all);
        return rc;
    }
    *ret = all;
    return 0;
}
