// SPDX-License-Identifier: GPL-2.0-only
/*
 * The road: every block is looked at once, front to back; small things (images, lanes, modules, regions,
 * losses) are kept, of calls and samples only where they stand.  Then ranks are assigned, and calls and
 * samples are read again, rank by rank and lane by lane, into their final places.
 */
#include "reconstruct.h"

#include "calls.h"
#include "capture_meta.h"
#include "capture_text.h"
#include "events.h"
#include "losses.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NOTE 1024
#define MOST_NOTES   1000

struct rebuild {
    const char *name;
    const struct reconstruct_options *options;
    struct profile *p;
    struct capture_reader *reader;
    struct images images;
    struct lanes lanes;
    struct modules modules;
    struct region_table regions;
    struct ranks ranks;
    struct call_blocks calls;
    struct samples samples;
    struct losses losses;
    struct calls_result result;
    int64_t last_time; /* of anything that was seen */
    int64_t end_time;  /* of the recording, -1 unknown */
    struct text how_ended;
    uint64_t bad_blocks; /* whose content makes no sense although their checksum fits */
    uint64_t notes_left_out;
};

static void progress(const struct rebuild *b, uint64_t done, uint64_t all)
{
    if (b->options && b->options->progress)
        b->options->progress(b->options->progress_arg, done < all ? done : all, all);
}

static int add_note(struct rebuild *b, int64_t from, int64_t to, int64_t pid, struct text text)
{
    struct run_note *note;

    if (b->p->n_notes == MOST_NOTES) {
        b->notes_left_out++;
        return 0;
    }
    note = profile__append(b->p, &b->p->notes, &b->p->n_notes, sizeof(*note));
    if (!note || !text.s)
        return -ENOMEM;
    *note = (struct run_note){.from = from, .to = to, .pid = pid, .text = text};
    return 0;
}

static int note_text(void *arg, int64_t pid, const char *text)
{
    struct rebuild *b = arg;
    int64_t first = capture_reader__head(b->reader)->monotonic;

    return add_note(b, first, b->last_time, pid, profile__text(b->p, text, strlen(text)));
}

