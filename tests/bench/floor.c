// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor: an empty BPF program on the sites of FILE, by one uprobe_multi link, as scope-bpf attaches them.
 *
 *   floor FILE PID     PID 0: every process
 *
 * Prints the number of sites and the nanoseconds that the link took, waits for its stdin to end, and prints the
 * nanoseconds of the detachment.
 */
#include "usdt/elf_file.h"
#include "usdt/regions.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRACE_UPROBE_MULTI 48 /* newer than Debian 12's headers */

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "floor: %s: %s\n", what, why);
    return 1;
}

static int load_empty(void)
{
    struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = TRACE_UPROBE_MULTI);

    return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "floor", "GPL", code, 2, &opts);
}

static int link_sites(int program, const char *path, const uint64_t *offsets, size_t n, pid_t pid)
{
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags;
        uint64_t path, offsets, ref_ctr_offsets, cookies;
        uint32_t cnt, link_flags, pid, pad;
    } attr = {.prog_fd = (uint32_t)program,
              .attach_type = TRACE_UPROBE_MULTI,
              .path = (uint64_t)(uintptr_t)path,
              .offsets = (uint64_t)(uintptr_t)offsets,
              .cnt = (uint32_t)n,
              .pid = (uint32_t)pid};

    return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* The file offsets of all sites, as many as ret_n says; NULL without any. */
static uint64_t *sites_of(const char *path, size_t *ret_n)
{
    struct err err = {0};
    struct elf_file *elf = NULL;
    struct probe_table *table = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t *offsets = NULL;

    if (fd >= 0 && !elf_file__open_fd(fd, path, &elf, &err) && !probe_table__read(elf, NULL, &table, &err))
        offsets = calloc(table->n_sites + 1, sizeof(*offsets));
    for (size_t i = 0; offsets && i < table->n_sites; i++)
        offsets[i] = table->sites[i].file_offset;
    *ret_n = offsets ? table->n_sites : 0;
    probe_table__destroy(table);
    elf_file__close(elf);
    if (fd >= 0)
        close(fd);
    return offsets;
}

int main(int argc, char **argv)
{
    size_t n = 0;
    uint64_t *offsets = argc == 3 ? sites_of(argv[1], &n) : NULL;
    char rest[64];

    if (!n)
        return fail(argc == 3 ? argv[1] : "usage", argc == 3 ? "no sites" : "floor FILE PID");
    int program = load_empty();
    if (program < 0)
        return fail("cannot load a program for uprobe_multi (Linux 6.6, root)", strerror(errno));
    long long start = now();
    int link = link_sites(program, argv[1], offsets, n, atoi(argv[2]));
    if (link < 0)
        return fail("cannot attach by uprobe_multi (Linux 6.6)", strerror(errno));
    printf("%zu %lld\n", n, now() - start);
    fflush(stdout);
    while (read(STDIN_FILENO, rest, sizeof(rest)) > 0)
        ;
    start = now();
    close(link);
    printf("%lld\n", now() - start);
    free(offsets);
    return 0;
}
