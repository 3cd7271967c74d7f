/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_TESTS_ELF_WRITER_H
#define SCOPE_TESTS_ELF_WRITER_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow. */
struct byte_buffer {
    uint8_t *bytes;
    size_t size, capacity;
};

void byte_buffer__add(struct byte_buffer *buffer, const void *bytes, size_t size);
void byte_buffer__deinit(struct byte_buffer *buffer);

/* A note with any owner, type and description; sizes as they are. */
void elf_note__raw(struct byte_buffer *notes, const char *owner, uint32_t type, const void *desc,
                   size_t desc_size);
/* The three kinds that usdt/NOTES.md describes. */
void elf_note__probe(struct byte_buffer *notes, uint64_t location, uint64_t base, uint64_t semaphore,
                     const char *provider, const char *name, const char *args);
void elf_note__source(struct byte_buffer *notes, uint64_t location, uint32_t line, const char *file);
void elf_note__scope(struct byte_buffer *notes, uint64_t location, const char *operand);

/*
 * A small program file: a code segment at ELF_TEXT (read, execute), a data segment at ELF_DATA
 * (read, write), the notes, and section headers.
 */
#define ELF_TEXT      0x401000u
#define ELF_DATA      0x602000u
#define ELF_TEXT_SIZE 0x400u
#define ELF_DATA_SIZE 0x100u

struct elf_plan {
    uint16_t type;     /* 0: ET_EXEC */
    uint16_t machine;  /* 0: x86-64 */
    uint64_t base;     /* address of .stapsdt.base; 0: no such section */
    const void *notes; /* NULL: no .note.stapsdt */
    size_t notes_size;
    uint8_t text[ELF_TEXT_SIZE]; /* the first byte stands at ELF_TEXT */
    const char *interp;          /* NULL: static */
    const char *soname, *runpath, *rpath;
    const char *needed[8];
};

enum elf_plan_section {
    PLAN_NULL,
    PLAN_TEXT,
    PLAN_NOTES,
    PLAN_BASE,
    PLAN_NAMES,
    PLAN_SECTIONS,
};

enum elf_plan_segment {
    PLAN_LOAD_TEXT,
    PLAN_LOAD_DATA,
    PLAN_BUILD_ID,
    PLAN_DYNAMIC,
    PLAN_INTERP,
    PLAN_SEGMENTS,
};

extern const uint8_t elf_site[11]; /* nop and nop10 of x86-64 */

/* Puts a site's bytes at ELF_TEXT + offset; returns its address. */
uint64_t elf_plan__site(struct elf_plan *plan, size_t offset);

struct elf_image {
    uint8_t *bytes;
    size_t size;
};

struct elf_image elf_plan__build(const struct elf_plan *plan);
void elf_image__deinit(struct elf_image *image);
Elf64_Ehdr *elf_image__header(struct elf_image *image);
Elf64_Phdr *elf_image__segment(struct elf_image *image, enum elf_plan_segment segment);
Elf64_Shdr *elf_image__section(struct elf_image *image, enum elf_plan_section section);

/* A file in memory with these bytes; the caller closes it. */
int elf_image__open(const void *bytes, size_t size);

#endif
