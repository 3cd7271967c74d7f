// SPDX-License-Identifier: GPL-2.0-only
#include "column.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INSERTION_RUN 12

int64_t column__nothing[1];
static char *folder;

void column__set_folder(const char *path)
{
    char *copy = path ? strdup(path) : NULL;

    free(folder);
    folder = copy;
}

static int open_unlinked(const char *where)
{
    char name[4096];
    int fd = open(where, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

    if (fd >= 0)
        return fd;
    if ((size_t)snprintf(name, sizeof(name), "%s/.scope-column-XXXXXX", where) >= sizeof(name))
        return -ENAMETOOLONG;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(name);
    return fd;
}

static int open_spill_file(void)
{
    const char *env = getenv("TMPDIR");
    const char *places[] = {env && *env ? env : NULL, folder, "/var/tmp", "/tmp"};
    int fd = -ENOENT;

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (!places[i])
            continue;
        fd = open_unlinked(places[i]);
        if (fd >= 0)
            return fd;
    }
    return fd;
}

void column__init(struct column *c, uint32_t width)
{
    *c = (struct column){.width = width, .fd = -1};
}

void column__deinit(struct column *c)
{
    if (!c->width)
        return;
    if (c->fd >= 0) {
        munmap(c->data, c->cap * c->width);
        close(c->fd);
    } else {
        free(c->data);
    }
    column__init(c, c->width);
}

/* A disk that fills up must be an error here: writing to a page without a block behind it is a SIGBUS. */
static int allocate_file(int fd, uint64_t old_bytes, uint64_t bytes)
{
    int code = posix_fallocate(fd, (off_t)old_bytes, (off_t)(bytes - old_bytes));

    return code == EINTR ? allocate_file(fd, old_bytes, bytes) : -code;
}

static int spill(struct column *c, uint64_t bytes)
{
    int fd = open_spill_file(), code;
    void *map;

    if (fd < 0)
        return fd;
    code = allocate_file(fd, 0, bytes);
    map = code ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        close(fd);
        return code ? code : -ENOMEM;
    }
    if (c->n)
        memcpy(map, c->data, c->n * c->width);
    free(c->data);
    c->data = map;
    c->fd = fd;
    return 0;
}

static int grow_file(struct column *c, uint64_t bytes)
{
    uint64_t old_bytes = c->cap * c->width;
    int code = allocate_file(c->fd, old_bytes, bytes);
    void *map;

    if (code)
        return code;
    map = mremap(c->data, old_bytes, bytes, MREMAP_MAYMOVE);
    if (map == MAP_FAILED)
        return -ENOMEM;
    c->data = map;
    return 0;
}

static int grow_heap(struct column *c, uint64_t bytes)
{
    void *data = realloc(c->data, bytes);

    if (!data)
        return -ENOMEM;
    c->data = data;
    return 0;
}

static int set_capacity(struct column *c, uint64_t cap)
{
    uint64_t bytes;
    int code;

    if (__builtin_mul_overflow(cap, c->width, &bytes) || bytes > INT64_MAX)
        return -ENOMEM;
    if (c->fd >= 0)
        code = grow_file(c, bytes);
    else if (bytes > COLUMN_SPILL_BYTES)
        code = spill(c, bytes);
    else
        code = grow_heap(c, bytes);
    if (!code)
        c->cap = cap;
    return code;
}

/* Doubling while small; a quarter more where a doubled file would be felt on the disk. */
static uint64_t next_capacity(const struct column *c)
{
    if (c->cap * c->width < (256u << 20))
        return c->cap ? c->cap * 2 : 64;
    return c->cap + c->cap / 4;
}

int column__extend(struct column *c, uint64_t n)
{
    if (n > c->cap) {
        uint64_t cap = next_capacity(c);
        int code = set_capacity(c, cap > n ? cap : n);

        if (code)
            return code;
    }
    c->n = n;
    return 0;
}

int column__resize(struct column *c, uint64_t n)
{
    uint64_t old = c->n;
    int code = column__extend(c, n);

    if (!code && n > old)
        memset((char *)c->data + old * c->width, 0, (n - old) * c->width);
    return code;
}

