/* The camera adapter: turns a camera's lines into rows of an input tensor. tigris_camera.h defines the arithmetic. */
#include "tigris_camera.h"

#include <string.h>

/* Pixels that are unpacked to the stack at a time. */
#define CHUNK_PIXELS 32U

static uint32_t bytes_per_pixel(uint8_t format)
{
    const int is_rgb = format == TIGRIS_PIXELS_RGB888 || format == TIGRIS_PIXELS_BGR888;
    return format == TIGRIS_PIXELS_GREY ? 1U : is_rgb ? 3U : 2U;
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
    return pixels >= 1U && pixels <= TIGRIS_CAMERA_MAX_SIDE;
}

static int has_valid_sizes(const tigris_camera_config *config)
{
    const int pairs = config->format == TIGRIS_PIXELS_YUYV || config->format == TIGRIS_PIXELS_UYVY;
    return is_side(config->frame_width) && is_side(config->frame_height) && is_side(config->width) &&
           is_side(config->height) && is_side(config->crop_width) && is_side(config->crop_height) &&
           config->crop_width <= config->frame_width && config->crop_x <= config->frame_width - config->crop_width &&
           config->crop_height <= config->frame_height &&
           config->crop_y <= config->frame_height - config->crop_height &&
           !(pairs && config->frame_width % 2U != 0U);
}

tigris_status tigris_camera_init(tigris_camera_adapter *camera, const tigris_camera_config *config, uint32_t *sums,
                                 size_t count)
{
    if (camera == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    memset(camera, 0, sizeof *camera);
    if (config == NULL || config->format > TIGRIS_PIXELS_UYVY || config->resize > TIGRIS_RESIZE_NEAREST ||
        bytes_per_value(config->dtype) == 0U || (config->channels != 1U && config->channels != 3U) ||
        !has_valid_sizes(config)) {
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
    camera->config = *config;
    camera->sums = sums;
    camera->area = config->crop_width * config->crop_height;
    camera->element = bytes_per_value(config->dtype);
    return TIGRIS_OK;
}

static void begin_frame(tigris_camera_adapter *camera, uint8_t *input)
{
    const tigris_camera_config *config = &camera->config;
    camera->input = input;
    camera->first_row = 0;
    camera->line = 0;
    camera->next_row = 0;
    camera->missing = config->crop_height;
    if (config->resize == TIGRIS_RESIZE_AREA) {
        memset(camera->sums, 0, (size_t)config->width * config->channels * sizeof *camera->sums);
    }
}

tigris_status tigris_camera_begin_frame(tigris_camera_adapter *camera, void *input, size_t bytes)
{
    if (camera == NULL || input == NULL || camera->element == 0U) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const tigris_camera_config *config = &camera->config;
    /* At most 2^24 pixels of 12 bytes. */
    if (bytes != (size_t)config->height * config->width * config->channels * camera->element) {
        return TIGRIS_ERR_ARGUMENT;
    }
    begin_frame(camera, input);
    return TIGRIS_OK;
}

tigris_status tigris_camera_begin_streamed_frame(tigris_camera_adapter *camera)
{
    if (camera == NULL || camera->element == 0U || camera->config.crop_height < camera->config.height) {
        return TIGRIS_ERR_ARGUMENT;
    }
    begin_frame(camera, NULL);
    return TIGRIS_OK;
}

/* n / 256, rounded down and clamped to 0 ... 255. */
static uint32_t clamp_component(int32_t n)
{
    return n < 0 ? 0U : n > 255 * 256 ? 255U : (uint32_t)n >> 8U;
}

/* Writes a pixel in the model's channels; returns the address after it. */
static uint8_t *put_pixel(uint8_t *values, uint32_t channels, uint32_t red, uint32_t green, uint32_t blue)
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

/* `high`: index of a pixel's high byte, 0 or 1. */
static void unpack_565(const uint8_t *at, uint32_t high, uint32_t count, uint32_t channels, uint8_t *values)
{
    for (; count > 0U; count--, at += 2) {
        const uint32_t bits = (uint32_t)at[high] << 8U | at[1U - high];
        const uint32_t red = bits >> 11U, green = bits >> 5U & 63U, blue = bits & 31U;
        values = put_pixel(values, channels, red << 3U | red >> 2U, green << 2U | green >> 4U, blue << 3U | blue >> 2U);
    }
}

/* `red`: index of a pixel's red byte, 0 or 2. */
static void unpack_888(const uint8_t *at, uint32_t red, uint32_t count, uint32_t channels, uint8_t *values)
{
    for (; count > 0U; count--, at += 3) {
        values = put_pixel(values, channels, at[red], at[1], at[2U - red]);
    }
}

/* Unpacks from pixel `first` of the line. `luma`: index of the first Y in a pair, 0 or 1; U and V have the others. */
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
            values = put_pixel(values, channels, clamp_component(grey + 359 * v),
                               clamp_component(grey - 88 * u - 183 * v), clamp_component(grey + 454 * u));
        }
    }
}

