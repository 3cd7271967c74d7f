/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder.h"

#include "children.h"
#include "converters/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "scope-report"

struct recorder {
    pid_t pid;
    int socket;
    bool over; /* it was told to finish or to discard */
};

/* ---- in the child -------------------------------------------------------------------------------------------- */

enum { SOCKET_FD = 3, PROGRAM_FD = 4, FREE_FD = 16 };

/* What a program without privileges needs to talk to its user; nothing that makes a library load anything. */
static bool is_harmless(const char *entry)
{
    static const char *const names[] = {"HOME=", "USER=",    "LOGNAME=", "LANG=",   "LANGUAGE=",
                                        "LC_",   "TERM=",    "COLUMNS=", "TZ=",     "NO_COLOR=",
                                        "TMPDIR="};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strncmp(entry, names[i], strlen(names[i])))
            return true;
    }
    return false;
}

static char **harmless(char **environment)
{
    size_t n = 0;

    for (size_t i = 0; environment && environment[i]; i++) {
        if (is_harmless(environment[i]))
            environment[n++] = environment[i];
    }
    if (environment)
        environment[n] = NULL;
    return environment;
}

static _Noreturn void fail(int socket, const char *text)
{
    struct recorder_message message = {.type = RECORDER_FAILED, .code = -EPERM};

    snprintf(message.text, sizeof(message.text), "%s", text);
    if (send(socket, &message, sizeof(message), MSG_NOSIGNAL) < 0)
        _exit(126);
    _exit(125);
}

static void default_signals(void)
{
    sigset_t none;

    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Descriptors 0 and 1 become /dev/null, 2 stays (or becomes it, where nobody listens), then the socket and the program; nothing else. */
static bool keep_few_descriptors(int socket, int program)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high_socket = fcntl(socket, F_DUPFD_CLOEXEC, FREE_FD), high_program = fcntl(program, F_DUPFD_CLOEXEC, FREE_FD);

    if (null < 0 || high_socket < 0 || high_program < 0)
        return false;
    if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return false;
    if (fcntl(STDERR_FILENO, F_GETFD) != 0 && dup2(null, STDERR_FILENO) < 0)
        return false;
    return dup2(high_socket, SOCKET_FD) >= 0 && dup3(high_program, PROGRAM_FD, O_CLOEXEC) >= 0 &&
           syscall(SYS_close_range, PROGRAM_FD + 1, ~0u, 0) == 0;
}

static const char *format_list(const struct options *options, char list[16])
{
    snprintf(list, 16, "%s%s%s", options->format_h5 ? ",h5" : "", options->format_spt ? ",spt" : "",
             options->format_sps && options->samples ? ",sps" : "");
    return list[0] ? list + 1 : list;
}

static _Noreturn void child(const struct options *options, const struct identity *who, int socket, int program)
{
    char list[16], number[16];
    char **environment = harmless(identity__environment(who, environ));
    struct err err = {""};
    const char *argv[12];
    size_t n = 0;

    /* Its own session: Ctrl-C is for the command, and what the command's end leaves to write must be written. */
    setsid();
    default_signals();
    if (!environment || identity__become(who, IDENTITY_RECORDER, &err))
        fail(socket, err.text[0] ? err.text : "no memory for the recorder");
    if (!keep_few_descriptors(socket, program))
        fail(socket, "cannot arrange the descriptors of the recorder");
    snprintf(number, sizeof(number), "%d", SOCKET_FD);
    argv[n++] = PROGRAM;
    argv[n++] = "recorder";
    argv[n++] = "--fd";
    argv[n++] = number;
    argv[n++] = "--output";
    argv[n++] = options->output;
    argv[n++] = "--format";
    argv[n++] = format_list(options, list);
    if (options->quiet)
        argv[n++] = "--quiet";
    if (options->keep_capture)
        argv[n++] = "--keep-capture";
    argv[n] = NULL;
    /* By descriptor: the user may not be able to walk to the folder that root's programs are in. */
    syscall(SYS_execveat, PROGRAM_FD, "", argv, environment, AT_EMPTY_PATH);
    snprintf(err.text, sizeof(err.text), "cannot run " PROGRAM " as user %s: %s", who->name, strerror(errno));
    fail(SOCKET_FD, err.text);
}

/* ---- in the collector ---------------------------------------------------------------------------------------- */

/* scope-report from the folder of the running scope-bpf, never from PATH. */
static int open_program(struct err *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM) - 1);

    if (n <= 0)
        return err__set(err, errno, "cannot find the folder of scope-bpf: /proc/self/exe: %s", strerror(errno));
    path[n] = 0;
    char *name = strrchr(path, '/');
    if (!name)
        return err__set(err, ENOENT, "cannot find the folder of scope-bpf in '%s'", path);
    strcpy(name + 1, PROGRAM);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err__set(err, errno, "%s: cannot be opened: %s; scope-bpf and " PROGRAM " belong into one folder", path,
                        strerror(errno));
    return fd;
}

