/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dynamic loader's own breakpoint, _dl_debug_state: it comes after libraries were mapped and before any of their
 * code runs.  A set of libraries that was not seen yet stops the process until the collector has attached them.
 */
#include "threads.bpf.h"
#include "stop.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define FUNCTION_ADDRESS(ctx) ((ctx)->ip)
#else
#define FUNCTION_ADDRESS(ctx) ((ctx)->pc)
#endif

#define LIBRARIES_MAX 1024
#define RT_CONSISTENT 0

/* <link.h>: the part of its structures that debuggers rely on. */
struct r_debug {
    int version;
    u64 map, brk;
    int state;
};
struct link_map {
    u64 addr, name, dynamic, next;
};

struct walk {
    u64 at;
    u64 places; /* hash of where the libraries are: changes whenever one comes or goes */
    u64 names;  /* hash of what they are called: the same in the next process that starts the same program */
};

static long walk_one(u32 i, void *arg)
{
    struct walk *w = arg;
    struct link_map map;
    u64 name[8] = {};

    if (!w->at || bpf_probe_read_user(&map, sizeof(map), (void *)w->at))
        return 1;
    w->places = (w->places ^ map.dynamic) * 0x9e3779b97f4a7c15ull;
    if (bpf_probe_read_user_str(name, sizeof(name), (void *)map.name) > 1)
        for (int k = 0; k < 8; k++)
            w->names = (w->names ^ name[k]) * 0x9e3779b97f4a7c15ull;
    w->at = map.next;
    return 0;
}

SEC("kprobe")
int loader_state(struct pt_regs *ctx)
{
    struct task_struct *task = bpf_get_current_task_btf();
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct sb_tracked *t = bpf_map_lookup_elem(&tracked, &pid);
    struct r_debug debug;
    struct walk w = {};
    u64 now, first, cookie, at;
    struct sb_process *r;

    if (!t || !(t->flags & SB_TRACK_STOP))
        return 0;
    cookie = bpf_get_attach_cookie(ctx);
    at = FUNCTION_ADDRESS(ctx) + SB_LOADER_DISTANCE(cookie);
    if (cookie & SB_LOADER_INDIRECT && bpf_probe_read_user(&at, sizeof(at), (void *)at))
        return 0;
    if (bpf_probe_read_user(&debug, sizeof(debug), (void *)at))
        return 0;
    if (debug.state != RT_CONSISTENT)
        return 0;
    w.at = debug.map;
    bpf_loop(LIBRARIES_MAX, walk_one, &w, 0);
    if (w.places == t->libraries)
        return 0;
    first = !t->libraries;
    t->libraries = w.places;
    /* At a program's start the name tells enough; later another file may stand behind a name that was seen. */
    if (first && bpf_map_lookup_elem(&known_sets, &w.names))
        return 0;
    now = bpf_ktime_get_ns();
    if (!may_stop(task) || !stop_for_attach(task, pid, now))
        return 0;
    r = reserve_process(task, SB_COLD_LOADED);
    if (!r)
        return 0;
    r->stopped = 1;
    r->exec = t->exec;
    r->ino = w.names;
    bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
    return 0;
}
