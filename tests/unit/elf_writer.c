// SPDX-License-Identifier: GPL-2.0-only
/* Writes the program files that the tests read: right ones, to be damaged by the test itself. */
#include "elf_writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT_OFFSET 0x1000u
#define DATA_OFFSET 0x2000u

const uint8_t elf_site[11] = {0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};

static const char section_names[] = "\0.text\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

enum { NAME_TEXT = 1, NAME_NOTES = 7, NAME_BASE = 21, NAME_NAMES = 35 };

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

void byte_buffer__add(struct byte_buffer *buffer, const void *bytes, size_t size)
{
    while (buffer->size + size > buffer->capacity) {
        buffer->capacity = buffer->capacity ? buffer->capacity * 2 : 256;
        buffer->bytes = must(realloc(buffer->bytes, buffer->capacity));
    }
    if (size)
        memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

void byte_buffer__deinit(struct byte_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct byte_buffer){0};
}

static void add_u32(struct byte_buffer *buffer, uint32_t value)
{
    byte_buffer__add(buffer, &value, sizeof(value));
}

static void add_u64(struct byte_buffer *buffer, uint64_t value)
{
    byte_buffer__add(buffer, &value, sizeof(value));
}

static void add_string(struct byte_buffer *buffer, const char *text)
{
    byte_buffer__add(buffer, text, strlen(text) + 1);
}

static void pad(struct byte_buffer *buffer, size_t align)
{
    while (buffer->size % align)
        byte_buffer__add(buffer, "", 1);
}

void elf_note__raw(struct byte_buffer *notes, const char *owner, uint32_t type, const void *desc,
                   size_t desc_size)
{
    add_u32(notes, (uint32_t)strlen(owner) + 1);
    add_u32(notes, (uint32_t)desc_size);
    add_u32(notes, type);
    add_string(notes, owner);
    pad(notes, 4);
    byte_buffer__add(notes, desc, desc_size);
    pad(notes, 4);
}

void elf_note__probe(struct byte_buffer *notes, uint64_t location, uint64_t base, uint64_t semaphore,
                     const char *provider, const char *name, const char *args)
{
    struct byte_buffer desc = {0};

    add_u64(&desc, location);
    add_u64(&desc, base);
    add_u64(&desc, semaphore);
    add_string(&desc, provider);
    add_string(&desc, name);
    add_string(&desc, args);
    elf_note__raw(notes, "stapsdt", 3, desc.bytes, desc.size);
    byte_buffer__deinit(&desc);
}

void elf_note__source(struct byte_buffer *notes, uint64_t location, uint32_t line, const char *file)
{
    struct byte_buffer desc = {0};

    add_u64(&desc, location);
    add_u32(&desc, line);
    add_string(&desc, file);
    elf_note__raw(notes, "scope", 0x5301, desc.bytes, desc.size);
    byte_buffer__deinit(&desc);
}

void elf_note__scope(struct byte_buffer *notes, uint64_t location, const char *operand)
{
    struct byte_buffer desc = {0};

    add_u64(&desc, location);
    add_string(&desc, operand);
    elf_note__raw(notes, "scope", 0x5302, desc.bytes, desc.size);
    byte_buffer__deinit(&desc);
}

uint64_t elf_plan__site(struct elf_plan *plan, size_t offset)
{
    memcpy(plan->text + offset, elf_site, sizeof(elf_site));
    return ELF_TEXT + offset;
}

static Elf64_Phdr load(uint32_t flags, uint64_t offset, uint64_t vaddr, uint64_t size)
{
    return (Elf64_Phdr){
        .p_type = PT_LOAD,
        .p_flags = PF_R | flags,
        .p_offset = offset,
        .p_vaddr = vaddr,
        .p_filesz = size,
        .p_memsz = size,
        .p_align = 0x1000,
    };
}

/* A string into the table behind the data; returns what a dynamic entry says of it. */
static uint64_t add_name(struct byte_buffer *strings, const char *name)
{
    uint64_t offset = strings->size;

    add_string(strings, name);
    return offset;
}

static void add_dynamic(struct byte_buffer *dynamic, int64_t tag, uint64_t value)
{
    add_u64(dynamic, (uint64_t)tag);
    add_u64(dynamic, value);
}

/* The strings stand behind the entries; both behind the data segment's first bytes. */
static void build_dynamic(const struct elf_plan *plan, struct byte_buffer *dynamic,
                          struct byte_buffer *strings, uint64_t strings_vaddr)
{
    add_string(strings, "");
    for (size_t i = 0; i < 8 && plan->needed[i]; i++)
        add_dynamic(dynamic, DT_NEEDED, add_name(strings, plan->needed[i]));
    if (plan->soname)
        add_dynamic(dynamic, DT_SONAME, add_name(strings, plan->soname));
    if (plan->rpath)
        add_dynamic(dynamic, DT_RPATH, add_name(strings, plan->rpath));
    if (plan->runpath)
        add_dynamic(dynamic, DT_RUNPATH, add_name(strings, plan->runpath));
    add_dynamic(dynamic, DT_STRTAB, strings_vaddr);
    add_dynamic(dynamic, DT_STRSZ, strings->size);
    add_dynamic(dynamic, DT_NULL, 0);
}

static void place(struct byte_buffer *file, size_t offset, const void *bytes, size_t size)
{
    while (file->size < offset)
        byte_buffer__add(file, "", 1);
    byte_buffer__add(file, bytes, size);
}

