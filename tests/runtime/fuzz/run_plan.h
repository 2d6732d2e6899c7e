/* Opens, binds and runs any bytes as a plan, in memory of exactly the sizes it asks for and in other arenas than planned,
 * so that a sanitiser sees the first byte read or written outside. */
#ifndef TIGRIS_RUN_PLAN_H
#define TIGRIS_RUN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tigris.h"

/* Plans that ask for larger arenas are opened but not run. */
#ifndef RUN_PLAN_LARGEST_ARENA
#define RUN_PLAN_LARGEST_ARENA (UINT32_C(1) << 22)
#endif

typedef struct run_plan_outcome {
    tigris_status status; /* the first that is not TIGRIS_OK, or that of two runs as planned */
    int ran;              /* it came to a run as planned */
    int ran_small;        /* and to one in smaller arenas */
    int differs;          /* both ended, with other outputs; a damaged plan may put two things in one place */
    uint32_t outputs;     /* a checksum of those of the last run as planned, whole or not */
    tigris_status small;  /* of binding in smaller arenas */
    uint32_t missing;     /* bytes that the last refusal of smaller arenas names */
    uint32_t scratch;     /* bytes of the backend's scratch that the planned fast memory has no room for */
} run_plan_outcome;

/* small: bytes of the smaller fast and slow arena; NULL: sizes that depend on the plan's bytes, and once more with what a
 * refusal says is missing. With given sizes, a run that follows a cancelled one is compared as well. */
run_plan_outcome run_plan(const uint8_t *data, size_t bytes, const uint32_t small[2]);

#endif
