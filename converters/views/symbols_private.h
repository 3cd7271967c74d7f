/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_SYMBOLS_PRIVATE_H
#define SCOPE_SYMBOLS_PRIVATE_H

#include "converters/views/symbols.h"

#include <elfutils/libdwfl.h>

struct unit_span {
    Dwarf_Addr low, high;
    Dwarf_Off unit;
};

struct binary {
    struct text path, build_id;
    enum binary_state state;
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf *dwarf;
    GElf_Addr elf_bias;
    Dwarf_Addr dwarf_bias;
    struct unit_span *spans; /* ascending */
    size_t n_spans, cap_spans;
};

struct source { /* one file of source text */
    struct text path;
    char *bytes;
    size_t size;
    uint32_t *lines; /* offset of each */
    uint32_t n_lines;
};

struct symbols {
    struct arena *arena;
    struct binary **binaries;
    size_t n_binaries;
    struct source *sources;
    size_t n_sources;
    bool demangler_tried;
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

bool units__read(struct binary *b); /* false: no unit has code */

#endif
