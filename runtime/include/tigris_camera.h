/* The camera adapter: crops, resizes and quantises a camera's lines into a model's input, line by line, without a
 * frame in memory.
 *
 * The caller passes one line after the other, as the camera or its driver delivers them, and the adapter writes
 * finished rows of the input tensor. The caller owns the adapter, the tables and, for averaging, one row of sums. No
 * function uses a heap or globals, and one adapter belongs to one task at a time. Only tigris_camera_fill_table uses
 * floating point. tigris_camera_fetch_rows blocks if the caller's hook does.
 *
 *     static uint8_t table[256];
 *     static uint32_t sums[TIGRIS_CAMERA_SUMS(96, 1)];
 *     static tigris_camera_adapter camera;
 *     const tigris_camera_config config = {
 *         .format = TIGRIS_PIXELS_RGB565_BE, .frame_width = 320, .frame_height = 240,
 *         .crop_x = 40, .crop_width = 240, .crop_height = 240,
 *         .width = 96, .height = 96, .channels = 1, .dtype = TIGRIS_DTYPE_INT8, .tables = {table},
 *     };
 *     status = tigris_camera_fill_table(table, sizeof table, TIGRIS_DTYPE_INT8, 0.0F, 255.0F, SCALE, ZERO_POINT,
 *                                       ROUNDING);
 *     if (status == TIGRIS_OK)
 *         status = tigris_camera_init(&camera, &config, sums, sizeof sums / sizeof *sums);
 *     ... for each frame:
 *     status = tigris_camera_begin_frame(&camera, tigris_input(&session, 0), tigris_input_bytes(&session, 0));
 *     ... for each of its lines, until tigris_camera_is_complete(&camera):
 *     status = tigris_camera_add_line(&camera, line, bytes);
 *
 * The exact arithmetic; every division is one of integers and rounds down:
 *
 * 1. Unpack to 8 bits a component. RGB565: red and blue are (v << 3 | v >> 2), green is (v << 2 | v >> 4). YUV422:
 *    full-range BT.601, as in JPEG; both pixels of a pair share U and V. With u = U - 128, v = V - 128:
 *        R = (256 Y + 359 v + 128) / 256
 *        G = (256 Y - 88 u - 183 v + 128) / 256
 *        B = (256 Y + 454 u + 128) / 256            each clamped to 0 ... 255.
 * 2. Convert to the model's channels. One channel: Y of YUV422, the pixel of grey, else the luma of BT.601,
 *        (77 R + 150 G + 29 B + 128) / 256.
 *    Three channels: R, G, B; a grey pixel three times.
 * 3. Resize the crop of W x H pixels to w x h.
 *    Area: the mean over the output pixel's area in the crop; a pixel on its border counts by the part inside. Let
 *    o(i, x) be the length that [i w, (i + 1) w) and [x W, (x + 1) W) share, and o(j, y) that for lines. The mean is
 *        (sum over i, j of o(i, x) o(j, y) p(j, i) + W H / 2) / (W H).
 *    W = w and H = h copies pixels.
 *    Nearest: the crop's pixel at column (2 x + 1) W / (2 w) of line (2 y + 1) H / (2 h).
 * 4. Look up the stored value of each of the 256 numbers in the channel's table. */
#ifndef TIGRIS_CAMERA_H
#define TIGRIS_CAMERA_H

#include "tigris.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pixel formats; the comments give the bytes in memory order. YUV422 shares U and V between two pixels. */
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
    TIGRIS_RESIZE_NEAREST = 1 /* needs no sums: unpacks only the pixels that it uses */
} tigris_resize;

/* The largest width and height of frame and model in pixels, so that sums of an area fit 32 bits. */
#define TIGRIS_CAMERA_MAX_SIDE 4096U

/* Elements of the array of sums that TIGRIS_RESIZE_AREA needs. */
#define TIGRIS_CAMERA_SUMS(width, channels) ((width) * (channels))

typedef struct tigris_camera_config {
    uint8_t format;        /* tigris_pixels */
    uint8_t resize;        /* tigris_resize */
    uint8_t dtype;         /* of the model's input: TIGRIS_DTYPE_INT8, _UINT8, _INT16 or _FLOAT32 */
    uint8_t channels;      /* of the model's input: 1 or 3 */
    uint32_t frame_width;  /* the camera's, 1 ... TIGRIS_CAMERA_MAX_SIDE; even for YUV422 */
    uint32_t frame_height;
    uint32_t crop_x;       /* the part of the frame to use; must lie inside it */
    uint32_t crop_y;
    uint32_t crop_width;
    uint32_t crop_height;
    uint32_t width;        /* the model's, 1 ... TIGRIS_CAMERA_MAX_SIDE */
    uint32_t height;
    /* For each channel 256 stored values of `dtype`; channels may share a table. Tables must outlive the adapter. */
    const void *tables[3];
} tigris_camera_config;

