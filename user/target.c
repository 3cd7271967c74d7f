/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collector and child share a SOCK_SEQPACKET pair that closes on exec:
 *
 *     child      become the user, find the program ──► report (path, or what failed)
 *     collector  … attaches …                      ──► one byte: go
 *     child      execve                            ──► end of file: it runs; or a report: it does not
 *
 * When the collector dies before the go, the child reads end of file and ends without having run anything.
 */
#include "target.h"

#include "children.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_OURS = 125, STATUS_CANNOT = 126, STATUS_NOT_FOUND = 127 };

struct report {
    int status; /* 0, or the exit status that this failure has */
    int error;
    char text[PATH_MAX + 512]; /* status 0: absolute path of the program; else one line */
};

struct target {
    pid_t pid;
    int pidfd, socket;
    bool released, ended;
    int wstatus;
    bool lost_library_path;
    char *path;
};

/* ---- in the child ----------------------------------------------------------------------------------------- */

static bool rights_were_raised(const struct identity *who)
{
    return who->kind == IDENTITY_SUDO || getauxval(AT_SECURE) != 0;
}

static int cannot_run(struct report *report, int error, const char *format, const char *name, const char *more)
{
    struct err err;

    report->status = error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT;
    report->error = error;
    err__set(&err, error, format, name, more);
    snprintf(report->text, sizeof(report->text), "%s", err.text);
    return -error;
}

/* 0 when `path` is a file that this user may execute. */
static int executable(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return -errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? -errno : 0;
}

/* As execvp() looks: the first hit in PATH; a file without permission is remembered and the search goes on. */
static int search_path(const char *name, const char *path, char found[PATH_MAX])
{
    int r = -ENOENT;

    for (const char *at = path;; at++) {
        size_t len = strcspn(at, ":");
        int n = snprintf(found, PATH_MAX, "%.*s%s%s", (int)len, at, len ? "/" : "", name);
        if (n > 0 && n < PATH_MAX) {
            int tried = executable(found);
            if (!tried)
                return 0;
            if (tried == -EACCES)
                r = tried;
        }
        at += len;
        if (!*at)
            return r;
    }
}

static const char *variable(char *const *environment, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; environment[i]; i++) {
        if (!strncmp(environment[i], name, len) && environment[i][len] == '=')
            return environment[i] + len + 1;
    }
    return NULL;
}

static int find_program(const char *name, const struct identity *who, char *const *environment, char found[PATH_MAX],
                        struct report *report)
{
    const char *path = variable(environment, "PATH");
    int r;

    if (!*name)
        return cannot_run(report, ENOENT, "the command is an empty word%s%s", "", "");
    if (strchr(name, '/')) {
        snprintf(found, PATH_MAX, "%s", name);
        r = executable(name);
        return r ? cannot_run(report, -r, "cannot run '%s': %s", name, strerror(-r)) : 0;
    }
    r = search_path(name, path ? path : "/bin:/usr/bin", found);
    if (r == -ENOENT && who->kind == IDENTITY_SUDO)
        return cannot_run(report, ENOENT, "cannot run '%s': not found in PATH, which sudo replaced; type: "
                          "sudo scope-bpf ... -- env \"PATH=$PATH\" %s ...", name, name);
    if (r == -ENOENT)
        return cannot_run(report, ENOENT, "cannot run '%s': no such command in PATH%s", name, "");
    return r ? cannot_run(report, -r, "cannot run '%s': found in PATH, but: %s", name, strerror(-r)) : 0;
}

static void absolute(const char *path, char *out, size_t size)
{
    char full[PATH_MAX], folder[PATH_MAX];

    if (realpath(path, full)) {
        snprintf(out, size, "%s", full);
        return;
    }
    bool relative = path[0] != '/' && getcwd(folder, sizeof(folder));
    if (snprintf(out, size, "%s%s%s", relative ? folder : "", relative ? "/" : "", path) >= (int)size)
        snprintf(out, size, "%s", path);
}

static void explain_exec(struct report *report, const char *program, int error)
{
    if (error == ENOENT)
        cannot_run(report, ENOENT, "cannot run '%s': the interpreter or loader that it names does not exist%s",
                   program, "");
    else
        cannot_run(report, error, "cannot run '%s': %s", program, strerror(error));
}

/* A text without "#!" is a script for /bin/sh, as for env and execvp(). */
static int exec_by_shell(const char *program, char *const *command, char *const *environment)
{
    size_t n = 0;

    while (command[n])
        n++;
    const char **words = calloc(n + 2, sizeof(*words));
    if (!words)
        return -ENOMEM;
    words[0] = "/bin/sh";
    words[1] = program;
    for (size_t i = 1; i < n; i++)
        words[i + 1] = command[i];
    execve(words[0], (char *const *)words, environment);
    return -errno;
}