void *column__append(struct column *c)
{
    void *at;

    if (c->n == c->cap && set_capacity(c, next_capacity(c)))
        return NULL;
    at = (char *)c->data + c->n++ * c->width;
    memset(at, 0, c->width);
    return at;
}

int column__append_i64(struct column *c, int64_t v)
{
    if (c->n == c->cap) {
        int code = set_capacity(c, next_capacity(c));

        if (code)
            return code;
    }
    ((int64_t *)c->data)[c->n++] = v;
    return 0;
}

int column__append_many(struct column *c, const void *elements, uint64_t n)
{
    uint64_t old = c->n;

    if (n > UINT64_MAX - old)
        return -ENOMEM;
    if (old + n > c->cap) {
        uint64_t cap = next_capacity(c);
        int code = set_capacity(c, cap > old + n ? cap : old + n);

        if (code)
            return code;
    }
    if (n)
        memcpy((char *)c->data + old * c->width, elements, n * c->width);
    c->n = old + n;
    return 0;
}

int column__fill_i64(struct column *c, uint64_t n, int64_t value)
{
    uint64_t old = c->n;
    int code;

    if (n <= old)
        return 0;
    code = column__resize(c, n);
    for (uint64_t i = old; !code && value && i < n; i++)
        column_i64(c)[i] = value;
    return code;
}

struct sorter {
    int (*compare)(const void *a, const void *b, void *arg);
    void *arg;
    size_t width;
    char *spare; /* one element */
};

static void insertion_sort(const struct sorter *s, char *base, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        char *at = base + i * s->width;
        uint64_t to = i;

        while (to > 0 && s->compare(base + (to - 1) * s->width, at, s->arg) > 0)
            to--;
        if (to == i)
            continue;
        memcpy(s->spare, at, s->width);
        memmove(base + (to + 1) * s->width, base + to * s->width, (i - to) * s->width);
        memcpy(base + to * s->width, s->spare, s->width);
    }
}

/* base[0, half) and base[half, n) are sorted: the first is set aside, then both flow back into base. */
static void merge_halves(const struct sorter *s, char *base, uint64_t half, uint64_t n, char *aside)
{
    size_t w = s->width;
    char *left = aside, *left_end = aside + half * w;
    char *right = base + half * w, *right_end = base + n * w;
    char *to = base;

    memcpy(aside, base, half * w);
    while (left < left_end && right < right_end) {
        if (s->compare(left, right, s->arg) <= 0) {
            memcpy(to, left, w);
            left += w;
        } else {
            memcpy(to, right, w);
            right += w;
        }
        to += w;
    }
    memcpy(to, left, (size_t)(left_end - left));
}

/*
 * From the top down: each part is finished before the next is touched, so that only the topmost merges of a
 * column larger than memory go to the disk.
 */
static void merge_sort(const struct sorter *s, char *base, uint64_t n, char *aside)
{
    uint64_t half = n / 2;

    if (n <= INSERTION_RUN) {
        insertion_sort(s, base, n);
        return;
    }
    merge_sort(s, base, half, aside);
    merge_sort(s, base + half * s->width, n - half, aside);
    if (s->compare(base + (half - 1) * s->width, base + half * s->width, s->arg) > 0)
        merge_halves(s, base, half, n, aside);
}

static bool is_sorted(const struct column *c, int (*compare)(const void *, const void *, void *), void *arg)
{
    const char *at = c->data;

    for (uint64_t i = 1; i < c->n; i++, at += c->width) {
        if (compare(at, at + c->width, arg) > 0)
            return false;
    }
    return true;
}

int column__sort(struct column *c, int (*compare)(const void *a, const void *b, void *arg), void *arg)
{
    struct sorter sorter = {compare, arg, c->width, NULL};
    struct column aside;
    int code;

    if (c->n < 2 || is_sorted(c, compare, arg))
        return 0;
    sorter.spare = malloc(c->width);
    if (!sorter.spare)
        return -ENOMEM;
    column__init(&aside, c->width);
    code = set_capacity(&aside, c->n / 2 + 1);
    if (!code)
        merge_sort(&sorter, c->data, c->n, aside.data);
    column__deinit(&aside);
    free(sorter.spare);
    return code;
}
