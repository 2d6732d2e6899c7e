#include "window.h"

TIGRIS_HOT
tigris_taps tigris_border_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t extent)
{
    int32_t first = 0, end = kernel;
    if (start < 0) {
        first = (-start + dilation - 1) / dilation;
    }
    if (start + (kernel - 1) * dilation >= extent) {
        end = start >= extent ? 0 : (extent - start + dilation - 1) / dilation;
    }
    const tigris_taps taps = {(uint16_t)(first < end ? first : end), (uint16_t)end};
    return taps;
}

TIGRIS_HOT
void tigris_start_pixels(tigris_pixel_loop *loop, const tigris_kernel_call *call, int32_t first)
{
    const tigris_window_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const int32_t width = (int32_t)tigris_output_tensor(call)->width, y = first / width;
    loop->call = call;
    loop->left = tigris_output_rows(call) * width - first;
    loop->x = first - y * width;
    loop->pixel.row = y * params->stride[0] - tigris_pad_top(in);
    loop->pixel.column = loop->x * params->stride[1] - params->pad_left;
    loop->pixel.rows =
        tigris_border_taps(loop->pixel.row, params->kernel[0], params->dilation[0], tigris_row_count(in));
    loop->pixel.columns = tigris_border_taps(loop->pixel.column, params->kernel[1], params->dilation[1],
                                             (int32_t)tigris_tensor_of(in)->width);
}

TIGRIS_HOT
void tigris_next_pixel(tigris_pixel_loop *loop)
{
    tigris_next_pixel_inline(loop);
}
