/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_SITE_CHECK_H
#define SCOPE_USDT_SITE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "usdt/elf_file.h"
#include "usdt/regions.h"

enum site_verdict {
    SITE_GOOD,
    SITE_DROPPED, /* outside the code: the linker left the function out and its note in */
    SITE_REFUSED,
};

#define SITE_WHY_SIZE 160

/*
 * Looks at the bytes of a site before anybody writes a breakpoint there: it must lie in an
 * executable segment and be a nop, its semaphore in a writable segment. Fills the place, nop and
 * semaphore of *site, or why with one line.
 */
enum site_verdict site__check(const struct elf_file *file, uint64_t location, uint64_t semaphore,
                              struct site *site, char why[static SITE_WHY_SIZE]);

/* How often the code holds the 11 bytes of our x86-64 site: what remains of probes without notes. */
size_t site__count_patterns(const struct elf_file *file);

#endif