__attribute__((format(printf, 2, 3))) static int note(struct rebuild *b, const char *format, ...)
{
    char text[LONGEST_NOTE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return note_text(b, 0, text);
}

/* ---- first reading: one handler per type of block
 * ---------------------------------------------------------- */

static void seen_time(struct rebuild *b, int64_t time)
{
    if (time > b->last_time && time <= TIME_MAX)
        b->last_time = time;
}

static int take_meta(struct rebuild *b, struct capture_block *block)
{
    return capture_meta__read(b->p, &block->in);
}

static int take_regions(struct rebuild *b, struct capture_block *block)
{
    return region_table__read(&b->regions, b->p, &block->in);
}

static int take_image(struct rebuild *b, struct capture_block *block)
{
    return images__read(&b->images, b->p, &block->in);
}

static int take_image_end(struct rebuild *b, struct capture_block *block)
{
    return images__read_end(&b->images, &block->in);
}

static int take_lane(struct rebuild *b, struct capture_block *block)
{
    return lanes__read(&b->lanes, &b->images, b->p, &block->in);
}

static int take_lane_end(struct rebuild *b, struct capture_block *block)
{
    return lanes__read_end(&b->lanes, b->p, &block->in);
}

static int take_module(struct rebuild *b, struct capture_block *block)
{
    return modules__read(&b->modules, &b->images, b->p, &block->in);
}

static int take_calls(struct rebuild *b, struct capture_block *block)
{
    return call_blocks__survey(&b->calls, &b->lanes, &b->regions, block);
}

static int take_samples(struct rebuild *b, struct capture_block *block)
{
    return samples__survey(&b->samples, &b->regions, block);
}

static int take_loss(struct rebuild *b, struct capture_block *block)
{
    return losses__read(&b->losses, &b->regions, &block->in);
}

static int take_note(struct rebuild *b, struct capture_block *block)
{
    struct capture_in *in = &block->in;
    int64_t from = capture_get_s(in), to = capture_get_s(in);
    uint64_t pid = capture_get_u(in);
    struct text text = capture_text(b->p, in, LONGEST_NOTE);

    if (in->bad || pid > INT32_MAX)
        return -EBADMSG;
    return add_note(b, from, to, (int64_t)pid, text);
}

static int take_clock(struct rebuild *b, struct capture_block *block)
{
    int64_t monotonic = capture_get_s(&block->in);

    if (block->in.bad)
        return -EBADMSG;
    seen_time(b, monotonic);
    return 0;
}

static int take_end(struct rebuild *b, struct capture_block *block)
{
    int64_t time = capture_get_s(&block->in);
    struct text how = capture_text(b->p, &block->in, LONGEST_NOTE);

    if (block->in.bad || time < 0 || time > TIME_MAX)
        return -EBADMSG;
    b->end_time = time;
    b->how_ended = how;
    return how.s ? 0 : -ENOMEM;
}

static int (*const handlers[])(struct rebuild *b, struct capture_block *block) = {
    [CAPTURE_META] = take_meta,       [CAPTURE_REGIONS] = take_regions,
    [CAPTURE_IMAGE] = take_image,     [CAPTURE_IMAGE_END] = take_image_end,
    [CAPTURE_LANE] = take_lane,       [CAPTURE_LANE_END] = take_lane_end,
    [CAPTURE_MODULE] = take_module,   [CAPTURE_CALLS] = take_calls,
    [CAPTURE_SAMPLES] = take_samples, [CAPTURE_LOSS] = take_loss,
    [CAPTURE_NOTE] = take_note,       [CAPTURE_CLOCK] = take_clock,
    [CAPTURE_END] = take_end,
};

static int failed(const struct rebuild *b, int code, struct err *err)
{
    return err__set(err, -code, "%s: cannot be read in: %s", b->name,
                    code == -ENOMEM   ? "out of memory"
                    : code == -ENOSPC ? "no room for temporary files (set TMPDIR to a larger disk)"
                                      : strerror(-code));
}

/* Progress counts in bytes of the capture: read, then its calls found, then placed. */
static int read_blocks(struct rebuild *b, struct err *err)
{
    const struct capture_state *state = capture_reader__state(b->reader);
    struct capture_block block;
    int more;

    while ((more = capture_reader__next(b->reader, &block, err)) > 0) {
        int code = handlers[block.type](b, &block);

        if (code == -EBADMSG)
            b->bad_blocks++;
        else if (code)
            return failed(b, code, err);
        if (state->blocks % 64 == 0)
            progress(b, state->offset, 3 * state->size);
    }
    return more;
}

/* ---- then: who is who, and the calls
 * ----------------------------------------------------------------------- */

/* Only when all blocks are read it is sure who is left out; a region that nobody else ran is none. */
static int use_unfiltered(struct rebuild *b, struct err *err)
{
    int code;

    region_table__forget_uses(&b->regions);
    losses__use(&b->losses, &b->lanes, &b->images, &b->regions);
    code = call_blocks__use(&b->calls, &b->lanes, &b->images, &b->regions, b->reader, err);
    return code ? code : samples__use(&b->samples, &b->lanes, &b->images, &b->regions, b->reader, err);
}

static int index_all(struct rebuild *b, struct err *err)
{
    int code = 0;

    if (b->regions.hidden_late)
        code = call_blocks__survey_again(&b->calls, &b->lanes, &b->regions, b->reader, err);
    if (!code && b->images.any_filtered)
        code = use_unfiltered(b, err);
    if (code)
        return code;
    code = lanes__tell_images(&b->lanes, &b->images);
    if (!code)
        code = images__index(&b->images);
    if (!code)
        code = modules__index(&b->modules, &b->images);
    if (!code)
        code = call_blocks__index(&b->calls, &b->lanes);
    if (!code)
        code = region_table__resolve(&b->regions, b->p);
    return code ? failed(b, code, err) : 0;
}

static void find_last_time(struct rebuild *b)
{
    seen_time(b, b->calls.last_time);
    seen_time(b, b->samples.last_time);
    for (uint64_t i = 0; i < b->lanes.list.n; i++)
        seen_time(b, lanes__at(&b->lanes, i)->end);
    for (uint64_t i = 0; i < b->images.list.n; i++)
        seen_time(b, images__at(&b->images, i)->end);
    if (b->end_time >= 0)
        b->last_time = b->end_time;
}

static int assign_ranks(struct rebuild *b, struct err *err)
{
    int64_t origin = capture_reader__head(b->reader)->monotonic;
    int code = ranks__assign(&b->ranks, &b->images, note_text, b);

    if (!code)
        code = ranks__fill(&b->ranks, &b->images, b->p, b->name);
    if (code == -E2BIG)
        return err__set(err, E2BIG, "%s: a rank number in its environment leaves no free numbers above it",
                        b->name);
    for (uint64_t i = 0; !code && i < b->lanes.list.n; i++) {
        struct lane *lane = lanes__at(&b->lanes, i);

        if (!images__is_filtered(&b->images, lane->image))
            lane->rank = ranks__of_image(&b->ranks, &b->images, lane->image);
    }
    if (!code)
        code = lanes__fill_threads(&b->lanes, &b->images, b->p, origin);
    return code ? failed(b, code, err) : 0;
}

static void tell_calls(void *arg, uint64_t done)
{
    const struct rebuild *b = arg;
    uint64_t size = capture_reader__state(b->reader)->size, all = 2 * b->calls.records;

    progress(b, size + (uint64_t)((double)done / (double)(all ? all : 1) * 2 * (double)size), 3 * size);
}

static int fill_calls(struct rebuild *b, struct err *err)
{
    struct calls_input in = {
        .blocks = &b->calls,
        .lanes = &b->lanes,
        .regions = &b->regions,
        .ticks = &b->samples.hidden,
        .reader = b->reader,
        .tell = tell_calls,
        .arg = b,
    };
    int code = calls__fill(&in, b->p, &b->result, err);

    b->p->calls_abandoned = (int64_t)b->result.abandoned;
    return code;
}

/* An end without a call: of one that was open before recording, where the thread is older than the recording.
 */
static void count_unmatched(struct rebuild *b)
{
    int64_t origin = capture_reader__head(b->reader)->monotonic;

    for (uint64_t i = 0; i < b->lanes.list.n; i++) {
        const struct lane *lane = lanes__at(&b->lanes, i);
        bool before = images__at(&b->images, lane->image)->how == CAPTURE_IMAGE_RUNNING ||
                      (lane->known && lane->start < origin);

        if (lane->rank < 0)
            continue;
        if (before)
            b->p->ranks[lane->rank].begun_before += lane->unmatched;
        else
            b->p->ranks[lane->rank].unmatched += lane->unmatched;
    }
}

/* The rank of an image, or the nearest one among those that it came from; index in profile.ranks, -1 none. */
static int32_t nearest_rank(const struct rebuild *b, uint32_t image)
{
    for (int step = 0; step < 64 && image != IMAGE_NONE; step++) {
        int32_t rank = ranks__of_image(&b->ranks, &b->images, image);

        if (rank >= 0)
            return rank;
        image = images__find(&b->images, images__at(&b->images, image)->from);
    }
    return -1;
}

/* Calls that children inherited and that are not shown: nothing fired in the child, or it is no rank. */
static void count_inherited(struct rebuild *b)
{
    for (uint64_t i = 0; i < b->lanes.list.n; i++) {
        const struct lane *lane = lanes__at(&b->lanes, i);
        int32_t rank = lane->rank < 0 && lane->inherited ? nearest_rank(b, lane->image) : -1;

        if (rank >= 0)
            b->p->ranks[rank].inherited_dropped += lane->inherited;
    }
    for (uint32_t i = 0; i < b->images.list.n; i++) {
        uint64_t dropped = images__at(&b->images, i)->inherited_dropped;
        int32_t rank = dropped ? nearest_rank(b, i) : -1;

        if (rank >= 0)
            b->p->ranks[rank].inherited_dropped += dropped;
    }
}

static int note_state(struct rebuild *b)
{
    const struct capture_state *state = capture_reader__state(b->reader);
    int code = 0;

    if (state->damaged)
        code = note(b,
                    "the capture is damaged at byte %" PRIu64 " of %" PRIu64
                    " (%s): this profile holds what stands before",
                    state->offset, state->size, state->why);
    else if (!state->complete)
        code = note(b, "the recording was not finished (%s): this profile holds what was written until then",
                    state->why);
    else if (state->offset < state->size)
        code = note(b, "%" PRIu64 " bytes behind the end of the capture were ignored",
                    state->size - state->offset);
    if (!code && state->missing)
        code = note(b, "%" PRIu64 " blocks are missing in the capture", state->missing);
    if (!code && state->unknown)
        code = note(b, "%" PRIu64 " blocks of the capture are of types that this version does not know",
                    state->unknown);
    return code;
}

static int note_oddities(struct rebuild *b)
{
    int code = 0;

    if (b->bad_blocks)
        code = note(b, "%" PRIu64 " blocks of the capture make no sense and were left out", b->bad_blocks);
    if (!code && b->calls.bad)
        code =
            note(b, "%" PRIu64 " blocks of calls break off before their end: %" PRIu64 " calls are missing",
                 b->calls.bad, b->calls.bad_records);
    if (!code && b->result.doubles)
        code =
            note(b, "%" PRIu64 " calls stand twice in the capture and were counted once", b->result.doubles);
    if (!code && b->result.bent)
        code = note(b, "%" PRIu64 " calls contradict the nesting of their thread: their start was moved",
                    b->result.bent);
    if (!code && b->samples.nowhere)
        code = note(b, "%" PRIu64 " samples belong to processes that the capture does not describe",
                    b->samples.nowhere);
    if (!code && b->notes_left_out) {
        b->p->n_notes--;
        code = note(b, "%" PRIu64 " more notes were left out", b->notes_left_out + 1);
    }
    return code;
}

static int finish(struct rebuild *b, struct err *err)
{
    const struct capture_head *head = capture_reader__head(b->reader);
    bool complete = capture_reader__state(b->reader)->complete && b->end_time >= 0;
    int code;

    count_unmatched(b);
    count_inherited(b);
    code = losses__fill(&b->losses, &b->lanes, &b->images, &b->ranks, &b->regions, b->p, note_text, b);
    if (!code)
        code = capture_meta__complete(b->p, head, &b->images, b->last_time);
    if (!code)
        code = note_state(b);
    if (!code)
        code = note_oddities(b);
    b->p->source = profile__text(b->p, "capture", 7);
    b->p->how_ended = complete ? b->how_ended : profile__text(b->p, "unfinished", 10);
    if (!code && (!b->p->source.s || !b->p->how_ended.s))
        code = -ENOMEM;
    return code ? failed(b, code, err) : 0;
}

/* The counts of the images are complete only after the samples. */
static int fill_processes(struct rebuild *b, struct err *err)
{
    int code = images__fill_rows(&b->images, b->p, capture_meta__full_detail(b->p));

    return code ? failed(b, code, err) : 0;
}

static void refresh_counts(struct rebuild *b)
{
    for (uint32_t i = 0; i < b->p->n_processes; i++) {
        b->p->processes[i].samples = images__at(&b->images, i)->samples;
        b->p->processes[i].samples_outside = images__at(&b->images, i)->samples_outside;
    }
    images__forget_filtered(&b->images, b->p);
}

static int rebuild(struct rebuild *b, struct err *err)
{
    int code = read_blocks(b, err);

    if (!code)
        code = index_all(b, err);
    if (code)
        return code;
    find_last_time(b);
    code = fill_processes(b, err);
    if (!code)
        code = assign_ranks(b, err);
    if (!code)
        code = samples__find_hidden(&b->samples, &b->lanes, &b->regions, b->reader, err);
    if (!code)
        code = fill_calls(b, err);
    if (!code)
        code = samples__fill(&b->samples, &b->images, &b->lanes, &b->ranks, &b->modules, &b->regions, b->p,
                             b->reader, err);
    if (code)
        return code;
    refresh_counts(b);
    code = finish(b, err);
    progress(b, 1, 1);
    return code;
}

static void deinit(struct rebuild *b)
{
    images__deinit(&b->images);
    lanes__deinit(&b->lanes);
    modules__deinit(&b->modules);
    region_table__deinit(&b->regions);
    ranks__deinit(&b->ranks);
    call_blocks__deinit(&b->calls);
    samples__deinit(&b->samples);
    losses__deinit(&b->losses);
    capture_reader__close(b->reader);
}

int reconstruct__into(int fd, const char *name, const struct reconstruct_options *options,
                      struct profile *into, struct err *err)
{
    struct rebuild b = {.name = name, .options = options, .p = into, .end_time = -1};
    int code;

    images__init(&b.images);
    lanes__init(&b.lanes);
    modules__init(&b.modules);
    ranks__init(&b.ranks);
    call_blocks__init(&b.calls);
    samples__init(&b.samples);
    losses__init(&b.losses);
    code = region_table__init(&b.regions);
    if (code)
        failed(&b, code, err);
    else
        code = capture_reader__open(fd, name, &b.reader, err);
    if (!code)
        code = rebuild(&b, err);
    deinit(&b);
    return code;
}

int reconstruct__capture(int fd, const char *name, const struct reconstruct_options *options,
                         struct profile **ret, struct err *err)
{
    struct profile *p;
    int code = profile__create(&p);

    if (code)
        return err__set(err, -code, "%s: out of memory", name);
    code = reconstruct__into(fd, name, options, p, err);
    if (code)
        profile__destroy(p);
    else
        *ret = p;
    return code;
}
