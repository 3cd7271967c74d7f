/* SPDX-License-Identifier: GPL-2.0-only */
#include "output_set.h"

#include "capture.h"
#include "formats/formats.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FORMATS = 8, LONGEST_BASE = 200 }; /* room for ".", ".new", "_rank00000", suffix, and a temporary name's */

struct output_set {
    char *prefix, *folder, *base; /* folder "." or without a last slash; base: the last part of prefix */
    char *capture, *kept;         /* <prefix>.scope; what an older one is called until the new set is there */
    char *stem;                   /* <folder>/.<base>.new: new files until all are complete */
    const struct format *formats[MAX_FORMATS];
    size_t n_formats;
    bool moved;                   /* this run gave an older one that name */
    char **files;                 /* names as the user knows them */
    size_t n_files;
};

/* ---- names ------------------------------------------------------------------------------------------------- */

static int parse_formats(struct output_set *set, const char *list, struct err *err)
{
    for (const char *at = list; *at; at += *at == ',') {
        char name[32];
        size_t len = strcspn(at, ",");
        snprintf(name, sizeof(name), "%.*s", (int)len, at);
        const struct format *format = format__by_name(name);
        if (!format || !format->write)
            return err__set(err, EINVAL, "cannot write the format '%s'", name);
        if (set->n_formats == MAX_FORMATS)
            return err__set(err, EINVAL, "too many formats: %s", list);
        set->formats[set->n_formats++] = format;
        at += len;
    }
    return 0;
}

static int split(struct output_set *set, struct err *err)
{
    const char *slash = strrchr(set->prefix, '/');
    const char *base = slash ? slash + 1 : set->prefix;

    if (!*base || !strcmp(base, ".") || !strcmp(base, ".."))
        return err__set(err, EINVAL, "--output %s: names a folder; add the first part of a file name, e.g. %s%sscope",
                        set->prefix, set->prefix, *base ? "/" : "");
    if (strlen(base) > LONGEST_BASE)
        return err__set(err, ENAMETOOLONG, "--output: a file name of more than %d bytes is too long", LONGEST_BASE);
    set->base = strdup(base);
    if (!slash)
        set->folder = strdup(".");
    else
        set->folder = slash == set->prefix ? strdup("/") : strndup(set->prefix, (size_t)(slash - set->prefix));
    int made = set->folder && set->base;
    const char *before = made && slash ? set->folder : "", *between = slash && slash != set->prefix ? "/" : "";
    if (!made || asprintf(&set->capture, "%s.scope", set->prefix) < 0 ||
        asprintf(&set->kept, "%s.scope.old", set->prefix) < 0 ||
        asprintf(&set->stem, "%s%s.%s.new", before, between, set->base) < 0)
        return err__set(err, ENOMEM, "no memory");
    return 0;
}

int output_set__create(const char *prefix, const char *list, struct output_set **ret, struct err *err)
{
    struct output_set *set = calloc(1, sizeof(*set));
    int r = -ENOMEM;

    if (set)
        set->prefix = strdup(prefix);
    if (!set || !set->prefix)
        err__set(err, ENOMEM, "no memory");
    else
        r = parse_formats(set, list, err);
    if (!r)
        r = split(set, err);
    if (r) {
        output_set__destroy(set);
        return r;
    }
    *ret = set;
    return 0;
}

static void forget_files(struct output_set *set)
{
    for (size_t i = 0; i < set->n_files; i++)
        free(set->files[i]);
    free(set->files);
    set->files = NULL;
    set->n_files = 0;
}

void output_set__destroy(struct output_set *set)
{
    if (!set)
        return;
    forget_files(set);
    free(set->prefix);
    free(set->folder);
    free(set->base);
    free(set->capture);
    free(set->kept);
    free(set->stem);
    free(set);
}

const char *output_set__capture(const struct output_set *set)
{
    return set->capture;
}

const char *output_set__folder(const struct output_set *set)
{
    return set->folder;
}

char *const *output_set__files(const struct output_set *set, size_t *ret_n)
{
    *ret_n = set->n_files;
    return set->files;
}

/* A word for a shell: as it is where that is safe, else in single quotes. */
static void quote(const char *word, char *out, size_t size)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,=";
    size_t n = 0;

    if (word[strspn(word, safe)] == 0 && word[0] != '-') {
        snprintf(out, size, "%s", word);
        return;
    }
    n += (size_t)snprintf(out, size, "%s'", word[0] == '-' ? "./" : "");
    for (const char *c = word; *c && n + 6 < size; c++) {
        const char one[2] = {*c, 0};
        n += (size_t)snprintf(out + n, size - n, "%s", *c == '\'' ? "'\\''" : one);
    }
    snprintf(out + n, size - n, "'");
}

