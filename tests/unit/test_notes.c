// SPDX-License-Identifier: GPL-2.0-only
/* Notes, sites and regions: of files that the test writes, hostile ones too. Those of compilers: test_compiled_notes.c. */
#include <errno.h>
#include <fcntl.h>
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
#include "usdt/notes.h"
#include "usdt/regions.h"

/* What one test reads: the plan, the file made of it, and what came out. */
struct fixture {
    struct elf_plan plan;
    struct byte_buffer notes;
    struct elf_image image;
    struct pairing *rules;
    struct elf_file *file;
    struct probe_table *table;
    struct err err;
    int fd;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->fd = -1;
    *state = f;
    return !f;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    probe_table__destroy(f->table);
    elf_file__close(f->file);
    pairing__free(f->rules);
    elf_image__deinit(&f->image);
    byte_buffer__deinit(&f->notes);
    if (f->fd >= 0)
        close(f->fd);
    free(f);
    return 0;
}

static void build(struct fixture *f)
{
    f->plan.notes = f->notes.bytes;
    f->plan.notes_size = f->notes.size;
    f->image = elf_plan__build(&f->plan);
}

/* Reads the image as it is now. */
static int read_image(struct fixture *f)
{
    int r;

    f->fd = elf_image__open(f->image.bytes, f->image.size);
    r = elf_file__open_fd(f->fd, "prog", &f->file, &f->err);
    return r < 0 ? r : probe_table__read(f->file, f->rules, &f->table, &f->err);
}

static int read_plan(struct fixture *f)
{
    build(f);
    return read_image(f);
}

static uint64_t probe(struct fixture *f, size_t offset, const char *name)
{
    uint64_t location = elf_plan__site(&f->plan, offset);

    elf_note__probe(&f->notes, location, 0, 0, "scope", name, "");
    return location;
}

static void assert_region(const struct region_def *region, const char *name, uint32_t n_begin, uint32_t n_end)
{
    assert_string_equal(region->provider, "scope");
    assert_string_equal(region->name, name);
    assert_int_equal(region->name_len, strlen(name));
    assert_int_equal(region->n_begin, n_begin);
    assert_int_equal(region->n_end, n_end);
}

static void assert_refused(const struct fixture *f, const char *name, const char *why)
{
    for (size_t i = 0; i < f->table->n_refused; i++) {
        if (!strcmp(f->table->refused[i].probe, name)) {
            assert_non_null(strstr(f->table->refused[i].why, why));
            return;
        }
    }
    fail_msg("%s was not refused", name);
}

static void test_pair(void **state)
{
    struct fixture *f = *state;
    uint64_t begin = probe(f, 0x10, "solve__begin");

    elf_note__source(&f->notes, begin, 42, "solve.c");
    probe(f, 0x40, "solve__end");
    probe(f, 0x80, "solve__end");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_regions, 1);
    assert_region(&f->table->regions[0], "solve", 1, 2);
    assert_string_equal(f->table->regions[0].source_file, "solve.c");
    assert_int_equal(f->table->regions[0].source_line, 42);
    assert_null(f->table->regions[0].problem);
    assert_int_equal(f->table->n_sites, 3);
    assert_int_equal(f->table->sites[0].vaddr, ELF_TEXT + 0x10);
    assert_int_equal(f->table->sites[0].file_offset, 0x1010);
    assert_int_equal(f->table->sites[0].nop, SITE_NOP1_NOP10);
    assert_int_equal(f->table->sites[0].nop_len, 11);
    assert_int_equal(f->table->sites[2].kind, SITE_END);
    assert_int_equal(f->table->state, NOTES_PRESENT);
    assert_int_equal(f->table->n_refused + f->table->n_damaged + f->table->n_dropped, 0);
}

