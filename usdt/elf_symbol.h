/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_ELF_SYMBOL_H
#define SCOPE_USDT_ELF_SYMBOL_H

#include <stdint.h>

#include "usdt/elf_file.h"

/*
 * The address (vaddr) of a symbol that the file defines for others (.dynsym). Linear: for a handful of names in files
 * as small as a loader. 0; -ENOENT no such symbol or no section headers, -EBADMSG, -E2BIG tables that cannot be,
 * -ENOMEM, errno of the read.
 */
int elf_symbol__find(const struct elf_file *file, const char *name, uint64_t *ret_vaddr);

#endif
