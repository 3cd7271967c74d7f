// SPDX-License-Identifier: GPL-2.0-only
/* Files appear whole or not at all: temporary siblings, fsync, then renames. */
#include "format.h"
#include "formats/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct target {
    char *path, *temporary; /* temporary NULL: not made, or renamed already */
    int fd;                 /* of the temporary file */
    int32_t rank;           /* of a per-rank file */
};

struct targets {
    const struct format *format;
    struct target *list;
    size_t n;
    bool per_rank;
};

/* What is being written, for the handler of a signal that ends the program. */
static struct targets *volatile at_work;

void format__discard_temporaries(void)
{
    struct targets *t = at_work;

    for (size_t i = 0; t && i < t->n; i++) {
        if (t->list[i].temporary)
            unlink(t->list[i].temporary);
    }
}

/* The name is out of the handler's sight before it is freed. */
static void forget_temporary(struct target *target)
{
    char *name = target->temporary;

    target->temporary = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    free(name);
}

static void deinit_targets(struct targets *t)
{
    at_work = NULL;
    for (size_t i = 0; i < t->n; i++) {
        if (t->list[i].temporary)
            unlink(t->list[i].temporary);
        if (t->list[i].fd >= 0)
            close(t->list[i].fd);
        free(t->list[i].temporary);
        free(t->list[i].path);
    }
    free(t->list);
}

static bool add_target(struct targets *t, const char *path, int32_t rank)
{
    struct target *list = reallocarray(t->list, t->n + 1, sizeof(*list));
    char *copy = strdup(path);

    if (list)
        t->list = list;
    if (!list || !copy) {
        free(copy);
        return false;
    }
    t->list[t->n++] = (struct target){copy, NULL, -1, rank};
    return true;
}

char *format__rank_path(const struct format *format, const char *out, int32_t rank)
{
    size_t n = strlen(out), m = strlen(format->suffix);
    int digits = format->flags & FORMAT_SHORT_RANK ? 1 : 5;
    char *path;

    if (n >= m && !memcmp(out + n - m, format->suffix, m))
        n -= m;
    if (asprintf(&path, "%.*s_rank%0*d%s", (int)n, out, digits, rank, format->suffix) < 0)
        return NULL;
    return path;
}

static int name_targets(struct targets *t, const struct profile *p, const char *out,
                        const struct write_options *options, struct err *err)
{
    bool exact =
        t->format->flags & FORMAT_ONE_RANK_EXACT && options && options->ranks && options->n_ranks == 1;

    t->per_rank = t->format->flags & FORMAT_PER_RANK;
    if (!t->per_rank)
        return add_target(t, out, -1) ? 0 : err__set(err, ENOMEM, "%s: not enough memory", out);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        int32_t number = p->ranks[i].number;
        char *path;
        bool added;

        if (!write_options__rank(options, number))
            continue;
        path = exact ? strdup(out) : format__rank_path(t->format, out, number);
        added = path && add_target(t, path, number);
        free(path);
        if (!added)
            return err__set(err, ENOMEM, "%s: not enough memory", out);
    }
    if (!t->n)
        return err__set(err, ENODATA, "%s: not written: the profile has no rank to write", out);
    return 0;
}

