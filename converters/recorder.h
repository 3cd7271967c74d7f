/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `scope-report recorder`: the process that makes the files of a recording; and what it and the collector say to each
 * other.  One SOCK_SEQPACKET pair, one struct recorder_message per packet.
 *
 *   recorder → READY (with the capture's descriptor) or FAILED (text: one line), then waits
 *   collector → FINISH or DISCARD; end of file: the collector died, the capture stays
 *   recorder → DONE (status 0), or FAILED (text)
 */
#ifndef SCOPE_RECORDER_H
#define SCOPE_RECORDER_H

#include <stdint.h>

enum recorder_message_type {
    RECORDER_READY = 1,
    RECORDER_FAILED = 2,
    RECORDER_FINISH = 3,
    RECORDER_DISCARD = 4,
    RECORDER_DONE = 5,
};

struct recorder_message {
    uint32_t type;
    int32_t code;   /* FAILED: -errno; DONE: exit status */
    char text[504]; /* NUL-terminated */
};
_Static_assert(sizeof(struct recorder_message) == 512, "both sides are built together, but of one size");

/* argv[0] is "recorder"; --fd N --output PREFIX --format LIST [--quiet] [--keep-capture]. */
int recorder_main(int argc, char **argv);

#endif
