/* The loop that proves a plan and runs it. Called by session.c and executor.c. */
#ifndef TIGRIS_EXECUTOR_H
#define TIGRIS_EXECUTOR_H

#include "tigris.h"

/* Runs every band of every stage of a bound session; sets session->fault. With `proving` it touches no data and calls
 * the kernels' checks instead of the kernels. If a proof returns TIGRIS_OK, a run reads and writes rows only
 * inside windows and tensors. Each paced view whose rows go to its tensor's home is complete when its stage ends. */
tigris_status tigris_run_stages(tigris_session *session, int proving);

#endif
