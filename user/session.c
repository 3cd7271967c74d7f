/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording.  The order matters: identity and recorder come before any privilege is used, the command is forked
 * before limits are raised, everything that is known is attached before the command runs, links go before the last
 * drain, and the files are written before a slow detachment.
 */
#include "session.h"

#include "bystanders.h"
#include "calibrate.h"
#include "follow.h"
#include "guardian.h"
#include "losses.h"
#include "machine.h"
#include "msg.h"
#include "nothing_found.h"
#include "proc_stat.h"
#include "presets.h"
#include "recorder.h"
#include "sampler.h"
#include "session_blocks.h"
#include "signals.h"
#include "status.h"
#include "target.h"
#include "children.h"
#include "drain.h"
#include "scope.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STATUS_OURS 125
#define STATUS_LOSS 3
#define POLL_MS 10
#define IDLE_POLL_MS 50 /* when the last pass found nothing; what comes meanwhile waits in the rings */
#define FLUSH_NS 100000000u
#define LOSSES_NS 1000000000u
#define LAST_CPU_TIMES_NS 200000000u /* after the command: for records of threads that are still being buried */

struct session {
    const struct options *options;
    struct signals *signals;
    struct identity *who;
    struct recorder *recorder;
    struct capture_writer *writer;
    struct target *target;
    struct region_ids *ids;
    struct pairing *rules; /* NULL without --usdt and --preset */
    struct programs *programs;
    struct attach *attach;
    struct drain *drain;
    struct follow *follow;
    struct sideband *sideband;
    struct sampler *sampler;
    struct guardian *guardian;
    struct losses *losses;
    struct filters filters;
    uint64_t *starts; /* of the processes to attach to, in the order of options->pids; 0 gone */
    struct pair_cost cost;
    uint64_t start, end, last_flush, last_losses;
    uint64_t taken; /* records, until the pass before this one */
    bool released, finish, recorder_died;
    const char *how;
    bool command_ended;
    int wstatus;
    int status; /* to exit with, when something failed before the command */
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void say_warning(void *arg, const char *line)
{
    (void)arg;
    msg__warn("%s", line);
}

/* Blocks that a full disk swallowed. */
static void on_dropped(void *arg, uint16_t type, const void *payload, size_t len)
{
    struct session *s = arg;

    if (s->drain)
        drain__dropped(s->drain, type, payload, len);
}

/* ---- set-up, one step each --------------------------------------------------------------------------------- */

/*
 * Each must be there and be the caller's.  Which process that was is kept: much happens until it is attached.  One of
 * several that is gone is told then.
 */
static int check_pids(struct session *s, struct err *err)
{
    const struct options *o = s->options;
    struct proc_stat stat;
    size_t there = 0;
    int r = 0;

    s->starts = calloc(o->n_pids + 1, sizeof(*s->starts));
    if (!s->starts)
        return err__set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < o->n_pids; i++) {
        int gone = proc_stat__read(o->pids[i], &stat), one = identity__may_attach(o->pids[i], err);
        if (one && one != -ESRCH)
            return one;
        r = one ? one : r;
        if (!one && !gone) {
            s->starts[i] = stat.start_ticks;
            there++;
        }
    }
    return there ? 0 : r;
}

#define FIRST_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO of the kernel */

/* BPF speaks of processes by their numbers on the host. */
static int check_namespace(struct err *err)
{
    char name[64];
    ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

    if (n < 0 || (name[n] = '\0', !strcmp(name, FIRST_PID_NAMESPACE)))
        return 0;
    return err__set(err, EINVAL, "scope-bpf runs in a pid namespace of its own, where processes have other numbers than the "
                    "kernel tells: start the container with the host's (--pid=host)");
}

static int start_unprivileged(struct session *s, struct err *err)
{
    int fd = -1;
    int r = check_namespace(err);

    r = r ? r : signals__create(&s->signals, err);
    r = r ? r : presets__rules(s->options, &s->rules, err);
    r = r ? r : identity__create(s->options->run_as, &s->who, err);
    r = r ? r : check_pids(s, err);
    r = r ? r : filters__init(&s->filters, s->options, err);
    r = r ? r : recorder__start(s->options, s->who, &s->recorder, &fd, err);
    return r ? r : capture_writer__create(fd, on_dropped, s, &s->writer, err);
}

