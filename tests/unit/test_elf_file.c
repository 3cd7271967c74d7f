// SPDX-License-Identifier: GPL-2.0-only
/* The bounded reader: what it says of right files, and that it refuses the others with a reason. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf_writer.h"
#include "usdt/elf_file.h"

struct fixture {
    struct elf_plan plan;
    struct elf_image image;
    struct elf_file *file;
    struct err err;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->plan = (struct elf_plan){
        .interp = "/lib/ld.so",
        .soname = "libme.so.1",
        .runpath = "$ORIGIN/lib",
        .rpath = "/old",
        .needed = {"liba.so", "libb.so"},
    };
    f->image = elf_plan__build(&f->plan);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    elf_file__close(f->file);
    elf_image__deinit(&f->image);
    free(f);
    return 0;
}

static int open_image(struct fixture *f)
{
    int fd = elf_image__open(f->image.bytes, f->image.size);
    int r = elf_file__open_fd(fd, "prog", &f->file, &f->err);

    close(fd); /* the file has its own */
    return r;
}

static void assert_refused(struct fixture *f, int code, const char *why)
{
    assert_int_equal(open_image(f), -code);
    assert_null(f->file);
    if (strncmp(f->err.text, "prog: ", 6) || !strstr(f->err.text, why))
        fail_msg("%s", f->err.text);
}

static void test_facts(void **state)
{
    struct fixture *f = *state;
    const struct elf_dynamic *dynamic;
    size_t size, count;

    assert_int_equal(open_image(f), 0);
    assert_int_equal(elf_file__machine(f->file), ELF_X86_64);
    assert_int_equal(elf_file__type(f->file), ET_EXEC);
    assert_int_equal(elf_file__entry(f->file), ELF_TEXT);
    assert_string_equal(elf_file__interp(f->file), "/lib/ld.so");
    assert_false(elf_file__is_static(f->file));
    assert_memory_equal(elf_file__build_id(f->file, &size), "\xde\xad\xbe\xef\x01\x02\x03\x04", 8);
    assert_int_equal(size, 8);
    dynamic = elf_file__dynamic(f->file);
    assert_string_equal(dynamic->soname, "libme.so.1");
    assert_string_equal(dynamic->runpath, "$ORIGIN/lib");
    assert_string_equal(dynamic->rpath, "/old");
    assert_int_equal(dynamic->n_needed, 2);
    assert_string_equal(dynamic->needed[1], "libb.so");
    assert_false(dynamic->damaged);
    assert_non_null(elf_file__section(f->file, ".text"));
    assert_null(elf_file__section(f->file, ".note.stapsdt"));
    elf_file__segments(f->file, &count);
    assert_int_equal(count, 2);
}

static void test_addresses(void **state)
{
    struct fixture *f = *state;
    uint64_t value;

    assert_int_equal(open_image(f), 0);
    assert_int_equal(elf_file__vaddr_to_offset(f->file, ELF_TEXT + 5, &value), 0);
    assert_int_equal(value, 0x1005);
    assert_int_equal(elf_file__offset_to_vaddr(f->file, 0x2007, &value), 0);
    assert_int_equal(value, ELF_DATA + 7);
    assert_int_equal(elf_file__vaddr_to_offset(f->file, ELF_TEXT + ELF_TEXT_SIZE, &value), -ENOENT);
    assert_int_equal(elf_file__vaddr_to_offset(f->file, ELF_TEXT - 1, &value), -ENOENT);
    assert_int_equal(elf_file__vaddr_to_offset(f->file, UINT64_MAX, &value), -ENOENT);
    assert_null(elf_file__segment_at(f->file, ELF_TEXT + ELF_TEXT_SIZE - 1, 2));
    assert_non_null(elf_file__segment_at(f->file, ELF_TEXT + ELF_TEXT_SIZE - 1, 1));
    assert_null(elf_file__segment_at(f->file, ELF_TEXT, UINT64_MAX));
    assert_int_equal(elf_file__load_bias(f->file, 0x7f0000001000, 0x1000, &value), 0);
    assert_int_equal(value, 0x7f0000001000 - ELF_TEXT);
    assert_int_equal(elf_file__load_bias(f->file, 0x1000, 0x2000, &value), -ENOENT);
}

static void test_kinds_refused(void **state)
{
    struct fixture *f = *state;
    Elf64_Ehdr *header = elf_image__header(&f->image);

    header->e_ident[EI_CLASS] = ELFCLASS32;
    assert_refused(f, ENOEXEC, "32-bit");
    header->e_ident[EI_CLASS] = 9;
    assert_refused(f, ENOEXEC, "unknown class");
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2MSB;
    assert_refused(f, ENOEXEC, "big-endian");
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_type = ET_REL;
    assert_refused(f, ENOEXEC, "neither a program nor a shared library");
    header->e_type = ET_DYN;
    header->e_machine = EM_RISCV;
    assert_refused(f, ENOEXEC, "another machine");
    header->e_ident[0] = 'x';
    assert_refused(f, ENOEXEC, "no ELF file");
}

static void test_counts_refused(void **state)
{
    struct fixture *f = *state;
    Elf64_Ehdr *header = elf_image__header(&f->image);

    header->e_phnum = 0;
    assert_refused(f, EBADMSG, "no segments");
    header->e_phnum = 4097;
    assert_refused(f, E2BIG, "limit of 4096");
    header->e_phnum = 4000;
    assert_refused(f, EBADMSG, "program headers lie beyond");
    header->e_phnum = PLAN_SEGMENTS;
    header->e_phoff = UINT64_MAX - 8;
    assert_refused(f, EBADMSG, "program headers lie beyond");
    header->e_phoff = sizeof(*header);
    header->e_phentsize = 32;
    assert_refused(f, EBADMSG, "impossible size");
    header->e_phentsize = sizeof(Elf64_Phdr);
    elf_image__segment(&f->image, PLAN_LOAD_TEXT)->p_memsz = UINT64_MAX;
    assert_refused(f, EBADMSG, "wraps");
}

