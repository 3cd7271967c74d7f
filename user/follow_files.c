/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that processes map: found, opened as the one that is really mapped, attached, and written as modules. */
#include "follow_private.h"

#include "msg.h"
#include "proc_stat.h"
#include "usdt/closure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDING_MAX 65536
#define LATE_GRACE_NS 50000000u
#define PENDING_NS 500000000u /* after that the process was none of ours */

int follow__attach_closure(struct follow *f, int fd, const char *path, const char *root, const char *cwd,
                           const char *library_path, const char *preload, pid_t pid, struct err *err)
{
    struct closure_options options = { .root = root, .cwd = cwd, .ld_library_path = library_path, .ld_preload = preload };
    struct closure *closure;
    int r = closure__list(fd, path, &options, &closure, err);

    if (r)
        return r;
    for (size_t i = 0; i < closure->n_files; i++) {
        const struct closure_file *file = &closure->files[i];
        int one = attach__file(f->config.attach, file->fd, file->path, f->config.by_pid ? pid : 0, NULL, NULL, err);
        r = one ? one : r;
    }
    for (size_t i = 0; i < closure->n_missing; i++)
        msg__detail("%s needs %s, which was not found", closure->missing[i].wanted_by, closure->missing[i].name);
    closure__free(closure);
    return r;
}

static int open_checked(const char *path, dev_t dev, ino_t ino)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!ino || (st.st_dev == dev && st.st_ino == ino)))
        return fd;
    close(fd);
    return -1;
}

int follow__open_mapping(uint32_t pid, uint64_t start, uint64_t end, const char *path, dev_t dev, ino_t ino)
{
    char name[4096 + 64];

    snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start, (unsigned long long)end);
    int fd = open_checked(name, 0, 0);
    if (fd >= 0)
        return fd;
    if (path[0] != '/')
        return -1;
    snprintf(name, sizeof(name), "/proc/%u/root%s", pid, path);
    fd = open_checked(name, dev, ino);
    return fd >= 0 ? fd : open_checked(path, dev, ino);
}

void follow__put_module(struct follow *f, uint32_t image, const struct sideband_event *map,
                        const struct attached_file *file)
{
    struct capture_buf *b = &f->payload;
    uint64_t bias = 0;
    bool known = file && file->elf && !elf_file__load_bias(file->elf, map->start, map->offset, &bias);

    capture_buf__reset(b);
    capture_put_u(b, image);
    capture_put_u(b, map->start);
    capture_put_u(b, map->start + map->len);
    capture_put_u(b, map->offset);
    capture_put_u(b, known ? bias : 0);
    capture_put_u(b, known);
    capture_put_s(b, (int64_t)map->time);
    capture_put_text(b, map->path);
    capture_put_bytes(b, file ? file->build_id : NULL, file ? file->build_id_len : 0);
    follow__put(f, CAPTURE_MODULE);
}

static void remember_late(struct follow *f, const struct sideband_event *e)
{
    if (f->n_late == f->cap_late) {
        size_t cap = f->cap_late ? 2 * f->cap_late : 16;
        struct late_file *late = realloc(f->late, cap * sizeof(*late));
        if (!late)
            return;
        f->late = late;
        f->cap_late = cap;
    }
    struct late_file *late = &f->late[f->n_late];
    *late = (struct late_file){ .pid = e->pid, .mapped = e->time, .attached = follow__now(), .path = strdup(e->path) };
    f->n_late += late->path != NULL;
}

static void forget_late(struct follow *f, size_t i)
{
    free(f->late[i].path);
    f->late[i] = f->late[--f->n_late];
}

void follow__stopped_until(struct follow *f, uint32_t pid, uint64_t time)
{
    for (size_t i = f->n_late; i-- > 0;)
        if (f->late[i].pid == pid && f->late[i].mapped <= time)
            forget_late(f, i);
}

static void tell_late(struct follow *f, uint64_t grace)
{
    uint64_t now = follow__now();

    for (size_t i = f->n_late; i-- > 0;) {
        const struct late_file *late = &f->late[i];
        if (now - late->attached < grace)
            continue;
        f->totals.late++;
        follow__note(f, (int64_t)late->mapped, (int64_t)late->attached, late->pid,
                     "%s was attached %.3f ms after process %u mapped it: calls in between are not recorded", late->path,
                     (double)(late->attached - late->mapped) / 1e6, late->pid);
        forget_late(f, i);
    }
}

void follow__late_deinit(struct follow *f)
{
    tell_late(f, 0);
    free(f->late);
    f->late = NULL;
    f->cap_late = 0;
}

/* Code that was mapped before its sites were attached: said with both times, never silently. */
static const struct attached_file *attach_mapping(struct follow *f, const struct sideband_event *e)
{
    const struct attached_file *file = attach__find(f->config.attach, e->dev, e->ino);
    struct err err;
    bool fresh;

    if (e->path[0] != '/' || !strncmp(e->path, "//anon", 6) || (file && !f->config.by_pid))
        return file;
    int fd = follow__open_mapping(e->pid, e->start, e->start + e->len, e->path, e->dev, e->ino);
    if (fd < 0)
        return file;
    if (attach__file(f->config.attach, fd, e->path, f->config.by_pid ? (pid_t)e->pid : 0, &file, &fresh, &err))
        msg__warn("%s", err.text);
    else if (fresh)
        remember_late(f, e);
    close(fd);
    return file;
}

