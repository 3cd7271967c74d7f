// SPDX-License-Identifier: GPL-2.0-only
/*
 * exec and the loader, played through by reading: the script's interpreters, the program, its
 * loader, the preloaded libraries, then DT_NEEDED breadth first. A library counts once, by the
 * name that asked for it, by its soname and by its inode, as the loader has it.
 */
#include "usdt/closure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "usdt/arena.h"
#include "usdt/elf_file.h"
#include "usdt/lib_search.h"
#include "usdt/rooted.h"

#define MAX_WANTED  65536u
#define SCRIPT_HEAD 256u /* what the kernel reads of a script */
#define PATH_SIZE   4096u

/* A loaded file, with what the search needs of it. */
struct object {
    struct requester requester;
    const char *path;
    const char **needed;
    size_t n_needed;
};

struct walk {
    const char *name; /* of the program, for messages */
    struct rooted rooted;
    struct closure *closure;
    struct arena *arena;
    struct names names; /* that need not be looked for again */
    struct object **objects;
    size_t n_objects;
    unsigned int n_wanted;
    struct lib_search *search;
    struct err *err;
};

static int no_memory(struct walk *walk)
{
    return err__set(walk->err, ENOMEM, "%s: no memory to list its libraries", walk->name);
}

static bool intern(struct walk *walk, const char *name, bool *ret_is_new)
{
    size_t before = walk->names.count;
    uint32_t number;

    if (!names__intern(&walk->names, name, strlen(name), "", 0, &number))
        return false;
    *ret_is_new = number == before;
    return true;
}

static bool has_inode(const struct closure *closure, const struct stat *status)
{
    for (size_t i = 0; i < closure->n_files; i++) {
        if (closure->files[i].dev == status->st_dev && closure->files[i].ino == status->st_ino)
            return true;
    }
    return false;
}

/*
 * Takes the descriptor, also on failure. 1 a new file, 0 one that is there already, or a negative
 * error.
 */
static int add_file(struct walk *walk, int fd, const char *path, enum closure_role role)
{
    struct closure *closure = walk->closure;
    struct closure_file *files;
    struct stat status;
    char *copy;
    int r;

    if (fstat(fd, &status) < 0) {
        r = err__set(walk->err, errno, "%s: cannot be read", path);
        goto fail;
    }
    r = 0;
    if (has_inode(closure, &status))
        goto fail;
    if (closure->n_files == CLOSURE_MAX_FILES) {
        r = err__set(walk->err, E2BIG, "%s: needs more than %u files", walk->name, CLOSURE_MAX_FILES);
        goto fail;
    }
    r = no_memory(walk);
    files = reallocarray(closure->files, closure->n_files + 1, sizeof(*files));
    if (!files)
        goto fail;
    closure->files = files;
    copy = strdup(path);
    if (!copy)
        goto fail;
    files[closure->n_files++] = (struct closure_file){copy, fd, status.st_dev, status.st_ino, role};
    return 1;
fail:
    close(fd);
    return r;
}

static int add_missing(struct walk *walk, const char *name, const char *wanted_by)
{
    struct closure *closure = walk->closure;
    struct closure_missing *missing, entry;

    for (size_t i = 0; i < closure->n_missing; i++) {
        if (!strcmp(closure->missing[i].name, name))
            return 0;
    }
    missing = reallocarray(closure->missing, closure->n_missing + 1, sizeof(*missing));
    if (!missing)
        return no_memory(walk);
    closure->missing = missing;
    entry = (struct closure_missing){strdup(name), strdup(wanted_by)};
    if (!entry.name || !entry.wanted_by) {
        free(entry.name);
        free(entry.wanted_by);
        return no_memory(walk);
    }
    missing[closure->n_missing++] = entry;
    return 0;
}

static const char *copy_string(struct walk *walk, const char *text, bool *failed)
{
    const char *copy = text ? arena__copy(walk->arena, text, strlen(text)) : NULL;

    *failed |= text && !copy;
    return copy;
}

static const char *folder_of(struct walk *walk, const char *path, bool *failed)
{
    const char *slash = strrchr(path, '/');
    const char *folder = arena__copy(walk->arena, path, slash && slash > path ? (size_t)(slash - path) : 0);

    *failed |= !folder;
    if (folder && !*folder)
        return "/";
    return folder;
}

/* Keeps what the search needs of an ELF file, so that the file itself can be closed. */
static int add_object(struct walk *walk, const struct elf_file *file, const char *path,
                      const struct object *loaded_by)
{
    const struct elf_dynamic *dynamic = elf_file__dynamic(file);
    struct object *object = arena__alloc(walk->arena, sizeof(*object));
    struct object **objects = reallocarray(walk->objects, walk->n_objects + 1, sizeof(struct object *));
    bool failed = !object || !objects, is_new;

    if (objects)
        walk->objects = objects;
    if (failed)
        return no_memory(walk);
    *object = (struct object){
        .path = copy_string(walk, path, &failed),
        .needed = arena__alloc(walk->arena, (dynamic->n_needed + 1) * sizeof(char *)),
        .n_needed = dynamic->n_needed,
        .requester =
            {
                .origin = folder_of(walk, path, &failed),
                .rpath = copy_string(walk, dynamic->rpath, &failed),
                .runpath = copy_string(walk, dynamic->runpath, &failed),
                .no_default_lib = dynamic->no_default_lib,
                .loaded_by = loaded_by ? &loaded_by->requester : NULL,
            },
    };
    for (size_t i = 0; object->needed && i < dynamic->n_needed; i++)
        object->needed[i] = copy_string(walk, dynamic->needed[i], &failed);
    if (failed || !object->needed || (dynamic->soname && !intern(walk, dynamic->soname, &is_new)))
        return no_memory(walk);
    walk->objects[walk->n_objects++] = object;
    return 0;
}

