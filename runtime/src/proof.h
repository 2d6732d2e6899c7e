/* The proof that a plan's bands work: every row an operator reads is there when it reads it. */
#ifndef TIGRIS_PROOF_H
#define TIGRIS_PROOF_H

#include "band.h"

/* Walks all bands of all stages as a run does, without data. `states` holds one record per view of the
 * largest stage. TIGRIS_OK means that a run reads and writes rows only inside windows and tensors, and
 * that every paced view whose rows go to its tensor's home is complete when its stage ends. */
tigris_status tigris_prove_bands(const tigris_plan *plan, tigris_view_state *states);

#endif
