// SPDX-License-Identifier: GPL-2.0-only
/* Notes, sites and regions of programs that compilers made, against what readelf says of them. */
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

#include "usdt/notes.h"
#include "usdt/regions.h"

/* A real program: what readelf reads of it is the truth. */
static const char program[] = "#include \"scope_probe.h\"\n"
                              "#include <stdio.h>\n"
                              "static inline int work(int n) {\n"
                              "    SP_PROBE(work);\n"
                              "    SP_BEGIN(inner); n *= 2; SP_END(inner);\n"
                              "    return n; }\n"
                              "int again(int n) { return work(n); }\n"
                              "int main(int argc, char **argv) {\n"
                              "    SP_REGION(\"any % text {a|b}\");\n"
                              "    SP_PROBE_DYNAMIC(argv[0]);\n"
                              "    printf(\"%d\\n\", work(argc)); return 0; }\n";

static bool has(const char *compiler)
{
    char command[128];

    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", compiler);
    return !system(command);
}

static void compile(const char *compiler, const char *level, const char *folder)
{
    char path[256], command[1024], include[512];
    FILE *source;

    if (!getcwd(include, sizeof(include)))
        abort();
    snprintf(path, sizeof(path), "%s/p.c", folder);
    source = fopen(path, "w");
    fputs(program, source);
    fclose(source);
    snprintf(command, sizeof(command), "cd %s && %s %s -I%s/include -o p p.c", folder, compiler, level,
             include);
    assert_int_equal(system(command), 0);
}

/* Compares each note of provider scope that readelf lists; returns how many. */
static size_t compare_with_readelf(const struct probe_table *table, const char *folder)
{
    char line[512], name[256] = "", provider[64] = "", command[512];
    size_t count = 0;
    FILE *notes;

    snprintf(command, sizeof(command), "readelf -nW %s/p", folder);
    notes = popen(command, "r");
    while (fgets(line, sizeof(line), notes)) {
        unsigned long location;
        size_t i;

        if (strstr(line, "Provider: "))
            sscanf(strstr(line, "Provider: "), "Provider: %63s", provider);
        sscanf(line, " Name: %255[^\n]", name);
        if (sscanf(line, " Location: %lx", &location) != 1 || strcmp(provider, "scope"))
            continue;
        for (i = 0; i < table->n_sites && table->sites[i].vaddr != location; i++)
            ;
        assert_true(i < table->n_sites);
        if (table->sites[i].region != SITE_NO_REGION)
            assert_memory_equal(name, table->regions[table->sites[i].region].name,
                                table->regions[table->sites[i].region].name_len);
        count++;
    }
    pclose(notes);
    return count;
}

static void check_compiled(const char *compiler, const char *level)
{
    char folder[] = "/tmp/test_notes.XXXXXX", path[256];
    struct probe_table *table;
    struct elf_file *file;
    struct err err;
    int fd;

    assert_non_null(mkdtemp(folder));
    compile(compiler, level, folder);
    snprintf(path, sizeof(path), "%s/p", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(elf_file__open_fd(fd, path, &file, &err), 0);
    assert_int_equal(probe_table__read(file, NULL, &table, &err), 0);
    assert_true(compare_with_readelf(table, folder) >= 8);
    assert_int_equal(table->n_sites, compare_with_readelf(table, folder));
    assert_int_equal(table->n_refused + table->n_damaged, 0);
    assert_int_equal(table->n_regions, 3);
    for (size_t i = 0; i < table->n_regions; i++) {
        assert_null(table->regions[i].problem);
        assert_string_equal(table->regions[i].source_file, "p.c");
        assert_in_range(table->regions[i].source_line, 4, 9);
    }
    for (size_t i = 0; i < table->n_sites; i++)
        assert_true(table->sites[i].nop == SITE_NOP1_NOP10 || table->sites[i].nop == SITE_NOP4_AARCH64);
    probe_table__destroy(table);
    elf_file__close(file);
    close(fd);
    snprintf(path, sizeof(path), "rm -rf %s", folder);
    assert_int_equal(system(path), 0);
}

static void test_compiled(void **state)
{
    static const char *const compilers[] = {"gcc", "clang", "aarch64-linux-gnu-gcc", "g++ -x c++",
                                            "clang++ -x c++"};
    static const char *const levels[] = {"-O0", "-O2", "-O3 -static"};
    size_t n_done = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
        for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++) {
            char first[64];

            sscanf(compilers[i], "%63s", first);
            if (!has(first))
                continue;
            check_compiled(compilers[i], levels[k]);
            n_done++;
        }
    }
    if (!n_done) {
        print_message("# skip: none of these compilers is installed\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
