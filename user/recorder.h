/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The collector's side of the recorder: the process without privileges that makes and opens every output file.
 *
 * It is `scope-report recorder`, from the folder of our own executable, forked before BPF is loaded.  It checks the
 * outputs, creates <prefix>.scope and passes the descriptor; after FINISH it turns the capture into the files, prints
 * the summary on stderr and removes the capture.  When the collector dies it leaves the capture behind.
 */
#ifndef SCOPE_RECORDER_CLIENT_H
#define SCOPE_RECORDER_CLIENT_H

#include "identity.h"
#include "options.h"

struct recorder;

/*
 * Forks it as `who` and waits until the outputs are checked.  *ret_capture_fd: owned by the caller, locked (flock) as
 * long as one of the two lives.  On failure one line: which output, why, what to do.
 */
int recorder__start(const struct options *options, const struct identity *who, struct recorder **ret,
                    int *ret_capture_fd, struct err *err);

int recorder__fd(const struct recorder *r);  /* readable or hung up before FINISH: it died */
pid_t recorder__pid(const struct recorder *r);

/*
 * The capture is complete (flushed by the caller): write the files.  Blocks until it is done.  *ret_status: 0, or 125
 * where something could not be written; then err has the line, which names the capture that stays.
 */
int recorder__finish(struct recorder *r, int *ret_status, struct err *err);

/* Nothing was recorded (the command could not start, BPF did not load): the capture is removed. */
void recorder__discard(struct recorder *r);

/* Without finish or discard: the capture stays as a crash would leave it.  Reaps.  Accepts NULL. */
void recorder__destroy(struct recorder *r);

#endif
