/* Which kernel runs an operator, and the checks that need kernels. */
#ifndef TIGRIS_DISPATCH_H
#define TIGRIS_DISPATCH_H

#include "band.h"
#include "tigris_kernel.h"

/* The first kernel for an operator's kind, type and packing in the session's backend and its fallbacks; NULL if there
 * is none. session->kernel_cache keeps the result until another key with the same remainder replaces it. */
const tigris_kernel_entry *tigris_kernel_of(const tigris_stage_run *run, const tigris_op_record *op);

/* Runs the kernels' checks for all operators of a stage; sets session->fault.op of a refusal. `weights` is the stage's
 * block; NULL if it is not decompressed yet. */
tigris_status tigris_check_params(const tigris_stage_run *run, const uint8_t *weights);

#endif
