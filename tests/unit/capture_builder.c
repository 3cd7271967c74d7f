// SPDX-License-Identifier: GPL-2.0-only
#include "capture_builder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void builder__deinit(struct capture_builder *b)
{
    capture_buf__deinit(&b->file);
    capture_buf__deinit(&b->payload);
    *b = (struct capture_builder){0};
}

static void append(struct capture_buf *to, const void *bytes, size_t len)
{
    capture_buf__reserve(to, len);
    if (to->failed)
        abort();
    if (len)
        memcpy(to->data + to->len, bytes, len);
    to->len += len;
}

void builder__block(struct capture_builder *b, uint16_t type, const void *payload, size_t len)
{
    uint8_t header[CAPTURE_HEADER_BYTES];

    capture_block_header(header, type, b->sequence++, payload, (uint32_t)len);
    append(&b->file, header, sizeof(header));
    append(&b->file, payload, len);
}

int builder__fd_of(const void *bytes, size_t len)
{
    int fd = memfd_create("capture", MFD_CLOEXEC);

    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        abort();
    return fd;
}

int builder__fd(const struct capture_builder *b)
{
    return builder__fd_of(b->file.data, b->file.len);
}

int builder__save(const struct capture_builder *b, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool whole = fd >= 0 && write(fd, b->file.data, b->file.len) == (ssize_t)b->file.len;

    if (fd >= 0)
        close(fd);
    return whole ? 0 : -1;
}

/* Starts a payload; finish() makes a block of it. */
static struct capture_buf *payload(struct capture_builder *b)
{
    capture_buf__reset(&b->payload);
    return &b->payload;
}

static void finish(struct capture_builder *b, uint16_t type)
{
    if (b->payload.failed)
        abort();
    builder__block(b, type, b->payload.data, b->payload.len);
}

void build_header_of(struct capture_builder *b, uint64_t version, uint64_t hz)
{
    struct capture_buf *p = payload(b);

    capture_put_u(p, version);
    capture_put_text(p, "x86_64");
    capture_put_bytes(p, "0123456789abcdef", 16);
    capture_put_s(p, BUILD_START);
    capture_put_s(p, BUILD_START + 5);
    capture_put_s(p, BUILD_REALTIME);
    capture_put_u(p, hz);
    capture_put_text(p, "0.1");
    finish(b, CAPTURE_HEADER);
}

void build_header(struct capture_builder *b)
{
    build_header_of(b, CAPTURE_VERSION, BUILD_HZ);
}

void build_meta_text(struct capture_builder *b, const char *key, const char *text)
{
    struct capture_buf *p = payload(b);

    capture_put_text(p, key);
    capture_put_u(p, 0);
    capture_put_text(p, text);
    finish(b, CAPTURE_META);
}

void build_meta_int(struct capture_builder *b, const char *key, int64_t value)
{
    struct capture_buf *p = payload(b);

    capture_put_text(p, key);
    capture_put_u(p, 1);
    capture_put_s(p, value);
    finish(b, CAPTURE_META);
}

void build_meta_list(struct capture_builder *b, const char *key, const char *const *items, size_t n)
{
    struct capture_buf *p = payload(b);

    capture_put_text(p, key);
    capture_put_u(p, 2);
    capture_put_u(p, n);
    for (size_t i = 0; i < n; i++)
        capture_put_text(p, items[i]);
    finish(b, CAPTURE_META);
}

void build_region(struct capture_builder *b, uint64_t id, uint64_t flags, const char *provider,
                  const char *name, const char *file, int64_t line)
{
    struct capture_buf *p = payload(b);

    capture_put_u(p, id);
    capture_put_u(p, flags);
    capture_put_text(p, provider);
    capture_put_text(p, name);
    capture_put_text(p, file);
    capture_put_s(p, line);
    finish(b, CAPTURE_REGIONS);
}

void build_image(struct capture_builder *b, const struct build_image *image)
{
    struct capture_buf *p = payload(b);
    uint64_t argc = 0, n_env = 0;

    while (argc < 8 && image->argv[argc])
        argc++;
    while (n_env < 8 && image->env[n_env][0])
        n_env++;
    capture_put_u(p, image->id);
    capture_put_u(p, image->from);
    capture_put_u(p, image->how);
    capture_put_u(p, image->pid);
    capture_put_u(p, image->inner_pid ? image->inner_pid : image->pid);
    capture_put_u(p, image->parent);
    capture_put_u(p, image->exec);
    capture_put_s(p, image->start);
    capture_put_s(p, image->time);
    capture_put_text(p, image->path);
    capture_put_u(p, argc);
    for (uint64_t i = 0; i < argc; i++)
        capture_put_text(p, image->argv[i]);
    capture_put_u(p, n_env);
    for (uint64_t i = 0; i < n_env; i++) {
        capture_put_text(p, image->env[i][0]);
        capture_put_text(p, image->env[i][1]);
    }
    capture_put_text(p, image->comm);
    if (image->filtered)
        capture_put_u(p, 1);
    finish(b, CAPTURE_IMAGE);
}

void build_image_end(struct capture_builder *b, uint64_t image, int64_t time, uint64_t status,
                     uint64_t dropped)
{
    struct capture_buf *p = payload(b);

    capture_put_u(p, image);
    capture_put_s(p, time);
    capture_put_u(p, status);
    if (dropped)
        capture_put_u(p, dropped);
    finish(b, CAPTURE_IMAGE_END);
}

