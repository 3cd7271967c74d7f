// SPDX-License-Identifier: GPL-2.0-only
// timeout: 600
/*
 * Files that nobody vouches for: cut at every byte, every byte changed, counts that no memory could hold, and
 * HDF5's ways to point elsewhere. Each is an error of one line that names the file, or a profile that keeps
 * the model's promises.
 */
#include "whole_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "converters/format.h"

const char *__lsan_default_suppressions(void);
const char *__asan_default_options(void);

/* libhdf5 loses a few bytes of its own when it gives up a damaged file, and asks for as much memory as that
 * says. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static char folder[] = "/tmp/test-damage-XXXXXX";

struct bytes {
    uint8_t *data;
    size_t n;
};

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static struct bytes load(const char *path)
{
    struct bytes b;
    struct stat st;
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0 && !fstat(fd, &st));
    b.n = (size_t)st.st_size;
    b.data = malloc(b.n);
    assert_int_equal(read(fd, b.data, b.n), b.n);
    close(fd);
    return b;
}

static void save(const char *path, const uint8_t *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), n);
    close(fd);
}

/* The whole profile (or its first rank) as a file of that name. */
static struct bytes made(const char *name)
{
    struct profile *p = whole_profile();
    const int32_t first = 0;
    const struct write_options options = {.ranks = &first, .n_ranks = 1};
    struct err err = {0};
    struct bytes b;
    char **files;
    size_t n;

    if (format__write_files(p, format__by_suffix(name), path_of(name), &options, &files, &n, &err))
        fail_msg("%s", err.text);
    assert_int_equal(n, 1);
    b = load(files[0]);
    unlink(files[0]);
    free(files[0]);
    free(files);
    profile__destroy(p);
    return b;
}

static void check_promises(const struct profile *p)
{
    assert_int_equal(p->start.n, p->end.n);
    for (uint64_t i = 0; i < p->n_rows; i++) {
        const struct row *row = &p->rows[i];

        assert_true(row->region < p->n_regions && row->rank < p->n_ranks);
        assert_true(row->offset <= p->start.n && row->count <= p->start.n - row->offset);
    }
}

/* 0 when it was read, else 1; in both cases as it should be. */
static int try_bytes(const uint8_t *data, size_t n)
{
    struct profile *p = NULL;
    struct err err = {0};
    const char *path = path_of("damaged");

    save(path, data, n);
    if (format__read_file(path, &p, &err)) {
        assert_non_null(strstr(err.text, "damaged"));
        assert_null(strchr(err.text, '\n'));
        return 1;
    }
    check_promises(p);
    profile__destroy(p);
    return 0;
}

static void cut_everywhere(const char *name, size_t step)
{
    struct bytes b = made(name);

    assert_int_equal(try_bytes(b.data, b.n), 0);
    for (size_t n = 0; n < b.n - 1; n += step) {
        if (!try_bytes(b.data, n))
            fail_msg("%s cut to %zu of %zu bytes was taken", name, n, b.n);
    }
    free(b.data);
}

static void flip_everywhere(const char *name, size_t step)
{
    static const uint8_t masks[] = {0x01, 0x80, 0xff};
    struct bytes b = made(name);

    for (size_t i = 0; i < b.n; i += step) {
        uint8_t old = b.data[i];

        b.data[i] ^= masks[i / step % sizeof(masks)];
        try_bytes(b.data, b.n);
        b.data[i] = old;
    }
    free(b.data);
}

static void test_spt(void **state)
{
    (void)state;
    cut_everywhere("x.spt", 1);
    flip_everywhere("x.spt", 1);
}

static void test_sps(void **state)
{
    (void)state;
    cut_everywhere("x.sps", 1);
    flip_everywhere("x.sps", 1);
}

static void test_json(void **state)
{
    (void)state;
    cut_everywhere("x.json", 37);
    flip_everywhere("x.json", 29);
}

static void test_json_gz(void **state)
{
    (void)state;
    cut_everywhere("x.json.gz", 23);
    flip_everywhere("x.json.gz", 23);
}

static void test_h5(void **state)
{
    (void)state;
    cut_everywhere("x.h5", 1543);
    flip_everywhere("x.h5", 389);
}

/* Bytes behind the end are not part of any of these. */
static void test_trailing(void **state)
{
    static const char *const names[] = {"x.spt", "x.sps", "x.json", "x.json.gz"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct bytes b = made(names[i]);

        b.data = realloc(b.data, b.n + 1);
        b.data[b.n] = '?';
        assert_int_equal(try_bytes(b.data, b.n + 1), 1);
        free(b.data);
    }
}