void output_set__convert_command(const struct output_set *set, char *text, size_t size)
{
    char capture[400], profile[400], *name;

    quote(set->capture, capture, sizeof(capture));
    if (asprintf(&name, "%s.h5", set->prefix) < 0)
        name = NULL;
    quote(name ? name : "scope.h5", profile, sizeof(profile));
    free(name);
    snprintf(text, size, "scope-report convert %s -o %s", capture, profile);
}

/* ---- rank files that are there ----------------------------------------------------------------------------- */

/* "<base>_rank<5 digits or more>.spt|.sps": a name that only a set of this prefix has. */
static bool is_rank_file(const char *name, const char *base)
{
    size_t len = strlen(base), digits = 0;

    if (strncmp(name, base, len) || strncmp(name + len, "_rank", 5))
        return false;
    const char *at = name + len + 5;
    while (isdigit((unsigned char)at[digits]))
        digits++;
    at += digits;
    return digits >= 5 && (!strcmp(at, ".spt") || !strcmp(at, ".sps"));
}

/* Calls each() with the path of every rank file of the folder, until one gives non-zero. */
static int each_rank_file(const struct output_set *set, int (*each)(const struct output_set *, const char *, void *),
                          void *arg)
{
    DIR *folder = opendir(set->folder);
    const struct dirent *entry;
    int r = 0;

    if (!folder)
        return 0; /* a folder that may be written but not listed: there is nothing that we could see */
    while (!r && (entry = readdir(folder))) {
        char *path;
        if (!is_rank_file(entry->d_name, set->base))
            continue;
        size_t prefix = strlen(set->prefix) - strlen(set->base);
        if (asprintf(&path, "%.*s%s", (int)prefix, set->prefix, entry->d_name) < 0) {
            r = -ENOMEM;
            break;
        }
        r = each(set, path, arg);
        free(path);
    }
    closedir(folder);
    return r;
}

static bool has_magic(const char *path)
{
    char head[8] = "";
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ours = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, head, 8) == 8 &&
                (!memcmp(head, "SCOPEPRF", 8) || !memcmp(head, "SCOPESMP", 8));

    if (fd >= 0)
        close(fd);
    return ours;
}

static bool is_new(const struct output_set *set, const char *path)
{
    for (size_t i = 0; i < set->n_files; i++) {
        if (!strcmp(set->files[i], path))
            return true;
    }
    return false;
}

static int remove_old(const struct output_set *set, const char *path, void *arg)
{
    struct stat st;

    (void)arg;
    if (!is_new(set, path) && !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && has_magic(path))
        unlink(path);
    return 0;
}

/* ---- before the run ---------------------------------------------------------------------------------------- */

static const char *user_name(uid_t uid, char number[16])
{
    const struct passwd *pw = getpwuid(uid);

    snprintf(number, 16, "%u", uid);
    return pw ? pw->pw_name : number;
}

static int check_file(const char *path, struct err *err)
{
    struct stat st;
    char number[16];
    int r = format__check_target(path, err);

    if (r || lstat(path, &st))
        return r;
    if (st.st_uid != geteuid())
        return err__set(err, EPERM, "%s: belongs to user %s and is not replaced; give another name with -o", path,
                        user_name(st.st_uid, number));
    return 0;
}

static int check_rank_file(const struct output_set *set, const char *path, void *arg)
{
    (void)set;
    return check_file(path, arg);
}

static int check_folder(const struct output_set *set, struct err *err)
{
    struct stat st;
    char user[16], owner[16];

    if (stat(set->folder, &st))
        return err__set(err, errno, errno == ENOENT ? "%s: there is no folder of that name; make it (mkdir -p %s) or "
                        "give another place with -o" : "%s: cannot be looked into as user %s; give another place with -o",
                        set->folder, errno == ENOENT ? set->folder : user_name(geteuid(), user));
    if (!S_ISDIR(st.st_mode))
        return err__set(err, ENOTDIR, "%s: is no folder; give another place with -o", set->folder);
    if (!faccessat(AT_FDCWD, set->folder, W_OK | X_OK, AT_EACCESS))
        return 0;
    int error = errno;
    char *me = strdup(user_name(geteuid(), user));
    int r = err__set(err, error, "%s: user %s, who the files are for, cannot write into this folder of user %s (%s); "
                     "give another place with -o, or --run-as USER", set->folder, me ? me : user,
                     user_name(st.st_uid, owner), strerror(error));
    free(me);
    return r;
}

