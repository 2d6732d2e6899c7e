/* The loader's checks of a plan's records. */
#ifndef TIGRIS_RECORDS_H
#define TIGRIS_RECORDS_H

#include "tigris.h"

/* All that a header may have set. */
#define TIGRIS_HEADER_FLAGS                                                                             \
    ((uint32_t)(TIGRIS_HEADER_FLAG_XIP | TIGRIS_HEADER_FLAG_FETCHES | TIGRIS_HEADER_FLAG_TAKES | \
                TIGRIS_HEADER_FLAG_HALF_AWAY))

/* Checks tensors, inputs and outputs, stages with their views, operators and operands of a plan whose
 * sections lie inside the file. On failure plan->fault says where; before, all of it is TIGRIS_NOWHERE. */
tigris_status tigris_check_records(tigris_plan *plan);

#endif