static void test_names(void **state)
{
    static const char odd[] = "any % text {a|b}: \xc3\xbc \xff";
    struct fixture *f = *state;
    char name[300];

    snprintf(name, sizeof(name), "%s__begin", odd);
    probe(f, 0x10, name);
    snprintf(name, sizeof(name), "%s__end", odd);
    probe(f, 0x20, name);
    probe(f, 0x30, "a__begin__begin");
    probe(f, 0x40, "a__begin__end");
    probe(f, 0x50, "a__end__begin");
    probe(f, 0x60, "nothing");
    probe(f, 0x70, "__begin");
    probe(f, 0x80, "__future__thing");
    memset(name, 'x', 255);
    strcpy(name + 255, "__begin");
    probe(f, 0x90, name);
    strcpy(name + 255, "__end");
    probe(f, 0xa0, name);
    strcpy(name + 255, "x__begin");
    probe(f, 0xb0, name);
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_regions, 4);
    assert_region(&f->table->regions[0], odd, 1, 1);
    assert_region(&f->table->regions[1], "a__begin", 1, 1);
    assert_region(&f->table->regions[2], "a__end", 1, 0);
    assert_non_null(f->table->regions[2].problem);
    assert_int_equal(f->table->regions[3].name_len, 255);
    assert_refused(f, "nothing", "neither in __begin nor in __end");
    assert_refused(f, "__begin", "reserved");
    assert_refused(f, "__future__thing", "reserved");
    assert_refused(f, name, "255");
    assert_int_equal(f->table->n_refused, 4);
}

static void test_scopes(void **state)
{
    struct fixture *f = *state;
    uint64_t a = elf_plan__site(&f->plan, 0x10), b = elf_plan__site(&f->plan, 0x20);
    uint64_t end = elf_plan__site(&f->plan, 0x30);

    elf_note__probe(&f->notes, a, 0, 0, "scope", "a__begin", "1@-9(%rbp)");
    elf_note__source(&f->notes, a, 1, "a.c");
    elf_note__scope(&f->notes, b, "1@8+16(%rsp)"); /* stands before or behind: joined by location */
    elf_note__probe(&f->notes, b, 0, 0, "scope", "b {b}__begin", "");
    elf_note__source(&f->notes, b, 2, "b.c");
    elf_note__probe(&f->notes, end, 0, 0, "scope", "__scope__end", "1@(%rax)");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_regions, 2);
    assert_int_equal(f->table->regions[0].n_scope_begin, 1);
    assert_null(f->table->regions[0].problem);
    assert_null(f->table->regions[1].problem);
    assert_string_equal(f->table->regions[1].source_file, "b.c");
    assert_int_equal(f->table->sites[0].kind, SITE_SCOPE_BEGIN);
    assert_int_equal(f->table->sites[0].scope.base, 6);
    assert_int_equal(f->table->sites[0].scope.offset, -9);
    assert_int_equal(f->table->sites[1].kind, SITE_SCOPE_BEGIN);
    assert_int_equal(f->table->sites[1].scope.base, 7);
    assert_int_equal(f->table->sites[1].scope.offset, 24);
    assert_int_equal(f->table->sites[2].kind, SITE_SCOPE_END);
    assert_int_equal(f->table->sites[2].region, SITE_NO_REGION);
    assert_true(f->table->has_scope_end);
}

static void test_scope_without_end(void **state)
{
    struct fixture *f = *state;
    uint64_t a = elf_plan__site(&f->plan, 0x10), c = elf_plan__site(&f->plan, 0x20);

    elf_note__probe(&f->notes, a, 0, 0, "scope", "a__begin", "1@(%rsp)");
    elf_note__probe(&f->notes, c, 0, 0, "scope", "c__begin", "1@%eax");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_regions, 1);
    assert_non_null(f->table->regions[0].problem);
    assert_refused(f, "c__begin", "1@%eax");
}

