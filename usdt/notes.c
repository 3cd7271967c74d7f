// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/notes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "usdt/bytes.h"

#define TYPE_STAPSDT 3u
#define TYPE_SOURCE  0x5301u
#define TYPE_SCOPE   0x5302u

static const char section_name[] = ".note.stapsdt";

/* What the decoding of one section needs besides its bytes. */
struct reader {
    const struct elf_file *file;
    struct notes *notes;
    size_t capacity;
    bool has_base; /* .stapsdt.base is there */
    uint64_t base;
    uint64_t move; /* of the probe note before: its owner's notes carry no base of their own */
};

static bool is_note_section(const struct elf_section *section)
{
    return section->type == SHT_NOTE && !strcmp(section->name, section_name);
}

static int check_section(const struct elf_file *file, const struct elf_section *section, uint64_t *total,
                         struct err *err)
{
    uint64_t size = elf_file__size(file);

    if (section->offset > size || section->size > size - section->offset)
        return err__set(err, EBADMSG, "%s: the section %s lies beyond the end of the file",
                        elf_file__name(file), section_name);
    if (section->flags & SHF_COMPRESSED)
        return err__set(err, EBADMSG, "%s: the section %s is compressed, as no linker does",
                        elf_file__name(file), section_name);
    *total += section->size;
    if (*total > NOTES_MAX_BYTES)
        return err__set(err, E2BIG, "%s: more than %u MiB of probe notes", elf_file__name(file),
                        NOTES_MAX_BYTES >> 20);
    return 0;
}

/* Memory for all sections together, so that pointers into it stay. */
static int allocate(const struct elf_file *file, struct notes *notes, struct err *err)
{
    uint64_t total = 0;
    size_t count;
    const struct elf_section *sections = elf_file__sections(file, &count);

    for (size_t i = 0; i < count; i++) {
        int r;

        if (!is_note_section(&sections[i]))
            continue;
        notes->has_section = true;
        r = check_section(file, &sections[i], &total, err);
        if (r < 0)
            return r;
    }
    notes->bytes = malloc(total + 1);
    if (!notes->bytes)
        return err__set(err, ENOMEM, "%s: no memory for its probe notes", elf_file__name(file));
    return 0;
}

static struct note *add_note(struct reader *reader, struct err *err)
{
    struct notes *notes = reader->notes;

    if (notes->count == NOTES_MAX_COUNT) {
        err__set(err, E2BIG, "%s: more than %u probe notes", elf_file__name(reader->file), NOTES_MAX_COUNT);
        return NULL;
    }
    if (notes->count == reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity * 2 : 64;
        struct note *grown = reallocarray(notes->notes, capacity, sizeof(*grown));

        if (!grown) {
            err__set(err, ENOMEM, "%s: no memory for its probe notes", elf_file__name(reader->file));
            return NULL;
        }
        notes->notes = grown;
        reader->capacity = capacity;
    }
    return &notes->notes[notes->count++];
}

static bool take_text(struct bytes *desc, size_t max, const char **ret, uint32_t *ret_len)
{
    size_t len;

    if (!bytes__string(desc, ret, &len) || len > max)
        return false;
    *ret_len = (uint32_t)len;
    return true;
}

static const char *decode_probe(struct reader *reader, struct bytes desc, struct note *note)
{
    uint64_t base;

    if (!bytes__u64(&desc, &note->location) || !bytes__u64(&desc, &base) ||
        !bytes__u64(&desc, &note->semaphore))
        return "a note is shorter than its addresses";
    if (!take_text(&desc, NOTES_MAX_NAME, &note->provider, &note->provider_len))
        return "a provider has no end or more than 255 bytes";
    if (!take_text(&desc, NOTES_MAX_PROBE, &note->name, &note->name_len))
        return "a probe's name has no end or more than 255 bytes";
    if (!take_text(&desc, NOTES_MAX_ARGS, &note->text, &note->text_len))
        return "a probe's arguments have no end or more than 4096 bytes";
    if (!note->provider_len || !note->name_len)
        return "a probe has no name";
    /* A tool that moved the file after linking (prelink) moved the base section with it. */
    reader->move = reader->has_base && base ? reader->base - base : 0;
    note->location += reader->move;
    if (note->semaphore)
        note->semaphore += reader->move;
    return NULL;
}

static const char *decode_source(struct reader *reader, struct bytes desc, struct note *note)
{
    uint32_t line;

    if (!bytes__u64(&desc, &note->location) || !bytes__u32(&desc, &line))
        return "a source note is too short";
    if (!take_text(&desc, NOTES_MAX_ARGS, &note->text, &note->text_len))
        return "a source file's name has no end or more than 4096 bytes";
    note->location += reader->move;
    note->source_line = line && line <= INT32_MAX ? (int32_t)line : -1;
    return NULL;
}

