/* What opening a model is made of, for models with one slot and with two. */
#ifndef TIGRIS_MODEL_H
#define TIGRIS_MODEL_H

#include "tigris_port.h"

/* tigris_model_open for the plan at model->offset, whether the model has slots or not; neither pointer is NULL. */
TIGRIS_MUST_CHECK tigris_status tigris_model_open_place(const tigris_model *model, tigris_plan *plan);

#endif