/* A byte repeated a hundred-million-fold by gzip is read in bounded memory, and is no profile. */
static void test_gzip_bomb(void **state)
{
    char command[256];

    (void)state;
    snprintf(command, sizeof(command),
             "(printf '{\"x\":\"'; head -c 100000000 /dev/zero | tr '\\0' a) | gzip -1 > %s",
             path_of("bomb"));
    assert_int_equal(system(command), 0);
    struct bytes b = load(path_of("bomb"));

    assert_int_equal(try_bytes(b.data, b.n), 1);
    free(b.data);
    unlink(path_of("bomb"));
}

/* ---- HDF5 that points elsewhere
 * ------------------------------------------------------------------------------- */

typedef void (*spoil)(hid_t file);

/* A good profile, spoiled by HDF5 itself; must be refused for that reason. */
static void spoiled(spoil with, const char *reason)
{
    struct bytes b = made("x.h5");
    struct profile *p = NULL;
    struct err err = {0};
    hid_t file;

    save(path_of("spoiled.h5"), b.data, b.n);
    free(b.data);
    file = H5Fopen(path_of("spoiled.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    with(file);
    assert_true(H5Fclose(file) >= 0);
    assert_true(format__read_file(path_of("spoiled.h5"), &p, &err) < 0);
    if (!strstr(err.text, reason) || !strstr(err.text, "spoiled.h5"))
        fail_msg("'%s' does not say '%s'", err.text, reason);
    unlink(path_of("spoiled.h5"));
}

static void external_link(hid_t file)
{
    H5Ldelete(file, "events", H5P_DEFAULT);
    H5Lcreate_external("/etc/passwd", "/", file, "events", H5P_DEFAULT, H5P_DEFAULT);
}

static void soft_link(hid_t file)
{
    H5Lmove(file, "events", file, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/elsewhere", file, "events", H5P_DEFAULT, H5P_DEFAULT);
}

static void link_to_itself(hid_t file)
{
    H5Ldelete(file, "rank_region_index", H5P_DEFAULT);
    H5Lcreate_hard(file, "/", file, "rank_region_index", H5P_DEFAULT, H5P_DEFAULT);
}

static void replace_column(hid_t file, hid_t list, hsize_t n)
{
    hid_t space = H5Screate_simple(1, &n, NULL), set;

    H5Ldelete(file, "events/durations", H5P_DEFAULT);
    set = H5Dcreate2(file, "events/durations", H5T_NATIVE_INT64, space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
}

static void external_storage(hid_t file)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_external(list, "/etc/passwd", 0, 15 * 8);
    replace_column(file, list, 15);
}

static void virtual_set(hid_t file)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t n = 15;
    hid_t space = H5Screate_simple(1, &n, NULL);

    H5Pset_virtual(list, space, "/etc/passwd", "x", space);
    H5Sclose(space);
    replace_column(file, list, 15);
}

static void giant_chunk(hid_t file)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk = 1u << 28, n = 15, most = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(1, &n, &most), set;

    H5Pset_chunk(list, 1, &chunk);
    H5Ldelete(file, "events/durations", H5P_DEFAULT);
    set = H5Dcreate2(file, "events/durations", H5T_NATIVE_INT64, space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
}

/* 2^40 calls in a file of a few KiB: chunks that were never written take no room. */
static void empty_giant(hid_t file)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk = 1024;

    H5Pset_chunk(list, 1, &chunk);
    replace_column(file, list, 1ull << 40);
}

static void text_column(hid_t file)
{
    hid_t type = H5Tcopy(H5T_C_S1), space, set;
    hsize_t n = 15;

    H5Ldelete(file, "events/durations", H5P_DEFAULT);
    H5Tset_size(type, 8);
    space = H5Screate_simple(1, &n, NULL);
    set = H5Dcreate2(file, "events/durations", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
}

static void test_h5_elsewhere(void **state)
{
    (void)state;
    spoiled(external_link, "link to elsewhere");
    spoiled(soft_link, "link to elsewhere");
    spoiled(link_to_itself, "is missing");
    spoiled(external_storage, "another file");
    spoiled(virtual_set, "another file");
}

static void test_h5_sizes(void **state)
{
    (void)state;
    spoiled(giant_chunk, "chunks of more than");
    spoiled(empty_giant, "more than the file could hold");
    spoiled(text_column, "does not hold integers");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("damaged"));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spt),       cmocka_unit_test(test_sps),
        cmocka_unit_test(test_json),      cmocka_unit_test(test_json_gz),
        cmocka_unit_test(test_h5),        cmocka_unit_test(test_trailing),
        cmocka_unit_test(test_gzip_bomb), cmocka_unit_test(test_h5_elsewhere),
        cmocka_unit_test(test_h5_sizes),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
