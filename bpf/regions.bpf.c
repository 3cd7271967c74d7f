/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens at a probe site.  The cookie of the attachment says which region begins or ends there; see events.h.
 *
 * The end time is taken first and the begin time last, so that the region holds as little of our work as possible.
 * Every call of a helper counts here, the more where returns are mitigated: a begin makes three, an end five.
 */
#include "threads.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#if defined(__TARGET_ARCH_x86)
#define STACK_POINTER(ctx) ((ctx)->sp)
#define INSTRUCTION_POINTER(ctx) ((ctx)->ip)

/* DWARF number → position in struct pt_regs, in words. */
static const u8 place_of_register[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };

static __always_inline u32 register_place(u32 n)
{
    return n < sizeof(place_of_register) ? place_of_register[n] : 0;
}
#define NO_BASE SB_REG_NONE
#else
#define STACK_POINTER(ctx) ((ctx)->sp)
#define INSTRUCTION_POINTER(ctx) ((ctx)->pc)

static __always_inline u32 register_place(u32 n)
{
    return n; /* x0 … x30, then sp */
}
#define NO_BASE 32
#endif

/* The verifier refuses a variable offset into the context as a load, not as an address to read from. */
static __always_inline u64 dwarf_register(struct pt_regs *ctx, u32 n)
{
    u64 value = 0;

    bpf_probe_read_kernel(&value, sizeof(value), (const u64 *)ctx + register_place(n));
    return value;
}

static __always_inline u64 operand_address(struct pt_regs *ctx, u64 cookie)
{
    u64 address = SB_COOKIE_OFFSET(cookie);
    u32 index = SB_COOKIE_INDEX(cookie);
    u32 base = SB_COOKIE_BASE(cookie);

    if (base != NO_BASE)
        address += dwarf_register(ctx, base);
    if (index != SB_REG_NONE)
        address += dwarf_register(ctx, index) << SB_COOKIE_SCALE(cookie);
    return address;
}

#define IS_BEGIN(kind) ((kind) == SB_SITE_BEGIN || (kind) == SB_SITE_SCOPE_BEGIN)

SEC("kprobe")
int region_site(struct pt_regs *ctx)
{
    u64 cookie = bpf_get_attach_cookie(ctx);
    u32 kind = SB_COOKIE_KIND(cookie);
    u64 now = IS_BEGIN(kind) ? 0 : bpf_ktime_get_ns();
    struct task_struct *task = bpf_get_current_task_btf();
    u32 pid = task->tgid;
    struct thread_state *st = thread_of(task, pid, true);
    u64 sp = STACK_POINTER(ctx);

    if (!st)
        return 0;
    switch (kind) {
    case SB_SITE_BEGIN:
        begin(st, pid, SB_COOKIE_REGION(cookie), INSTRUCTION_POINTER(ctx), sp);
        break;
    case SB_SITE_SCOPE_BEGIN:
        begin(st, pid, SB_COOKIE_REGION(cookie) | BY_SCOPE, operand_address(ctx, cookie), sp);
        break;
    case SB_SITE_END:
        end_by_name(st, pid, SB_COOKIE_REGION(cookie), sp, now);
        break;
    case SB_SITE_SCOPE_END:
    case SB_SITE_DYNAMIC_END:
        end_by_scope(st, pid, operand_address(ctx, cookie), now);
        break;
    }
    return 0;
}

/* The floor of a pair's cost: what the kernel takes to run an empty program at a site (bench, calibration). */
SEC("kprobe")
int empty_site(struct pt_regs *ctx)
{
    return 0;
}

#define PAGE_BYTES 4096

/*
 * Reads the name at `address`: first without faulting; where a page is not there yet, it is faulted in as the
 * program itself would have done.  A name that runs into a page that does not exist ends at the page's end.
 * The length with its NUL, or negative.
 */
static __always_inline long read_name(struct name_key *key, const char *address)
{
    u64 left = PAGE_BYTES - ((u64)address & (PAGE_BYTES - 1));
    char byte;
    long n = bpf_probe_read_user_str(key->name, sizeof(key->name), address);

    if (n >= 0)
        return n;
    if (bpf_copy_from_user(&byte, 1, address))
        return -1;
    n = bpf_probe_read_user_str(key->name, sizeof(key->name), address);
    if (n >= 0 || left > SB_NAME_MAX)
        return n;
    if (!bpf_copy_from_user(&byte, 1, address + left))
        return bpf_probe_read_user_str(key->name, sizeof(key->name), address);
    if (bpf_probe_read_user(key->name, left & SB_NAME_MAX, address))
        return -1;
    return left + 1;
}

