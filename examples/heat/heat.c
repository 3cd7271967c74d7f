/* SPDX-License-Identifier: MIT */
/*
 * heat: the two-dimensional heat equation, in regions.
 *
 * A plate of nx times ny cells, cold inside, its upper edge held at 1. Rows are shared out over the MPI ranks, and
 * inside a rank over threads; every step averages each cell with its four neighbours (Jacobi). At the end each rank
 * prints one line of JSON with how often each region was entered, counted by the program itself, so that a profile can
 * be checked against it.
 *
 *     mpicc -O2 -g -I../../include heat.c -o heat -lm -pthread                      then mpirun -n 2 ./heat
 *     gcc -DHEAT_SERIAL -O2 -g -I../../include heat.c -o heat -lm -pthread                      without MPI
 *
 * Regions: init; solve > step > exchange, stencil (one per thread), and residual every tenth step; io.
 */
#define _POSIX_C_SOURCE 200809L /* barriers under -std=c11 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scope_probe.h"

#ifndef HEAT_SERIAL
#include <mpi.h>
#endif

enum { RESIDUAL_EVERY = 10, MAX_THREADS = 64 };

struct options {
    int nx, ny, steps, threads;
};

/* A rank's rows and one halo row above and below: (rows + 2) * nx cells, twice. */
struct field {
    int nx, rows;
    double *now, *next;
};

struct counts {
    long init, solve, step, exchange, stencil, residual, io;
};

struct ranks {
    int me, all;
};

static double *row(double *cells, const struct field *f, int y)
{
    return cells + (size_t)y * (size_t)f->nx;
}

/* ---- what MPI does, and what stands in for it without MPI ---- */

#ifdef HEAT_SERIAL
static void ranks_start(struct ranks *r, int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    *r = (struct ranks){0, 1};
}

static void ranks_end(void)
{
}

static void ranks_swap_halos(const struct ranks *r, struct field *f)
{
    (void)r;
    (void)f;
}

static double ranks_sum(double mine)
{
    return mine;
}
#else
static void ranks_start(struct ranks *r, int *argc, char ***argv)
{
    int provided;

    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &r->me);
    MPI_Comm_size(MPI_COMM_WORLD, &r->all);
}

static void ranks_end(void)
{
    MPI_Finalize();
}

