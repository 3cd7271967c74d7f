/* SPDX-License-Identifier: GPL-2.0-only */
#include "bystanders.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* The attached file that a line of maps names in its executable mapping, or NULL. */
static const struct attached_file *file_of_line(const struct attach *a, const char *line)
{
    unsigned major, minor;
    unsigned long long ino;
    char perms[5];

    if (sscanf(line, "%*x-%*x %4s %*x %x:%x %llu", perms, &major, &minor, &ino) != 4 || perms[2] != 'x' || !ino)
        return NULL;
    const struct attached_file *f = attach__find(a, makedev(major, minor), (ino_t)ino);
    return f && f->n_sites ? f : NULL;
}

static const struct attached_file *mapped_file(const struct attach *a, const char *pid)
{
    const struct attached_file *found = NULL;
    char path[64], *line = NULL;
    size_t cap = 0;

    snprintf(path, sizeof(path), "/proc/%.16s/maps", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    while (!found && getline(&line, &cap, file) > 0)
        found = file_of_line(a, line);
    free(line);
    fclose(file);
    return found;
}

size_t bystanders__count(const struct attach *a, pid_t except, const struct attached_file **ret_file)
{
    DIR *proc = opendir("/proc");
    size_t n = 0;

    if (!proc)
        return 0;
    for (struct dirent *e; (e = readdir(proc));) {
        long pid = strtol(e->d_name, NULL, 10);
        const struct attached_file *f = pid > 0 && pid != except ? mapped_file(a, e->d_name) : NULL;
        if (!f)
            continue;
        *ret_file = f;
        n++;
    }
    closedir(proc);
    return n;
}
