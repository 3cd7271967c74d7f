// SPDX-License-Identifier: GPL-2.0-only
/*
 * What recording asks of BPF, each with a program of a few instructions that counts in one
 * place: it is loaded, attached to this process, made to run, and must have counted.
 */
#include "check_tries.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <link.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, younger than the headers that we build with */
#define PROGRAM_MAX         48

/* A function whose first instruction is a nop: a place to attach that runs when we say so. */
void scope_check_site(void);
__asm__(".text\n"
        ".globl scope_check_site\n"
        ".hidden scope_check_site\n"
        ".type scope_check_site, %function\n"
        "scope_check_site:\n"
        "    nop\n"
        "    ret\n"
        ".size scope_check_site, . - scope_check_site\n");

/* ---- programs ------------------------------------------------------------------------------------- */

struct program {
    struct bpf_insn insns[PROGRAM_MAX];
    size_t n;
};

static void emit(struct program *p, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
    p->insns[p->n++] =
        (struct bpf_insn){.code = code, .dst_reg = dst & 0xf, .src_reg = src & 0xf, .off = off, .imm = imm};
}

static void emit_move(struct program *p, uint8_t dst, uint8_t src)
{
    emit(p, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

/* dst = the address of the first 8 bytes of the stack */
static void emit_stack_slot(struct program *p, uint8_t dst)
{
    emit_move(p, dst, BPF_REG_10);
    emit(p, BPF_ALU64, dst, 0, 0, -8); /* BPF_ADD of BPF_K, which are 0; the verifier refuses BPF_SUB */
}

static void emit_set(struct program *p, uint8_t dst, int32_t value)
{
    emit(p, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value);
}

static void emit_call(struct program *p, int helper)
{
    emit(p, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/* A 64-bit constant; src says what it is (BPF_PSEUDO_MAP_FD, …). */
static void emit_wide(struct program *p, uint8_t dst, uint8_t src, uint32_t low, uint32_t high)
{
    emit(p, BPF_LD | BPF_DW, dst, src, 0, (int32_t)low); /* of mode BPF_IMM, which is 0 */
    emit(p, 0, 0, 0, 0, (int32_t)high);
}

/* (*count)++; return 0 */
static void emit_count_and_exit(struct program *p, const struct check_env *env)
{
    emit_wide(p, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, (uint32_t)env->count, 0);
    emit_set(p, BPF_REG_2, 1);
    emit(p, BPF_STX | BPF_DW | BPF_ATOMIC, BPF_REG_1, BPF_REG_2, 0, BPF_ADD);
    emit_set(p, BPF_REG_0, 0);
    emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* if (r0 <op> value) return 0, without counting */
static void emit_leave_if(struct program *p, uint8_t op, int32_t value)
{
    emit(p, BPF_JMP | op | BPF_K, BPF_REG_0, 0, 1, value); /* over the jump: to the exit */
    emit(p, BPF_JMP | BPF_JA, 0, 0, 2, 0);
    emit_set(p, BPF_REG_0, 0);
    emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* The descriptor or -errno. */
static int load(const struct program *p, enum bpf_prog_type type, struct bpf_prog_load_opts *opts)
{
    int fd = bpf_prog_load(type, "scope_check", "GPL", p->insns, p->n, opts);

    return fd < 0 ? -errno : fd;
}

static uint64_t counted(const struct check_env *env)
{
    uint64_t value;
    uint32_t key = 0;

    return bpf_map_lookup_elem(env->count, &key, &value) ? 0 : value;
}

/* ---- uprobes on ourselves ------------------------------------------------------------------------- */

struct site_search {
    uintptr_t address;
    uint64_t offset;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct site_search *search = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && search->address - start < segment->p_filesz) {
            search->offset = search->address - start + segment->p_offset;
            return 1;
        }
    }
    return 0;
}

static uint64_t site_offset(void)
{
    struct site_search search = {(uintptr_t)&scope_check_site, 0};

    dl_iterate_phdr(find_offset, &search);
    return search.offset;
}

/* The part of union bpf_attr that BPF_LINK_CREATE reads for this kind. */
struct multi_attr {
    uint32_t prog_fd, target_fd, attach_type, flags;
    uint64_t path, offsets, ref_ctr_offsets, cookies;
    uint32_t count, multi_flags, pid;
};

static int attach_multi(int program)
{
    uint64_t offset = site_offset();
    struct multi_attr attr = {
        .prog_fd = (uint32_t)program,
        .attach_type = ATTACH_UPROBE_MULTI,
        .path = (uintptr_t) "/proc/self/exe",
        .offsets = (uintptr_t)&offset,
        .count = 1,
        .pid = (uint32_t)getpid(),
    };
    long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

    return fd < 0 ? -errno : (int)fd;
}

static int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

/* Lets the program run at each tick or hit of the event; the event is closed when that fails. */
static int perf_attach(int event, int program)
{
    int r;

    if (event < 0)
        return event;
    if (!ioctl(event, PERF_EVENT_IOC_SET_BPF, program) && !ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
        return event;
    r = -errno;
    close(event);
    return r;
}

static int attach_perf(int program)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .sample_period = 1};
    char type[16];

    if (!check__read_line("/sys/bus/event_source/devices/uprobe/type", type, sizeof(type)))
        return -ENOENT;
    attr.type = (uint32_t)strtoul(type, NULL, 10);
    attr.config1 = (uintptr_t) "/proc/self/exe";
    attr.config2 = site_offset();
    return perf_attach(perf_open(&attr, getpid(), -1), program);
}

/* Loads as a uprobe program for the road, attaches, runs the site once. 1: it counted, 0: it did not. */
static int run_at_site(const struct check_env *env, enum check_road road, const struct program *p,
                       uint32_t flags)
{
    LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = flags);
    uint64_t before = counted(env);
    int program, link;

    opts.expected_attach_type = road == ROAD_MULTI ? (enum bpf_attach_type)ATTACH_UPROBE_MULTI : 0;
    program = load(p, BPF_PROG_TYPE_KPROBE, &opts);
    if (program < 0)
        return program;
    link = road == ROAD_MULTI ? attach_multi(program) : attach_perf(program);
    if (link >= 0) {
        scope_check_site();
        close(link);
    }
    close(program);
    return link < 0 ? link : counted(env) > before;
}

static int uprobe_result(int r, const char *what, struct err *err)
{
    if (r > 0)
        err__set(err, 0, "attached to this process and hit");
    else if (!r)
        return err__set(err, EIO, "%s attached, but was not hit", what);
    else
        return err__set(err, -r, "%s: %s", what, strerror(-r));
    return 0;
}

static int try_road(struct check_env *env, enum check_road road, const char *what, struct err *err)
{
    struct program p = {.n = 0};
    int r;

    emit_count_and_exit(&p, env);
    r = run_at_site(env, road, &p, 0);
    if (r > 0 && env->road == ROAD_NONE)
        env->road = road;
    return uprobe_result(r, what, err);
}

int check__uprobe_multi(struct check_env *env, struct err *err)
{
    return try_road(env, ROAD_MULTI, "one link for many sites", err);
}

int check__uprobe_perf(struct check_env *env, struct err *err)
{
    return try_road(env, ROAD_PERF, "a uprobe through perf", err);
}

static int no_road(struct err *err)
{
    return err__set(err, ENOSYS, "not tried: no uprobe can be attached");
}

int check__sleepable(struct check_env *env, struct err *err)
{
    static const uint64_t word = 0x5c09eb9f; /* read through user memory */
    struct program p = {.n = 0};
    int r;

    if (env->road == ROAD_NONE)
        return no_road(err);
    emit_stack_slot(&p, BPF_REG_1);
    emit_set(&p, BPF_REG_2, 8);
    emit_wide(&p, BPF_REG_3, 0, (uint32_t)(uintptr_t)&word, (uint32_t)((uint64_t)(uintptr_t)&word >> 32));
    emit_call(&p, BPF_FUNC_copy_from_user);
    emit_leave_if(&p, BPF_JNE, 0);
    emit(&p, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_10, -8, 0);
    emit_leave_if(&p, BPF_JNE, (int32_t)word);
    emit_count_and_exit(&p, env);
    r = run_at_site(env, env->road, &p, BPF_F_SLEEPABLE);
    return uprobe_result(r, "a program that may sleep", err);
}

int check__send_signal(struct check_env *env, struct err *err)
{
    struct program p = {.n = 0};
    sigset_t wanted, before;
    int r;

    if (env->road == ROAD_NONE)
        return no_road(err);
    emit_set(&p, BPF_REG_1, SIGUSR2);
    emit_call(&p, BPF_FUNC_send_signal);
    emit_leave_if(&p, BPF_JNE, 0);
    emit_count_and_exit(&p, env);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR2);
    sigprocmask(SIG_BLOCK, &wanted, &before);
    r = run_at_site(env, env->road, &p, 0);
    if (r > 0 && sigtimedwait(&wanted, NULL, &(struct timespec){.tv_sec = 1}) != SIGUSR2)
        r = -EIO;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (r > 0)
        return err__set(err, 0, "a program sent this process a signal");
    return uprobe_result(r, "bpf_send_signal", err);
}

/* ---- maps ----------------------------------------------------------------------------------------- */

/* The power of two that the kernel wants, at least a page. */
static uint32_t ring_size(size_t wanted)
{
    uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

    while (size < wanted && size < 1u << 31)
        size <<= 1;
    return size;
}

static int took(void *ctx, void *data, size_t size)
{
    (void)data;
    *(size_t *)ctx += size;
    return 0;
}

static int through_ring(const struct check_env *env, int map, struct err *err)
{
    struct program p = {.n = 0};
    struct ring_buffer *ring;
    size_t bytes = 0;
    int r;

    emit(&p, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 1);
    emit_wide(&p, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)map, 0);
    emit_stack_slot(&p, BPF_REG_2);
    emit_set(&p, BPF_REG_3, 8);
    emit_set(&p, BPF_REG_4, 0);
    emit_call(&p, BPF_FUNC_ringbuf_output);
    emit_leave_if(&p, BPF_JNE, 0);
    emit_count_and_exit(&p, env);
    ring = ring_buffer__new(map, took, &bytes, NULL);
    if (!ring)
        return err__set(err, errno, "cannot map it: %s", strerror(errno));
    r = run_at_site(env, env->road, &p, 0);
    ring_buffer__consume(ring);
    ring_buffer__free(ring);
    if (r > 0 && bytes != 8)
        return err__set(err, EIO, "a record went in, but did not come out");
    return uprobe_result(r, "a program that writes to it", err);
}

