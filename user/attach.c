/* SPDX-License-Identifier: GPL-2.0-only */
#include "attach.h"

#include "scope.skel.h"

#include "usdt/elf_symbol.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACE_UPROBE_MULTI 48

/* What holds sites: a multi link's descriptor, or one libbpf link per site. */
struct site_link {
    int fd;
    struct bpf_link *link;
    pid_t pid;
    size_t file;
    bool loader; /* not a link over sites */
};

struct attach {
    struct programs *programs;
    struct region_ids *ids;
    struct attached_file **files; /* pointers: they are handed out and must not move */
    size_t n_files, cap_files;
    struct site_link *links;
    size_t n_links, cap_links;
    size_t n_sites, n_refused;
    bool loaders;
    void (*say)(void *arg, const char *line);
    void *say_arg;
};

struct attach *attach__create(struct programs *programs, struct region_ids *ids)
{
    struct attach *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->programs = programs;
    a->ids = ids;
    return a;
}

static void free_file(struct attached_file *f)
{
    probe_table__destroy(f->table);
    elf_file__close(f->elf);
    free(f->name);
    free(f->problem);
    free(f);
}

void attach__destroy(struct attach *a)
{
    if (!a)
        return;
    attach__detach(a, false);
    for (size_t i = 0; i < a->n_files; i++)
        free_file(a->files[i]);
    free(a->files);
    free(a->links);
    free(a);
}

void attach__set_say(struct attach *a, void (*say)(void *arg, const char *line), void *arg)
{
    a->say = say;
    a->say_arg = arg;
}

void attach__watch_loaders(struct attach *a)
{
    a->loaders = true;
}

int attach__multi_link(int program_fd, int file_fd, const uint64_t *offsets, const uint64_t *ref_ctrs,
                       const uint64_t *cookies, size_t n, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags;
        uint64_t path, offsets, ref_ctr_offsets, cookies;
        uint32_t cnt, link_flags, pid, pad;
    } attr = { .prog_fd = (uint32_t)program_fd,
               .attach_type = TRACE_UPROBE_MULTI,
               .path = (uint64_t)(uintptr_t)path,
               .offsets = (uint64_t)(uintptr_t)offsets,
               .ref_ctr_offsets = (uint64_t)(uintptr_t)ref_ctrs,
               .cookies = (uint64_t)(uintptr_t)cookies,
               .cnt = (uint32_t)n,
               .pid = (uint32_t)pid };
    long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
    return fd < 0 ? -errno : (int)fd;
}

static int add_link(struct attach *a, const struct site_link *link)
{
    if (a->n_links == a->cap_links) {
        size_t cap = a->cap_links ? 2 * a->cap_links : 64;
        struct site_link *links = realloc(a->links, cap * sizeof(*links));
        if (!links)
            return -ENOMEM;
        a->links = links;
        a->cap_links = cap;
    }
    a->links[a->n_links++] = *link;
    return 0;
}

/* The sites of one program (plain or sleepable), as the kernel wants them. */
struct batch {
    struct bpf_program *program;
    uint64_t *offsets, *ref_ctrs, *cookies;
    size_t n;
    bool has_ref_ctr;
};

static void batch_deinit(struct batch *b)
{
    free(b->offsets);
    free(b->ref_ctrs);
    free(b->cookies);
}

static int batch_init(struct batch *b, struct bpf_program *program, size_t n)
{
    *b = (struct batch){ .program = program };
    b->offsets = calloc(n + 1, sizeof(uint64_t));
    b->ref_ctrs = calloc(n + 1, sizeof(uint64_t));
    b->cookies = calloc(n + 1, sizeof(uint64_t));
    return b->offsets && b->ref_ctrs && b->cookies ? 0 : -ENOMEM;
}

static unsigned kind_of(const struct site *s)
{
    static const unsigned char kinds[] = {
        [SITE_BEGIN] = SB_SITE_BEGIN,
        [SITE_END] = SB_SITE_END,
        [SITE_SCOPE_BEGIN] = SB_SITE_SCOPE_BEGIN,
        [SITE_SCOPE_END] = SB_SITE_SCOPE_END,
        [SITE_DYNAMIC_BEGIN] = SB_SITE_DYNAMIC_BEGIN,
        [SITE_DYNAMIC_END] = SB_SITE_DYNAMIC_END,
        [SITE_DYNAMIC_OPEN] = SB_SITE_DYNAMIC_OPEN,
        [SITE_DYNAMIC_CLOSE] = SB_SITE_DYNAMIC_CLOSE,
    };
    return kinds[s->kind];
}

