// SPDX-License-Identifier: GPL-2.0-only
/* Instruction samples (.sps) of one rank. */
#include "converters/out.h"
#include "converters/reader.h"
#include "formats/formats.h"
#include "formats/sample_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'S', 'C', 'O', 'P', 'E', 'S', 'M', 'P'};

#define VERSION      1
#define SAMPLE_BYTES 16
#define MODULE_MIN   12

static bool match(const struct input *in)
{
    return in->size >= sizeof(magic) && !memcmp(in->head, magic, sizeof(magic));
}

static int out_of_memory(struct reader *r)
{
    r->code = err__set(r->err, ENOMEM, "%s: not enough memory", r->in->path);
    return r->code;
}

/* A count whose elements take at least `least` bytes each. */
static int32_t read_count(struct reader *r, uint32_t least, const char *what)
{
    int32_t n = reader__i32(r);

    if (!r->code && (n < 0 || (uint64_t)n > reader__left(r) / least))
        reader__fail(r, "the number of %s, %d, is impossible", what, n);
    return r->code ? 0 : n;
}

/* The file's region numbers, as indexes into the profile: a name may stand there twice. */
static int32_t *read_regions(struct reader *r, struct profile *p, int32_t *ret_n)
{
    int32_t n = read_count(r, 4, "regions"), *map = malloc(sizeof(*map) * ((size_t)n + 1));

    *ret_n = n;
    if (!map)
        out_of_memory(r);
    for (int32_t i = 0; i < n && !r->code; i++) {
        struct text name = reader__text(r, p, reader__i32(r), "the name of a region");
        int64_t region = r->code ? 0 : profile__region(p, name.s, name.len);

        if (region < 0)
            out_of_memory(r);
        else
            map[i] = (int32_t)region;
    }
    return map;
}

static void read_modules(struct reader *r, struct profile *p, struct rank *rank)
{
    int32_t n = read_count(r, MODULE_MIN, "modules");

    for (int32_t i = 0; i < n && !r->code; i++) {
        struct text path = reader__text(r, p, reader__i32(r), "the path of a module");
        uint64_t bias = (uint64_t)reader__i64(r);
        struct module *module =
            r->code ? NULL : profile__append(p, &rank->modules, &rank->n_modules, sizeof(*module));

        if (module)
            *module = (struct module){.path = path, .bias = bias};
        else if (!r->code)
            out_of_memory(r);
    }
}

static void read_samples(struct reader *r, struct rank *rank, const int32_t *map, int32_t n_regions)
{
    int64_t n = reader__i64(r);

    if (!r->code &&
        (n < 0 || (uint64_t)n != reader__left(r) / SAMPLE_BYTES || reader__left(r) % SAMPLE_BYTES))
        reader__fail(r, "%lld samples do not fill the %llu bytes that are left", (long long)n,
                     (unsigned long long)reader__left(r));
    for (int64_t i = 0; i < n && !r->code; i++) {
        int32_t region = reader__i32(r), module = reader__i32(r);
        uint64_t address = (uint64_t)reader__i64(r);
        struct sample *sample = column__append(&rank->samples);

        if (!sample) {
            out_of_memory(r);
            return;
        }
        sample->region = region >= 0 && region < n_regions ? map[region] : sample_index__foreign(region);
        sample->module =
            module >= 0 && (uint32_t)module < rank->n_modules ? module : sample_index__foreign(module);
        sample->address = address;
        sample->thread = -1;
    }
}

static void read_file(struct reader *r, struct profile *p)
{
    int32_t version, number, hz, n_regions, *map;
    int64_t ticks, at;

    reader__bytes(r, (char[sizeof(magic)]){0}, sizeof(magic));
    version = reader__i32(r);
    if (!r->code && version != VERSION)
        r->code = err__set(r->err, EINVAL,
                           "%s: sample file version %d; version 1 of this machine's byte order can be read",
                           r->in->path, version);
    number = reader__i32(r);
    hz = reader__i32(r);
    ticks = reader__i64(r);
    if (!r->code && (number < 0 || hz < 0 || ticks < 0))
        reader__fail(r, "a negative rank, rate or number of ticks (%d, %d, %lld)", number, hz,
                     (long long)ticks);
    at = r->code ? 0 : profile__rank(p, number);
    if (at < 0)
        out_of_memory(r);
    if (r->code)
        return;
    p->ranks[at].file = profile__text(p, r->in->path, strlen(r->in->path));
    p->ranks[at].hz = hz;
    p->ranks[at].ticks = ticks;
    map = read_regions(r, p, &n_regions);
    read_modules(r, p, &p->ranks[at]);
    read_samples(r, &p->ranks[at], map, n_regions);
    free(map);
}

static int read_sps(const struct input *in, struct profile *p, struct err *err)
{
    struct reader *r = malloc(sizeof(*r));
    int code;

    if (!r)
        return err__set(err, ENOMEM, "%s: not enough memory", in->path);
    reader__init(r, in, err);
    read_file(r, p);
    code = r->code;
    free(r);
    return code;
}

/* ---- writing
 * ------------------------------------------------------------------------------------------------- */

static void put_text(struct out *o, struct text text)
{
    out__i32(o, (int32_t)text.len);
    out__bytes(o, text.s, text.len);
}

static void put_rank(struct out *o, const struct profile *p, const struct rank *rank)
{
    const struct sample *samples = rank->samples.data;

    out__bytes(o, magic, sizeof(magic));
    out__i32(o, VERSION);
    out__i32(o, rank->number);
    out__i32(o, rank->hz);
    out__i64(o, rank->ticks);
    out__i32(o, (int32_t)p->n_regions);
    for (uint32_t i = 0; i < p->n_regions; i++)
        put_text(o, p->regions[i].name);
    out__i32(o, (int32_t)rank->n_modules);
    for (uint32_t i = 0; i < rank->n_modules; i++) {
        put_text(o, rank->modules[i].path);
        out__i64(o, (int64_t)rank->modules[i].bias);
    }
    out__i64(o, (int64_t)rank->samples.n);
    for (uint64_t i = 0; i < rank->samples.n; i++) {
        out__i32(o, sample_index__native(samples[i].region, p->n_regions));
        out__i32(o, sample_index__native(samples[i].module, rank->n_modules));
        out__i64(o, (int64_t)samples[i].address);
    }
}

static int write_sps(const struct profile *p, const char *path, const struct write_options *options,
                     struct err *err)
{
    int64_t rank = options && options->n_ranks == 1 ? profile__find_rank(p, options->ranks[0]) : -1;
    struct out *o;
    int code;

    if (rank < 0)
        return err__set(err, EINVAL, "a .sps holds exactly one rank");
    if (p->ranks[rank].ticks < 0)
        return FORMAT_NOTHING;
    if (profile__calls(p))
        write_options__say(options, "a .sps has samples only: the calls are not in it");
    code = out__open(&o, path, false, err);
    if (code)
        return code;
    put_rank(o, p, &p->ranks[rank]);
    return out__close(o, err);
}

const struct format format_sps = {
    .name = "sps",
    .suffix = ".sps",
    .help = "instruction samples of one rank",
    .flags = FORMAT_PER_RANK | FORMAT_ONE_RANK_EXACT,
    .match = match,
    .read = read_sps,
    .write = write_sps,
};
