/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes of a run: takes what BPF says of forks, execs, exits and threads, and what the side-band says of mappings;
 * attaches what a new program brings, lets a stopped one go on, and writes images, lanes and modules to the capture.
 */
#ifndef SCOPE_FOLLOW_H
#define SCOPE_FOLLOW_H

#include "attach.h"
#include "capture_writer.h"
#include "filters.h"
#include "sideband.h"

struct follow;

struct follow_config {
    struct programs *programs;
    struct attach *attach;
    struct region_ids *ids;
    struct capture_writer *writer;
    bool by_pid;        /* links are for one process each (-p), else for every process that maps the file */
    bool full;          /* command lines may be written */
    bool everyone;      /* -a: nobody is stopped */
    const struct filters *filters;
};

struct follow_totals {
    uint64_t processes; /* alive now */
    uint64_t started;   /* ever */
    uint64_t lanes_open, lanes; /* threads that recorded something: now, ever */
    uint64_t cpu_pending; /* lanes that ended and whose final CPU time is on its way */
    uint64_t late;      /* files attached after they were mapped */
};

int follow__create(const struct follow_config *config, struct follow **ret, struct err *err);
void follow__destroy(struct follow *f); /* accepts NULL */
int follow__epoll_fd(const struct follow *f);

/* The command's child before its exec: from here on its forks and execs are followed. */
int follow__add_command(struct follow *f, pid_t pid, struct err *err);
/*
 * Attaches the program that a command will execute, with its libraries, before it does. `fd`: the resolved program.
 * `environment`: the one that it will get.
 */
int follow__prepare(struct follow *f, int fd, const char *path, char *const *environment, struct err *err);
/*
 * A process that runs already (-p): its mapped files, then itself.  start_ticks: as proc_stat knows the process that is
 * meant, 0 whichever has the number.  -ESRCH: it ended, even while it was attached; the line says so.
 */
int follow__add_running(struct follow *f, pid_t pid, uint64_t start_ticks, bool children, struct err *err);

/* -a: every process that runs now and passes the filters. */
int follow__add_everyone(struct follow *f, struct err *err);

void follow__consume(struct follow *f);             /* the cold ring */
void follow__on_sideband(void *arg, const struct sideband_event *event); /* arg: the follow */
void follow__settle(struct follow *f);              /* after both: what waited for each other */

/* The recording ends: lanes still open end now. */
void follow__finish(struct follow *f);
const struct follow_totals *follow__totals(const struct follow *f);
bool follow__any_alive(const struct follow *f);
/* How many processes run still; *ret_pid, *ret_name (SB_COMM_LEN, not terminated): one of them. */
size_t follow__survivors(const struct follow *f, uint32_t *ret_pid, const char **ret_name);

#endif
