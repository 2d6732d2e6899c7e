/* The part of ESP-IDF's driver/i2c_master.h that examples use, as its API reference documents it. */
#ifndef DRIVER_I2C_MASTER_H
#define DRIVER_I2C_MASTER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "esp_partition.h"
#include "hal/gpio_types.h"

typedef int i2c_port_num_t;
typedef enum { I2C_CLK_SRC_DEFAULT = 1 } i2c_clock_source_t;
typedef enum { I2C_ADDR_BIT_LEN_7, I2C_ADDR_BIT_LEN_10 } i2c_addr_bit_len_t;

typedef struct {
    i2c_port_num_t i2c_port;
    gpio_num_t sda_io_num;
    gpio_num_t scl_io_num;
    i2c_clock_source_t clk_source;
    uint8_t glitch_ignore_cnt;
    int intr_priority;
    size_t trans_queue_depth;
    struct {
        uint32_t enable_internal_pullup : 1;
        uint32_t allow_pd : 1;
    } flags;
} i2c_master_bus_config_t;

typedef struct {
    i2c_addr_bit_len_t dev_addr_length;
    uint16_t device_address;
    uint32_t scl_speed_hz;
    uint32_t scl_wait_us;
} i2c_device_config_t;

typedef struct i2c_master_bus_t *i2c_master_bus_handle_t;
typedef struct i2c_master_dev_t *i2c_master_dev_handle_t;

#ifndef ESP_ERROR_CHECK
#define ESP_ERROR_CHECK(x) ((x) == ESP_OK ? (void)0 : abort())
#endif

esp_err_t i2c_new_master_bus(const i2c_master_bus_config_t *config, i2c_master_bus_handle_t *bus);
esp_err_t i2c_master_bus_add_device(i2c_master_bus_handle_t bus, const i2c_device_config_t *config,
                                    i2c_master_dev_handle_t *device);
esp_err_t i2c_master_transmit(i2c_master_dev_handle_t device, const uint8_t *bytes, size_t count, int timeout_ms);
esp_err_t i2c_master_transmit_receive(i2c_master_dev_handle_t device, const uint8_t *bytes, size_t count,
                                      uint8_t *answer, size_t wanted, int timeout_ms);

#endif
