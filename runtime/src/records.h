/* Checks of a plan's records; tigris_plan_open in plan.c calls them. */
#ifndef TIGRIS_RECORDS_H
#define TIGRIS_RECORDS_H

#include "tigris.h"

/* All flags of a header; other bits must be 0. */
#define TIGRIS_HEADER_FLAGS                                                                             \
    ((uint32_t)(TIGRIS_HEADER_FLAG_XIP | TIGRIS_HEADER_FLAG_FETCHES | TIGRIS_HEADER_FLAG_TAKES | \
                TIGRIS_HEADER_FLAG_HALF_AWAY))

/* Checks all records of a plan whose header is valid and whose sections lie inside the file. On failure sets the
 * indices in plan->fault, which must all be TIGRIS_NOWHERE before. */
tigris_status tigris_check_records(tigris_plan *plan);

#endif
