/* The part of ESP-IDF's drivers and of the component espressif/esp32-camera 2 that examples use, by their references;
 * headers with their names include this one. */
#ifndef DRIVERS_H
#define DRIVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "esp_partition.h"
#include "freertos/FreeRTOS.h"

#define ESP_ERROR_CHECK(x) ((x) == ESP_OK ? (void)0 : abort())

typedef enum { GPIO_NUM_NC = -1, GPIO_NUM_0 = 0, GPIO_NUM_4 = 4, GPIO_NUM_5, GPIO_NUM_6, GPIO_NUM_7 } gpio_num_t;

/* ---- I2C ---- */

typedef int i2c_port_num_t;
typedef enum { I2C_CLK_SRC_DEFAULT = 1 } i2c_clock_source_t;
typedef enum { I2C_ADDR_BIT_LEN_7, I2C_ADDR_BIT_LEN_10 } i2c_addr_bit_len_t;
typedef struct {
    i2c_port_num_t i2c_port;
    gpio_num_t sda_io_num, scl_io_num;
    i2c_clock_source_t clk_source;
    uint8_t glitch_ignore_cnt;
    int intr_priority;
    size_t trans_queue_depth;
    struct {
        uint32_t enable_internal_pullup : 1, allow_pd : 1;
    } flags;
} i2c_master_bus_config_t;
typedef struct {
    i2c_addr_bit_len_t dev_addr_length;
    uint16_t device_address;
    uint32_t scl_speed_hz, scl_wait_us;
} i2c_device_config_t;
typedef struct i2c_master_bus_t *i2c_master_bus_handle_t;
typedef struct i2c_master_dev_t *i2c_master_dev_handle_t;

esp_err_t i2c_new_master_bus(const i2c_master_bus_config_t *config, i2c_master_bus_handle_t *bus);
esp_err_t i2c_master_bus_add_device(i2c_master_bus_handle_t bus, const i2c_device_config_t *config,
                                    i2c_master_dev_handle_t *device);
esp_err_t i2c_master_transmit(i2c_master_dev_handle_t device, const uint8_t *bytes, size_t count, int timeout_ms);
esp_err_t i2c_master_transmit_receive(i2c_master_dev_handle_t device, const uint8_t *bytes, size_t count,
                                      uint8_t *answer, size_t wanted, int timeout_ms);

/* ---- I2S ---- */

#define I2S_GPIO_UNUSED GPIO_NUM_NC
typedef struct i2s_channel_obj_t *i2s_chan_handle_t;
typedef enum { I2S_NUM_0, I2S_NUM_1, I2S_NUM_AUTO } i2s_port_t;
typedef enum { I2S_ROLE_MASTER, I2S_ROLE_SLAVE } i2s_role_t;
typedef enum { I2S_DATA_BIT_WIDTH_16BIT = 16, I2S_DATA_BIT_WIDTH_32BIT = 32 } i2s_data_bit_width_t;
typedef enum { I2S_SLOT_MODE_MONO = 1, I2S_SLOT_MODE_STEREO } i2s_slot_mode_t;
typedef enum { I2S_STD_SLOT_LEFT = 1, I2S_STD_SLOT_RIGHT = 2, I2S_STD_SLOT_BOTH = 3 } i2s_std_slot_mask_t;
typedef struct {
    i2s_port_t id;
    i2s_role_t role;
} i2s_chan_config_t;
typedef struct {
    uint32_t sample_rate_hz;
} i2s_std_clk_config_t;
typedef struct {
    i2s_data_bit_width_t data_bit_width;
    i2s_slot_mode_t slot_mode;
    i2s_std_slot_mask_t slot_mask;
} i2s_std_slot_config_t;
typedef struct {
    gpio_num_t mclk, bclk, ws, dout, din;
} i2s_std_gpio_config_t;
typedef struct {
    i2s_std_clk_config_t clk_cfg;
    i2s_std_slot_config_t slot_cfg;
    i2s_std_gpio_config_t gpio_cfg;
} i2s_std_config_t;
#define I2S_CHANNEL_DEFAULT_CONFIG(port, as) {.id = (port), .role = (as)}
#define I2S_STD_CLK_DEFAULT_CONFIG(rate) {.sample_rate_hz = (rate)}
/* The configuration for chips after ESP32 and ESP32-S2: both slots, also for one channel. */
#define I2S_STD_PHILIPS_SLOT_DEFAULT_CONFIG(bits, mode) \
    {.data_bit_width = (bits), .slot_mode = (mode), .slot_mask = I2S_STD_SLOT_BOTH}

esp_err_t i2s_new_channel(const i2s_chan_config_t *config, i2s_chan_handle_t *sender, i2s_chan_handle_t *receiver);
esp_err_t i2s_channel_init_std_mode(i2s_chan_handle_t channel, const i2s_std_config_t *config);
esp_err_t i2s_channel_enable(i2s_chan_handle_t channel);
esp_err_t i2s_channel_read(i2s_chan_handle_t channel, void *data, size_t size, size_t *read, uint32_t timeout_ms);

/* ---- UART ---- */

typedef int uart_port_t;
#define UART_NUM_0 0
typedef enum { UART_DATA_8_BITS = 3 } uart_word_length_t;
typedef enum { UART_PARITY_DISABLE } uart_parity_t;
typedef enum { UART_STOP_BITS_1 = 1 } uart_stop_bits_t;
typedef enum { UART_HW_FLOWCTRL_DISABLE } uart_hw_flowcontrol_t;
typedef enum { UART_SCLK_DEFAULT } uart_sclk_t;
typedef struct {
    int baud_rate;
    uart_word_length_t data_bits;
    uart_parity_t parity;
    uart_stop_bits_t stop_bits;
    uart_hw_flowcontrol_t flow_ctrl;
    uart_sclk_t source_clk;
} uart_config_t;

esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config);
esp_err_t uart_driver_install(uart_port_t port, int receive_bytes, int send_bytes, int queue_size, void *queue, int flags);
int uart_read_bytes(uart_port_t port, void *buffer, uint32_t length, TickType_t ticks);
int uart_write_bytes(uart_port_t port, const void *source, size_t size);

/* ---- the camera ---- */

typedef enum { PIXFORMAT_RGB565, PIXFORMAT_JPEG = 4 } pixformat_t;
typedef enum { FRAMESIZE_QVGA = 6 } framesize_t;
typedef enum { CAMERA_GRAB_WHEN_EMPTY } camera_grab_mode_t;
typedef enum { CAMERA_FB_IN_PSRAM } camera_fb_location_t;
typedef enum { LEDC_TIMER_0 } ledc_timer_t;
typedef enum { LEDC_CHANNEL_0 } ledc_channel_t;
typedef struct {
    int pin_pwdn, pin_reset, pin_xclk, pin_sccb_sda, pin_sccb_scl;
    int pin_d7, pin_d6, pin_d5, pin_d4, pin_d3, pin_d2, pin_d1, pin_d0;
    int pin_vsync, pin_href, pin_pclk, xclk_freq_hz;
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
typedef struct _sensor {
    int (*set_vflip)(struct _sensor *sensor, int enable);
} sensor_t;

esp_err_t esp_camera_init(const camera_config_t *config);
camera_fb_t *esp_camera_fb_get(void);
void esp_camera_fb_return(camera_fb_t *frame);
sensor_t *esp_camera_sensor_get(void);

#endif
