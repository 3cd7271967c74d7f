/* SPDX-License-Identifier: GPL-2.0-only */
#include "usdt/elf_symbol.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_MAX (16u << 20)

/* The bytes of a section, ending in NUL; NULL and *ret_error. */
static char *section_bytes(const struct elf_file *file, const struct elf_section *s, int *ret_error)
{
    if (s->size > TABLE_MAX || s->offset > elf_file__size(file) || s->size > elf_file__size(file) - s->offset) {
        *ret_error = s->size > TABLE_MAX ? -E2BIG : -EBADMSG;
        return NULL;
    }
    char *bytes = malloc(s->size + 1);
    if (!bytes) {
        *ret_error = -ENOMEM;
        return NULL;
    }
    *ret_error = elf_file__read(file, s->offset, bytes, s->size, NULL);
    if (*ret_error) {
        free(bytes);
        return NULL;
    }
    bytes[s->size] = '\0';
    return bytes;
}

static int search(const Elf64_Sym *symbols, size_t n, const char *strings, size_t strings_len, const char *name,
                  uint64_t *ret_vaddr)
{
    for (size_t i = 0; i < n; i++)
        if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < strings_len &&
            !strcmp(strings + symbols[i].st_name, name)) {
            *ret_vaddr = symbols[i].st_value;
            return 0;
        }
    return -ENOENT;
}

int elf_symbol__find(const struct elf_file *file, const char *name, uint64_t *ret_vaddr)
{
    size_t n_sections;
    const struct elf_section *sections = elf_file__sections(file, &n_sections);
    const struct elf_section *table = elf_file__section(file, ".dynsym");
    int r = -ENOENT;

    if (!table || table->type != SHT_DYNSYM || table->link >= n_sections)
        return r;
    char *symbols = section_bytes(file, table, &r);
    char *strings = symbols ? section_bytes(file, &sections[table->link], &r) : NULL;
    if (strings)
        r = search((const Elf64_Sym *)(const void *)symbols, table->size / sizeof(Elf64_Sym), strings,
                   sections[table->link].size, name, ret_vaddr);
    free(symbols);
    free(strings);
    return r;
}
