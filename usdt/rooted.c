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

int rooted__open(const struct rooted *rooted, const char *path)
{
    int fd = open_path(rooted, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    int r = 0;

    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0)
        r = -errno;
    else if (!S_ISREG(status.st_mode))
        r = -EACCES;
    if (!r)
        return fd;
    close(fd);
    return r;
}

bool rooted__is_folder(const struct rooted *rooted, const char *path)
{
    int fd = open_path(rooted, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}