static void test_dynamic(void **state)
{
    static const char *const names[] = {"__dynamic__begin", "__dynamic__end", "__dynamic__open",
                                        "__dynamic__close"};
    struct fixture *f = *state;

    for (size_t i = 0; i < 4; i++) {
        uint64_t location = elf_plan__site(&f->plan, 0x10 * (i + 1));

        elf_note__probe(&f->notes, location, 0, 0, "scope", names[i], "8@8(%rsp)");
        if (!(i & 1))
            elf_note__source(&f->notes, location, 7, "d.c");
    }
    elf_note__probe(&f->notes, elf_plan__site(&f->plan, 0x80), 0, 0, "scope", "__dynamic__begin",
                    "1@8(%rsp)");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_regions, 0);
    assert_int_equal(f->table->n_sites, 4);
    assert_int_equal(f->table->sites[0].kind, SITE_DYNAMIC_BEGIN);
    assert_string_equal(f->table->sites[0].source_file, "d.c");
    assert_int_equal(f->table->sites[1].kind, SITE_DYNAMIC_END);
    assert_null(f->table->sites[1].source_file);
    assert_int_equal(f->table->sites[2].kind, SITE_DYNAMIC_OPEN);
    assert_int_equal(f->table->sites[2].source_line, 7);
    assert_int_equal(f->table->sites[3].kind, SITE_DYNAMIC_CLOSE);
    assert_refused(f, "__dynamic__begin", "1@8(%rsp)");
}

static void test_gate(void **state)
{
    struct fixture *f = *state;
    uint64_t gate = elf_plan__site(&f->plan, 0x10);

    elf_note__probe(&f->notes, gate, 0, ELF_DATA + 0x20, "scope", "__scope__gate", "");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites + f->table->n_refused, 0);
    assert_int_equal(f->table->gate_offset, 0x1010);
    assert_int_equal(f->table->gate_ref_ctr_offset, 0x2020);
}

static void test_sites_are_checked(void **state)
{
    struct fixture *f = *state;
    uint64_t one = ELF_TEXT + 0x10, five = ELF_TEXT + 0x20, push = ELF_TEXT + 0x30;

    f->plan.text[0x10] = 0x90;
    memcpy(f->plan.text + 0x20, "\x0f\x1f\x44\x00\x00", 5);
    f->plan.text[0x30] = 0x55;
    f->plan.text[ELF_TEXT_SIZE - 1] = 0x90;
    elf_note__probe(&f->notes, one, 0, 0, "scope", "one__begin", "");
    elf_note__probe(&f->notes, five, 0, 0, "scope", "five__begin", "");
    elf_note__probe(&f->notes, push, 0, 0, "scope", "push__begin", "");
    elf_note__probe(&f->notes, ELF_TEXT + ELF_TEXT_SIZE - 1, 0, 0, "scope", "last__begin", "");
    elf_note__probe(&f->notes, ELF_TEXT + ELF_TEXT_SIZE, 0, 0, "scope", "beyond__begin", "");
    elf_note__probe(&f->notes, ELF_DATA, 0, 0, "scope", "data__begin", "");
    elf_note__probe(&f->notes, 0, 0, 0, "scope", "zero__begin", "");
    elf_note__probe(&f->notes, UINT64_MAX, 0, 0, "scope", "ones__begin", "");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 2);
    assert_int_equal(f->table->sites[0].nop, SITE_NOP1);
    assert_int_equal(f->table->sites[1].vaddr, ELF_TEXT + ELF_TEXT_SIZE - 1);
    assert_refused(f, "five__begin", "5-byte nop");
    assert_refused(f, "push__begin", "no nop (bytes 55 00 00 00 00)");
    assert_int_equal(f->table->n_refused, 2);
    assert_int_equal(f->table->n_dropped, 4);
    assert_int_equal(f->table->n_regions, 2);
}