/* Takes the descriptor. A library that cannot be read is mapped all the same: listed, not followed. */
static int add_library(struct walk *walk, int fd, const char *path, enum closure_role role,
                       const struct object *loaded_by)
{
    struct elf_file *file;
    int r = add_file(walk, fd, path, role);

    if (r <= 0)
        return r;
    r = elf_file__open_fd(fd, path, &file, NULL);
    if (r < 0)
        return r == -ENOMEM ? no_memory(walk) : 0;
    r = add_object(walk, file, path, loaded_by);
    elf_file__close(file);
    return r;
}

static int want(struct walk *walk, const char *name, enum closure_role role, const struct object *by)
{
    char *path = NULL;
    bool is_new;
    int r, fd = -1;

    if (!*name || lib_search__is_loader(walk->search, name))
        return 0;
    if (++walk->n_wanted > MAX_WANTED)
        return err__set(walk->err, E2BIG, "%s: its libraries ask for more than %u others", walk->name,
                        MAX_WANTED);
    if (!intern(walk, name, &is_new))
        return no_memory(walk);
    if (!is_new)
        return 0;
    r = lib_search__find(walk->search, &by->requester, name, &path, &fd);
    if (r == -ENOENT)
        return add_missing(walk, name, by->path);
    if (r < 0)
        return r == -ENOMEM
                   ? no_memory(walk)
                   : err__set(walk->err, -r, "%s: too many places to look for its libraries", walk->name);
    r = add_library(walk, fd, path, role, by);
    free(path);
    return r < 0 ? r : 0;
}

static int want_list(struct walk *walk, const char *list, const char *separators)
{
    char *copy = list ? strdup(list) : NULL, *rest = copy, *name;
    int r = 0;

    if (list && !copy)
        return no_memory(walk);
    while (!r && (name = strsep(&rest, separators)))
        r = want(walk, name, CLOSURE_PRELOAD, walk->objects[0]);
    free(copy);
    return r;
}

/* /etc/ld.so.preload: names between blanks and colons, # to the end of a line. */
static int want_preload_file(struct walk *walk)
{
    int fd = rooted__open(&walk->rooted, "/etc/ld.so.preload");
    char text[PATH_SIZE];
    ssize_t n;

    if (fd < 0)
        return 0;
    n = pread(fd, text, sizeof(text) - 1, 0);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    for (char *comment = text; (comment = strchr(comment, '#'));) {
        size_t len = strcspn(comment, "\n");

        memset(comment, ' ', len);
    }
    return want_list(walk, text, " \t\n:");
}

static int add_loader(struct walk *walk, const char *interp)
{
    int fd = rooted__open(&walk->rooted, interp);
    bool is_new;

    if (fd < 0)
        return err__set(walk->err, -fd, "%s: its loader %s cannot be opened: %s", walk->name, interp,
                        strerror(-fd));
    if (!intern(walk, interp, &is_new)) {
        close(fd);
        return no_memory(walk);
    }
    /* Loaded by nobody: it looks for nothing. */
    return add_library(walk, fd, interp, CLOSURE_LOADER, NULL);
}

static int walk_libraries(struct walk *walk, const struct elf_file *file,
                          const struct closure_options *options)
{
    const char *interp = elf_file__interp(file);
    int r = add_loader(walk, interp);

    if (r < 0)
        return r;
    walk->search = lib_search__new(&walk->rooted, elf_file__machine(file), interp, options->ld_library_path);
    if (!walk->search)
        return no_memory(walk);
    r = want_list(walk, options->ld_preload, " :");
    if (!r && !lib_search__is_musl(walk->search))
        r = want_preload_file(walk);
    for (size_t i = 0; i < walk->n_objects && !r; i++) {
        struct object *object = walk->objects[i];

        for (size_t k = 0; k < object->n_needed && !r; k++)
            r = want(walk, object->needed[k], CLOSURE_LIBRARY, object);
    }
    return r;
}

/* The path behind a descriptor where the kernel tells it, else the given one; absolute. */
static bool absolute_path(const struct walk *walk, int fd, const char *path, char ret[static PATH_SIZE])
{
    char link[64];
    struct stat by_path, by_fd;
    ssize_t n = -1;

    if (walk->rooted.fd < 0) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, ret, PATH_SIZE - 1);
    }
    if (n > 0 && ret[0] == '/') {
        ret[n] = '\0';
        if (!stat(ret, &by_path) && !fstat(fd, &by_fd) && by_path.st_ino == by_fd.st_ino &&
            by_path.st_dev == by_fd.st_dev)
            return true;
    }
    return rooted__absolute(&walk->rooted, path, ret, PATH_SIZE);
}

