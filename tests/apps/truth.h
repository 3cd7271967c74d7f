// SPDX-License-Identifier: GPL-2.0-only
/* What a truth program counted itself, as one line of JSON on stdout:
 *
 *   {"app": "throw", "regions": {"outer": {"calls": 2000, "abandoned": 0, "truncated": 0, "overlapping": 0}, ...},
 *    "threads": 1}
 *
 * calls: begins of the region, whatever became of them; abandoned, truncated, overlapping: how many of these. Other
 * keys are the program's own and come behind the regions. Names are printed with JSON escapes. */
#ifndef TRUTH_H
#define TRUTH_H
#include <stdio.h>
#include <stdlib.h>

struct truth {
    long calls, abandoned, truncated, overlapping;
};

static int truth_regions;

static inline void truth_text(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static inline void truth_open(const char *app)
{
    printf("{\"app\": \"%s\", \"regions\": {", app);
    truth_regions = 0;
}

static inline void truth_region(const char *name, struct truth t)
{
    if (truth_regions++)
        printf(", ");
    truth_text(name);
    printf(": {\"calls\": %ld, \"abandoned\": %ld, \"truncated\": %ld, \"overlapping\": %ld}", t.calls, t.abandoned,
           t.truncated, t.overlapping);
}

static inline void truth_calls(const char *name, long calls)
{
    struct truth t = {calls, 0, 0, 0};

    truth_region(name, t);
}

/* own keys: between truth_mid() and truth_close() */
static inline void truth_mid(void)
{
    printf("}");
}

static inline void truth_number(const char *key, long value)
{
    printf(", \"%s\": %ld", key, value);
}

static inline void truth_close(void)
{
    printf("}\n");
    fflush(stdout);
}

static inline void truth_end(void)
{
    truth_mid();
    truth_close();
}

/* the n-th argument as a number, or what holds without it */
static inline long truth_arg(int argc, char **argv, int n, long otherwise)
{
    return argc > n ? strtol(argv[n], NULL, 0) : otherwise;
}

#endif
