// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile captures. A checksum would stop nearly every change at the door, so blocks are sealed again after
 * each one: what is behind the door is what has to stand it. A profile that comes out must keep the model's
 * promises.
 *
 *   clang -fsanitize=fuzzer,address,undefined … tests/fuzz/fuzz_capture.c and all of converters and usdt but
 * their mains With -DFUZZ_REPLAY there is a main that runs each file named on the command line once. Seed:
 * the captures in tests/fixtures.
 */
#include "converters/capture.h"
#include "converters/reconstruct.h"

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

static void check_row(const struct profile *p, const struct row *row, uint64_t first)
{
    const int64_t *start = column_i64(&p->start), *end = column_i64(&p->end);

    must(row->region < p->n_regions && row->rank < p->n_ranks);
    must(row->count && row->offset <= p->start.n && row->count <= p->start.n - row->offset);
    for (uint64_t i = row->offset; i < row->offset + row->count; i++) {
        int64_t parent = column_i64(&p->extra[COLUMN_PARENT_ID])[i];
        int64_t thread = column_i64(&p->extra[COLUMN_THREAD_ID])[i];
        int64_t exclusive = column_i64(&p->extra[COLUMN_EXCLUSIVE_NS])[i];

        must(start[i] >= 0 && start[i] <= end[i]);
        must(i == row->offset || start[i - 1] <= start[i]);
        must(column_i64(&p->extra[COLUMN_CALL_ID])[i] == (int64_t)(i - first));
        must(parent >= -1 && parent < (int64_t)(p->start.n - first) && parent != (int64_t)(i - first));
        must(thread >= 0 && thread < p->ranks[row->rank].n_threads);
        must(exclusive >= -1 && exclusive <= end[i] - start[i]);
    }
}

static void check_rank(const struct profile *p, const struct rank *rank)
{
    const struct sample *samples = rank->samples.data;

    must(rank->number >= 0 && rank->ticks >= -1);
    for (uint64_t i = 0; i < rank->samples.n; i++) {
        must(samples[i].region >= -1 && samples[i].region < (int64_t)p->n_regions);
        must(samples[i].module >= -1 && samples[i].module < (int64_t)rank->n_modules);
        must(samples[i].thread >= -1 && samples[i].thread < (int64_t)rank->n_threads);
    }
    for (uint32_t i = 0; i < rank->n_threads; i++)
        must(rank->threads[i].start_ns >= 0 && rank->threads[i].end_ns >= -1);
}

static void check_profile(const struct profile *p)
{
    uint64_t behind = 0, first = 0;

    for (uint64_t i = 0; i < p->n_rows; i++) {
        if (i && p->rows[i - 1].rank != p->rows[i].rank)
            first = behind;
        must(p->rows[i].offset == behind);
        check_row(p, &p->rows[i], first);
        behind += p->rows[i].count;
    }
    must(behind == p->start.n && behind == p->end.n);
    for (uint32_t i = 0; i < p->n_ranks; i++)
        check_rank(p, &p->ranks[i]);
    for (uint32_t i = 0; i < p->n_losses; i++)
        must(p->losses[i].region >= -1 && p->losses[i].region < (int64_t)p->n_regions);
    for (uint32_t i = 0; i < p->n_regions; i++)
        must(p->regions[i].name.s && !memchr(p->regions[i].name.s, 0, p->regions[i].name.len));
    must(p->how_ended.s != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct profile *p = NULL;
    struct err err = {""};

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (reconstruct__capture(fd, "input", NULL, &p, &err))
        must(*err.text != '\0' && !p);
    else
        check_profile(p);
    profile__destroy(p);
    close(fd);
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    static uint8_t bytes[64 << 20];

    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        size_t n = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

        if (!file)
            return 1;
        fclose(file);
        LLVMFuzzerTestOneInput(bytes, n);
    }
    return 0;
}
#else

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static uint32_t length_of(const uint8_t *header)
{
    return header[8] | (uint32_t)header[9] << 8 | (uint32_t)header[10] << 16 | (uint32_t)header[11] << 24;
}

/* Walks over the blocks as far as their lengths lead, and seals each. */
static void seal(uint8_t *data, size_t size)
{
    uint64_t sequence = 0;

    for (size_t at = 0; size - at >= CAPTURE_HEADER_BYTES; sequence++) {
        uint8_t *header = data + at;
        uint16_t type = (uint16_t)(header[4] | header[5] << 8);
        uint32_t len = length_of(header);

        if (len > size - at - CAPTURE_HEADER_BYTES)
            len = (uint32_t)(size - at - CAPTURE_HEADER_BYTES);
        capture_block_header(header, type, sequence, header + CAPTURE_HEADER_BYTES, len);
        at += CAPTURE_HEADER_BYTES + len;
    }
}

/* Nine changes of ten are inside one payload, whose length follows; the tenth is anywhere and stays unsealed
 * half the time. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size_t at = 0, end, changed, rest;
    uint8_t tail[1 << 16];
    unsigned skip = seed / 16 % 32;

    if (seed % 10 == 0 || size < CAPTURE_HEADER_BYTES || size > sizeof(tail)) {
        size = LLVMFuzzerMutate(data, size, max_size);
        if (seed % 20 == 0)
            seal(data, size);
        return size;
    }
    while (skip-- && size - at >= CAPTURE_HEADER_BYTES &&
           length_of(data + at) + 2ull * CAPTURE_HEADER_BYTES <= size - at)
        at += CAPTURE_HEADER_BYTES + length_of(data + at);
    end = at + CAPTURE_HEADER_BYTES + (size_t)length_of(data + at);
    if (size - at < CAPTURE_HEADER_BYTES || end > size)
        end = size;
    if (end < at + CAPTURE_HEADER_BYTES)
        return LLVMFuzzerMutate(data, size, max_size);
    rest = size - end;
    memcpy(tail, data + end, rest);
    at += CAPTURE_HEADER_BYTES;
    if (max_size < at + rest)
        return size;
    changed = LLVMFuzzerMutate(data + at, end - at, max_size - at - rest);
    for (int i = 0; i < 4; i++)
        data[at - CAPTURE_HEADER_BYTES + 8 + i] = (uint8_t)(changed >> (8 * i));
    memcpy(data + at + changed, tail, rest);
    seal(data, at + changed + rest);
    return at + changed + rest;
}
#endif
