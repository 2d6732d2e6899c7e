/* The loader's checks of a plan's records. */
#ifndef TIGRIS_RECORDS_H
#define TIGRIS_RECORDS_H

#include "tigris.h"

/* Checks tensors, inputs and outputs, stages with their views, operators and operands of a plan whose
 * sections lie inside the file. */
tigris_status tigris_check_records(const tigris_plan *plan);

#endif
