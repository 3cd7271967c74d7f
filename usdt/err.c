// SPDX-License-Identifier: GPL-2.0-only
#include "usdt/err.h"

#include <stdarg.h>
#include <stdio.h>

static void drop_control_characters(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
}

int err__set(struct err *err, int code, const char *format, ...)
{
    va_list args;

    if (!err)
        return -code;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    drop_control_characters(err->text);
    return -code;
}
