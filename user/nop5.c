/* SPDX-License-Identifier: GPL-2.0-only */
#include "nop5.h"

#include "attach.h"
#include "scope.skel.h"
#include "usdt/elf_file.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

#define CALLS   1000
#define WAIT_MS 2000

/*
 * A leaf that fills its red zone (the 128 bytes below the stack pointer), passes the nop, and counts the
 * words that are not what it wrote.
 */
uint64_t scope_nop5_leaf(void);
extern const uint8_t scope_nop5_site[];
__asm__(".pushsection .text\n"
        ".p2align 6\n"
        ".globl scope_nop5_leaf, scope_nop5_site\n"
        ".hidden scope_nop5_leaf, scope_nop5_site\n"
        ".type scope_nop5_leaf, @function\n"
        "scope_nop5_leaf:\n"
        "    movabs $0x5ca1ab1e0ddba11, %rdx\n"
        "    mov $-16, %rcx\n"
        "1:  mov %rdx, (%rsp,%rcx,8)\n"
        "    inc %rcx\n"
        "    jnz 1b\n"
        "scope_nop5_site:\n"
        "    .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
        "    xor %eax, %eax\n"
        "    mov $-16, %rcx\n"
        "2:  cmp %rdx, (%rsp,%rcx,8)\n"
        "    je 3f\n"
        "    inc %eax\n"
        "3:  inc %rcx\n"
        "    jnz 2b\n"
        "    ret\n"
        ".size scope_nop5_leaf, . - scope_nop5_leaf\n"
        ".popsection\n");

static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

struct outcome {
    uint32_t corrupted;          /* calls */
    uint8_t bytes[sizeof(nop5)]; /* at the site */
};

static struct outcome call_leaf(void)
{
    struct outcome o = {0};

    for (int i = 0; i < CALLS; i++)
        o.corrupted += scope_nop5_leaf() != 0;
    memcpy(o.bytes, scope_nop5_site, sizeof(o.bytes));
    return o;
}

/* Once with the breakpoint and once after it was taken away, each when the parent says so. */
static void child(int fd)
{
    char go;

    for (int i = 0; i < 2 && read(fd, &go, 1) == 1; i++) {
        struct outcome o = call_leaf();
        if (write(fd, &o, sizeof(o)) != sizeof(o))
            break;
    }
    _exit(0);
}

static bool ask(int fd, struct outcome *ret)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return write(fd, "g", 1) == 1 && poll(&p, 1, WAIT_MS) == 1 && read(fd, ret, sizeof(*ret)) == sizeof(*ret);
}

static int first_object(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static int find_site(int fd, uint64_t *ret_offset)
{
    struct elf_file *elf = NULL;
    struct err err;
    uint64_t bias = 0;
    int r = elf_file__open_fd(fd, "scope-bpf", &elf, &err);

    dl_iterate_phdr(first_object, &bias);
    if (!r)
        r = elf_file__vaddr_to_offset(elf, (uint64_t)(uintptr_t)scope_nop5_site - bias, ret_offset);
    elf_file__close(elf);
    return r;
}

/* The breakpoint for one process only: nobody else who runs this program may feel it. */
static int link_site(const struct programs *p, int fd, uint64_t offset, pid_t pid, struct bpf_link **ret_link)
{
    struct bpf_program *program = p->skel->progs.empty_site;
    uint64_t cookie = 0;

    *ret_link = NULL;
    if (p->multi)
        return attach__multi_link(bpf_program__fd(program), fd, &offset, NULL, &cookie, 1, pid);
    *ret_link = bpf_program__attach_uprobe(program, false, pid, "/proc/self/exe", offset);
    return *ret_link ? -1 : -errno;
}

/* 6.18 to 7.1 have the call. */
static bool kernel_is_known_bad(void)
{
    struct utsname u;
    unsigned major, minor;

    if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
        return true;
    return (major == 6 && minor >= 18) || (major == 7 && minor <= 1);
}

static bool judge(const struct outcome *during, const struct outcome *after, char *why, size_t size)
{
    if (during->corrupted || during->bytes[0] == 0xe8)
        snprintf(why, size,
                 "this kernel makes it a call, which overwrote data of %u of %d calls when tried on "
                 "scope-bpf itself",
                 during->corrupted, CALLS);
    else if (after->corrupted || memcmp(after->bytes, nop5, sizeof(nop5)) != 0)
        snprintf(why, size,
                 "this kernel does not put it back when it is detached: tried on scope-bpf itself");
    else if (kernel_is_known_bad())
        snprintf(why, size, "kernels 6.18 to 7.1 make it a call that overwrites data of the program");
    else
        return true;
    return false;
}

static bool try_on_child(const struct programs *p, int exe, uint64_t offset, int fd, pid_t pid, char *why,
                         size_t size)
{
    struct outcome during, after;
    struct bpf_link *link;
    int r = link_site(p, exe, offset, pid, &link);
    bool good = false;

    if (r < 0 && !link) {
        snprintf(why, size, "the trial on scope-bpf itself could not be attached: %s", strerror(-r));
        return false;
    }
    good = ask(fd, &during);
    if (r >= 0)
        close(r);
    bpf_link__destroy(link);
    good = good && ask(fd, &after);
    if (good)
        return judge(&during, &after, why, size);
    snprintf(why, size, "the trial on scope-bpf itself did not end well");
    return false;
}

bool nop5__is_safe(const struct programs *programs, char *why, size_t size)
{
    int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fds[2] = {-1, -1};
    uint64_t offset;
    bool safe = false;
    pid_t pid = -1;

    snprintf(why, size, "the trial on scope-bpf itself could not be started");
    if (exe >= 0 && !find_site(exe, &offset) && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
        pid = fork();
    if (pid == 0) {
        close(fds[0]);
        child(fds[1]);
    }
    if (fds[1] >= 0)
        close(fds[1]);
    if (pid > 0) {
        safe = try_on_child(programs, exe, offset, fds[0], pid, why, size);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    if (fds[0] >= 0)
        close(fds[0]);
    if (exe >= 0)
        close(exe);
    return safe;
}

#else

bool nop5__is_safe(const struct programs *programs, char *why, size_t size)
{
    (void)programs;
    snprintf(why, size, "this machine has no such instruction");
    return false;
}

#endif
