/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_USDT_ERR_H
#define SCOPE_USDT_ERR_H

/*
 * How the silent rooms say what went wrong: a function returns 0 or -errno and, when it fails,
 * leaves one line here (what, on which object, why). Only a program's main prints it.
 */
struct err {
    char text[512];
};

/*
 * Fills err (which may be NULL) and returns -code, so that a caller can write
 * `return err__set(err, EINVAL, "…", …);`. The text is cut to fit and never holds a newline or
 * another control character: what comes from a hostile file cannot play with the terminal.
 */
int err__set(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
