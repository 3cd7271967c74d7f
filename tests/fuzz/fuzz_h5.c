// SPDX-License-Identifier: GPL-2.0-only
#include "converters/formats/formats.h"

#define FUZZ_FORMAT format_h5
#include "fuzz_format.h"

const char *__asan_default_options(void);
const char *__lsan_default_suppressions(void);

/* libhdf5 asks for as much memory as a damaged file says, and is content with a refusal; it loses a few bytes
 * of its own when it gives up. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}