static void add_segments(const struct elf_plan *plan, struct byte_buffer *file, Elf64_Phdr *segments)
{
    static const uint8_t build_id[] = {4,   0,   0,   0, 8,    0,    0,    0,    3, 0, 0, 0,
                                       'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4};
    uint64_t strings_vaddr = ELF_DATA + 0x1000;
    struct byte_buffer dynamic = {0}, strings = {0};
    size_t data_size;

    build_dynamic(plan, &dynamic, &strings, strings_vaddr);
    place(file, TEXT_OFFSET, plan->text, sizeof(plan->text));
    place(file, DATA_OFFSET, build_id, sizeof(build_id));
    place(file, DATA_OFFSET + 0x100, dynamic.bytes, dynamic.size);
    place(file, DATA_OFFSET + 0x800, plan->interp ? plan->interp : "",
          plan->interp ? strlen(plan->interp) + 1 : 1);
    place(file, DATA_OFFSET + 0x1000, strings.bytes, strings.size);
    data_size = file->size - DATA_OFFSET;
    segments[PLAN_LOAD_TEXT] = load(PF_X, TEXT_OFFSET, ELF_TEXT, ELF_TEXT_SIZE);
    segments[PLAN_LOAD_DATA] = load(PF_W, DATA_OFFSET, ELF_DATA, data_size);
    segments[PLAN_LOAD_DATA].p_memsz += 0x1000;
    segments[PLAN_BUILD_ID] = load(0, DATA_OFFSET, ELF_DATA, sizeof(build_id));
    segments[PLAN_BUILD_ID].p_type = PT_NOTE;
    segments[PLAN_BUILD_ID].p_align = 4;
    segments[PLAN_DYNAMIC] = load(PF_W, DATA_OFFSET + 0x100, ELF_DATA + 0x100, dynamic.size);
    segments[PLAN_DYNAMIC].p_type = PT_DYNAMIC;
    segments[PLAN_INTERP] =
        load(0, DATA_OFFSET + 0x800, ELF_DATA + 0x800, plan->interp ? strlen(plan->interp) + 1 : 1);
    segments[PLAN_INTERP].p_type = plan->interp ? PT_INTERP : PT_NULL;
    byte_buffer__deinit(&dynamic);
    byte_buffer__deinit(&strings);
}

static void add_sections(const struct elf_plan *plan, struct byte_buffer *file, Elf64_Shdr *sections)
{
    sections[PLAN_TEXT] = (Elf64_Shdr){
        .sh_name = NAME_TEXT,
        .sh_type = SHT_PROGBITS,
        .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
        .sh_addr = ELF_TEXT,
        .sh_offset = TEXT_OFFSET,
        .sh_size = ELF_TEXT_SIZE,
    };
    pad(file, 8);
    if (plan->notes)
        sections[PLAN_NOTES] = (Elf64_Shdr){
            .sh_name = NAME_NOTES,
            .sh_type = SHT_NOTE,
            .sh_offset = file->size,
            .sh_size = plan->notes_size,
        };
    byte_buffer__add(file, plan->notes, plan->notes ? plan->notes_size : 0);
    if (plan->base)
        sections[PLAN_BASE] = (Elf64_Shdr){
            .sh_name = NAME_BASE,
            .sh_type = SHT_PROGBITS,
            .sh_flags = SHF_ALLOC,
            .sh_addr = plan->base,
            .sh_offset = DATA_OFFSET,
            .sh_size = 1,
        };
    sections[PLAN_NAMES] = (Elf64_Shdr){
        .sh_name = NAME_NAMES,
        .sh_type = SHT_STRTAB,
        .sh_offset = file->size,
        .sh_size = sizeof(section_names),
    };
    byte_buffer__add(file, section_names, sizeof(section_names));
    pad(file, 8);
}

struct elf_image elf_plan__build(const struct elf_plan *plan)
{
    Elf64_Phdr segments[PLAN_SEGMENTS] = {{0}};
    Elf64_Shdr sections[PLAN_SECTIONS] = {{0}};
    struct byte_buffer file = {0};
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = plan->type ? plan->type : ET_EXEC,
        .e_machine = plan->machine ? plan->machine : EM_X86_64,
        .e_version = EV_CURRENT,
        .e_entry = ELF_TEXT,
        .e_phoff = sizeof(header),
        .e_ehsize = sizeof(header),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = PLAN_SEGMENTS,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = PLAN_SECTIONS,
        .e_shstrndx = PLAN_NAMES,
    };

    add_segments(plan, &file, segments);
    add_sections(plan, &file, sections);
    header.e_shoff = file.size;
    byte_buffer__add(&file, sections, sizeof(sections));
    memcpy(file.bytes, &header, sizeof(header));
    memcpy(file.bytes + sizeof(header), segments, sizeof(segments));
    return (struct elf_image){file.bytes, file.size};
}

void elf_image__deinit(struct elf_image *image)
{
    free(image->bytes);
    *image = (struct elf_image){0};
}

Elf64_Ehdr *elf_image__header(struct elf_image *image)
{
    return (Elf64_Ehdr *)image->bytes;
}

Elf64_Phdr *elf_image__segment(struct elf_image *image, enum elf_plan_segment segment)
{
    return (Elf64_Phdr *)(image->bytes + sizeof(Elf64_Ehdr)) + segment;
}

Elf64_Shdr *elf_image__section(struct elf_image *image, enum elf_plan_section section)
{
    return (Elf64_Shdr *)(image->bytes + elf_image__header(image)->e_shoff) + section;
}

int elf_image__open(const void *bytes, size_t size)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);

    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    return fd;
}