int output_set__check(const struct output_set *set, struct err *err)
{
    int r = check_folder(set, err);

    for (size_t i = 0; i < set->n_formats && !r; i++) {
        char *path;
        if (set->formats[i]->flags & FORMAT_PER_RANK)
            continue;
        if (asprintf(&path, "%s%s", set->prefix, set->formats[i]->suffix) < 0)
            return err__set(err, ENOMEM, "no memory");
        r = check_file(path, err);
        free(path);
    }
    return r ? r : each_rank_file(set, check_rank_file, err);
}

/* ---- the capture ------------------------------------------------------------------------------------------- */

static void written_mark(uint8_t mark[CAPTURE_HEADER_BYTES])
{
    capture_block_header(mark, CAPTURE_WRITTEN, 0, NULL, 0);
}

static bool was_written(int fd, off_t size)
{
    uint8_t mark[CAPTURE_HEADER_BYTES], last[CAPTURE_HEADER_BYTES];

    written_mark(mark);
    return size >= (off_t)sizeof(last) && pread(fd, last, sizeof(last), size - (off_t)sizeof(last)) == sizeof(last) &&
           !memcmp(mark, last, sizeof(last));
}

/* An older capture that was only kept on request goes to a side until the new set is complete. */
static int move_aside(struct output_set *set, struct err *err)
{
    struct stat st;
    int fd = open(set->kept, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    /* What a run left there that did not live to remove it may go; anything else is not ours. */
    bool ours = fd < 0 ? errno == ENOENT : !fstat(fd, &st) && S_ISREG(st.st_mode) && was_written(fd, st.st_size);

    if (fd >= 0)
        close(fd);
    if (!ours)
        return err__set(err, EEXIST, "%s: is in the way of the older %s; remove one of them", set->kept, set->capture);
    if (rename(set->capture, set->kept))
        return err__set(err, errno, "%s: cannot be moved out of the way: %s", set->capture, strerror(errno));
    set->moved = true;
    return 0;
}

/* A capture of that name is there.  0: it is out of the way. */
static int clear_old_capture(struct output_set *set, struct err *err)
{
    struct stat st;
    char command[900];
    int r = check_file(set->capture, err);
    int fd = r ? -1 : open(set->capture, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (r)
        return r;
    if (fd < 0 || fstat(fd, &st)) {
        r = errno == ENOENT ? 0 : err__set(err, errno, "%s: cannot be opened: %s", set->capture, strerror(errno));
    } else if (flock(fd, LOCK_EX | LOCK_NB)) {
        r = err__set(err, EEXIST, "%s: another scope-bpf is writing it now; give another name with -o", set->capture);
    } else if (was_written(fd, st.st_size)) {
        r = move_aside(set, err);
    } else if (st.st_size == 0) {
        unlink(set->capture);
    } else {
        output_set__convert_command(set, command, sizeof(command));
        r = err__set(err, EEXIST, "%s: is a recording without a profile yet and is not overwritten; type: %s   "
                     "(then remove it), or give another name with -o", set->capture, command);
    }
    if (fd >= 0)
        close(fd);
    return r;
}

int output_set__open_capture(struct output_set *set, int *ret_fd, struct err *err)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        struct stat st;
        int fd = open(set->capture, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        /* Between the two somebody else may have taken it for an empty one of a dead run, and removed it. */
        if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink == 1) {
            *ret_fd = fd;
            return 0;
        }
        if (fd >= 0)
            close(fd); /* somebody else was faster: the next round says so */
        else if (errno != EEXIST)
            return err__set(err, errno, "%s: cannot be made: %s; give another name with -o", set->capture,
                            strerror(errno));
        int r = clear_old_capture(set, err);
        if (r)
            return r;
    }
    return err__set(err, EBUSY, "%s: cannot be made: somebody else keeps making it", set->capture);
}

