/* SPDX-License-Identifier: GPL-2.0-only */
#include "follow_private.h"

#include "msg.h"
#include "proc_stat.h"
#include "scope.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEAD_KEPT_NS 2000000000u /* side-band events of a process that is gone may still be on the way */

uint64_t follow__now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void follow__put(struct follow *f, uint16_t type)
{
    if (!f->payload.failed)
        capture_writer__put(f->config.writer, type, f->payload.data, f->payload.len);
}

void follow__note(struct follow *f, int64_t from, int64_t to, uint32_t pid, const char *format, ...)
{
    struct err line;
    char text[sizeof(line.text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err__set(&line, 1, "%s", text);
    capture_buf__reset(&f->payload);
    capture_put_s(&f->payload, from);
    capture_put_s(&f->payload, to);
    capture_put_u(&f->payload, pid);
    capture_put_text(&f->payload, line.text);
    follow__put(f, CAPTURE_NOTE);
    msg__detail("%s", line.text);
}

/* ---- table of processes ------------------------------------------------------------------------------------ */

struct process *follow__process(const struct follow *f, uint32_t pid)
{
    return number_table__get(&f->processes, pid);
}

static void free_process(struct process *p)
{
    process_text__deinit(&p->arguments);
    process_text__deinit(&p->environment);
    free(p->path);
    free(p);
}

static void remove_at(struct follow *f, size_t i)
{
    struct process *p = f->list[i];

    if (number_table__get(&f->processes, p->pid) == p)
        number_table__remove(&f->processes, p->pid);
    f->list[i] = f->list[--f->n_list];
    free_process(p);
}

struct process *follow__new_process(struct follow *f, uint32_t pid)
{
    if (f->n_list == f->cap_list) {
        size_t cap = f->cap_list ? 2 * f->cap_list : 64;
        struct process **list = realloc(f->list, cap * sizeof(struct process *));
        if (!list)
            return NULL;
        f->list = list;
        f->cap_list = cap;
    }
    struct process *p = calloc(1, sizeof(*p));
    if (!p || number_table__put(&f->processes, pid, p)) {
        free(p);
        return NULL;
    }
    p->pid = pid;
    f->list[f->n_list++] = p;
    f->totals.processes++;
    f->totals.started++;
    return p;
}

static void forget_dead(struct follow *f)
{
    uint64_t now = follow__now();

    for (size_t i = f->n_list; i-- > 0;)
        if (f->list[i]->dead && now - f->list[i]->died > DEAD_KEPT_NS)
            remove_at(f, i);
}

bool follow__any_alive(const struct follow *f)
{
    return f->totals.processes > 0;
}

size_t follow__survivors(const struct follow *f, uint32_t *ret_pid, const char **ret_name)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n_list; i++) {
        const struct process *p = f->list[i];
        struct proc_stat stat;

        if (p->dead || proc_stat__read((pid_t)p->pid, &stat) || proc_stat__ended(&stat) ||
            !proc_stat__started_at(&stat, p->start_time))
            continue;
        *ret_pid = p->pid;
        *ret_name = p->comm;
        n++;
    }
    return n;
}

/* ---- images ------------------------------------------------------------------------------------------------ */

static void put_image(struct follow *f, const struct process *p, uint32_t from, enum capture_image_how how)
{
    struct capture_buf *b = &f->payload;

    capture_buf__reset(b);
    capture_put_u(b, p->image);
    capture_put_u(b, from);
    capture_put_u(b, how);
    capture_put_u(b, p->pid);
    capture_put_u(b, p->inner_pid);
    capture_put_u(b, p->parent);
    capture_put_u(b, p->exec);
    capture_put_s(b, (int64_t)p->start_time);
    capture_put_s(b, (int64_t)p->image_time);
    capture_put_text(b, p->path);
    process_text__put_arguments(&p->arguments, f->config.full, b);
    process_text__put_ranks(&p->environment, b);
    capture_put_bytes(b, p->comm, strnlen(p->comm, sizeof(p->comm)));
    capture_put_u(b, f->config.filters && !filters__comm(f->config.filters, p->comm, sizeof(p->comm)));
    follow__put(f, CAPTURE_IMAGE);
}

static void put_image_end(struct follow *f, uint32_t image, const struct sb_process *r, uint32_t status)
{
    capture_buf__reset(&f->payload);
    capture_put_u(&f->payload, image);
    capture_put_s(&f->payload, (int64_t)r->time);
    capture_put_u(&f->payload, status);
    capture_put_u(&f->payload, r->inherited_dropped);
    follow__put(f, CAPTURE_IMAGE_END);
}

