/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every record, map key and limit that BPF programs and the collector share.
 *
 * This file compiles on both sides: fixed-width types, explicit padding, no pointers.  All times are
 * nanoseconds of CLOCK_MONOTONIC (bpf_ktime_get_ns()).  A record is recognised by its size and its `type`;
 * the consumer checks the size before it casts and counts what it does not know.
 */
#ifndef SCOPE_BPF_EVENTS_H
#define SCOPE_BPF_EVENTS_H

#ifndef __VMLINUX_H__
#include <stdint.h>
typedef uint8_t sb_u8;
typedef uint16_t sb_u16;
typedef uint32_t sb_u32;
typedef uint64_t sb_u64;
typedef int32_t sb_s32;
typedef int64_t sb_s64;
#else
typedef __u8 sb_u8;
typedef __u16 sb_u16;
typedef __u32 sb_u32;
typedef __u64 sb_u64;
typedef __s32 sb_s32;
typedef __s64 sb_s64;
#endif

#define SB_MAX_DEPTH   512        /* open calls kept per thread (12 KiB); above only a count is kept */
#define SB_MAX_REGIONS (1u << 20) /* region ids are 20 bits of the cookie; 0 = outside every region */
#define SB_MAX_DYNAMIC 65536      /* names known at run time, per run */
#define SB_NAME_MAX    255        /* bytes of a region name */
#define SB_COMM_LEN    16
#define SB_MAX_RINGS   512  /* one ring per CPU up to 64 CPUs, then one per 4 */
#define SB_TEXT_CHUNK  4096 /* environment and command line travel in pieces of this size */
#define SB_TEXT_CHUNKS 32   /* at most 128 KiB of either */

#define SB_REGION_NONE          0u
#define SB_REGION_OTHER         1u /* "(other names)": dynamic names above SB_MAX_DYNAMIC */
#define SB_REGION_FIRST_DYNAMIC 2u /* dynamic ids: [2, 2 + SB_MAX_DYNAMIC) */
#define SB_REGION_FIRST         (SB_REGION_FIRST_DYNAMIC + SB_MAX_DYNAMIC) /* first id of a static region */

/* ---- attach cookie of a site: what happens there ------------------------------------------------------- */
enum sb_site_kind {
    SB_SITE_BEGIN = 1,         /* begin of a region, no scope address */
    SB_SITE_END = 2,           /* end by name */
    SB_SITE_SCOPE_BEGIN = 3,   /* begin with the address of a byte of the frame */
    SB_SITE_SCOPE_END = 4,     /* shared end: closes the frame with this address, whatever its name */
    SB_SITE_DYNAMIC_BEGIN = 5, /* operand: a pointer variable; its value is the name, its address the call */
    SB_SITE_DYNAMIC_END = 6,   /* by address, like SB_SITE_SCOPE_END */
    SB_SITE_DYNAMIC_OPEN = 7,  /* operand is a pointer variable: its value is the name */
    SB_SITE_DYNAMIC_CLOSE = 8, /* likewise: closes by name and stack pointer */
    SB_SITE_NAMED_OPEN = 9, /* of another provider: operand, a register or memory, holds the name's pointer */
    SB_SITE_NAMED_CLOSE = 10,
};

/*
 * cookie, from bit 0: region 20 · kind 4 · base register 5 · index register 5 · log2(scale) 2 · offset 28
 * (signed). Registers are DWARF numbers (x86-64: 0 rax … 16 rip; aarch64: 0–30 x0…x30, 31 sp); SB_REG_NONE: absent.
 */
#define SB_REG_NONE         31u /* on x86-64 no base, everywhere no index; on aarch64 a base of 31 is sp */
#define SB_COOKIE_REGION(c) ((sb_u32)((c)&0xfffff))
#define SB_COOKIE_KIND(c)   ((sb_u32)(((c) >> 20) & 0xf))
#define SB_COOKIE_BASE(c)   ((sb_u32)(((c) >> 24) & 0x1f))
#define SB_COOKIE_INDEX(c)  ((sb_u32)(((c) >> 29) & 0x1f))
#define SB_COOKIE_SCALE(c)  ((sb_u32)(((c) >> 34) & 0x3))
#define SB_COOKIE_OFFSET(c) ((sb_s64)(c) >> 36)
#define SB_COOKIE(region, kind, base, index, scale, offset)                                                  \
    ((sb_u64)(region) | (sb_u64)(kind) << 20 | (sb_u64)(base) << 24 | (sb_u64)(index) << 29 |                \
     (sb_u64)(scale) << 34 | (sb_u64)(sb_s64)(offset) << 36)

/* In place of the region where another provider's sites are named at run time: group 11 · provider 8 · 1. */
#define SB_MAX_NAMED_GROUPS    2048 /* named sites of one provider in one file; for their balance */
#define SB_MAX_NAMED_PROVIDERS 256  /* 0 is `scope` */
#define SB_NAMED(group, provider, in_register)                                                               \
    ((sb_u32)(group) << 9 | (sb_u32)(provider) << 1 | ((in_register) ? 1 : 0))
