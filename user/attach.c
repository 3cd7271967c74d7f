/* SPDX-License-Identifier: GPL-2.0-only */
#include "attach.h"

#include "named_groups.h"
#include "nop5.h"
#include "real_file.h"
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
    uint32_t group; /* of sites named at run time, 0 none */
    bool loader; /* not a link over sites */
};

#define REFUSALS_TOLD 5 /* of a file, a line each */

enum nop5_verdict { NOP5_UNTRIED, NOP5_SAFE, NOP5_UNSAFE };

struct attach {
    struct programs *programs;
    struct region_ids *ids;
    const struct pairing *rules;
    struct named_groups named;
    enum nop5_verdict nop5;
    char nop5_why[200];
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

void attach__set_rules(struct attach *a, const struct pairing *rules)
{
    a->rules = rules;
}

const struct pairing *attach__rules(const struct attach *a)
{
    return a->rules;
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
    const struct site **sites; /* NULL: none of a file's table */
    uint64_t *offsets, *ref_ctrs, *cookies;
    size_t n;
    bool has_ref_ctr;
    uint32_t group;
};

static void batch_deinit(struct batch *b)
{
    free(b->sites);
    free(b->offsets);
    free(b->ref_ctrs);
    free(b->cookies);
}

static int batch_init(struct batch *b, struct bpf_program *program, size_t n)
{
    *b = (struct batch){ .program = program };
    b->sites = calloc(n + 1, sizeof(const struct site *));
    b->offsets = calloc(n + 1, sizeof(uint64_t));
    b->ref_ctrs = calloc(n + 1, sizeof(uint64_t));
    b->cookies = calloc(n + 1, sizeof(uint64_t));
    return b->sites && b->offsets && b->ref_ctrs && b->cookies ? 0 : -ENOMEM;
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
        [SITE_NAMED_OPEN] = SB_SITE_NAMED_OPEN,
        [SITE_NAMED_CLOSE] = SB_SITE_NAMED_CLOSE,
    };
    return kinds[s->kind];
}

static uint64_t cookie_of(const struct site *s, uint32_t region)
{
    const struct operand *o = &s->scope;
    unsigned base = o->base >= 0 ? (unsigned)o->base : SB_REG_NONE;
    unsigned index = o->index >= 0 ? (unsigned)o->index : SB_REG_NONE;
    unsigned scale = o->scale > 1 ? (unsigned)__builtin_ctz(o->scale) : 0;

    if (o->kind != OPERAND_MEMORY && o->kind != OPERAND_REGISTER)
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

static bool is_named(const struct site *s)
{
    return s->kind == SITE_NAMED_OPEN || s->kind == SITE_NAMED_CLOSE;
}

static void batch_add(struct batch *b, const struct site *s, uint32_t region)
{
    b->sites[b->n] = s;
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

/* A site that the table allows and the kernel does not. Also tells which one. */
static void refuse_site(struct attach *a, struct attached_file *f, const struct site *s, const char *why)
{
    const struct region_def *r = s->region == SITE_NO_REGION ? NULL : &f->table->regions[s->region];

    a->n_refused++;
    if (++f->n_refused > REFUSALS_TOLD) {
        if (f->n_refused == REFUSALS_TOLD + 1)
            say(a, "%s: refused more sites for such reasons", f->name);
        return;
    }
    say(a, "%s: refused %s:%.*s at 0x%llx: %s", f->name, r ? r->provider : s->provider ? s->provider : "scope",
        r ? (int)r->name_len : 255, r ? r->name : s->probe ? s->probe : "(a shared site)", (unsigned long long)s->vaddr,
        why);
}

static bool nop5_is_safe(struct attach *a)
{
    if (a->nop5 == NOP5_UNTRIED)
        a->nop5 = nop5__is_safe(a->programs, a->nop5_why, sizeof(a->nop5_why)) ? NOP5_SAFE : NOP5_UNSAFE;
    return a->nop5 == NOP5_SAFE;
}

static bool may_attach(struct attach *a, struct attached_file *f, const struct site *s)
{
    char why[256];

    if (!operand_fits(s)) {
        refuse_site(a, f, s, "its frame is larger than 128 MiB");
        return false;
    }
    if (s->nop != SITE_NOP5 || nop5_is_safe(a))
        return true;
    snprintf(why, sizeof(why), "it is a 5-byte nop, not safe here: %s", a->nop5_why);
    refuse_site(a, f, s, why);
    return false;
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
        if (is_named(s) || (s->region != SITE_NO_REGION && ids[s->region] == SB_REGION_NONE) || !may_attach(a, f, s))
            continue;
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
    int r = add_link(a, &(struct site_link){ .fd = fd, .pid = pid, .file = file, .group = b->group });
    if (r)
        close(fd);
    return r;
}

static int link_one(struct attach *a, const struct batch *b, size_t file, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file__fd(a->files[file]->elf));
    LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = b->cookies[0], .ref_ctr_offset = b->ref_ctrs[0]);
    struct bpf_link *link = bpf_program__attach_uprobe_opts(b->program, pid ? pid : -1, path, b->offsets[0], &opts);
    if (!link)
        return -errno;
    int r = add_link(a, &(struct site_link){ .fd = -1, .link = link, .pid = pid, .file = file, .group = b->group });
    if (r)
        bpf_link__destroy(link);
    return r;
}

