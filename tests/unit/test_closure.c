// SPDX-License-Identifier: GPL-2.0-only
/* The files that a loader maps: against ld.so itself on real programs, and in roots made for a rule. */
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf_writer.h"
#include "usdt/closure.h"

/* A root of its own, with a loader in it. */
struct fixture {
    char root[64];
    struct closure *closure;
    struct closure_options options;
    struct err err;
};

static void write_file(const struct fixture *f, const char *path, const void *bytes, size_t size)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof(full), "%s%s", f->root, path);
    for (char *slash = full + strlen(f->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    file = fopen(full, "w");
    if (!file || fwrite(bytes, 1, size, file) != size)
        abort();
    fclose(file);
}

static void write_elf(const struct fixture *f, const char *path, const struct elf_plan *plan)
{
    struct elf_image image = elf_plan__build(plan);

    write_file(f, path, image.bytes, image.size);
    elf_image__deinit(&image);
}

static void write_library(const struct fixture *f, const char *path)
{
    write_elf(f, path, &(struct elf_plan){0});
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    strcpy(f->root, "/tmp/test_closure.XXXXXX");
    if (!mkdtemp(f->root))
        return -1;
    f->options.root = f->root;
    write_elf(f, "/lib64/ld.so", &(struct elf_plan){.soname = "ld.so"});
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];

    closure__free(f->closure);
    snprintf(command, sizeof(command), "rm -rf %s", f->root);
    free(f);
    return system(command);
}

static int list(struct fixture *f, const char *path)
{
    char full[512];
    int fd, r;

    snprintf(full, sizeof(full), "%s%s", f->root, path);
    fd = open(full, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    closure__free(f->closure);
    f->closure = NULL;
    r = closure__list(fd, path, &f->options, &f->closure, &f->err);
    close(fd);
    return r;
}

static void assert_files(struct fixture *f, const char *program, const char *const *paths, size_t count)
{
    if (list(f, program) < 0)
        fail_msg("%s", f->err.text);
    for (size_t i = 0; i < count && i < f->closure->n_files; i++)
        assert_string_equal(f->closure->files[i].path, paths[i]);
    assert_int_equal(f->closure->n_files, count);
}

#define ASSERT_FILES(f, ...)                                                                                 \
    assert_files(f, "/bin/prog", (const char *const[]){"/bin/prog", "/lib64/ld.so", __VA_ARGS__},            \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) + 2)

static void write_program(const struct fixture *f, struct elf_plan plan)
{
    plan.interp = "/lib64/ld.so";
    write_elf(f, "/bin/prog", &plan);
}

static void test_breadth_first_and_cycles(void **state)
{
    struct fixture *f = *state;

    write_program(f, (struct elf_plan){.needed = {"a.so", "b.so"}});
    write_elf(f, "/lib/a.so", &(struct elf_plan){.needed = {"c.so", "b.so", "ld.so"}});
    write_elf(f, "/usr/lib/b.so", &(struct elf_plan){.needed = {"a.so", "alias.so"}});
    write_elf(f, "/lib/c.so", &(struct elf_plan){.soname = "alias.so", .needed = {"c.so"}});
    ASSERT_FILES(f, "/lib/a.so", "/usr/lib/b.so", "/lib/c.so");
    assert_int_equal(f->closure->n_missing, 0);
    assert_int_equal(f->closure->files[0].role, CLOSURE_PROGRAM);
    assert_int_equal(f->closure->files[1].role, CLOSURE_LOADER);
    assert_int_equal(f->closure->files[2].role, CLOSURE_LIBRARY);
}

static void test_missing_is_no_error(void **state)
{
    struct fixture *f = *state;

    write_program(f, (struct elf_plan){.needed = {"gone.so", "a.so"}});
    write_elf(f, "/lib/a.so", &(struct elf_plan){.needed = {"gone.so", "lost.so"}});
    ASSERT_FILES(f, "/lib/a.so");
    assert_int_equal(f->closure->n_missing, 2);
    assert_string_equal(f->closure->missing[0].name, "gone.so");
    assert_string_equal(f->closure->missing[0].wanted_by, "/bin/prog");
    assert_string_equal(f->closure->missing[1].wanted_by, "/lib/a.so");
}

