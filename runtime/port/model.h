/* The part of tigris_model_open that models with one slot and with two share. */
#ifndef TIGRIS_MODEL_H
#define TIGRIS_MODEL_H

#include "tigris_port.h"

/* tigris_model_open for the plan at model->offset, whether the model has slots or not. Neither pointer may be NULL. */
TIGRIS_MUST_CHECK tigris_status tigris_model_open_at_offset(const tigris_model *model, tigris_plan *plan);

#endif