int check__ring_buffer(struct check_env *env, struct err *err)
{
    uint32_t size = ring_size(env->buffer);
    int r, map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "scope_check", 0, 0, size, NULL);

    if (map < 0)
        return err__set(err, errno, "%u KiB: %s", size >> 10, strerror(errno));
    r = env->road == ROAD_NONE ? no_road(err) : through_ring(env, map, err);
    close(map);
    if (!r)
        err__set(err, 0, "%u KiB allocated, a record went through", size >> 10);
    return r;
}

/* A map of u64 per task: its types must be told as BTF. */
static int create_task_storage(void)
{
    struct btf *btf = btf__new_empty();
    int map = -ENOMEM, key, value;

    if (!btf)
        return -errno;
    key = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
    value = btf__add_int(btf, "u64", 8, 0);
    if (key > 0 && value > 0) {
        map = btf__load_into_kernel(btf);
        if (!map) {
            LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC,
                        .btf_fd = (uint32_t)btf__fd(btf), .btf_key_type_id = (uint32_t)key,
                        .btf_value_type_id = (uint32_t)value);

            map = bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "scope_check", 4, 8, 0, &opts);
            map = map < 0 ? -errno : map;
        }
    }
    btf__free(btf);
    return map;
}

int check__task_storage(struct check_env *env, struct err *err)
{
    struct program p = {.n = 0};
    int r, map = env->road == ROAD_NONE ? no_road(err) : create_task_storage();

    if (map < 0)
        return env->road == ROAD_NONE ? map : err__set(err, -map, "cannot be created: %s", strerror(-map));
    emit_call(&p, BPF_FUNC_get_current_task_btf);
    emit_wide(&p, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)map, 0);
    emit_move(&p, BPF_REG_2, BPF_REG_0);
    emit_set(&p, BPF_REG_3, 0);
    emit_set(&p, BPF_REG_4, BPF_LOCAL_STORAGE_GET_F_CREATE);
    emit_call(&p, BPF_FUNC_task_storage_get);
    emit_leave_if(&p, BPF_JEQ, 0);
    emit(&p, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_0, 0, 0, 1);
    emit_count_and_exit(&p, env);
    r = run_at_site(env, env->road, &p, 0);
    close(map);
    if (r > 0)
        return err__set(err, 0, "memory of a thread made from a uprobe");
    return uprobe_result(r, "a program that uses it", err);
}