void build_lane(struct capture_builder *b, const struct build_lane *lane)
{
    struct capture_buf *p = payload(b);

    capture_put_u(p, lane->id);
    capture_put_u(p, lane->image);
    capture_put_u(p, lane->tid);
    capture_put_u(p, lane->inner_tid ? lane->inner_tid : lane->tid);
    capture_put_s(p, lane->start);
    capture_put_s(p, lane->time);
    capture_put_u(p, lane->flags);
    capture_put_text(p, lane->name);
    finish(b, CAPTURE_LANE);
}

void build_lane_end(struct capture_builder *b, const struct build_lane_end *end)
{
    struct capture_buf *p = payload(b);

    capture_put_u(p, end->id);
    capture_put_s(p, end->end);
    capture_put_s(p, end->cpu);
    capture_put_u(p, end->records);
    capture_put_u(p, end->why);
    capture_put_u(p, end->too_deep);
    capture_put_text(p, end->name);
    finish(b, CAPTURE_LANE_END);
}

void build_module(struct capture_builder *b, const struct build_module *module)
{
    struct capture_buf *p = payload(b);

    capture_put_u(p, module->image);
    capture_put_u(p, module->start);
    capture_put_u(p, module->end);
    capture_put_u(p, module->offset);
    capture_put_u(p, module->bias);
    capture_put_u(p, module->known);
    capture_put_s(p, module->time);
    capture_put_text(p, module->path);
    capture_put_bytes(p, module->build_id, module->build_id_len);
    finish(b, CAPTURE_MODULE);
}

void build_samples(struct capture_builder *b, const struct build_sample *samples, size_t n)
{
    struct capture_buf *p = payload(b);
    int64_t time = n ? samples[0].time : 0;
    uint64_t address = 0;

    capture_put_s(p, time);
    for (size_t i = 0; i < n; i++) {
        capture_put_s(p, samples[i].time - time);
        capture_put_u(p, samples[i].flags);
        capture_put_u(p, samples[i].pid);
        capture_put_u(p, samples[i].lane);
        capture_put_u(p, samples[i].region);
        capture_put_s(p, (int64_t)(samples[i].address - address));
        time = samples[i].time;
        address = samples[i].address;
    }
    finish(b, CAPTURE_SAMPLES);
}

void build_loss(struct capture_builder *b, uint64_t cause, uint64_t pid, uint64_t lane, uint64_t region,
                uint64_t count)
{
    struct capture_buf *p = payload(b);

    capture_put_u(p, cause);
    capture_put_u(p, pid);
    capture_put_u(p, lane);
    capture_put_u(p, region);
    capture_put_u(p, count);
    finish(b, CAPTURE_LOSS);
}

void build_note(struct capture_builder *b, int64_t from, int64_t to, uint64_t pid, const char *text)
{
    struct capture_buf *p = payload(b);

    capture_put_s(p, from);
    capture_put_s(p, to);
    capture_put_u(p, pid);
    capture_put_text(p, text);
    finish(b, CAPTURE_NOTE);
}

void build_clock(struct capture_builder *b, int64_t monotonic)
{
    struct capture_buf *p = payload(b);

    capture_put_s(p, monotonic);
    capture_put_s(p, monotonic + 5);
    capture_put_s(p, BUILD_REALTIME + monotonic - BUILD_START);
    finish(b, CAPTURE_CLOCK);
}

void build_end(struct capture_builder *b, int64_t time, const char *how)
{
    struct capture_buf *p = payload(b);

    capture_put_s(p, time);
    capture_put_text(p, how);
    capture_put_u(p, 0);
    capture_put_u(p, 0);
    capture_put_u(p, 0);
    finish(b, CAPTURE_END);
}

void build_calls(struct capture_builder *b, uint32_t lane, uint32_t first_seq)
{
    payload(b);
    b->lane = lane;
    b->first_seq = first_seq;
    b->n_calls = 0;
    b->calls = (struct capture_calls){.seq = first_seq};
}

static void put_call(struct capture_builder *b, const struct capture_call *call)
{
    capture_calls__put(&b->calls, &b->payload, call);
    b->n_calls++;
}

void build_call(struct capture_builder *b, uint32_t seq, uint32_t region, uint16_t depth, int64_t start,
                int64_t end, uint8_t flags)
{
    put_call(b,
             &(struct capture_call){
                 .seq = seq, .region = region, .depth = depth, .start = start, .end = end, .flags = flags});
}

void build_unmatched(struct capture_builder *b, uint32_t seq, uint32_t region, int64_t time)
{
    put_call(
        b, &(struct capture_call){.seq = seq, .region = region, .start = time, .end = time, .unmatched = 1});
}

void build_calls_done(struct capture_builder *b)
{
    struct capture_buf records = b->payload;

    b->payload = (struct capture_buf){0};
    capture_put_u(&b->payload, b->lane);
    capture_put_u(&b->payload, b->n_calls);
    capture_put_u(&b->payload, b->first_seq);
    append(&b->payload, records.data, records.len);
    capture_buf__deinit(&records);
    finish(b, CAPTURE_CALLS);
}

void build_one_process(struct capture_builder *b, uint64_t pid)
{
    build_header(b);
    build_image(b, &(struct build_image){.id = 1,
                                         .how = CAPTURE_IMAGE_EXEC,
                                         .pid = pid,
                                         .parent = 1,
                                         .exec = 1,
                                         .start = BUILD_START,
                                         .time = BUILD_START,
                                         .path = "/home/ada/bin/heat",
                                         .argv = {"heat", "-n", "10"},
                                         .comm = "heat"});
    build_lane(b, &(struct build_lane){.id = 1,
                                       .image = 1,
                                       .tid = pid,
                                       .flags = SB_LANE_LEADER,
                                       .start = BUILD_START,
                                       .time = BUILD_START + 1,
                                       .name = "heat"});
}
