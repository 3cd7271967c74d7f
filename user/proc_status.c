/* SPDX-License-Identifier: GPL-2.0-only */
#include "proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void parse_line(const char *line, struct proc_status *status)
{
    unsigned long long caps, signals;
    unsigned id[4];

    if (sscanf(line, "Uid: %u %u %u %u", &id[0], &id[1], &id[2], &id[3]) == 4) {
        for (int i = 0; i < 4; i++)
            status->uid[i] = id[i];
    } else if (sscanf(line, "Gid: %u %u %u %u", &id[0], &id[1], &id[2], &id[3]) == 4) {
        for (int i = 0; i < 4; i++)
            status->gid[i] = id[i];
    } else if (sscanf(line, "CapPrm: %llx", &caps) == 1) {
        status->has_capability = caps != 0;
    } else if (sscanf(line, "SigPnd: %llx", &signals) == 1 || sscanf(line, "ShdPnd: %llx", &signals) == 1) {
        status->pending |= signals;
    } else {
        sscanf(line, "Name: %63[^\n]", status->name);
    }
}

int proc_status__read(pid_t pid, struct proc_status *ret)
{
    /* What cannot be read counts as not ours. */
    struct proc_status status = {.uid = {-1u, -1u, -1u, -1u}, .gid = {-1u, -1u, -1u, -1u}, .has_capability = true};
    char path[32], line[256];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return -ESRCH;
    while (fgets(line, sizeof(line), file))
        parse_line(line, &status);
    fclose(file);
    /* The folder itself always belongs to the user; what only the user may read does not, when it is protected. */
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    if (stat(path, &st))
        return -ESRCH;
    status.dumpable = st.st_uid == status.uid[1];
    *ret = status;
    return 0;
}

bool proc_status__could_ptrace(pid_t pid)
{
    char path[32];
    int wstatus;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    pid_t child = fork();
    if (child == 0) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
        /* Opening it asks the question that PTRACE_ATTACH asks, security modules included, and changes nothing. */
        if (setresuid(getuid(), getuid(), getuid()) || syscall(SYS_capset, &header, none))
            _exit(1);
        _exit(open(path, O_RDWR | O_CLOEXEC) >= 0 ? 0 : 1);
    }
    if (child < 0)
        return false;
    while (waitpid(child, &wstatus, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 0;
}