#define SB_NAMED_GROUP(region)       (((region) >> 9) & (SB_MAX_NAMED_GROUPS - 1))
#define SB_NAMED_PROVIDER(region)    (((region) >> 1) & (SB_MAX_NAMED_PROVIDERS - 1))
#define SB_NAMED_IN_REGISTER(region) ((region)&1)

struct sb_balance { /* map named_balance: group → how often its sites fired */
    sb_u64 begins, ends;
};

/* Cookie of a loader's _dl_debug_state: distance to its r_debug, or (musl) to a pointer to it. */
#define SB_LOADER_INDIRECT (1ull << 62)
#define SB_LOADER_COOKIE(distance, indirect)                                                                 \
    (((sb_u64)(distance)&0xffffffffffffull) | ((indirect) ? SB_LOADER_INDIRECT : 0))
#define SB_LOADER_DISTANCE(c) ((sb_s64)((c) << 16) >> 16)

/* ---- hot records: one ring per CPU --------------------------------------------------------------------- */
enum sb_hot_type {
    SB_HOT_CALL = 1,      /* a call that ended, by its own end or by another's */
    SB_HOT_UNMATCHED = 2, /* an end with nothing to close; start = 0 */
    SB_HOT_SAMPLE = 3,    /* a timer tick */
};

/* Flags of a call; the same values as the column /events/flags of the HDF5 profile. */
enum sb_call_flags {
    SB_CALL_ABANDONED = 1,   /* ended by another frame's end or begin: longjmp, exception, early return */
    SB_CALL_TRUNCATED = 2,   /* its thread or process ended, or recording ended, inside it */
    SB_CALL_INHERITED = 4,   /* open in the parent at fork */
    SB_CALL_OVERLAPPING = 8, /* joined in reconstruction */
    SB_CALL_BEGUN_BEFORE = 16,
    SB_CALL_UNCERTAIN = 32,
};

struct sb_call {
    sb_u8 type;   /* SB_HOT_CALL or SB_HOT_UNMATCHED */
    sb_u8 flags;  /* enum sb_call_flags */
    sb_u16 depth; /* 0 = outermost of its thread */
    sb_u32 lane;  /* serial number of the thread that recorded it, unique in a run, never reused */
    sb_u32 seq;   /* number of this record within its lane, lost ones included: a gap is a loss */
    sb_u32 region;
    sb_u64 start;
    sb_u64 end;
};

enum sb_sample_flags {
    SB_SAMPLE_KERNEL = 1, /* the tick fell into the kernel on the thread's behalf */
};

struct sb_sample {
    sb_u8 type; /* SB_HOT_SAMPLE */
    sb_u8 flags;
    sb_u16 cpu;
    sb_u32 lane;   /* 0: the thread has not recorded a region yet */
    sb_u32 pid;    /* thread group */
    sb_u32 region; /* innermost open region, SB_REGION_NONE outside */
    sb_u64 time;
    sb_u64 ip; /* user address, also when the tick fell into the kernel */
};

/* ---- cold records: one ring for processes, threads and names; an overflow is an error -------------------- */
enum sb_cold_type {
    SB_COLD_FORK = 16, /* a tracked process forked: struct sb_process */
    SB_COLD_EXEC = 17, /* a tracked process executed a program */
    SB_COLD_EXIT = 18, /* the last thread of a tracked process ended */
    SB_COLD_LANE = 19, /* a thread's first begin: struct sb_lane */
    SB_COLD_LANE_END = 20,
    SB_COLD_NAME = 21,       /* a dynamic name got its id: struct sb_name */
    SB_COLD_ENV = 22,        /* piece of the environment after an exec: struct sb_text */
    SB_COLD_ARGV = 23,       /* piece of the command line after an exec */
    SB_COLD_SEEN = 26,       /* -a: a process that ran already came to a probe or to an exec */
    SB_COLD_LOADED = 25,     /* libraries were mapped: struct sb_process, ino = hash of the set's names */
    SB_COLD_THREAD_CPU = 24, /* final CPU time of a lane, exact: struct sb_lane_end */
};

struct sb_process {
    sb_u8 type;
    sb_u8 stopped;            /* exec: a SIGSTOP was sent, the collector must continue it */
    sb_u16 inherited_dropped; /* exec, exit: calls inherited at fork that never became visible */
    sb_u32 pid;               /* thread group, in the initial namespace */
    sb_u32 inner_pid;         /* in its own pid namespace */
    sb_u32 parent;            /* fork: the parent's thread group */
    sb_u64 time;
    sb_u64 start_time; /* of the group leader */
    sb_u32 exec;       /* number of execs of this process since it is tracked */
    sb_u32 exit_code;  /* exit: as wait() reports it */
    sb_u64 ino;        /* exec: bprm->file's inode as BPF sees it … */
    sb_u32 dev;        /* … and its super block's device, major << 20 | minor */
    sb_u32 generation;
    char comm[SB_COMM_LEN];
};

