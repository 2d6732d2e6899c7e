/* A simulated chip: flash is the file CHIP_FLASH, UART 0 a TCP connection to port CHIP_PORT.
 *
 * Partitions are found by the flashed table at 0x8000. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>

#include "host_chip.h"
#include "drivers.h"

#define TABLE 0x8000U
#define ENTRIES 95
#define FLASH_BYTES (16U << 20)

static uint8_t *flash;
static int line = -1;

static void fail(const char *what)
{
    perror(what);
    exit(3);
}

uint8_t *chip_flash(void)
{
    return flash;
}

void chip_start(void)
{
    const int file = open(getenv("CHIP_FLASH") ? getenv("CHIP_FLASH") : "", O_RDONLY);
    if (file < 0 || lseek(file, 0, SEEK_END) != (off_t)FLASH_BYTES)
        fail("CHIP_FLASH must be a file of 16 MB");
    flash = mmap(NULL, FLASH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (flash == MAP_FAILED)
        fail("mmap");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1, server = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = htons((uint16_t)atoi(getenv("CHIP_PORT") ? getenv("CHIP_PORT") : "0"));
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 1) != 0)
        fail("CHIP_PORT");
    line = accept(server, NULL, NULL);
    if (line < 0 || dup2(line, STDOUT_FILENO) < 0)
        fail("accept");
    setvbuf(stdout, NULL, _IONBF, 0);
}

size_t chip_read(uint8_t *data, size_t bytes, int wait_ms)
{
    struct pollfd waiting = {.fd = line, .events = POLLIN};
    if (poll(&waiting, 1, wait_ms) <= 0)
        return 0;
    const ssize_t got = read(line, data, bytes);
    if (got <= 0)
        exit(0); /* disconnected */
    return (size_t)got;
}

int chip_waiting(void)
{
    struct pollfd waiting = {.fd = line, .events = POLLIN};
    return poll(&waiting, 1, 0) > 0 ? 1 : 0;
}

void chip_write(const uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t sent = write(line, data, bytes);
        if (sent <= 0)
            exit(0);
        data += sent;
        bytes -= (size_t)sent;
    }
}

/* ---- partitions ---- */

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype,
                                                const char *label)
{
    static esp_partition_t found[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        const uint8_t *entry = flash + TABLE + 32 * i;
        if (entry[0] != 0xAA || entry[1] != 0x50)
            break;
        memcpy(&found[i].address, entry + 4, 4);
        memcpy(&found[i].size, entry + 8, 4);
        memcpy(found[i].label, entry + 12, 16);
        found[i].type = (esp_partition_type_t)entry[2];
        found[i].subtype = (esp_partition_subtype_t)entry[3];
        if (found[i].type == type && (subtype == ESP_PARTITION_SUBTYPE_ANY || subtype == found[i].subtype) &&
            strcmp(found[i].label, label) == 0)
            return &found[i];
    }
    return NULL;
}

int64_t esp_timer_get_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A tick is 1 ms; measurements do not depend on it. */
void vTaskDelay(TickType_t ticks)
{
    usleep(ticks * 1000U);
}

/* ---- UART ---- */

esp_err_t uart_driver_install(uart_port_t port, int receive_bytes, int send_bytes, int queue_size, void *queue, int flags)
{
    (void)send_bytes, (void)queue_size, (void)queue, (void)flags;
    return port == UART_NUM_0 && receive_bytes > 128 ? ESP_OK : ESP_ERR_NOT_FOUND;
}

esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config)
{
    return port == UART_NUM_0 && config->baud_rate > 0 ? ESP_OK : ESP_ERR_NOT_FOUND;
}

int uart_read_bytes(uart_port_t port, void *buffer, uint32_t length, TickType_t ticks)
{
    (void)port;
    return (int)chip_read(buffer, length, (int)ticks * 10);
}

int uart_write_bytes(uart_port_t port, const void *source, size_t size)
{
    (void)port;
    chip_write(source, size);
    return (int)size;
}

/* ---- I2S: a microphone of 24 bits on the left channel; its samples are 16-bit words of the line ---- */

static struct i2s_channel_obj_t {
    bool known, set_up, enabled;
} microphone;

esp_err_t i2s_new_channel(const i2s_chan_config_t *config, i2s_chan_handle_t *sender, i2s_chan_handle_t *receiver)
{
    if (config->role != I2S_ROLE_MASTER || sender != NULL || receiver == NULL)
        return ESP_ERR_NOT_FOUND;
    microphone.known = true;
    *receiver = &microphone;
    return ESP_OK;
}

esp_err_t i2s_channel_init_std_mode(i2s_chan_handle_t channel, const i2s_std_config_t *config)
{
    const i2s_std_gpio_config_t *pins = &config->gpio_cfg;
    const i2s_std_slot_config_t *slot = &config->slot_cfg;
    channel->set_up = channel->known && config->clk_cfg.sample_rate_hz == 16000 &&
                      slot->data_bit_width == I2S_DATA_BIT_WIDTH_32BIT && slot->slot_mode == I2S_SLOT_MODE_MONO &&
                      slot->slot_mask == I2S_STD_SLOT_LEFT && pins->bclk > 0 && pins->ws > 0 && pins->din > 0 &&
                      pins->bclk != pins->ws && pins->ws != pins->din && pins->din != pins->bclk;
    return channel->set_up ? ESP_OK : ESP_ERR_NOT_FOUND;
}

esp_err_t i2s_channel_enable(i2s_chan_handle_t channel)
{
    channel->enabled = channel->set_up;
    return channel->enabled ? ESP_OK : ESP_ERR_NOT_FOUND;
}

esp_err_t i2s_channel_read(i2s_chan_handle_t channel, void *data, size_t size, size_t *bytes, uint32_t timeout_ms)
{
    if (!channel->enabled || timeout_ms == 0)
        return ESP_ERR_NOT_FOUND;
    for (*bytes = 0; *bytes < size; *bytes += 4) {
        uint8_t heard[2];
        for (size_t taken = 0; taken < sizeof heard;)
            taken += chip_read(heard + taken, sizeof heard - taken, 1000);
        const uint32_t slot = ((uint32_t)heard[0] << 14 | (uint32_t)heard[1] << 22) |
                              (heard[1] & 0x80U ? 0xC0000000U : 0U); /* INMP441 is a fourth of full scale */
        memcpy((uint8_t *)data + *bytes, &slot, sizeof slot);
    }
    return ESP_OK;
}

#if defined(LIKE_ESPIDF)
void app_main(void);

int main(void)
{
    chip_start();
    app_main();
    return 0;
}
#endif
