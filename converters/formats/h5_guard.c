// SPDX-License-Identifier: GPL-2.0-only
#include "h5_guard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW 1
#endif
#endif

/* Structure is read at far more than this per second. */
#define BYTES_PER_SECOND (16u << 20)
#define SECONDS_LEAST    10

/* What the child leaves, in memory that both see. */
struct verdict {
    int done, code;
    struct err err;
};

static void limit_child(const struct input *in)
{
    rlim_t seconds = SECONDS_LEAST + in->size / BYTES_PER_SECOND;
    struct rlimit cpu = {seconds, seconds}, core = {0, 0};

    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    /* The shadow memory of a sanitizer would not fit. */
#ifndef HAS_SHADOW
    struct rlimit data = {(1ull << 30) + in->size, (1ull << 30) + in->size};

    setrlimit(RLIMIT_DATA, &data);
#endif
    /* Handlers of the program are not for this. */
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    signal(SIGFPE, SIG_DFL);
    signal(SIGILL, SIG_DFL);
}

static _Noreturn void run_child(const struct input *in,
                                int (*read)(const struct input *in, struct profile *p, struct err *err),
                                struct verdict *verdict)
{
    struct profile *p = NULL;

    limit_child(in);
    /* A library that finds its own memory damaged says so on stderr: that is ours to say, in one line. */
    close(STDERR_FILENO);
    verdict->code = profile__create(&p);
    if (!verdict->code)
        verdict->code = read(in, p, &verdict->err);
    verdict->done = 1;
    _exit(0);
}

int h5_guard__try(const struct input *in,
                  int (*read)(const struct input *in, struct profile *p, struct err *err), struct err *err)
{
    struct verdict *verdict =
        mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0, code;
    pid_t child;

    if (verdict == MAP_FAILED)
        return err__set(err, ENOMEM, "%s: not enough memory", in->path);
    child = fork();
    if (child < 0) {
        code = errno;
        munmap(verdict, sizeof(*verdict));
        return err__set(err, code, "%s: no process to read it with: %s", in->path, strerror(code));
    }
    if (!child)
        run_child(in, read, verdict);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    code = verdict->code;
    if (!verdict->done)
        code = err__set(err, EINVAL, "%s: is damaged: libhdf5 %s on it", in->path,
                        WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
                            ? "does not come to an end"
                            : "crashes");
    else if (code && err)
        *err = verdict->err;
    munmap(verdict, sizeof(*verdict));
    return code;
}
