/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_OPTION_VALUES_H
#define SCOPE_OPTION_VALUES_H

#include "usdt/err.h"

#include <stddef.h>
#include <sys/types.h>

/*
 * Texts of a command line to values. Each wants the whole text to be the value and says in err, when
 * it is not, what would have been right. `name` (with its dashes) is for that message. 0 or -EINVAL.
 */
int option_value__int(const char *name, const char *text, double min, double max, int *ret, struct err *err);
/* Bytes; K, M, G (also KiB, KB, k…) mean powers of 1024. */
int option_value__size(const char *name, const char *text, double min, double max, size_t *ret,
                       struct err *err);
/* Above min: a number with ms, s, m, h or nothing (seconds). */
int option_value__seconds(const char *name, const char *text, double min, double max, double *ret,
                          struct err *err);
/* Appends the numbers of "1,2,3" to *ret (realloc'ed), each once. Also -ENOMEM. */
int option_value__pids(const char *name, const char *text, pid_t **ret, size_t *ret_n, struct err *err);

/*
 * Words as a shell splits them: blanks, '…', "…", backslash; nothing is expanded. *ret is one block of
 * memory, NULL behind the last word.
 */
int option_value__words(const char *text, char ***ret, int *ret_n, struct err *err);

#endif