static void test_aarch64(void **state)
{
    struct fixture *f = *state;

    f->plan.machine = EM_AARCH64;
    memcpy(f->plan.text + 0x10, "\x1f\x20\x03\xd5", 4);
    memcpy(f->plan.text + 0x22, "\x1f\x20\x03\xd5", 4);
    f->plan.text[0x30] = 0x90;
    elf_note__probe(&f->notes, ELF_TEXT + 0x10, 0, 0, "scope", "a__begin", "1@[sp, 31]");
    elf_note__probe(&f->notes, ELF_TEXT + 0x22, 0, 0, "scope", "odd__begin", "");
    elf_note__probe(&f->notes, ELF_TEXT + 0x30, 0, 0, "scope", "x86__begin", "");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 1);
    assert_int_equal(f->table->sites[0].nop, SITE_NOP4_AARCH64);
    assert_int_equal(f->table->sites[0].scope.base, 31);
    assert_int_equal(f->table->sites[0].scope.offset, 31);
    assert_int_equal(f->table->n_refused, 2);
}

static void test_semaphores(void **state)
{
    struct fixture *f = *state;
    uint64_t at = elf_plan__site(&f->plan, 0x10);

    elf_note__probe(&f->notes, at, 0, ELF_DATA + 0x10, "scope", "good__begin", "");
    elf_note__probe(&f->notes, at, 0, ELF_TEXT + 0x10, "scope", "code__begin", "");
    elf_note__probe(&f->notes, at, 0, ELF_DATA + 0x2100, "scope", "bss__begin", "");
    elf_note__probe(&f->notes, at, 0, ELF_DATA + 0x11, "scope", "odd__begin", "");
    elf_note__probe(&f->notes, at, 0, UINT64_MAX, "scope", "ones__begin", "");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 1);
    assert_int_equal(f->table->sites[0].ref_ctr_offset, 0x2010);
    assert_refused(f, "code__begin", "not in a writable segment");
    assert_refused(f, "bss__begin", "no bytes in the file");
    assert_refused(f, "odd__begin", "not aligned");
    assert_refused(f, "ones__begin", "no bytes in the file");
}

/* Moved by 0x1000 after linking: what the notes say is that much too low. */
static void test_base_moves(void **state)
{
    struct fixture *f = *state;
    uint64_t at = elf_plan__site(&f->plan, 0x10);

    f->plan.base = ELF_DATA + 0x40;
    elf_note__probe(&f->notes, at - 0x1000, ELF_DATA + 0x40 - 0x1000, ELF_DATA - 0x1000, "scope", "a__begin",
                    "");
    elf_note__source(&f->notes, at - 0x1000, 5, "a.c");
    elf_note__scope(&f->notes, at - 0x1000, "1@(%rsp)");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 1);
    assert_int_equal(f->table->sites[0].vaddr, at);
    assert_int_equal(f->table->sites[0].ref_ctr_offset, 0x2000);
    assert_int_equal(f->table->sites[0].kind, SITE_SCOPE_BEGIN);
    assert_string_equal(f->table->regions[0].source_file, "a.c");
}

static void test_no_base_no_move(void **state)
{
    struct fixture *f = *state;
    uint64_t at = elf_plan__site(&f->plan, 0x10);

    elf_note__probe(&f->notes, at, 0x12345, 0, "scope", "a__begin", ""); /* the section is gone */
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 1);
    assert_int_equal(f->table->sites[0].vaddr, at);
}

static void test_zero_base_no_move(void **state)
{
    struct fixture *f = *state;

    f->plan.base = ELF_DATA;
    probe(f, 0x10, "a__begin"); /* its base is 0 */
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 1);
}

static void test_duplicates(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < 3; i++) {
        probe(f, 0x10, "a__begin");
        probe(f, 0x10, "b__begin"); /* identical code merged: two names, one place */
        probe(f, 0x30, "a__end");
        probe(f, 0x30, "b__end");
    }
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 4);
    assert_int_equal(f->table->n_duplicates, 8);
    assert_region(&f->table->regions[0], "a", 1, 1);
    assert_region(&f->table->regions[1], "b", 1, 1);
    assert_int_equal(f->table->sites[0].file_offset, f->table->sites[1].file_offset);
}

