// SPDX-License-Identifier: GPL-2.0-only
/*
 * glibc: the RPATHs of the requester and of those that loaded it (only without a RUNPATH),
 * LD_LIBRARY_PATH, the requester's RUNPATH, ld.so.cache, the default folders; in each folder its
 * glibc-hwcaps first. musl: LD_LIBRARY_PATH, the paths of the requester and of those that loaded
 * it, /etc/ld-musl-ARCH.path or the default folders. A file of another machine is passed over.
 * Not followed: the hwcaps folders of glibc before 2.33 (tls, haswell…).
 */
#include "usdt/lib_search.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usdt/arena.h"
#include "usdt/ld_cache.h"
#include "usdt/rooted.h"

#define MAX_PLACES 1000000u
#define PATH_SIZE  4096u

struct lib_search {
    const struct rooted *rooted;
    enum elf_machine machine;
    bool is_musl;
    const char *library_path;
    char *default_path; /* colons between */
    struct ld_cache *cache;
    const char *hwcaps[4]; /* glibc-hwcaps folders for this CPU, best first, then NULL */
    struct arena *arena;
    struct names folders; /* those that were looked at */
    bool *folder_exists;
    size_t n_folders;
    unsigned int n_places;
};

/* What is looked for, and where it was found. */
struct hunt {
    struct lib_search *search;
    const char *name;
    char path[PATH_SIZE];
    int fd;
    int error; /* that ends the search, 0 none */
};

static const char *const lib_folders[] = {"lib/x86_64-linux-gnu", "lib64", "lib"};
static const char *const lib_folders_aarch64[] = {"lib/aarch64-linux-gnu", "lib64", "lib"};

static const char *const *lib_names(const struct lib_search *search)
{
    return search->machine == ELF_X86_64 ? lib_folders : lib_folders_aarch64;
}

/* The levels of the x86-64 ABI, as far as glibc tests them; own CPU, like the files of a run. */
static void find_hwcaps(struct lib_search *search)
{
#ifdef __x86_64__
    bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") &&
              __builtin_cpu_supports("ssse3");
    bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    size_t n = 0;

    if (search->machine != ELF_X86_64)
        return;
    if (v4)
        search->hwcaps[n++] = "x86-64-v4";
    if (v3)
        search->hwcaps[n++] = "x86-64-v3";
    if (v2)
        search->hwcaps[n++] = "x86-64-v2";
#else
    (void)search;
#endif
}

/* A short text file, blanks and newlines turned into colons; NULL where it is not there. */
static char *read_list(const struct rooted *rooted, const char *path)
{
    int fd = rooted__open(rooted, path);
    char text[PATH_SIZE];
    ssize_t n;

    if (fd < 0)
        return NULL;
    n = pread(fd, text, sizeof(text) - 1, 0);
    close(fd);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    for (char *c = text; *c; c++) {
        if (*c == '\n')
            *c = ':';
    }
    return strdup(text);
}

/* /lib/ld-musl-x86_64.so.1 reads /etc/ld-musl-x86_64.path, below what stands before /lib. */
static char *read_musl_path(const struct lib_search *search, const char *interp)
{
    const char *base = strrchr(interp, '/') + 1, *dot = strstr(base, ".so"),
               *folder = strstr(interp, "/lib/");
    char path[PATH_SIZE], *list;

    snprintf(path, sizeof(path), "%.*s/etc/%.*s.path", folder ? (int)(folder - interp) : 0, interp,
             dot ? (int)(dot - base) : (int)strlen(base), base);
    list = read_list(search->rooted, path);
    return list ? list : strdup("/lib:/usr/local/lib:/usr/lib");
}

static char *glibc_default_path(const struct lib_search *search)
{
    const char *const *names = lib_names(search);
    char *path;

    if (asprintf(&path, "/%s:/usr/%s:/%s:/usr/%s:/%s:/usr/%s", names[0], names[0], names[1], names[1],
                 names[2], names[2]) < 0)
        return NULL;
    return path;
}

static void read_cache(struct lib_search *search)
{
    int fd = rooted__open(search->rooted, "/etc/ld.so.cache");

    if (fd < 0)
        return;
    search->cache = ld_cache__read(fd);
    close(fd);
}

