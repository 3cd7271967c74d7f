// SPDX-License-Identifier: GPL-2.0-only
#include "converters/formats/formats.h"

#define FUZZ_FORMAT format_prof
#include "fuzz_format.h"