static void test_rpath_of_who_loaded(void **state)
{
    struct fixture *f = *state;

    write_program(f, (struct elf_plan){.needed = {"a.so", "r.so"}, .rpath = "/opt/r:$ORIGIN/../o"});
    write_elf(f, "/o/a.so", &(struct elf_plan){.needed = {"b.so"}});
    write_library(f, "/opt/r/b.so"); /* by the program's RPATH, though a.so asks */
    write_elf(f, "/opt/r/r.so", &(struct elf_plan){.needed = {"c.so"}, .runpath = "${ORIGIN}/own"});
    write_library(f, "/opt/r/c.so"); /* r.so has a RUNPATH: no RPATH counts */
    write_library(f, "/opt/r/own/c.so");
    ASSERT_FILES(f, "/bin/../o/a.so", "/opt/r/r.so", "/opt/r/b.so", "/opt/r/own/c.so");
}

static void test_order_of_places(void **state)
{
    struct fixture *f = *state;

    write_program(f, (struct elf_plan){.needed = {"a.so"}, .runpath = "/run"});
    write_library(f, "/lib/a.so");
    ASSERT_FILES(f, "/lib/a.so");
    write_library(f, "/run/a.so");
    ASSERT_FILES(f, "/run/a.so");
    write_library(f, "/env/a.so");
    f->options.ld_library_path = "/nowhere;/env:";
    ASSERT_FILES(f, "/env/a.so");
    write_program(f, (struct elf_plan){.needed = {"a.so"}, .rpath = "/run"});
    ASSERT_FILES(f, "/run/a.so"); /* the old RPATH comes before the environment */
}

static void test_other_machine_is_passed_over(void **state)
{
    struct fixture *f = *state;

    write_program(f, (struct elf_plan){.needed = {"a.so"}});
    write_elf(f, "/env/a.so", &(struct elf_plan){.machine = EM_AARCH64});
    write_file(f, "/env2/a.so", "text", 4);
    write_library(f, "/lib/a.so");
    f->options.ld_library_path = "/env:/env2";
    ASSERT_FILES(f, "/lib/a.so");
}

static void test_preload(void **state)
{
    static const char preload[] = "/opt/p2.so # a word\n#/opt/not.so\n";
    struct fixture *f = *state;

    write_program(f, (struct elf_plan){.needed = {"a.so"}});
    write_elf(f, "/opt/p1.so", &(struct elf_plan){.needed = {"b.so"}});
    write_library(f, "/opt/p2.so");
    write_library(f, "/lib/a.so");
    write_library(f, "/lib/b.so");
    write_library(f, "/lib/p3.so");
    write_file(f, "/etc/ld.so.preload", preload, sizeof(preload) - 1);
    f->options.ld_preload = "/opt/p1.so p3.so:/opt/gone.so";
    ASSERT_FILES(f, "/opt/p1.so", "/lib/p3.so", "/opt/p2.so", "/lib/a.so", "/lib/b.so");
    assert_int_equal(f->closure->files[2].role, CLOSURE_PRELOAD);
    assert_int_equal(f->closure->n_missing, 1);
}

/* Links inside a root stay inside it, and nothing but a regular file is opened. */
static void test_links_and_odd_files(void **state)
{
    struct fixture *f = *state;
    char path[128];

    write_program(f, (struct elf_plan){.needed = {"a.so", "fifo.so", "b.so"}});
    write_library(f, "/real/a.so");
    write_library(f, "/lib/x");
    snprintf(path, sizeof(path), "%s/lib/a.so", f->root);
    assert_int_equal(symlink("/real/a.so", path), 0);
    snprintf(path, sizeof(path), "%s/lib/b.so", f->root);
    assert_int_equal(symlink("/../../real/a.so", path), 0); /* the same file again */
    snprintf(path, sizeof(path), "%s/lib/fifo.so", f->root);
    assert_int_equal(mkfifo(path, 0600), 0);
    ASSERT_FILES(f, "/lib/a.so");
    assert_int_equal(f->closure->n_missing, 1);
}

static void test_scripts(void **state)
{
    static const char *const paths[] = {"/bin/s", "/bin/t", "/bin/prog", "/lib64/ld.so"};
    struct fixture *f = *state;

    write_program(f, (struct elf_plan){0});
    write_file(f, "/bin/s", "#! /bin/t -x\n", 13);
    write_file(f, "/bin/t", "#!bin/prog", 10); /* relative: the working folder is the root */
    assert_files(f, "/bin/s", paths, 4);
    assert_int_equal(f->closure->files[0].role, CLOSURE_SCRIPT);
    assert_int_equal(f->closure->files[2].role, CLOSURE_PROGRAM);
}