struct lib_search *lib_search__new(const struct rooted *rooted, enum elf_machine machine, const char *interp,
                                   const char *library_path)
{
    struct lib_search *search = calloc(1, sizeof(*search));
    const char *base = strrchr(interp, '/');

    if (!search)
        return NULL;
    search->rooted = rooted;
    search->machine = machine;
    search->library_path = library_path ? library_path : "";
    search->is_musl = base && !strncmp(base, "/ld-musl-", 9);
    search->arena = arena__new();
    names__init(&search->folders, search->arena);
    if (search->is_musl) {
        search->default_path = read_musl_path(search, interp);
    } else {
        search->default_path = glibc_default_path(search);
        find_hwcaps(search);
        read_cache(search);
    }
    if (search->arena && search->default_path)
        return search;
    lib_search__free(search);
    return NULL;
}

void lib_search__free(struct lib_search *search)
{
    if (!search)
        return;
    ld_cache__free(search->cache);
    names__deinit(&search->folders);
    arena__free(search->arena);
    free(search->folder_exists);
    free(search->default_path);
    free(search);
}

bool lib_search__is_musl(const struct lib_search *search)
{
    return search->is_musl;
}

bool lib_search__is_loader(const struct lib_search *search, const char *name)
{
    static const char *const parts[] = {"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."};

    if (!search->is_musl || strncmp(name, "lib", 3))
        return false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strncmp(name + 3, parts[i], strlen(parts[i])))
            return true;
    }
    return false;
}

/* Each folder is looked at once: most of a search path holds nothing, for hundreds of libraries. */
static bool folder_exists(struct hunt *hunt, const char *folder)
{
    struct lib_search *search = hunt->search;
    uint32_t number;
    bool *grown;

    if (!names__intern(&search->folders, folder, strlen(folder), "", 0, &number))
        goto no_memory;
    if (number < search->n_folders)
        return search->folder_exists[number];
    grown = reallocarray(search->folder_exists, number + 1, sizeof(*grown));
    if (!grown)
        goto no_memory;
    search->folder_exists = grown;
    search->folder_exists[number] = rooted__is_folder(search->rooted, folder);
    search->n_folders = number + 1;
    return search->folder_exists[number];
no_memory:
    hunt->error = -ENOMEM;
    return false;
}

static bool right_machine(const struct lib_search *search, int fd)
{
    uint16_t machine = search->machine == ELF_X86_64 ? EM_X86_64 : EM_AARCH64;
    Elf64_Ehdr header;

    return pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
           !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == machine;
}

/* Opens hunt->path. */
static bool try_path(struct hunt *hunt)
{
    hunt->fd = rooted__open(hunt->search->rooted, hunt->path);
    if (hunt->fd < 0)
        return false;
    if (right_machine(hunt->search, hunt->fd))
        return true;
    close(hunt->fd);
    hunt->fd = -1;
    return false;
}

static bool try_folder(struct hunt *hunt, const char *folder)
{
    int n = snprintf(hunt->path, PATH_SIZE, "%s/%s", folder, hunt->name);

    return n > 0 && (unsigned int)n < PATH_SIZE && try_path(hunt);
}

static bool try_folder_and_hwcaps(struct hunt *hunt, const char *folder)
{
    char better[PATH_SIZE];

    if (!folder_exists(hunt, folder))
        return false;
    for (size_t i = 0; hunt->search->hwcaps[i]; i++) {
        int n = snprintf(better, sizeof(better), "%s/glibc-hwcaps/%s", folder, hunt->search->hwcaps[i]);

        if (n > 0 && (size_t)n < sizeof(better) && folder_exists(hunt, better) && try_folder(hunt, better))
            return true;
    }
    return try_folder(hunt, folder);
}

/* The size of the token `$NAME` or `${NAME}` at text, 0 where it is another. */
static size_t token_size(const char *text, const char *name)
{
    size_t len = strlen(name);
    bool braces = text[1] == '{';

    if (text[0] != '$' || strncmp(text + 1 + braces, name, len))
        return 0;
    if (braces)
        return text[2 + len] == '}' ? len + 3 : 0;
    return len + 1;
}

/* What a token at text stands for; NULL for none. variant chooses among the folders of $LIB. */
static const char *expand_token(const struct lib_search *search, const char *text, const char *origin,
                                unsigned int variant, size_t *ret_size)
{
    if ((*ret_size = token_size(text, "ORIGIN")))
        return origin;
    if ((*ret_size = token_size(text, "LIB")))
        return lib_names(search)[variant];
    if ((*ret_size = token_size(text, "PLATFORM")))
        return search->machine == ELF_X86_64 ? "x86_64" : "aarch64";
    return NULL;
}

