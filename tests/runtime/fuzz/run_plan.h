/* Opens, binds and runs any bytes as a plan, in memory of exactly the sizes it asks for, so that a
 * sanitiser sees the first byte read or written outside. */
#ifndef TIGRIS_RUN_PLAN_H
#define TIGRIS_RUN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tigris.h"

/* Plans that ask for larger arenas are opened but not run. */
#define RUN_PLAN_LARGEST_ARENA (UINT32_C(1) << 18)

/* The first status that is not TIGRIS_OK, or that of two runs. `ran` tells whether it came to a run. */
tigris_status run_plan(const uint8_t *data, size_t bytes, int *ran);

#endif
