/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Program files of a run: each is read once, whatever the number of processes, and its sites are attached once.
 *
 * With pid 0 a link is for every process that maps the file (BPF records only tracked ones); children forked later
 * are covered.  With a pid only that process feels it.
 */
#ifndef SCOPE_ATTACH_H
#define SCOPE_ATTACH_H

#include "options.h"
#include "programs.h"
#include "region_ids.h"
#include "usdt/elf_file.h"
#include "usdt/regions.h"

struct attach;

/* A file that was looked at; owned by the attach, lives as long. */
struct attached_file {
    dev_t dev;               /* as stat() showed it where it was first met … */
    ino_t ino;
    struct sb_file_key real; /* … and as the kernel executes it; ino 0 where it does not say */
    char *name;              /* as it was first met, for messages */
    struct elf_file *elf;    /* NULL: no ELF file of ours */
    struct probe_table *table; /* NULL: without probes, or not read */
    uint8_t build_id[64];
    size_t build_id_len;
    size_t n_sites;          /* attached, of the regions that are wanted */
    size_t n_linked;         /* private: the same, of the attachment that is going on */
    size_t n_refused;        /* sites that its table allows and the kernel does not */
    bool nothing_left;       /* all sites were refused, or no region of it is wanted */
    char *problem;           /* NULL, or why it could not be read or attached */
};

struct attach *attach__create(struct programs *programs, struct region_ids *ids);
void attach__destroy(struct attach *a); /* detaches; accepts NULL */

/* Also watch dynamic loaders: a process that may be stopped is, when it has mapped libraries not seen before. */
void attach__watch_loaders(struct attach *a);

/* Which probes of other providers are regions (kept); without, only `scope` makes regions. */
void attach__set_rules(struct attach *a, const struct pairing *rules);
const struct pairing *attach__rules(const struct attach *a); /* NULL without */

/* Messages on the way: refused sites, regions without an end. May be NULL. */
void attach__set_say(struct attach *a, void (*say)(void *arg, const char *line), void *arg);

/*
 * Looks at the file behind fd (kept by the caller) and attaches its sites unless that was done.  *ret_fresh (may be
 * NULL): something was attached by this call.  A file without probes, or no ELF file, is no error.
 * -errno: the kernel refused; the line says which file and why.
 */
int attach__file(struct attach *a, int fd, const char *name, pid_t pid, const struct attached_file **ret,
                 bool *ret_fresh, struct err *err);

/* Known by (dev, ino) or NULL. */
const struct attached_file *attach__find(const struct attach *a, dev_t dev, ino_t ino);

/*
 * Regions named at run time whose begins are far fewer than their ends are detached, with a message: now and then, and
 * with `last` before the end.
 */
void attach__check_named(struct attach *a, bool last);

size_t attach__sites(const struct attach *a);
size_t attach__refused(const struct attach *a);
const struct attached_file *attach__nth(const struct attach *a, size_t i); /* NULL behind the last */

/*
 * Takes all links away.  Perf uprobes take 0.1 s each to go: with `background` that is left to a child process, which
 * only holds the descriptors.
 */
void attach__detach(struct attach *a, bool background);

/* One link of `program_fd` over n sites; used by calibration and bench too. pid 0: every process. */
int attach__multi_link(int program_fd, int file_fd, const uint64_t *offsets, const uint64_t *ref_ctrs,
                       const uint64_t *cookies, size_t n, pid_t pid);

#endif