struct running_map {
    unsigned long long start, end, offset, ino;
    unsigned major, minor;
    char *path;
};

static bool parse_map(char *line, struct running_map *m)
{
    int at = 0;
    char perms[5];

    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &m->start, &m->end, perms, &m->offset, &m->major, &m->minor,
               &m->ino, &at) < 7 || !at || perms[2] != 'x')
        return false;
    m->path = line + at;
    m->path[strcspn(m->path, "\n")] = '\0';
    return m->path[0] == '/';
}

/* The first thread may end before the others and leaves its number without files and mappings; a thread that has them. */
static uint32_t thread_with_memory(uint32_t pid)
{
    struct proc_stat stat;
    char path[64];
    uint32_t found = pid;

    if (proc_stat__read((pid_t)pid, &stat) || stat.state != 'Z')
        return pid;
    snprintf(path, sizeof(path), "/proc/%u/task", pid);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && found == pid && (e = readdir(dir));) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid > 0 && !proc_stat__read(tid, &stat) && stat.state != 'Z' && stat.state != 'X')
            found = (uint32_t)tid;
    }
    if (dir)
        closedir(dir);
    return found;
}

int follow__attach_maps(struct follow *f, struct process *p, bool modules, struct err *err)
{
    char path[64], *line = NULL;
    size_t cap = 0;
    struct running_map m;
    uint32_t thread = thread_with_memory(p->pid);
    /* A link for one process is for what its first thread maps: once that is gone, it has to be for all. */
    pid_t only = f->config.by_pid && thread == p->pid ? (pid_t)p->pid : 0;

    snprintf(path, sizeof(path), "/proc/%u/maps", thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return err__set(err, errno, "cannot read the mappings of process %u: %s%s", p->pid, strerror(errno),
                        errno != EACCES ? ""
                        : geteuid()     ? " (run it with sudo)"
                                        : " (it is protected even from root: by its container or a security module)");
    int r = 0;
    while (getline(&line, &cap, file) > 0) {
        if (!parse_map(line, &m))
            continue;
        struct sideband_event event = { .kind = SIDEBAND_MAP, .pid = p->pid, .tid = p->pid, .time = p->image_time,
                                        .start = m.start, .len = m.end - m.start, .offset = m.offset, .path = m.path };
        const struct attached_file *attached = NULL;
        int fd = follow__open_mapping(thread, m.start, m.end, m.path, 0, 0);
        if (fd >= 0) {
            int one = attach__file(f->config.attach, fd, m.path, only, &attached, NULL, err);
            r = one ? one : r;
            close(fd);
        }
        if (modules)
            follow__put_module(f, p->image, &event, attached);
    }
    free(line);
    fclose(file);
    return r;
}

/* true: done with; false: the image that it belongs to is not known yet. */
static bool settle_one(struct follow *f, struct pending_event *pending)
{
    const struct sideband_event *e = &pending->event;
    struct process *p = follow__process(f, e->pid);

    if (!p || (p->dead && e->kind == SIDEBAND_FORK))
        return false;
    switch (e->kind) {
    case SIDEBAND_EXEC:
        p->mapped_exec++;
        return true;
    case SIDEBAND_FORK:
        return true;
    case SIDEBAND_MAP:
        break;
    }
    if (p->mapped_exec > p->exec)
        return false;
    if (p->mapped_exec == p->exec && p->image)
        follow__put_module(f, p->image, e, attach_mapping(f, e));
    return true;
}

/* A process that started after the recording: its own side-band events must not wait for its attachment. */
static void attach_early(struct follow *f, struct pending_event *pending)
{
    if (pending->attached || pending->event.kind != SIDEBAND_MAP || !follow__process(f, pending->event.pid))
        return;
    attach_mapping(f, &pending->event);
    pending->attached = true;
}

void follow__on_sideband(void *arg, const struct sideband_event *event)
{
    struct follow *f = arg;

    if (f->n_pending == f->cap_pending) {
        size_t cap = f->cap_pending ? 2 * f->cap_pending : 256;
        struct pending_event *pending = cap > PENDING_MAX ? NULL : realloc(f->pending, cap * sizeof(*pending));
        if (!pending)
            return;
        f->pending = pending;
        f->cap_pending = cap;
    }
    struct pending_event *p = &f->pending[f->n_pending];
    *p = (struct pending_event){ .event = *event, .since = follow__now(), .path = strdup(event->path) };
    if (!p->path)
        return;
    p->event.path = p->path;
    f->n_pending++;
}

/* Events of one process stay in order: one that waits holds back those behind it. */
static bool waits_before(const struct follow *f, size_t kept, uint32_t pid)
{
    for (size_t i = 0; i < kept; i++)
        if (f->pending[i].event.pid == pid)
            return true;
    return false;
}

void follow__settle(struct follow *f)
{
    uint64_t now = follow__now();
    size_t kept = 0;

    for (size_t i = 0; i < f->n_pending; i++) {
        struct pending_event *p = &f->pending[i];
        bool done = !waits_before(f, kept, p->event.pid) && settle_one(f, p);
        if (!done && now - p->since < PENDING_NS) {
            attach_early(f, p);
            f->pending[kept++] = *p;
            continue;
        }
        free(p->path);
    }
    f->n_pending = kept;
    tell_late(f, LATE_GRACE_NS);
}
