/* Part of conv_2d_int8.h: finds the taps of output pixels in the input and gathers them into patches. */
#ifndef TIGRIS_CONV_PIXELS_INT8_H
#define TIGRIS_CONV_PIXELS_INT8_H

#if defined(HAS_PIXEL1)

/* One call, its fields unpacked. */
typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    int32_t group_inputs;  /* input channels of one group */
    int32_t group_outputs; /* output channels of one group */
    int32_t kernel_size;   /* weights of one output channel */
    int32_t row_taps;      /* weights of one kernel row of one output channel */
    uint32_t block_bias;
    int8_t padding; /* value of a tap in the padding */
} conv;

/* A part of a kernel's taps. */
typedef struct conv_part {
    int32_t at;
    int32_t taps;
    int32_t row;    /* kernel row of its first tap */
    int32_t in_row; /* index of that tap in its kernel row */
} conv_part;

static const tigris_tensor_record *input_of(const conv *c)
{
    return tigris_input_tensor(c->call, 0);
}

static void unpack(conv *c, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    c->call = call;
    c->params = params;
    c->group_inputs = (int32_t)input_of(c)->channels / params->groups;
    c->group_outputs = (int32_t)tigris_output_tensor(call)->channels / params->groups;
    c->row_taps = params->kernel_width * c->group_inputs;
    c->kernel_size = params->kernel_height * c->row_taps;
    c->block_bias = tigris_block_bias(c->kernel_size);
    c->padding = (int8_t)params->input_zero_point;
}

static int32_t pixels_of(const tigris_kernel_call *call)
{
    return tigris_output_rows(call) * (int32_t)tigris_output_tensor(call)->width;
}

/* ---- taps into the patch ---- */

/* Whether a pixel's tap at kernel row `row` and `column` lies inside. */
static int is_valid(const tigris_pixel *pixel, int32_t row, int32_t column)
{
    return row >= pixel->rows.first && row < pixel->rows.end && column >= pixel->columns.first &&
           column < pixel->columns.end;
}

static int is_inside(const conv *c, const tigris_pixel *pixel)
{
    return tigris_tap_count(pixel->columns) == c->params->kernel_width;
}

/* Fills the patch with the taps of `part` of two pixels, and advances `part` behind them. */
static TIGRIS_NOINLINE void gather(const conv *c, const tigris_pixel *pixels, int32_t group, conv_part *part,
                                   uint32_t *patch)
{
    const tigris_conv_int8_params *params = c->params;
    const uint32_t channels = input_of(c)->channels;
    const uint32_t row_step = params->dilation_height * input_of(c)->width * channels;
    const int whole_rows = params->groups == 1 && params->dilation_width == 1 && is_inside(c, &pixels[0]) &&
                           is_inside(c, &pixels[1]);
    const int32_t depth = c->group_inputs;
    const int8_t *input = tigris_int8_input(c->call);
    const uint32_t first_a = tigris_tap_offset(c->call, &pixels[0], 0, 0);
    const uint32_t first_b = tigris_tap_offset(c->call, &pixels[1], 0, 0);
    for (int32_t done = 0; done < part->taps;) {
        int32_t column = pixels->columns.first;
        uint32_t offset = (uint32_t)part->in_row;
        int32_t count = c->row_taps - part->in_row;
        if (!whole_rows) {
            column = part->in_row / depth;
            const int32_t done_of_pixel = part->in_row - column * depth;
            count = depth - done_of_pixel;
            offset = (uint32_t)(column * params->dilation_width) * channels +
                     (uint32_t)(group * depth + done_of_pixel);
        }
        if (count > part->taps - done) {
            count = part->taps - done;
        }
        offset += (uint32_t)part->row * row_step;
        const int step_a = is_valid(&pixels[0], part->row, column);
        const int step_b = is_valid(&pixels[1], part->row, column);
        tigris_fill_patch(patch, done, step_a ? input + (first_a + offset) : &c->padding, step_a,
                          step_b ? input + (first_b + offset) : &c->padding, step_b, count);
        done += count;
        part->in_row += count;
        if (part->in_row == c->row_taps) {
            part->in_row = 0;
            part->row++;
        }
    }
}

#endif
#endif
