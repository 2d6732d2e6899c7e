/* Serves inference of the digits network on UART 0. */
#include "driver/uart.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "sdkconfig.h"

#include "tigris_esp_idf.h"
#include "tigris_models.h"
#include "tigris_serve.h"

#define PORT UART_NUM_0
#define RECEIVE_BYTES 2048

static tigris_arenas arenas;
static tigris_plan plan;
static tigris_session session;
static tigris_serve_counts profile[TIGRIS_MODEL_DIGITS_OPS];
static tigris_serve server;
static tigris_esp_pauses pauses = {.period_ms = 500};

static size_t receive(void *context, uint8_t *data, size_t bytes)
{
    (void)context;
    const int received = uart_read_bytes(PORT, data, (uint32_t)bytes, 0);
    return received > 0 ? (size_t)received : 0;
}

static void transmit(void *context, const uint8_t *data, size_t bytes)
{
    (void)context;
    (void)uart_write_bytes(PORT, data, bytes);
}

static void open_uart(void)
{
    const uart_config_t line = {
        .baud_rate = 115200, .data_bits = UART_DATA_8_BITS,
        .parity = UART_PARITY_DISABLE, .stop_bits = UART_STOP_BITS_1,
        .flow_ctrl = UART_HW_FLOWCTRL_DISABLE, .source_clk = UART_SCLK_DEFAULT,
    };
    ESP_ERROR_CHECK(uart_driver_install(PORT, RECEIVE_BYTES, 0, 0, NULL, 0));
    ESP_ERROR_CHECK(uart_param_config(PORT, &line));
}

static tigris_status open_model(const tigris_model *model)
{
    arenas = tigris_esp_arenas(model->fast_bytes, model->slow_bytes);
    tigris_status status = tigris_model_open(model, &plan);
    if (status != TIGRIS_OK)
        return status;
    status = tigris_session_init(&session, &plan, &arenas, NULL);
    session.hooks.yield = tigris_esp_yield;
    session.hooks.yield_context = &pauses;
    return status;
}

void app_main(void)
{
    static const tigris_serve_transport uart = {.read = receive, .write = transmit};
    static const tigris_serve_board board = {
        .name = CONFIG_IDF_TARGET, .counter = tigris_esp_microseconds,
        .counter_hz = 1000000, .counter_unit = "us",
        .busy_counts = 500000,
    };
    open_uart();
    const tigris_status status = open_model(&TIGRIS_MODEL_DIGITS);
    const tigris_serve_model model = {
        .plan = &plan,
        .session = &session,
        .status = status,
        .arenas = &arenas,
        .profile = profile,
        .profile_count = TIGRIS_MODEL_DIGITS_OPS,
    };
    tigris_serve_init(&server, &uart, &board, &model, 1);
    for (;;)
        if (!tigris_serve_poll(&server))
            vTaskDelay(1);
}
