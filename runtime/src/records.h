/* The loader's checks of a plan's records. */
#ifndef TIGRIS_RECORDS_H
#define TIGRIS_RECORDS_H

#include "tigris.h"

/* Checks tensors, inputs and outputs, stages with their views, operators and operands of a plan whose
 * sections lie inside the file. On failure plan->fault says where; before, all of it is TIGRIS_NOWHERE. */
tigris_status tigris_check_records(tigris_plan *plan);

#endif
