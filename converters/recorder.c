/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder.h"

#include "output_set.h"
#include "reconstruct.h"
#include "views/summary.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_AFTER_NS 1000000000ll /* short work needs no progress line */
#define PROGRESS_EVERY_NS 200000000ll
#define MAX_ROWS 100 /* of the table after a recording: it still fits the memory of a terminal */

struct recorder {
    int socket, capture;
    const char *output, *formats;
    bool quiet, keep_capture;
    struct output_set *set;
};

/* ---- what the collector hears ------------------------------------------------------------------------------ */

static void tell(int socket, enum recorder_message_type type, int code, const char *text, int pass_fd)
{
    struct recorder_message message = {.type = type, .code = code};
    struct iovec io = {.iov_base = &message, .iov_len = sizeof(message)};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr packet = {.msg_iov = &io, .msg_iovlen = 1};

    snprintf(message.text, sizeof(message.text), "%s", text);
    if (pass_fd >= 0) {
        packet.msg_control = control.space;
        packet.msg_controllen = sizeof(control.space);
        struct cmsghdr *head = CMSG_FIRSTHDR(&packet);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &pass_fd, sizeof(int));
    }
    while (sendmsg(socket, &packet, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

/* The collector's next word; 0: it is gone. */
static uint32_t listen_for(int socket)
{
    struct recorder_message message = {0};
    ssize_t n;

    while ((n = recv(socket, &message, sizeof(message), 0)) < 0 && errno == EINTR)
        continue;
    return n == (ssize_t)sizeof(message) ? message.type : 0;
}

/* ---- what the user sees meanwhile --------------------------------------------------------------------------- */

struct progress {
    const char *what;
    bool shown, wanted;
    int64_t start, last;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* "writing the profile: 42 %" */
static void show_progress(void *arg, uint64_t done, uint64_t all)
{
    struct progress *progress = arg;
    int64_t now = now_ns();

    if (!progress->wanted || !all || now - progress->start < PROGRESS_AFTER_NS ||
        now - progress->last < PROGRESS_EVERY_NS)
        return;
    progress->last = now;
    progress->shown = true;
    fprintf(stderr, "\r\033[K%s: %d %%", progress->what, (int)(100.0 * (double)done / (double)all));
    fflush(stderr);
}

static void clear_progress(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

static void say_line(void *arg, const char *what)
{
    clear_progress(arg);
    fprintf(stderr, "scope-bpf: %s\n", what);
}

/* "written: run.h5, run_rank00000.sps, run_rank00001.sps"; a long list is cut in its middle. */
static void list_files(const struct output_set *set, const char *capture)
{
    size_t n;
    char *const *files = output_set__files(set, &n);

    fputs("written: ", stderr);
    for (size_t i = 0; i < n; i++) {
        if (n <= 8 || i < 3 || i == n - 1)
            fprintf(stderr, "%s%s", i ? ", " : "", files[i]);
        else if (i == 3)
            fprintf(stderr, ", ... %zu more ...", n - 4);
    }
    if (capture)
        fprintf(stderr, "%s%s", n ? ", " : "", capture);
    fputs("\n", stderr);
}

static void show_result(const struct recorder *r, const struct profile *p, const char *capture)
{
    struct summary_options options = {.screen = screen__of(stderr), .top = MAX_ROWS};

    if (r->quiet)
        return;
    summary__print(p, &options, stderr);
    list_files(r->set, capture);
}

/* ---- the work ------------------------------------------------------------------------------------------------ */

static int make_files(struct recorder *r, struct profile **ret, struct err *err)
{
    bool wanted = !r->quiet && isatty(STDERR_FILENO);
    struct progress progress = {.what = "reading the recording", .wanted = wanted, .start = now_ns()};
    struct reconstruct_options reading = {show_progress, &progress};
    struct write_options writing = {.progress = show_progress, .progress_arg = &progress};
    struct profile *p = NULL;

    /* Beside an .h5, which holds everything, it is no news that a trace or samples hold a part. */
    if (!r->quiet && !strstr(r->formats, "h5")) {
        writing.say = say_line;
        writing.say_arg = &progress;
    }
    int code = reconstruct__capture(r->capture, output_set__capture(r->set), &reading, &p, err);
    clear_progress(&progress);
    if (!code) {
        progress.what = "writing the profile";
        code = output_set__write(r->set, p, &writing, err);
        clear_progress(&progress);
    }
    if (code) {
        profile__destroy(p);
        return code;
    }
    *ret = p;
    return 0;
}

static int finish(struct recorder *r)
{
    struct err err = {""}, full = {""};
    struct profile *p;
    char command[900];

    if (make_files(r, &p, &err)) {
        output_set__convert_command(r->set, command, sizeof(command));
        err__set(&full, EIO, "%.300s; the recording is kept, to make the profile type: %.150s", err.text, command);
        tell(r->socket, RECORDER_FAILED, -EIO, full.text, -1);
        return 125;
    }
    int dropped = output_set__drop_capture(r->set, r->capture, r->keep_capture, &err);
    show_result(r, p, r->keep_capture || dropped ? output_set__capture(r->set) : NULL);
    if (dropped)
        fprintf(stderr, "scope-bpf: %s\n", err.text);
    profile__destroy(p);
    tell(r->socket, RECORDER_DONE, 0, "", -1);
    return 0;
}

/* Nothing came of it: the capture goes; what a crash leaves stays, unless not one byte was written. */
static void leave(struct recorder *r, bool discard)
{
    struct stat st;

    if (discard || (!fstat(r->capture, &st) && st.st_size == 0))
        output_set__discard_capture(r->set, r->capture);
}

static int run(struct recorder *r)
{
    struct err err = {""};
    int code = output_set__create(r->output, r->formats, &r->set, &err);

    if (!code)
        code = output_set__check(r->set, &err);
    if (!code)
        code = output_set__open_capture(r->set, &r->capture, &err);
    if (code) {
        tell(r->socket, RECORDER_FAILED, code, err.text, -1);
        return 125;
    }
    column__set_folder(output_set__folder(r->set));
    tell(r->socket, RECORDER_READY, 0, "", r->capture);
    uint32_t word = listen_for(r->socket);
    if (word == RECORDER_FINISH)
        return finish(r);
    leave(r, word == RECORDER_DISCARD);
    return 0;
}

static bool parse(int argc, char **argv, struct recorder *r)
{
    static const struct option options[] = {
        {"fd", required_argument, NULL, 'f'},  {"output", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, 'F'}, {"quiet", no_argument, NULL, 'q'},
        {"keep-capture", no_argument, NULL, 'k'}, {0},
    };
    int c;

    optind = 1;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'f': r->socket = atoi(optarg); break;
        case 'o': r->output = optarg; break;
        case 'F': r->formats = optarg; break;
        case 'q': r->quiet = true; break;
        case 'k': r->keep_capture = true; break;
        default: return false;
        }
    }
    return optind == argc && r->socket > STDERR_FILENO && r->output && r->formats;
}

int recorder_main(int argc, char **argv)
{
    struct recorder r = {.socket = -1, .capture = -1};

    if (!parse(argc, argv, &r)) {
        fputs("scope-report recorder is started by scope-bpf, not by people\n", stderr);
        return 2;
    }
    prctl(PR_SET_NAME, "scope-recorder");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    int status = run(&r);
    output_set__destroy(r.set);
    return status;
}
