// SPDX-License-Identifier: GPL-2.0-only
// link: user
// runs: root
/*
 * The capture writer on full disks of three kinds: a real 8 MiB tmpfs, a file size limit, a descriptor that refuses.
 * The truth is what the test handed in: every block is in the file or was given to the drop callback, never both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture_writer.h"
#include "converters/capture.h"
#include "converters/capture_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 10000
#define TYPE  CAPTURE_NOTE

struct truth {
    uint64_t put, dropped, dropped_bytes, dropped_last;
    uint32_t lowest_dropped; /* number that stands in the block */
};

static void on_drop(void *arg, uint16_t type, const void *payload, size_t len)
{
    struct truth *truth = arg;
    uint32_t number;

    if (type != TYPE) {
        truth->dropped_last++;
        return;
    }
    memcpy(&number, payload, sizeof(number));
    if (!truth->dropped || number < truth->lowest_dropped)
        truth->lowest_dropped = number;
    truth->dropped++;
    truth->dropped_bytes += len;
}

static int put_numbered(struct capture_writer *w, struct truth *truth)
{
    uint8_t payload[BLOCK];
    uint32_t number = (uint32_t)truth->put++;

    memset(payload, (int)number, sizeof(payload));
    memcpy(payload, &number, sizeof(number));
    return capture_writer__put(w, TYPE, payload, sizeof(payload));
}

static void put_head(struct capture_writer *w)
{
    struct capture_buf b = {0};

    capture_put_u(&b, CAPTURE_VERSION);
    capture_put_text(&b, "x86_64");
    capture_put_bytes(&b, "0123456789abcdef", 16);
    for (int i = 0; i < 3; i++)
        capture_put_s(&b, 1);
    capture_put_u(&b, 0);
    capture_put_text(&b, "test");
    assert_int_equal(capture_writer__put(w, CAPTURE_HEADER, b.data, b.len), 0);
    capture_buf__deinit(&b);
}

static void put_end(struct capture_writer *w)
{
    struct capture_buf b = {0};

    capture_put_s(&b, 1);
    capture_put_text(&b, "disk full");
    for (int i = 0; i < 3; i++)
        capture_put_u(&b, 0);
    assert_int_equal(capture_writer__put_last(w, CAPTURE_LOSS, "\7\1\1\1\1", 5), 0);
    assert_int_equal(capture_writer__put_last(w, CAPTURE_END, b.data, b.len), 0);
    capture_buf__deinit(&b);
}

/* Reads it back with the reader of the other room: complete, in order, nothing missing; returns the numbered blocks. */
static uint64_t read_back(const char *path)
{
    struct capture_reader *r;
    struct capture_block block;
    struct err err;
    uint64_t n = 0;
    uint32_t number;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(capture_reader__open(fd, path, &r, &err), 0);
    while (capture_reader__next(r, &block, &err) == 1) {
        if (block.type != TYPE)
            continue;
        assert_int_equal(block.len, BLOCK);
        memcpy(&number, block.in.at, sizeof(number));
        assert_int_equal(number, n);
        n++;
    }
    const struct capture_state *state = capture_reader__state(r);
    assert_true(state->complete);
    assert_int_equal(state->missing, 0);
    assert_int_equal(state->offset, state->size);
    capture_reader__close(r);
    close(fd);
    return n;
}

static void check_everything_accounted(const char *path, const struct truth *truth)
{
    uint64_t kept = read_back(path);

    assert_int_equal(kept + truth->dropped, truth->put);
    if (truth->dropped) {
        assert_int_equal(truth->lowest_dropped, kept);
        assert_int_equal(truth->dropped_bytes, truth->dropped * BLOCK);
    }
}

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/scope-writer-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char path[96];

    (void)state;
    snprintf(path, sizeof(path), "%s/x.scope", folder);
    unlink(path);
    rmdir(folder);
    return 0;
}

static const char *file_name(void)
{
    static char path[96];

    snprintf(path, sizeof(path), "%s/x.scope", folder);
    return path;
}

