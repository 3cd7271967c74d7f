/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_LD_CACHE_H
#define SCOPE_USDT_LD_CACHE_H

#include "usdt/elf_file.h"

/* glibc's /etc/ld.so.cache (the format of 2.2 and later, also behind the older one). */
struct ld_cache;

/* NULL where it is no cache, damaged, above 64 MiB, or without memory: a loader goes on without. */
struct ld_cache *ld_cache__read(int fd);
void ld_cache__free(struct ld_cache *cache); /* accepts NULL */

/*
 * The path of a library for this machine, or NULL. hwcaps: the CPU's glibc-hwcaps folders, best
 * first, NULL behind the last; an entry of a folder that is not listed does not count.
 */
const char *ld_cache__find(const struct ld_cache *cache, enum elf_machine machine, const char *const *hwcaps,
                           const char *name);

#endif
