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
#define NOTES_MAX_NAME  255u  /* bytes of a provider, a region or a foreign probe */
#define NOTES_MAX_PROBE 271u  /* bytes of a probe's name: a region's and a suffix */
#define NOTES_MAX_ARGS  4096u /* bytes of an argument string or of a source file's name */

enum note_kind {
    NOTE_PROBE,  /* owner stapsdt, type 3 */
    NOTE_SOURCE, /* owner scope, type 0x5301: file and line of the begin before it */
    NOTE_SCOPE,  /* owner scope, type 0x5302: operand of a literal name's scope */
};

/*
 * A decoded note. The strings end in NUL and point into the section's bytes, which die with the
 * notes.
 */
struct note {
    enum note_kind kind;
    int32_t source_line;         /* NOTE_SOURCE */
    uint64_t location;           /* adjusted by the base */
    uint64_t semaphore;          /* adjusted likewise, 0 none; probes */
    const char *provider, *name; /* probes */
    const char *text;            /* arguments of a probe, file of NOTE_SOURCE, operand of NOTE_SCOPE */
    uint32_t provider_len, name_len, text_len;
};

struct notes {
    struct note *notes; /* in the order of the file */
    size_t count;
    size_t n_damaged;   /* notes left out: too short, no NUL, a name that is empty or too long */
    const char *damage; /* why the first of them was left out, NULL without; a constant */
    bool has_section;
    void *bytes; /* private */
};

/*
 * 0 also for a file without notes. -EBADMSG sizes that cannot be (a section beyond the file, a
 * note beyond its section), -E2BIG beyond a limit above, -ENOMEM, or the errno of a read.
 */
int notes__read(const struct elf_file *file, struct notes *ret, struct err *err);
void notes__deinit(struct notes *notes);

#endif