enum sb_lane_flags {
    SB_LANE_FORKED = 1, /* starts with what its thread's parent had open */
    SB_LANE_LEADER = 2,
};

struct sb_lane {
    sb_u8 type;
    sb_u8 flags;
    sb_u16 depth; /* frames inherited */
    sb_u32 lane;
    sb_u32 pid;
    sb_u32 tid;
    sb_u32 inner_tid;
    sb_u32 exec;
    sb_u64 time;
    sb_u64 thread_start; /* of the thread; exec'ed image: of the exec is the collector's to add */
    sb_u64 process_start;
    char comm[SB_COMM_LEN];
};

struct sb_lane_end {
    sb_u8 type;
    sb_u8 why; /* enum sb_lane_end_why */
    sb_u16 pad;
    sb_u32 lane;
    sb_u32 pid;
    sb_u32 tid;
    sb_u64 time;
    sb_u64 cpu_ns;         /* se.sum_exec_runtime */
    sb_u32 next_seq;       /* records of this lane, lost ones included */
    sb_u32 depth_overflow; /* calls deeper than SB_MAX_DEPTH */
    char comm[SB_COMM_LEN];
};

enum sb_lane_end_why { SB_END_EXIT = 1, SB_END_EXEC = 2, SB_END_DETACH = 3 };

struct sb_name {
    sb_u8 type;
    sb_u8 len;
    sb_u16 provider; /* as SB_NAMED_PROVIDER; 0 = scope */
    sb_u32 region;
    char name[256];
};

struct sb_text {
    sb_u8 type;
    sb_u8 last;
    sb_u16 len;
    sb_u32 pid;
    sb_u32 exec;
    sb_u32 offset;
    char text[SB_TEXT_CHUNK];
};

/* ---- maps ------------------------------------------------------------------------------------------------ */
struct sb_tracked {    /* map tracked: pid (thread group) → */
    sb_u64 start_time; /* of the leader: a recycled pid is noticed */
    sb_u32 exec;
    sb_u32 flags;     /* enum sb_tracked_flags */
    sb_u64 libraries; /* hash of the loader's list, 0 before the first; see loader.bpf.c */
};

enum sb_tracked_flags {
    SB_TRACK_FOLLOW = 1, /* follow its children */
    SB_TRACK_STOP = 2,   /* may be stopped at an exec of a file not known yet */
};

struct sb_file_key { /* map known: files whose sites and libraries are attached already */
    sb_u64 ino;
    sb_u32 dev;
    sb_u32 generation;
};

struct sb_stopped { /* map stopped: pid → ; read by the guardian */
    sb_u64 start_time;
    sb_u64 time;
};

enum sb_lost_cause {
    SB_LOST_RING = 1,        /* hot ring full: a call or unmatched end */
    SB_LOST_SAMPLE = 2,      /* hot ring full: a sample */
    SB_LOST_COLD = 3,        /* cold ring full */
    SB_LOST_STORAGE = 4,     /* no memory for a thread's state: its calls are not recorded */
    SB_LOST_DEPTH = 5,       /* calls deeper than SB_MAX_DEPTH */
    SB_LOST_NAME = 6,        /* a dynamic name could not be read or stored: recorded as (other names) */
    SB_LOST_DISK = 7,        /* set by the collector */
    SB_LOST_TABLE = 8,       /* the loss table itself is full: pid and region unknown */
    SB_LOST_DISK_SAMPLE = 9, /* set by the collector: samples that the disk had no room for */
    SB_LOST_BUSY = 10, /* before Linux 6.2: a tick that found its thread's state in use by the program of a site */
    SB_LOST_MAX = 11,
};

struct sb_lost_key { /* map lost: → u64 count */
    sb_u32 pid;
    sb_u32 region;
    sb_u32 cause;
    sb_u32 lane;
};

#define SB_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " changed its size")
SB_ASSERT_SIZE(struct sb_call, 32);
SB_ASSERT_SIZE(struct sb_sample, 32);
SB_ASSERT_SIZE(struct sb_process, 72);
SB_ASSERT_SIZE(struct sb_lane, 56 + 8);
SB_ASSERT_SIZE(struct sb_lane_end, 56);
SB_ASSERT_SIZE(struct sb_name, 264);
SB_ASSERT_SIZE(struct sb_text, SB_TEXT_CHUNK + 16);
SB_ASSERT_SIZE(struct sb_tracked, 24);
SB_ASSERT_SIZE(struct sb_file_key, 16);
SB_ASSERT_SIZE(struct sb_stopped, 16);
SB_ASSERT_SIZE(struct sb_lost_key, 16);

#endif