static void ranks_swap_halos(const struct ranks *r, struct field *f)
{
    int up = r->me > 0 ? r->me - 1 : MPI_PROC_NULL;
    int down = r->me < r->all - 1 ? r->me + 1 : MPI_PROC_NULL;

    MPI_Sendrecv(row(f->now, f, 1), f->nx, MPI_DOUBLE, up, 0, row(f->now, f, f->rows + 1), f->nx, MPI_DOUBLE,
                 down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(f->now, f, f->rows), f->nx, MPI_DOUBLE, down, 1, row(f->now, f, 0), f->nx, MPI_DOUBLE, up, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double ranks_sum(double mine)
{
    double sum;

    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}
#endif

/* ---- the numbers ---- */

static void set_up(struct field *f, const struct options *o, const struct ranks *r, struct counts *c)
{
    size_t cells;

    SP_BEGIN(init);
    c->init++;
    f->nx = o->nx;
    f->rows = o->ny / r->all + (r->me < o->ny % r->all);
    cells = (size_t)f->nx * ((size_t)f->rows + 2);
    f->now = calloc(cells, sizeof(double));
    f->next = calloc(cells, sizeof(double));
    if (!f->now || !f->next) {
        fprintf(stderr, "heat: no memory for %zu cells\n", cells);
        exit(1);
    }
    if (r->me == 0) {
        for (int x = 0; x < f->nx; x++)
            f->now[x] = f->next[x] = 1.0;
    }
    SP_END(init);
}

static void exchange(const struct ranks *r, struct field *f, struct counts *c)
{
    SP_PROBE(exchange);
    c->exchange++;
    ranks_swap_halos(r, f);
}

/* Rows from first to before last. Called by each thread for its own. */
static void stencil(struct field *f, int first, int last)
{
    SP_PROBE(stencil);
    for (int y = first; y < last; y++) {
        const double *above = row(f->now, f, y - 1), *here = row(f->now, f, y), *below = row(f->now, f, y + 1);
        double *out = row(f->next, f, y);

        for (int x = 1; x < f->nx - 1; x++)
            out[x] = 0.25 * (here[x - 1] + here[x + 1] + above[x] + below[x]);
    }
}

static double residual(struct field *f, struct counts *c)
{
    double sum = 0;

    SP_PROBE(residual);
    c->residual++;
    for (int y = 1; y <= f->rows; y++) {
        for (int x = 1; x < f->nx - 1; x++) {
            double change = row(f->next, f, y)[x] - row(f->now, f, y)[x];

            sum += change * change;
        }
    }
    return sqrt(ranks_sum(sum));
}

/* ---- threads: they live as long as the solver and meet at a barrier twice a step ---- */

struct team {
    struct field *field;
    int threads;
    int over;
    pthread_barrier_t go, done;
    pthread_t ids[MAX_THREADS];
};

struct member {
    struct team *team;
    int index;
};

static void own_rows(const struct team *t, int index)
{
    int rows = t->field->rows;

    stencil(t->field, 1 + rows * index / t->threads, 1 + rows * (index + 1) / t->threads);
}

static void *member_main(void *arg)
{
    struct member me = *(struct member *)arg;

    free(arg);
    for (;;) {
        pthread_barrier_wait(&me.team->go);
        if (me.team->over)
            return NULL;
        own_rows(me.team, me.index);
        pthread_barrier_wait(&me.team->done);
    }
}

static void team_start(struct team *t)
{
    if (t->threads == 1)
        return;
    pthread_barrier_init(&t->go, NULL, (unsigned)t->threads);
    pthread_barrier_init(&t->done, NULL, (unsigned)t->threads);
    for (int i = 1; i < t->threads; i++) {
        struct member *m = malloc(sizeof(*m));

        if (!m || (*m = (struct member){t, i}, pthread_create(&t->ids[i], NULL, member_main, m)) != 0) {
            fprintf(stderr, "heat: cannot start thread %d of %d\n", i, t->threads);
            exit(1);
        }
    }
}

static void team_run(struct team *t)
{
    if (t->threads > 1)
        pthread_barrier_wait(&t->go);
    own_rows(t, 0);
    if (t->threads > 1)
        pthread_barrier_wait(&t->done);
}

static void team_stop(struct team *t)
{
    if (t->threads == 1)
        return;
    t->over = 1;
    pthread_barrier_wait(&t->go);
    for (int i = 1; i < t->threads; i++)
        pthread_join(t->ids[i], NULL);
}

static double step(struct team *t, const struct ranks *r, int number, struct counts *c)
{
    struct field *f = t->field;
    double change = -1, *swap;

    SP_PROBE(step);
    c->step++;
    exchange(r, f, c);
    team_run(t);
    c->stencil += t->threads;
    if (number % RESIDUAL_EVERY == 0)
        change = residual(f, c);
    swap = f->now;
    f->now = f->next;
    f->next = swap;
    return change;
}

static double solve(struct field *f, const struct options *o, const struct ranks *r, struct counts *c)
{
    struct team team = {.field = f, .threads = o->threads};
    double change = -1, latest = -1;

    SP_PROBE(solve);
    c->solve++;
    team_start(&team);
    for (int i = 1; i <= o->steps; i++) {
        change = step(&team, r, i, c);
        latest = change < 0 ? latest : change;
    }
    team_stop(&team);
    return latest;
}

static void report(const struct ranks *r, double change, struct counts *c)
{
    SP_BEGIN(io);
    c->io++;
    if (r->me == 0)
        fprintf(stderr, "heat: last residual %g\n", change);
    SP_END(io);
    printf("{\"rank\":%d,\"calls\":{\"init\":%ld,\"solve\":%ld,\"step\":%ld,\"exchange\":%ld,\"stencil\":%ld,"
           "\"residual\":%ld,\"io\":%ld}}\n",
           r->me, c->init, c->solve, c->step, c->exchange, c->stencil, c->residual, c->io);
}

static int usage(void)
{
    fprintf(stderr, "usage: heat [--nx CELLS] [--ny CELLS] [--steps N] [--threads N (at most %d)]\n", MAX_THREADS);
    return 2;
}

static int parse(struct options *o, int argc, char **argv)
{
    const struct {
        const char *name;
        int *value, least, most;
    } table[] = {
        {"--nx", &o->nx, 3, 100000},
        {"--ny", &o->ny, 1, 100000},
        {"--steps", &o->steps, 0, 100000000},
        {"--threads", &o->threads, 1, MAX_THREADS},
    };

    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        char *end;
        long value;

        while (k < sizeof(table) / sizeof(*table) && strcmp(argv[i], table[k].name) != 0)
            k++;
        if (k == sizeof(table) / sizeof(*table) || i + 1 == argc)
            return -1;
        value = strtol(argv[i + 1], &end, 10);
        if (*end || end == argv[i + 1] || value < table[k].least || value > table[k].most)
            return -1;
        *table[k].value = (int)value;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.nx = 512, .ny = 512, .steps = 200, .threads = 1};
    struct counts c = {0};
    struct ranks r;
    struct field f;

    ranks_start(&r, &argc, &argv);
    if (parse(&o, argc, argv)) {
        ranks_end();
        return usage();
    }
    set_up(&f, &o, &r, &c);
    report(&r, solve(&f, &o, &r, &c), &c);
    free(f.now);
    free(f.next);
    ranks_end();
    return 0;
}
