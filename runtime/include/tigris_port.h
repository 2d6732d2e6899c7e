/* From a model's name in the firmware to its plan in flash.
 *
 * The build writes tigris_models.h with one tigris_model for each model of the project:
 *
 *     #include <tigris_models.h>
 *
 *     static tigris_plan plan;
 *     tigris_status status = tigris_model_open(&TIGRIS_MODEL_KWS, &plan);
 */
#ifndef TIGRIS_PORT_H
#define TIGRIS_PORT_H

#include "tigris.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the firmware knows of a model that was compiled with it. */
typedef struct tigris_model {
    const char *name;
    const char *partition; /* label of the flash partition, at most 16 characters */
    uint32_t offset;       /* where the plan starts in it, a multiple of 16 */
    uint32_t plan_bytes;
    uint32_t plan_crc32; /* the plan's own checksum: tells another compilation apart */
    uint32_t fast_bytes; /* arenas that a session needs */
    uint32_t slow_bytes;
    uint32_t interface_crc32; /* 0: only this very plan is opened. Otherwise any plan of this name whose inputs and
                                 outputs give this: see below */
} tigris_model;

/* Opens the plan in place, in mapped flash. Beside tigris_plan_open's reasons this fails when the partition
 * table has no such partition or it is too small, when nothing was written there (erased flash), or when
 * it holds another plan than the one this firmware was built with.
 *
 * With an interface_crc32 a plan may be replaced in flash without building the firmware again, such as after
 * training: its name must be the same, and the types, shapes, scales and zero points of its inputs and outputs. Should it
 * need larger arenas than the firmware has, tigris_session_init says so. */
TIGRIS_MUST_CHECK tigris_status tigris_model_open(const tigris_model *model, tigris_plan *plan);

/* One per platform: maps the partition `label` for reading, for good. Returns TIGRIS_OK, or
 * TIGRIS_ERR_PARTITION when there is none or it cannot be mapped. */
TIGRIS_MUST_CHECK tigris_status tigris_port_find_partition(const char *label, const void **data, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
