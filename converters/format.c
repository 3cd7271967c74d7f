// SPDX-License-Identifier: GPL-2.0-only
#include "format.h"
#include "formats/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Formats are tried in this order when a file is read. */
const struct format *const formats[] = {
    &format_h5,    &format_capture,    &format_spt,   &format_sps,    &format_json,   &format_json_gz,
    &format_prof,  &format_speedscope, &format_trace, &format_folded, &format_likwid, &format_svg,
    &format_pprof, &format_csv,        &format_html,  NULL,
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !memcmp(text + n - m, end, m);
}

const struct format *format__by_suffix(const char *path)
{
    const struct format *best = NULL;

    for (size_t i = 0; formats[i]; i++) {
        if (ends_with(path, formats[i]->suffix) &&
            (!best || strlen(formats[i]->suffix) > strlen(best->suffix)))
            best = formats[i];
    }
    return best;
}

const struct format *format__by_name(const char *name)
{
    for (size_t i = 0; formats[i]; i++) {
        if (!strcmp(formats[i]->name, name))
            return formats[i];
    }
    return NULL;
}

bool write_options__rank(const struct write_options *options, int32_t number)
{
    if (!options || !options->ranks)
        return true;
    for (uint32_t i = 0; i < options->n_ranks; i++) {
        if (options->ranks[i] == number)
            return true;
    }
    return false;
}

void write_options__say(const struct write_options *options, const char *what)
{
    if (options && options->say)
        options->say(options->say_arg, what);
}

/* What a path is when it is no regular file, for messages. */
const char *format__kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR: return "a folder";
    case S_IFLNK: return "a symbolic link";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    }
    return "no regular file";
}

int input__open(struct input *in, const char *path, struct err *err)
{
    struct stat st;
    ssize_t got;

    *in = (struct input){.path = path, .fd = -1};
    /* O_NONBLOCK: a FIFO without a writer must not hold us. */
    in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (in->fd < 0)
        return err__set(err, errno, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(in->fd, &st) || !S_ISREG(st.st_mode)) {
        close(in->fd);
        in->fd = -1;
        return err__set(err, EINVAL, "%s: is %s, not a file that can be read", path,
                        format__kind_of(st.st_mode));
    }
    in->size = (uint64_t)st.st_size;
    got = pread(in->fd, in->head, sizeof(in->head), 0);
    if (got < 0) {
        int code = errno;

        close(in->fd);
        in->fd = -1;
        return err__set(err, code, "%s: cannot be read: %s", path, strerror(code));
    }
    return 0;
}

static int no_format(const struct input *in, struct err *err)
{
    if (!in->size)
        return err__set(err, EINVAL, "%s: is empty, not a profile", in->path);
    return err__set(err, EINVAL,
                    "%s: is no profile that is known here (its first bytes fit no format; it may be damaged)",
                    in->path);
}

int format__read_file(const char *path, struct profile **ret, struct err *err)
{
    struct profile *p = NULL;
    const struct format *format = NULL;
    struct input in;
    int code = input__open(&in, path, err);

    if (code)
        return code;
    for (size_t i = 0; formats[i] && !format; i++) {
        if (formats[i]->match && formats[i]->match(&in))
            format = formats[i];
    }
    if (!format)
        code = no_format(&in, err);
    else if (profile__create(&p))
        code = err__set(err, ENOMEM, "%s: not enough memory", path);
    else
        code = format->read(&in, p, err);
    close(in.fd);
    if (code) {
        profile__destroy(p);
        return code;
    }
    p->source = profile__text(p, format->name, strlen(format->name));
    *ret = p;
    return 0;
}