static __always_inline u32 new_name(struct name_key *key, u32 len)
{
    struct sb_name *r = bpf_ringbuf_reserve(&cold_ring, sizeof(*r), 0);
    u32 id, *found;

    if (!r)
        return SB_REGION_OTHER;
    id = __sync_fetch_and_add(&next_dynamic, 1);
    if (id >= SB_MAX_DYNAMIC) {
        __sync_fetch_and_add(&next_dynamic, -1);
        bpf_ringbuf_discard(r, 0);
        return SB_REGION_OTHER;
    }
    id += SB_REGION_FIRST_DYNAMIC;
    if (bpf_map_update_elem(&dynamic_names, key, &id, BPF_NOEXIST)) {
        bpf_ringbuf_discard(r, 0);
        found = bpf_map_lookup_elem(&dynamic_names, key);
        return found ? *found : SB_REGION_OTHER; /* another thread was faster */
    }
    r->type = SB_COLD_NAME;
    r->len = len;
    r->provider = key->provider;
    r->region = id;
    bpf_probe_read_kernel(r->name, sizeof(r->name), key->name);
    bpf_ringbuf_submit(r, 0);
    return id;
}

/*
 * The region that is called as the text at `address`; 0 is no text.  Where nothing can begin (`known_only`) a name that
 * nobody began makes no region.
 */
static __always_inline u32 named_region(struct name_key *key, const char *address, bool known_only)
{
    long n = address ? read_name(key, address) : -1;
    u32 *found;

    if (n < 0)
        return SB_REGION_OTHER;
    found = bpf_map_lookup_elem(&dynamic_names, key);
    if (found)
        return *found;
    if (known_only)
        return SB_REGION_OTHER;
    return new_name(key, n ? n - 1 : 0);
}

/* A call without a name of its own is counted once: where it begins. */
static __always_inline void count_unnamed(const struct thread_state *st, u32 pid, u32 region)
{
    if (region == SB_REGION_OTHER)
        count_lost(pid, st->lane, SB_REGION_OTHER, SB_LOST_NAME);
}

static __always_inline u64 read_pointer(u64 address)
{
    u64 value = 0;

    return bpf_copy_from_user(&value, sizeof(value), (void *)address) ? 0 : value;
}

/* Sites whose name is known at run time only. */
SEC("uprobe.s")
int dynamic_site(struct pt_regs *ctx)
{
    u64 now = bpf_ktime_get_ns();
    struct task_struct *task = bpf_get_current_task_btf();
    u32 pid = task->tgid;
    struct thread_state *st = thread_of(task, pid, true);
    struct name_key key = {};
    u64 cookie, operand;
    u32 region, kind;

    if (!st)
        return 0;
    cookie = bpf_get_attach_cookie(ctx);
    operand = operand_address(ctx, cookie);
    kind = SB_COOKIE_KIND(cookie);
    region = named_region(&key, (const char *)read_pointer(operand), false);
    if (kind != SB_SITE_DYNAMIC_CLOSE)
        count_unnamed(st, pid, region);
    if (kind == SB_SITE_DYNAMIC_BEGIN)
        begin(st, pid, region | BY_SCOPE, operand, STACK_POINTER(ctx));
    else if (kind == SB_SITE_DYNAMIC_OPEN)
        begin(st, pid, region, INSTRUCTION_POINTER(ctx), STACK_POINTER(ctx));
    else if (kind == SB_SITE_DYNAMIC_CLOSE)
        end_by_name(st, pid, region, STACK_POINTER(ctx), now);
    return 0;
}

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, SB_MAX_NAMED_GROUPS);
    __type(key, u32);
    __type(value, struct sb_balance);
} named_balance SEC(".maps");

static __always_inline void count_balance(u32 group, bool is_begin)
{
    struct sb_balance *b = bpf_map_lookup_elem(&named_balance, &group);

    if (b)
        __sync_fetch_and_add(is_begin ? &b->begins : &b->ends, 1);
}

/*
 * Sites of other providers whose argument names the region. An interpreter runs many of its functions in one frame of
 * the machine: a begin with the stack pointer of an open call proves nothing here, so each depth is an identity.
 */
SEC("uprobe.s")
int named_site(struct pt_regs *ctx)
{
    u64 now = bpf_ktime_get_ns();
    struct task_struct *task = bpf_get_current_task_btf();
    u32 pid = task->tgid;
    struct thread_state *st = thread_of(task, pid, true);
    struct name_key key = {};
    u64 cookie, name;
    u32 region, what;
    bool is_begin;

    if (!st)
        return 0;
    cookie = bpf_get_attach_cookie(ctx);
    what = SB_COOKIE_REGION(cookie);
    is_begin = SB_COOKIE_KIND(cookie) == SB_SITE_NAMED_OPEN;
    count_balance(SB_NAMED_GROUP(what), is_begin);
    key.provider = SB_NAMED_PROVIDER(what);
    name = SB_NAMED_IN_REGISTER(what) ? dwarf_register(ctx, SB_COOKIE_BASE(cookie))
                                      : read_pointer(operand_address(ctx, cookie));
    region = named_region(&key, (const char *)name, !is_begin);
    if (is_begin) {
        count_unnamed(st, pid, region);
        begin(st, pid, region, st->depth, STACK_POINTER(ctx));
    } else {
        end_by_name(st, pid, region, STACK_POINTER(ctx), now);
    }
    return 0;
}
