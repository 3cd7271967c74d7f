// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/site_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCAN_MAX   (256u << 20)
#define SCAN_CHUNK (256u << 10)

static const uint8_t x86_nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t x86_site[] = {0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00};
static const uint8_t aarch64_nop[] = {0x1f, 0x20, 0x03, 0xd5};

static bool starts_with(const uint8_t *bytes, size_t size, const uint8_t *wanted, size_t wanted_size)
{
    return size >= wanted_size && !memcmp(bytes, wanted, wanted_size);
}

static bool find_nop(enum elf_machine machine, uint64_t location, const uint8_t *bytes, size_t size,
                     struct site *site)
{
    if (machine == ELF_AARCH64) {
        site->nop = SITE_NOP4_AARCH64;
        site->nop_len = sizeof(aarch64_nop);
        return !(location & 3) && starts_with(bytes, size, aarch64_nop, sizeof(aarch64_nop));
    }
    if (starts_with(bytes, size, x86_site, sizeof(x86_site))) {
        site->nop = SITE_NOP1_NOP10;
        site->nop_len = sizeof(x86_site);
    } else if (starts_with(bytes, size, x86_site, 1)) {
        site->nop = SITE_NOP1;
        site->nop_len = 1;
    } else if (starts_with(bytes, size, x86_nop5, sizeof(x86_nop5))) {
        site->nop = SITE_NOP5;
        site->nop_len = sizeof(x86_nop5);
    } else {
        return false;
    }
    return true;
}

static enum site_verdict refuse_bytes(const uint8_t *bytes, size_t size, char *why)
{
    char hex[3 * 5 + 1] = "";

    for (size_t i = 0; i < size && i < 5; i++)
        snprintf(hex + 3 * i, 4, " %02x", bytes[i]);
    snprintf(why, SITE_WHY_SIZE, "the site is no nop (bytes%s)", hex);
    return SITE_REFUSED;
}

static enum site_verdict check_semaphore(const struct elf_file *file, uint64_t semaphore, struct site *site,
                                         char *why)
{
    const struct elf_segment *segment = elf_file__segment_at(file, semaphore, 2);

    site->ref_ctr_offset = 0;
    if (!semaphore)
        return SITE_GOOD;
    if (!segment || !segment->writable || semaphore & 1) {
        snprintf(why, SITE_WHY_SIZE, "its semaphore at %#llx %s", (unsigned long long)semaphore,
                 !segment             ? "has no bytes in the file"
                 : !segment->writable ? "is not in a writable segment"
                                      : "is not aligned");
        return SITE_REFUSED;
    }
    site->ref_ctr_offset = semaphore - segment->vaddr + segment->offset;
    return SITE_GOOD;
}

enum site_verdict site__check(const struct elf_file *file, uint64_t location, uint64_t semaphore,
                              struct site *site, char why[static SITE_WHY_SIZE])
{
    const struct elf_segment *segment = elf_file__segment_at(file, location, 1);
    uint8_t bytes[sizeof(x86_site)];
    uint64_t size;

    if (!segment || !segment->executable)
        return SITE_DROPPED;
    size = segment->filesz - (location - segment->vaddr);
    if (size > sizeof(bytes))
        size = sizeof(bytes);
    site->vaddr = location;
    site->file_offset = location - segment->vaddr + segment->offset;
    if (elf_file__read(file, site->file_offset, bytes, size, NULL) < 0) {
        snprintf(why, SITE_WHY_SIZE, "the bytes at the site cannot be read");
        return SITE_REFUSED;
    }
    if (!find_nop(elf_file__machine(file), location, bytes, size, site))
        return refuse_bytes(bytes, size, why);
    return check_semaphore(file, semaphore, site, why);
}

static size_t count_in(const uint8_t *bytes, size_t size)
{
    size_t count = 0;
    const uint8_t *end = bytes + size, *at = bytes;

    while ((at = memmem(at, (size_t)(end - at), x86_site, sizeof(x86_site)))) {
        count++;
        at += sizeof(x86_site);
    }
    return count;
}

size_t site__count_patterns(const struct elf_file *file)
{
    size_t n_segments, count = 0, overlap = sizeof(x86_site) - 1;
    const struct elf_segment *segments = elf_file__segments(file, &n_segments);
    uint8_t *chunk = malloc(SCAN_CHUNK);
    uint64_t left = SCAN_MAX;

    if (elf_file__machine(file) != ELF_X86_64)
        n_segments = 0;
    for (size_t i = 0; chunk && i < n_segments; i++) {
        uint64_t done = 0, total = segments[i].filesz < left ? segments[i].filesz : left;

        if (!segments[i].executable)
            continue;
        left -= total;
        while (done < total) {
            size_t size = total - done < SCAN_CHUNK ? (size_t)(total - done) : SCAN_CHUNK;

            if (elf_file__read(file, segments[i].offset + done, chunk, size, NULL) < 0)
                break;
            count += count_in(chunk, size);
            /* A pattern may lie across two chunks. */
            done += size < SCAN_CHUNK ? size : size - overlap;
        }
    }
    free(chunk);
    return count;
}
