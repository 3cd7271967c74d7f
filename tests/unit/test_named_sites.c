// SPDX-License-Identifier: GPL-2.0-only
// link: user
/* Sites of other providers whose argument names the region, and when a group of them is given up. */
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
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf_writer.h"
#include "usdt/regions.h"
#include "user/named_groups.h"

struct fixture {
    struct elf_plan plan;
    struct byte_buffer notes;
    struct elf_image image;
    struct pairing *rules;
    struct elf_file *file;
    struct probe_table *table;
    int fd;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->fd = -1;
    f->rules = pairing__new();
    *state = f;
    return !f->rules;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    probe_table__destroy(f->table);
    elf_file__close(f->file);
    pairing__free(f->rules);
    elf_image__deinit(&f->image);
    byte_buffer__deinit(&f->notes);
    close(f->fd);
    free(f);
    return 0;
}

static void rule(struct fixture *f, const char *text)
{
    struct err err;

    if (pairing__add(f->rules, text, &err))
        fail_msg("%s", err.text);
}

static void read_table(struct fixture *f)
{
    struct err err;

    f->plan.notes = f->notes.bytes;
    f->plan.notes_size = f->notes.size;
    f->image = elf_plan__build(&f->plan);
    f->fd = memfd_create("plan", MFD_CLOEXEC);
    assert_int_equal(write(f->fd, f->image.bytes, f->image.size), f->image.size);
    if (elf_file__open_fd(f->fd, "plan", &f->file, &err) ||
        probe_table__read(f->file, f->rules, &f->table, &err))
        fail_msg("%s", err.text);
}

static void probe(struct fixture *f, size_t offset, uint64_t semaphore, const char *name, const char *args)
{
    elf_note__probe(&f->notes, elf_plan__site(&f->plan, offset), 0, semaphore, "py", name, args);
}

static void test_register_and_memory(void **state)
{
    struct fixture *f = *state;
    const struct site *sites;

    rule(f, "py:entry,return=@2");
    probe(f, 0x10, 0, "entry", "8@%rbp 8@%r12 -4@%eax");
    probe(f, 0x30, ELF_DATA + 8, "return", "no\\thing 8@-16(%rsp) 4f@%xmm0"); /* only the second is read */
    read_table(f);
    assert_int_equal(f->table->n_refused, 0);
    assert_int_equal(f->table->n_regions, 0);
    assert_int_equal(f->table->n_sites, 2);
    sites = f->table->sites;
    assert_int_equal(sites[0].kind, SITE_NAMED_OPEN);
    assert_int_equal(sites[0].scope.kind, OPERAND_REGISTER);
    assert_int_equal(sites[0].scope.base, 12);
    assert_string_equal(sites[0].provider, "py");
    assert_string_equal(sites[0].probe, "entry");
    assert_int_equal(sites[0].ref_ctr_offset, 0);
    assert_int_equal(sites[1].kind, SITE_NAMED_CLOSE);
    assert_int_equal(sites[1].scope.kind, OPERAND_MEMORY);
    assert_int_equal(sites[1].scope.base, 7);
    assert_int_equal(sites[1].scope.offset, -16);
    assert_true(sites[1].ref_ctr_offset != 0);
}

static void test_arguments_that_are_no_pointer(void **state)
{
    static const char *const bad[] = {
        "", "8@%rax", "8@%rax 4@%ebx", "8@%rax 8@$7", "8@%rax 8@%fs:0(%rax)", "8@%rax -1@%dl"};
    struct fixture *f = *state;

    rule(f, "py:entry,return=@2");
    rule(f, "py:gc__start,gc__done");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        probe(f, 0x10 + 0x20 * i, 0, "entry", bad[i]);
    probe(f, 0x200, 0, "gc__start", "what is this");
    probe(f, 0x220, 0, "gc__done", "8@");
    read_table(f);
    assert_int_equal(f->table->n_refused, sizeof(bad) / sizeof(bad[0]));
    for (size_t i = 0; i < f->table->n_refused; i++)
        assert_non_null(strstr(f->table->refused[i].why, "argument 2 of"));
    assert_int_equal(f->table->n_sites, 2); /* who needs no argument is not stopped by one */
    assert_string_equal(f->table->regions[0].name, "gc");
    assert_null(f->table->regions[0].problem);
}

static void test_semaphore_and_code_are_checked(void **state)
{
    struct fixture *f = *state;

    rule(f, "py:*_begin,*_end");
    probe(f, 0x10, ELF_TEXT + 0x80, "a_begin", "");
    probe(f, 0x30, ELF_DATA + 1, "b_begin", "");
    probe(f, 0x50, 0x10, "c_begin", "");
    elf_note__probe(&f->notes, ELF_DATA + 0x10, 0, 0, "py", "d_begin", "");
    probe(f, 0x70, ELF_DATA, "e_begin", "");
    read_table(f);
    assert_int_equal(f->table->n_sites, 1);
    assert_string_equal(f->table->regions[0].name, "e");
    assert_int_equal(f->table->n_dropped, 1); /* in no executable segment */
    assert_int_equal(f->table->n_refused, 3);
    assert_non_null(strstr(f->table->refused[0].why, "not in a writable segment"));
    assert_non_null(strstr(f->table->refused[1].why, "not aligned"));
    assert_non_null(strstr(f->table->refused[2].why, "has no bytes in the file"));
}

static void test_groups(void **state)
{
    struct named_groups *g = calloc(1, sizeof(*g));
    const struct site open = {.kind = SITE_NAMED_OPEN, .provider = "py", .probe = "entry"};
    const struct site close = {.kind = SITE_NAMED_CLOSE, .provider = "py", .probe = "return"};
    const struct site other = {.kind = SITE_NAMED_OPEN, .provider = "rb", .probe = "entry"};

    (void)state;
    assert_non_null(g);
    assert_int_equal(named_groups__get(g, 4, &open), 1); /* 0 is nobody's */
    assert_int_equal(named_groups__get(g, 4, &close), 1);
    assert_int_equal(named_groups__get(g, 4, &other), 2);
    assert_int_equal(named_groups__get(g, 5, &open), 3);
    assert_string_equal(g->groups[1].begin, "entry");
    assert_string_equal(g->groups[1].end, "return");
    assert_null(g->groups[2].end);
    for (size_t file = 6; g->n < SB_MAX_NAMED_GROUPS; file++)
        assert_int_not_equal(named_groups__get(g, file, &open), 0);
    assert_int_equal(named_groups__get(g, 1, &open), 0);
    assert_int_equal(named_groups__get(g, 5, &close), 3);
    free(g);
}

static void test_balance(void **state)
{
    static const struct {
        struct sb_balance balance;
        bool now, last;
    } rows[] = {
        {{0, 0}, false, false},      {{0, 99}, false, false},      {{0, 100}, false, true},
        {{3, 999}, false, true},     {{3, 1000}, true, true},      {{99, 1000}, true, true},
        {{100, 1000}, false, false}, {{5000, 1000}, false, false}, {{10, 100}, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(named_groups__is_unbalanced(&rows[i].balance, false), rows[i].now);
        assert_int_equal(named_groups__is_unbalanced(&rows[i].balance, true), rows[i].last);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_register_and_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arguments_that_are_no_pointer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_semaphore_and_code_are_checked, setup, teardown),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_balance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
