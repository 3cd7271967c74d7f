/* SPDX-License-Identifier: GPL-2.0-only */
/* One table row per format: how it is recognised, read, written.  Nobody outside its file knows a format. */
#ifndef SCOPE_FORMAT_H
#define SCOPE_FORMAT_H

#include "model.h"

struct input {        /* an opened regular file */
    const char *path; /* for messages */
    int fd;           /* readable, seekable; owned by the caller */
    uint64_t size;
    uint8_t head[64]; /* the first bytes, 0 behind the end */
};

struct write_options {
    const int32_t *ranks; /* ranks to write, NULL = all */
    uint32_t n_ranks;
    bool by_name;     /* .prof: one entry per name */
    const char *root; /* .prof: root frame, NULL = none */
    bool overlaps_split;
    unsigned width;   /* .svg: of the picture, 0 = 1200 */
    double threshold; /* .svg: frames below this share of the whole are left out */
    const char *plot;      /* .svg: which picture, NULL = flame-graph */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
    void (*say)(void *arg, const char *what); /* what the target cannot hold, one line each; may be NULL */
    void *say_arg;
};

enum format_flags {
    FORMAT_PER_RANK = 1,       /* one file per rank, <stem>_rank<NNNNN><suffix> (.prof and .svg: _rank<N>) */
    FORMAT_SHORT_RANK = 2,     /* _rank<N> without zeros */
    FORMAT_ONE_RANK_EXACT = 4, /* one rank chosen: exactly the name that was given */
};

#define FORMAT_NOTHING 1

struct format {
    const char *name;   /* "h5" */
    const char *suffix; /* ".h5" */
    const char *help;
    uint32_t flags;
    bool (*match)(const struct input *in); /* by content; NULL: cannot be read */
    int (*read)(const struct input *in, struct profile *into, struct err *err); /* into an empty profile */
    /* Writes the ranks of `options` to the file `path` (a new temporary file beside the target: writers may
     * write in place; the caller fsyncs and renames).  FORMAT_NOTHING: nothing to write for these ranks, no
     * file is made. Messages name what could not be written and why; those of the disk begin with `path`,
     * which the caller replaces by the target's name.  NULL: cannot be written. */
    int (*write)(const struct profile *p, const char *path, const struct write_options *options,
                 struct err *err);
};

extern const struct format *const formats[];              /* ends with NULL */
const struct format *format__by_suffix(const char *path); /* longest suffix that fits; NULL unknown */
const struct format *format__by_name(const char *name);

/* Whether options choose that rank. */
bool write_options__rank(const struct write_options *options, int32_t number);
/* Tells the user, by options->say, what the target cannot hold. */
void write_options__say(const struct write_options *options, const char *what);

/*
 * Opens a regular file for reading (no FIFO, device or folder; never blocks) and fills `in`, with the
 * descriptor to be closed by the caller.  0 or -errno, the message names the file.
 */
int input__open(struct input *in, const char *path, struct err *err);

/*
 * Reads one file by its content into a new profile.  -errno, message names file and place.
 */
int format__read_file(const char *path, struct profile **ret, struct err *err);

/*
 * Writes p as `out` (or as its per-rank files): all files to temporary names first, then fsync, then renames;
 * on failure nothing is left and nothing was replaced.  ret_files (may be NULL): malloc'ed list of the names
 * written.
 */
int format__write_files(const struct profile *p, const struct format *format, const char *out,
                        const struct write_options *options, char ***ret_files, size_t *ret_n,
                        struct err *err);

/* For a handler of signals: removes what format__write_files has not finished, and does nothing else. */
void format__discard_temporaries(void);

#endif
