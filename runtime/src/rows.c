/* A camera's lines to rows of an input tensor. The arithmetic is said in tigris_rows.h. */
#include "tigris_rows.h"

#include <string.h>

/* Pixels that are unpacked at a time, on the stack. */
#define UNPACKED 32U

static uint32_t bytes_per_pixel(uint8_t format)
{
    return format == TIGRIS_PIXELS_GREY ? 1U : format == TIGRIS_PIXELS_RGB888 || format == TIGRIS_PIXELS_BGR888 ? 3U : 2U;
}

static uint32_t bytes_per_value(uint8_t dtype)
{
    switch (dtype) {
    case TIGRIS_DTYPE_INT8:
    case TIGRIS_DTYPE_UINT8:
        return 1U;
    case TIGRIS_DTYPE_INT16:
        return 2U;
    case TIGRIS_DTYPE_FLOAT32:
        return 4U;
    default:
        return 0U;
    }
}

static int is_side(uint32_t pixels)
{
    return pixels >= 1U && pixels <= TIGRIS_ROWS_MAX_SIDE;
}

static int sizes_are_valid(const tigris_rows_config *config)
{
    const int pairs = config->format == TIGRIS_PIXELS_YUYV || config->format == TIGRIS_PIXELS_UYVY;
    if (!is_side(config->frame_width) || !is_side(config->frame_height) || !is_side(config->width) ||
        !is_side(config->height) || !is_side(config->crop_width) || !is_side(config->crop_height)) {
        return 0;
    }
    return config->crop_width <= config->frame_width && config->crop_x <= config->frame_width - config->crop_width &&
           config->crop_height <= config->frame_height && config->crop_y <= config->frame_height - config->crop_height &&
           !(pairs && config->frame_width % 2U != 0U);
}