static uint64_t cookie_of(const struct site *s, uint32_t region)
{
    const struct operand *o = &s->scope;
    unsigned base = o->base >= 0 ? (unsigned)o->base : SB_REG_NONE;
    unsigned index = o->index >= 0 ? (unsigned)o->index : SB_REG_NONE;
    unsigned scale = o->scale > 1 ? (unsigned)__builtin_ctz(o->scale) : 0;

    if (o->kind != OPERAND_MEMORY)
        return SB_COOKIE(region, kind_of(s), SB_REG_NONE, SB_REG_NONE, 0, 0);
    return SB_COOKIE(region, kind_of(s), base, index, scale, o->offset);
}

/* The offset has 28 bits of the cookie. */
static bool operand_fits(const struct site *s)
{
    return s->scope.kind != OPERAND_MEMORY || (s->scope.offset >= -(1 << 27) && s->scope.offset < 1 << 27);
}

/* By address and without a name: ends of scopes and what BPF names at run time. */
static bool is_plain(const struct site *s)
{
    return s->kind == SITE_SCOPE_END || s->kind == SITE_DYNAMIC_END || s->region != SITE_NO_REGION;
}

static void batch_add(struct batch *b, const struct site *s, uint32_t region)
{
    b->offsets[b->n] = s->file_offset;
    b->ref_ctrs[b->n] = s->ref_ctr_offset;
    b->cookies[b->n] = cookie_of(s, region);
    b->has_ref_ctr |= s->ref_ctr_offset != 0;
    b->n++;
}

static void say(struct attach *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct attach *a, const char *format, ...)
{
    struct err line;
    char text[sizeof(line.text)];
    va_list args;

    if (!a->say)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err__set(&line, 1, "%s", text); /* makes control characters harmless */
    a->say(a->say_arg, line.text);
}

static int number_region(struct attach *a, const struct region_def *r, uint32_t *ret_id)
{
    if (!region_ids__wanted(a->ids, r->provider, r->name, r->name_len)) {
        *ret_id = SB_REGION_NONE;
        return 0;
    }
    return region_ids__get(a->ids, r->provider, r->name, r->name_len, r->source_file, r->source_line, ret_id);
}

static void tell_refusals(struct attach *a, const struct attached_file *f)
{
    const struct probe_table *t = f->table;

    a->n_refused += t->n_refused;
    for (size_t i = 0; i < t->n_refused && i < 5; i++)
        say(a, "%s: refused %s:%.*s at 0x%llx: %s", f->name, t->refused[i].provider, (int)t->refused[i].probe_len,
            t->refused[i].probe, (unsigned long long)t->refused[i].vaddr, t->refused[i].why);
    if (t->n_refused > 5)
        say(a, "%s: refused %zu more sites (`scope-bpf --list` shows them)", f->name, t->n_refused - 5);
    for (size_t i = 0; i < t->n_regions; i++)
        if (t->regions[i].problem)
            say(a, "%s: region %.*s %s", f->name, (int)t->regions[i].name_len, t->regions[i].name,
                t->regions[i].problem);
    if (t->damage)
        say(a, "%s: %zu damaged notes left out: %s", f->name, t->n_damaged, t->damage);
}

static int fill_batches(struct attach *a, struct attached_file *f, struct batch *plain, struct batch *dynamic)
{
    const struct probe_table *t = f->table;
    uint32_t *ids = calloc(t->n_regions + 1, sizeof(*ids));
    int r = ids ? 0 : -ENOMEM;

    for (size_t i = 0; !r && i < t->n_regions; i++)
        r = number_region(a, &t->regions[i], &ids[i]);
    for (size_t i = 0; !r && i < t->n_sites; i++) {
        const struct site *s = &t->sites[i];
        if (s->region != SITE_NO_REGION && ids[s->region] == SB_REGION_NONE)
            continue;
        if (!operand_fits(s)) {
            a->n_refused++;
            say(a, "%s: refused the site at 0x%llx: its frame is larger than 128 MiB", f->name,
                (unsigned long long)s->vaddr);
            continue;
        }
        batch_add(is_plain(s) ? plain : dynamic, s, s->region == SITE_NO_REGION ? 0 : ids[s->region]);
    }
    free(ids);
    return r;
}

