// SPDX-License-Identifier: GPL-2.0-only
/* Names that only the running program knows. MODE [basic]:
 *   basic N      N [100] calls each: a block and a pair with built names; the pair's end has another pointer; a name of
 *                300 bytes (255 count); recursion under one name
 *   untouched    names in file-backed pages that the program has never read, 64 KiB apart: one call each
 *   edge         a name that ends with its page, with and without NUL, the next page absent
 *   many N       N [70000] different names, one call each */
#include "scope_probe.h"
#include "truth.h"

#include <stdint.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAR 65536 /* the kernel maps up to 64 KiB around a fault */
#define FAR_NAMES 16

/* in .rodata, each on pages of its own */
static const char far_names[4][FAR] __attribute__((aligned(FAR))) = {"rodata 0", "rodata 1", "rodata 2", "rodata 3"};

__attribute__((noinline)) static void block(const char *name)
{
    SP_PROBE_DYNAMIC(name);
    __asm__ volatile("");
}

__attribute__((noinline)) static void recurse(const char *name, int n)
{
    SP_PROBE_DYNAMIC(name);
    if (n > 1)
        recurse(name, n - 1);
}

static void basic(long n)
{
    char text[512], copy[512];
    char long_name[301];

    memset(long_name, 'L', 300);
    long_name[300] = 0;
    for (long i = 0; i < n; i++) {
        snprintf(text, sizeof text, "block %ld", i % 3);
        block(text);
        snprintf(text, sizeof text, "pair \"%ld\" \\ %%", i % 2);
        SP_BEGIN_DYNAMIC(text);
        block(long_name);
        strcpy(copy, text);
        memset(text, '-', 8); /* the end's name counts, not what became of the begin's */
        SP_END_DYNAMIC(copy);
        recurse("recursive", 3);
    }
    truth_open("dynamic");
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "block %d", i);
        truth_calls(text, n / 3 + (n % 3 > i));
    }
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "pair \"%d\" \\ %%", i);
        truth_calls(text, n / 2 + (n % 2 > i));
    }
    long_name[255] = 0;
    truth_calls(long_name, n);
    truth_calls("recursive", 3 * n);
    truth_end();
}

/* how many of these pages are mapped already: the truth says whether the test was one */
static long present(const char *const *names, int n)
{
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry;
    long count = 0;

    if (fd < 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)names[i] / 4096 * 8)) == sizeof entry)
            count += entry >> 63;
    close(fd);
    return count;
}

static char *map_names(void)
{
    char path[] = "/tmp/dynamic-names-XXXXXX";
    char name[32];
    int fd = mkstemp(path);
    char *map;

    if (fd < 0 || unlink(path) || ftruncate(fd, (off_t)FAR * FAR_NAMES))
        return NULL;
    for (int i = 0; i < FAR_NAMES; i++) {
        snprintf(name, sizeof name, "mapped %d", i);
        if (pwrite(fd, name, strlen(name), (off_t)FAR * i) < 0)
            return NULL;
    }
    map = (char *)mmap(NULL, (size_t)FAR * FAR_NAMES, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}

static int untouched(void)
{
    const char *names[4 + FAR_NAMES];
    char text[32];
    char *map = map_names();
    long before;

    if (!map) {
        perror("dynamic: cannot map a file of names");
        return 1;
    }
    for (int i = 0; i < 4; i++)
        names[i] = far_names[i];
    for (int i = 0; i < FAR_NAMES; i++)
        names[4 + i] = map + (size_t)FAR * (size_t)i;
    before = present(names, 4 + FAR_NAMES);
    for (int i = 0; i < 4 + FAR_NAMES; i++)
        block(names[i]);
    truth_open("dynamic");
    for (int i = 0; i < 4 + FAR_NAMES; i++) {
        snprintf(text, sizeof text, i < 4 ? "rodata %d" : "mapped %d", i < 4 ? i : i - 4);
        truth_calls(text, 1);
    }
    truth_mid();
    truth_number("present_before", before);
    truth_close();
    return 0;
}

static int edge(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *map = (char *)mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *end = map + page;

    if (map == MAP_FAILED || munmap(end, (size_t)page)) {
        perror("dynamic: cannot make a page without a neighbour");
        return 1;
    }
    memcpy(end - 9, "edge nul", 9);
    block(end - 9);
    memcpy(end - 9, "edge open", 9);
    block(end - 9);
    truth_open("dynamic");
    truth_calls("edge nul", 1);
    truth_calls("edge open", 1);
    truth_end();
    return 0;
}

static void many(long n)
{
    char text[64];

    for (long i = 0; i < n; i++) {
        snprintf(text, sizeof text, "name %ld", i);
        block(text);
    }
    truth_open("dynamic");
    truth_mid();
    truth_number("names", n);
    truth_number("calls", n);
    truth_close();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "basic";

    if (!strcmp(mode, "basic"))
        basic(truth_arg(argc, argv, 2, 100));
    else if (!strcmp(mode, "untouched"))
        return untouched();
    else if (!strcmp(mode, "edge"))
        return edge();
    else if (!strcmp(mode, "many"))
        many(truth_arg(argc, argv, 2, 70000));
    else {
        fprintf(stderr, "dynamic: unknown mode %s\n", mode);
        return 2;
    }
    return 0;
}
