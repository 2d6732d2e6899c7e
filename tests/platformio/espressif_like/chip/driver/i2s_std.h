/* The part of ESP-IDF's driver/i2s_std.h that examples use, as its API reference documents it. */
#ifndef DRIVER_I2S_STD_H
#define DRIVER_I2S_STD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "esp_partition.h"
#include "hal/gpio_types.h"

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
/* That of the chips after ESP32 and ESP32-S2: both slots, also for one channel. */
#define I2S_STD_PHILIPS_SLOT_DEFAULT_CONFIG(bits, mode) \
    {.data_bit_width = (bits), .slot_mode = (mode), .slot_mask = I2S_STD_SLOT_BOTH}

#ifndef ESP_ERROR_CHECK
#define ESP_ERROR_CHECK(x) ((x) == ESP_OK ? (void)0 : abort())
#endif

esp_err_t i2s_new_channel(const i2s_chan_config_t *config, i2s_chan_handle_t *sender, i2s_chan_handle_t *receiver);
esp_err_t i2s_channel_init_std_mode(i2s_chan_handle_t channel, const i2s_std_config_t *config);
esp_err_t i2s_channel_enable(i2s_chan_handle_t channel);
esp_err_t i2s_channel_read(i2s_chan_handle_t channel, void *data, size_t size, size_t *read, uint32_t timeout_ms);

#endif
