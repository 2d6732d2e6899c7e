/* The proof that a plan's bands work: every row an operator reads is there when it reads it. */
#ifndef TIGRIS_PROOF_H
#define TIGRIS_PROOF_H

#include "band.h"

/* Walks all bands of a stage just begun as a run does, without data. TIGRIS_OK means that a run reads and writes rows
 * only inside windows and tensors, and that every paced view whose rows go to its tensor's home is complete when
 * the stage ends. */
tigris_status tigris_prove_stage(const tigris_stage_bands *bands);

#endif