static bool expand(const struct lib_search *search, const char *text, size_t len, const char *origin,
                   unsigned int variant, char *ret, size_t size)
{
    char copy[PATH_SIZE];
    size_t n = 0;

    if (len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    for (const char *at = copy; *at;) {
        size_t taken, added = 1;
        const char *value = expand_token(search, at, origin, variant, &taken);

        if (!value) {
            value = at;
            taken = 1;
        } else {
            added = strlen(value);
        }
        if (n + added >= size)
            return false;
        memcpy(ret + n, value, added);
        n += added;
        at += taken;
    }
    ret[n] = '\0';
    return true;
}

static unsigned int variants(const char *text, size_t len)
{
    return memmem(text, len, "$LIB", 4) || memmem(text, len, "${LIB}", 6) ? 3 : 1;
}

static bool try_element(struct hunt *hunt, const char *text, size_t len, const char *origin)
{
    char expanded[PATH_SIZE], folder[2 * PATH_SIZE];

    if (++hunt->search->n_places > MAX_PLACES)
        hunt->error = -E2BIG;
    for (unsigned int i = 0; i < variants(text, len) && !hunt->error; i++) {
        if (!expand(hunt->search, text, len, origin, i, expanded, sizeof(expanded)) ||
            !rooted__absolute(hunt->search->rooted, expanded, folder, sizeof(folder)))
            continue;
        if (try_folder_and_hwcaps(hunt, folder))
            return true;
    }
    return false;
}

/* A list of folders; an empty element is the working folder. */
static bool try_list(struct hunt *hunt, const char *list, const char *separators, const char *origin)
{
    if (!list || !*list)
        return false;
    for (;;) {
        size_t len = strcspn(list, separators);

        if (try_element(hunt, len ? list : ".", len ? len : 1, origin))
            return true;
        if (hunt->error || !list[len])
            return false;
        list += len + 1;
    }
}

static bool try_rpaths(struct hunt *hunt, const struct requester *requester)
{
    bool musl = hunt->search->is_musl;

    if (!musl && requester->runpath)
        return false;
    for (const struct requester *r = requester; r && !hunt->error; r = r->loaded_by) {
        const char *path = musl && r->runpath ? r->runpath : r->runpath ? NULL : r->rpath;

        if (try_list(hunt, path, ":", r->origin))
            return true;
    }
    return false;
}

static bool try_cache(struct hunt *hunt, const struct requester *requester)
{
    struct lib_search *search = hunt->search;
    const char *path = search->cache && !requester->no_default_lib
                           ? ld_cache__find(search->cache, search->machine, search->hwcaps, hunt->name)
                           : NULL;
    int n = path ? snprintf(hunt->path, PATH_SIZE, "%s", path) : 0;

    return n > 0 && (unsigned int)n < PATH_SIZE && try_path(hunt);
}

static bool try_glibc(struct hunt *hunt, const struct requester *requester)
{
    if (try_rpaths(hunt, requester) || try_list(hunt, hunt->search->library_path, ":;", requester->origin) ||
        try_list(hunt, requester->runpath, ":", requester->origin) || try_cache(hunt, requester))
        return true;
    return !requester->no_default_lib && try_list(hunt, hunt->search->default_path, ":", requester->origin);
}

static bool try_musl(struct hunt *hunt, const struct requester *requester)
{
    return try_list(hunt, hunt->search->library_path, ":\n", requester->origin) ||
           try_rpaths(hunt, requester) ||
           try_list(hunt, hunt->search->default_path, ":\n", requester->origin);
}

/* A name with a slash is a path. */
static bool try_direct(struct hunt *hunt, const struct requester *requester)
{
    char expanded[PATH_SIZE];

    for (unsigned int i = 0; i < variants(hunt->name, strlen(hunt->name)); i++) {
        if (expand(hunt->search, hunt->name, strlen(hunt->name), requester->origin, i, expanded,
                   sizeof(expanded)) &&
            rooted__absolute(hunt->search->rooted, expanded, hunt->path, PATH_SIZE) && try_path(hunt))
            return true;
    }
    return false;
}

int lib_search__find(struct lib_search *search, const struct requester *requester, const char *name,
                     char **ret_path, int *ret_fd)
{
    struct hunt hunt = {.search = search, .name = name, .fd = -1};
    bool found;

    if (strchr(name, '/'))
        found = try_direct(&hunt, requester);
    else if (search->is_musl)
        found = try_musl(&hunt, requester);
    else
        found = try_glibc(&hunt, requester);
    if (!found)
        return hunt.error ? hunt.error : -ENOENT;
    *ret_path = strdup(hunt.path);
    if (!*ret_path) {
        close(hunt.fd);
        return -ENOMEM;
    }
    *ret_fd = hunt.fd;
    return 0;
}