static void copy_text(struct process_text *to, const struct process_text *from)
{
    if (!from->len || !(to->data = malloc(from->len + 1)))
        return;
    memcpy(to->data, from->data, from->len + 1);
    to->len = from->len;
}

/* -a: the process was met among those that run before this record was read. */
static bool is_old_news(const struct process *p, const struct sb_process *r)
{
    return p && !p->dead && p->met && r->time <= p->image_time;
}

static void on_fork(struct follow *f, const struct sb_process *r)
{
    struct process *parent = follow__process(f, r->parent), *p = follow__process(f, r->pid);

    if (is_old_news(p, r))
        return;
    p = follow__new_process(f, r->pid);
    if (!p) {
        msg__error("out of memory: process %u is not followed", r->pid);
        return;
    }
    p->inner_pid = r->inner_pid;
    p->parent = r->parent;
    p->start_time = r->start_time;
    p->image_time = r->time;
    memcpy(p->comm, r->comm, sizeof(p->comm));
    p->image = ++f->next_image;
    if (parent) {
        copy_text(&p->arguments, &parent->arguments);
        copy_text(&p->environment, &parent->environment);
        p->path = parent->path ? strdup(parent->path) : NULL;
    }
    put_image(f, p, parent ? parent->image : 0, CAPTURE_IMAGE_FORK);
}

static void read_exe(struct process *p);

/* -a: a process that ran already came to a probe. */
static void on_seen(struct follow *f, const struct sb_process *r)
{
    struct process *p = follow__process(f, r->pid);

    if (p && !p->dead)
        return;
    p = follow__new_process(f, r->pid);
    if (!p) {
        msg__error("out of memory: process %u is not followed", r->pid);
        return;
    }
    p->inner_pid = r->inner_pid;
    p->parent = r->parent;
    p->start_time = r->start_time;
    p->image_time = r->time;
    p->image = ++f->next_image;
    memcpy(p->comm, r->comm, sizeof(p->comm));
    read_exe(p);
    process_text__read(&p->arguments, (pid_t)p->pid, "cmdline");
    process_text__read(&p->environment, (pid_t)p->pid, "environ");
    put_image(f, p, 0, CAPTURE_IMAGE_RUNNING);
}

static void read_exe(struct process *p)
{
    char link[64], path[4096];

    snprintf(link, sizeof(link), "/proc/%u/exe", p->pid);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    free(p->path);
    p->path = n > 0 ? strndup(path, (size_t)n) : NULL;
}

static void on_exec(struct follow *f, const struct sb_process *r)
{
    struct process *p = follow__process(f, r->pid);

    if (is_old_news(p, r)) {
        p->exec = r->exec;
        return;
    }
    if (!p) /* its fork was lost */
        p = follow__new_process(f, r->pid);
    if (!p) {
        msg__error("out of memory: process %u is not followed", r->pid);
        return;
    }
    p->from = p->image;
    if (p->image)
        put_image_end(f, p->image, r, 0);
    p->image = ++f->next_image;
    p->exec = r->exec;
    p->inner_pid = r->inner_pid;
    p->parent = r->parent;
    p->start_time = r->start_time;
    p->image_time = r->time;
    p->stopped = r->stopped;
    p->stop_time = r->time;
    p->file = (struct sb_file_key){ .ino = r->ino, .dev = r->dev, .generation = r->generation };
    memcpy(p->comm, r->comm, sizeof(p->comm));
    process_text__deinit(&p->arguments);
    process_text__deinit(&p->environment);
    read_exe(p);
    p->waiting_text = true;
}

/*
 * First SIGCONT, then the guardian's entry: killed in between we leave one SIGCONT too many, never one too few.  The
 * entry may be that of a newer stop by now; that one stays.
 */
static void continue_process(struct follow *f, struct process *p)
{
    int map = bpf_map__fd(f->config.programs->skel->maps.stopped);
    int pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    struct sb_stopped entry;

    if (pidfd >= 0) {
        /* It is stopped, or will be in a moment: it cannot have ended and its number gone to another. */
        syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
        close(pidfd);
    }
    if (!bpf_map_lookup_elem(map, &p->pid, &entry) && entry.time <= p->stop_time)
        bpf_map_delete_elem(map, &p->pid);
    p->stopped = false;
}

