/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hostile bytes for the reader of one format. What is read must keep the model's promises, and every writer
 * must be able to write it. Each fuzz_<format>.c says which format and includes this.
 *
 *   clang -fsanitize=fuzzer,address,undefined … tests/fuzz/fuzz_spt.c and all of converters and usdt but
 * their mains With -DFUZZ_REPLAY there is a main (for gcc) that runs each file named on the command line
 * once, and with
 * `--flips N` N times more, a little damaged. Seeds: the files of that kind in tests/kit/open/files.
 */
#ifndef SCOPE_FUZZ_FORMAT_H
#define SCOPE_FUZZ_FORMAT_H

#include "converters/formats/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_row(const struct profile *p, const struct row *row)
{
    must(row->region < p->n_regions && row->rank < p->n_ranks);
    must(row->offset <= p->start.n && row->count <= p->start.n - row->offset);
    for (int k = 0; k < N_CALL_COLUMNS; k++)
        must(!row->count || !row__has(row, (enum call_column)k) || p->extra[k].n == p->start.n);
    for (uint64_t i = row->offset; i < row->offset + row->count; i++)
        must(column_i64(&p->start)[i] <= column_i64(&p->end)[i]);
}

static void check_rank(const struct profile *p, const struct rank *rank)
{
    const struct sample *samples = rank->samples.data;

    must(rank->number >= 0);
    for (uint64_t i = 0; i < rank->samples.n; i++) {
        must(samples[i].region < (int64_t)p->n_regions);
        must(samples[i].module < (int64_t)rank->n_modules);
    }
}

static void check_profile(const struct profile *p)
{
    must(p->start.n == p->end.n);
    for (uint64_t i = 0; i < p->n_rows; i++)
        check_row(p, &p->rows[i]);
    for (uint32_t i = 0; i < p->n_ranks; i++)
        check_rank(p, &p->ranks[i]);
    for (uint32_t i = 0; i < p->n_losses; i++)
        must(p->losses[i].region < (int64_t)p->n_regions);
    for (uint32_t i = 0; i < p->n_regions; i++)
        must(p->regions[i].name.s && !memchr(p->regions[i].name.s, 0, p->regions[i].name.len));
}

/* What a writer of ours made, its reader takes, and it is the same number of calls. */
static void check_round_trip(const struct profile *p, const struct format *format, const char *path)
{
    struct profile *again = NULL;
    struct err err = {0};

    if (format->write(p, path, &(struct write_options){0}, &err))
        return;
#ifndef FUZZ_REPLAY
    /* Its reader forks: too slow for a fuzzer. */
    if (format == &format_h5)
        return;
#endif
    must(!format__read_file(path, &again, &err));
    check_profile(again);
    must(again->start.n == p->start.n && again->n_rows == p->n_rows);
    profile__destroy(again);
}

static const char *scratch_path(void)
{
    static char path[256];

    if (!*path) {
        const char *folder = getenv("TMPDIR");

        snprintf(path, sizeof(path), "%s/fuzz-%ld.tmp", folder ? folder : "/tmp", (long)getpid());
    }
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.path = "input", .fd = memfd_create("input", MFD_CLOEXEC), .size = size};
    struct profile *p = NULL;
    struct err err = {0};

    must(in.fd >= 0 && write(in.fd, data, size) == (ssize_t)size);
    memcpy(in.head, data, size < sizeof(in.head) ? size : sizeof(in.head));
    must(!profile__create(&p));
    if (FUZZ_FORMAT.match(&in)) {
        if (FUZZ_FORMAT.read(&in, p, &err)) {
            must(*err.text != '\0');
        } else {
            check_profile(p);
            check_round_trip(p, &format_json, scratch_path());
            check_round_trip(p, &format_h5, scratch_path());
            unlink(scratch_path());
        }
    }
    profile__destroy(p);
    close(in.fd);
    return 0;
}

#ifdef FUZZ_REPLAY
static uint64_t dice(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Once as it is, then with a few bytes changed or its end cut off, `flips` times; always the same for one
 * file. */
static void run_all(const uint8_t *bytes, size_t n, unsigned flips)
{
    uint64_t state = n;

    LLVMFuzzerTestOneInput(bytes, n);
    for (unsigned i = 0; n && i < flips; i++) {
        size_t size = dice(&state) % 16 ? n : dice(&state) % n + 1;
        uint8_t *copy = malloc(size);

        must(copy != NULL);
        memcpy(copy, bytes, size);
        for (uint64_t k = dice(&state) % 4 + 1; k; k--)
            copy[dice(&state) % size] ^= (uint8_t)(dice(&state) % 2 ? 1u << dice(&state) % 8 : dice(&state));
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
    }
}

static int replay(const char *path, unsigned flips)
{
    FILE *file = fopen(path, "rb");
    static uint8_t bytes[64 << 20];
    size_t n = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    uint8_t *exact = malloc(n ? n : 1);

    if (!file || !exact)
        return 1;
    fclose(file);
    memcpy(exact, bytes, n);
    run_all(exact, n, flips);
    free(exact);
    return 0;
}

/* [--flips N] FILE… */
int main(int argc, char **argv)
{
    unsigned flips = 0;
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--flips") && i + 1 < argc)
            flips = (unsigned)atoi(argv[++i]);
        else
            failed |= replay(argv[i], flips);
    }
    return failed;
}
#endif

#endif
