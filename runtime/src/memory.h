/* Addresses in the arenas, and what a run used of them. */
#ifndef TIGRIS_MEMORY_H
#define TIGRIS_MEMORY_H

#include "band.h"
#include "placement.h"
#include "tigris_kernel.h"

/* Where a whole tensor lies. Constants must not be written through the result. */
uint8_t *tigris_home_address(const tigris_session *session, const tigris_tensor_record *tensor);

/* Where row `row` of view `index` lies now: in its window or at its home. */
uint8_t *tigris_row_address(const tigris_session *session, const tigris_stage_bands *bands, uint32_t index,
                            int32_t row);

/* Where something lies that the plan puts at `offset` of the fast arena. */
uint8_t *tigris_fast_address(const tigris_session *session, tigris_placed what, const void *record, uint32_t offset);

/* Notes that `bytes` bytes at `data` are read or written: raises the peak of the arena they lie in, and
 * adds them to the traffic of the slow one. */
typedef enum tigris_access { TIGRIS_READ, TIGRIS_WRITE } tigris_access;
void tigris_count(tigris_session *session, const uint8_t *data, uint32_t bytes, tigris_access access);

/* The first kernel for an operator in the backend and its fallbacks; NULL when there is none. */
const tigris_kernel_entry *tigris_find_kernel(const tigris_backend *backend, const tigris_op_record *op);

/* Runs the kernels' own checks for a stage. `weights` is its block, NULL when not yet decompressed. */
tigris_status tigris_check_params(const tigris_stage_bands *bands, const tigris_backend *backend,
                                  const uint8_t *weights);

#endif
