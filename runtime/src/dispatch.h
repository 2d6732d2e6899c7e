/* Which kernel runs an operator, and the checks that need kernels. */
#ifndef TIGRIS_DISPATCH_H
#define TIGRIS_DISPATCH_H

#include "band.h"
#include "tigris_kernel.h"

/* The first kernel for an operator in the backend and its fallbacks; NULL when there is none. It is looked up once:
 * the session remembers it until the kernel of a kind whose number has the same rest takes its place. */
const tigris_kernel_entry *tigris_kernel_of(const tigris_stage_run *run, const tigris_op_record *op);

/* Runs the kernels' own checks for a stage. `weights` is its block, NULL when not yet decompressed. */
tigris_status tigris_check_params(const tigris_stage_run *run, const uint8_t *weights);

#endif