static void test_first_source_counts(void **state)
{
    struct fixture *f = *state;
    uint64_t dropped = ELF_TEXT + 0x10000;

    elf_note__probe(&f->notes, dropped, 0, 0, "scope", "a__begin", "");
    elf_note__source(&f->notes, dropped, 1, "dropped.c");
    elf_note__source(&f->notes, probe(f, 0x40, "a__begin"), 2, "first.c");
    elf_note__source(&f->notes, probe(f, 0x20, "a__begin"), 3, "second.c");
    elf_note__source(&f->notes, ELF_TEXT + 0x99, 4, "elsewhere.c");
    assert_int_equal(read_plan(f), 0);
    assert_string_equal(f->table->regions[0].source_file, "first.c");
    assert_int_equal(f->table->regions[0].source_line, 2);
    assert_string_equal(f->table->sites[0].source_file, "second.c");
    assert_int_equal(f->table->n_dropped, 1);
}

static void test_foreign(void **state)
{
    struct fixture *f = *state;
    uint64_t at = elf_plan__site(&f->plan, 0x10);

    memcpy(f->plan.text + 0x40, "\x0f\x1f\x44\x00\x00", 5);
    elf_note__probe(&f->notes, at, 0, 0, "db", "query__start", "8@%rdi");
    elf_note__probe(&f->notes, ELF_TEXT + 0x40, 0, 0, "db", "query__done", "");
    elf_note__probe(&f->notes, at, 0, 0, "db", "checkpoint", "");
    elf_note__probe(&f->notes, at, 0, 0, "db", "checkpoint", "");
    elf_note__probe(&f->notes, at, 0, 0, "other", "query__start", "");
    f->rules = pairing__new();
    assert_int_equal(pairing__add(f->rules, "db:*__start,*__done", &f->err), 0);
    assert_int_equal(pairing__add(f->rules, "db:query__st*,x*=twice", &f->err), 0);
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_regions, 1);
    assert_string_equal(f->table->regions[0].provider, "db");
    assert_string_equal(f->table->regions[0].name, "query");
    assert_int_equal(f->table->n_sites, 2);
    assert_string_equal(f->table->sites[0].args, "8@%rdi");
    assert_int_equal(f->table->sites[1].nop, SITE_NOP5); /* the collector decides */
    assert_int_equal(f->table->n_foreign, 2);
    assert_string_equal(f->table->foreign[0].probe, "checkpoint");
    assert_int_equal(f->table->foreign[0].n_sites, 2);
    assert_string_equal(f->table->foreign[1].provider, "other");
    assert_int_equal(f->table->n_foreign_notes, 3);
}

static void test_other_notes_are_skipped(void **state)
{
    struct fixture *f = *state;

    elf_note__raw(&f->notes, "stapsdt", 4, "xx", 2);
    elf_note__raw(&f->notes, "someone", 3, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32);
    elf_note__raw(&f->notes, "scope", 0x5399, "", 0);
    elf_note__raw(&f->notes, "", 3, "", 0);
    probe(f, 0x10, "a__begin");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_sites, 1);
    assert_int_equal(f->table->n_damaged, 0);
}

static void test_damaged_notes(void **state)
{
    struct fixture *f = *state;
    uint8_t desc[64] = {0};

    memset(desc + 24, 'p', 40); /* no NUL behind the provider */
    elf_note__raw(&f->notes, "stapsdt", 3, desc, 64);
    elf_note__raw(&f->notes, "stapsdt", 3, desc, 23);
    elf_note__raw(&f->notes, "stapsdt", 3, "", 0);
    elf_note__raw(&f->notes, "scope", 0x5301, desc, 11);
    elf_note__raw(&f->notes, "scope", 0x5302, desc, 3);
    elf_note__probe(&f->notes, ELF_TEXT, 0, 0, "scope", "", "");
    probe(f, 0x10, "good__begin");
    assert_int_equal(read_plan(f), 0);
    assert_int_equal(f->table->n_damaged, 6);
    assert_non_null(strstr(f->table->damage, "provider"));
    assert_int_equal(f->table->n_sites, 1);
}

