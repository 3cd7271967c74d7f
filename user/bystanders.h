/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_BYSTANDERS_H
#define SCOPE_BYSTANDERS_H

#include "attach.h"

#include <sys/types.h>

/*
 * How many running processes other than `except` map a file whose sites are attached for every process.  They are
 * not recorded, but their probes trap.  *ret_file: one such file (owned by the attach).
 */
size_t bystanders__count(const struct attach *a, pid_t except, const struct attached_file **ret_file);

#endif
