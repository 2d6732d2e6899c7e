/* Addresses in the arenas, and what a run used of them. */
#ifndef TIGRIS_MEMORY_H
#define TIGRIS_MEMORY_H

#include "band.h"
#include "placement.h"
#include "tigris_kernel.h"

/* The address of an object that the plan puts at `offset` of the region `home`; a placement may move it. `what` and
 * `record` name the object for the placement. The caller must not write constants through the result. */
uint8_t *tigris_address(const tigris_session *session, uint32_t home, tigris_placed what, const void *record,
                        uint32_t offset);

/* The address of row `row` of a view whose first held row is at `offset` of the fast arena: the window's place, or
 * the parked one. TIGRIS_AT_HOME, which no aligned offset equals, asks for the tensor's home; so does a view without
 * window. */
#define TIGRIS_AT_HOME 1U
uint8_t *tigris_row_address(const tigris_session *session, const tigris_view *view, int32_t row, uint32_t offset);

/* Counts an access to `bytes` bytes at `data`: raises the peak of their arena, and adds to the traffic of slow
 * memory. */
typedef enum tigris_access { TIGRIS_READ, TIGRIS_WRITE } tigris_access;
void tigris_count_access(tigris_session *session, const uint8_t *data, uint32_t bytes, tigris_access access);

#endif
