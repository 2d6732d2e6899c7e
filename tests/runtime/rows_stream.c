/* Rows that are fetched, a few at a time, are those of a whole input. Configurations by a counter; prints how many. */
#include <stdio.h>
#include <string.h>

#include "tigris_rows.h"

#define LINE_BYTES (3U * 64U)

typedef struct camera {
    uint8_t lines[48][LINE_BYTES];
    uint32_t next;
    uint32_t count;
} camera;

static uint32_t seed = 1U;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 8U) % limit;
}

static const uint8_t *next_line(void *context, size_t *bytes)
{
    camera *from = context;
    *bytes = LINE_BYTES;
    return from->next < from->count ? from->lines[from->next++] : NULL;
}

static tigris_rows_config configuration(const void *table)
{
    tigris_rows_config config = {0};
    config.format = (uint8_t)below(7U);
    config.resize = (uint8_t)below(2U);
    config.dtype = TIGRIS_DTYPE_INT8;
    config.channels = below(2U) ? 3U : 1U;
    config.frame_width = 2U * (1U + below(32U));
    config.frame_height = 1U + below(48U);
    config.crop_width = 1U + below(config.frame_width);
    config.crop_height = 1U + below(config.frame_height);
    config.crop_x = below(config.frame_width - config.crop_width + 1U);
    config.crop_y = below(config.frame_height - config.crop_height + 1U);
    config.width = 1U + below(20U);
    config.height = 1U + below(config.crop_height);
    config.tables[0] = config.tables[1] = config.tables[2] = table;
    return config;
}

static int same(const tigris_rows_config *config, camera *from)
{
    static uint32_t sums[64];
    static uint8_t whole[20 * 48 * 3], row[20 * 48 * 3];
    const uint32_t row_bytes = config->width * config->channels;
    tigris_rows_adapter rows;
    if (tigris_rows_init(&rows, config, sums, 64U) != TIGRIS_OK ||
        tigris_rows_begin(&rows, whole, (size_t)row_bytes * config->height) != TIGRIS_OK) {
        return 0;
    }
    for (uint32_t i = 0; i < config->frame_height; i++) {
        if (tigris_rows_line(&rows, from->lines[i], LINE_BYTES) != TIGRIS_OK) {
            return 0;
        }
    }
    from->next = 0U;
    from->count = config->frame_height;
    if (tigris_rows_begin_stream(&rows) != TIGRIS_OK ||
        tigris_rows_fetch(&rows, 1U, 0U, row, next_line, from) != TIGRIS_ERR_ARGUMENT ||
        tigris_rows_fetch(&rows, 0U, config->height + 1U, row, next_line, from) != TIGRIS_ERR_ARGUMENT) {
        return 0;
    }
    for (uint32_t first = 0; first < config->height;) {
        const uint32_t left = config->height - first;
        const uint32_t count = 1U + below(left < 4U ? left : 4U);
        memset(row, 0xA5, sizeof row);
        if (tigris_rows_fetch(&rows, first, count, row, next_line, from) != TIGRIS_OK ||
            memcmp(row, whole + (size_t)first * row_bytes, (size_t)count * row_bytes) != 0 ||
            row[count * row_bytes] != 0xA5U) {
            return 0;
        }
        first += count;
    }
    const int complete = tigris_rows_complete(&rows);
    from->next = 0U;
    from->count = config->crop_y + config->crop_height - 1U; /* a line short of what the last row needs, if not nearest */
    const int wants = config->resize == TIGRIS_RESIZE_AREA;
    const tigris_status status =
        tigris_rows_begin_stream(&rows) != TIGRIS_OK ? TIGRIS_ERR_ARGUMENT
                                                     : tigris_rows_fetch(&rows, 0U, config->height, row, next_line, from);
    return complete && (!wants || status == TIGRIS_ERR_ROWS);
}

int main(void)
{
    static camera from;
    static int8_t table[256];
    static uint32_t sums[4];
    uint32_t done = 0U;
    for (uint32_t i = 0; i < 256U; i++) {
        table[i] = (int8_t)(i - 128U);
    }
    for (; done < 2000U; done++) {
        for (uint32_t i = 0; i < sizeof from.lines; i++) {
            ((uint8_t *)from.lines)[i] = (uint8_t)below(256U);
        }
        const tigris_rows_config config = configuration(table);
        if (!same(&config, &from)) {
            printf("configuration %lu\n", (unsigned long)done);
            return 1;
        }
    }
    tigris_rows_adapter taller;
    tigris_rows_config config = {.frame_width = 1, .frame_height = 2, .crop_width = 1, .crop_height = 2, .width = 1,
                                 .height = 3, .channels = 1, .dtype = TIGRIS_DTYPE_INT8, .tables = {table}};
    if (tigris_rows_init(&taller, &config, sums, 4U) != TIGRIS_OK || tigris_rows_begin_stream(&taller) == TIGRIS_OK) {
        return 2;
    }
    printf("%lu\n", (unsigned long)done);
    return 0;
}
