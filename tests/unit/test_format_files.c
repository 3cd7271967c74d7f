// SPDX-License-Identifier: GPL-2.0-only
/* Files appear whole or not at all, and never through a link, a FIFO or a second name. */
#include "made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "converters/format.h"

const char *__lsan_default_suppressions(void);

/* libhdf5 loses a few bytes of its own when a disk is full. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static char folder[64];
static struct profile *profile;

static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next = (next + 1) % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void put_file(const char *path, const char *contents)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(contents, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_contents(const char *path, const char *wanted)
{
    char bytes[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(bytes, wanted);
}

static int count_files(void)
{
    DIR *dir = opendir(folder);
    int n = 0;

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return n;
}

static int write_as(const char *name, const struct write_options *options, char ***files, size_t *n,
                    struct err *err)
{
    const char *path = in_folder(name);

    return format__write_files(profile, format__by_suffix(path), path, options, files, n, err);
}

static void refused_rank(const char *name, const char *file, const char *reason)
{
    struct err err = {0};
    int before = count_files();

    assert_true(write_as(name, NULL, NULL, NULL, &err) < 0);
    if (!strstr(err.text, file) || !strstr(err.text, reason))
        fail_msg("'%s' does not name '%s' and '%s'", err.text, file, reason);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(count_files(), before);
}

static void refused(const char *name, const char *reason)
{
    refused_rank(name, name, reason);
}

static int set_up(void **state)
{
    const struct made_call calls[] = {{"a", 0, -1, 10, 20, -1},
                                      {"b", 0, -1, 12, 15, -1},
                                      {"a", 7, -1, 10, 20, -1},
                                      {"a", 123456, -1, 1, 2, -1}};

    (void)state;
    strcpy(folder, "/tmp/test-format-files-XXXXXX");
    profile = made_profile(calls, 4);
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    profile__destroy(profile);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void test_names_of_files(void **state)
{
    struct err err = {0};
    char **files;
    size_t n;

    (void)state;
    assert_int_equal(write_as("out.spt", NULL, &files, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_string_equal(files[0], in_folder("out_rank00000.spt"));
    assert_string_equal(files[1], in_folder("out_rank00007.spt"));
    assert_string_equal(files[2], in_folder("out_rank123456.spt"));
    for (size_t i = 0; i < n; i++)
        free(files[i]);
    free(files);
    assert_int_equal(count_files(), 3);
    assert_int_equal(write_as("out.h5", NULL, NULL, NULL, &err), 0);
    assert_int_equal(count_files(), 4);
}

static void test_mode_follows_umask(void **state)
{
    struct err err = {0};
    struct stat st;
    mode_t old = umask(027);

    (void)state;
    assert_int_equal(write_as("out.json", NULL, NULL, NULL, &err), 0);
    umask(old);
    assert_int_equal(stat(in_folder("out.json"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void test_a_file_is_replaced(void **state)
{
    struct err err = {0};
    struct profile *p;

    (void)state;
    put_file(in_folder("out.h5"), "old");
    assert_int_equal(write_as("out.h5", NULL, NULL, NULL, &err), 0);
    assert_int_equal(format__read_file(in_folder("out.h5"), &p, &err), 0);
    assert_int_equal(p->start.n, 4);
    profile__destroy(p);
    assert_int_equal(count_files(), 1);
}

static void test_symbolic_link(void **state)
{
    (void)state;
    put_file(in_folder("victim"), "untouched");
    assert_int_equal(symlink(in_folder("victim"), in_folder("out.h5")), 0);
    refused("out.h5", "symbolic link");
    assert_contents(in_folder("victim"), "untouched");
    assert_int_equal(symlink(in_folder("nowhere"), in_folder("out.json")), 0);
    refused("out.json", "symbolic link");
}

static void test_hard_link(void **state)
{
    (void)state;
    put_file(in_folder("victim"), "untouched");
    assert_int_equal(link(in_folder("victim"), in_folder("out.h5")), 0);
    refused("out.h5", "hard links");
    assert_contents(in_folder("victim"), "untouched");
}

static void test_fifo_and_folder(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(in_folder("out.h5"), 0600), 0);
    refused("out.h5", "FIFO");
    assert_int_equal(mkdir(in_folder("out.json"), 0700), 0);
    refused("out.json", "folder");
}

/* One bad name among several: none is written, none replaced. */
static void test_all_ranks_or_none(void **state)
{
    (void)state;
    put_file(in_folder("out_rank00000.spt"), "old");
    assert_int_equal(mkfifo(in_folder("out_rank00007.spt"), 0600), 0);
    refused_rank("out.spt", "out_rank00007.spt", "FIFO");
    assert_contents(in_folder("out_rank00000.spt"), "old");
}

