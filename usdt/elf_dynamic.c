// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the loader reads of a file: PT_INTERP, PT_DYNAMIC, and the build-id out of PT_NOTE. All of
 * it through segments, as the loader does: section headers may be gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "usdt/bytes.h"
#include "usdt/elf_private.h"

#define MAX_STRING  4096u
#define MAX_DYNAMIC (1u << 20)
#define MAX_NEEDED  4096u
#define MAX_NOTES   (64u << 10)

struct string_table {
    uint64_t offset, size; /* in the file */
};

/* A new string of at most MAX_STRING bytes that ends in NUL before `end`, or NULL. */
static char *read_string(const struct elf_file *file, uint64_t offset, uint64_t end)
{
    char text[MAX_STRING];
    size_t size;

    if (end > file->size)
        end = file->size;
    if (offset >= end)
        return NULL;
    size = end - offset < sizeof(text) ? (size_t)(end - offset) : sizeof(text);
    if (elf_file__read(file, offset, text, size, NULL) < 0 || !memchr(text, 0, size))
        return NULL;
    return strdup(text);
}

static const Elf64_Phdr *find_program(const struct elf_file *file, uint32_t type)
{
    for (size_t i = 0; i < file->n_programs; i++) {
        if (file->programs[i].p_type == type)
            return &file->programs[i];
    }
    return NULL;
}

static void read_interp(struct elf_file *file)
{
    const Elf64_Phdr *program = find_program(file, PT_INTERP);

    if (program && elf_file__holds(file, program->p_offset, program->p_filesz))
        file->interp = read_string(file, program->p_offset, program->p_offset + program->p_filesz);
}

static void find_build_id(struct elf_file *file, struct bytes notes, size_t align)
{
    uint32_t name_size, desc_size, type;
    const uint8_t *name, *desc;

    while (bytes__u32(&notes, &name_size) && bytes__u32(&notes, &desc_size) && bytes__u32(&notes, &type)) {
        if (!bytes__take(&notes, name_size, &name) ||
            !bytes__skip(&notes, -(size_t)(12 + (size_t)name_size) & (align - 1)) ||
            !bytes__take(&notes, desc_size, &desc))
            return;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) && desc_size &&
            desc_size <= sizeof(file->build_id)) {
            memcpy(file->build_id, desc, desc_size);
            file->build_id_size = desc_size;
            return;
        }
        if (!bytes__skip(&notes, -(size_t)desc_size & (align - 1)))
            return;
    }
}

static int read_build_id(struct elf_file *file, struct err *err)
{
    for (size_t i = 0; i < file->n_programs && !file->build_id_size; i++) {
        const Elf64_Phdr *program = &file->programs[i];
        void *notes;
        int r;

        if (program->p_type != PT_NOTE || program->p_filesz > MAX_NOTES ||
            !elf_file__holds(file, program->p_offset, program->p_filesz))
            continue;
        r = elf_file__read_new(file, program->p_offset, program->p_filesz, &notes, err);
        if (r < 0)
            return r;
        find_build_id(file, (struct bytes){notes, program->p_filesz}, program->p_align == 8 ? 8 : 4);
        free(notes);
    }
    return 0;
}

static void add_needed(struct elf_file *file, char *name)
{
    struct elf_dynamic *dynamic = &file->dynamic;
    const char **needed;

    if (!name || dynamic->n_needed == MAX_NEEDED)
        goto damage;
    needed = reallocarray(dynamic->needed, dynamic->n_needed + 1, sizeof(*needed));
    if (!needed)
        goto damage;
    dynamic->needed = needed;
    dynamic->needed[dynamic->n_needed++] = name;
    return;
damage:
    free(name);
    dynamic->damaged = true;
}

static void set_string(struct elf_file *file, const char **field, char *text)
{
    if (!text || *field) {
        file->dynamic.damaged = true;
        free(text);
        return;
    }
    *field = text;
}

static void read_entry(struct elf_file *file, const Elf64_Dyn *entry, const struct string_table *strings)
{
    uint64_t offset = strings->offset + entry->d_un.d_val, end = strings->offset + strings->size;
    const char **field = NULL;

    switch (entry->d_tag) {
    case DT_NEEDED: break;
    case DT_SONAME: field = &file->dynamic.soname; break;
    case DT_RPATH: field = &file->dynamic.rpath; break;
    case DT_RUNPATH: field = &file->dynamic.runpath; break;
    case DT_FLAGS_1: file->dynamic.no_default_lib = entry->d_un.d_val & DF_1_NODEFLIB; return;
    default: return;
    }
    if (entry->d_un.d_val >= strings->size)
        file->dynamic.damaged = true;
    else if (field)
        set_string(file, field, read_string(file, offset, end));
    else
        add_needed(file, read_string(file, offset, end));
}

static struct string_table find_strings(struct elf_file *file, const Elf64_Dyn *entries, size_t count)
{
    struct string_table strings = {0};
    uint64_t address = 0;

    for (size_t i = 0; i < count; i++) {
        if (entries[i].d_tag == DT_STRTAB)
            address = entries[i].d_un.d_ptr;
        if (entries[i].d_tag == DT_STRSZ)
            strings.size = entries[i].d_un.d_val;
    }
    if (elf_file__vaddr_to_offset(file, address, &strings.offset) < 0 ||
        !elf_file__holds(file, strings.offset, strings.size)) {
        file->dynamic.damaged = true;
        strings.size = 0;
    }
    return strings;
}

static int read_dynamic(struct elf_file *file, struct err *err)
{
    const Elf64_Phdr *program = find_program(file, PT_DYNAMIC);
    struct string_table strings;
    Elf64_Dyn *entries;
    size_t count;
    int r;

    if (!program || !program->p_filesz)
        return 0;
    if (program->p_filesz > MAX_DYNAMIC || !elf_file__holds(file, program->p_offset, program->p_filesz)) {
        file->dynamic.damaged = true;
        return 0;
    }
    r = elf_file__read_new(file, program->p_offset, program->p_filesz, (void **)&entries, err);
    if (r < 0)
        return r;
    for (count = 0; count < program->p_filesz / sizeof(*entries); count++) {
        if (entries[count].d_tag == DT_NULL)
            break;
    }
    strings = find_strings(file, entries, count);
    for (size_t i = 0; i < count; i++)
        read_entry(file, &entries[i], &strings);
    free(entries);
    return 0;
}

int elf_dynamic__read(struct elf_file *file, struct err *err)
{
    int r = read_dynamic(file, err);

    read_interp(file);
    return r < 0 ? r : read_build_id(file, err);
}

void elf_dynamic__deinit(struct elf_file *file)
{
    struct elf_dynamic *dynamic = &file->dynamic;

    for (size_t i = 0; i < dynamic->n_needed; i++)
        free((char *)dynamic->needed[i]);
    free(dynamic->needed);
    free((char *)dynamic->soname);
    free((char *)dynamic->rpath);
    free((char *)dynamic->runpath);
    free(file->interp);
}
