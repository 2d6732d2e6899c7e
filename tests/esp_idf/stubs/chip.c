/* A chip with one partition in a file; each reading of its clock advances the time by 4 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "idf.h"

static esp_partition_t partition = {.type = ESP_PARTITION_TYPE_DATA, .label = "model"};
static uint8_t *flash;

void chip_start(const char *flash_file, uint32_t partition_bytes)
{
    FILE *file = fopen(flash_file, "rb");
    flash = aligned_alloc(64, FLASH_BYTES);
    if (flash == NULL || file == NULL)
        abort();
    memset(flash, 0xff, FLASH_BYTES);
    if (fread(flash, 1, FLASH_BYTES, file) == 0)
        abort();
    fclose(file);
    partition.size = partition_bytes;
}

uint8_t *chip_flash(void)
{
    return flash;
}

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype,
                                                const char *label)
{
    int matches = type == partition.type && subtype == ESP_PARTITION_SUBTYPE_ANY && strcmp(label, partition.label) == 0;
    return matches ? &partition : NULL;
}

int64_t esp_timer_get_time(void)
{
    chip.microseconds += 4000;
    return chip.microseconds;
}

void vTaskDelay(TickType_t ticks)
{
    chip.pauses++;
    chip.microseconds += (int64_t)ticks * 10000;
}
