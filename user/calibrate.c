/* SPDX-License-Identifier: GPL-2.0-only */
#include "calibrate.h"

#include "attach.h"
#include "include/scope_probe.h"
#include "msg.h"
#include "scope.skel.h"
#include "usdt/elf_file.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5

/* The pair that is measured: sites of our own program, named so that nobody takes them for a region of theirs. */
__attribute__((noinline)) static void pairs(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        SP_BEGIN(scope_bpf_calibration);
        SP_END(scope_bpf_calibration);
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *rounds, int n)
{
    qsort(rounds, (size_t)n, sizeof(*rounds), compare_doubles);
    return rounds[n / 2];
}

/* In CPU time: what else the machine does in between is not our cost. */
static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double time_pairs(unsigned n)
{
    pairs(n / 10 + 1);
    uint64_t start = cpu_ns();
    pairs(n);
    return (double)(cpu_ns() - start) / n;
}

#define READ_MAX 65536

struct readings {
    size_t n;
    double ns[READ_MAX];
};

static int on_record(void *arg, void *data, size_t size)
{
    struct readings *r = arg;
    const struct sb_call *c = data;

    if (size == sizeof(*c) && c->type == SB_HOT_CALL && r->n < READ_MAX)
        r->ns[r->n++] = (double)(c->end - c->start);
    return 0;
}

/* The median: a call that was interrupted says nothing of the probes. */
static int read_region(struct programs *p, double *ret_ns, struct err *err)
{
    struct readings *all = calloc(1, sizeof(*all));
    struct ring_buffer *rings = all ? ring_buffer__new(p->ring_fds[0], on_record, all, NULL) : NULL;
    int code = errno, r = 0;

    for (int i = 1; rings && !r && i < p->n_rings; i++)
        r = ring_buffer__add(rings, p->ring_fds[i], on_record, all);
    if (rings && !r)
        ring_buffer__consume(rings);
    ring_buffer__free(rings);
    if (!rings || r)
        r = err__set(err, r ? -r : code, "cannot map a ring: %s", strerror(r ? -r : code));
    else if (!all->n)
        r = err__set(err, ENODATA, "the calibration's own region did not fire");
    else {
        qsort(all->ns, all->n, sizeof(*all->ns), compare_doubles);
        *ret_ns = all->ns[all->n / 2];
    }
    free(all);
    return r;
}

/* Links of `program` over our two sites, for this process only. */
static int link_pair(struct programs *p, struct bpf_program *program, const struct probe_table *t, int fd,
                     struct bpf_link **links, int *ret_fd)
{
    uint64_t offsets[64], cookies[64];
    size_t n = 0;

    for (size_t i = 0; i < t->n_sites && n < 64; i++) {
        const struct site *s = &t->sites[i];
        if (s->region == SITE_NO_REGION || strcmp(t->regions[s->region].name, "scope_bpf_calibration") != 0)
            continue;
        offsets[n] = s->file_offset;
        cookies[n++] = SB_COOKIE(SB_REGION_FIRST, s->kind == SITE_BEGIN ? SB_SITE_BEGIN : SB_SITE_END, SB_REG_NONE,
                                 SB_REG_NONE, 0, 0);
    }
    if (!n)
        return -ENOENT;
    *ret_fd = -1;
    if (p->multi) {
        *ret_fd = attach__multi_link(bpf_program__fd(program), fd, offsets, NULL, cookies, n, getpid());
        return *ret_fd < 0 ? *ret_fd : 0;
    }
    for (size_t i = 0; i < n; i++) {
        LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookies[i]);
        links[i] = bpf_program__attach_uprobe_opts(program, getpid(), "/proc/self/exe", offsets[i], &opts);
        if (!links[i])
            return -errno;
    }
    return 0;
}