/* ---- BTF, tracepoints, ticks ----------------------------------------------------------------------- */

int check__btf(struct check_env *env, struct err *err)
{
    int id = libbpf_find_vmlinux_btf_id("sched_process_fork", BPF_TRACE_RAW_TP);

    (void)env;
    if (access("/sys/kernel/btf/vmlinux", R_OK))
        return err__set(err, errno, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
    if (id <= 0)
        return err__set(err, ENOENT,
                        "/sys/kernel/btf/vmlinux does not describe the tracepoint sched_process_fork");
    return err__set(err, 0, "types of this kernel in /sys/kernel/btf/vmlinux");
}

int check__bpf_load(struct check_env *env, struct err *err)
{
    struct program p = {.n = 0};
    int fd;

    env->count = bpf_map_create(BPF_MAP_TYPE_ARRAY, "scope_check", 4, 8, 1, NULL);
    if (env->count < 0)
        return err__set(err, errno, "a map: %s", strerror(errno));
    emit_count_and_exit(&p, env);
    fd = load(&p, BPF_PROG_TYPE_KPROBE, NULL);
    if (fd < 0)
        return err__set(err, -fd, "a program for uprobes: %s", strerror(-fd));
    close(fd);
    return err__set(err, 0, "a map and a program for uprobes");
}

static void fork_once(void)
{
    pid_t pid = fork();

    if (!pid)
        _exit(0);
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

int check__tp_btf(struct check_env *env, struct err *err)
{
    LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
    struct program p = {.n = 0};
    int program, link, id = libbpf_find_vmlinux_btf_id("sched_process_fork", BPF_TRACE_RAW_TP);
    uint64_t before = counted(env);

    if (id <= 0)
        return err__set(err, ENOENT, "not tried: no BTF");
    opts.attach_btf_id = (uint32_t)id;
    emit_count_and_exit(&p, env);
    program = load(&p, BPF_PROG_TYPE_TRACING, &opts);
    if (program < 0)
        return err__set(err, -program, "load: %s", strerror(-program));
    link = bpf_raw_tracepoint_open(NULL, program);
    if (link < 0)
        err__set(err, errno, "attach: %s", strerror(errno));
    else
        fork_once();
    close(program);
    if (link < 0)
        return -EPERM;
    close(link);
    if (counted(env) == before)
        return err__set(err, EIO, "attached, but a fork was not seen");
    return err__set(err, 0, "saw a fork");
}

#if defined(__x86_64__)
#define PC_OFFSET 128 /* ip in struct pt_regs */
#else
#define PC_OFFSET 256 /* pc of aarch64 */
#endif

static void burn(double seconds)
{
    struct timespec start, now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) < seconds);
}

