// SPDX-License-Identifier: GPL-2.0-only
/*
 * make_capture CALLS OUT [THREADS [PROCESSES]]: a capture of that many calls as a busy solver would leave it,
 * without running one: for the time and memory that a profile takes.  Threads of a process share the work;
 * every thread holds one long call, in it steps of a few nested calls; blocks are those of a drained ring.
 */
#include "capture.h"
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_CALLS 16384
#define T           1000000000ll

enum { MAIN, STEP, ASSEMBLE, SOLVE, DOT, N_REGIONS };
static const char *const names[N_REGIONS] = {"main", "step", "assemble", "solve", "dot"};

struct thread {
    uint32_t lane;
    uint32_t seq;
    uint64_t left; /* calls to be made */
    int64_t now;
    struct capture_buf body;
    struct capture_calls state;
    uint32_t in_block, first_seq;
};

static FILE *out;
static uint64_t sequence;
static struct capture_buf payload;

static void block(uint16_t type, const struct capture_buf *b)
{
    uint8_t header[CAPTURE_HEADER_BYTES];

    capture_block_header(header, type, sequence++, b->data, (uint32_t)b->len);
    fwrite(header, 1, sizeof(header), out);
    fwrite(b->data, 1, b->len, out);
}

static struct capture_buf *fresh(void)
{
    capture_buf__reset(&payload);
    return &payload;
}

static void flush(struct thread *t)
{
    struct capture_buf *p = fresh();

    if (!t->in_block)
        return;
    capture_put_u(p, t->lane);
    capture_put_u(p, t->in_block);
    capture_put_u(p, t->first_seq);
    capture_buf__reserve(p, t->body.len);
    memcpy(p->data + p->len, t->body.data, t->body.len);
    p->len += t->body.len;
    block(CAPTURE_CALLS, p);
    capture_buf__reset(&t->body);
    t->in_block = 0;
}

static void call(struct thread *t, int region, uint16_t depth, int64_t start)
{
    if (!t->left || (t->left == 1 && region != MAIN)) /* the last one is the outermost */
        return;
    if (!t->in_block) {
        t->first_seq = t->seq;
        t->state = (struct capture_calls){.seq = t->seq};
    }
    t->now += 150 + rand() % 100;
    capture_calls__put(&t->state, &t->body,
                       &(struct capture_call){.seq = t->seq++,
                                              .region = SB_REGION_FIRST + (uint32_t)region,
                                              .depth = depth,
                                              .start = start,
                                              .end = t->now});
    t->now += 500 + rand() % 200;
    t->left--;
    if (++t->in_block == BLOCK_CALLS)
        flush(t);
}

static void step(struct thread *t)
{
    int64_t step_start = t->now, solve_start;

    for (int i = 0; i < 2; i++)
        call(t, ASSEMBLE, 2, t->now);
    solve_start = t->now;
    for (int i = 0; i < 5; i++)
        call(t, DOT, 3, t->now);
    call(t, SOLVE, 2, solve_start);
    call(t, STEP, 1, step_start);
}

static void put_head(void)
{
    struct capture_buf *p = fresh();

    capture_put_u(p, CAPTURE_VERSION);
    capture_put_text(p, "x86_64");
    capture_put_bytes(p, "make_capture run", 16);
    capture_put_s(p, T);
    capture_put_s(p, T);
    capture_put_s(p, 1764476940000000000ll);
    capture_put_u(p, 0);
    capture_put_text(p, "bench");
    block(CAPTURE_HEADER, p);
    p = fresh();
    for (int i = 0; i < N_REGIONS; i++) {
        capture_put_u(p, SB_REGION_FIRST + (uint64_t)i);
        capture_put_u(p, 0);
        capture_put_text(p, "scope");
        capture_put_text(p, names[i]);
        capture_put_text(p, "solver.c");
        capture_put_s(p, 10 * i + 1);
    }
    block(CAPTURE_REGIONS, p);
}

static void put_image(uint32_t image)
{
    struct capture_buf *p = fresh();
    char rank[16];

    snprintf(rank, sizeof(rank), "%u", image - 1);
    capture_put_u(p, image);
    capture_put_u(p, 0);
    capture_put_u(p, CAPTURE_IMAGE_EXEC);
    capture_put_u(p, 1000 + image);
    capture_put_u(p, 1000 + image);
    capture_put_u(p, 1);
    capture_put_u(p, 1);
    capture_put_s(p, T);
    capture_put_s(p, T);
    capture_put_text(p, "/opt/solver");
    capture_put_u(p, 0);
    capture_put_u(p, 1);
    capture_put_text(p, "PMI_RANK");
    capture_put_text(p, rank);
    capture_put_text(p, "solver");
    block(CAPTURE_IMAGE, p);
}

static void put_lane(uint32_t lane, uint32_t image)
{
    struct capture_buf *p = fresh();

    capture_put_u(p, lane);
    capture_put_u(p, image);
    capture_put_u(p, 1000 + lane);
    capture_put_u(p, 1000 + lane);
    capture_put_s(p, T);
    capture_put_s(p, T);
    capture_put_u(p, 0);
    capture_put_text(p, "solver");
    block(CAPTURE_LANE, p);
}

static void put_lane_end(const struct thread *t)
{
    struct capture_buf *p = fresh();

    capture_put_u(p, t->lane);
    capture_put_s(p, t->now + 10);
    capture_put_s(p, t->now - T);
    capture_put_u(p, t->seq);
    capture_put_u(p, SB_END_EXIT);
    capture_put_u(p, 0);
    capture_put_text(p, "solver");
    block(CAPTURE_LANE_END, p);
}

static void put_end(int64_t time)
{
    struct capture_buf *p = fresh();

    capture_put_s(p, time);
    capture_put_text(p, "command ended");
    for (int i = 0; i < 3; i++)
        capture_put_u(p, 0);
    block(CAPTURE_END, p);
}

static void run(struct thread *threads, uint32_t n)
{
    int64_t last = 0;
    uint32_t busy = n;

    while (busy) {
        busy = 0;
        for (uint32_t i = 0; i < n; i++) {
            for (int steps = 0; steps < 500 && threads[i].left > 1; steps++)
                step(&threads[i]);
            if (threads[i].left == 1)
                call(&threads[i], MAIN, 0, T + 1);
            busy += threads[i].left > 0;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        flush(&threads[i]);
        put_lane_end(&threads[i]);
        last = threads[i].now > last ? threads[i].now : last;
        capture_buf__deinit(&threads[i].body);
    }
    put_end(last + 100);
}

int main(int argc, char **argv)
{
    uint64_t calls = argc > 2 ? strtoull(argv[1], NULL, 0) : 0;
    uint32_t n = argc > 3 ? (uint32_t)atoi(argv[3]) : 1, processes = argc > 4 ? (uint32_t)atoi(argv[4]) : 1;
    struct thread *threads = calloc((size_t)n * processes + 1, sizeof(*threads));

    out = calls && n && processes && threads ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "make_capture CALLS OUT [THREADS [PROCESSES]]\n");
        return 2;
    }
    put_head();
    for (uint32_t i = 0; i < n * processes; i++) {
        if (i % n == 0)
            put_image(i / n + 1);
        put_lane(i + 1, i / n + 1);
        threads[i] = (struct thread){
            .lane = i + 1, .left = calls / (n * processes) + (i < calls % (n * processes)), .now = T + 10};
    }
    run(threads, n * processes);
    free(threads);
    capture_buf__deinit(&payload);
    return ferror(out) || fclose(out) ? 1 : 0;
}
