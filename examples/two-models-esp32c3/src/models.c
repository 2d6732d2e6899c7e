#include "models.h"

#include <tigris_models.h>

enum { DIGITS, VIBRATION, MODELS };

TIGRIS_MODEL_DIGITS_ARENAS(digits_arenas);
TIGRIS_MODEL_VIBRATION_ARENAS(vibration_arenas);
static tigris_serve_counts digits_profile[TIGRIS_MODEL_DIGITS_OPS];
static tigris_serve_counts vibration_profile[TIGRIS_MODEL_VIBRATION_OPS];

static tigris_plan plans[MODELS];
static tigris_session sessions[MODELS];
static tigris_serve_model served[MODELS];
static tigris_serve server;

static tigris_serve_model open_model(unsigned index, const tigris_model *model, const tigris_arenas *arenas,
                                     tigris_serve_counts *profile, uint32_t ops)
{
    tigris_serve_model result = {.plan = &plans[index], .session = &sessions[index], .arenas = arenas,
                                 .profile = profile, .profile_count = ops};
    result.status = tigris_model_open(model, &plans[index]);
    if (result.status == TIGRIS_OK)
        result.status = tigris_session_init(&sessions[index], &plans[index], arenas, NULL);
    return result;
}

void models_start(const tigris_serve_transport *line, const tigris_serve_board *board)
{
    served[DIGITS] =
        open_model(DIGITS, &TIGRIS_MODEL_DIGITS, &digits_arenas, digits_profile, TIGRIS_MODEL_DIGITS_OPS);
    served[VIBRATION] = open_model(VIBRATION, &TIGRIS_MODEL_VIBRATION, &vibration_arenas, vibration_profile,
                                   TIGRIS_MODEL_VIBRATION_OPS);
    tigris_serve_init(&server, line, board, served, MODELS);
}

const char *models_name(unsigned index)
{
    return index == DIGITS ? TIGRIS_MODEL_DIGITS.name : TIGRIS_MODEL_VIBRATION.name;
}

tigris_status models_status(unsigned index)
{
    return served[index].status;
}

int models_poll(void)
{
    return (int)tigris_serve_poll(&server);
}