static int load_programs(struct session *s, struct err *err)
{
    s->ids = region_ids__create(s->options);
    if (!s->ids)
        return err__set(err, ENOMEM, "out of memory");
    struct programs_config config = { .buffer = s->options->buffer, .uprobes = s->options->uprobes,
                                      .quiet_scope_ends = region_ids__filtering(s->ids),
                                      .track_all = s->options->all,
                                      .filter_uid = s->filters.uid,
                                      .filter_cgroup = s->filters.cgroup,
                                      .filter_cgroup_level = s->filters.cgroup_level };
    int r = calibrate__measure(s->options, 2000, false, &s->cost, err);

    r = r ? r : programs__load(&config, &s->programs, err);
    if (r)
        return r;
    s->attach = attach__create(s->programs, s->ids);
    if (!s->attach)
        return err__set(err, ENOMEM, "out of memory");
    attach__set_say(s->attach, say_warning, NULL);
    attach__set_rules(s->attach, s->rules);
    if (s->options->command && !s->options->all)
        attach__watch_loaders(s->attach);
    s->losses = losses__create(s->programs);
    if (!s->losses)
        return err__set(err, ENOMEM, "out of memory");
    return guardian__start(bpf_map__fd(s->programs->skel->maps.stopped), &s->guardian, err);
}

static int start_watching(struct session *s, struct err *err)
{
    struct follow_config config = { .programs = s->programs, .attach = s->attach, .ids = s->ids, .writer = s->writer,
                                    .by_pid = s->options->n_pids > 0 && !s->options->follow,
                                    .full = s->options->metadata_full,
                                    .everyone = s->options->all,
                                    .filters = s->options->all ? &s->filters : NULL };
    int r = drain__create(s->programs, s->ids, s->writer, &s->drain, err);

    r = r ? r : follow__create(&config, &s->follow, err);
    r = r ? r : sideband__create(&s->sideband, err);
    r = r ? r : programs__watch_processes(s->programs, err);
    if (!r && s->options->samples)
        r = sampler__create(bpf_program__fd(s->programs->skel->progs.sample_tick), s->options->freq, &s->sampler, err);
    return r;
}

static void flush_regions(struct session *s)
{
    struct capture_buf b = { 0 };

    if (region_ids__take_new(s->ids, &b) && !b.failed)
        capture_writer__put(s->writer, CAPTURE_REGIONS, b.data, b.len);
    capture_buf__deinit(&b);
}

static void tell_if_nothing(const struct session *s)
{
    char line[512], what[32] = "the processes";

    if (region_ids__count(s->ids))
        return;
    if (s->options->n_pids == 1 && !s->options->all)
        snprintf(what, sizeof(what), "process %d", (int)s->options->pids[0]);
    if (region_ids__filtering(s->ids)) {
        msg__warn("no region passed --region and --exclude");
        return;
    }
    nothing_found__line(s->attach, s->target ? s->options->command[0] : what, line, sizeof(line));
    msg__warn("%s", line);
}

/* The rules of --usdt stand first; those of a preset may well find nothing in this program. */
static void tell_unused_rules(const struct session *s)
{
    for (size_t i = 0; i < s->options->usdt.n; i++)
        if (!pairing__was_used(s->rules, i))
            msg__warn("--usdt %s: no probe matched it (scope-bpf --list shows which providers a program has)",
                      pairing__text(s->rules, i));
}

static int attach_command(struct session *s, struct err *err)
{
    const char *path = target__path(s->target);
    char **environment = identity__environment(s->who, environ);
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;

    /* What cannot be read as a program now (a script without #!, say) is met again at its exec. */
    if (fd >= 0 && follow__prepare(s->follow, fd, path, environment, err))
        msg__detail("%s", err->text);
    if (fd >= 0)
        close(fd);
    free(environment);
    r = follow__add_command(s->follow, target__pid(s->target), err);
    if (!r && s->sampler && !s->options->all)
        r = sampler__add_command(s->sampler, target__pid(s->target), err);
    return r;
}

static int attach_everyone(struct session *s, struct err *err)
{
    int r = follow__add_everyone(s->follow, err);

    return !r && s->sampler ? sampler__add_machine(s->sampler, err) : r;
}

