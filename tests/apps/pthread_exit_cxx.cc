// SPDX-License-Identifier: GPL-2.0-only
/* pthread_exit inside a region, in C++: destructors run. See pthread_exit.h. */
#define UNWINDS 1
#include "pthread_exit.h"