int format__check_target(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st)) {
        if (errno == ENOENT)
            return 0;
        return err__set(err, errno, "%s: cannot be written: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode))
        return err__set(err, EEXIST, "%s: not written: it is %s; give another name or remove it", path,
                        format__kind_of(st.st_mode));
    if (st.st_nlink > 1)
        return err__set(err, EEXIST,
                        "%s: not written: it has %lu names (hard links); give another name or remove it",
                        path, (unsigned long)st.st_nlink);
    return 0;
}

/* A sibling of the target that no one else has: same folder, so that the rename is atomic. */
static int make_temporary(struct target *target, struct err *err)
{
    const char *slash = strrchr(target->path, '/');
    int folder = slash ? (int)(slash - target->path) + 1 : 0;
    mode_t mask = umask(0);
    sigset_t all, old;
    char *name;

    umask(mask);
    if (asprintf(&name, "%.*s.scope-%ld-XXXXXX", folder, target->path, (long)getpid()) < 0)
        return err__set(err, ENOMEM, "%s: not enough memory", target->path);
    sigfillset(&all);
    /* No file without a name that format__discard_temporaries knows. */
    pthread_sigmask(SIG_BLOCK, &all, &old);
    target->fd = mkostemp(name, O_CLOEXEC);
    if (target->fd < 0) {
        int code = errno;

        pthread_sigmask(SIG_SETMASK, &old, NULL);
        free(name);
        return err__set(err, code, "%s: cannot be written: %s", target->path, strerror(code));
    }
    target->temporary = name;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (fchmod(target->fd, 0666 & ~mask))
        return err__set(err, errno, "%s: cannot be written: %s", target->path, strerror(errno));
    return 0;
}

/* Writers know the temporary name only: people want to read the target's. */
static void rename_in_message(const struct target *target, struct err *err)
{
    size_t n = strlen(target->temporary);
    char rest[sizeof(err->text)];

    if (!err)
        return;
    if (!strncmp(err->text, target->temporary, n)) {
        snprintf(rest, sizeof(rest), "%s", err->text + n);
        snprintf(err->text, sizeof(err->text), "%.256s%.250s", target->path, rest);
    }
}

static int write_target(struct targets *t, struct target *target, const struct profile *p,
                        const struct write_options *options, struct err *err)
{
    struct write_options own = options ? *options : (struct write_options){0};
    int code = make_temporary(target, err);

    if (code)
        return code;
    if (t->per_rank) {
        own.ranks = &target->rank;
        own.n_ranks = 1;
    }
    code = t->format->write(p, target->temporary, &own, err);
    if (code < 0)
        rename_in_message(target, err);
    if (code == FORMAT_NOTHING) {
        unlink(target->temporary);
        forget_temporary(target);
    }
    return code;
}

/* The file that was written must still be the one that was made: a folder that others can write may change.
 */
static int settle(struct target *target, struct err *err)
{
    struct stat ours, there;

    if (fsync(target->fd))
        return err__set(err, errno, "%s: cannot be written: %s", target->path, strerror(errno));
    if (fstat(target->fd, &ours) || lstat(target->temporary, &there) || ours.st_ino != there.st_ino ||
        ours.st_dev != there.st_dev)
        return err__set(err, ESTALE, "%s: not written: somebody changed its temporary file", target->path);
    close(target->fd);
    target->fd = -1;
    return 0;
}

static int publish(struct target *target, struct err *err)
{
    if (rename(target->temporary, target->path))
        return err__set(err, errno, "%s: cannot be replaced: %s", target->path, strerror(errno));
    forget_temporary(target);
    return 0;
}

/* A rename is on disk only when its folder is; where a folder cannot be synced, nothing better can be done.
 */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

static int write_all(struct targets *t, const struct profile *p, const struct write_options *options,
                     const char *out, struct err *err)
{
    size_t written = 0;
    int code = 0;

    for (size_t i = 0; i < t->n && !code; i++)
        code = format__check_target(t->list[i].path, err);
    for (size_t i = 0; i < t->n && code >= 0; i++) {
        code = write_target(t, &t->list[i], p, options, err);
        written += code == 0;
    }
    if (code < 0)
        return code;
    if (!written)
        return err__set(err, ENODATA, "%s: not written: the ranks chosen hold nothing for a %s", out,
                        t->format->suffix);
    code = 0;
    for (size_t i = 0; i < t->n && !code; i++)
        code = t->list[i].temporary ? settle(&t->list[i], err) : 0;
    for (size_t i = 0; i < t->n && !code; i++)
        code = t->list[i].temporary ? publish(&t->list[i], err) : 0;
    return code;
}

static bool list_files(struct targets *t, char ***ret_files, size_t *ret_n)
{
    char **files = calloc(t->n + 1, sizeof(*files));
    size_t n = 0;

    if (!files)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        if (t->list[i].fd == -1 && !t->list[i].temporary) {
            files[n++] = t->list[i].path;
            t->list[i].path = NULL;
        }
    }
    *ret_files = files;
    *ret_n = n;
    return true;
}

int format__write_files(const struct profile *p, const struct format *format, const char *out,
                        const struct write_options *options, char ***ret_files, size_t *ret_n,
                        struct err *err)
{
    struct targets t = {.format = format};
    int code;

    if (!format->write)
        return err__set(err, ENOTSUP, "%s: not written: the format %s can only be read", out, format->name);
    if (!*out)
        return err__set(err, EINVAL, "the name of the output is empty");
    code = name_targets(&t, p, out, options, err);
    at_work = &t;
    if (!code)
        code = write_all(&t, p, options, out, err);
    if (!code)
        sync_folder(out);
    if (!code && ret_files && !list_files(&t, ret_files, ret_n))
        code = err__set(err, ENOMEM, "%s: not enough memory", out);
    deinit_targets(&t);
    return code;
}
