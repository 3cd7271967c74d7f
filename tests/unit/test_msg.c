// SPDX-License-Identifier: GPL-2.0-only
// link: user
/* What goes to people: escaped text, messages on a real stderr, the status line on a real terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/msg.h"
#include "user/status.h"

static void escapes(const char *text, size_t len, const char *wanted)
{
    char out[256];
    size_t n = msg__escape(text, len, out, sizeof(out));

    assert_string_equal(out, wanted);
    assert_int_equal(n, strlen(wanted));
}

static void test_escape(void **state)
{
    (void)state;
    escapes("plain", 5, "plain");
    escapes("gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80", 11, "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80");
    escapes("a\nb\tc\rd", 7, "a\\nb\\tc\\x0dd");
    escapes("\x1b[31mred\x07", 9, "\\x1b[31mred\\x07");
    escapes("\0\x7f", 2, "\\x00\\x7f");
    escapes("\xc2\x9b", 2, "\\xc2\\x9b");                   /* CSI of C1 */
    escapes("\xe2\x80\xae!", 4, "\\xe2\\x80\\xae!");        /* right-to-left override */
    escapes("\xff\xc3", 2, "\\xff\\xc3");                   /* no UTF-8; cut off */
    escapes("\xc0\xaf", 2, "\\xc0\\xaf");                   /* overlong */
    escapes("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");          /* surrogate */
    escapes("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"); /* beyond Unicode */
    escapes("", 0, "");
}

static void test_escape_cut(void **state)
{
    char out[8];

    (void)state;
    assert_int_equal(msg__escape("abcdefghij", 10, out, sizeof(out)), 7);
    assert_string_equal(out, "abcdefg");
    /* never half a character or half an escape */
    assert_int_equal(msg__escape("abcde\xf0\x9f\x9a\x80", 9, out, sizeof(out)), 5);
    assert_int_equal(msg__escape("abcde\x1b", 6, out, sizeof(out)), 5);
    assert_int_equal(msg__escape("x", 1, out, 1), 0);
    assert_string_equal(out, "");
}

/* stderr goes into a pipe meanwhile. */
static int saved, readable;

static void capture(void)
{
    int ends[2];

    fflush(stderr);
    assert_int_equal(pipe(ends), 0);
    saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    readable = ends[0];
}

static void captured(char *text, size_t size)
{
    ssize_t n;

    dup2(saved, STDERR_FILENO);
    close(saved);
    n = read(readable, text, size - 1);
    text[n > 0 ? n : 0] = 0;
    close(readable);
}

static void say_all(void)
{
    msg__error("error %d", 1);
    msg__warn("warn\nforged: line");
    msg__info("info");
    msg__detail("detail");
    msg__trace("trace\n");
    msg__text("a row");
}

static void test_levels(void **state)
{
    static const struct {
        bool quiet;
        int verbose;
        const char *wanted;
    } rows[] = {
        {true, 0, "scope-bpf: error 1\n"},
        {false, 0, "scope-bpf: error 1\nscope-bpf: warn\\nforged: line\nscope-bpf: info\na row\n"},
        {false, 1,
         "scope-bpf: error 1\nscope-bpf: warn\\nforged: line\nscope-bpf: info\nscope-bpf: detail\na row\n"},
        {false, 2,
         "scope-bpf: error 1\nscope-bpf: warn\\nforged: line\nscope-bpf: info\nscope-bpf: detail\n"
         "scope-bpf: trace\na row\n"},
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        msg__init(rows[i].quiet, rows[i].verbose);
        capture();
        say_all();
        captured(text, sizeof(text));
        assert_string_equal(text, rows[i].wanted);
    }
    msg__init(false, 0);
}

static void test_long_line(void **state)
{
    static char longer[20000];
    char text[10000];

    (void)state;
    memset(longer, '\x1b', sizeof(longer) - 1);
    capture();
    msg__error("%s", longer);
    captured(text, sizeof(text));
    assert_int_equal(strcspn(text, "\n"), strlen(text) - 1); /* one line, cut */
    assert_true(strlen(text) > 4000);
    assert_null(strchr(text, '\x1b'));
}

static void test_status_text(void **state)
{
    struct status_moment m = {3723000000000, 98112, {4, 1204331, 11020, 0}};
    char line[200];
    int n = status__format(&m, 200, line, sizeof(line));

    (void)state;
    assert_int_equal(n, (int)strlen(line));
    assert_string_equal(line, "1:02:03  4 processes  1,204,331 calls  98,112/s  11,020 samples  lost 0");
    m = (struct status_moment){61500000000, 0, {1, 999, 1000, 1000000}};
    status__format(&m, 200, line, sizeof(line));
    assert_string_equal(line, "1:01  1 process  999 calls  0/s  1,000 samples  lost 1,000,000");
    assert_int_equal(status__format(&m, 20, line, sizeof(line)), 20);
    assert_string_equal(line, "1:01  1 process  999");
}

/* Five seconds of updates every 10 ms into a pseudo-terminal, or into a pipe. */
static void drive_status(void)
{
    status__start(1000);
    for (uint64_t ms = 0; ms < 2000; ms += 10)
        status__update(1000 + ms * 1000000, &(struct status_counts){2, ms * 100, ms, 0});
    msg__info("in between");
    status__stop();
}

static void test_status_no_terminal(void **state)
{
    char text[1000];

    (void)state;
    capture();
    drive_status();
    captured(text, sizeof(text));
    assert_string_equal(text, "scope-bpf: in between\n");
}

static int open_terminal(void)
{
    int control = posix_openpt(O_RDWR | O_NOCTTY), terminal;

    if (control < 0 || grantpt(control) || unlockpt(control))
        return -1;
    terminal = open(ptsname(control), O_RDWR | O_NOCTTY);
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    return control;
}

/* A terminal hands on what was written a little later, in pieces. */
static size_t read_until(int fd, const char *last, char *text, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    size_t len = 0;

    text[0] = 0;
    while (!strstr(text, last) && len < size - 1 && poll(&wait, 1, 5000) > 0) {
        ssize_t n = read(fd, text + len, size - 1 - len);

        if (n <= 0)
            break;
        len += (size_t)n;
        text[len] = 0;
    }
    return len;
}

static void test_status_terminal(void **state)
{
    char text[8000];
    int control, redrawn = 0;
    size_t n;

    (void)state;
    setenv("TERM", "xterm", 1);
    control = open_terminal();
    if (control < 0) {
        print_message("# skip: no pseudo-terminal here\n");
        skip();
    }
    drive_status();
    n = read_until(control, "in between\r\n", text, sizeof(text));
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(control);
    assert_true(n > 0);
    for (const char *at = text; (at = strstr(at, "\r0:0")); at++)
        redrawn++;
    assert_in_range(redrawn, 8, 10); /* 2 s, five times a second */
    assert_non_null(strstr(text, "100,000/s"));
    assert_non_null(strstr(text, "\r\033[Kscope-bpf: in between")); /* taken away first */

    assert_null(strstr(strstr(text, "in between"), "calls"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape),          cmocka_unit_test(test_escape_cut),
        cmocka_unit_test(test_levels),          cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_status_text),     cmocka_unit_test(test_status_no_terminal),
        cmocka_unit_test(test_status_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