int check__sampling(struct check_env *env, struct err *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = 1000,
        .inherit = 1,
        .disabled = 1,
    };
    struct program p = {.n = 0};
    uint64_t before = counted(env);
    int program, event;

    emit_call(&p, BPF_FUNC_get_current_task_btf);
    emit_move(&p, BPF_REG_1, BPF_REG_0);
    emit_call(&p, BPF_FUNC_task_pt_regs);
    emit(&p, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_0, PC_OFFSET, 0);
    emit_leave_if(&p, BPF_JEQ, 0);
    emit_count_and_exit(&p, env);
    program = load(&p, BPF_PROG_TYPE_PERF_EVENT, NULL);
    if (program < 0)
        return err__set(err, -program, "a program for ticks: %s", strerror(-program));
    event = perf_attach(perf_open(&attr, 0, -1), program);
    close(program);
    if (event < 0)
        return err__set(err, -event, "a cpu-clock event of this thread: %s", strerror(-event));
    burn(0.03);
    close(event);
    if (counted(env) == before)
        return err__set(err, EIO, "no tick in 30 ms of work");
    return err__set(err, 0, "%d ticks of cpu-clock in 30 ms of work, 1000 Hz", (int)(counted(env) - before));
}

void check_bpf__deinit(struct check_env *env)
{
    if (env->count >= 0)
        close(env->count);
    env->count = -1;
}
