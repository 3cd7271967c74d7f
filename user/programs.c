/* SPDX-License-Identifier: GPL-2.0-only */
#include "programs.h"

#include "scope.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACE_UPROBE_MULTI 48 /* enum bpf_attach_type: newer than Debian 12's headers */

static size_t ring_size(size_t buffer, int rings)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page;

    while (size * 2 * (size_t)rings <= buffer && size < (1u << 30))
        size *= 2;
    return size;
}

/*
 * The kernel has uprobe_multi (6.6) when it takes a program of that attach type and refuses an empty link with
 * something else than "no such link": EINVAL before, EBADF or ENOENT for our bad arguments afterwards.
 */
static bool multi_supported(void)
{
    struct bpf_insn code[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = TRACE_UPROBE_MULTI);
    int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "scope_probe", "GPL", code, 2, &opts);
    if (fd < 0)
        return false;
    uint64_t offset = 0;
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags;
        uint64_t path, offsets, ref_ctr_offsets, cookies;
        uint32_t cnt, link_flags, pid, pad;
        uint64_t room[8];
    } attr = { .prog_fd = (uint32_t)fd,
               .attach_type = TRACE_UPROBE_MULTI,
               .path = (uint64_t)(uintptr_t) "/",
               .offsets = (uint64_t)(uintptr_t)&offset,
               .cnt = 1 };
    long link = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
    /* "/" is no regular file: EBADF from a kernel that looked at it. */
    bool there = link >= 0 || errno == EBADF;
    if (link >= 0)
        close((int)link);
    close(fd);
    return there;
}

static int make_rings(struct programs *p, struct err *err)
{
    for (int i = 0; i < p->n_rings; i++) {
        uint32_t key = (uint32_t)i;
        int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "hot_ring", 0, 0, (uint32_t)p->ring_bytes, NULL);
        if (fd < 0)
            return err__set(err, errno, "cannot make ring %d of %zu bytes: %s (a smaller --buffer may help)", i,
                            p->ring_bytes, strerror(errno));
        p->ring_fds[i] = fd;
        if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.hot_rings), &key, &fd, BPF_ANY))
            return err__set(err, errno, "cannot register ring %d: %s", i, strerror(errno));
    }
    return 0;
}

static int choose_road(struct programs *p, enum uprobe_road road, struct err *err)
{
    p->multi = road != UPROBE_PERF && multi_supported();
    if (road == UPROBE_MULTI && !p->multi)
        return err__set(err, ENOTSUP, "--uprobes multi: this kernel has no uprobe_multi links (Linux 6.6 and later do)");
    if (p->multi) {
        bpf_program__set_expected_attach_type(p->skel->progs.region_site, TRACE_UPROBE_MULTI);
        bpf_program__set_expected_attach_type(p->skel->progs.dynamic_site, TRACE_UPROBE_MULTI);
        bpf_program__set_expected_attach_type(p->skel->progs.named_site, TRACE_UPROBE_MULTI);
        bpf_program__set_expected_attach_type(p->skel->progs.empty_site, TRACE_UPROBE_MULTI);
        bpf_program__set_expected_attach_type(p->skel->progs.loader_state, TRACE_UPROBE_MULTI);
    }
    return 0;
}

