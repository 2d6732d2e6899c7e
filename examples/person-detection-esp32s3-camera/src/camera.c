#include "camera.h"

/* The pins of Espressif's ESP32-S3-EYE, which other boards of this form share; README.md has them as a table. */
static const camera_config_t config = {
    .pin_pwdn = -1, .pin_reset = -1, .pin_xclk = 15, .pin_sccb_sda = 4, .pin_sccb_scl = 5,
    .pin_d7 = 16, .pin_d6 = 17, .pin_d5 = 18, .pin_d4 = 12, .pin_d3 = 10, .pin_d2 = 8, .pin_d1 = 9, .pin_d0 = 11,
    .pin_vsync = 6, .pin_href = 7, .pin_pclk = 13,
    .xclk_freq_hz = 20000000,
    .ledc_timer = LEDC_TIMER_0,
    .ledc_channel = LEDC_CHANNEL_0,
    .pixel_format = PIXFORMAT_RGB565,
    .frame_size = FRAMESIZE_QVGA,
    .fb_count = 1, /* two are for JPEG, says the component */
    .fb_location = CAMERA_FB_IN_PSRAM,
    .grab_mode = CAMERA_GRAB_WHEN_EMPTY,
};

esp_err_t camera_open(void)
{
    const esp_err_t error = esp_camera_init(&config);
    sensor_t *sensor = error == ESP_OK ? esp_camera_sensor_get() : NULL;
    if (sensor != NULL)
        sensor->set_vflip(sensor, 1); /* on this board it is mounted head down */
    return error;
}