static void test_script_errors(void **state)
{
    struct fixture *f = *state;

    write_file(f, "/bin/self", "#!/bin/self\n", 12);
    assert_int_equal(list(f, "/bin/self"), -ELOOP);
    write_file(f, "/bin/gone", "#!/bin/nothing\n", 15);
    assert_int_equal(list(f, "/bin/gone"), -ENOENT);
    assert_non_null(strstr(f->err.text, "interpreter /bin/nothing"));
    write_file(f, "/bin/empty", "#!\n", 3);
    assert_int_equal(list(f, "/bin/empty"), -ENOEXEC);
    write_file(f, "/bin/text", "echo\n", 5);
    assert_int_equal(list(f, "/bin/text"), -ENOEXEC);
    assert_non_null(strstr(f->err.text, "no ELF file"));
}

static void test_loader_is_gone(void **state)
{
    struct fixture *f = *state;

    write_elf(f, "/bin/prog", &(struct elf_plan){.interp = "/lib/ld-none.so"});
    assert_int_equal(list(f, "/bin/prog"), -ENOENT);
    assert_non_null(strstr(f->err.text, "loader /lib/ld-none.so"));
}

static void test_static(void **state)
{
    static const char *const paths[] = {"/bin/prog"};
    struct fixture *f = *state;

    write_elf(f, "/bin/prog", &(struct elf_plan){.needed = {"a.so"}});
    f->options.ld_preload = "/opt/p1.so";
    assert_files(f, "/bin/prog", paths, 1);
}

static void test_musl(void **state)
{
    static const char path_file[] = "/opt/m\n/other\n";
    static const char *const paths[] = {"/bin/prog", "/lib/ld-musl-x86_64.so.1", "/opt/m/a.so", "/up/b.so"};
    struct fixture *f = *state;

    write_library(f, "/lib/ld-musl-x86_64.so.1");
    write_elf(f, "/bin/prog",
              &(struct elf_plan){.interp = "/lib/ld-musl-x86_64.so.1",
                                 .runpath = "/up",
                                 .needed = {"a.so", "libc.so", "libm.so.6"}});
    write_elf(f, "/opt/m/a.so", &(struct elf_plan){.needed = {"b.so"}});
    write_library(f, "/lib/a.so");
    write_library(f, "/up/b.so"); /* the program's RUNPATH serves its libraries too */
    write_file(f, "/etc/ld-musl-x86_64.path", path_file, sizeof(path_file) - 1);
    assert_files(f, "/bin/prog", paths, 4);
    assert_int_equal(f->closure->n_missing, 0);
}

static bool has_level_2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

static void test_hwcaps_folder(void **state)
{
    struct fixture *f = *state;

    if (!has_level_2()) {
        print_message("# skip: this CPU has no x86-64-v2 libraries\n");
        skip();
    }
    write_program(f, (struct elf_plan){.needed = {"a.so"}});
    write_library(f, "/env/a.so");
    write_library(f, "/env/glibc-hwcaps/x86-64-v2/a.so");
    write_library(f, "/env/glibc-hwcaps/x86-64-v9/a.so");
    f->options.ld_library_path = "/env";
    ASSERT_FILES(f, "/env/glibc-hwcaps/x86-64-v2/a.so");
}

/* A cache that ldconfig itself writes, of a folder where nobody else looks. */
static void test_cache(void **state)
{
    struct fixture *f = *state;
    char command[256];

    write_program(f, (struct elf_plan){.needed = {"libodd.so.1", "libfast.so.1"}});
    write_file(f, "/etc/ld.so.conf", "/odd\n", 5);
    write_elf(f, "/odd/libodd.so.1",
              &(struct elf_plan){.type = ET_DYN, .soname = "libodd.so.1", .needed = {"libin.so.1"}});
    write_elf(f, "/odd/libin.so.1",
              &(struct elf_plan){.type = ET_DYN, .soname = "libin.so.1", .needed = {"libc.so.6"}});
    write_elf(f, "/odd/libfast.so.1", &(struct elf_plan){.type = ET_DYN, .soname = "libfast.so.1"});
    write_elf(f, "/odd/glibc-hwcaps/x86-64-v2/libfast.so.1",
              &(struct elf_plan){.type = ET_DYN, .soname = "libfast.so.1"});
    write_library(f, "/lib/libc.so.6");
    snprintf(command, sizeof(command), "/sbin/ldconfig -r %s >/dev/null 2>&1", f->root);
    if (geteuid() || system(command) || !has_level_2()) {
        print_message("# skip: ldconfig -r needs root, and this test an x86-64-v2 CPU\n");
        skip();
    }
    ASSERT_FILES(f, "/odd/libodd.so.1", "/odd/glibc-hwcaps/x86-64-v2/libfast.so.1", "/odd/libin.so.1",
                 "/lib/libc.so.6");
}

