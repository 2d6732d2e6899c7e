/* Addresses in the arenas, and what a run used of them. */
#ifndef TIGRIS_MEMORY_H
#define TIGRIS_MEMORY_H

#include "band.h"
#include "placement.h"
#include "tigris_kernel.h"

/* Where something lies that the plan puts at `offset` of the region `home`. Constants must not be written through the
 * result. */
uint8_t *tigris_address(const tigris_session *session, uint32_t home, tigris_placed what, const void *record,
                        uint32_t offset);

/* Where row `row` of a view lies when the first row that is held lies at `offset`, in its window or parked; or at its
 * tensor's home, where `offset` is TIGRIS_AT_HOME, which no offset is, or the view has no window. */
#define TIGRIS_AT_HOME 1U
uint8_t *tigris_row_address(const tigris_session *session, const tigris_view *view, int32_t row, uint32_t offset);

/* Notes that `bytes` bytes at `data` are read or written: raises the peak of the arena they lie in, and
 * adds them to the traffic of the slow one. */
typedef enum tigris_access { TIGRIS_READ, TIGRIS_WRITE } tigris_access;
void tigris_count(tigris_session *session, const uint8_t *data, uint32_t bytes, tigris_access access);

#endif