/* Unpacks pixels [first, first + count) of the line to the model's channels. */
static void unpack(const tigris_camera_config *config, const uint8_t *line, uint32_t first, uint32_t count,
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

/* Stores a number as value `index` of a row, through the table of its channel. */
static void store_value(const tigris_camera_adapter *camera, uint32_t row, uint32_t index, uint32_t channel, uint32_t v)
{
    const tigris_camera_config *config = &camera->config;
    const uint8_t *table = config->tables[channel];
    const size_t at = (size_t)(row - camera->first_row) * config->width * config->channels + index;
    if (camera->element == 1U) {
        camera->input[at] = table[v];
    } else {
        memcpy(camera->input + at * camera->element, table + (size_t)v * camera->element, camera->element);
    }
}

/* Adds a line's part of one value, its `sum` over columns, to the model's rows that the line overlaps; stores the
 * value of each row that the line completes. */
static void add_to_rows(const tigris_camera_adapter *camera, uint32_t value_in_row, uint32_t channel, uint32_t sum)
{
    const tigris_camera_config *config = &camera->config;
    uint32_t whole = camera->sums[value_in_row], row = camera->next_row;
    uint32_t missing = camera->missing, height = config->height;
    while (height > 0U) {
        const uint32_t part = height < missing ? height : missing;
        whole += part * sum;
        height -= part;
        missing -= part;
        if (missing == 0U) {
            store_value(camera, row, value_in_row, channel, (whole + camera->area / 2U) / camera->area);
            row++;
            whole = 0;
            missing = config->crop_height;
        }
    }
    camera->sums[value_in_row] = whole;
}

/* Adds a line by area. In units where a pixel of the crop is `width` long and a pixel of the model crop_width, both
 * lines have the same length. Sums are at most 255 * 2^24; with half of the area added they stay below 2^32. */
static void add_line_by_area(const tigris_camera_adapter *camera, const uint8_t *line)
{
    const tigris_camera_config *config = &camera->config;
    const uint32_t channels = config->channels, width = config->width, height = config->height;
    const uint32_t crop = config->crop_width;
    uint8_t pixels[3U * CHUNK_PIXELS] = {0};
    const uint8_t *next = pixels, *end = pixels; /* the unused part of `pixels` */
    uint32_t left = width, column = 0;           /* unused length of *next; first column that is not unpacked */
    for (uint32_t x = 0; x < width; x++) {
        uint32_t sums[3] = {0};
        for (uint32_t missing = crop; missing > 0U;) {
            if (next == end) {
                const uint32_t count = crop - column < CHUNK_PIXELS ? crop - column : CHUNK_PIXELS;
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
            /* The usual case when a picture shrinks: the line completes no row. */
            if (height < camera->missing) {
                camera->sums[x * channels + c] += height * sums[c];
            } else {
                add_to_rows(camera, x * channels + c, c, sums[c]);
            }
        }
    }
}

/* Advances next_row and missing past a line, as add_to_rows did for each value of the row. */
static void advance_area(tigris_camera_adapter *camera)
{
    uint32_t height = camera->config.height;
    while (height > 0U) {
        const uint32_t part = height < camera->missing ? height : camera->missing;
        height -= part;
        camera->missing -= part;
        if (camera->missing == 0U) {
            camera->next_row++;
            camera->missing = camera->config.crop_height;
        }
    }
}

/* The crop's line or column for the model's row or column `index`. */
static uint32_t nearest_index(uint32_t index, uint32_t crop, uint32_t model)
{
    return (2U * index + 1U) * crop / (2U * model);
}

static void add_line_by_nearest(tigris_camera_adapter *camera, const uint8_t *line, uint32_t crop_line)
{
    const tigris_camera_config *config = &camera->config;
    for (; camera->next_row < config->height; camera->next_row++) {
        if (nearest_index(camera->next_row, config->crop_height, config->height) != crop_line) {
            break;
        }
        for (uint32_t x = 0; x < config->width; x++) {
            uint8_t values[3] = {0};
            unpack(config, line, config->crop_x + nearest_index(x, config->crop_width, config->width), 1U, values);
            for (uint32_t c = 0; c < config->channels; c++) {
                store_value(camera, camera->next_row, x * config->channels + c, c, values[c]);
            }
        }
    }
}

tigris_status tigris_camera_add_line(tigris_camera_adapter *camera, const uint8_t *line, size_t bytes)
{
    if (camera == NULL || line == NULL || camera->input == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const tigris_camera_config *config = &camera->config;
    if (bytes < (size_t)config->frame_width * bytes_per_pixel(config->format) || camera->line == config->frame_height) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const uint32_t crop_line = camera->line++ - config->crop_y; /* wraps to a large number above the crop */
    if (crop_line >= config->crop_height) {
        return TIGRIS_OK;
    }
    if (config->resize == TIGRIS_RESIZE_NEAREST) {
        add_line_by_nearest(camera, line, crop_line);
    } else {
        add_line_by_area(camera, line);
        advance_area(camera);
    }
    return TIGRIS_OK;
}

tigris_status tigris_camera_fetch_rows(tigris_camera_adapter *camera, uint32_t first, uint32_t count, void *destination,
                                       tigris_camera_line_hook next, void *context)
{
    if (camera == NULL || destination == NULL || next == NULL || camera->element == 0U || first != camera->next_row ||
        count > camera->config.height - first) {
        return TIGRIS_ERR_ARGUMENT;
    }
    camera->input = destination;
    camera->first_row = first;
    tigris_status status = TIGRIS_OK;
    while (status == TIGRIS_OK && camera->next_row < first + count) {
        size_t bytes = 0;
        const uint8_t *line = next(context, &bytes);
        status = line != NULL ? tigris_camera_add_line(camera, line, bytes) : TIGRIS_ERR_ROWS;
    }
    return status;
}
