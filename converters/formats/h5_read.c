// SPDX-License-Identifier: GPL-2.0-only
/* Opening an HDF5 profile: is it one, of which schema, and then its parts. */
#include "h5_read.h"
#include "h5_get.h"
#include "h5_guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

/* The signature stands at 0, or behind a user block of 512, 1024, 2048, … bytes. */
bool h5__match(const struct input *in)
{
    uint8_t bytes[sizeof(signature)];

    if (in->size >= sizeof(signature) && !memcmp(in->head, signature, sizeof(signature)))
        return true;
    for (uint64_t at = 512; at + sizeof(bytes) <= in->size; at *= 2) {
        if (pread(in->fd, bytes, sizeof(bytes), (off_t)at) == sizeof(bytes) &&
            !memcmp(bytes, signature, sizeof(bytes)))
            return true;
    }
    return false;
}

static void open_file(struct h5_reader *r)
{
    AUTO_LIST access = H5Pcreate(H5P_FILE_ACCESS);
    char path[64], reason[160];

    /* The file that was checked, whatever its name stands for by now. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", r->in->fd);
    if (access >= 0) {
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
        H5Pset_file_locking(access, false, true);
        r->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    }
    if (r->file >= 0)
        return;
    h5__reason(reason, sizeof(reason));
    r->code =
        err__set(r->err, EINVAL,
                 "%s: is no readable HDF5 file (%s); a run that was cut off while writing leaves such a file",
                 r->in->path, reason);
}

struct rank_search {
    bool found;
};

static void find_rank_group(struct h5_reader *r, hid_t in, const char *name, void *arg)
{
    struct rank_search *search = arg;

    (void)r;
    (void)in;
    search->found |= !strncmp(name, "rank", 4) && name[4] >= '0' && name[4] <= '9';
}

/* Without the attribute it is the first schema, or no profile at all. */
static int64_t read_schema(struct h5_reader *r)
{
    int64_t schema = h5_get__int_attribute(r, r->file, "scope_profiler_schema", 1);
    struct rank_search search = {false};

    if (r->code)
        return 0;
    if (schema < 1 || schema > H5_SCHEMA) {
        h5_get__fail(r, "scope_profiler_schema", "version %lld; versions 1 to %d can be read%s",
                     (long long)schema, H5_SCHEMA,
                     schema > H5_SCHEMA ? " (a newer scope-report may read it)" : "");
        return 0;
    }
    if (schema > 1)
        return schema;
    if (h5_get__exists(r, r->file, "rank_region_index"))
        h5_get__fail(r, "scope_profiler_schema", "says 1, but the file has the columns of schema 2 or 3");
    h5_get__links(r, r->file, find_rank_group, &search);
    if (!search.found && !H5Aexists(r->file, "scope_profiler_schema"))
        h5_get__fail(r, "", "is an HDF5 file, but no profile (neither a schema version nor groups of ranks)");
    return schema;
}

static bool is_aggregate(struct h5_reader *r)
{
    struct text layout = h5_get__text_attribute(r, r->file, "storage_layout");

    return layout.len == 9 && !memcmp(layout.s, "aggregate", 9);
}

static void read_parts(struct h5_reader *r)
{
    int64_t schema = read_schema(r);

    if (r->code)
        return;
    r->p->schema = (int)schema;
    h5_get__metadata(r);
    if (schema >= 2) {
        r->p->aggregate = is_aggregate(r);
        if (r->p->aggregate)
            h5_get__aggregate(r);
        else
            h5_get__columnar(r);
        h5_get__lanes(r);
    }
    h5_get__rank_groups(r, schema == 1);
    h5_get__ours(r);
}

static void name_file(struct h5_reader *r)
{
    for (uint32_t i = 0; i < r->p->n_ranks; i++)
        r->p->ranks[i].file = profile__text(r->p, r->in->path, strlen(r->in->path));
}

static int read_file(const struct input *in, struct profile *into, bool structure_only, struct err *err)
{
    struct h5_reader r = {.in = in, .p = into, .err = err, .file = -1, .structure_only = structure_only};

    h5__silence();
    open_file(&r);
    if (!r.code)
        read_parts(&r);
    if (!r.code)
        name_file(&r);
    if (r.file >= 0)
        H5Fclose(r.file);
    return r.code;
}

static int read_structure(const struct input *in, struct profile *into, struct err *err)
{
    return read_file(in, into, true, err);
}

int h5__read(const struct input *in, struct profile *into, struct err *err)
{
    int code = h5_guard__try(in, read_structure, err);

    return code ? code : read_file(in, into, false, err);
}
