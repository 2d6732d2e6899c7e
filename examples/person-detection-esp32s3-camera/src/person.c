#include "person.h"

#include <string.h>

#include <tigris_models.h>

#define CHANNELS (TIGRIS_MODEL_PERSON_INPUT0_BYTES / (PERSON_SIDE * PERSON_SIDE))
#define PERSON 1 /* of the network's two outputs */

/* What the network was trained on: pixels of 0 to 1. For those of -1 to 1 both are 127.5. */
#ifndef PERSON_MEAN
#define PERSON_MEAN 0.0F
#define PERSON_DEVIATION 255.0F
#endif

#if TIGRIS_MODEL_PERSON_INPUT0_BYTES != PERSON_SIDE * PERSON_SIDE * CHANNELS || (CHANNELS != 1 && CHANNELS != 3) || \
    TIGRIS_MODEL_PERSON_OUTPUT0_BYTES != 2
#error "this network does not take 96 x 96 int8, grey or red, green and blue, or does not give two int8"
#endif

TIGRIS_MODEL_PERSON_ARENAS(arenas);
static uint32_t sums[TIGRIS_CAMERA_SUMS(PERSON_SIDE, CHANNELS)];
static int8_t table[256];

static tigris_status start_rows(person *state, tigris_pixels format, uint32_t width, uint32_t height)
{
    const uint32_t square = width < height ? width : height;
    const tigris_camera_config config = {
        .format = (uint8_t)format, .resize = TIGRIS_RESIZE_AREA, .dtype = TIGRIS_DTYPE_INT8, .channels = CHANNELS,
        .frame_width = width, .frame_height = height, .crop_x = (width - square) / 2, .crop_y = (height - square) / 2,
        .crop_width = square, .crop_height = square, .width = PERSON_SIDE, .height = PERSON_SIDE,
        .tables = {table, table, table},
    };
    const tigris_status status =
        tigris_camera_fill_table(table, sizeof table, TIGRIS_DTYPE_INT8, PERSON_MEAN, PERSON_DEVIATION,
                                 TIGRIS_MODEL_PERSON_INPUT0_SCALE, TIGRIS_MODEL_PERSON_INPUT0_ZERO_POINT,
                                 TIGRIS_MODEL_PERSON_ROUNDING);
    return status != TIGRIS_OK ? status : tigris_camera_init(&state->rows, &config, sums, sizeof sums / sizeof *sums);
}

/* The network asks for rows of its input; they are made of as many lines as that takes. */
static int fetch(void *context, uint32_t input, uint32_t first, uint32_t rows, void *destination)
{
    person *state = context;
    (void)input;
    return tigris_camera_fetch_rows(&state->rows, first, rows, destination, state->next, state->next_context) != TIGRIS_OK;
}

tigris_status person_begin(person *state, tigris_pixels format, uint32_t width, uint32_t height)
{
    memset(state, 0, sizeof *state);
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_PERSON, &state->plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&state->session, &state->plan, &arenas, NULL);
    state->session.hooks.fetch_rows = fetch;
    state->session.hooks.rows_context = state;
    return status != TIGRIS_OK ? status : start_rows(state, format, width, height);
}

tigris_status person_look(person *state, tigris_camera_line_hook next, void *context)
{
    state->next = next;
    state->next_context = context;
    tigris_status status = tigris_camera_begin_streamed_frame(&state->rows);
    if (status == TIGRIS_OK)
        status = tigris_run(&state->session);
    if (status != TIGRIS_OK)
        return status;
    const int8_t *output = tigris_output(&state->session, 0);
    const int32_t steps = output[PERSON] - TIGRIS_MODEL_PERSON_OUTPUT0_ZERO_POINT;
    state->score = (int32_t)((float)steps * TIGRIS_MODEL_PERSON_OUTPUT0_SCALE * 256 + 0.5F);
    state->seen = state->score > PERSON_CUTOFF;
    /* Lines below the square: what comes next are the first of another picture. */
    for (size_t bytes; state->rows.line < state->rows.config.frame_height; state->rows.line++) {
        if (next(context, &bytes) == NULL)
            return TIGRIS_ERR_ROWS;
    }
    return TIGRIS_OK;
}