static void attach_program(struct follow *f, struct process *p)
{
    char exe[64], root[64], cwd[4096], link[64];
    struct err err;
    ssize_t n;

    snprintf(exe, sizeof(exe), "/proc/%u/exe", p->pid);
    snprintf(root, sizeof(root), "/proc/%u/root", p->pid);
    snprintf(link, sizeof(link), "/proc/%u/cwd", p->pid);
    n = readlink(link, cwd, sizeof(cwd) - 1);
    cwd[n > 0 ? n : 0] = '\0';
    int fd = open(exe, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* it ended */
    if (follow__attach_closure(f, fd, p->path ? p->path : exe, root, n > 0 ? cwd : NULL,
                               process_text__variable(&p->environment, "LD_LIBRARY_PATH"),
                               process_text__variable(&p->environment, "LD_PRELOAD"), (pid_t)p->pid, &err))
        msg__warn("%s", err.text);
    close(fd);
}

/* Command line and environment are complete: what the program brings is attached, then it may run. */
static void text_complete(struct follow *f, struct process *p)
{
    uint32_t one = 1;

    p->waiting_text = false;
    put_image(f, p, p->from, CAPTURE_IMAGE_EXEC);
    if (!p->stopped)
        return;
    attach_program(f, p);
    follow__stopped_until(f, p->pid, follow__now());
    bpf_map_update_elem(bpf_map__fd(f->config.programs->skel->maps.known), &p->file, &one, BPF_ANY);
    continue_process(f, p);
}

/* The loader has mapped libraries that nobody saw before: attached, then it may go on to their first instruction. */
static void on_loaded(struct follow *f, const struct sb_process *r)
{
    struct process *p = follow__process(f, r->pid);
    uint64_t set = r->ino;
    uint32_t one = 1;
    struct err err;

    if (!p)
        return;
    if (p->waiting_text)
        text_complete(f, p);
    p->stop_time = r->time;
    follow__stopped_until(f, r->pid, r->time);
    if (follow__attach_maps(f, p, false, &err) && !p->dead)
        msg__warn("%s", err.text);
    bpf_map_update_elem(bpf_map__fd(f->config.programs->skel->maps.known_sets), &set, &one, BPF_ANY);
    continue_process(f, p);
}

static void on_text(struct follow *f, const struct sb_text *r)
{
    struct process *p = follow__process(f, r->pid);

    if (!p || p->exec != r->exec || !p->waiting_text)
        return;
    process_text__add(r->type == SB_COLD_ENV ? &p->environment : &p->arguments, r);
    if (r->type == SB_COLD_ENV && r->last)
        text_complete(f, p);
}

static void on_process_exit(struct follow *f, const struct sb_process *r)
{
    struct process *p = follow__process(f, r->pid);

    if (!p || p->dead)
        return;
    if (p->waiting_text)
        text_complete(f, p);
    if (p->image)
        put_image_end(f, p->image, r, r->exit_code);
    p->dead = true;
    p->died = follow__now();
    f->totals.processes--;
}

/* ---- lanes ------------------------------------------------------------------------------------------------- */

static void on_lane(struct follow *f, const struct sb_lane *r)
{
    const struct process *p = follow__process(f, r->pid);
    struct capture_buf *b = &f->payload;
    uint64_t start = r->thread_start;

    if (p && p->exec == r->exec && r->exec && p->image_time > start)
        start = p->image_time;
    capture_buf__reset(b);
    capture_put_u(b, r->lane);
    capture_put_u(b, p ? p->image : 0);
    capture_put_u(b, r->tid);
    capture_put_u(b, r->inner_tid);
    capture_put_s(b, (int64_t)start);
    capture_put_s(b, (int64_t)r->time);
    capture_put_u(b, r->flags);
    capture_put_bytes(b, r->comm, strnlen(r->comm, sizeof(r->comm)));
    follow__put(f, CAPTURE_LANE);
    f->totals.lanes_open++;
    f->totals.lanes++;
}

static void put_lane_end(struct follow *f, const struct sb_lane_end *r)
{
    struct capture_buf *b = &f->payload;

    capture_buf__reset(b);
    capture_put_u(b, r->lane);
    capture_put_s(b, (int64_t)r->time);
    capture_put_s(b, (int64_t)r->cpu_ns);
    capture_put_u(b, r->next_seq);
    capture_put_u(b, r->why);
    capture_put_u(b, r->depth_overflow);
    capture_put_bytes(b, r->comm, strnlen(r->comm, sizeof(r->comm)));
    follow__put(f, CAPTURE_LANE_END);
}

static void on_lane_end(struct follow *f, const struct sb_lane_end *r)
{
    put_lane_end(f, r);
    if (f->totals.lanes_open)
        f->totals.lanes_open--;
    if (r->why == SB_END_EXIT)
        f->totals.cpu_pending++;
}

/* The exact time follows the end: a second block, of which only the CPU time counts (why = 0). */
static void on_thread_cpu(struct follow *f, const struct sb_lane_end *r)
{
    put_lane_end(f, r);
    if (f->totals.cpu_pending)
        f->totals.cpu_pending--;
}

/* ---- the ring ---------------------------------------------------------------------------------------------- */

static int on_record(void *arg, void *data, size_t size)
{
    struct follow *f = arg;
    const uint8_t *type = data;

    if (size == sizeof(struct sb_process) && *type == SB_COLD_FORK)
        on_fork(f, data);
    else if (size == sizeof(struct sb_process) && *type == SB_COLD_EXEC)
        on_exec(f, data);
    else if (size == sizeof(struct sb_process) && *type == SB_COLD_EXIT)
        on_process_exit(f, data);
    else if (size == sizeof(struct sb_process) && *type == SB_COLD_SEEN)
        on_seen(f, data);
    else if (size == sizeof(struct sb_process) && *type == SB_COLD_LOADED)
        on_loaded(f, data);
    else if (size == sizeof(struct sb_lane) && *type == SB_COLD_LANE)
        on_lane(f, data);
    else if (size == sizeof(struct sb_lane_end) && *type == SB_COLD_LANE_END)
        on_lane_end(f, data);
    else if (size == sizeof(struct sb_lane_end) && *type == SB_COLD_THREAD_CPU)
        on_thread_cpu(f, data);
    else if (size == sizeof(struct sb_text) && (*type == SB_COLD_ENV || *type == SB_COLD_ARGV))
        on_text(f, data);
    else if (size == sizeof(struct sb_name) && *type == SB_COLD_NAME) {
        const struct sb_name *r = data;
        region_ids__add_dynamic(f->config.ids, r->region, r->provider, r->name, r->len);
    }
    return 0;
}

void follow__consume(struct follow *f)
{
    ring_buffer__consume(f->ring);
    forget_dead(f);
}

int follow__create(const struct follow_config *config, struct follow **ret, struct err *err)
{
    struct follow *f = calloc(1, sizeof(*f));
    if (!f)
        return err__set(err, ENOMEM, "out of memory");
    f->config = *config;
    f->ring = ring_buffer__new(bpf_map__fd(config->programs->skel->maps.cold_ring), on_record, f, NULL);
    if (!f->ring) {
        int code = errno;
        follow__destroy(f);
        return err__set(err, code, "cannot map the process ring: %s", strerror(code));
    }
    *ret = f;
    return 0;
}

void follow__destroy(struct follow *f)
{
    if (!f)
        return;
    ring_buffer__free(f->ring);
    for (size_t i = 0; i < f->n_late; i++)
        free(f->late[i].path);
    free(f->late);
    while (f->n_list)
        remove_at(f, f->n_list - 1);
    free(f->list);
    number_table__deinit(&f->processes);
    for (size_t i = 0; i < f->n_pending; i++)
        free(f->pending[i].path);
    free(f->pending);
    capture_buf__deinit(&f->payload);
    free(f);
}

int follow__epoll_fd(const struct follow *f)
{
    return ring_buffer__epoll_fd(f->ring);
}

const struct follow_totals *follow__totals(const struct follow *f)
{
    return &f->totals;
}

/* ---- beginnings -------------------------------------------------------------------------------------------- */

/* In ns of CLOCK_MONOTONIC as far as /proc knows it: to a tick, and to what slept since. */
static uint64_t start_time(const struct proc_stat *stat)
{
    struct timespec boot, mono;

    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    int64_t asleep = (boot.tv_sec - mono.tv_sec) * 1000000000ll + (boot.tv_nsec - mono.tv_nsec);
    int64_t start = (int64_t)(stat->start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK))) - asleep;
    return start > 0 ? (uint64_t)start : 1;
}

