/* SPDX-License-Identifier: GPL-2.0-only */
#include "filters.h"

#include "usdt/glob.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ANY_UID 0xffffffffu

static int find_user(const char *name, uint32_t *ret, struct err *err)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    const struct passwd *pw = getpwnam(name);

    if (!pw && (*end || number >= ANY_UID))
        return err__set(err, ENOENT, "--filter-user: there is no user '%s'", name);
    *ret = pw ? pw->pw_uid : (uint32_t)number;
    return 0;
}

/* The cgroup2 file system that `path` lies in: length of its mount point, or 0. */
static size_t cgroup2_mount(const char *path)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent *m;
    size_t best = 0;

    while (mounts && (m = getmntent(mounts))) {
        size_t n = strlen(m->mnt_dir);
        if (!strcmp(m->mnt_type, "cgroup2") && !strncmp(path, m->mnt_dir, n) && (!path[n] || path[n] == '/') && n > best)
            best = n;
    }
    if (mounts)
        endmntent(mounts);
    return best;
}

static int find_cgroup(struct filters *f, const char *text, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;

    if (!realpath(text, path) || stat(path, &st))
        return err__set(err, errno, "--filter-cgroup: %s: %s", text, strerror(errno));
    size_t mount = cgroup2_mount(path);
    if (!mount || !S_ISDIR(st.st_mode))
        return err__set(err, EINVAL, "--filter-cgroup: %s is no folder of a cgroup2 file system", text);
    f->cgroup = st.st_ino; /* the inode number is the id */
    for (const char *at = path + mount; *at; at++)
        f->cgroup_level += *at == '/';
    f->cgroup_path = strdup(path[mount] ? path + mount : "/");
    return f->cgroup_path ? 0 : err__set(err, ENOMEM, "out of memory");
}

int filters__init(struct filters *f, const struct options *options, struct err *err)
{
    *f = (struct filters){ .uid = ANY_UID, .comm = &options->filter_comm };
    int r = options->filter_user ? find_user(options->filter_user, &f->uid, err) : 0;

    return !r && options->filter_cgroup ? find_cgroup(f, options->filter_cgroup, err) : r;
}

void filters__deinit(struct filters *f)
{
    free(f->cgroup_path);
    f->cgroup_path = NULL;
}

bool filters__comm(const struct filters *f, const char *comm, size_t size)
{
    for (size_t i = 0; f->comm && i < f->comm->n; i++)
        if (glob__match_str(f->comm->items[i], comm, strnlen(comm, size)))
            return true;
    return !f->comm || !f->comm->n;
}

static bool in_cgroup(const struct filters *f, pid_t pid)
{
    char name[64], *line = NULL;
    size_t cap = 0, n = strlen(f->cgroup_path);
    bool found = false;

    snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(name, "re");
    while (file && !found && getline(&line, &cap, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "0::", 3) && !strncmp(line + 3, f->cgroup_path, n))
            found = n == 1 || !line[3 + n] || line[3 + n] == '/';
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

bool filters__running(const struct filters *f, pid_t pid)
{
    char name[64];
    struct stat st;

    snprintf(name, sizeof(name), "/proc/%d", (int)pid);
    if (stat(name, &st))
        return false;
    return (f->uid == ANY_UID || st.st_uid == f->uid) && (!f->cgroup || in_cgroup(f, pid));
}