/* A program without usable section headers runs; who needs them is told. */
static void assert_section_damage(struct fixture *f, const char *why)
{
    assert_int_equal(open_image(f), 0);
    assert_non_null(elf_file__section_damage(f->file));
    assert_non_null(strstr(elf_file__section_damage(f->file), why));
    assert_false(elf_file__has_sections(f->file));
    elf_file__close(f->file);
    f->file = NULL;
}

static void test_section_headers(void **state)
{
    struct fixture *f = *state;
    Elf64_Ehdr *header = elf_image__header(&f->image);
    Elf64_Shdr *first = elf_image__section(&f->image, PLAN_NULL);
    uint64_t right = header->e_shoff;

    header->e_shoff = f->image.size - 10;
    assert_section_damage(f, "beyond its end");
    header->e_shoff = UINT64_MAX;
    assert_section_damage(f, "beyond its end");
    header->e_shoff = right;
    header->e_shnum = 5000;
    assert_section_damage(f, "beyond its end");
    header->e_shnum = 0; /* the number stands in section 0 */
    first->sh_size = UINT64_MAX;
    assert_section_damage(f, "1,000,000 sections");
    first->sh_size = (UINT64_C(1) << 58) + 1; /* times 64 wraps to 64 */
    assert_section_damage(f, "1,000,000 sections");
    first->sh_size = PLAN_SECTIONS;
    elf_image__section(&f->image, PLAN_NAMES)->sh_size = 1 << 30;
    assert_section_damage(f, "names lie beyond");
}

static void test_extended_numbering(void **state)
{
    struct fixture *f = *state;
    Elf64_Ehdr *header = elf_image__header(&f->image);

    header->e_shnum = 0;
    header->e_shstrndx = SHN_XINDEX;
    elf_image__section(&f->image, PLAN_NULL)->sh_size = PLAN_SECTIONS;
    elf_image__section(&f->image, PLAN_NULL)->sh_link = PLAN_NAMES;
    assert_int_equal(open_image(f), 0);
    assert_null(elf_file__section_damage(f->file));
    assert_non_null(elf_file__section(f->file, ".text"));
}

static void test_dynamic_damage(void **state)
{
    struct fixture *f = *state;
    Elf64_Dyn *entries = (Elf64_Dyn *)(f->image.bytes + 0x2100);

    entries[0].d_un.d_val = UINT64_MAX; /* the first needed name */
    assert_int_equal(open_image(f), 0);
    assert_true(elf_file__dynamic(f->file)->damaged);
    assert_int_equal(elf_file__dynamic(f->file)->n_needed, 1);
    assert_string_equal(elf_file__dynamic(f->file)->needed[0], "libb.so");
    elf_file__close(f->file);
    f->file = NULL;
    elf_image__segment(&f->image, PLAN_DYNAMIC)->p_filesz = UINT64_MAX;
    assert_int_equal(open_image(f), 0);
    assert_true(elf_file__dynamic(f->file)->damaged);
    assert_int_equal(elf_file__dynamic(f->file)->n_needed, 0);
}

static void test_build_id_damage(void **state)
{
    struct fixture *f = *state;
    uint32_t huge = 0xfffffff0;
    size_t size;

    memcpy(f->image.bytes + 0x2004, &huge, 4);
    assert_int_equal(open_image(f), 0);
    assert_null(elf_file__build_id(f->file, &size));
    assert_int_equal(size, 0);
}

static void test_no_regular_file(void **state)
{
    struct fixture *f = *state;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(elf_file__open_fd(fds[0], "pipe", &f->file, &f->err), -ENOEXEC);
    assert_non_null(strstr(f->err.text, "no regular file"));
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(elf_file__open_fd(-1, "none", &f->file, &f->err), -EBADF);
}

/* The loader knows where it put each file: the truth for load_bias. */
static int check_bias(struct dl_phdr_info *info, size_t size, void *data)
{
    size_t *n_checked = data;
    const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct elf_file *file;
    uint64_t bias;

    (void)size;
    if (fd < 0)
        return 0; /* the vdso */
    assert_int_equal(elf_file__open_fd(fd, path, &file, NULL), 0);
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t pgoff = p->p_offset & ~UINT64_C(4095);

        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        assert_int_equal(
            elf_file__load_bias(file, (info->dlpi_addr + p->p_vaddr) & ~UINT64_C(4095), pgoff, &bias), 0);
        assert_int_equal(bias, info->dlpi_addr);
        ++*n_checked;
    }
    elf_file__close(file);
    close(fd);
    return 0;
}

static void test_bias_of_this_process(void **state)
{
    size_t n_checked = 0;

    (void)state;
    dl_iterate_phdr(check_bias, &n_checked);
    assert_true(n_checked >= 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_facts),           TEST(test_addresses),
        TEST(test_kinds_refused),   TEST(test_counts_refused),
        TEST(test_section_headers), TEST(test_extended_numbering),
        TEST(test_dynamic_damage),  TEST(test_build_id_damage),
        TEST(test_no_regular_file), cmocka_unit_test(test_bias_of_this_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