static struct capture_writer *writer(struct truth *truth)
{
    struct capture_writer *w = NULL;
    struct err err;
    int fd = open(file_name(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(capture_writer__create(fd, on_drop, truth, &w, &err), 0);
    return w;
}

static void test_plain(void **state)
{
    struct truth truth = {0};
    struct stat st;

    (void)state;
    struct capture_writer *w = writer(&truth);
    put_head(w);
    for (int i = 0; i < 500; i++)
        assert_int_equal(put_numbered(w, &truth), 0);
    assert_int_equal(capture_writer__flush(w), 0);
    assert_int_equal(stat(file_name(), &st), 0);
    assert_int_equal(st.st_size, capture_writer__bytes(w)); /* the reserve is no part of the size */
    put_end(w);
    capture_writer__destroy(w);
    check_everything_accounted(file_name(), &truth);
    assert_int_equal(truth.dropped, 0);
}

static void test_large_and_too_large_block(void **state)
{
    struct truth truth = {0};
    uint8_t *payload = calloc(1, CAPTURE_MAX_PAYLOAD + 1);

    (void)state;
    struct capture_writer *w = writer(&truth);
    put_head(w);
    assert_int_equal(capture_writer__put(w, CAPTURE_META, payload, CAPTURE_MAX_PAYLOAD), 0);
    assert_int_equal(capture_writer__put(w, CAPTURE_META, payload, CAPTURE_MAX_PAYLOAD + 1), -EMSGSIZE);
    assert_int_equal(truth.dropped_last, 1);
    assert_int_equal(put_numbered(w, &truth), 0);
    put_end(w);
    capture_writer__destroy(w);
    check_everything_accounted(file_name(), &truth);
    free(payload);
}

/* Writes until the disk is full and far beyond; flushes now and then as the session does. */
static void fill(struct truth *truth, int expected_error)
{
    struct capture_writer *w = writer(truth);

    put_head(w);
    for (int i = 0; i < 2000; i++) {
        int r = put_numbered(w, truth);
        assert_true(r == 0 || r == expected_error);
        if (i % 7 == 0)
            capture_writer__flush(w);
    }
    assert_int_equal(capture_writer__error(w), expected_error);
    put_end(w);
    capture_writer__destroy(w);
}

static void test_file_size_limit(void **state)
{
    struct truth truth = {0};
    struct rlimit old, limit = {.rlim_cur = 3000000, .rlim_max = RLIM_INFINITY};

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill(&truth, -EFBIG);
    setrlimit(RLIMIT_FSIZE, &old);
    check_everything_accounted(file_name(), &truth);
    assert_in_range(truth.put - truth.dropped, 285, 300);
}

static bool is_root(void)
{
    return geteuid() == 0;
}

static void test_full_tmpfs(void **state)
{
    struct truth truth = {0};

    (void)state;
    if (!is_root()) {
        print_message("# skip: a tmpfs of 8 MiB needs root\n");
        skip();
    }
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", folder, "tmpfs", 0, "size=8m")) {
        print_message("# skip: a tmpfs cannot be mounted here: %s\n", strerror(errno));
        skip();
    }
    fill(&truth, -ENOSPC);
    check_everything_accounted(file_name(), &truth);
    /* All of the space but the reserve was used. */
    assert_in_range((truth.put - truth.dropped) * BLOCK, 8388608 - 2 * CAPTURE_WRITER_RESERVE - BLOCK, 8388608);
    umount(folder);
}

/* A disk that was full when we came: not even the head; the file stays empty and nothing is counted twice. */
static void test_full_from_the_start(void **state)
{
    struct truth truth = {0};
    struct capture_writer *w = NULL;
    struct err err;
    int fd = open("/dev/full", O_RDWR | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(capture_writer__create(fd, on_drop, &truth, &w, &err), 0);
    for (int i = 0; i < 300; i++)
        put_numbered(w, &truth);
    assert_int_equal(capture_writer__flush(w), -ENOSPC);
    assert_int_equal(truth.dropped, 300);
    assert_int_not_equal(capture_writer__put_last(w, CAPTURE_END, "", 0), 0);
    assert_int_equal(capture_writer__bytes(w), 0);
    capture_writer__destroy(w);
}

int main(void)
{
#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        ON_DISK(test_plain),
        ON_DISK(test_large_and_too_large_block),
        ON_DISK(test_file_size_limit),
        ON_DISK(test_full_tmpfs),
        cmocka_unit_test(test_full_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