static void say(int socket, const struct report *report)
{
    size_t len = offsetof(struct report, text) + strlen(report->text) + 1;

    while (send(socket, report, len, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

static bool wait_for_go(int socket)
{
    char go;
    ssize_t n;

    while ((n = recv(socket, &go, 1, 0)) < 0 && errno == EINTR)
        continue;
    return n == 1;
}

static _Noreturn void child(const struct options *options, const struct identity *who, const struct signals *signals,
                            int socket)
{
    static struct report report; /* large: not on the stack of a fork */
    char program[PATH_MAX];
    char *const *command = options->command;
    char **environment = identity__environment(who, environ);
    struct err err = {""};

    if (!environment || identity__become(who, IDENTITY_COMMAND, &err)) {
        report.status = STATUS_OURS;
        snprintf(report.text, sizeof(report.text), "%s", environment ? err.text : "no memory");
    } else if (!find_program(command[0], who, environment, program, &report)) {
        absolute(program, report.text, sizeof(report.text));
    }
    say(socket, &report);
    if (report.status || !wait_for_go(socket))
        _exit(STATUS_OURS);
    signals__restore(signals);
    execve(program, command, environment);
    int error = errno;
    if (error == ENOEXEC)
        error = -exec_by_shell(program, command, environment);
    explain_exec(&report, program, error);
    say(socket, &report);
    _exit(report.status);
}

/* ---- in the collector ------------------------------------------------------------------------------------- */

/* 1 a report came, 0 end of file, -errno. */
static int receive(int socket, struct report *report)
{
    ssize_t n;

    while ((n = recv(socket, report, sizeof(*report) - 1, 0)) < 0 && errno == EINTR)
        continue;
    if (n <= 0)
        return n ? -errno : 0;
    if ((size_t)n <= offsetof(struct report, text))
        return -EPROTO;
    ((char *)report)[n] = 0;
    return 1;
}

static int start(struct target *t, const struct options *options, const struct identity *who,
                 const struct signals *signals, struct err *err)
{
    int pair[2];

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return err__set(err, errno, "cannot make a socket pair: %s", strerror(errno));
    t->socket = pair[0];
    t->pid = fork();
    if (t->pid == 0) {
        close(pair[0]);
        child(options, who, signals, pair[1]);
    }
    int error = errno;
    close(pair[1]);
    if (t->pid < 0) {
        t->pid = 0;
        return err__set(err, error, "cannot start a process for the command (fork): %s", strerror(error));
    }
    int r = children__watch(t->pid);
    if (r)
        return err__set(err, -r, "too many children to watch");
    t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
    if (t->pidfd < 0)
        return err__set(err, errno, "cannot open a pidfd of the command: %s", strerror(errno));
    return 0;
}

int target__create(const struct options *options, const struct identity *who, const struct signals *signals,
                   struct target **ret, int *ret_status, struct err *err)
{
    struct target *t = calloc(1, sizeof(*t));
    struct report *report = calloc(1, sizeof(*report));
    int r = -ENOMEM, status = STATUS_OURS;

    if (!t || !report)
        goto fail;
    t->pidfd = t->socket = -1;
    t->lost_library_path = rights_were_raised(who) && !getenv("LD_LIBRARY_PATH");
    r = start(t, options, who, signals, err);
    if (r)
        goto fail;
    r = receive(t->socket, report);
    if (r <= 0) {
        r = err__set(err, r ? -r : EPIPE, "the process for the command ended before it could find its program");
        goto fail;
    }
    if (report->status) {
        status = report->status;
        r = err__set(err, report->error ? report->error : EPERM, "%s", report->text);
        goto fail;
    }
    t->path = strdup(report->text);
    r = t->path ? 0 : -ENOMEM;
    if (r)
        goto fail;
    free(report);
    *ret = t;
    return 0;
fail:
    if (r == -ENOMEM)
        err__set(err, ENOMEM, "no memory for the command");
    free(report);
    target__destroy(t);
    *ret_status = status;
    return r;
}

void target__destroy(struct target *t)
{
    int wstatus;

    if (!t)
        return;
    if (t->pid > 0 && !t->released && !target__try_reap(t, &wstatus)) {
        kill(t->pid, SIGKILL);
        children__wait(t->pid, &wstatus, -1);
    }
    children__forget(t->pid);
    if (t->pidfd >= 0)
        close(t->pidfd);
    if (t->socket >= 0)
        close(t->socket);
    free(t->path);
    free(t);
}

pid_t target__pid(const struct target *t)
{
    return t->pid;
}

int target__pidfd(const struct target *t)
{
    return t->pidfd;
}

const char *target__path(const struct target *t)
{
    return t->path;
}

int target__release(struct target *t, int *ret_status, struct err *err)
{
    struct report *report = calloc(1, sizeof(*report));
    int wstatus, r;

    if (!report)
        return err__set(err, ENOMEM, "no memory for the command");
    *ret_status = STATUS_OURS;
    /* A child that was killed while it waited gives EPIPE here: then its end is its status, like any other's. */
    r = send(t->socket, "g", 1, MSG_NOSIGNAL) == 1 || errno == EPIPE ? receive(t->socket, report) : -errno;
    t->released = true;
    if (r > 0) {
        *ret_status = report->status;
        r = err__set(err, report->error, "%s", report->text);
        children__wait(t->pid, &wstatus, -1);
    } else if (r < 0 && r != -ECONNRESET) {
        r = err__set(err, -r, "cannot start the command: %s", strerror(-r));
        t->released = false;
    } else {
        r = 0;
    }
    free(report);
    return r;
}

bool target__try_reap(struct target *t, int *ret_wstatus)
{
    if (!t->ended) {
        children__reap();
        t->ended = children__ended(t->pid, &t->wstatus);
    }
    if (t->ended)
        *ret_wstatus = t->wstatus;
    return t->ended;
}

int target__exit_status(int wstatus)
{
    if (WIFSIGNALED(wstatus))
        return 128 + WTERMSIG(wstatus);
    return WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : STATUS_OURS;
}

bool target__hint(const struct target *t, int wstatus, char *line, size_t size)
{
    if (!t->lost_library_path || !WIFEXITED(wstatus) || WEXITSTATUS(wstatus) != STATUS_NOT_FOUND)
        return false;
    snprintf(line, size, "the command ended with 127; if a library was not found: LD_LIBRARY_PATH does not pass sudo or "
             "file capabilities, type: scope-bpf ... -- env \"LD_LIBRARY_PATH=$LD_LIBRARY_PATH\" COMMAND ...");
    return true;
}
