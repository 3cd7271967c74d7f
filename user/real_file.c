/* SPDX-License-Identifier: GPL-2.0-only */
#include "real_file.h"

#include "scope.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRIES 50 /* bpf_find_vma gives up when the lock of our address space is being given back */

/* The key of what is mapped at `address` in this process. */
static int ask(struct programs *p, uint64_t address, struct sb_file_key *ret)
{
    LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &address, .ctx_size_in = sizeof(address));
    int r = -EBUSY;

    for (int i = 0; r == -EBUSY && i < TRIES; i++) {
        if (i)
            sched_yield();
        r = bpf_prog_test_run_opts(bpf_program__fd(p->skel->progs.find_mapping), &opts) ? -errno : (int)opts.retval;
    }
    if (!r && !p->skel->bss->mapped_file.ino)
        r = -ENOENT;
    if (!r)
        *ret = p->skel->bss->mapped_file;
    return r;
}

int real_file__key(struct programs *programs, int fd, struct sb_file_key *ret)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

    if (page == MAP_FAILED)
        return -errno;
    int r = ask(programs, (uint64_t)(uintptr_t)page, ret);
    munmap(page, size);
    return r;
}
