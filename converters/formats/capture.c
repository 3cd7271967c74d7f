// SPDX-License-Identifier: GPL-2.0-only
/* .scope: the capture that scope-bpf writes while a program runs; read only. */
#include "capture.h"

#include "formats/formats.h"
#include "reconstruct.h"

static bool match(const struct input *in)
{
    return in->size >= 4 && in->head[0] == 'S' && in->head[1] == 'C' && in->head[2] == 'P' &&
           in->head[3] == 'B';
}

static int read_capture(const struct input *in, struct profile *into, struct err *err)
{
    return reconstruct__into(in->fd, in->path, NULL, into, err);
}

const struct format format_capture = {
    .name = "scope",
    .suffix = ".scope",
    .help = "capture of scope-bpf, finished or not",
    .match = match,
    .read = read_capture,
};
