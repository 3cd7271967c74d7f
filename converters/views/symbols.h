/* SPDX-License-Identifier: GPL-2.0-only */
/* From addresses to functions and source lines.  Owner of libdw: nobody else includes its headers. */
#ifndef SCOPE_SYMBOLS_H
#define SCOPE_SYMBOLS_H

#include "converters/model.h"

struct symbols;
struct binary; /* one file, read once */

enum binary_state {
    BINARY_OK,
    BINARY_NO_LINES, /* has symbols at most: not compiled with -g, or stripped */
    BINARY_GONE,     /* no such file now */
    BINARY_CHANGED,  /* another build than the one that was sampled */
    BINARY_NO_FILE,  /* [vdso], anonymous memory */
    BINARY_BAD,      /* not an ELF file that can be read */
};

struct frame {
    struct text function; /* {NULL, 0}: unknown */
    struct text file;     /* {NULL, 0}: unknown */
    int line;             /* 0 unknown */
};

/* The innermost frame is where the address is; the others are the calls that were inlined, outwards. */
struct place {
    const struct frame *frames; /* n >= 1; live as long as the symbols */
    unsigned n;
};

struct symbols *symbols__create(void); /* NULL: no memory */
void symbols__destroy(struct symbols *s);

/* The same path and build-id give the same binary. NULL: no memory. */
struct binary *symbols__binary(struct symbols *s, const struct module *module);
enum binary_state binary__state(const struct binary *b);
struct text binary__path(const struct binary *b);

/* An address of the ELF file (run-time address minus bias), exactly as it was sampled. */
struct place symbols__lookup(struct symbols *s, struct binary *b, uint64_t address);

/* The text of a source line without the blanks around it; {NULL, 0}: not to be read here. */
struct text symbols__source(struct symbols *s, struct text file, int line);

#endif
