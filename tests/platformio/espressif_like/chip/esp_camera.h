/* The part of esp_camera.h that examples use, as the component espressif/esp32-camera 2 documents it. */
#ifndef ESP_CAMERA_H
#define ESP_CAMERA_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "esp_partition.h"

typedef enum { PIXFORMAT_RGB565, PIXFORMAT_YUV422, PIXFORMAT_YUV420, PIXFORMAT_GRAYSCALE, PIXFORMAT_JPEG } pixformat_t;
typedef enum { FRAMESIZE_96X96, FRAMESIZE_QQVGA, FRAMESIZE_QVGA = 6 } framesize_t;
typedef enum { CAMERA_GRAB_WHEN_EMPTY, CAMERA_GRAB_LATEST } camera_grab_mode_t;
typedef enum { CAMERA_FB_IN_PSRAM, CAMERA_FB_IN_DRAM } camera_fb_location_t;
typedef enum { LEDC_TIMER_0 } ledc_timer_t;
typedef enum { LEDC_CHANNEL_0 } ledc_channel_t;

typedef struct {
    int pin_pwdn, pin_reset, pin_xclk, pin_sccb_sda, pin_sccb_scl;
    int pin_d7, pin_d6, pin_d5, pin_d4, pin_d3, pin_d2, pin_d1, pin_d0;
    int pin_vsync, pin_href, pin_pclk;
    int xclk_freq_hz;
    ledc_timer_t ledc_timer;
    ledc_channel_t ledc_channel;
    pixformat_t pixel_format;
    framesize_t frame_size;
    int jpeg_quality;
    size_t fb_count;
    camera_fb_location_t fb_location;
    camera_grab_mode_t grab_mode;
    int sccb_i2c_port;
} camera_config_t;

typedef struct {
    uint8_t *buf;
    size_t len, width, height;
    pixformat_t format;
} camera_fb_t;

typedef struct _sensor sensor_t;
struct _sensor {
    int (*set_vflip)(sensor_t *sensor, int enable);
    int (*set_hmirror)(sensor_t *sensor, int enable);
};

#ifndef ESP_ERROR_CHECK
#define ESP_ERROR_CHECK(x) ((x) == ESP_OK ? (void)0 : abort())
#endif

esp_err_t esp_camera_init(const camera_config_t *config);
camera_fb_t *esp_camera_fb_get(void);
void esp_camera_fb_return(camera_fb_t *frame);
sensor_t *esp_camera_sensor_get(void);

#endif
