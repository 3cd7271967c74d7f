/* SPDX-License-Identifier: GPL-2.0-only */
/* Stopping a process until the collector has attached what it is about to run; and whom that would confuse. */
#ifndef SCOPE_STOP_BPF_H
#define SCOPE_STOP_BPF_H

#include "maps.bpf.h"

#define PIDTYPE_PGID 2
#define PIDTYPE_SID 3
#define SIGCONT 18

static __always_inline bool is_shell(const char *comm)
{
    u32 name[2] = {};

    __builtin_memcpy(name, comm, sizeof(name));
    switch (name[0]) {
    case 0x68736162: /* bash */
    case 0x68736966: /* fish */
    case 0x68736164: /* dash */
    case 0x68736b6d: /* mksh */
    case 0x68736374: /* tcsh */
        return (name[1] & 0xff) == 0;
    case 0x0068737a: /* zsh */
    case 0x0068736b: /* ksh */
    case 0x00687363: /* csh */
        return true;
    }
    return (name[0] & 0xffffff) == 0x6873; /* sh */
}

/*
 * These wait for stops of their child (WUNTRACED), stop themselves with it and are continued by a shell alone: ours
 * would leave them stopped for ever.  Nothing in the kernel tells how somebody is going to wait, so: by name.
 */
static __always_inline bool stops_with_child(const char *comm)
{
    u32 name[2] = {};

    __builtin_memcpy(name, comm, sizeof(name));
    switch (name[0]) {
    case 0x6f647573: /* sudo */
    case 0x73616f64: /* doas */
        return (name[1] & 0xff) == 0;
    case 0x756e7572: /* runuser */
        return name[1] == 0x00726573;
    case 0x69726373: /* script */
        return (name[1] & 0xffffff) == 0x7470;
    }
    return (name[0] & 0xffffff) == 0x7573; /* su */
}

/*
 * A program that catches SIGCONT acts on ours as if a person had typed `fg`: mpirun passes it on to its ranks, and says
 * so, at each of the sixty libraries that it opens. An exec puts the handler back, so a program's start always passes.
 */
static __always_inline bool catches_sigcont(struct task_struct *task)
{
    void (*handler)(int) = BPF_CORE_READ(task, sighand, action[SIGCONT - 1].sa.sa_handler);

    return (unsigned long)handler > 1; /* neither SIG_DFL nor SIG_IGN */
}

/*
 * A child with a process group of its own in the session of its shell: job control.  The shell would take our stop for
 * Ctrl-Z.  (mpirun makes process groups too, but waits only for ends; setsid makes a session.)
 */
static __always_inline bool may_stop(struct task_struct *task)
{
    struct task_struct *parent = task->group_leader->real_parent;
    char comm[SB_COMM_LEN] = {};

    if (task->ptrace || catches_sigcont(task)) /* a debugger would show our signal to its user */
        return false;
    bpf_probe_read_kernel(comm, sizeof(comm), parent->comm);
    if (stops_with_child(comm))
        return false;
    if (task->signal->pids[PIDTYPE_PGID] == parent->signal->pids[PIDTYPE_PGID] ||
        task->signal->pids[PIDTYPE_SID] != parent->signal->pids[PIDTYPE_SID])
        return true;
    return !is_shell(comm);
}

/*
 * A file whose sites are not attached yet must not run before they are: the process stops before its next instruction
 * in user mode.  The entry for the guardian comes first, then the signal, then the record: nobody may hear of a stop
 * that did not happen, or miss one that did.
 */
static __always_inline bool stop_for_attach(struct task_struct *task, u32 pid, u64 now)
{
    struct sb_stopped s = { .start_time = task->group_leader->start_time, .time = now };

    if (bpf_map_update_elem(&stopped, &pid, &s, BPF_ANY))
        return false;
    if (bpf_send_signal(SIGSTOP)) {
        bpf_map_delete_elem(&stopped, &pid);
        return false;
    }
    return true;
}

#endif