/* Overwrites a word of the note section's header and expects a refusal that names the file. */
static void assert_impossible(struct fixture *f, size_t word, uint32_t value)
{
    probe(f, 0x10, "a__begin");
    build(f);
    memcpy(f->image.bytes + elf_image__section(&f->image, PLAN_NOTES)->sh_offset + 4 * word, &value, 4);
    assert_int_equal(read_image(f), -EBADMSG);
    assert_null(f->table);
    assert_non_null(
        strstr(f->err.text, "prog: the probe note at byte 0 of .note.stapsdt has impossible sizes"));
}

static void test_owner_size_overflows(void **state)
{
    assert_impossible(*state, 0, 0xfffffffe);
}

static void test_desc_size_overflows(void **state)
{
    assert_impossible(*state, 1, 0xffffffff);
}

static void test_desc_size_one_too_many(void **state)
{
    struct fixture *f = *state;

    assert_impossible(f, 1, 1000);
}

static void test_section_beyond_file(void **state)
{
    struct fixture *f = *state;

    probe(f, 0x10, "a__begin");
    build(f);
    elf_image__section(&f->image, PLAN_NOTES)->sh_size = 1 << 20;
    assert_int_equal(read_image(f), -EBADMSG);
    assert_non_null(strstr(f->err.text, "beyond the end"));
}

static void test_section_offset_wraps(void **state)
{
    struct fixture *f = *state;

    probe(f, 0x10, "a__begin");
    build(f);
    elf_image__section(&f->image, PLAN_NOTES)->sh_offset = UINT64_MAX - 3;
    assert_int_equal(read_image(f), -EBADMSG);
}

static void test_too_many_notes(void **state)
{
    struct fixture *f = *state;
    uint64_t at = elf_plan__site(&f->plan, 0x10);

    for (unsigned int i = 0; i <= NOTES_MAX_COUNT; i++)
        elf_note__scope(&f->notes, at, "");
    assert_int_equal(read_plan(f), -E2BIG);
    assert_non_null(strstr(f->err.text, "more than 1000000 probe notes"));
}

static void test_too_many_bytes(void **state)
{
    struct fixture *f = *state;
    size_t size = NOTES_MAX_BYTES + 16;

    f->notes.bytes = calloc(1, size);
    f->notes.size = f->notes.capacity = size;
    assert_int_equal(read_plan(f), -E2BIG);
    assert_non_null(strstr(f->err.text, "more than 64 MiB"));
}

static void test_overlapping_sections(void **state)
{
    struct fixture *f = *state;

    probe(f, 0x10, "a__begin");
    probe(f, 0x30, "a__end");
    build(f);
    *elf_image__section(&f->image, PLAN_TEXT) = *elf_image__section(&f->image, PLAN_NOTES);
    assert_int_equal(read_image(f), 0);
    assert_int_equal(f->table->n_sites, 2);
    assert_int_equal(f->table->n_duplicates, 2);
}

static void test_every_truncation(void **state)
{
    struct fixture *f = *state;
    size_t whole;

    probe(f, 0x10, "a__begin");
    f->plan.needed[0] = "libx.so";
    build(f);
    whole = f->image.size;
    for (size_t size = 0; size < whole; size += size < 0x200 || size > whole - 0x400 ? 1 : 61) {
        f->image.size = size;
        f->err.text[0] = '\0';
        assert_true(read_image(f) < 0);
        assert_non_null(strstr(f->err.text, "prog: "));
        elf_file__close(f->file);
        close(f->fd);
        f->file = NULL;
    }
    f->image.size = whole;
    assert_int_equal(read_image(f), 0);
}

