// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "usdt/bytes.h"
#include "usdt/elf_private.h"

#define MAX_SEGMENTS 4096u
#define MAX_SECTIONS 1000000u
#define MAX_NAMES    (64u << 20)

static int damaged(const struct elf_file *file, struct err *err, const char *what)
{
    return err__set(err, EBADMSG, "%s: damaged ELF file: %s", file->name, what);
}

int elf_file__read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size, struct err *err)
{
    char *at = buffer;

    if (!elf_file__holds(file, offset, size))
        return err__set(err, ENODATA, "%s: the file ends before byte %llu + %zu", file->name,
                        (unsigned long long)offset, size);
    while (size) {
        ssize_t n = pread(file->fd, at, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int code = errno;

            return err__set(err, code, "%s: cannot be read: %s", file->name, strerror(code));
        }
        if (!n)
            return err__set(err, ENODATA, "%s: the file shrank while it was read", file->name);
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

int elf_file__read_new(const struct elf_file *file, uint64_t offset, size_t size, void **ret, struct err *err)
{
    int r;

    if (!elf_file__holds(file, offset, size))
        return elf_file__read(file, offset, NULL, size, err);
    *ret = malloc(size + 1);
    if (!*ret)
        return err__set(err, ENOMEM, "%s: no memory for %zu bytes of it", file->name, size);
    ((char *)*ret)[size] = '\0';
    r = elf_file__read(file, offset, *ret, size, err);
    if (r < 0) {
        free(*ret);
        *ret = NULL;
    }
    return r;
}

/* Why this is no file for us, NULL when it is one. */
static const char *refuse_header(const Elf64_Ehdr *header)
{
    if (memcmp(header->e_ident, ELFMAG, SELFMAG))
        return "no ELF file";
    if (header->e_ident[EI_CLASS] == ELFCLASS32)
        return "a 32-bit program; only 64-bit programs can be traced";
    if (header->e_ident[EI_CLASS] != ELFCLASS64)
        return "an ELF file of an unknown class";
    if (header->e_ident[EI_DATA] != ELFDATA2LSB)
        return "a big-endian program; only little-endian programs can be traced";
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return "an ELF file, but neither a program nor a shared library";
    if (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64)
        return "a program for another machine; only x86-64 and aarch64 can be traced";
    return NULL;
}

static int read_header(struct elf_file *file, struct err *err)
{
    Elf64_Ehdr *header = &file->header;
    uint64_t available = file->size < sizeof(*header) ? file->size : sizeof(*header);
    const char *why;
    int r = elf_file__read(file, 0, header, (size_t)available, err);

    if (r < 0)
        return r;
    why = refuse_header(header);
    if (why)
        return err__set(err, ENOEXEC, "%s: %s", file->name, why);
    if (available < sizeof(*header))
        return damaged(file, err, "it ends inside its header");
    return 0;
}

static int add_segment(struct elf_file *file, const Elf64_Phdr *program, struct err *err)
{
    struct elf_segment *segment = &file->segments[file->n_segments];

    if (program->p_vaddr + program->p_memsz < program->p_vaddr ||
        program->p_vaddr + program->p_filesz < program->p_vaddr)
        return damaged(file, err, "a segment wraps around the end of the address space");
    *segment = (struct elf_segment){
        .offset = program->p_offset,
        .vaddr = program->p_vaddr,
        .filesz = program->p_filesz,
        .memsz = program->p_memsz,
        .executable = program->p_flags & PF_X,
        .writable = program->p_flags & PF_W,
    };
    /* The loader maps past the end of a cut file without a word; there are no bytes all the same. */
    if (segment->offset > file->size)
        segment->filesz = 0;
    else if (segment->filesz > file->size - segment->offset)
        segment->filesz = file->size - segment->offset;
    file->n_segments++;
    return 0;
}

static int read_segments(struct elf_file *file, struct err *err)
{
    size_t count = file->header.e_phnum;
    int r;

    if (!count)
        return damaged(file, err, "it has no segments");
    if (file->header.e_phentsize != sizeof(Elf64_Phdr))
        return damaged(file, err, "its program headers have an impossible size");
    if (count > MAX_SEGMENTS)
        return err__set(err, E2BIG, "%s: %zu segments, more than the limit of %u", file->name, count,
                        MAX_SEGMENTS);
    r = elf_file__read_new(file, file->header.e_phoff, count * sizeof(Elf64_Phdr), (void **)&file->programs,
                           err);
    if (r < 0)
        return r == -ENODATA ? damaged(file, err, "its program headers lie beyond its end") : r;
    file->n_programs = count;
    file->segments = calloc(count, sizeof(*file->segments));
    if (!file->segments)
        return err__set(err, ENOMEM, "%s: no memory for its segments", file->name);
    for (size_t i = 0; i < count && !r; i++) {
        if (file->programs[i].p_type == PT_LOAD)
            r = add_segment(file, &file->programs[i], err);
    }
    return r;
}

/* The number of sections and the section of their names; both may stand in section 0. */
static const char *count_sections(const struct elf_file *file, uint64_t *ret_count, uint64_t *ret_names)
{
    const Elf64_Ehdr *header = &file->header;
    Elf64_Shdr first = {0};

    if (header->e_shentsize != sizeof(Elf64_Shdr))
        return "its section headers have an impossible size";
    if (elf_file__read(file, header->e_shoff, &first, sizeof(first), NULL) < 0)
        return "its section headers lie beyond its end";
    *ret_count = header->e_shnum ? header->e_shnum : first.sh_size;
    *ret_names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
    if (*ret_count > MAX_SECTIONS)
        return "it claims more than 1,000,000 sections";
    if (!elf_file__holds(file, header->e_shoff, *ret_count * sizeof(Elf64_Shdr)))
        return "its section headers lie beyond its end";
    return NULL;
}

static const char *read_section_names(struct elf_file *file, const Elf64_Shdr *names)
{
    if (names->sh_type == SHT_NOBITS || names->sh_size > MAX_NAMES ||
        !elf_file__holds(file, names->sh_offset, names->sh_size))
        return "its section names lie beyond its end";
    if (elf_file__read_new(file, names->sh_offset, names->sh_size, (void **)&file->section_names, NULL) < 0)
        return "its section names cannot be read";
    file->section_names_size = names->sh_size;
    return NULL;
}

static void add_section(struct elf_file *file, const Elf64_Shdr *raw)
{
    struct elf_section *section = &file->sections[file->n_sections++];

    *section = (struct elf_section){
        .name = raw->sh_name < file->section_names_size ? file->section_names + raw->sh_name : "",
        .type = raw->sh_type,
        .link = raw->sh_link,
        .flags = raw->sh_flags,
        .vaddr = raw->sh_addr,
        .offset = raw->sh_offset,
        .size = raw->sh_type == SHT_NOBITS ? 0 : raw->sh_size,
    };
}

static const char *read_sections(struct elf_file *file)
{
    Elf64_Shdr *raw = NULL;
    uint64_t count = 0, names = 0;
    const char *why;

    if (!file->header.e_shoff)
        return NULL;
    why = count_sections(file, &count, &names);
    if (why || !count)
        return why;
    if (elf_file__read_new(file, file->header.e_shoff, count * sizeof(*raw), (void **)&raw, NULL) < 0)
        return "its section headers cannot be read";
    file->sections = calloc(count, sizeof(*file->sections));
    if (!file->sections)
        why = "no memory for its sections";
    else if (names && names < count)
        why = read_section_names(file, &raw[names]);
    for (size_t i = 0; i < count && !why; i++)
        add_section(file, &raw[i]);
    free(raw);
    return why;
}

static int open_fd(struct elf_file *file, int fd, const char *name, struct err *err)
{
    struct stat status;
    int r;

    file->name = strdup(name);
    if (!file->name)
        return err__set(err, ENOMEM, "%s: no memory to open it", name);
    file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (file->fd < 0 || fstat(file->fd, &status) < 0) {
        r = errno;
        return err__set(err, r, "%s: cannot be opened: %s", name, strerror(r));
    }
    if (!S_ISREG(status.st_mode))
        return err__set(err, ENOEXEC, "%s: no regular file", name);
    file->size = (uint64_t)status.st_size;
    file->dev = status.st_dev;
    file->ino = status.st_ino;
    r = read_header(file, err);
    if (!r)
        r = read_segments(file, err);
    if (r < 0)
        return r;
    file->section_damage = read_sections(file);
    return elf_dynamic__read(file, err);
}

int elf_file__open_fd(int fd, const char *name, struct elf_file **ret, struct err *err)
{
    struct elf_file *file = calloc(1, sizeof(*file));
    int r;

    if (!file)
        return err__set(err, ENOMEM, "%s: no memory to open it", name);
    file->fd = -1;
    r = open_fd(file, fd, name, err);
    if (r < 0)
        elf_file__close(file);
    else
        *ret = file;
    return r;
}

void elf_file__close(struct elf_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    elf_dynamic__deinit(file);
    free(file->programs);
    free(file->segments);
    free(file->sections);
    free(file->section_names);
    free(file->name);
    free(file);
}

const char *elf_file__name(const struct elf_file *file)
{
    return file->name;
}

int elf_file__fd(const struct elf_file *file)
{
    return file->fd;
}

uint64_t elf_file__size(const struct elf_file *file)
{
    return file->size;
}

dev_t elf_file__dev(const struct elf_file *file)
{
    return file->dev;
}

ino_t elf_file__ino(const struct elf_file *file)
{
    return file->ino;
}

enum elf_machine elf_file__machine(const struct elf_file *file)
{
    return file->header.e_machine == EM_X86_64 ? ELF_X86_64 : ELF_AARCH64;
}

uint16_t elf_file__type(const struct elf_file *file)
{
    return file->header.e_type;
}

uint64_t elf_file__entry(const struct elf_file *file)
{
    return file->header.e_entry;
}

bool elf_file__is_static(const struct elf_file *file)
{
    return !file->interp;
}

bool elf_file__has_sections(const struct elf_file *file)
{
    return file->n_sections;
}

const char *elf_file__section_damage(const struct elf_file *file)
{
    return file->section_damage;
}

const struct elf_segment *elf_file__segments(const struct elf_file *file, size_t *ret_count)
{
    *ret_count = file->n_segments;
    return file->segments;
}

const struct elf_section *elf_file__sections(const struct elf_file *file, size_t *ret_count)
{
    *ret_count = file->n_sections;
    return file->sections;
}

const struct elf_section *elf_file__section(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->n_sections; i++) {
        if (!strcmp(file->sections[i].name, name))
            return &file->sections[i];
    }
    return NULL;
}

const struct elf_segment *elf_file__segment_at(const struct elf_file *file, uint64_t vaddr, uint64_t size)
{
    for (size_t i = 0; i < file->n_segments; i++) {
        const struct elf_segment *segment = &file->segments[i];
        uint64_t inside = vaddr - segment->vaddr;

        if (vaddr >= segment->vaddr && inside < segment->filesz && size <= segment->filesz - inside)
            return segment;
    }
    return NULL;
}

int elf_file__vaddr_to_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_offset)
{
    const struct elf_segment *segment = elf_file__segment_at(file, vaddr, 1);

    if (!segment)
        return -ENOENT;
    *ret_offset = vaddr - segment->vaddr + segment->offset;
    return 0;
}

