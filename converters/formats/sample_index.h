/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A .sps may hold region and module numbers that its own tables do not have: they count as "outside" and
 * "unknown", and go back into a .sps as they came. In the model an index below 0 is that; which number it was
 * is kept in it: -1 … -LIMIT as they are, others as INT32_MIN + number.
 */
#ifndef SCOPE_SAMPLE_INDEX_H
#define SCOPE_SAMPLE_INDEX_H

#include <stdint.h>

#define SAMPLE_INDEX_LIMIT (1 << 20)

static inline int32_t sample_index__foreign(int32_t number)
{
    if (number < 0)
        return number >= -SAMPLE_INDEX_LIMIT ? number : -1;
    return number < INT32_MAX - SAMPLE_INDEX_LIMIT ? INT32_MIN + number : -1;
}

/* The number to write beside a table of n entries, which a foreign number must not hit. */
static inline int32_t sample_index__native(int32_t index, uint32_t n)
{
    if (index >= -SAMPLE_INDEX_LIMIT)
        return index;
    index -= INT32_MIN;
    return (uint32_t)index < n ? -1 : index;
}

#endif