/* Members are private, except that callers may read `next_row`, the number of complete rows of the input tensor. */
typedef struct tigris_camera_adapter {
    tigris_camera_config config;
    uint32_t *sums;
    uint8_t *input;     /* address of row first_row of the input; NULL: no frame was begun, or no row fetched yet */
    uint32_t first_row; /* 0, except in a streamed frame */
    uint32_t line;      /* the frame's next line */
    uint32_t next_row;  /* the model's first row that is not complete */
    uint32_t missing;   /* TIGRIS_RESIZE_AREA: missing part of that row's height, in lines * `height` */
    uint32_t area;      /* pixels of the crop */
    uint32_t element;   /* bytes of a stored value; 0: tigris_camera_init refused the configuration */
} tigris_camera_adapter;

/* Fills a table with the stored values of the numbers v = 0 ... 255. The model's input for v is x = (v - mean) /
 * deviation. TIGRIS_DTYPE_FLOAT32 stores x. The other types store x / scale, rounded to the nearest with halves by
 * `rounding`, plus `zero_point`, clamped to the type. All steps are computed in float32, in this order.
 *
 * `mean` and `deviation` are those of training: 0 and 255 for inputs of 0 ... 1, 127.5 and 127.5 for -1 ... 1, 0 and
 * 1 for 0 ... 255. `scale`, `zero_point` and `rounding` are TIGRIS_MODEL_..._INPUT0_SCALE, ..._INPUT0_ZERO_POINT and
 * TIGRIS_MODEL_..._ROUNDING; float32 ignores them. `bytes` is the table's size, at least 256 elements.
 *
 * TIGRIS_ERR_ARGUMENT: a null pointer, too few bytes, another type, or a zero point outside the type. The same status
 * follows a mean that is not finite, or a deviation or scale that is not finite and above 0. */
TIGRIS_MUST_CHECK tigris_status tigris_camera_fill_table(void *table, size_t bytes, tigris_dtype dtype, float mean,
                                                         float deviation, float scale, int32_t zero_point,
                                                         tigris_rounding rounding);

/* Checks and copies the configuration; begins no frame. `sums` has `count` elements, at least
 * TIGRIS_CAMERA_SUMS(width, channels), and must outlive the adapter; with TIGRIS_RESIZE_NEAREST it may be NULL.
 * TIGRIS_ERR_ARGUMENT: a null pointer, too few sums, an unknown format, method or type, or a size out of range. */
TIGRIS_MUST_CHECK tigris_status tigris_camera_init(tigris_camera_adapter *camera, const tigris_camera_config *config,
                                                   uint32_t *sums, size_t count);

/* Begins a frame that goes to `input`, an array [height, width, channels] of `dtype` with `bytes` bytes; drops an
 * unfinished frame. TIGRIS_ERR_ARGUMENT: a null pointer (a refused session has no input), or `bytes` is not exactly the
 * configured size. */
TIGRIS_MUST_CHECK tigris_status tigris_camera_begin_frame(tigris_camera_adapter *camera, void *input, size_t bytes);

/* Processes the frame's next line: frame_width pixels in at least their `bytes` bytes. Lines outside the crop are
 * only counted. TIGRIS_ERR_ARGUMENT, and nothing changes: a null pointer, too few bytes, no frame begun, or the frame
 * already has all its lines. */
TIGRIS_MUST_CHECK tigris_status tigris_camera_add_line(tigris_camera_adapter *camera, const uint8_t *line,
                                                       size_t bytes);

/* Returns the next line of a streamed frame and sets *bytes to its size; may block until it is there. The line must
 * stay valid until the next call. NULL: there is none, and the run stops. */
typedef const uint8_t *(*tigris_camera_line_hook)(void *context, size_t *bytes);

/* Begins a frame for a streamed input, whose rows tigris_camera_fetch_rows makes. TIGRIS_ERR_ARGUMENT: a null
 * pointer, a refused adapter, or a crop with fewer lines than the model has rows, because one line would then
 * complete several. */
TIGRIS_MUST_CHECK tigris_status tigris_camera_begin_streamed_frame(tigris_camera_adapter *camera);

/* For the session's fetch_rows hook: writes rows [first, first + count), which must be the next ones, to
 * `destination`, and gets the lines for them from `next`. TIGRIS_ERR_ROWS: `next` returned NULL; TIGRIS_ERR_ARGUMENT:
 * as for a line, or the rows are not the next ones. */
TIGRIS_MUST_CHECK tigris_status tigris_camera_fetch_rows(tigris_camera_adapter *camera, uint32_t first, uint32_t count,
                                                         void *destination, tigris_camera_line_hook next,
                                                         void *context);

/* Whether the input tensor is complete; lines after the crop are not needed. */
static inline int tigris_camera_is_complete(const tigris_camera_adapter *camera)
{
    return camera->input != TIGRIS_NULL && camera->next_row == camera->config.height;
}

#ifdef __cplusplus
}
#endif

#endif
