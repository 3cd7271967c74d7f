/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_ELF_PRIVATE_H
#define SCOPE_USDT_ELF_PRIVATE_H

#include <elf.h>

#include "usdt/elf_file.h"

/* The body of an ELF file, for elf_file.c and elf_dynamic.c only. */
struct elf_file {
    char *name;
    int fd;
    uint64_t size;
    dev_t dev;
    ino_t ino;
    Elf64_Ehdr header;
    Elf64_Phdr *programs;
    size_t n_programs;
    struct elf_segment *segments;
    size_t n_segments;
    struct elf_section *sections;
    size_t n_sections;
    char *section_names; /* ends in NUL behind its size */
    uint64_t section_names_size;
    const char *section_damage;
    char *interp;
    struct elf_dynamic dynamic;
    uint8_t build_id[64];
    size_t build_id_size;
};

/* Whether the file has size bytes at offset. */
static inline bool elf_file__holds(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

/* Bytes of the file in new memory, with a NUL behind them. */
int elf_file__read_new(const struct elf_file *file, uint64_t offset, size_t size, void **ret,
                       struct err *err);

/* Loader, dynamic section and build-id. What is damaged there is left out; only -ENOMEM or a
 * failing read is an error. */
int elf_dynamic__read(struct elf_file *file, struct err *err);
void elf_dynamic__deinit(struct elf_file *file);

#endif
