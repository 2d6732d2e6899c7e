/* Part of conv_2d_int8.h: pixel tiles of two. The taps of both pixels are copied into a patch, padding included, and
 * multiplied with the weights of a group (rows_int8.h). A kernel with more taps takes several patches. */
#ifndef TIGRIS_CONV_PIXELS2_INT8_H
#define TIGRIS_CONV_PIXELS2_INT8_H

#if defined(HAS_PIXEL1)

/* All pixels from `first` on except the last `skip_last`, in tiles of two; a last odd pixel is computed twice. */
static TIGRIS_NOINLINE void run_pixels2(const conv_pass *pass, int32_t first, int32_t skip_last)
{
    const tigris_kernel_call *call = pass->call;
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    conv c;
    tigris_pixel_loop loop;
    tigris_layer layer;
    unpack(&c, pass);
    set_layer(&layer, &c, pass);
    c.pixels[1] = &loop.pixel;
    tigris_start_pixels(&loop, call, first);
    int8_t *output = tigris_int8_output(call) + first * channels + pass->channel;
    for (; loop.left > skip_last; tigris_next_pixel(&loop)) {
        const tigris_pixel pixel = loop.pixel;
        int32_t step = 0;
        if (loop.left - skip_last > 1) {
            tigris_next_pixel(&loop);
            step = channels;
        }
        c.pixels[0] = &pixel;
        tigris_run_pair(&layer, gather, &c, output, step);
        output += 2 * channels;
    }
}

#endif
#endif
