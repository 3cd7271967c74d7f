/* SPDX-License-Identifier: GPL-2.0-only */
#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

void streams__hold(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) /* open() takes the lowest free number: this one */
            (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}
