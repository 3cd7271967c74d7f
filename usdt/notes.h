/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_NOTES_H
#define SCOPE_USDT_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usdt/elf_file.h"
#include "usdt/err.h"

/*
 * The notes of a program file, decoded but not judged: sites, names and rules are in regions.h.
 * The contract with include/scope_probe.h is in NOTES.md.
 */
#define NOTES_MAX_BYTES (64u << 20) /* of all .note.stapsdt sections of a file together */
#define NOTES_MAX_COUNT 1000000u
#define NOTES_MAX_NAME  255u /* bytes of a provider or region name */
#define NOTES_MAX_ARGS  4096u

enum note_kind {
    NOTE_PROBE,  /* owner stapsdt, type 3 */
    NOTE_SOURCE, /* owner scope: file and line of a begin */
    NOTE_SCOPE,  /* owner scope: operand of a literal name's scope */
};

/* A decoded note. The strings point into the section's bytes, which die with the notes. */
struct note {
    enum note_kind kind;
    uint64_t location;                  /* adjusted by the base */
    uint64_t semaphore;                 /* adjusted, 0 none (probes) */
    const char *provider, *name, *args; /* probes; args also for NOTE_SCOPE; end in NUL */
    size_t provider_len, name_len, args_len;
    const char *source_file; /* NOTE_SOURCE, ends in NUL */
    size_t source_file_len;
    int32_t source_line; /* NOTE_SOURCE */
};

struct notes {
    struct note *notes;
    size_t count;
    size_t n_damaged;       /* notes that are there but not understood: short, no NUL, name too long… */
    char first_damage[128]; /* why the first of them was left out */
    bool has_section;
    bool cut;    /* a section ended inside a note: what follows is unknown */
    void *bytes; /* private */
};

/*
 * 0 also for a file without notes. -EBADMSG impossible sizes, -E2BIG beyond a limit above,
 * -ENOMEM, or the errno of a read.
 */
int notes__read(const struct elf_file *file, struct notes *ret, struct err *err);
void notes__deinit(struct notes *notes);

#endif
