// SPDX-License-Identifier: GPL-2.0-only
#include "listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "usdt/closure.h"

struct listing *listing__new(const char *subject)
{
    struct listing *listing = calloc(1, sizeof(*listing));

    if (listing)
        listing->subject = strdup(subject);
    if (listing && !listing->subject) {
        free(listing);
        return NULL;
    }
    return listing;
}

void listing__destroy(struct listing *listing)
{
    if (!listing)
        return;
    for (size_t i = 0; i < listing->n_files; i++) {
        free(listing->files[i].path);
        free(listing->files[i].problem);
        probe_table__destroy(listing->files[i].table);
    }
    for (size_t i = 0; i < listing->n_missing; i++) {
        free(listing->missing[i].name);
        free(listing->missing[i].wanted_by);
    }
    free(listing->seen);
    free(listing->files);
    free(listing->missing);
    free(listing->subject);
    free(listing);
}

/* Reads the probes of one file; what goes wrong becomes its problem. */
static void read_probes(const struct listing *listing, struct listed_file *file, int fd)
{
    struct elf_file *elf = NULL;
    struct err err = {""};
    int r = elf_file__open_fd(fd, file->path, &elf, &err);

    if (!r)
        r = probe_table__read(elf, listing->rules, &file->table, &err);
    if (r)
        file->problem = strdup(err.text);
    elf_file__close(elf);
}

/* A new file at the end, or NULL without memory. */
static struct listed_file *add_file(struct listing *listing, const char *path, const char *role)
{
    struct listed_file *files = realloc(listing->files, (listing->n_files + 1) * sizeof(*files));
    struct listed_file *file;

    if (!files)
        return NULL;
    listing->files = files;
    file = &files[listing->n_files];
    *file = (struct listed_file){.path = strdup(path), .role = role};
    if (!file->path)
        return NULL;
    listing->n_files++;
    return file;
}

static int no_memory(struct err *err)
{
    return err__set(err, ENOMEM, "out of memory");
}

static bool is_executable_file(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* The folder of PATH that has it; an empty folder means the current one. */
static char *search_path(const char *program, const char *folders)
{
    for (;;) {
        size_t len = strcspn(folders, ":");
        char *path;

        if (asprintf(&path, "%.*s%s%s", (int)len, folders, len ? "/" : "./", program) < 0)
            return NULL;
        if (is_executable_file(path))
            return path;
        free(path);
        if (!folders[len])
            return NULL;
        folders += len + 1;
    }
}

int listing__find_program(const char *program, char **ret, struct err *err)
{
    const char *folders = getenv("PATH");

    if (strchr(program, '/')) {
        *ret = strdup(program);
        return *ret ? 0 : no_memory(err);
    }
    *ret = search_path(program, folders ? folders : "/usr/local/bin:/usr/bin:/bin");
    if (*ret)
        return 0;
    if (is_executable_file(program))
        return err__set(err, ENOENT, "%s: not found in PATH; type ./%s for the one in this folder", program,
                        program);
    return err__set(err, ENOENT, "%s: not found in PATH", program);
}

static const char *role_name(enum closure_role role)
{
    static const char *const names[] = {
        [CLOSURE_SCRIPT] = "script",   [CLOSURE_PROGRAM] = "program", [CLOSURE_LOADER] = "loader",
        [CLOSURE_PRELOAD] = "preload", [CLOSURE_LIBRARY] = "library",
    };

    return names[role];
}

static int add_missing(struct listing *listing, const struct closure *closure)
{
    listing->missing = calloc(closure->n_missing + 1, sizeof(*listing->missing));
    if (!listing->missing)
        return -ENOMEM;
    for (size_t i = 0; i < closure->n_missing; i++) {
        struct listed_missing *missing = &listing->missing[listing->n_missing];

        missing->name = strdup(closure->missing[i].name);
        missing->wanted_by = strdup(closure->missing[i].wanted_by);
        listing->n_missing++;
        if (!missing->name || !missing->wanted_by)
            return -ENOMEM;
    }
    return 0;
}

static int add_closure(struct listing *listing, const struct closure *closure, struct err *err)
{
    for (size_t i = 0; i < closure->n_files; i++) {
        const struct closure_file *from = &closure->files[i];
        struct listed_file *file = add_file(listing, from->path, role_name(from->role));

        if (!file)
            return no_memory(err);
        if (from->role != CLOSURE_SCRIPT)
            read_probes(listing, file, from->fd);
    }
    return add_missing(listing, closure) ? no_memory(err) : 0;
}

static int add_opened(struct listing *listing, int fd, const char *path, struct err *err)
{
    const struct closure_options options = {
        .ld_library_path = getenv("LD_LIBRARY_PATH"),
        .ld_preload = getenv("LD_PRELOAD"),
    };
    struct closure *closure = NULL;
    int r = closure__list(fd, path, &options, &closure, err);

    if (!r)
        r = add_closure(listing, closure, err);
    closure__free(closure);
    return r;
}

int listing__add_program(struct listing *listing, const char *program, struct err *err)
{
    char *path = NULL;
    int fd, r = listing__find_program(program, &path, err);

    if (r)
        return r;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        r = err__set(err, errno, "%s: cannot be read: %s", path, strerror(errno));
    else
        r = add_opened(listing, fd, path, err);
    if (fd >= 0)
        close(fd);
    free(path);
    return r;
}

/* An executable mapping of a file, as a line of /proc/PID/maps says it. */
struct listing_mapping {
    unsigned long start, end, inode;
    unsigned int major, minor;
    const char *path; /* inside the line */
};

static bool parse_mapping(char *line, struct listing_mapping *ret)
{
    char permissions[5];
    int at = 0;

    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", &ret->start, &ret->end, permissions, &ret->major,
               &ret->minor, &ret->inode, &at) != 6 ||
        !at)
        return false;
    ret->path = line + at;
    return permissions[2] == 'x' && ret->inode && ret->path[0] == '/';
}