int follow__add_command(struct follow *f, pid_t pid, struct err *err)
{
    struct process *p = follow__new_process(f, (uint32_t)pid);

    if (!p)
        return err__set(err, ENOMEM, "out of memory");
    struct proc_stat stat;

    p->start_time = proc_stat__read(pid, &stat) ? 1 : start_time(&stat);
    p->parent = (uint32_t)getpid();
    return programs__track(f->config.programs, pid, p->start_time,
                           SB_TRACK_FOLLOW | (f->config.everyone ? 0 : SB_TRACK_STOP), err);
}

static const char *variable(char *const *environment, const char *name)
{
    size_t n = strlen(name);

    for (; environment && *environment; environment++)
        if (!strncmp(*environment, name, n) && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

int follow__prepare(struct follow *f, int fd, const char *path, char *const *environment, struct err *err)
{
    return follow__attach_closure(f, fd, path, NULL, NULL, variable(environment, "LD_LIBRARY_PATH"),
                                  variable(environment, "LD_PRELOAD"), 0, err);
}

/* What a running process says of itself; the number of its first thread, 0 when it is gone. */
static uint32_t read_status(struct process *p)
{
    char path[64], line[256];
    uint32_t leader = 0;

    snprintf(path, sizeof(path), "/proc/%u/status", p->pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        const char *last = strrchr(line, '\t');
        if (!strncmp(line, "Tgid:", 5))
            leader = (uint32_t)strtoul(line + 5, NULL, 10);
        else if (!strncmp(line, "NSpid:", 6) && last)
            p->inner_pid = (uint32_t)strtoul(last + 1, NULL, 10);
        else if (!strncmp(line, "PPid:", 5))
            p->parent = (uint32_t)strtoul(line + 5, NULL, 10);
        else if (!strncmp(line, "Name:\t", 6))
            snprintf(p->comm, sizeof(p->comm), "%.*s", (int)strcspn(line + 6, "\n"), line + 6);
    }
    fclose(file);
    return leader;
}

/* It could not be attached, or ended meanwhile: not waited for, and its number may soon be another's. */
static void give_up(struct follow *f, struct process *p)
{
    programs__untrack(f->config.programs, (pid_t)p->pid);
    p->dead = true;
    p->died = follow__now();
    f->totals.processes--;
}

static int attach_running(struct follow *f, struct process *p, bool children, struct err *err)
{
    int r = follow__attach_maps(f, p, true, err);

    return r ? r : programs__track(f->config.programs, (pid_t)p->pid, p->start_time, children ? SB_TRACK_FOLLOW : 0, err);
}

int follow__add_running(struct follow *f, pid_t pid, uint64_t start_ticks, bool children, struct err *err)
{
    struct proc_stat stat, again;
    if (proc_stat__read(pid, &stat) || proc_stat__ended(&stat))
        return err__set(err, ESRCH, "no process %d: it ended, or never was (`pgrep -a NAME` finds numbers)", (int)pid);
    if (start_ticks && start_ticks != stat.start_ticks)
        return err__set(err, ESRCH, "process %d ended, and its number is another's now (%s)", (int)pid, stat.comm);
    struct process *p = follow__new_process(f, (uint32_t)pid);
    if (!p)
        return err__set(err, ENOMEM, "out of memory");
    uint32_t leader = read_status(p);
    if (leader && leader != p->pid) {
        give_up(f, p);
        return err__set(err, ESRCH, "%d is a thread of process %u, not a process: use -p %u", (int)pid, leader, leader);
    }
    p->start_time = start_time(&stat);
    p->image_time = follow__now();
    p->image = ++f->next_image;
    read_exe(p);
    process_text__read(&p->arguments, pid, "cmdline");
    process_text__read(&p->environment, pid, "environ");
    p->met = true;
    put_image(f, p, 0, CAPTURE_IMAGE_RUNNING);
    int r = attach_running(f, p, children, err);
    /* Looked at again after it is watched: an end before that is seen here, one afterwards is told by the kernel. */
    if (proc_stat__read(pid, &again) || again.start_ticks != stat.start_ticks || proc_stat__ended(&again))
        r = err__set(err, ESRCH, "process %d ended while it was attached", (int)pid);
    if (r)
        give_up(f, p);
    return r;
}

/* Not the collector, its recorder and guardian, nor threads of the kernel. */
static bool is_anybody(pid_t pid)
{
    struct proc_stat stat;

    return pid != getpid() && !proc_stat__read(pid, &stat) && stat.parent != getpid() && !stat.of_kernel;
}

int follow__add_everyone(struct follow *f, struct err *err)
{
    DIR *proc = opendir("/proc");
    struct err one;

    if (!proc)
        return err__set(err, errno, "cannot list the processes of the machine: %s", strerror(errno));
    for (struct dirent *e; (e = readdir(proc));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid <= 0 || !is_anybody(pid) || follow__process(f, (uint32_t)pid) || !filters__running(f->config.filters, pid))
            continue;
        if (follow__add_running(f, pid, 0, true, &one) && one.text[0])
            msg__trace("%s", one.text); /* it ended, or is a thread of the kernel */
    }
    closedir(proc);
    return 0;
}

void follow__finish(struct follow *f)
{
    follow__settle(f);
    follow__late_deinit(f);
    for (size_t i = 0; i < f->n_list; i++)
        if (f->list[i]->stopped)
            continue_process(f, f->list[i]);
}
