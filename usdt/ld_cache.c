// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/ld_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "usdt/bytes.h"

#define MAX_CACHE        (64u << 20)
#define HEADER_SIZE      48u
#define ENTRY_SIZE       24u
#define OLD_HEADER_SIZE  16u
#define OLD_ENTRY_SIZE   12u
#define EXTENSION_MAGIC  0xeaa42174u
#define EXTENSION_HWCAPS 1u
#define HWCAP_EXTENSION  ((uint64_t)1 << 62)
#define FLAGS_X86_64     0x0303u /* libc6, 64 bits */
#define FLAGS_AARCH64    0x0a03u

static const char magic_old[] = "ld.so-1.7.0";
static const char magic_new[] = "glibc-ld.so.cache1.1";

struct ld_cache {
    char *bytes;       /* of the file, and a NUL */
    const char *start; /* of the new format: offsets count from here */
    size_t size;
    uint32_t n_entries;
    struct bytes hwcaps; /* string offsets, u32 each */
};

static struct bytes part(const struct ld_cache *cache, uint64_t offset, uint64_t size)
{
    if (offset > cache->size || size > cache->size - offset)
        return (struct bytes){0};
    return (struct bytes){(const uint8_t *)cache->start + offset, (size_t)size};
}

/* The new format stands behind the entries of the old one, aligned to 8. */
static size_t find_start(const char *bytes, size_t size)
{
    struct bytes header = {(const uint8_t *)bytes + 12, 4};
    uint32_t count = 0;

    if (size < OLD_HEADER_SIZE || memcmp(bytes, magic_old, sizeof(magic_old) - 1))
        return 0;
    bytes__u32(&header, &count);
    return (OLD_HEADER_SIZE + (size_t)count * OLD_ENTRY_SIZE + 7) & ~(size_t)7;
}

static void find_hwcaps(struct ld_cache *cache, uint32_t extension)
{
    struct bytes b = part(cache, extension, 8);
    uint32_t magic = 0, count = 0;

    if (!extension || !bytes__u32(&b, &magic) || !bytes__u32(&b, &count) || magic != EXTENSION_MAGIC)
        return;
    b = part(cache, (uint64_t)extension + 8, (uint64_t)count * 16);
    while (b.left) {
        uint32_t tag = 0, flags = 0, offset = 0, size = 0;

        bytes__u32(&b, &tag);
        bytes__u32(&b, &flags);
        bytes__u32(&b, &offset);
        bytes__u32(&b, &size);
        if (tag == EXTENSION_HWCAPS)
            cache->hwcaps = part(cache, offset, size);
    }
}

static bool parse(struct ld_cache *cache, size_t file_size)
{
    size_t start = find_start(cache->bytes, file_size);
    struct bytes b;
    uint32_t extension = 0;

    if (start > file_size || file_size - start < HEADER_SIZE)
        return false;
    cache->start = cache->bytes + start;
    cache->size = file_size - start;
    if (memcmp(cache->start, magic_new, sizeof(magic_new) - 1))
        return false;
    b = part(cache, sizeof(magic_new) - 1, HEADER_SIZE - (sizeof(magic_new) - 1));
    bytes__u32(&b, &cache->n_entries);
    bytes__skip(&b, 8); /* size of the strings, flags */
    bytes__u32(&b, &extension);
    if ((cache->size - HEADER_SIZE) / ENTRY_SIZE < cache->n_entries)
        return false;
    find_hwcaps(cache, extension);
    return true;
}

static bool read_all(int fd, char *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, bytes + done, size - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    bytes[size] = '\0';
    return true;
}

struct ld_cache *ld_cache__read(int fd)
{
    struct ld_cache *cache = calloc(1, sizeof(*cache));
    struct stat status;
    size_t size;

    if (!cache)
        return NULL;
    if (fstat(fd, &status) == 0 && status.st_size > 0 && status.st_size <= MAX_CACHE) {
        size = (size_t)status.st_size;
        cache->bytes = malloc(size + 1);
        if (cache->bytes && read_all(fd, cache->bytes, size) && parse(cache, size))
            return cache;
    }
    ld_cache__free(cache);
    return NULL;
}

void ld_cache__free(struct ld_cache *cache)
{
    if (!cache)
        return;
    free(cache->bytes);
    free(cache);
}

/* A string of the cache; it ends in NUL at the latest behind the file. */
static const char *string_at(const struct ld_cache *cache, uint32_t offset)
{
    return offset < cache->size ? cache->start + offset : "";
}

/* How good the folder of an entry is: 0 best, n_hwcaps no folder, -1 not for this CPU. */
static int rank_hwcap(const struct ld_cache *cache, const char *const *hwcaps, uint64_t hwcap)
{
    struct bytes at = cache->hwcaps;
    uint32_t string;
    int rank = 0;

    if (!hwcap) {
        while (hwcaps[rank])
            rank++;
        return rank;
    }
    if (!(hwcap & HWCAP_EXTENSION) || !bytes__skip(&at, (size_t)(uint32_t)hwcap * 4) ||
        !bytes__u32(&at, &string))
        return -1;
    for (; hwcaps[rank]; rank++) {
        if (!strcmp(hwcaps[rank], string_at(cache, string)))
            return rank;
    }
    return -1;
}

const char *ld_cache__find(const struct ld_cache *cache, enum elf_machine machine, const char *const *hwcaps,
                           const char *name)
{
    uint32_t wanted = machine == ELF_X86_64 ? FLAGS_X86_64 : FLAGS_AARCH64;
    struct bytes b = part(cache, HEADER_SIZE, (uint64_t)cache->n_entries * ENTRY_SIZE);
    const char *best = NULL;
    int best_rank = 0;

    while (b.left) {
        uint32_t flags = 0, key = 0, value = 0, version = 0;
        uint64_t hwcap = 0;
        int rank;

        bytes__u32(&b, &flags);
        bytes__u32(&b, &key);
        bytes__u32(&b, &value);
        bytes__u32(&b, &version);
        bytes__u64(&b, &hwcap);
        if (flags != wanted || strcmp(string_at(cache, key), name))
            continue;
        rank = rank_hwcap(cache, hwcaps, hwcap);
        if (rank < 0 || (best && rank >= best_rank))
            continue;
        best = string_at(cache, value);
        best_rank = rank;
    }
    return best;
}