int elf_file__offset_to_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *ret_vaddr)
{
    for (size_t i = 0; i < file->n_segments; i++) {
        const struct elf_segment *segment = &file->segments[i];

        if (offset >= segment->offset && offset - segment->offset < segment->filesz) {
            *ret_vaddr = offset - segment->offset + segment->vaddr;
            return 0;
        }
    }
    return -ENOENT;
}

int elf_file__load_bias(const struct elf_file *file, uint64_t start, uint64_t pgoff, uint64_t *ret_bias)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < file->n_segments; i++) {
        const struct elf_segment *segment = &file->segments[i];
        uint64_t first = segment->offset & ~(page - 1);

        if (!segment->executable || pgoff < first || pgoff >= segment->offset + segment->filesz)
            continue;
        *ret_bias = start - (segment->vaddr + pgoff - segment->offset);
        return 0;
    }
    return -ENOENT;
}

const uint8_t *elf_file__build_id(const struct elf_file *file, size_t *ret_size)
{
    *ret_size = file->build_id_size;
    return file->build_id_size ? file->build_id : NULL;
}

const char *elf_file__interp(const struct elf_file *file)
{
    return file->interp;
}

const struct elf_dynamic *elf_file__dynamic(const struct elf_file *file)
{
    return &file->dynamic;
}
