/* Registers by the data sheet of the ADXL345 (Analog Devices). At 400 kHz the bus keeps up with 800 samples a second. */
#include "adxl345.h"

#define DEVICE_ID 0x00
#define BW_RATE 0x2C
#define POWER_CTL 0x2D
#define DATA_FORMAT 0x31
#define DATA_X0 0x32
#define FIFO_CTL 0x38
#define FIFO_STATUS 0x39

#define PATIENCE_MS 100

static esp_err_t write(i2c_master_dev_handle_t sensor, uint8_t address, uint8_t value)
{
    const uint8_t bytes[] = {address, value};
    return i2c_master_transmit(sensor, bytes, sizeof bytes, PATIENCE_MS);
}

static esp_err_t read(i2c_master_dev_handle_t sensor, uint8_t address, uint8_t *bytes, size_t count)
{
    return i2c_master_transmit_receive(sensor, &address, 1, bytes, count, PATIENCE_MS);
}

esp_err_t adxl345_open(gpio_num_t sda, gpio_num_t scl, i2c_master_dev_handle_t *sensor)
{
    static const uint8_t settings[][2] = {
        {POWER_CTL, 0x00},   /* standby, while the rest is set */
        {BW_RATE, 0x0D},     /* 800 samples a second */
        {DATA_FORMAT, 0x0B}, /* full resolution, 16 g */
        {FIFO_CTL, 0x80},    /* stream: the oldest samples make room */
        {POWER_CTL, 0x08},   /* measure */
    };
    const i2c_master_bus_config_t wires = {.i2c_port = -1, .sda_io_num = sda, .scl_io_num = scl,
                                           .clk_source = I2C_CLK_SRC_DEFAULT, .glitch_ignore_cnt = 7,
                                           .flags.enable_internal_pullup = 1};
    const i2c_device_config_t device = {.dev_addr_length = I2C_ADDR_BIT_LEN_7, .device_address = ADXL345_ADDRESS,
                                        .scl_speed_hz = 400000};
    i2c_master_bus_handle_t bus;
    uint8_t id = 0;
    esp_err_t error = i2c_new_master_bus(&wires, &bus);
    if (error == ESP_OK)
        error = i2c_master_bus_add_device(bus, &device, sensor);
    if (error == ESP_OK)
        error = read(*sensor, DEVICE_ID, &id, 1);
    if (error == ESP_OK && id != 0xE5)
        error = ESP_ERR_NOT_FOUND;
    for (size_t i = 0; error == ESP_OK && i < sizeof settings / sizeof *settings; i++)
        error = write(*sensor, settings[i][0], settings[i][1]);
    return error;
}

esp_err_t adxl345_waiting(i2c_master_dev_handle_t sensor, uint8_t *count)
{
    const esp_err_t error = read(sensor, FIFO_STATUS, count, 1);
    *count &= 0x3F;
    return error;
}

/* Six bytes in one go take one sample out of the FIFO. */
esp_err_t adxl345_read(i2c_master_dev_handle_t sensor, int16_t sample[3])
{
    uint8_t bytes[6];
    const esp_err_t error = read(sensor, DATA_X0, bytes, sizeof bytes);
    for (int axis = 0; error == ESP_OK && axis < 3; axis++)
        sample[axis] = (int16_t)(bytes[2 * axis] | bytes[2 * axis + 1] << 8);
    return error;
}