tigris_status tigris_rows_init(tigris_rows_adapter *rows, const tigris_rows_config *config, uint32_t *sums, size_t count)
{
    if (rows == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    memset(rows, 0, sizeof *rows);
    if (config == NULL || config->format > TIGRIS_PIXELS_UYVY || config->resize > TIGRIS_RESIZE_NEAREST ||
        bytes_per_value(config->dtype) == 0U || (config->channels != 1U && config->channels != 3U) ||
        !sizes_are_valid(config)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    for (uint32_t c = 0; c < config->channels; c++) {
        if (config->tables[c] == NULL) {
            return TIGRIS_ERR_ARGUMENT;
        }
    }
    if (config->resize == TIGRIS_RESIZE_AREA && (sums == NULL || count < (size_t)config->width * config->channels)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    rows->config = *config;
    rows->sums = sums;
    rows->area = config->crop_width * config->crop_height;
    rows->element = bytes_per_value(config->dtype);
    return TIGRIS_OK;
}

static void begin(tigris_rows_adapter *rows, uint8_t *input)
{
    const tigris_rows_config *config = &rows->config;
    rows->input = input;
    rows->first_row = 0;
    rows->line = 0;
    rows->next_row = 0;
    rows->missing = config->crop_height;
    if (config->resize == TIGRIS_RESIZE_AREA) {
        memset(rows->sums, 0, (size_t)config->width * config->channels * sizeof *rows->sums);
    }
}

tigris_status tigris_rows_begin(tigris_rows_adapter *rows, void *input, size_t bytes)
{
    if (rows == NULL || input == NULL || rows->element == 0U) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const tigris_rows_config *config = &rows->config;
    /* At most 2^24 pixels of 12 bytes. */
    if (bytes != (size_t)config->height * config->width * config->channels * rows->element) {
        return TIGRIS_ERR_ARGUMENT;
    }
    begin(rows, input);
    return TIGRIS_OK;
}

tigris_status tigris_rows_begin_stream(tigris_rows_adapter *rows)
{
    if (rows == NULL || rows->element == 0U || rows->config.crop_height < rows->config.height) {
        return TIGRIS_ERR_ARGUMENT;
    }
    begin(rows, NULL);
    return TIGRIS_OK;
}

/* n / 256 rounded down, in 0 ... 255. */
static uint32_t component(int32_t n)
{
    return n < 0 ? 0U : n > 255 * 256 ? 255U : (uint32_t)n >> 8U;
}

/* A pixel in the model's channels. */
static uint8_t *put(uint8_t *values, uint32_t channels, uint32_t red, uint32_t green, uint32_t blue)
{
    if (channels == 1U) {
        values[0] = (uint8_t)((77U * red + 150U * green + 29U * blue + 128U) >> 8U);
        return values + 1;
    }
    values[0] = (uint8_t)red;
    values[1] = (uint8_t)green;
    values[2] = (uint8_t)blue;
    return values + 3;
}

static void unpack_grey(const uint8_t *at, uint32_t count, uint32_t channels, uint8_t *values)
{
    for (; count > 0U; count--, at++, values += channels) {
        values[0] = at[0];
        if (channels == 3U) {
            values[1] = at[0];
            values[2] = at[0];
        }
    }
}

/* `high` is where in a pixel its high byte lies. */
static void unpack_565(const uint8_t *at, uint32_t high, uint32_t count, uint32_t channels, uint8_t *values)
{
    for (; count > 0U; count--, at += 2) {
        const uint32_t bits = (uint32_t)at[high] << 8U | at[1U - high];
        const uint32_t red = bits >> 11U, green = bits >> 5U & 63U, blue = bits & 31U;
        values = put(values, channels, red << 3U | red >> 2U, green << 2U | green >> 4U, blue << 3U | blue >> 2U);
    }
}

/* `red` is where in a pixel its red lies: 0 or 2. */
static void unpack_888(const uint8_t *at, uint32_t red, uint32_t count, uint32_t channels, uint8_t *values)
{
    for (; count > 0U; count--, at += 3) {
        values = put(values, channels, at[red], at[1], at[2U - red]);
    }
}

/* From pixel `first` of the line. `luma` is where in a pair its first Y lies, 0 or 1; U and V take the other places. */
static void unpack_yuv(const uint8_t *line, uint32_t luma, uint32_t first, uint32_t count, uint32_t channels,
                       uint8_t *values)
{
    for (uint32_t x = first; x < first + count; x++) {
        const uint8_t y = line[2U * (size_t)x + luma];
        const uint8_t *colours = line + 2U * (size_t)(x & ~1U) + (1U - luma);
        const int32_t grey = 256 * y + 128, u = colours[0] - 128, v = colours[2] - 128;
        if (channels == 1U) {
            *values++ = y;
        } else {
            values = put(values, channels, component(grey + 359 * v), component(grey - 88 * u - 183 * v),
                         component(grey + 454 * u));
        }
    }
}

/* Pixels [first, first + count) of the line, in the model's channels. */
static void unpack(const tigris_rows_config *config, const uint8_t *line, uint32_t first, uint32_t count,
                   uint8_t *values)
{
    const uint32_t channels = config->channels, format = config->format;
    const uint8_t *at = line + (size_t)first * bytes_per_pixel(config->format);
    switch (format) {
    case TIGRIS_PIXELS_RGB565_LE:
    case TIGRIS_PIXELS_RGB565_BE:
        unpack_565(at, format == TIGRIS_PIXELS_RGB565_LE, count, channels, values);
        break;
    case TIGRIS_PIXELS_RGB888:
    case TIGRIS_PIXELS_BGR888:
        unpack_888(at, format == TIGRIS_PIXELS_RGB888 ? 0U : 2U, count, channels, values);
        break;
    case TIGRIS_PIXELS_YUYV:
    case TIGRIS_PIXELS_UYVY:
        unpack_yuv(line, format == TIGRIS_PIXELS_UYVY, first, count, channels, values);
        break;
    default: /* grey */
        unpack_grey(at, count, channels, values);
        break;
    }
}

static void store(const tigris_rows_adapter *rows, uint32_t row, uint32_t value_in_row, uint32_t channel, uint32_t value)
{
    const tigris_rows_config *config = &rows->config;
    const uint8_t *table = config->tables[channel];
    const size_t at = (size_t)(row - rows->first_row) * config->width * config->channels + value_in_row;
    if (rows->element == 1U) {
        rows->input[at] = table[value];
    } else {
        memcpy(rows->input + at * rows->element, table + (size_t)value * rows->element, rows->element);
    }
}

/* Adds what a line has for one value of a row, `sum` over its columns, to the rows that the line reaches. Those that it
 * completes are written. */
static void spread(const tigris_rows_adapter *rows, uint32_t value_in_row, uint32_t channel, uint32_t sum)
{
    const tigris_rows_config *config = &rows->config;
    uint32_t whole = rows->sums[value_in_row], row = rows->next_row, missing = rows->missing, height = config->height;
    while (height > 0U) {
        const uint32_t part = height < missing ? height : missing;
        whole += part * sum;
        height -= part;
        missing -= part;
        if (missing == 0U) {
            store(rows, row, value_in_row, channel, (whole + rows->area / 2U) / rows->area);
            row++;
            whole = 0;
            missing = config->crop_height;
        }
    }
    rows->sums[value_in_row] = whole;
}

/* Lengths are counted so that a pixel of the crop is `width` long, one of the model crop_width, and both lines the same.
 * The sums are at most 255 * 2^24, and with half of the area less than 2^32. */
static void take_area(const tigris_rows_adapter *rows, const uint8_t *line)
{
    const tigris_rows_config *config = &rows->config;
    const uint32_t channels = config->channels, width = config->width, height = config->height;
    const uint32_t crop = config->crop_width;
    uint8_t pixels[3U * UNPACKED] = {0};
    const uint8_t *next = pixels, *end = pixels; /* those of `pixels` that are not used up */
    uint32_t left = width, column = 0;           /* of the next one; and the first that was not unpacked */
    for (uint32_t x = 0; x < width; x++) {
        uint32_t sums[3] = {0};
        for (uint32_t missing = crop; missing > 0U;) {
            if (next == end) {
                const uint32_t count = crop - column < UNPACKED ? crop - column : UNPACKED;
                unpack(config, line, config->crop_x + column, count, pixels);
                column += count;
                next = pixels;
                end = pixels + (size_t)count * channels;
            }
            const uint32_t part = left < missing ? left : missing;
            sums[0] += part * next[0];
            if (channels == 3U) {
                sums[1] += part * next[1];
                sums[2] += part * next[2];
            }
            left -= part;
            missing -= part;
            if (left == 0U) {
                next += channels;
                left = width;
            }
        }
        for (uint32_t c = 0; c < channels; c++) {
            /* Most lines of a picture that is shrunk complete no row. */
            if (height < rows->missing) {
                rows->sums[x * channels + c] += height * sums[c];
            } else {
                spread(rows, x * channels + c, c, sums[c]);
            }
        }
    }
}

/* The state of `spread` behind a line, which is that of every value in the row. */
static void step_area(tigris_rows_adapter *rows)
{
    uint32_t height = rows->config.height;
    while (height > 0U) {
        const uint32_t part = height < rows->missing ? height : rows->missing;
        height -= part;
        rows->missing -= part;
        if (rows->missing == 0U) {
            rows->next_row++;
            rows->missing = rows->config.crop_height;
        }
    }
}

/* The line of the crop that a row is taken from. */
static uint32_t nearest(uint32_t index, uint32_t crop, uint32_t model)
{
    return (2U * index + 1U) * crop / (2U * model);
}

static void take_nearest(tigris_rows_adapter *rows, const uint8_t *line, uint32_t crop_line)
{
    const tigris_rows_config *config = &rows->config;
    for (; rows->next_row < config->height; rows->next_row++) {
        if (nearest(rows->next_row, config->crop_height, config->height) != crop_line) {
            break;
        }
        for (uint32_t x = 0; x < config->width; x++) {
            uint8_t values[3] = {0};
            unpack(config, line, config->crop_x + nearest(x, config->crop_width, config->width), 1U, values);
            for (uint32_t c = 0; c < config->channels; c++) {
                store(rows, rows->next_row, x * config->channels + c, c, values[c]);
            }
        }
    }
}

tigris_status tigris_rows_line(tigris_rows_adapter *rows, const uint8_t *line, size_t bytes)
{
    if (rows == NULL || line == NULL || rows->input == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const tigris_rows_config *config = &rows->config;
    if (bytes < (size_t)config->frame_width * bytes_per_pixel(config->format) || rows->line == config->frame_height) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const uint32_t crop_line = rows->line++ - config->crop_y; /* above the crop it is huge */
    if (crop_line >= config->crop_height) {
        return TIGRIS_OK;
    }
    if (config->resize == TIGRIS_RESIZE_NEAREST) {
        take_nearest(rows, line, crop_line);
    } else {
        take_area(rows, line);
        step_area(rows);
    }
    return TIGRIS_OK;
}

tigris_status tigris_rows_fetch(tigris_rows_adapter *rows, uint32_t first, uint32_t count, void *destination,
                                tigris_rows_next_line next, void *context)
{
    if (rows == NULL || destination == NULL || next == NULL || rows->element == 0U || first != rows->next_row ||
        count > rows->config.height - first) {
        return TIGRIS_ERR_ARGUMENT;
    }
    rows->input = destination;
    rows->first_row = first;
    tigris_status status = TIGRIS_OK;
    while (status == TIGRIS_OK && rows->next_row < first + count) {
        size_t bytes = 0;
        const uint8_t *line = next(context, &bytes);
        status = line != NULL ? tigris_rows_line(rows, line, bytes) : TIGRIS_ERR_ROWS;
    }
    return status;
}
