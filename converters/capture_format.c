/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields, blocks and call records of the capture: shared by the collector that writes and the reader. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

void capture_buf__deinit(struct capture_buf *b)
{
    free(b->data);
    memset(b, 0, sizeof(*b));
}

void capture_buf__reset(struct capture_buf *b)
{
    b->len = 0;
    b->failed = 0;
}

void capture_buf__reserve(struct capture_buf *b, size_t more)
{
    if (b->failed || more <= b->cap - b->len)
        return;
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->len < more)
        cap *= 2;
    uint8_t *data = realloc(b->data, cap);
    if (!data) {
        b->failed = 1;
        return;
    }
    b->data = data;
    b->cap = cap;
}

void capture_put_u(struct capture_buf *b, uint64_t v)
{
    capture_buf__reserve(b, 10);
    if (b->failed)
        return;
    uint8_t *at = b->data + b->len;
    while (v >= 0x80) {
        *at++ = (uint8_t)v | 0x80;
        v >>= 7;
    }
    *at++ = (uint8_t)v;
    b->len = (size_t)(at - b->data);
}

void capture_put_s(struct capture_buf *b, int64_t v)
{
    capture_put_u(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void capture_put_bytes(struct capture_buf *b, const void *data, size_t len)
{
    capture_put_u(b, len);
    capture_buf__reserve(b, len);
    if (b->failed || !len)
        return;
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

void capture_put_text(struct capture_buf *b, const char *text)
{
    capture_put_bytes(b, text, text ? strlen(text) : 0);
}

uint64_t capture_get_u(struct capture_in *in)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (in->bad || in->at == in->end)
            break;
        uint8_t byte = *in->at++;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    in->bad = 1;
    return 0;
}

int64_t capture_get_s(struct capture_in *in)
{
    uint64_t v = capture_get_u(in);
    return (int64_t)(v >> 1 ^ -(v & 1));
}

const uint8_t *capture_get_bytes(struct capture_in *in, size_t *ret_len)
{
    uint64_t len = capture_get_u(in);
    if (in->bad || len > (size_t)(in->end - in->at)) {
        in->bad = 1;
        *ret_len = 0;
        return (const uint8_t *)"";
    }
    const uint8_t *data = in->at;
    in->at += len;
    *ret_len = len;
    return data;
}

/* CRC-32C (Castagnoli), reflected polynomial 0x82f63b78, eight bytes a step by tables made at first use. */
static uint32_t crc_table[8][256];

__attribute__((constructor)) static void crc_init(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++)
            crc_table[t][i] = crc_table[t - 1][i] >> 8 ^ crc_table[0][crc_table[t - 1][i] & 0xff];
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; len >= 8; len -= 8, p += 8) {
        uint32_t lo =
            crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = crc_table[7][lo & 0xff] ^ crc_table[6][lo >> 8 & 0xff] ^ crc_table[5][lo >> 16 & 0xff] ^
              crc_table[4][lo >> 24] ^ crc_table[3][p[4]] ^ crc_table[2][p[5]] ^ crc_table[1][p[6]] ^
              crc_table[0][p[7]];
    }
    for (; len; len--, p++)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

static void put_le(uint8_t *out, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

void capture_block_header(uint8_t out[CAPTURE_HEADER_BYTES], uint16_t type, uint64_t sequence,
                          const void *payload, uint32_t len)
{
    put_le(out, CAPTURE_MAGIC, 4);
    put_le(out + 4, type, 2);
    put_le(out + 6, 0, 2);
    put_le(out + 8, len, 4);
    put_le(out + 12, 0, 4);
    put_le(out + 16, sequence, 8);
    uint32_t crc = crc32c(0, out, CAPTURE_HEADER_BYTES);
    put_le(out + 12, crc32c(crc, payload, len), 4);
}

enum { TAG_UNMATCHED = 1, TAG_SAME_REGION = 2, TAG_DEPTH = 4, TAG_FLAGS = 16, TAG_GAP = 32 };

static unsigned depth_code(uint16_t before, uint16_t depth)
{
    if (depth == before)
        return 0;
    if (depth + 1 == before)
        return 1;
    return depth == before + 1 ? 2 : 3;
}

void capture_calls__put(struct capture_calls *state, struct capture_buf *b, const struct capture_call *call)
{
    uint32_t gap = call->seq - state->seq;
    unsigned depth = call->unmatched ? 0 : depth_code(state->depth, call->depth);
    uint8_t tag = (uint8_t)(depth * TAG_DEPTH | (call->unmatched ? TAG_UNMATCHED : 0) |
                            (call->region == state->region ? TAG_SAME_REGION : 0) |
                            (call->flags ? TAG_FLAGS : 0) | (gap ? TAG_GAP : 0));

    capture_buf__reserve(b, 1);
    if (b->failed)
        return;
    b->data[b->len++] = tag;
    if (!(tag & TAG_SAME_REGION))
        capture_put_s(b, (int64_t)call->region - state->region);
    if (depth == 3)
        capture_put_u(b, call->depth);
    if (call->flags)
        capture_put_u(b, call->flags);
    if (gap)
        capture_put_u(b, gap);
    capture_put_s(b, call->end - state->end);
    if (!call->unmatched) {
        capture_put_u(b, (uint64_t)(call->end - call->start));
        state->depth = call->depth;
    }
    state->seq = call->seq + 1;
    state->region = call->region;
    state->end = call->end;
}

int capture_calls__get(struct capture_calls *state, struct capture_in *in, struct capture_call *ret_call)
{
    if (!capture_in__more(in))
        return -1;
    uint8_t tag = *in->at++;
    struct capture_call call = {.unmatched = tag & TAG_UNMATCHED};
    static const int step[] = {0, -1, 1};
    unsigned depth = tag / TAG_DEPTH & 3;

    if (tag >= TAG_GAP * 2)
        return -1;
    call.region = state->region + (tag & TAG_SAME_REGION ? 0 : (uint32_t)capture_get_s(in));
    call.depth = (uint16_t)(depth == 3 ? capture_get_u(in) : (uint64_t)(state->depth + step[depth]));
    call.flags = tag & TAG_FLAGS ? (uint8_t)capture_get_u(in) : 0;
    call.seq = state->seq + (tag & TAG_GAP ? (uint32_t)capture_get_u(in) : 0);
    call.end = (int64_t)((uint64_t)state->end + (uint64_t)capture_get_s(in));
    call.start = call.unmatched ? call.end : (int64_t)((uint64_t)call.end - capture_get_u(in));
    if (in->bad || call.start > call.end)
        return -1;
    if (call.unmatched)
        call.depth = 0;
    else
        state->depth = call.depth;
    state->seq = call.seq + 1;
    state->region = call.region;
    state->end = call.end;
    *ret_call = call;
    return 0;
}