static int measure_with(struct programs *p, struct bpf_program *program, const struct probe_table *t, int fd, unsigned n,
                        double *ret_ns)
{
    struct bpf_link *links[64] = { 0 };
    int link, r = link_pair(p, program, t, fd, links, &link);

    if (!r)
        *ret_ns = time_pairs(n);
    for (size_t i = 0; i < 64; i++)
        bpf_link__destroy(links[i]);
    if (!r && link >= 0)
        close(link);
    return r;
}

/*
 * Rounds in turn: what the machine does meanwhile hits all three alike.  Before a recording through perf a single one:
 * each takes 0.2 s to detach.
 */
static int measure_rounds(struct programs *p, const struct probe_table *t, int fd, unsigned n, bool all,
                          struct pair_cost *ret)
{
    double untraced[ROUNDS], floor[ROUNDS], pair[ROUNDS];
    int r = 0, rounds = all || p->multi ? ROUNDS : 1;

    for (int i = 0; !r && i < rounds; i++) {
        untraced[i] = floor[i] = 0;
        if (all) {
            untraced[i] = time_pairs(100 * n);
            r = measure_with(p, p->skel->progs.empty_site, t, fd, n, &floor[i]);
        }
        if (!r)
            r = measure_with(p, p->skel->progs.region_site, t, fd, n, &pair[i]);
    }
    if (!r)
        *ret = (struct pair_cost){ .untraced_ns = median(untraced, rounds),
                                  .floor_ns = median(floor, rounds),
                                  .pair_ns = median(pair, rounds) };
    return r;
}

static int measure(struct programs *p, unsigned n, bool all, struct pair_cost *ret, struct err *err)
{
    struct elf_file *elf = NULL;
    struct probe_table *t = NULL;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? err__set(err, errno, "cannot open our own program: %s", strerror(errno))
                   : elf_file__open_fd(fd, "scope-bpf", &elf, err);

    if (!r)
        r = probe_table__read(elf, NULL, &t, err);
    if (!r)
        r = programs__track(p, getpid(), 1, 0, err);
    if (!r) {
        r = measure_rounds(p, t, fd, n, all, ret);
        r = r ? err__set(err, -r, "cannot attach to our own probes: %s", strerror(-r))
              : read_region(p, &ret->region_ns, err);
    }
    probe_table__destroy(t);
    elf_file__close(elf);
    if (fd >= 0)
        close(fd);
    return r;
}

int calibrate__measure(const struct options *options, unsigned n, bool all, struct pair_cost *ret, struct err *err)
{
    struct programs_config config = { .buffer = 8u << 20, .uprobes = options->uprobes, .filter_uid = 0xffffffff };
    struct programs *p;
    int r = programs__load(&config, &p, err);

    if (r)
        return r;
    *ret = (struct pair_cost){ 0 };
    r = measure(p, n, all, ret, err);
    programs__destroy(p);
    return r;
}

int calibrate__run(const struct options *options)
{
    struct pair_cost cost;
    struct err err;

    if (calibrate__measure(options, 20000, true, &cost, &err)) {
        msg__error("%s", err.text);
        return 125;
    }
    if (options->json)
        printf("{\"untraced_pair_ns\": %.3f, \"floor_pair_ns\": %.1f, \"pair_ns\": %.1f, \"empty_region_ns\": %.1f}\n",
               cost.untraced_ns, cost.floor_ns, cost.pair_ns, cost.region_ns);
    else
        printf("A begin/end pair on this machine costs:\n"
               "  not traced            %8.2f ns\n"
               "  floor of the kernel   %8.0f ns   (an empty BPF program on both sites)\n"
               "  recorded by scope-bpf %8.0f ns   (%.2f x the floor)\n"
               "  an empty region reads %8.0f ns   (that much of the cost lies inside each region)\n",
               cost.untraced_ns, cost.floor_ns, cost.pair_ns, cost.pair_ns / cost.floor_ns, cost.region_ns);
    return fflush(stdout) ? 125 : 0;
}
