/* Which kernel runs an operator, and the checks that need kernels. */
#ifndef TIGRIS_DISPATCH_H
#define TIGRIS_DISPATCH_H

#include "band.h"
#include "tigris_kernel.h"

/* The first kernel for an operator in the backend and its fallbacks; NULL when there is none. */
const tigris_kernel_entry *tigris_find_kernel(const tigris_backend *backend, const tigris_op_record *op);

/* Runs the kernels' own checks for a stage. `weights` is its block, NULL when not yet decompressed. */
tigris_status tigris_check_params(const tigris_stage_run *run, const uint8_t *weights);

#endif
