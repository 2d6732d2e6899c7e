/* Requests on the standard input, answers on the standard output: the camera adapter with buffers of exactly the bytes
 * that it may touch. 't': a table. 'f': a frame, and how its lines go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris_camera.h"

static void get(void *data, size_t bytes)
{
    if (bytes > 0U && fread(data, bytes, 1, stdin) != 1U)
        exit(0);
}

static void put(const void *data, size_t bytes)
{
    if (bytes > 0U)
        fwrite(data, bytes, 1, stdout);
}

/* dtype, bytes, zero point, rounding; mean, deviation, scale -> status, the table. */
static void table(void)
{
    int32_t numbers[4];
    float parts[3];
    get(numbers, sizeof numbers);
    get(parts, sizeof parts);
    const size_t bytes = (size_t)numbers[1];
    uint8_t *made = malloc(bytes > 0U ? bytes : 1U);
    memset(made, 0, bytes);
    const int32_t status = tigris_camera_fill_table(made, bytes, (tigris_dtype)numbers[0], parts[0], parts[1], parts[2],
                                                    numbers[2], (tigris_rounding)numbers[3]);
    put(&status, sizeof status);
    put(made, bytes);
    free(made);
}

/* What a stream fetches: lines of the standard input. */
typedef struct camera {
    uint8_t *line;
    size_t bytes;
    uint32_t left;
} camera;

static const uint8_t *next_line(void *context, size_t *bytes)
{
    camera *from = context;
    *bytes = from->bytes;
    if (from->left == 0U)
        return NULL;
    from->left--;
    get(from->line, from->bytes);
    return from->line;
}

/* Fetches rows, `most` at a time, into memory of exactly their size and from there into the input; the last status. */
static tigris_status fetch(tigris_camera_adapter *rows, camera *from, uint32_t height, uint32_t most, uint8_t *input,
                           size_t row_bytes)
{
    tigris_status status = TIGRIS_OK;
    if (tigris_camera_fetch_rows(rows, 1U, 0U, input, next_line, from) != TIGRIS_ERR_ARGUMENT ||
        tigris_camera_fetch_rows(rows, 0U, height + 1U, input, next_line, from) != TIGRIS_ERR_ARGUMENT)
        return TIGRIS_ERR_PARAMS;
    for (uint32_t first = 0U, count; first < height && status == TIGRIS_OK; first += count) {
        count = most < height - first ? most : height - first;
        uint8_t *some = malloc(count * row_bytes);
        status = tigris_camera_fetch_rows(rows, first, count, some, next_line, from);
        if (status == TIGRIS_OK)
            memcpy(input + first * row_bytes, some, count * row_bytes);
        free(some);
    }
    return status;
}

/* Twelve sizes as in the struct, sums, bytes of the input, bytes of the tables, bytes of a line, lines to begin with,
 * lines, and rows to fetch at a time (0: lines are given instead) -> three statuses, that of the last line or rows; whether
 * it is complete; the input. */
static void frame(void)
{
    uint32_t n[19];
    get(n, sizeof n);
    uint8_t *tables[3], *line = malloc(n[15] > 0U ? n[15] : 1U), *input = malloc(n[13] > 0U ? n[13] : 1U);
    uint32_t *sums = malloc(n[12] * sizeof *sums + 1U);
    for (int c = 0; c < 3; c++) {
        tables[c] = malloc(n[14] > 0U ? n[14] : 1U);
        get(tables[c], n[14]);
    }
    const tigris_camera_config config = {
        .format = (uint8_t)n[0], .resize = (uint8_t)n[1], .dtype = (uint8_t)n[2], .channels = (uint8_t)n[3],
        .frame_width = n[4], .frame_height = n[5], .crop_x = n[6], .crop_y = n[7], .crop_width = n[8],
        .crop_height = n[9], .width = n[10], .height = n[11], .tables = {tables[0], tables[1], tables[2]},
    };
    tigris_camera_adapter rows;
    memset(input, 0xA5, n[13]);
    memset(sums, 0xA5, n[12] * sizeof *sums);
    int32_t statuses[3] = {tigris_camera_init(&rows, &config, n[12] > 0U ? sums : NULL, n[12]), 0, 0};
    memset(line, 0x3C, n[15]);
    for (uint32_t passes = n[16] > 0U ? 2U : 1U; passes > 0U; passes--) {
        statuses[1] = tigris_camera_begin_frame(&rows, n[13] > 0U ? input : NULL, n[13]);
        for (uint32_t i = 0; passes == 2U && i < n[16]; i++)
            statuses[2] = tigris_camera_add_line(&rows, line, n[15]);
    }
    camera from = {line, n[15], n[17]};
    if (n[18] > 0U) {
        statuses[1] = tigris_camera_begin_streamed_frame(&rows);
        statuses[2] = statuses[1] == TIGRIS_OK ? fetch(&rows, &from, n[11], n[18], input, n[13] / n[11]) : statuses[1];
        for (size_t bytes; next_line(&from, &bytes) != NULL;)
            continue;
    }
    for (uint32_t i = 0; n[18] == 0U && i < n[17]; i++) {
        get(line, n[15]);
        statuses[2] = tigris_camera_add_line(&rows, n[15] > 0U ? line : NULL, n[15]);
    }
    const int32_t complete = statuses[0] == TIGRIS_OK && tigris_camera_is_complete(&rows);
    put(statuses, sizeof statuses);
    put(&complete, sizeof complete);
    put(input, n[13]);
    for (int c = 0; c < 3; c++)
        free(tables[c]);
    free(line);
    free(input);
    free(sums);
}

int main(void)
{
    for (int command; (command = getchar()) != EOF; fflush(stdout)) {
        if (command == 't')
            table();
        else
            frame();
    }
    return 0;
}
