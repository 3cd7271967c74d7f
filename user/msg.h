/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one place that writes to people: messages on stderr, one line each, and the text at the end of a
 * run. libbpf's log goes through here too. Whatever comes in, no control character and no broken UTF-8
 * goes out.
 *
 *     scope-bpf: ./heat: has no regions; see scope-bpf --list -- ./heat
 */
#ifndef SCOPE_MSG_H
#define SCOPE_MSG_H

#include <stdbool.h>
#include <stddef.h>

enum msg_level {
    MSG_ERROR,  /* also with --quiet */
    MSG_WARN,   /* something is missing or lost */
    MSG_INFO,   /* what a person wants to know in every run */
    MSG_DETAIL, /* -v */
    MSG_TRACE,  /* -vv; libbpf */
};

/* Before this call everything up to MSG_INFO is shown. Also routes libbpf's log. */
void msg__init(bool quiet, int verbose);
bool msg__shows(enum msg_level level);

void msg__put(enum msg_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define msg__error(...)  msg__put(MSG_ERROR, __VA_ARGS__)
#define msg__warn(...)   msg__put(MSG_WARN, __VA_ARGS__)
#define msg__info(...)   msg__put(MSG_INFO, __VA_ARGS__)
#define msg__detail(...) msg__put(MSG_DETAIL, __VA_ARGS__)
#define msg__trace(...)  msg__put(MSG_TRACE, __VA_ARGS__)

/* A line of a table or list as it is: no prefix, silent with --quiet. */
void msg__text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Called before anything is written: takes the status line away. NULL: nothing. */
void msg__set_before(void (*before)(void));

/*
 * text, len bytes, so that a terminal shows it and does nothing else: control characters (C0, DEL, C1,
 * line and direction marks) and bytes that are no UTF-8 become \n, \t, \xNN. Writes at most size bytes
 * with the NUL, cut between characters; returns the length.
 */
size_t msg__escape(const char *text, size_t len, char *out, size_t size);

#endif