/* Old kernels charge maps to the memory lock limit; newer ones ignore it. */
static void raise_limits(void)
{
    struct rlimit locked = { RLIM_INFINITY, RLIM_INFINITY }, files;

    setrlimit(RLIMIT_MEMLOCK, &locked);
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int load_failed(int code, struct err *err)
{
    const char *why = code == -EPERM || code == -EACCES
                          ? "not permitted: run it with sudo, or install it with `make install-caps`"
                          : strerror(-code);
    return err__set(err, -code, "cannot load the BPF programs: %s (`scope-bpf --check` tells what is missing)", why);
}

static int load(struct programs *p, const struct programs_config *config, struct err *err)
{
    int cpus = libbpf_num_possible_cpus();
    if (cpus < 1)
        return err__set(err, -cpus, "cannot count the CPUs: %s", strerror(-cpus));
    unsigned shift = cpus > 64 ? 2 : 0;
    p->n_rings = (int)(((unsigned)cpus + (1u << shift) - 1) >> shift);
    if (p->n_rings > SB_MAX_RINGS)
        return err__set(err, E2BIG, "%d CPUs are more than scope-bpf has rings for (%d)", cpus, SB_MAX_RINGS << shift);
    p->ring_bytes = ring_size(config->buffer, p->n_rings);
    p->ring_fds = calloc((size_t)p->n_rings, sizeof(*p->ring_fds));
    if (!p->ring_fds)
        return err__set(err, ENOMEM, "out of memory");
    for (int i = 0; i < p->n_rings; i++)
        p->ring_fds[i] = -1;
    p->skel = scope_bpf__open();
    if (!p->skel)
        return load_failed(-errno, err);
    p->skel->rodata->ring_shift = shift;
    p->skel->rodata->ring_bytes = (uint32_t)p->ring_bytes;
    p->skel->rodata->quiet_scope_ends = config->quiet_scope_ends;
    p->skel->rodata->track_all = config->track_all;
    p->skel->rodata->own_pid = (uint32_t)getpid();
    p->skel->rodata->filter_uid = config->filter_uid;
    p->skel->rodata->filter_cgroup = config->filter_cgroup;
    p->skel->rodata->filter_cgroup_level = config->filter_cgroup_level;
    bpf_map__set_max_entries(p->skel->maps.hot_rings, (uint32_t)p->n_rings);
    int r = choose_road(p, config->uprobes, err);
    if (r)
        return r;
    r = scope_bpf__load(p->skel);
    return r ? load_failed(r, err) : make_rings(p, err);
}

int programs__load(const struct programs_config *config, struct programs **ret, struct err *err)
{
    struct programs *p = calloc(1, sizeof(*p));
    if (!p)
        return err__set(err, ENOMEM, "out of memory");
    raise_limits();
    int r = load(p, config, err);
    if (r) {
        programs__destroy(p);
        return r;
    }
    *ret = p;
    return 0;
}

void programs__destroy(struct programs *p)
{
    if (!p)
        return;
    for (int i = 0; p->ring_fds && i < p->n_rings; i++)
        if (p->ring_fds[i] >= 0)
            close(p->ring_fds[i]);
    free(p->ring_fds);
    scope_bpf__destroy(p->skel);
    free(p);
}

int programs__watch_processes(struct programs *p, struct err *err)
{
    struct {
        struct bpf_program *program;
        struct bpf_link **link;
    } const list[] = {
        { p->skel->progs.on_fork, &p->skel->links.on_fork },
        { p->skel->progs.on_exec, &p->skel->links.on_exec },
        { p->skel->progs.on_exit, &p->skel->links.on_exit },
        { p->skel->progs.on_switch, &p->skel->links.on_switch },
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
        *list[i].link = bpf_program__attach(list[i].program);
        if (!*list[i].link)
            return err__set(err, errno, "cannot watch processes (%s): %s", bpf_program__section_name(list[i].program),
                            strerror(errno));
    }
    return 0;
}

int programs__track(struct programs *p, pid_t pid, uint64_t start_time, unsigned flags, struct err *err)
{
    uint32_t key = (uint32_t)pid;
    struct sb_tracked value = { .start_time = start_time, .flags = flags };

    if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.tracked), &key, &value, BPF_ANY))
        return err__set(err, errno, "cannot watch process %d: %s", (int)pid, strerror(errno));
    return 0;
}

void programs__untrack(struct programs *p, pid_t pid)
{
    uint32_t key = (uint32_t)pid;

    bpf_map_delete_elem(bpf_map__fd(p->skel->maps.tracked), &key);
}

void programs__untrack_all(struct programs *p)
{
    int fd = bpf_map__fd(p->skel->maps.tracked);
    uint32_t key, bound = 1u << 21;

    while (bound-- && !bpf_map_get_next_key(fd, NULL, &key))
        bpf_map_delete_elem(fd, &key);
}

int programs__detach_threads(struct programs *p, struct err *err)
{
    struct bpf_link *link = bpf_program__attach_iter(p->skel->progs.detach_threads, NULL);
    if (!link)
        return err__set(err, errno, "cannot visit the threads at detachment: %s", strerror(errno));
    int fd = bpf_iter_create(bpf_link__fd(link)), r = 0;
    char buffer[64];
    ssize_t n = fd < 0 ? -1 : 0;

    while (fd >= 0 && ((n = read(fd, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EAGAIN)))
        ;
    if (n < 0)
        r = err__set(err, errno, "cannot visit the threads at detachment: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    bpf_link__destroy(link);
    return r;
}