static const char *decode_scope(struct reader *reader, struct bytes desc, struct note *note)
{
    if (!bytes__u64(&desc, &note->location))
        return "a scope note is too short";
    if (!take_text(&desc, NOTES_MAX_ARGS, &note->text, &note->text_len))
        return "a scope's operand has no end or more than 4096 bytes";
    note->location += reader->move;
    return NULL;
}

static bool owner_is(const uint8_t *owner, uint32_t size, const char *name)
{
    return size == strlen(name) + 1 && !memcmp(owner, name, size);
}

/* Which note this is; false for an owner or a type that is not ours to read. */
static bool find_kind(const uint8_t *owner, uint32_t size, uint32_t type, enum note_kind *ret)
{
    if (owner_is(owner, size, "stapsdt") && type == TYPE_STAPSDT)
        *ret = NOTE_PROBE;
    else if (owner_is(owner, size, "scope") && type == TYPE_SOURCE)
        *ret = NOTE_SOURCE;
    else if (owner_is(owner, size, "scope") && type == TYPE_SCOPE)
        *ret = NOTE_SCOPE;
    else
        return false;
    return true;
}

static int decode(struct reader *reader, enum note_kind kind, struct bytes desc, struct err *err)
{
    static const char *(*const decoders[])(struct reader *, struct bytes, struct note *) = {
        [NOTE_PROBE] = decode_probe,
        [NOTE_SOURCE] = decode_source,
        [NOTE_SCOPE] = decode_scope,
    };
    struct note note = {.kind = kind, .source_line = -1}, *added;
    const char *why = decoders[kind](reader, desc, &note);

    if (why) {
        if (!reader->notes->n_damaged++)
            reader->notes->damage = why;
        return 0;
    }
    added = add_note(reader, err);
    if (!added)
        return reader->notes->count == NOTES_MAX_COUNT ? -E2BIG : -ENOMEM;
    *added = note;
    return 0;
}

static bool take_padded(struct bytes *b, uint32_t size, const uint8_t **ret)
{
    size_t padding = -(size_t)size & 3;

    if (!bytes__take(b, size, ret))
        return false;
    /* The last description of a section need not be padded. */
    bytes__skip(b, padding < b->left ? padding : b->left);
    return true;
}

static int read_section(struct reader *reader, struct bytes bytes, struct err *err)
{
    size_t size = bytes.left;

    while (bytes.left >= 12) {
        size_t start = size - bytes.left;
        uint32_t owner_size = 0, desc_size = 0, type = 0;
        const uint8_t *owner, *desc;
        enum note_kind kind;
        int r;

        bytes__u32(&bytes, &owner_size);
        bytes__u32(&bytes, &desc_size);
        bytes__u32(&bytes, &type);
        if (!take_padded(&bytes, owner_size, &owner) || !take_padded(&bytes, desc_size, &desc))
            return err__set(
                err, EBADMSG,
                "%s: the probe note at byte %zu of %s has impossible sizes (%u + %u bytes, %zu are left)",
                elf_file__name(reader->file), start, section_name, owner_size, desc_size, size - start - 12);
        if (!find_kind(owner, owner_size, type, &kind))
            continue;
        r = decode(reader, kind, (struct bytes){desc, desc_size}, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_all(const struct elf_file *file, struct notes *notes, struct err *err)
{
    const struct elf_section *base = elf_file__section(file, ".stapsdt.base");
    struct reader reader = {.file = file, .notes = notes, .has_base = base, .base = base ? base->vaddr : 0};
    size_t count;
    const struct elf_section *sections = elf_file__sections(file, &count);
    uint8_t *at = notes->bytes;
    int r = 0;

    for (size_t i = 0; i < count && !r; i++) {
        if (!is_note_section(&sections[i]))
            continue;
        r = elf_file__read(file, sections[i].offset, at, sections[i].size, err);
        if (!r)
            r = read_section(&reader, (struct bytes){at, sections[i].size}, err);
        at += sections[i].size;
    }
    return r;
}

int notes__read(const struct elf_file *file, struct notes *ret, struct err *err)
{
    struct notes notes = {0};
    int r;

    if (elf_file__section_damage(file))
        return err__set(err, EBADMSG, "%s: damaged ELF file: %s", elf_file__name(file),
                        elf_file__section_damage(file));
    r = allocate(file, &notes, err);
    if (!r && notes.has_section)
        r = read_all(file, &notes, err);
    if (r < 0)
        notes__deinit(&notes);
    else
        *ret = notes;
    return r;
}

void notes__deinit(struct notes *notes)
{
    free(notes->notes);
    free(notes->bytes);
    *notes = (struct notes){0};
}