static int attach_processes(struct session *s, struct err *err)
{
    size_t there = 0;
    int r = 0;

    for (size_t i = 0; i < s->options->n_pids; i++) {
        pid_t pid = s->options->pids[i];
        r = s->starts[i] ? follow__add_running(s->follow, pid, s->starts[i], s->options->follow, err)
                         : err__set(err, ESRCH, "there is no process %d", (int)pid);
        if (!r && s->sampler)
            r = sampler__add_process(s->sampler, pid, s->options->follow, err);
        if (r && r != -ESRCH)
            return r;
        if (!r)
            there++;
        else if (s->options->n_pids > 1 || s->options->all) /* a single one is the error itself */
            msg__warn("%s", err->text);
    }
    return there || s->options->all ? 0 : r;
}

static void tell_bystanders(const struct session *s)
{
    const struct attached_file *file = NULL;
    size_t n = attach__sites(s->attach) ? bystanders__count(s->attach, target__pid(s->target), &file) : 0;

    if (n)
        msg__warn("%zu running process%s also use%s %s: not recorded, but slowed at each of its probes as the command "
                  "is (`--calibrate` measures it)", n, n == 1 ? "" : "es", n == 1 ? "s" : "", file->name);
}

static int begin(struct session *s, struct err *err)
{
    int r;

    s->start = now_ns();
    session_blocks__header(s->writer, s->options, s->sampler ? sampler__hz(s->sampler) : 0);
    char **environment = identity__environment(s->who, environ);
    session_blocks__meta(s->writer, s->options, &s->cost, s->who->name, environment,
                         s->sampler ? sampler__event(s->sampler) : NULL);
    free(environment);
    uint64_t before = now_ns();
    r = s->target ? attach_command(s, err) : attach_processes(s, err);
    if (!r && s->options->all)
        r = attach_everyone(s, err);
    flush_regions(s);
    if (r)
        return r;
    msg__detail("attached %zu sites of %zu regions in %.1f ms", attach__sites(s->attach), region_ids__count(s->ids),
                (double)(now_ns() - before) / 1e6);
    if (s->target && !s->options->all)
        tell_bystanders(s);
    else if (!s->target && !s->options->all)
        tell_if_nothing(s);
    capture_writer__flush(s->writer);
    if (s->target) {
        r = target__release(s->target, &s->status, err);
        if (r)
            return r;
        s->released = true;
        signals__set_command(s->signals, target__pid(s->target), target__pidfd(s->target));
    }
    return 0;
}

static int set_up(struct session *s, struct err *err)
{
    int r = start_unprivileged(s, err);

    if (!r && s->options->command)
        r = target__create(s->options, s->who, s->signals, &s->target, &s->status, err);
    r = r ? r : load_programs(s, err);
    r = r ? r : start_watching(s, err);
    return r ? r : begin(s, err);
}

/* ---- recording --------------------------------------------------------------------------------------------- */

static void write_losses(struct session *s, bool last)
{
    struct capture_buf b = { 0 };

    losses__put(s->losses, &b);
    drain__put_losses(s->drain, &b);
    if (b.len && !b.failed) {
        if (last)
            capture_writer__put_last(s->writer, CAPTURE_LOSS, b.data, b.len);
        else
            capture_writer__put(s->writer, CAPTURE_LOSS, b.data, b.len);
    }
    capture_buf__deinit(&b);
}

/* Cold first: it attaches and lets stopped processes go on.  Then names, then calls. */
static void drain_once(struct session *s)
{
    bool more;

    do {
        follow__consume(s->follow);
        sideband__read(s->sideband, follow__on_sideband, s->follow);
        follow__settle(s->follow);
        flush_regions(s);
        more = drain__pass(s->drain);
    } while (more);
}

static void housekeeping(struct session *s)
{
    uint64_t now = now_ns();

    attach__check_named(s->attach, false);
    if (now - s->last_flush > FLUSH_NS) {
        capture_writer__flush(s->writer);
        s->last_flush = now;
    }
    if (now - s->last_losses > LOSSES_NS && !capture_writer__error(s->writer)) {
        write_losses(s, false);
        session_blocks__clock(s->writer);
        s->last_losses = now;
    }
    const struct drain_totals *d = drain__totals(s->drain);
    struct status_counts counts = { .processes = follow__totals(s->follow)->processes, .calls = d->calls,
                                    .samples = d->samples, .lost = losses__total(s->losses) + d->disk_lost };
    status__update(now, &counts);
}

