/* SPDX-License-Identifier: GPL-2.0-only */
#include "process_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_MAX (1u << 20)

/* The first that a launcher set wins; which one, the reconstruction decides. */
static const char *const rank_variables[] = { "SCOPE_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                              "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "OMP_NUM_THREADS" };
#define N_VARIABLES (sizeof(rank_variables) / sizeof(*rank_variables))

static void append(struct process_text *t, const char *bytes, size_t len)
{
    char *data = realloc(t->data, t->len + len + 1);
    if (!data)
        return;
    t->data = data;
    memcpy(data + t->len, bytes, len);
    t->len += len;
    data[t->len] = '\0';
}

void process_text__add(struct process_text *t, const struct sb_text *piece)
{
    if (piece->len <= SB_TEXT_CHUNK && piece->offset == t->len)
        append(t, piece->text, piece->len);
}

void process_text__read(struct process_text *t, pid_t pid, const char *file)
{
    char path[64], buffer[4096];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    while (t->len < READ_MAX && (n = read(fd, buffer, sizeof(buffer))) > 0)
        append(t, buffer, (size_t)n);
    close(fd);
}

void process_text__deinit(struct process_text *t)
{
    free(t->data);
    *t = (struct process_text){ 0 };
}

const char *process_text__variable(const struct process_text *t, const char *name)
{
    size_t n = strlen(name);

    for (size_t at = 0; at < t->len; at += strlen(t->data + at) + 1)
        if (!strncmp(t->data + at, name, n) && t->data[at + n] == '=')
            return t->data + at + n + 1;
    return NULL;
}

void process_text__put_arguments(const struct process_text *t, bool full, struct capture_buf *b)
{
    uint64_t n = 0;

    for (size_t at = 0; full && at < t->len; at += strlen(t->data + at) + 1)
        n++;
    capture_put_u(b, n);
    for (size_t at = 0; n && at < t->len; at += strlen(t->data + at) + 1)
        capture_put_text(b, t->data + at);
}

void process_text__put_ranks(const struct process_text *t, struct capture_buf *b)
{
    uint64_t n = 0;

    for (size_t i = 0; i < N_VARIABLES; i++)
        n += process_text__variable(t, rank_variables[i]) != NULL;
    capture_put_u(b, n);
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const char *value = process_text__variable(t, rank_variables[i]);
        if (!value)
            continue;
        capture_put_text(b, rank_variables[i]);
        capture_put_text(b, value);
    }
}
