// SPDX-License-Identifier: GPL-2.0-only
/* Opened by plugin_host: a region in the constructor, and one in each call. */
#include "scope_probe.h"

int plugin_work(void);

__attribute__((constructor)) static void at_load(void)
{
    SP_PROBE(constructor);
}

int plugin_work(void)
{
    SP_PROBE(plugin_work);
    return 1;
}
