/* The part of ESP-IDF's driver/uart.h that examples use, as its API reference documents it. */
#ifndef DRIVER_UART_H
#define DRIVER_UART_H

#include <stdlib.h>

#include "esp_partition.h"
#include "freertos/FreeRTOS.h"

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

#define ESP_ERROR_CHECK(x) ((x) == ESP_OK ? (void)0 : abort())

esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config);
esp_err_t uart_driver_install(uart_port_t port, int receive_bytes, int send_bytes, int queue_size, void *queue, int flags);
int uart_read_bytes(uart_port_t port, void *buffer, uint32_t length, TickType_t ticks);
int uart_write_bytes(uart_port_t port, const void *source, size_t size);

#endif
