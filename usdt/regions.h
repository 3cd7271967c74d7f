/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_REGIONS_H
#define SCOPE_USDT_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usdt/elf_file.h"
#include "usdt/err.h"
#include "usdt/operand.h"
#include "usdt/pairing.h"

#define SITE_NO_REGION UINT32_MAX

enum site_kind {
    SITE_BEGIN, /* ended by a SITE_END of the same region */
    SITE_END,
    SITE_SCOPE_BEGIN,   /* the call's identity is the effective address of `scope` */
    SITE_SCOPE_END,     /* shared by all regions of the file, matched by the address of `scope` only;
                           region is SITE_NO_REGION */
    SITE_DYNAMIC_BEGIN, /* `scope` is a pointer variable: its value is the name, its address the
                           call's identity; region is SITE_NO_REGION */
    SITE_DYNAMIC_END,   /* `scope` likewise; only the address counts */
    SITE_DYNAMIC_OPEN,  /* the value of `scope` is the name, its address means nothing */
    SITE_DYNAMIC_CLOSE, /* likewise: closes by name and stack pointer */
    SITE_NAMED_OPEN,    /* of other providers: `scope`, a register or memory, holds the pointer to the name */
    SITE_NAMED_CLOSE,
};

/* What stands at the site. */
enum site_nop {
    SITE_NOP1,         /* x86-64: 90 */
    SITE_NOP1_NOP10,   /* x86-64: 90, then 66 2e 0f 1f 84 00 00 00 00 00 */
    SITE_NOP5,         /* x86-64: 0f 1f 44 00 00. Other providers only: on kernels 6.18 to 7.1 attaching
                          there corrupts the program, so it is the collector's decision */
    SITE_NOP4_AARCH64, /* d503201f */
};

struct site {
    uint64_t file_offset, vaddr;
    uint64_t ref_ctr_offset; /* file offset of the semaphore, 0 none */
    enum site_kind kind;
    enum site_nop nop;
    uint8_t nop_len;         /* bytes that are nop here: 1, 11, 5, 4 */
    uint32_t region;         /* index into regions, or SITE_NO_REGION */
    struct operand scope;    /* OPERAND_MEMORY for the SCOPE and DYNAMIC kinds, else where the name is */
    const char *source_file; /* of a begin of the provider `scope`, NULL unknown */
    int32_t source_line;     /* -1 unknown */
    const char *args;        /* as in the note, "" none */
    const char *provider;    /* of the NAMED kinds, else NULL */
    const char *probe;       /* likewise: its name, for messages */
};

/* Identity is (provider, name). Strings are owned by the table and also end in NUL. */
struct region_def {
    const char *provider, *name;
    size_t name_len;         /* exact bytes: a name need not be UTF-8 */
    const char *source_file; /* of the first begin that names one, NULL unknown */
    int32_t source_line;     /* -1 unknown */
    uint32_t n_begin, n_end; /* sites; the shared ends of scopes are not counted in n_end */
    uint32_t n_scope_begin;  /* of n_begin: ended by the shared end */
    const char *problem;     /* NULL, or why calls of it cannot be complete ("has no end", …) */
};

#define REFUSALS_KEPT 1000u

/* A site that must not be touched, or a note that cannot be used. */
struct refusal {
    uint64_t vaddr;
    const char *provider, *probe;
    size_t probe_len;
    const char *why; /* one line, owned by the table */
};

/* A probe of another provider that no rule names: what else the file offers. */
struct foreign_probe {
    const char *provider, *probe;
    size_t probe_len;
    uint32_t n_sites; /* notes with a location in the code */
    uint32_t n_nop5;  /* of these stand on a 5-byte nop */
};

enum notes_state {
    NOTES_PRESENT,
    NOTES_ABSENT,
    NOTES_STRIPPED, /* the notes were removed (llvm-strip does that), the probes are still there */
};

struct probe_table {
    struct region_def *regions; /* in the order of their first note */
    size_t n_regions;
    struct site *sites; /* by file offset, then kind, region; each (offset, kind, region) once */
    size_t n_sites;
    struct refusal *refused;
    size_t n_refused; /* of them the first REFUSALS_KEPT are in `refused` */
    struct foreign_probe *foreign;
    size_t n_foreign;
    size_t n_foreign_notes;
    size_t n_dropped;    /* notes of functions that the linker dropped: location outside the code */
    size_t n_duplicates; /* notes that say again what another one said */
    size_t n_damaged;    /* notes that could not be read; `damage` says why for the first */
    const char *damage;  /* NULL without */
    enum notes_state state;
    size_t n_stripped_sites;                   /* with NOTES_STRIPPED, x86-64: places that look like probes */
    bool has_scope_end;                        /* a SITE_SCOPE_END is among the sites */
    uint64_t gate_offset, gate_ref_ctr_offset; /* __scope__gate, 0 none */
    void *arena;                               /* private */
};

/*
 * Reads, checks and pairs the probes of a file. rules may be NULL: then only the provider `scope`
 * makes regions. A file without notes gives an empty table (look at `state`). A site or note that
 * is refused never stops the others. Errors: those of notes__read.
 */
int probe_table__read(const struct elf_file *file, const struct pairing *rules, struct probe_table **ret,
                      struct err *err);
void probe_table__destroy(struct probe_table *table); /* accepts NULL */

#endif
