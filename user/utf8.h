/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCOPE_UTF8_H
#define SCOPE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at the start, its code in *ret; 0 where there is none. len > 0. */
size_t utf8_text__next(const char *text, size_t len, uint32_t *ret);
bool utf8_text__is_valid(const char *text, size_t len);

#endif
