/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a profile says about the machine and the run, in the names and words of scope-profiler's own
 * metadata. What depends on the ranks (mpi_size, total_cores, num_nodes) and on clocks (timestamp,
 * start_time_ns) is added in reconstruction.
 *
 *   minimal  platform, chip_information, omp_num_threads, label: names no person, host, folder or job
 *   full     also hostname, uname, working_directory, user, modules, PATH, LD_LIBRARY_PATH, SLURM_* …
 */
#ifndef SCOPE_MACHINE_H
#define SCOPE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine_options {
    bool full;
    const char *label;        /* NULL none */
    const char *user;         /* who the command runs as */
    char *const *environment; /* of the command; NULL: ours */
    int openmp_threads;       /* threads that OpenMP would start without OMP_NUM_THREADS: 0 the program is
                                 not known to use OpenMP (1 is written) */
};

/* Where the values go: all three must be there. Strings live during the call only. */
struct machine_sink {
    void *arg;
    void (*text)(void *arg, const char *key, const char *value);
    void (*integer)(void *arg, const char *key, int64_t value);
    void (*list)(void *arg, const char *key, const char *const *items, size_t n);
};

/* 0 or -ENOMEM. */
int machine__collect(const struct machine_options *options, const struct machine_sink *sink);

/* CPUs that this process may run on: what OpenMP takes by default. */
int machine__cpus(void);

#endif
