/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_ELF_FILE_H
#define SCOPE_USDT_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "usdt/err.h"

/*
 * The bounded reader of program files. A file is hostile and may change or shrink while it is
 * read: every byte comes through pread (no mapping, so no SIGBUS), every count is checked against
 * the file's size before memory is taken for it.
 *
 * Only 64-bit little-endian executables and shared objects for x86-64 and aarch64 are accepted.
 * Errors of open: -ENOEXEC no ELF file, or one of another kind (32 bits, big-endian, an object
 * file, another machine), -EBADMSG damaged (counts or offsets beyond the file), -ENOMEM, or the
 * errno of the read.
 */
struct elf_file;

enum elf_machine {
    ELF_X86_64,
    ELF_AARCH64,
};

/* A PT_LOAD segment; [vaddr, vaddr + filesz) is at [offset, offset + filesz) in the file. */
struct elf_segment {
    uint64_t offset, vaddr, filesz, memsz;
    bool executable, writable;
};

/* A section as the file describes it: offset and size are checked by whoever reads the bytes. */
struct elf_section {
    const char *name; /* owned by the file, never NULL, "" without a name */
    uint32_t type, link;
    uint64_t flags, vaddr, offset, size;
};

/* Takes a duplicate of fd (the caller keeps its own). name stands in messages only. */
int elf_file__open_fd(int fd, const char *name, struct elf_file **ret, struct err *err);
void elf_file__close(struct elf_file *file); /* accepts NULL */

const char *elf_file__name(const struct elf_file *file);
int elf_file__fd(const struct elf_file *file); /* still owned by the file */
uint64_t elf_file__size(const struct elf_file *file);
dev_t elf_file__dev(const struct elf_file *file);
ino_t elf_file__ino(const struct elf_file *file);
enum elf_machine elf_file__machine(const struct elf_file *file);
uint16_t elf_file__type(const struct elf_file *file); /* ET_EXEC (fixed address) or ET_DYN */
uint64_t elf_file__entry(const struct elf_file *file);
bool elf_file__is_static(const struct elf_file *file); /* no PT_INTERP: no loader maps more */
bool elf_file__has_sections(const struct elf_file *file);
/* NULL, or why the section headers cannot be used; the program may run all the same. */
const char *elf_file__section_damage(const struct elf_file *file);

/* Fills buffer with exactly size bytes at offset, or -ENODATA where the file ends before. */
int elf_file__read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size, struct err *err);

const struct elf_segment *elf_file__segments(const struct elf_file *file, size_t *ret_count);
const struct elf_section *elf_file__sections(const struct elf_file *file, size_t *ret_count);
/* The first section of that name, or NULL. */
const struct elf_section *elf_file__section(const struct elf_file *file, const char *name);

/* The segment whose bytes in the file hold [vaddr, vaddr + size), or NULL. */
const struct elf_segment *elf_file__segment_at(const struct elf_file *file, uint64_t vaddr, uint64_t size);
/* 0, or -ENOENT where no segment has bytes there. */
int elf_file__vaddr_to_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_offset);
int elf_file__offset_to_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *ret_vaddr);
/* What the mapping of the page at file offset `pgoff` at address `start` says about the load bias
 * (run-time address minus vaddr); executable segments only. */
int elf_file__load_bias(const struct elf_file *file, uint64_t start, uint64_t pgoff, uint64_t *ret_bias);

/* The GNU build-id, at most 64 bytes; NULL and 0 where there is none. */
const uint8_t *elf_file__build_id(const struct elf_file *file, size_t *ret_size);

/* The loader's path, NULL for a static program or a library. */
const char *elf_file__interp(const struct elf_file *file);

/* What the dynamic section says; strings owned by the file, NULL where absent. */
struct elf_dynamic {
    const char *soname, *rpath, *runpath;
    const char **needed;
    size_t n_needed;
    bool no_default_lib; /* DF_1_NODEFLIB */
    bool damaged;        /* something in it points outside the file and was left out */
};
const struct elf_dynamic *elf_file__dynamic(const struct elf_file *file);

#endif
