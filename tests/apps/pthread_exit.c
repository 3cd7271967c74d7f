// SPDX-License-Identifier: GPL-2.0-only
/* pthread_exit inside a region, in C without -fexceptions: cleanup handlers do not run. See pthread_exit.h. */
#define UNWINDS 0
#include "pthread_exit.h"
