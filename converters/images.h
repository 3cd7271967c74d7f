/* SPDX-License-Identifier: GPL-2.0-only */
/* The programs of a run: an image is one program executed by one process (a fork and an exec start a new
 * one). */
#ifndef SCOPE_IMAGES_H
#define SCOPE_IMAGES_H

#include "capture.h"
#include "idmap.h"
#include "model.h"

#define IMAGE_NONE UINT32_MAX
#define TIME_MAX   (INT64_MAX / 2) /* differences of times never overflow */

struct image {
    uint64_t id, from; /* as in the capture */
    enum capture_image_how how;
    bool known; /* false: only other blocks name it */
    bool filtered; /* --filter-comm leaves it out */
    int64_t pid, inner_pid, parent_pid, exec_number;
    int64_t process_start, time; /* monotonic */
    int64_t end, status;         /* -1 unknown */
    struct text path, command, comm;
    int32_t claim;            /* rank that its environment names, -1 none */
    const char *claim_source; /* the variable */
    int64_t omp_threads;      /* OMP_NUM_THREADS, 0 unknown */
    int64_t own_time;         /* its first region of its own (not inherited); INT64_MAX none */
    uint64_t calls, samples, samples_outside;
    uint64_t inherited_dropped;       /* inherited at fork, never visible */
    uint32_t process;                 /* index in ranks.processes */
    uint32_t first_module, n_modules; /* in modules.list */
};

struct images {
    struct column list; /* struct image, in the order of the capture */
    struct idmap by_id;
    struct column by_pid; /* uint32 indexes, by (pid, time) */
    bool any_filtered;
};

void images__init(struct images *im);
void images__deinit(struct images *im);

/* Payloads of CAPTURE_IMAGE, CAPTURE_IMAGE_END: 0, -EBADMSG, -ENOMEM. */
int images__read(struct images *im, struct profile *p, struct capture_in *in);
int images__read_end(struct images *im, struct capture_in *in);

/* Index of the image with this number, made (not known) where it is new; -ENOMEM. */
int64_t images__need(struct images *im, uint64_t id);
uint32_t images__find(const struct images *im, uint64_t id); /* or IMAGE_NONE */
static inline struct image *images__at(const struct images *im, uint64_t i)
{
    return (struct image *)im->list.data + i;
}

/* After the last read: makes images__at_time possible. */
int images__index(struct images *im);
/* The image that ran in the process at that time: the last one begun before, else the first; or IMAGE_NONE.
 */
uint32_t images__at_time(const struct images *im, int64_t pid, int64_t time);

/* The image that must not be seen; false for IMAGE_NONE. */
bool images__is_filtered(const struct images *im, uint32_t i);
/* Takes the rows of those away again, when all that counts by index is done. */
void images__forget_filtered(const struct images *im, struct profile *p);

/* One process_row per image; ranks and their sources are added by ranks__name_processes(). */
int images__fill_rows(const struct images *im, struct profile *p, bool full_detail);

#endif
