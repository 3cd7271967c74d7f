// SPDX-License-Identifier: GPL-2.0-only
#include "capture_text.h"

#include <stdlib.h>
#include <string.h>

static struct text without_nul(struct profile *p, const uint8_t *bytes, size_t len)
{
    char *copy = malloc(len);
    struct text text = {0};

    if (!copy)
        return text;
    memcpy(copy, bytes, len);
    for (char *nul = copy; (nul = memchr(nul, 0, len - (size_t)(nul - copy)));)
        *nul = '?';
    text = profile__text(p, copy, len);
    free(copy);
    return text;
}

struct text capture_text(struct profile *p, struct capture_in *in, size_t max)
{
    size_t len;
    const uint8_t *bytes = capture_get_bytes(in, &len);

    if (len > max)
        len = max;
    if (len && memchr(bytes, 0, len))
        return without_nul(p, bytes, len);
    return profile__text(p, bytes, len);
}