static struct batch part_of(const struct batch *b, size_t from, size_t n)
{
    struct batch part = *b;

    part.sites += from;
    part.offsets += from;
    part.ref_ctrs += from;
    part.cookies += from;
    part.n = n;
    return part;
}

/*
 * The kernel takes all sites of a link or none, and one reference counter per place: a site that another tracer holds
 * with another one is found by halves and refused by name, the others are attached.  When the first of them are all
 * refused, that is not the reason.
 */
static int link_batch(struct attach *a, const struct batch *b, size_t file, pid_t pid)
{
    struct attached_file *f = a->files[file];
    bool alone = !a->programs->multi, none = !f->n_linked;
    int r;

    if (alone && b->n > 1)
        r = -EINVAL;
    else
        r = alone ? link_one(a, b, file, pid) : link_multi(a, b, file, pid);
    if (!r)
        f->n_linked += b->n;
    if (r != -EINVAL)
        return r;
    if (b->n > 1) {
        size_t half = b->n / 2;
        struct batch first = part_of(b, 0, half), second = part_of(b, half, b->n - half);
        r = link_batch(a, &first, file, pid);
        return r ? r : link_batch(a, &second, file, pid);
    }
    if (none && f->n_refused >= 4 * REFUSALS_TOLD)
        return r;
    refuse_site(a, f, b->sites[0],
                b->ref_ctrs[0] ? "another tracer holds it with another reference counter, or with none; end that one first"
                               : "another tracer holds it with a reference counter, and it has none; end that one first");
    return 0;
}

/* The sites of one provider in one file that are named at run time: a link of their own, which may go before the others. */
static int link_named(struct attach *a, size_t file, pid_t pid, const char *provider)
{
    struct attached_file *f = a->files[file];
    const struct probe_table *t = f->table;
    struct batch b;
    uint32_t number = 0;
    int r = batch_init(&b, a->programs->skel->progs.named_site, t->n_sites);

    r = r ? r : region_ids__provider(a->ids, provider, &number);
    for (size_t i = 0; !r && i < t->n_sites; i++) {
        const struct site *s = &t->sites[i];
        if (!is_named(s) || strcmp(s->provider, provider) != 0 || !may_attach(a, f, s))
            continue;
        b.group = named_groups__get(&a->named, file, s);
        batch_add(&b, s, SB_NAMED(b.group, number, s->scope.kind == OPERAND_REGISTER));
    }
    if (!r && b.n && !a->named.groups[b.group].refused)
        r = link_batch(a, &b, file, pid);
    batch_deinit(&b);
    return r;
}

static int link_all_named(struct attach *a, size_t file, pid_t pid)
{
    const struct probe_table *t = a->files[file]->table;
    int r = 0;

    for (size_t i = 0; !r && i < t->n_sites; i++) {
        size_t before = 0;
        if (!is_named(&t->sites[i]))
            continue;
        while (before < i && (!is_named(&t->sites[before]) || strcmp(t->sites[before].provider, t->sites[i].provider) != 0))
            before++;
        if (before == i)
            r = link_named(a, file, pid, t->sites[i].provider);
    }
    return r;
}

