/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals.h"

#include "children.h"
#include "proc_stat.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Some senders (timeout, service managers) signal a process and then its group: twice the same within this time from
 * one process is once. */
#define SAME_EVENT_NS 250000000ll

enum handling {
    ENDS,    /* asks to end: passed on once, then the profile is finished */
    PASSES,  /* the command's own business: passed on as often as it comes */
    STOPS,
    CONTINUES,
    CHILD,
    IGNORED, /* not for us, and must not kill us */
};

static const struct row {
    int signal;
    enum handling handling;
    bool respect_ignored; /* nohup: what was ignored when we started stays so */
} rows[] = {
    {SIGINT, ENDS, false},    {SIGTERM, ENDS, false},  {SIGHUP, ENDS, true},       {SIGQUIT, ENDS, false},
    {SIGUSR1, PASSES, false}, {SIGUSR2, PASSES, false}, {SIGTSTP, STOPS, true},    {SIGCONT, CONTINUES, false},
    {SIGCHLD, CHILD, false},  {SIGPIPE, IGNORED, false}, {SIGXFSZ, IGNORED, false},
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

struct signals {
    int fd;
    sigset_t old_mask;
    struct sigaction old[N_ROWS];
    pid_t command;
    int pidfd;          /* -1: no command */
    unsigned asked;     /* times that somebody asked us to end */
    bool stopped_it;    /* the command was stopped together with us: SIGCONT is for it too */
    int last_signal;
    uint32_t last_sender;
    int64_t last_time;
};

int signals__create(struct signals **ret, struct err *err)
{
    struct signals *s = calloc(1, sizeof(*s));
    sigset_t taken;

    if (!s)
        return err__set(err, ENOMEM, "no memory");
    s->pidfd = -1;
    sigemptyset(&taken);
    for (size_t i = 0; i < N_ROWS; i++) {
        struct sigaction action = {.sa_handler = rows[i].handling == IGNORED ? SIG_IGN : SIG_DFL};
        sigaction(rows[i].signal, NULL, &s->old[i]);
        if (rows[i].respect_ignored && s->old[i].sa_handler == SIG_IGN)
            continue;
        sigaction(rows[i].signal, &action, NULL);
        if (rows[i].handling != IGNORED)
            sigaddset(&taken, rows[i].signal);
    }
    sigprocmask(SIG_BLOCK, &taken, &s->old_mask);
    s->fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd < 0) {
        int error = errno;
        signals__restore(s);
        free(s);
        return err__set(err, error, "cannot receive signals (signalfd): %s", strerror(error));
    }
    *ret = s;
    return 0;
}

void signals__restore(const struct signals *s)
{
    for (size_t i = 0; i < N_ROWS; i++)
        sigaction(rows[i].signal, &s->old[i], NULL);
    sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

void signals__destroy(struct signals *s)
{
    struct signalfd_siginfo info;

    if (!s)
        return;
    /* What is still pending was meant for a run that is over: it must not kill us on the last step. */
    while (read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        continue;
    close(s->fd);
    signals__restore(s);
    free(s);
}

int signals__fd(const struct signals *s)
{
    return s->fd;
}

void signals__set_command(struct signals *s, pid_t pid, int pidfd)
{
    s->command = pid;
    s->pidfd = pidfd;
}

static void pass_on(const struct signals *s, int signal)
{
    if (s->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, s->pidfd, signal, NULL, 0);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000ll + now.tv_nsec;
}

static bool same_event(struct signals *s, const struct signalfd_siginfo *info)
{
    int64_t now = now_ns();
    bool same = s->last_signal == (int)info->ssi_signo && s->last_sender == info->ssi_pid &&
                now - s->last_time < SAME_EVENT_NS;

    s->last_signal = (int)info->ssi_signo;
    s->last_sender = info->ssi_pid;
    s->last_time = now;
    return same;
}

static unsigned asked_to_end(struct signals *s, const struct signalfd_siginfo *info)
{
    bool terminal = info->ssi_code == SI_KERNEL;

    if (s->pidfd < 0)
        return SIGNALS_FINISH;
    if (terminal)
        return SIGNALS_TERMINAL;
    if (same_event(s, info))
        return 0;
    if (s->asked++)
        return SIGNALS_FINISH;
    pass_on(s, (int)info->ssi_signo);
    return SIGNALS_FORWARDED;
}

/* Would a shell notice that we stop, and continue us?  The kernel asks the same before it obeys Ctrl-Z. */
static bool has_job_control(void)
{
    struct proc_stat self, parent;

    if (proc_stat__read(getpid(), &self) < 0 || !self.terminal)
        return false;
    pid_t pid = self.parent;
    for (int level = 0; level < 16 && pid > 1; level++) {
        if (proc_stat__read(pid, &parent) < 0 || parent.session != self.session)
            return false;
        if (parent.group != self.group)
            return true;
        pid = parent.parent;
    }
    return false;
}

static void stop_with_command(struct signals *s)
{
    s->stopped_it = true;
    kill(getpid(), SIGSTOP);
    /* Continued.  What the command's stop left in the table is the one that we have just obeyed. */
    children__reap();
    if (s->command)
        children__stopped_by(s->command);
}

static unsigned asked_to_stop(struct signals *s, const struct signalfd_siginfo *info)
{
    if (info->ssi_code != SI_KERNEL)
        pass_on(s, SIGTSTP);
    if (has_job_control())
        stop_with_command(s);
    return 0;
}

static unsigned child_changed(struct signals *s)
{
    children__reap();
    int signal = s->pidfd >= 0 ? children__stopped_by(s->command) : 0;
    bool by_terminal = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
    if (by_terminal && has_job_control())
        stop_with_command(s);
    return SIGNALS_CHILD;
}

static unsigned handle(struct signals *s, const struct signalfd_siginfo *info)
{
    enum handling handling = IGNORED;

    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].signal == (int)info->ssi_signo)
            handling = rows[i].handling;
    }
    switch (handling) {
    case ENDS: return asked_to_end(s, info);
    case PASSES: pass_on(s, (int)info->ssi_signo); return SIGNALS_FORWARDED;
    case STOPS: return asked_to_stop(s, info);
    case CHILD: return child_changed(s);
    case CONTINUES:
        if (s->stopped_it)
            pass_on(s, SIGCONT);
        s->stopped_it = false;
        return 0;
    case IGNORED: break;
    }
    return 0;
}

unsigned signals__read(struct signals *s)
{
    struct signalfd_siginfo info;
    unsigned events = 0;

    while (read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        events |= handle(s, &info);
    return events;
}