/* Every cut and every flipped byte of a cache: never a crash; the default folders still serve. */
static void test_damaged_cache(void **state)
{
    struct fixture *f = *state;
    char bytes[4096];
    size_t size;
    FILE *cache;

    write_program(f, (struct elf_plan){.needed = {"liba.so.1"}});
    write_library(f, "/lib/liba.so.1");
    cache = fopen("/etc/ld.so.cache", "r");
    if (!cache) {
        print_message("# skip: no /etc/ld.so.cache\n");
        skip();
    }
    size = fread(bytes, 1, sizeof(bytes), cache);
    fclose(cache);
    for (size_t i = 0; i < 128 && i < size; i++) {
        bytes[i] = (char)~bytes[i];
        write_file(f, "/etc/ld.so.cache", bytes, size);
        ASSERT_FILES(f, "/lib/liba.so.1");
        bytes[i] = (char)~bytes[i];
        write_file(f, "/etc/ld.so.cache", bytes, i);
        ASSERT_FILES(f, "/lib/liba.so.1");
    }
}

static void test_take_fd(void **state)
{
    struct fixture *f = *state;
    struct stat status;
    int fd;

    write_program(f, (struct elf_plan){0});
    assert_int_equal(list(f, "/bin/prog"), 0);
    fd = closure__take_fd(f->closure, 0);
    closure__free(f->closure);
    f->closure = NULL;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The paths that the loader lists; their number. */
static size_t list_by_loader(const char *loader, const char *program, const char *environment, char **paths,
                             size_t max)
{
    char command[512], line[1024];
    size_t count = 0;
    FILE *out;

    snprintf(command, sizeof(command), "env %s %s --list %s 2>/dev/null", environment, loader, program);
    out = popen(command, "r");
    while (count < max && fgets(line, sizeof(line), out)) {
        char *arrow = strstr(line, "=> "), *start = arrow ? arrow + 3 : strchr(line, '/'),
             *end = strstr(line, " (0x");

        if (!start || !end || strstr(line, "vdso"))
            continue;
        *end = '\0';
        paths[count++] = strdup(start);
    }
    pclose(out);
    return count;
}

static void compare_with_loader(const char *program, const char *library_path)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    struct closure_options options = {.ld_library_path = library_path};
    char *by_loader[512], *ours[512], environment[256];
    struct closure *closure;
    size_t count, n_ours = 0;
    struct err err;

    snprintf(environment, sizeof(environment), "LD_LIBRARY_PATH=%s", library_path);
    if (closure__list(fd, program, &options, &closure, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(closure->files[1].role, CLOSURE_LOADER);
    count = list_by_loader(closure->files[1].path, program, environment, by_loader, 512);
    for (size_t i = 1; i < closure->n_files && n_ours < 512; i++)
        ours[n_ours++] = closure->files[i].path;
    qsort(by_loader, count, sizeof(char *), compare_strings);
    qsort(ours, n_ours, sizeof(char *), compare_strings);
    assert_true(count >= 2);
    assert_int_equal(n_ours, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(ours[i], by_loader[i]);
        free(by_loader[i]);
    }
    assert_int_equal(closure->n_missing, 0);
    closure__free(closure);
    close(fd);
}

static void test_against_the_loader(void **state)
{
    static const char *const programs[] = {"/bin/sh",      "/bin/ls",         "/usr/bin/python3",
                                           "/usr/bin/gdb", "/usr/bin/mpirun", "/usr/bin/bpftrace",
                                           "/usr/bin/git", "/usr/bin/clang",  "/usr/bin/readelf"};
    size_t n_compared = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (access(programs[i], R_OK))
            continue;
        compare_with_loader(programs[i], "");
        compare_with_loader(programs[i], "/nowhere:/usr/lib/x86_64-linux-gnu:relative");
        n_compared++;
    }
    assert_true(n_compared >= 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_breadth_first_and_cycles),
        TEST(test_missing_is_no_error),
        TEST(test_rpath_of_who_loaded),
        TEST(test_order_of_places),
        TEST(test_other_machine_is_passed_over),
        TEST(test_preload),
        TEST(test_links_and_odd_files),
        TEST(test_scripts),
        TEST(test_script_errors),
        TEST(test_loader_is_gone),
        TEST(test_static),
        TEST(test_musl),
        TEST(test_hwcaps_folder),
        TEST(test_cache),
        TEST(test_damaged_cache),
        TEST(test_take_fd),
        cmocka_unit_test(test_against_the_loader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