static int link_multi(struct attach *a, const struct batch *b, size_t file, pid_t pid)
{
    int fd = attach__multi_link(bpf_program__fd(b->program), elf_file__fd(a->files[file]->elf), b->offsets,
                                b->has_ref_ctr ? b->ref_ctrs : NULL, b->cookies, b->n, pid);
    if (fd < 0)
        return fd;
    int r = add_link(a, &(struct site_link){ .fd = fd, .pid = pid, .file = file });
    if (r)
        close(fd);
    return r;
}

static int link_each(struct attach *a, const struct batch *b, size_t file, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file__fd(a->files[file]->elf));

    for (size_t i = 0; i < b->n; i++) {
        LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = b->cookies[i], .ref_ctr_offset = b->ref_ctrs[i]);
        struct bpf_link *link = bpf_program__attach_uprobe_opts(b->program, pid ? pid : -1, path, b->offsets[i], &opts);
        if (!link)
            return -errno;
        int r = add_link(a, &(struct site_link){ .fd = -1, .link = link, .pid = pid, .file = file });
        if (r) {
            bpf_link__destroy(link);
            return r;
        }
    }
    return 0;
}

static int link_file(struct attach *a, size_t file, pid_t pid)
{
    struct attached_file *f = a->files[file];
    struct scope_bpf *skel = a->programs->skel;
    struct batch plain, dynamic;
    int r = batch_init(&plain, skel->progs.region_site, f->table->n_sites);

    r = batch_init(&dynamic, skel->progs.dynamic_site, f->table->n_sites) ?: r;
    if (!r)
        r = fill_batches(a, f, &plain, &dynamic);
    int (*link)(struct attach *, const struct batch *, size_t, pid_t) = a->programs->multi ? link_multi : link_each;
    if (!r && plain.n)
        r = link(a, &plain, file, pid);
    if (!r && dynamic.n)
        r = link(a, &dynamic, file, pid);
    if (!r) {
        a->n_sites += f->n_sites ? 0 : plain.n + dynamic.n;
        f->n_sites = plain.n + dynamic.n;
    }
    batch_deinit(&plain);
    batch_deinit(&dynamic);
    return r;
}

/* glibc and musl have both symbols; a file without them is no loader. */
static void watch_loader(struct attach *a, size_t file)
{
    const struct elf_file *elf = a->files[file]->elf;
    struct batch b;
    uint64_t state, debug;
    bool indirect = false;

    if (!elf || elf_file__interp(elf) || elf_symbol__find(elf, "_dl_debug_state", &state))
        return;
    if (elf_symbol__find(elf, "_r_debug", &debug)) {
        indirect = true;
        if (elf_symbol__find(elf, "_dl_debug_addr", &debug))
            return;
    }
    if (batch_init(&b, a->programs->skel->progs.loader_state, 1) || elf_file__vaddr_to_offset(elf, state, &b.offsets[0])) {
        batch_deinit(&b);
        return;
    }
    b.cookies[0] = SB_LOADER_COOKIE(debug - state, indirect);
    b.n = 1;
    int r = a->programs->multi ? link_multi(a, &b, file, 0) : link_each(a, &b, file, 0);
    if (!r)
        a->links[a->n_links - 1].loader = true;
    else
        say(a, "%s: cannot watch the loader: %s; a library loaded later is attached late", a->files[file]->name,
            strerror(-r));
    batch_deinit(&b);
}

static struct attached_file *new_file(struct attach *a, const struct stat *st, const char *name)
{
    if (a->n_files == a->cap_files) {
        size_t cap = a->cap_files ? 2 * a->cap_files : 64;
        struct attached_file **files = realloc(a->files, cap * sizeof(struct attached_file *));
        if (!files)
            return NULL;
        a->files = files;
        a->cap_files = cap;
    }
    struct attached_file *f = calloc(1, sizeof(*f));
    if (!f || !(f->name = strdup(name))) {
        free(f);
        return NULL;
    }
    f->dev = st->st_dev;
    f->ino = st->st_ino;
    a->files[a->n_files++] = f;
    return f;
}

