/* The one loop, which proves a plan and runs it. */
#ifndef TIGRIS_EXECUTOR_H
#define TIGRIS_EXECUTOR_H

#include "tigris.h"

/* Walks every band of every stage. `proving`: without data, and with the kernels' checks in their place. TIGRIS_OK then
 * means that a run reads and writes rows only inside windows and tensors, and that every paced view whose rows go to
 * its tensor's home is complete when the stage ends. */
tigris_status tigris_walk(tigris_session *session, int proving);

#endif
