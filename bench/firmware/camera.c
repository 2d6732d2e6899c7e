/* Passes a frame of 320 x 240 pixels to the camera adapter, in every format; its middle square shrinks to 96 x 96.
 * Prints lines of format, method, channels, instructions. */
#include "bench.h"

#include "tigris_camera.h"

#define WIDTH 320U
#define HEIGHT 240U
#define SIDE 96U

static uint8_t table[256], line[3U * WIDTH], input[SIDE * SIDE * 3U];
static uint32_t sums[TIGRIS_CAMERA_SUMS(SIDE, 3U)];

static uint32_t measure(uint32_t format, uint32_t method, uint32_t channels)
{
    tigris_camera_adapter rows;
    const tigris_camera_config config = {
        .format = (uint8_t)format, .resize = (uint8_t)method, .dtype = TIGRIS_DTYPE_UINT8, .channels = (uint8_t)channels,
        .frame_width = WIDTH, .frame_height = HEIGHT, .crop_x = (WIDTH - HEIGHT) / 2U, .crop_width = HEIGHT,
        .crop_height = HEIGHT, .width = SIDE, .height = SIDE, .tables = {table, table, table},
    };
    const uint32_t before = bench_instructions();
    tigris_status status = tigris_camera_init(&rows, &config, sums, sizeof sums / sizeof *sums);
    if (status == TIGRIS_OK)
        status = tigris_camera_begin_frame(&rows, input, SIDE * SIDE * channels);
    for (uint32_t i = 0; status == TIGRIS_OK && i < HEIGHT; i++)
        status = tigris_camera_add_line(&rows, line, sizeof line);
    if (status != TIGRIS_OK || !tigris_camera_is_complete(&rows))
        bench_print("error ");
    return bench_instructions() - before;
}

void bench_main(void)
{
    for (size_t i = 0; i < sizeof line; i++)
        line[i] = (uint8_t)(i * 37U);
    for (uint32_t format = TIGRIS_PIXELS_GREY; format <= TIGRIS_PIXELS_UYVY; format++)
        for (uint32_t method = TIGRIS_RESIZE_AREA; method <= TIGRIS_RESIZE_NEAREST; method++)
            for (uint32_t channels = 1U; channels <= 3U; channels += 2U) {
                print_decimal(format);
                print_decimal(method);
                print_decimal(channels);
                print_decimal(measure(format, method, channels));
                bench_print("\n");
            }
    bench_exit();
}