/* One message, and the descriptor that came with it (-1 none).  1, 0 end of file, -errno. */
static int hear(int socket, struct recorder_message *message, int *ret_fd)
{
    struct iovec io = {.iov_base = message, .iov_len = sizeof(*message)};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr packet = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    ssize_t n;

    while ((n = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        continue;
    if (n <= 0)
        return n < 0 && errno != ECONNRESET ? -errno : 0;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&packet);
    *ret_fd = -1;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(ret_fd, CMSG_DATA(head), sizeof(int));
    if (n != (ssize_t)sizeof(*message))
        return -EPROTO;
    message->text[sizeof(message->text) - 1] = 0;
    return 1;
}

static bool send_word(const struct recorder *r, enum recorder_message_type type)
{
    struct recorder_message message = {.type = type};

    return send(r->socket, &message, sizeof(message), MSG_NOSIGNAL) == (ssize_t)sizeof(message);
}

static void describe_end(int wstatus, char *text, size_t size)
{
    if (WIFSIGNALED(wstatus))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(wstatus), strsignal(WTERMSIG(wstatus)));
    else
        snprintf(text, size, "ended with status %d", WEXITSTATUS(wstatus));
}

static int died(struct recorder *r, struct err *err, const char *what)
{
    char how[96] = "does not answer";
    int wstatus;

    if (children__wait(r->pid, &wstatus, 2000))
        describe_end(wstatus, how, sizeof(how));
    return err__set(err, EPIPE, "the recorder (" PROGRAM ") %s %s", how, what);
}

static int spawn(struct recorder *r, const struct options *options, const struct identity *who, int program,
                 struct err *err)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return err__set(err, errno, "cannot make a socket pair: %s", strerror(errno));
    r->socket = pair[0];
    r->pid = fork();
    if (r->pid == 0)
        child(options, who, pair[1], program);
    int error = errno;
    close(pair[1]);
    if (r->pid < 0)
        return err__set(err, error, "cannot start the recorder (fork): %s", strerror(error));
    int code = children__watch(r->pid);
    return code ? err__set(err, -code, "too many children to watch") : 0;
}

static int get_ready(struct recorder *r, int *ret_capture_fd, struct err *err)
{
    struct recorder_message message;
    int fd = -1, code = hear(r->socket, &message, &fd);

    if (code <= 0)
        return died(r, err, "before it was ready");
    if (message.type == RECORDER_READY && fd >= 0) {
        *ret_capture_fd = fd;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return err__set(err, message.code < 0 ? -message.code : EPROTO, "%s",
                    message.type == RECORDER_FAILED ? message.text : "the recorder does not speak our language");
}

int recorder__start(const struct options *options, const struct identity *who, struct recorder **ret,
                    int *ret_capture_fd, struct err *err)
{
    struct recorder *r = calloc(1, sizeof(*r));

    if (!r)
        return err__set(err, ENOMEM, "no memory for the recorder");
    r->socket = -1;
    int program = open_program(err), code = program < 0 ? program : 0;
    if (!code)
        code = spawn(r, options, who, program, err);
    if (!code)
        code = get_ready(r, ret_capture_fd, err);
    if (program >= 0)
        close(program);
    if (code) {
        recorder__destroy(r);
        return code;
    }
    *ret = r;
    return 0;
}

int recorder__fd(const struct recorder *r)
{
    return r->socket;
}

pid_t recorder__pid(const struct recorder *r)
{
    return r->pid;
}

int recorder__finish(struct recorder *r, int *ret_status, struct err *err)
{
    struct recorder_message message;
    int fd = -1;

    r->over = true;
    *ret_status = 125;
    if (!send_word(r, RECORDER_FINISH) || hear(r->socket, &message, &fd) <= 0)
        return died(r, err, "before the profile was written; the recording is kept (scope-report convert FILE.scope)");
    if (fd >= 0)
        close(fd);
    if (message.type != RECORDER_DONE)
        return err__set(err, message.code < 0 ? -message.code : EPROTO, "%s", message.text);
    *ret_status = message.code;
    return 0;
}

void recorder__discard(struct recorder *r)
{
    r->over = true;
    send_word(r, RECORDER_DISCARD);
}

void recorder__destroy(struct recorder *r)
{
    int wstatus;

    if (!r)
        return;
    if (r->socket >= 0)
        close(r->socket);
    /* End of file ends it by itself; what it wrote after FINISH was waited for. */
    if (r->pid > 0 && !children__wait(r->pid, &wstatus, 5000)) {
        kill(r->pid, SIGKILL);
        children__wait(r->pid, &wstatus, 1000);
    }
    children__forget(r->pid);
    free(r);
}