static void restart_guardian(struct session *s)
{
    struct err err;

    guardian__destroy(s->guardian);
    s->guardian = NULL;
    if (guardian__start(bpf_map__fd(s->programs->skel->maps.stopped), &s->guardian, &err))
        msg__warn("%s; a process that is stopped for attachment would stay so if scope-bpf were killed", err.text);
}

static void end_recording(struct session *s, const char *how)
{
    if (s->how)
        return;
    s->how = how;
    s->end = now_ns();
}

static void wait_for_events(struct session *s, int timeout)
{
    struct pollfd fds[] = {
        { .fd = signals__fd(s->signals), .events = POLLIN },
        { .fd = drain__epoll_fd(s->drain), .events = POLLIN },
        { .fd = follow__epoll_fd(s->follow), .events = POLLIN },
        { .fd = sideband__epoll_fd(s->sideband), .events = POLLIN },
        { .fd = s->recorder_died ? -1 : recorder__fd(s->recorder), .events = POLLIN },
        { .fd = s->guardian ? guardian__pidfd(s->guardian) : -1, .events = POLLIN },
        { .fd = s->target && !s->command_ended ? target__pidfd(s->target) : -1, .events = POLLIN },
    };

    poll(fds, sizeof(fds) / sizeof(*fds), timeout);
    if (fds[0].revents && signals__read(s->signals) & SIGNALS_FINISH) {
        s->finish = true;
        end_recording(s, "interrupted");
    }
    if (fds[4].revents && !s->recorder_died) {
        s->recorder_died = true;
        msg__error("the recorder (process %d) died: the recording goes on; convert the capture afterwards with "
                   "`scope-report convert`", (int)recorder__pid(s->recorder));
    }
    if (fds[5].revents)
        restart_guardian(s);
    if (s->target && !s->command_ended && target__try_reap(s->target, &s->wstatus)) {
        s->command_ended = true;
        signals__set_command(s->signals, -1, -1);
        end_recording(s, "command ended");
    }
}

static bool time_is_over(const struct session *s)
{
    return s->options->duration > 0 && (double)(now_ns() - s->start) >= s->options->duration * 1e9;
}

static int next_timeout(struct session *s)
{
    const struct drain_totals *d = drain__totals(s->drain);
    uint64_t taken = d->calls + d->samples + d->unmatched;
    int pause = taken == s->taken ? IDLE_POLL_MS : POLL_MS;

    s->taken = taken;
    if (s->options->duration <= 0)
        return pause;
    double left = s->options->duration * 1e3 - (double)(now_ns() - s->start) / 1e6;
    return left < 0 ? 0 : left < pause ? (int)left + 1 : pause;
}

static void record(struct session *s)
{
    status__start(s->start);
    while (!s->how) {
        wait_for_events(s, next_timeout(s));
        drain_once(s);
        housekeeping(s);
        if (time_is_over(s))
            end_recording(s, "duration");
        if (!s->target && !s->options->all && !follow__any_alive(s->follow))
            end_recording(s, "process ended");
    }
    status__stop();
}

/* Threads of the command that ended a moment ago still owe their last CPU time. */
static void last_cpu_times(struct session *s)
{
    uint64_t until = now_ns() + LAST_CPU_TIMES_NS;

    while (follow__totals(s->follow)->cpu_pending && now_ns() < until) {
        struct timespec nap = { 0, 1000000 };
        nanosleep(&nap, NULL);
        drain_once(s);
    }
}

static void detach(struct session *s)
{
    uint64_t before = now_ns();

    attach__detach(s->attach, false);
    msg__detail("detached in %.1f ms", (double)(now_ns() - before) / 1e6);
}

/* A recording ends with its command; a daemon does not. */
static void note_survivors(struct session *s)
{
    const char *name;
    uint32_t pid;
    size_t n = s->command_ended && !s->options->all ? follow__survivors(s->follow, &pid, &name) : 0;
    char more[32] = "";

    if (n > 1)
        snprintf(more, sizeof(more), ", %zu more", n - 1);
    if (n)
        session_blocks__note(s->writer, (int64_t)s->end, (int64_t)s->end,
                             "the command ended, and %zu process%s that it started still run%s (%.*s, %u%s): what "
                             "follows is not recorded (-p records it)", n, n == 1 ? "" : "es", n == 1 ? "s" : "",
                             SB_COMM_LEN, name, pid, more);
}