static int link_file(struct attach *a, size_t file, pid_t pid)
{
    struct attached_file *f = a->files[file];
    struct scope_bpf *skel = a->programs->skel;
    struct batch plain, dynamic;
    int r = batch_init(&plain, skel->progs.region_site, f->table->n_sites);

    f->n_linked = 0;
    r = batch_init(&dynamic, skel->progs.dynamic_site, f->table->n_sites) ?: r;
    if (!r)
        r = fill_batches(a, f, &plain, &dynamic);
    if (!r && plain.n)
        r = link_batch(a, &plain, file, pid);
    if (!r && dynamic.n)
        r = link_batch(a, &dynamic, file, pid);
    if (!r)
        r = link_all_named(a, file, pid);
    if (!r) {
        a->n_sites += f->n_sites ? 0 : f->n_linked;
        f->n_sites = f->n_linked;
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
    int r = a->programs->multi ? link_multi(a, &b, file, 0) : link_one(a, &b, file, 0);
    if (!r)
        a->links[a->n_links - 1].loader = true;
    else
        say(a, "%s: cannot watch the loader: %s; a library loaded later is attached late", a->files[file]->name,
            strerror(-r));
    batch_deinit(&b);
}

static struct attached_file *new_file(struct attach *a, const struct stat *st, const struct sb_file_key *real,
                                      const char *name)
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
    f->real = *real;
    a->files[a->n_files++] = f;
    return f;
}

static bool is_elf(int fd)
{
    char magic[4];

    return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", sizeof(magic));
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
        r = probe_table__read(f->elf, a->rules, &f->table, &err);
    }
    if (r) {
        f->problem = strdup(err.text);
        if (r != -ENOEXEC || is_elf(fd)) /* of 32 bits, say; anything may be mapped to be executed */
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

static bool same_file(const struct sb_file_key *a, const struct sb_file_key *b)
{
    return a->ino == b->ino && a->dev == b->dev && a->generation == b->generation;
}

/* Where the kernel does not say what really lies below, a file seen through two mounts is two. */
static size_t index_of_real(const struct attach *a, int fd, const struct stat *st, struct sb_file_key *ret_real)
{
    size_t i = index_of(a, st->st_dev, st->st_ino);

    *ret_real = (struct sb_file_key){ 0 };
    if (i < a->n_files || !S_ISREG(st->st_mode) || real_file__key(a->programs, fd, ret_real))
        return i;
    for (i = 0; i < a->n_files && !same_file(&a->files[i]->real, ret_real);)
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
    const char *hint = code == -EINVAL ? " (the kernel refuses every site of it)"
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
    struct sb_file_key real;
    size_t i = index_of_real(a, fd, &st, &real);
    if (i == a->n_files) {
        struct attached_file *f = new_file(a, &st, &real, name);
        if (!f)
            return err__set(err, ENOMEM, "out of memory at %s", name);
        read_file(a, f, fd);
        if (a->loaders)
            watch_loader(a, i);
    }
    struct attached_file *f = a->files[i];
    if (ret)
        *ret = f;
    if (!f->table || !f->table->n_sites || f->nothing_left || has_link(a, i, pid))
        return 0;
    int r = link_file(a, i, pid);
    if (r)
        return attach_failed(r, name, err);
    f->nothing_left = !f->n_linked;
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

/* Takes the links of a group away; in place, the last ones move. */
static void drop_group(struct attach *a, uint32_t group)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->n_links; i++) {
        if (a->links[i].group == group)
            drop_link(&a->links[i]);
        else
            a->links[kept++] = a->links[i];
    }
    a->n_links = kept;
}

void attach__check_named(struct attach *a, bool last)
{
    for (uint32_t i = 1; i < a->named.n; i++) {
        struct named_group *g = &a->named.groups[i];
        struct sb_balance balance = { 0 };

        if (g->refused || !g->begin || !g->end ||
            bpf_map_lookup_elem(bpf_map__fd(a->programs->skel->maps.named_balance), &i, &balance) ||
            !named_groups__is_unbalanced(&balance, last))
            continue;
        g->refused = true;
        drop_group(a, i);
        say(a, "%s: refused %s:%s,%s: it began %llu times and ended %llu times: this build does not fire the first for "
               "every call, its calls cannot be recorded",
            a->files[g->file]->name, g->provider, g->begin, g->end, (unsigned long long)balance.begins,
            (unsigned long long)balance.ends);
    }
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
