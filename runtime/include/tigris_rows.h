/* From a camera's lines to a network's input, line by line: no whole frame is kept.
 *
 * Lines come one at a time, as a camera or its driver gives them. Of each, the crop is unpacked, brought to the
 * model's channels, resized and written as stored values straight into the input tensor, row after row. State is a
 * struct and, for averaging, one row of sums; both are the caller's.
 *
 *     static uint8_t table[256];
 *     static uint32_t sums[TIGRIS_ROWS_SUMS(96, 1)];
 *     static tigris_rows_adapter rows;
 *     const tigris_rows_config config = {
 *         .format = TIGRIS_PIXELS_RGB565_BE, .frame_width = 320, .frame_height = 240,
 *         .crop_x = 40, .crop_width = 240, .crop_height = 240,
 *         .width = 96, .height = 96, .channels = 1, .dtype = TIGRIS_DTYPE_INT8, .tables = {table},
 *     };
 *     status = tigris_rows_fill_table(table, sizeof table, TIGRIS_DTYPE_INT8, 0.0F, 255.0F, SCALE, ZERO_POINT,
 *                                     ROUNDING);
 *     if (status == TIGRIS_OK)
 *         status = tigris_rows_init(&rows, &config, sums, sizeof sums / sizeof *sums);
 *     ... for each frame:
 *     status = tigris_rows_begin(&rows, tigris_input(&session, 0), tigris_input_bytes(&session, 0));
 *     ... for each of its lines, until tigris_rows_complete(&rows):
 *     status = tigris_rows_line(&rows, line, bytes);
 *
 * What is written, exactly. All divisions are of integers and round down, unless said otherwise.
 *
 * 1. Unpacking, to 8 bits a component. Of RGB565, red and blue are (v << 3 | v >> 2), green (v << 2 | v >> 4). YUV422
 * is
 *    BT.601 of full range (as JPEG has it); both pixels of a pair have its U and V, and with u = U - 128, v = V - 128:
 *        R = (256 Y + 359 v + 128) / 256
 *        G = (256 Y - 88 u - 183 v + 128) / 256
 *        B = (256 Y + 454 u + 128) / 256            each bounded to 0 ... 255.
 * 2. The model's channels. One: of YUV422 it is Y, of grey the pixel, else the luma of BT.601,
 *        (77 R + 150 G + 29 B + 128) / 256.
 *    Three: R, G, B; of grey the pixel three times.
 * 3. Resizing a crop of W x H pixels to w x h.
 *    Area: the mean over the pixel's area in the crop, pixels at its border counting by the part that lies inside:
 *    with o(i, x) the length that [i w, (i + 1) w) and [x W, (x + 1) W) share, and the same of lines,
 *        (sum over i, j of o(i, x) o(j, y) p(j, i) + W H / 2) / (W H).
 *    So W = w and H = h copies, and enlarging repeats pixels and mixes them only where two meet in one.
 *    Nearest: the pixel of the crop at column (2 x + 1) W / (2 w) of line (2 y + 1) H / (2 h).
 * 4. The channel's table gives the stored value of each of the 256 numbers.
 *
 * Integer arithmetic only, but for tigris_rows_fill_table. One operation takes a time that its sizes say; none
 * waits. */
#ifndef TIGRIS_ROWS_H
#define TIGRIS_ROWS_H

#include "tigris.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a pixel in the order in which they lie in memory. YUV422 shares U and V between two pixels. */
typedef enum tigris_pixels {
    TIGRIS_PIXELS_GREY = 0,      /* Y */
    TIGRIS_PIXELS_RGB565_LE = 1, /* low byte first: GGGBBBBB RRRRRGGG */
    TIGRIS_PIXELS_RGB565_BE = 2, /* high byte first, as most camera sensors send it: RRRRRGGG GGGBBBBB */
    TIGRIS_PIXELS_RGB888 = 3,    /* R, G, B */
    TIGRIS_PIXELS_BGR888 = 4,    /* B, G, R */
    TIGRIS_PIXELS_YUYV = 5,      /* Y0, U, Y1, V */
    TIGRIS_PIXELS_UYVY = 6       /* U, Y0, V, Y1 */
} tigris_pixels;

typedef enum tigris_resize {
    TIGRIS_RESIZE_AREA = 0,
    TIGRIS_RESIZE_NEAREST = 1 /* needs no sums, and unpacks the pixels alone that are used */
} tigris_resize;

/* The largest side, in pixels, of frame and model: sums of the area then fit 32 bits. */
#define TIGRIS_ROWS_MAX_SIDE 4096U

/* uint32_t of sums that TIGRIS_RESIZE_AREA needs, for a model's width and channels: compute both as constants. */
#define TIGRIS_ROWS_SUMS(width, channels) ((width) * (channels))

typedef struct tigris_rows_config {
    uint8_t format;        /* tigris_pixels */
    uint8_t resize;        /* tigris_resize */
    uint8_t dtype;         /* of the model's input: TIGRIS_DTYPE_INT8, _UINT8, _INT16 or _FLOAT32 */
    uint8_t channels;      /* of the model's input: 1 or 3 */
    uint32_t frame_width;  /* the camera's, 1 ... TIGRIS_ROWS_MAX_SIDE; even for YUV422 */
    uint32_t frame_height;
    uint32_t crop_x;       /* the part of the frame that is used, inside of it */
    uint32_t crop_y;
    uint32_t crop_width;
    uint32_t crop_height;
    uint32_t width;        /* the model's, 1 ... TIGRIS_ROWS_MAX_SIDE */
    uint32_t height;
    /* Of each channel, 256 stored values of `dtype`; read by every line, so they outlive the use. All of the channels
     * must be given; they may be the same. */
    const void *tables[3];
} tigris_rows_config;