static void stop_recording(struct session *s)
{
    struct err err;

    sampler__destroy(s->sampler);
    s->sampler = NULL;
    if (s->command_ended)
        last_cpu_times(s);
    note_survivors(s);
    programs__untrack_all(s->programs);
    attach__check_named(s->attach, true);
    if (s->programs->multi)
        detach(s);
    if (programs__detach_threads(s->programs, &err))
        msg__warn("%s", err.text);
    drain_once(s);
    follow__finish(s->follow);
    flush_regions(s);
    write_losses(s, true);
    if (sideband__lost(s->sideband))
        session_blocks__note(s->writer, s->start, s->end,
                             "%llu notices of mappings were lost: some modules may be unknown",
                             (unsigned long long)sideband__lost(s->sideband));
    session_blocks__end(s->writer, s->end, capture_writer__error(s->writer) ? "disk full" : s->how,
                        s->command_ended ? s->wstatus : 0, drain__totals(s->drain));
}

static uint64_t lost_in_all(const struct session *s)
{
    const struct drain_totals *d = drain__totals(s->drain);

    return losses__total(s->losses) + d->disk_lost + d->disk_lost_samples + d->unknown;
}

static void wait_for_command(struct session *s)
{
    while (s->target && !s->command_ended) {
        struct pollfd fds[] = { { .fd = signals__fd(s->signals), .events = POLLIN },
                                { .fd = target__pidfd(s->target), .events = POLLIN } };
        poll(fds, 2, -1);
        if (fds[0].revents && signals__read(s->signals) & SIGNALS_FINISH && s->finish)
            return; /* asked twice: nobody wants to wait */
        s->command_ended = target__try_reap(s->target, &s->wstatus);
    }
}

static int write_files(struct session *s)
{
    struct err err = { "" };
    int status = 0;

    capture_writer__destroy(s->writer);
    s->writer = NULL;
    if (s->recorder_died)
        return STATUS_OURS;
    if (recorder__finish(s->recorder, &status, &err)) {
        msg__error("%s", err.text);
        status = STATUS_OURS;
    } else if (status) {
        msg__error("%s", err.text);
    }
    return status;
}

static int exit_status(struct session *s, int written)
{
    char hint[512];

    if (s->command_ended && target__hint(s->target, s->wstatus, hint, sizeof(hint)))
        msg__info("%s", hint);
    if (written && (!s->target || !s->command_ended || !target__exit_status(s->wstatus)))
        return written;
    if (s->options->fail_on_loss && lost_in_all(s))
        return STATUS_LOSS;
    return s->target && s->command_ended ? target__exit_status(s->wstatus) : 0;
}

static void tear_down(struct session *s)
{
    capture_writer__destroy(s->writer);
    guardian__destroy(s->guardian);
    sampler__destroy(s->sampler);
    sideband__destroy(s->sideband);
    follow__destroy(s->follow);
    drain__destroy(s->drain);
    losses__destroy(s->losses);
    recorder__destroy(s->recorder); /* before a process of ours may outlive us with its socket */
    if (s->attach)
        attach__detach(s->attach, true);
    attach__destroy(s->attach);
    programs__destroy(s->programs);
    region_ids__destroy(s->ids);
    pairing__free(s->rules);
    target__destroy(s->target);
    filters__deinit(&s->filters);
    free(s->starts);
    identity__destroy(s->who);
    signals__destroy(s->signals);
}

static int fail_early(struct session *s, const struct err *err)
{
    msg__error("%s", err->text);
    capture_writer__destroy(s->writer);
    s->writer = NULL;
    if (s->recorder)
        recorder__discard(s->recorder);
    return s->status ? s->status : STATUS_OURS;
}

int session__run(const struct options *options)
{
    struct session s = { .options = options };
    struct err err = { "" };
    int status;

    if (set_up(&s, &err)) {
        status = fail_early(&s, &err);
    } else {
        record(&s);
        stop_recording(&s);
        if (s.target && !drain__totals(s.drain)->calls)
            tell_if_nothing(&s);
        tell_unused_rules(&s);
        int written = write_files(&s);
        if (!s.finish)
            wait_for_command(&s);
        status = exit_status(&s, written);
    }
    tear_down(&s);
    return status;
}