/* Opens name if it is the mapped file: its inode says so. The descriptor or -errno. */
static int open_same(const char *name, unsigned long inode)
{
    struct stat st;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -errno;
    if (!fstat(fd, &st) && st.st_ino == inode)
        return fd;
    close(fd);
    return -ESTALE;
}

/*
 * The mapped file itself; without the right to that the program by its link, which is open to whoever may
 * look at the process, and the file of that name if it is still the same one.
 */
static int open_mapping(pid_t pid, const struct listing_mapping *m)
{
    char name[4200];
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/map_files/%lx-%lx", pid, m->start, m->end);
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        return fd;
    snprintf(name, sizeof(name), "/proc/%d/exe", pid);
    fd = open_same(name, m->inode);
    if (fd >= 0)
        return fd;
    if (snprintf(name, sizeof(name), "/proc/%d/root%s", pid, m->path) >= (int)sizeof(name))
        return -ENAMETOOLONG;
    return open_same(name, m->inode);
}

static void mapping_problem(struct listed_file *file, int error)
{
    const char *why = error == ESTALE ? "was replaced since it was mapped; only root can read the old one"
                                      : strerror(error);

    if (asprintf(&file->problem, "%s: %s", file->path, why) < 0)
        file->problem = NULL;
}

static int add_mapping(struct listing *listing, pid_t pid, const struct listing_mapping *m)
{
    int fd = open_mapping(pid, m);
    struct listed_file *file = add_file(listing, m->path, "mapped");

    if (file) {
        file->pid = pid;
        if (fd < 0)
            mapping_problem(file, -fd);
        else
            read_probes(listing, file, fd);
    }
    if (fd >= 0)
        close(fd);
    return file ? 0 : -ENOMEM;
}

/* Each (device, inode) once. -ENOMEM, 0, or 1: seen before. */
static int remember(struct listing *listing, const struct listing_mapping *m)
{
    struct listing_mapping *seen = listing->seen;

    for (size_t i = 0; i < listing->n_seen; i++) {
        if (seen[i].inode == m->inode && seen[i].major == m->major && seen[i].minor == m->minor)
            return 1;
    }
    seen = realloc(seen, (listing->n_seen + 1) * sizeof(*seen));
    if (!seen)
        return -ENOMEM;
    listing->seen = seen;
    seen[listing->n_seen++] = *m;
    return 0;
}

static int add_mappings(struct listing *listing, pid_t pid, FILE *maps, size_t *ret_lines)
{
    struct listing_mapping m;
    char *line = NULL;
    size_t size = 0;
    int r = 0;

    *ret_lines = 0;
    while (r >= 0 && getline(&line, &size, maps) > 0) {
        ++*ret_lines;
        if (!parse_mapping(line, &m))
            continue;
        r = remember(listing, &m);
        if (!r)
            r = add_mapping(listing, pid, &m);
    }
    free(line);
    return r < 0 ? r : 0;
}

static int cannot_look(pid_t pid, int error, struct err *err)
{
    if (error == ENOENT || error == ESRCH)
        return err__set(err, ESRCH, "there is no process %d", pid);
    if (error == EACCES || error == EPERM)
        return err__set(err, EPERM, "process %d belongs to another user: run as root, or as that user", pid);
    return err__set(err, error, "process %d: cannot read its memory map: %s", pid, strerror(error));
}

int listing__add_process(struct listing *listing, pid_t pid, struct err *err)
{
    char name[64];
    FILE *maps;
    size_t lines;
    int r;

    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    maps = fopen(name, "re");
    if (!maps)
        return cannot_look(pid, errno, err);
    r = add_mappings(listing, pid, maps, &lines);
    if (!r && ferror(maps))
        r = cannot_look(pid, errno, err);
    else if (r)
        r = no_memory(err);
    else if (!lines)
        r = err__set(err, ESRCH, "process %d has no memory: it is a kernel thread or has ended", pid);
    fclose(maps);
    return r;
}