/* Members are the adapter's. `next_row` counts the complete rows of the input tensor, for callers that follow them. */
typedef struct tigris_rows_adapter {
    tigris_rows_config config;
    uint32_t *sums;
    uint8_t *input;     /* row first_row of the input; NULL: no frame was begun, or nothing fetched of it */
    uint32_t first_row; /* 0 but for rows that are fetched */
    uint32_t line;      /* of the frame, the next to come */
    uint32_t next_row;  /* of the model, the first that is not complete */
    uint32_t missing;   /* area: of that row's height, in lines times `height` */
    uint32_t area;      /* of the crop, in pixels */
    uint32_t element;   /* bytes of a stored value; 0: refused */
} tigris_rows_adapter;

/* Fills 256 stored values: of number v it is the input (v - mean) / deviation. With TIGRIS_DTYPE_FLOAT32 that itself,
 * else that divided by `scale`, rounded to the nearest with halves by `rounding`, plus `zero_point`, bounded to the
 * type: what the model stores. Computed in float32, in this order. `mean` and `deviation` are those of training, in
 * steps of 8 bits: 0 and 255 for inputs of 0 ... 1, 127.5 and 127.5 for -1 ... 1, 0 and 1 for 0 ... 255. `scale` and
 * `zero_point` are TIGRIS_MODEL_..._INPUT0_SCALE and _ZERO_POINT, `rounding` TIGRIS_MODEL_..._ROUNDING; float32
 * ignores them. `bytes`, of the table, is 256 times those of the type at least. TIGRIS_ERR_ARGUMENT: a null pointer
 * or too few bytes, another type, a zero point outside of it, a mean that is not finite, or a deviation or scale that
 * is not a finite number above 0. */
TIGRIS_MUST_CHECK tigris_status tigris_rows_fill_table(void *table, size_t bytes, tigris_dtype dtype, float mean,
                                                       float deviation, float scale, int32_t zero_point,
                                                       tigris_rounding rounding);

/* Checks and copies the configuration; no frame is begun. `sums` has `count` uint32_t, at least
 * TIGRIS_ROWS_SUMS(width, channels), which outlive the use; with TIGRIS_RESIZE_NEAREST it may be NULL.
 * TIGRIS_ERR_ARGUMENT: a null pointer, too few sums, an unknown format, method or type, or sizes out of the ranges
 * above. */
TIGRIS_MUST_CHECK tigris_status tigris_rows_init(tigris_rows_adapter *rows, const tigris_rows_config *config, uint32_t *sums,
                                                 size_t count);

/* Begins a frame that goes to `input`, [height, width, channels] of `dtype`, `bytes` large; also in the middle of
 * another. TIGRIS_ERR_ARGUMENT: a null pointer (a session that was refused has no input), or not exactly the bytes of
 * the configured size. */
TIGRIS_MUST_CHECK tigris_status tigris_rows_begin(tigris_rows_adapter *rows, void *input, size_t bytes);

/* Takes the next line of the frame, frame_width pixels in `bytes` bytes; what lies behind the pixels is not read.
 * Lines outside of the crop are counted only. TIGRIS_ERR_ARGUMENT, and nothing changes: a null pointer, too few
 * bytes, no frame begun, or all of its lines taken. */
TIGRIS_MUST_CHECK tigris_status tigris_rows_line(tigris_rows_adapter *rows, const uint8_t *line, size_t bytes);

/* For inputs that are streamed: the next line of the frame, and in `*bytes` its bytes; it may wait for it. NULL:
 * there is none, and the run is to stop. */
typedef const uint8_t *(*tigris_rows_next_line)(void *context, size_t *bytes);

/* Begins a frame whose rows are fetched, in place of tigris_rows_begin. TIGRIS_ERR_ARGUMENT: a null pointer, an
 * adapter that was refused, or a crop of fewer lines than the model has rows, of which one would complete several. */
TIGRIS_MUST_CHECK tigris_status tigris_rows_begin_stream(tigris_rows_adapter *rows);

/* What the session's fetch_rows is to do: writes the `count` rows that come next, from row `first` on, to
 * `destination`, and takes the lines that they need from `next`. TIGRIS_ERR_ROWS when that has none;
 * TIGRIS_ERR_ARGUMENT as for a line, or for other rows than those that come next. */
TIGRIS_MUST_CHECK tigris_status tigris_rows_fetch(tigris_rows_adapter *rows, uint32_t first, uint32_t count,
                                                  void *destination, tigris_rows_next_line next, void *context);

/* Whether the input tensor is complete, which it is with the crop's last line at the latest: other lines need not
 * come. */
static inline int tigris_rows_complete(const tigris_rows_adapter *rows)
{
    return rows->input != TIGRIS_NULL && rows->next_row == rows->config.height;
}

#ifdef __cplusplus
}
#endif

#endif