static void test_no_such_folder(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(write_as("no/out.h5", NULL, NULL, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no/out.h5"));
    assert_int_equal(count_files(), 0);
}

/* A file that may not grow stands for a full disk. */
static void test_full_disk(void **state)
{
    static const char *const names[] = {"out.h5", "out.json", "out.json.gz", "out.spt"};
    struct rlimit old, tight;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = (struct rlimit){16, old.rlim_max};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct err err = {0};
        int code;

        put_file(in_folder(names[i]), "old");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        code = write_as(names[i], NULL, NULL, NULL, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_true(code < 0);
        assert_non_null(strstr(err.text, "out"));
        assert_null(strstr(err.text, ".scope-"));
        assert_contents(in_folder(names[i]), "old");
        assert_int_equal(count_files(), i + 1);
    }
}

static void test_only_regular_files_are_read(void **state)
{
    struct profile *p;
    struct err err = {0};

    (void)state;
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_int_equal(format__read_file(in_folder("fifo"), &p, &err), -EINVAL);
    assert_non_null(strstr(err.text, "FIFO"));
    assert_int_equal(format__read_file(folder, &p, &err), -EINVAL);
    assert_non_null(strstr(err.text, "folder"));
    assert_int_equal(format__read_file("/dev/zero", &p, &err), -EINVAL);
    assert_int_equal(format__read_file(in_folder("nothing"), &p, &err), -ENOENT);
    put_file(in_folder("empty"), "");
    assert_int_equal(format__read_file(in_folder("empty"), &p, &err), -EINVAL);
    assert_non_null(strstr(err.text, "empty"));
    put_file(in_folder("text"), "hello");
    assert_int_equal(format__read_file(in_folder("text"), &p, &err), -EINVAL);
    assert_non_null(strstr(err.text, "text"));
}

/* The content says what a file is, not its name. */
static void test_content_decides(void **state)
{
    struct profile *p;
    struct err err = {0};

    (void)state;
    assert_int_equal(write_as("out.h5", NULL, NULL, NULL, &err), 0);
    assert_int_equal(rename(in_folder("out.h5"), in_folder("out.spt")), 0);
    assert_int_equal(format__read_file(in_folder("out.spt"), &p, &err), 0);
    assert_string_equal(p->source.s, "h5");
    profile__destroy(p);
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; formats[i]; i++) {
        const struct format *f = formats[i];

        assert_true(f->name && *f->name && f->help && *f->help && f->suffix && *f->suffix == '.');
        assert_true(f->read || f->write);
        assert_int_equal(!f->read, !f->match);
        assert_ptr_equal(format__by_name(f->name), f);
        assert_ptr_equal(format__by_suffix(in_folder(f->suffix)), f);
    }
    assert_null(format__by_suffix("x.unknown"));
    assert_null(format__by_name("unknown"));
    assert_string_equal(format__by_suffix("a.speedscope.json")->name, "speedscope");
    assert_string_equal(format__by_suffix("a.json.gz")->name, "json.gz");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_of_files),     TEST(test_mode_follows_umask),
        TEST(test_a_file_is_replaced), TEST(test_symbolic_link),
        TEST(test_hard_link),          TEST(test_fifo_and_folder),
        TEST(test_all_ranks_or_none),  TEST(test_no_such_folder),
        TEST(test_full_disk),          TEST(test_only_regular_files_are_read),
        TEST(test_content_decides),    TEST(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
