/* SPDX-License-Identifier: GPL-2.0-only */
#include "converters/views/symbols_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SOURCE (16u << 20)

static bool read_all(struct source *f, int fd, size_t size)
{
    f->bytes = malloc(size + 1);
    while (f->bytes && f->size < size) {
        ssize_t n = read(fd, f->bytes + f->size, size - f->size);

        if (n <= 0)
            break;
        f->size += (size_t)n;
    }
    return f->bytes;
}

static void split_lines(struct source *f)
{
    uint32_t n = 1;

    for (size_t i = 0; i < f->size; i++)
        n += f->bytes[i] == '\n';
    f->lines = calloc((size_t)n + 1, sizeof(*f->lines));
    if (!f->lines)
        return;
    f->n_lines = n;
    n = 1;
    for (size_t i = 0; i < f->size; i++) {
        if (f->bytes[i] == '\n')
            f->lines[n++] = (uint32_t)i + 1;
    }
    f->lines[n] = (uint32_t)f->size + 1;
}

static void load(struct source *f)
{
    int fd = open(f->path.s, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0)
        return;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= MAX_SOURCE &&
        read_all(f, fd, (size_t)st.st_size))
        split_lines(f);
    close(fd);
}

static struct source *find(struct symbols *s, struct text path)
{
    struct source *list;

    for (size_t i = s->n_sources; i-- > 0;) {
        if (s->sources[i].path.len == path.len && !memcmp(s->sources[i].path.s, path.s, path.len))
            return &s->sources[i];
    }
    list = reallocarray(s->sources, s->n_sources + 1, sizeof(*list));
    if (!list)
        return NULL;
    s->sources = list;
    list[s->n_sources] = (struct source){.path = path};
    load(&list[s->n_sources]);
    return &list[s->n_sources++];
}

struct text symbols__source(struct symbols *s, struct text file, int line)
{
    struct source *f = file.s && line > 0 ? find(s, file) : NULL;
    const char *from, *to;

    if (!f || (uint32_t)line > f->n_lines)
        return (struct text){0};
    from = f->bytes + f->lines[line - 1];
    to = f->bytes + f->lines[line] - 1;
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    return (struct text){from, (uint32_t)(to - from)};
}
