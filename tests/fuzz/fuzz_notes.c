// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile bytes for the room usdt/. The first byte of an input chooses what the rest is: a whole
 * ELF file, the notes of a right one, an argument string, a pairing rule, a glob, or ld.so.cache.
 *
 *   clang -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -I. -Itests/unit -o fuzz_notes
 *         tests/fuzz/fuzz_notes.c tests/unit/elf_writer.c and all of usdt
 * With -DFUZZ_REPLAY there is a main that runs each file named on the command line once (for gcc);
 * `--seeds FOLDER` writes first inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_writer.h"
#include "usdt/closure.h"
#include "usdt/glob.h"
#include "usdt/ld_cache.h"
#include "usdt/operand.h"
#include "usdt/pairing.h"
#include "usdt/regions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

/* What a table promises to those who attach. */
static void check_table(const struct elf_file *file, const struct probe_table *table)
{
    for (size_t i = 0; i < table->n_sites; i++) {
        const struct site *site = &table->sites[i];
        const struct elf_segment *segment = elf_file__segment_at(file, site->vaddr, 1);

        must(segment && segment->executable);
        must(site->file_offset < elf_file__size(file));
        must(site->region == SITE_NO_REGION || site->region < table->n_regions);
        must(site->kind == SITE_BEGIN || site->kind == SITE_END || site->scope.kind == OPERAND_MEMORY);
        must(site->args &&
             (site->nop_len == 1 || site->nop_len == 11 || site->nop_len == 5 || site->nop_len == 4));
    }
    for (size_t i = 0; i < table->n_regions; i++) {
        must(table->regions[i].name_len && table->regions[i].name_len <= 255);
        must(table->regions[i].n_begin || table->regions[i].n_end);
    }
}

static void read_file(const uint8_t *data, size_t size)
{
    struct pairing *rules = pairing__new();
    int fd = elf_image__open(data, size);
    struct probe_table *table;
    struct closure *closure;
    struct elf_file *file;
    struct err err;

    pairing__add(rules, "db:*__start,*__done", &err);
    if (elf_file__open_fd(fd, "fuzz", &file, &err) == 0) {
        if (probe_table__read(file, rules, &table, &err) == 0) {
            check_table(file, table);
            probe_table__destroy(table);
        }
        elf_file__close(file);
    }
    if (closure__list(fd, "/fuzz", NULL, &closure, &err) == 0)
        closure__free(closure);
    pairing__free(rules);
    close(fd);
}

static void read_notes(const uint8_t *data, size_t size)
{
    struct elf_plan plan = {.base = ELF_DATA, .notes = data, .notes_size = size};
    struct elf_image image;

    for (size_t offset = 0; offset + 32 < ELF_TEXT_SIZE; offset += 32)
        elf_plan__site(&plan, offset);
    image = elf_plan__build(&plan);
    read_file(image.bytes, image.size);
    elf_image__deinit(&image);
}

static void read_operand(const uint8_t *data, size_t size)
{
    struct operand operand;
    struct err err;
    size_t count = operand__count((const char *)data, size);

    for (unsigned int i = 0; i < count && i < 64; i++) {
        operand__parse(ELF_X86_64, (const char *)data, size, i, &operand, &err);
        operand__parse(ELF_AARCH64, (const char *)data, size, i, &operand, &err);
    }
    must(operand__parse(ELF_X86_64, (const char *)data, size, (unsigned int)count, &operand, &err) < 0);
}

static void read_rule(const uint8_t *data, size_t size)
{
    struct pairing *rules = pairing__new();
    char *text = strndup((const char *)data, size), name[255];
    struct err err;

    pairing__add(rules, text, &err);
    pairing__region(rules, PAIRING_BEGIN, "p", text, strlen(text), name, sizeof(name));
    pairing__region(rules, PAIRING_END, "p", text, strlen(text), name, sizeof(name));
    pairing__free(rules);
    free(text);
}

static void match(const uint8_t *data, size_t size)
{
    size_t half = size ? data[0] % size : 0;

    glob__match((const char *)data, half, (const char *)data + half, size - half);
    must(glob__match("*", 1, (const char *)data, size));
}

static void read_cache(const uint8_t *data, size_t size)
{
    static const char *const hwcaps[] = {"x86-64-v2", NULL};
    int fd = elf_image__open(data, size);
    struct ld_cache *cache = ld_cache__read(fd);

    if (cache)
        ld_cache__find(cache, ELF_X86_64, hwcaps, "libc.so.6");
    ld_cache__free(cache);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {
        read_file, read_notes, read_operand, read_rule, match, read_cache,
    };

    if (size)
        readers[data[0] % (sizeof(readers) / sizeof(readers[0]))](data + 1, size - 1);
    return 0;
}

#ifdef FUZZ_REPLAY
static void write_seed(const char *folder, unsigned char kind, const void *bytes, size_t size)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/seed%d", folder, kind);
    file = fopen(path, "w");
    must(file && fputc(kind, file) == kind && fwrite(bytes, 1, size, file) == size);
    fclose(file);
}

static void write_seeds(const char *folder)
{
    static const char operands[] = "8@-8(%rbp) 4@[sp, 8] 1@BYTE PTR [rsp+8*rax]", rule[] = "p:*__a,*__b=x.*";
    struct elf_plan plan = {
        .interp = "/lib64/ld-linux-x86-64.so.2", .runpath = "$ORIGIN", .needed = {"libc.so.6"}};
    uint64_t at = elf_plan__site(&plan, 32), end = elf_plan__site(&plan, 64);
    struct byte_buffer notes = {0};
    struct elf_image image;

    elf_note__probe(&notes, at, 0, 0, "scope", "a__begin", "");
    elf_note__source(&notes, at, 3, "a.c");
    elf_note__scope(&notes, at, "1@-1(%rsp)");
    elf_note__probe(&notes, end, ELF_DATA, ELF_DATA + 2, "scope", "__scope__end", "1@(%rax)");
    elf_note__probe(&notes, end, 0, 0, "db", "query__start", "8@%rdi");
    plan.notes = notes.bytes;
    plan.notes_size = notes.size;
    image = elf_plan__build(&plan);
    write_seed(folder, 0, image.bytes, image.size);
    write_seed(folder, 1, notes.bytes, notes.size);
    write_seed(folder, 2, operands, sizeof(operands) - 1);
    write_seed(folder, 3, rule, sizeof(rule) - 1);
    write_seed(folder, 4, "\3*[a-c]?abc", 11);
    elf_image__deinit(&image);
    byte_buffer__deinit(&notes);
}

static void replay(const char *path)
{
    FILE *file = fopen(path, "r");
    uint8_t *bytes = malloc(1 << 24);
    size_t size;

    must(file && bytes);
    size = fread(bytes, 1, 1 << 24, file);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--seeds")) {
        write_seeds(argv[2]);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%d inputs replayed\n", argc - 1);
    return 0;
}
#endif
