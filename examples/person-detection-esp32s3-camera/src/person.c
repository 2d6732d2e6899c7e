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

static TIGRIS_ALIGNED uint8_t fast[TIGRIS_MODEL_PERSON_FAST_BYTES];
static uint32_t sums[TIGRIS_ROWS_SUMS(PERSON_SIDE, CHANNELS)];
static int8_t table[256];

static tigris_status start_rows(person *state, tigris_pixels format, uint32_t width, uint32_t height)
{
    const uint32_t square = width < height ? width : height;
    const tigris_rows_config config = {
        .format = (uint8_t)format, .resize = TIGRIS_RESIZE_AREA, .dtype = TIGRIS_DTYPE_INT8, .channels = CHANNELS,
        .frame_width = width, .frame_height = height, .crop_x = (width - square) / 2, .crop_y = (height - square) / 2,
        .crop_width = square, .crop_height = square, .width = PERSON_SIDE, .height = PERSON_SIDE,
        .tables = {table, table, table},
    };
    const tigris_status status =
        tigris_rows_fill_table(table, sizeof table, TIGRIS_DTYPE_INT8, PERSON_MEAN, PERSON_DEVIATION,
                               TIGRIS_MODEL_PERSON_INPUT0_SCALE, TIGRIS_MODEL_PERSON_INPUT0_ZERO_POINT);
    return status != TIGRIS_OK ? status : tigris_rows_init(&state->rows, &config, sums, sizeof sums / sizeof *sums);
}

static tigris_status next_picture(person *state)
{
    return tigris_rows_begin(&state->rows, tigris_input(&state->session, 0), tigris_input_bytes(&state->session, 0));
}

tigris_status person_begin(person *state, tigris_pixels format, uint32_t width, uint32_t height)
{
    memset(state, 0, sizeof *state);
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_PERSON, &state->plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&state->session, &state->plan, fast, sizeof fast, NULL, 0, NULL);
    if (status == TIGRIS_OK)
        status = start_rows(state, format, width, height);
    return status != TIGRIS_OK ? status : next_picture(state);
}

bool person_line(person *state, const uint8_t *line, size_t bytes)
{
    const bool before = tigris_rows_complete(&state->rows);
    if (tigris_rows_line(&state->rows, line, bytes) != TIGRIS_OK)
        return false;
    const bool complete = tigris_rows_complete(&state->rows) && !before;
    if (complete) {
        if (tigris_run(&state->session) != TIGRIS_OK)
            return false;
        const int8_t *output = tigris_output(&state->session, 0);
        const int32_t steps = output[PERSON] - TIGRIS_MODEL_PERSON_OUTPUT0_ZERO_POINT;
        state->score = (int32_t)((float)steps * TIGRIS_MODEL_PERSON_OUTPUT0_SCALE * 256 + 0.5F);
        state->seen = state->score > PERSON_CUTOFF;
    }
    /* The input's memory is free again: what comes next are the first lines of another picture. */
    if (state->rows.line == state->rows.config.frame_height && next_picture(state) != TIGRIS_OK)
        return false;
    return complete;
}
