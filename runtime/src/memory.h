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

/* Where row `row` of a view lies now: in its window, if it has one and `at_home` is 0, or at its tensor's home. */
uint8_t *tigris_row_address(const tigris_session *session, const tigris_view *view, int32_t row, int at_home);

/* Notes that `bytes` bytes at `data` are read, written or moved within a window: raises the peak of the arena they lie in, and
 * adds them to the traffic of the slow one. */
typedef enum tigris_access { TIGRIS_READ, TIGRIS_WRITE, TIGRIS_MOVE } tigris_access;
void tigris_count(tigris_session *session, const uint8_t *data, uint32_t bytes, tigris_access access);

#endif