/* Every byte of headers and notes flipped: no crash, and no site that was not there. */
static void test_every_byte(void **state)
{
    struct fixture *f = *state;
    uint64_t at = probe(f, 0x10, "a__begin");

    elf_note__source(&f->notes, at, 3, "a.c");
    build(f);
    for (size_t i = 0; i < f->image.size; i++) {
        if (i == 0x200)
            i = 0x2000; /* between the headers and the data are zeros */
        f->image.bytes[i] ^= 0xff;
        read_image(f);
        if (f->table)
            assert_true(f->table->n_sites <= 1);
        probe_table__destroy(f->table);
        elf_file__close(f->file);
        close(f->fd);
        f->table = NULL;
        f->file = NULL;
        f->image.bytes[i] ^= 0xff;
    }
    f->fd = -1;
}

static void test_shrinks_while_read(void **state)
{
    struct fixture *f = *state;

    probe(f, 0x10, "a__begin");
    build(f);
    f->fd = elf_image__open(f->image.bytes, f->image.size);
    assert_int_equal(elf_file__open_fd(f->fd, "prog", &f->file, &f->err), 0);
    assert_int_equal(ftruncate(f->fd, 0x1008), 0);
    assert_int_equal(probe_table__read(f->file, NULL, &f->table, &f->err), -ENODATA);
    assert_non_null(strstr(f->err.text, "shrank"));
}

static void test_stripped(void **state)
{
    struct fixture *f = *state;

    elf_plan__site(&f->plan, 0x10);
    elf_plan__site(&f->plan, 0x40);
    f->plan.base = ELF_DATA; /* llvm-strip leaves it */
    f->image = elf_plan__build(&f->plan);
    assert_int_equal(read_image(f), 0);
    assert_int_equal(f->table->state, NOTES_STRIPPED);
    assert_int_equal(f->table->n_stripped_sites, 2);
}

static void test_stripped_of_sections(void **state)
{
    struct fixture *f = *state;

    elf_plan__site(&f->plan, 0x10);
    f->image = elf_plan__build(&f->plan);
    elf_image__header(&f->image)->e_shoff = 0;
    elf_image__header(&f->image)->e_shnum = 0;
    assert_int_equal(read_image(f), 0);
    assert_int_equal(f->table->state, NOTES_STRIPPED);
    assert_int_equal(f->table->n_stripped_sites, 1);
}

static void test_absent(void **state)
{
    struct fixture *f = *state;

    f->image = elf_plan__build(&f->plan);
    assert_int_equal(read_image(f), 0);
    assert_int_equal(f->table->state, NOTES_ABSENT);
    assert_int_equal(f->table->n_sites + f->table->n_regions, 0);
}

static void test_message_has_no_controls(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(err__set(&err, EINVAL, "%s", "a\033[31mb\nc"), -EINVAL);
    assert_string_equal(err.text, "a?[31mb?c");
    assert_int_equal(err__set(NULL, ENOMEM, "x"), -ENOMEM);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pair),
        TEST(test_names),
        TEST(test_scopes),
        TEST(test_scope_without_end),
        TEST(test_dynamic),
        TEST(test_gate),
        TEST(test_sites_are_checked),
        TEST(test_aarch64),
        TEST(test_semaphores),
        TEST(test_base_moves),
        TEST(test_no_base_no_move),
        TEST(test_zero_base_no_move),
        TEST(test_duplicates),
        TEST(test_first_source_counts),
        TEST(test_foreign),
        TEST(test_other_notes_are_skipped),
        TEST(test_damaged_notes),
        TEST(test_owner_size_overflows),
        TEST(test_desc_size_overflows),
        TEST(test_desc_size_one_too_many),
        TEST(test_section_beyond_file),
        TEST(test_section_offset_wraps),
        TEST(test_too_many_notes),
        TEST(test_too_many_bytes),
        TEST(test_overlapping_sections),
        TEST(test_every_truncation),
        TEST(test_every_byte),
        TEST(test_shrinks_while_read),
        TEST(test_stripped),
        TEST(test_stripped_of_sections),
        TEST(test_absent),
        cmocka_unit_test(test_message_has_no_controls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
