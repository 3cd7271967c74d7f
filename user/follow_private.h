/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of follow share: the table of processes, and the steps on one. */
#ifndef SCOPE_FOLLOW_PRIVATE_H
#define SCOPE_FOLLOW_PRIVATE_H

#include "follow.h"
#include "number_table.h"
#include "process_text.h"

struct process {
    uint32_t pid, inner_pid, parent;
    uint32_t image;      /* 0: before the first exec of a command's child */
    uint32_t exec;       /* execs seen by BPF … */
    uint32_t mapped_exec; /* … and by the side-band: its events belong to the image with the same number */
    uint64_t start_time;
    uint64_t image_time;
    bool met;            /* found among those that ran already: what the kernel told of it before is no news */
    bool dead;
    uint64_t died;
    bool waiting_text;   /* exec seen, its command line and environment are on the way */
    bool stopped;
    uint64_t stop_time;  /* not before the stop that we were last told of */
    uint32_t from;       /* image before the exec that waits */
    struct sb_file_key file;
    char comm[SB_COMM_LEN];
    char *path;
    struct process_text arguments, environment;
};

struct pending_event { /* side-band events that came before BPF's record of their image */
    struct sideband_event event;
    uint64_t since;
    char *path;
    bool attached;       /* its file was looked at, only the module record is missing */
};

/*
 * A file attached after it was mapped. Only when the loader does not stop the process before the file's first
 * instruction is that a gap; whether it does is known a moment later.
 */
struct late_file {
    uint32_t pid;
    uint64_t mapped, attached;
    char *path;
};

struct follow {
    struct follow_config config;
    struct ring_buffer *ring;
    struct number_table processes; /* pid → struct process */
    struct process **list;         /* the same, to walk; order does not matter */
    size_t n_list, cap_list;
    uint32_t next_image;
    struct pending_event *pending;
    size_t n_pending, cap_pending;
    struct late_file *late;
    size_t n_late, cap_late;
    struct capture_buf payload;
    struct follow_totals totals;
};

uint64_t follow__now(void);
struct process *follow__process(const struct follow *f, uint32_t pid);
struct process *follow__new_process(struct follow *f, uint32_t pid); /* replaces a dead one; NULL: no memory */
void follow__put(struct follow *f, uint16_t type); /* f->payload as a block */

/* Files of a program before its first instruction, or of a mapping. */
int follow__attach_closure(struct follow *f, int fd, const char *path, const char *root, const char *cwd,
                           const char *library_path, const char *preload, pid_t pid, struct err *err);
/* Every executable mapping that the process has now; with `modules` they are written too (nobody else told of them). */
int follow__attach_maps(struct follow *f, struct process *p, bool modules, struct err *err);
/* An opened file that is the one of this mapping, or -1. */
int follow__open_mapping(uint32_t pid, uint64_t start, uint64_t end, const char *path, dev_t dev, ino_t ino);
void follow__put_module(struct follow *f, uint32_t image, const struct sideband_event *map,
                        const struct attached_file *file);
/* This process has been stopped, at its exec or by its loader: what it mapped before `time` had not run. */
void follow__stopped_until(struct follow *f, uint32_t pid, uint64_t time);
void follow__late_deinit(struct follow *f);
void follow__note(struct follow *f, int64_t from, int64_t to, uint32_t pid, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