static bool is_still_there(const struct output_set *set, int fd)
{
    struct stat ours, there;

    return !fstat(fd, &ours) && !lstat(set->capture, &there) && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

void output_set__discard_capture(struct output_set *set, int fd)
{
    if (is_still_there(set, fd) && !unlink(set->capture) && set->moved)
        set->moved = rename(set->kept, set->capture) != 0;
}

int output_set__drop_capture(struct output_set *set, int fd, bool keep, struct err *err)
{
    uint8_t mark[CAPTURE_HEADER_BYTES];

    if (set->moved)
        unlink(set->kept);
    if (!is_still_there(set, fd))
        return err__set(err, ESTALE, "%s: is not the file that was recorded into any more: left alone", set->capture);
    if (!keep)
        return unlink(set->capture) ? err__set(err, errno, "%s: cannot be removed: %s", set->capture, strerror(errno))
                                    : 0;
    /* Without the mark the next run would ask for a profile first: no harm. */
    off_t end = lseek(fd, 0, SEEK_END);
    written_mark(mark);
    if (end >= 0 && pwrite(fd, mark, sizeof(mark), end) != (ssize_t)sizeof(mark) && ftruncate(fd, end))
        return err__set(err, errno, "%s: cannot be completed: %s", set->capture, strerror(errno));
    return 0;
}

/* ---- after the run ----------------------------------------------------------------------------------------- */

/* The name that a file gets in the end, from the one that it was written under; NULL: no memory. */
static char *final_name(const struct output_set *set, const char *written)
{
    char *path;

    return asprintf(&path, "%s%s", set->prefix, written + strlen(set->stem)) < 0 ? NULL : path;
}

/* Writers know the name that they write under; the user knows the other one. */
static void name_in_message(const struct output_set *set, struct err *err)
{
    const char *at = err ? strstr(err->text, set->stem) : NULL;
    struct err text;

    if (!at)
        return;
    snprintf(text.text, sizeof(text.text), "%.*s%s%s", (int)(at - err->text), err->text, set->prefix,
             at + strlen(set->stem));
    *err = text;
}

static int add_files(struct output_set *set, char **files, size_t n)
{
    char **all = reallocarray(set->files, set->n_files + n + 1, sizeof(*all));

    if (!all)
        return -ENOMEM;
    set->files = all;
    memcpy(all + set->n_files, files, n * sizeof(*files));
    set->n_files += n;
    return 0;
}

/* Writes one format under the stem; the names are in set->files then, still those of the stem. */
static int write_format(struct output_set *set, const struct format *format, const struct profile *p,
                        const struct write_options *options, struct err *err)
{
    char **files = NULL, *out;
    size_t n = 0;

    if (asprintf(&out, "%s%s", set->stem, format->suffix) < 0)
        return err__set(err, ENOMEM, "no memory");
    int r = format__write_files(p, format, out, options, &files, &n, err);
    free(out);
    if (r == -ENODATA && format->flags & FORMAT_PER_RANK)
        return 0; /* no rank has anything for this format */
    if (!r && add_files(set, files, n))
        r = err__set(err, ENOMEM, "no memory");
    for (size_t i = 0; r && i < n; i++) {
        unlink(files[i]);
        free(files[i]);
    }
    free(files);
    name_in_message(set, err);
    return r;
}

/* Gives every new file its name.  The checks of the start are made again: a run may take days. */
static int publish(struct output_set *set, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < set->n_files && !r; i++) {
        char *path = final_name(set, set->files[i]);
        r = path ? check_file(path, err) : err__set(err, ENOMEM, "no memory");
        free(path);
    }
    for (size_t i = 0; i < set->n_files && !r; i++) {
        char *path = final_name(set, set->files[i]);
        if (!path)
            return err__set(err, ENOMEM, "no memory");
        if (rename(set->files[i], path)) {
            r = err__set(err, errno, "%s: cannot be replaced: %s", path, strerror(errno));
            free(path);
        } else {
            free(set->files[i]);
            set->files[i] = path;
        }
    }
    return r;
}

static void sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

int output_set__write(struct output_set *set, const struct profile *p, const struct write_options *options,
                      struct err *err)
{
    int r = 0;

    forget_files(set);
    for (size_t i = 0; i < set->n_formats && !r; i++)
        r = write_format(set, set->formats[i], p, options, err);
    if (!r)
        r = publish(set, err);
    if (r) {
        for (size_t i = 0; i < set->n_files; i++) {
            if (!strncmp(set->files[i], set->stem, strlen(set->stem)))
                unlink(set->files[i]);
        }
        forget_files(set);
        return r;
    }
    each_rank_file(set, remove_old, NULL);
    sync_folder(set->folder);
    return 0;
}
