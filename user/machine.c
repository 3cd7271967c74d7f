// SPDX-License-Identifier: GPL-2.0-only
#include "machine.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAX_VALUE  60000 /* characters, as the reference cuts them: an HDF5 attribute ends at 64 KiB */
#define CUT_MARKER "...[truncated]"

extern char **environ;

/* Variables that the reference records under their own names when they are set and not empty. */
static const char *const variables[] = {
    "LD_LIBRARY_PATH", "LOADEDMODULES",          "MODULEPATH", "MODULESHOME",
    "MODULES_CMD",     "MODULES_RUN_QUARANTINE", "PATH",       "PYTHON_HOME",
    "PYTHON_INC",      "PYTHON_INCLUDE",         "PYTHON_LIB", "VIRTUAL_ENV",
};

static const char *find_variable(char *const *environment, const char *name)
{
    size_t len = strlen(name);

    for (; *environment; environment++) {
        if (!strncmp(*environment, name, len) && (*environment)[len] == '=')
            return *environment + len + 1;
    }
    return NULL;
}

/* Bytes of the first n characters (UTF-8), or all. */
static size_t prefix_bytes(const char *text, size_t n)
{
    size_t at = 0;

    for (; text[at]; at++) {
        if ((text[at] & 0xc0) != 0x80 && !n--)
            break;
    }
    return at;
}

static int put_cut(const struct machine_sink *sink, const char *key, const char *value)
{
    size_t keep = prefix_bytes(value, MAX_VALUE - strlen(CUT_MARKER));
    char *text = malloc(keep + sizeof(CUT_MARKER));

    if (!text)
        return -ENOMEM;
    memcpy(text, value, keep);
    memcpy(text + keep, CUT_MARKER, sizeof(CUT_MARKER));
    sink->text(sink->arg, key, text);
    free(text);
    return 0;
}

static int put_text(const struct machine_sink *sink, const char *key, const char *value)
{
    if (value[prefix_bytes(value, MAX_VALUE)])
        return put_cut(sink, key, value);
    sink->text(sink->arg, key, value);
    return 0;
}

/* Python's platform.platform(): Linux-6.18.44-x86_64-with-glibc2.36 */
static void platform_text(const struct utsname *name, char *text, size_t size)
{
    char libc[64] = "";
    const char *version;
    size_t at = 0;

    /* "glibc 2.36"; another libc does not know the question */
    if (confstr(_CS_GNU_LIBC_VERSION, libc, sizeof(libc)) == 0)
        libc[0] = 0;
    version = strchr(libc, ' ');
    snprintf(text, size, "%s-%s-%s-with-%.*s%s", name->sysname, name->release, name->machine,
             (int)strcspn(libc, " "), libc, version ? version + 1 : "");
    for (char *c = text; *c; c++) {
        char clean = *c == ' ' ? '_' : strchr("/\\:;\"()", *c) ? '-' : *c;

        if (clean != '-' || !at || text[at - 1] != '-')
            text[at++] = clean;
    }
    while (at && text[at - 1] == '-')
        at--;
    text[at] = 0;
}

static char *trimmed(char *text)
{
    size_t len;

    text += strspn(text, " \t");
    len = strlen(text);
    while (len && strchr(" \t\n", text[len - 1]))
        text[--len] = 0;
    return text;
}

static void chip_text(const struct utsname *name, char *text, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[1024];

    snprintf(text, size, "%s", *name->machine ? name->machine : "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');

        if (!colon)
            continue;
        *colon = 0;
        if (!strcasecmp(trimmed(line), "model name") || !strcasecmp(trimmed(line), "cpu model")) {
            snprintf(text, size, "%s", trimmed(colon + 1));
            break;
        }
    }
    if (file)
        fclose(file);
}

int machine__cpus(void)
{
    cpu_set_t set;

    if (!sched_getaffinity(0, sizeof(set), &set))
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The outermost level of "8,2"; what is no number counts as not set. */
static int64_t omp_threads(const struct machine_options *options, char *const *environment)
{
    const char *value = find_variable(environment, "OMP_NUM_THREADS");
    char *end;
    long n;

    if (value) {
        n = strtol(value, &end, 10);
        end += strspn(end, " \t");
        if (end != value && (!*end || *end == ',') && n > 0 && n <= INT_MAX)
            return n;
    }
    return options->openmp_threads > 0 ? options->openmp_threads : 1;
}

static int put_minimal(const struct machine_options *options, const struct machine_sink *sink,
                       const struct utsname *name, char *const *environment)
{
    char text[1024];

    platform_text(name, text, sizeof(text));
    sink->text(sink->arg, "platform", text);
    chip_text(name, text, sizeof(text));
    sink->text(sink->arg, "chip_information", text);
    sink->integer(sink->arg, "omp_num_threads", omp_threads(options, environment));
    return options->label ? put_text(sink, "label", options->label) : 0;
}

/* LOADEDMODULES, a list with colons. */
static int put_modules(const struct machine_sink *sink, char *const *environment)
{
    const char *value = find_variable(environment, "LOADEDMODULES");
    char *copy = strdup(value ? value : ""), *rest = copy, *item;
    const char **items = copy ? calloc(strlen(copy) / 2 + 1, sizeof(*items)) : NULL;
    size_t n = 0;

    if (items) {
        while ((item = strsep(&rest, ":"))) {
            if (*item)
                items[n++] = item;
        }
        sink->list(sink->arg, "modules", items, n);
    }
    free(items);
    free(copy);
    return items ? 0 : -ENOMEM;
}

static int put_slurm(const struct machine_sink *sink, char *const *environment)
{
    int r = 0;

    for (; !r && *environment; environment++) {
        const char *variable = *environment, *value = strchr(variable, '=');
        char key[256];

        if ((strncmp(variable, "SLURM_", 6) != 0 && strncmp(variable, "SLURMD_", 7) != 0) || !value ||
            !value[1])
            continue;
        if (snprintf(key, sizeof(key), "%.*s", (int)(value - variable), variable) < (int)sizeof(key))
            r = put_text(sink, key, value + 1);
    }
    return r;
}

static int put_variables(const struct machine_sink *sink, char *const *environment)
{
    int r = 0;

    for (size_t i = 0; !r && i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = find_variable(environment, variables[i]);

        if (value && *value)
            r = put_text(sink, variables[i], value);
    }
    return r ? r : put_slurm(sink, environment);
}

static int put_full(const struct machine_options *options, const struct machine_sink *sink,
                    const struct utsname *name, char *const *environment)
{
    char text[sizeof(*name) + 8];
    char *folder = getcwd(NULL, 0);
    int r;

    sink->text(sink->arg, "hostname", name->nodename);
    snprintf(text, sizeof(text), "%s %s %s %s %s", name->sysname, name->nodename, name->release,
             name->version, name->machine);
    sink->text(sink->arg, "uname", text);
    r = put_text(sink, "working_directory", folder ? folder : "");
    free(folder);
    r = r ? r : put_text(sink, "user", options->user ? options->user : "");
    r = r ? r : put_modules(sink, environment);
    return r ? r : put_variables(sink, environment);
}

int machine__collect(const struct machine_options *options, const struct machine_sink *sink)
{
    char *const *environment = options->environment ? options->environment : environ;
    struct utsname name = {""};
    int r;

    uname(&name);
    r = put_minimal(options, sink, &name, environment);
    return r || !options->full ? r : put_full(options, sink, &name, environment);
}
