// SPDX-License-Identifier: GPL-2.0-only
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "msg.h"

#define REDRAW_NS 200000000u
#define SECOND_NS 1000000000u

static struct {
    bool on, drawn;
    uint64_t start, last_drawn, last_calls;
    uint64_t rate_from, rate; /* calls per second of the last second or so */
} status;

/* 1204331 → 1,204,331 */
static const char *grouped(uint64_t value, char text[static 32])
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, value), at = 0;

    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

static int elapsed_text(uint64_t ns, char *text, size_t size)
{
    uint64_t s = ns / SECOND_NS;

    if (s >= 3600)
        return snprintf(text, size, "%" PRIu64 ":%02u:%02u", s / 3600, (unsigned)(s / 60 % 60),
                        (unsigned)(s % 60));
    return snprintf(text, size, "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
}

int status__format(const struct status_moment *m, int columns, char *line, int size)
{
    char elapsed[32], calls[32], rate[32], samples[32], lost[32];
    int n;

    elapsed_text(m->elapsed_ns, elapsed, sizeof(elapsed));
    n = snprintf(line, (size_t)size, "%s  %" PRIu64 " process%s  %s calls  %s/s  %s samples  lost %s",
                 elapsed, m->counts.processes, m->counts.processes == 1 ? "" : "es",
                 grouped(m->counts.calls, calls), grouped(m->calls_per_s, rate),
                 grouped(m->counts.samples, samples), grouped(m->counts.lost, lost));
    if (n >= size)
        n = size - 1;
    if (n > columns) /* a line that wraps could not be taken away */
        n = columns;
    line[n] = 0;
    return n;
}

static void write_all(const char *text, size_t len)
{
    /* A terminal that does not take it has other sorrows. */
    if (write(STDERR_FILENO, text, len) < 0)
        status.on = false;
}

static void clear(void)
{
    if (status.drawn)
        write_all("\r\033[K", 4);
    status.drawn = false;
}

static int terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2)
        return 79;
    return size.ws_col - 1;
}

void status__start(uint64_t now_ns)
{
    const char *term = getenv("TERM");

    memset(&status, 0, sizeof(status));
    if (!msg__shows(MSG_INFO) || !isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb"))
        return;
    status.on = true;
    status.start = status.rate_from = status.last_drawn = now_ns;
    msg__set_before(clear);
}

static void update_rate(uint64_t now_ns, uint64_t calls)
{
    uint64_t span = now_ns - status.rate_from;

    if (span < SECOND_NS && status.rate_from != status.start)
        return;
    if (!span)
        return;
    status.rate = (uint64_t)((double)(calls - status.last_calls) * SECOND_NS / (double)span);
    if (span >= SECOND_NS) {
        status.rate_from = now_ns;
        status.last_calls = calls;
    }
}

void status__update(uint64_t now_ns, const struct status_counts *counts)
{
    struct status_moment moment;
    char line[256] = "\r";
    int n;

    if (!status.on || now_ns - status.last_drawn < REDRAW_NS)
        return;
    update_rate(now_ns, counts->calls);
    moment = (struct status_moment){now_ns - status.start, status.rate, *counts};
    n = 1 + status__format(&moment, terminal_columns(), line + 1, sizeof(line) - 8);
    memcpy(line + n, "\033[K", 3);
    write_all(line, (size_t)n + 3);
    status.drawn = true;
    status.last_drawn = now_ns;
}

void status__stop(void)
{
    clear();
    status.on = false;
    msg__set_before(NULL);
}
