/* ESP-IDF's drivers for the simulated chip's sensors, and a camera whose pictures are bytes of the line. */
#include <string.h>

#include "drivers.h"
#include "host_chip.h"

/* ---- I2C ---- */

static struct i2c_master_bus_t {
    bool open;
} bus;

static struct i2c_master_dev_t {
    uint8_t address;
} device_on_bus;

esp_err_t i2c_new_master_bus(const i2c_master_bus_config_t *config, i2c_master_bus_handle_t *made)
{
    bus.open = config->sda_io_num > 0 && config->scl_io_num > 0 && config->sda_io_num != config->scl_io_num &&
               config->clk_source == I2C_CLK_SRC_DEFAULT;
    *made = &bus;
    return bus.open ? ESP_OK : ESP_ERR_NOT_FOUND;
}

esp_err_t i2c_master_bus_add_device(i2c_master_bus_handle_t on, const i2c_device_config_t *config,
                                    i2c_master_dev_handle_t *device)
{
    if (!on->open || config->dev_addr_length != I2C_ADDR_BIT_LEN_7 || config->scl_speed_hz > 400000)
        return ESP_ERR_NOT_FOUND;
    device_on_bus.address = (uint8_t)config->device_address;
    *device = &device_on_bus;
    return ESP_OK;
}

esp_err_t i2c_master_transmit_receive(i2c_master_dev_handle_t device, const uint8_t *bytes, size_t count,
                                      uint8_t *answer, size_t wanted, int timeout_ms)
{
    return timeout_ms != 0 && chip_i2c(device->address, bytes, count, answer, wanted) ? ESP_OK : ESP_ERR_NOT_FOUND;
}

esp_err_t i2c_master_transmit(i2c_master_dev_handle_t device, const uint8_t *bytes, size_t count, int timeout_ms)
{
    return i2c_master_transmit_receive(device, bytes, count, NULL, 0, timeout_ms);
}

/* ---- the camera: QVGA in RGB565 ---- */

#define WIDTH 320U
#define HEIGHT 240U

static uint8_t pixels[HEIGHT][2U * WIDTH];
static camera_fb_t frame;
static bool upright;

esp_err_t esp_camera_init(const camera_config_t *config)
{
    const int pins[] = {config->pin_xclk, config->pin_sccb_sda, config->pin_sccb_scl, config->pin_d7, config->pin_d6,
                        config->pin_d5, config->pin_d4, config->pin_d3, config->pin_d2, config->pin_d1, config->pin_d0,
                        config->pin_vsync, config->pin_href, config->pin_pclk};
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++)
        for (size_t j = 0; j < i; j++)
            if (pins[i] <= 0 || pins[i] == pins[j])
                return ESP_ERR_NOT_FOUND;
    if (config->pixel_format != PIXFORMAT_RGB565 || config->frame_size != FRAMESIZE_QVGA || config->fb_count != 1 ||
        config->xclk_freq_hz < 10000000)
        return ESP_ERR_NOT_FOUND;
    frame = (camera_fb_t){.buf = pixels[0], .len = sizeof pixels, .width = WIDTH, .height = HEIGHT};
    return ESP_OK;
}

/* It is mounted upside down: unless it flips, it delivers the lowest line first. */
camera_fb_t *esp_camera_fb_get(void)
{
    for (uint32_t line = 0; frame.buf != NULL && line < HEIGHT; line++)
        for (size_t taken = 0; taken < sizeof *pixels;)
            taken += chip_read(pixels[upright ? line : HEIGHT - 1U - line] + taken, sizeof *pixels - taken, 1000);
    return frame.buf != NULL ? &frame : NULL;
}

void esp_camera_fb_return(camera_fb_t *returned)
{
    memset(returned->buf, 0, returned->len);
}

static int set_vflip(sensor_t *sensor, int enable)
{
    (void)sensor;
    upright = enable != 0;
    return 0;
}

sensor_t *esp_camera_sensor_get(void)
{
    static sensor_t sensor = {set_vflip};
    return frame.buf != NULL ? &sensor : NULL;
}