/* Reads the #! line: 1 and the interpreter, 0 for no script, or a negative error. */
static int read_script(struct walk *walk, int fd, const char *path, char interp[static SCRIPT_HEAD])
{
    char head[SCRIPT_HEAD + 1], *at, *end;
    ssize_t n = pread(fd, head, SCRIPT_HEAD, 0);

    if (n < 0) {
        int code = errno;

        return err__set(walk->err, code, "%s: cannot be read: %s", path, strerror(code));
    }
    if (n < 2 || memcmp(head, "#!", 2))
        return 0;
    head[n] = '\0';
    at = head + 2 + strspn(head + 2, " \t");
    end = at + strcspn(at, " \t\n");
    if (end == at || (!*end && n == SCRIPT_HEAD))
        return err__set(walk->err, ENOEXEC, "%s: a script without an interpreter in its first line", path);
    *end = '\0';
    strcpy(interp, at);
    return 1;
}

/* Through the scripts to the ELF program; *fd and path follow. */
static int follow_scripts(struct walk *walk, int *fd, char path[static PATH_SIZE])
{
    char interp[SCRIPT_HEAD];

    for (unsigned int depth = 0;; depth++) {
        int r = read_script(walk, *fd, path, interp), next;

        if (r <= 0)
            return r;
        if (depth == CLOSURE_MAX_SCRIPTS)
            return err__set(walk->err, ELOOP, "%s: more than %u scripts that interpret one another",
                            walk->name, CLOSURE_MAX_SCRIPTS);
        next = rooted__open(&walk->rooted, interp);
        if (next < 0)
            return err__set(walk->err, -next, "%s: its interpreter %s cannot be opened: %s", path, interp,
                            strerror(-next));
        r = add_file(walk, *fd, path, CLOSURE_SCRIPT);
        *fd = next;
        if (r < 0)
            return r;
        if (!absolute_path(walk, next, interp, path))
            return err__set(walk->err, ENAMETOOLONG, "%s: too long a name", interp);
    }
}

static int walk_program(struct walk *walk, int *fd, const struct closure_options *options)
{
    char path[PATH_SIZE];
    struct elf_file *file;
    int r;

    if (!absolute_path(walk, *fd, walk->name, path))
        return err__set(walk->err, ENAMETOOLONG, "%s: too long a name", walk->name);
    r = follow_scripts(walk, fd, path);
    if (r < 0)
        return r;
    r = elf_file__open_fd(*fd, path, &file, walk->err);
    if (r < 0)
        return r;
    r = add_file(walk, *fd, path, CLOSURE_PROGRAM);
    *fd = -1;
    if (r >= 0)
        r = add_object(walk, file, path, NULL);
    if (!r && elf_file__interp(file))
        r = walk_libraries(walk, file, options);
    elf_file__close(file);
    return r;
}

static int start_walk(struct walk *walk, const struct closure_options *options)
{
    int r = rooted__init(&walk->rooted, options->root, options->cwd);

    if (r < 0)
        return err__set(walk->err, -r, "%s: its root %s cannot be opened: %s", walk->name,
                        options->root ? options->root : "", strerror(-r));
    walk->arena = arena__new();
    walk->closure = calloc(1, sizeof(*walk->closure));
    names__init(&walk->names, walk->arena);
    return walk->arena && walk->closure ? 0 : no_memory(walk);
}

static void end_walk(struct walk *walk)
{
    rooted__deinit(&walk->rooted);
    lib_search__free(walk->search);
    names__deinit(&walk->names);
    free(walk->objects);
    arena__free(walk->arena);
}

int closure__list(int fd, const char *path, const struct closure_options *options, struct closure **ret,
                  struct err *err)
{
    static const struct closure_options defaults;
    struct walk walk = {.name = path, .err = err, .rooted = {.fd = -1}};
    int r, own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    if (own < 0)
        return err__set(err, errno, "%s: its descriptor cannot be used", path);
    if (!options)
        options = &defaults;
    r = start_walk(&walk, options);
    if (!r)
        r = walk_program(&walk, &own, options);
    if (own >= 0)
        close(own);
    end_walk(&walk);
    if (r < 0)
        closure__free(walk.closure);
    else
        *ret = walk.closure;
    return r < 0 ? r : 0;
}

void closure__free(struct closure *closure)
{
    if (!closure)
        return;
    for (size_t i = 0; i < closure->n_files; i++) {
        if (closure->files[i].fd >= 0)
            close(closure->files[i].fd);
        free(closure->files[i].path);
    }
    for (size_t i = 0; i < closure->n_missing; i++) {
        free(closure->missing[i].name);
        free(closure->missing[i].wanted_by);
    }
    free(closure->files);
    free(closure->missing);
    free(closure);
}

int closure__take_fd(struct closure *closure, size_t file)
{
    int fd = closure->files[file].fd;

    closure->files[file].fd = -1;
    return fd;
}