/* Reads the file once.  A file that cannot be used is remembered with its problem; it does not stop the others. */
static void read_file(struct attach *a, struct attached_file *f, int fd)
{
    struct err err;
    int r = elf_file__open_fd(fd, f->name, &f->elf, &err);

    if (!r) {
        const uint8_t *id = elf_file__build_id(f->elf, &f->build_id_len);
        if (f->build_id_len > sizeof(f->build_id))
            f->build_id_len = sizeof(f->build_id);
        if (id)
            memcpy(f->build_id, id, f->build_id_len);
        r = probe_table__read(f->elf, NULL, &f->table, &err);
    }
    if (r) {
        f->problem = strdup(err.text);
        if (r != -ENOEXEC)
            say(a, "%s", err.text);
        return;
    }
    tell_refusals(a, f);
}

static size_t index_of(const struct attach *a, dev_t dev, ino_t ino)
{
    size_t i = 0;
    while (i < a->n_files && (a->files[i]->dev != dev || a->files[i]->ino != ino))
        i++;
    return i;
}

static bool has_link(const struct attach *a, size_t file, pid_t pid)
{
    for (size_t i = 0; i < a->n_links; i++)
        if (a->links[i].file == file && !a->links[i].loader && (!a->links[i].pid || a->links[i].pid == pid))
            return true;
    return false;
}

static int attach_failed(int code, const char *name, struct err *err)
{
    const char *hint = code == -EINVAL ? " (another tracer may hold one of its sites with another reference counter)"
                       : code == -EPERM || code == -EACCES ? " (run it with sudo, or see `make install-caps`)"
                       : code == -ESRCH ? " (the process ended)"
                                        : "";
    return err__set(err, -code, "cannot attach to %s: %s%s", name, strerror(-code), hint);
}

int attach__file(struct attach *a, int fd, const char *name, pid_t pid, const struct attached_file **ret,
                 bool *ret_fresh, struct err *err)
{
    struct stat st;
    if (ret_fresh)
        *ret_fresh = false;
    if (fstat(fd, &st))
        return err__set(err, errno, "cannot look at %s: %s", name, strerror(errno));
    size_t i = index_of(a, st.st_dev, st.st_ino);
    if (i == a->n_files) {
        struct attached_file *f = new_file(a, &st, name);
        if (!f)
            return err__set(err, ENOMEM, "out of memory at %s", name);
        read_file(a, f, fd);
        if (a->loaders)
            watch_loader(a, i);
    }
    struct attached_file *f = a->files[i];
    if (ret)
        *ret = f;
    if (!f->table || !f->table->n_sites || has_link(a, i, pid))
        return 0;
    int r = link_file(a, i, pid);
    if (r)
        return attach_failed(r, name, err);
    if (ret_fresh)
        *ret_fresh = f->n_sites > 0;
    return 0;
}

const struct attached_file *attach__find(const struct attach *a, dev_t dev, ino_t ino)
{
    size_t i = index_of(a, dev, ino);
    return i < a->n_files ? a->files[i] : NULL;
}

const struct attached_file *attach__nth(const struct attach *a, size_t i)
{
    return i < a->n_files ? a->files[i] : NULL;
}

size_t attach__sites(const struct attach *a)
{
    return a->n_sites;
}

size_t attach__refused(const struct attach *a)
{
    return a->n_refused;
}

static void drop_link(struct site_link *l)
{
    if (l->fd >= 0)
        close(l->fd);
    bpf_link__destroy(l->link);
}

void attach__detach(struct attach *a, bool background)
{
    bool slow = background && a->n_links && !a->programs->multi;
    pid_t pid = slow ? fork() : -1;

    if (slow && pid == 0) {
        /* We hold the links too: the parent's closing is quick then, our exit takes its time.  Nobody may wait for
         * us: neither the terminal nor a reader of our output. */
        setsid();
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        usleep(100000);
        _exit(0);
    }
    for (size_t i = 0; i < a->n_links; i++)
        drop_link(&a->links[i]);
    a->n_links = 0;
}
