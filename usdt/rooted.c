// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int rooted__init(struct rooted *rooted, const char *root, const char *cwd)
{
    *rooted = (struct rooted){.fd = -1, .root = root ? root : "", .cwd = cwd};
    if (*rooted->root) {
        rooted->fd = open(rooted->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (rooted->fd < 0)
            return -errno;
        strcpy(rooted->own_cwd, "/");
    } else if (!cwd && !getcwd(rooted->own_cwd, sizeof(rooted->own_cwd))) {
        return -errno;
    }
    if (!cwd)
        rooted->cwd = rooted->own_cwd;
    return 0;
}

void rooted__deinit(struct rooted *rooted)
{
    if (rooted->fd >= 0)
        close(rooted->fd);
    rooted->fd = -1;
}

bool rooted__absolute(const struct rooted *rooted, const char *path, char *buffer, unsigned long size)
{
    int n;

    if (*path == '/')
        n = snprintf(buffer, size, "%s", path);
    else
        n = snprintf(buffer, size, "%s/%s", strcmp(rooted->cwd, "/") ? rooted->cwd : "", path);
    return n >= 0 && (unsigned long)n < size;
}

static int open_path(const struct rooted *rooted, const char *path, int flags)
{
    struct open_how how = {.flags = (unsigned int)flags, .resolve = RESOLVE_IN_ROOT};
    char absolute[8192];
    int fd;

    if (!rooted__absolute(rooted, path, absolute, sizeof(absolute)))
        return -ENAMETOOLONG;
    if (rooted->fd < 0)
        fd = open(absolute, flags);
    else
        fd = (int)syscall(SYS_openat2, rooted->fd, absolute, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

/*
 * What the path names is looked at before it is opened for reading: opening alone makes a watchdog
 * run and a tape wind, and a hostile file chooses the path.
 */
int rooted__open(const struct rooted *rooted, const char *path)
{
    int found = open_path(rooted, path, O_PATH | O_CLOEXEC), fd;
    struct stat status;
    char link[64];

    if (found < 0)
        return found;
    if (fstat(found, &status) < 0) {
        fd = -errno;
    } else if (!S_ISREG(status.st_mode)) {
        fd = -EACCES;
    } else {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
        fd = open(link, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            fd = -errno;
    }
    close(found);
    return fd;
}

bool rooted__is_folder(const struct rooted *rooted, const char *path)
{
    int fd = open_path(rooted, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}
