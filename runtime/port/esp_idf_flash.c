/* Writes partitions on ESP-IDF. A file of its own, so that firmware whose models have one slot does not link it. */
#if defined(ESP_PLATFORM)

#include "esp_partition.h"

#include "tigris_port.h"

static tigris_status find_range(const char *label, uint32_t offset, size_t bytes, const esp_partition_t **partition)
{
    *partition = esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, label);
    if (*partition == NULL)
        return TIGRIS_ERR_PARTITION;
    return offset > (*partition)->size || bytes > (*partition)->size - offset ? TIGRIS_ERR_PARTITION_TOO_SMALL
                                                                              : TIGRIS_OK;
}

static tigris_status erase(const char *label, uint32_t offset)
{
    const esp_partition_t *partition = NULL;
    const tigris_status status = find_range(label, offset, TIGRIS_FLASH_SECTOR, &partition);
    if (status != TIGRIS_OK)
        return status;
    return esp_partition_erase_range(partition, offset, TIGRIS_FLASH_SECTOR) == ESP_OK ? TIGRIS_OK : TIGRIS_ERR_FLASH;
}

/* ESP-IDF keeps caches and mapped data consistent. Encrypted partitions need multiples of 16 bytes, which 32 are. */
static tigris_status program(const char *label, uint32_t offset, const void *from, size_t bytes)
{
    const esp_partition_t *partition = NULL;
    const tigris_status status = find_range(label, offset, bytes, &partition);
    if (status != TIGRIS_OK)
        return status;
    return esp_partition_write(partition, offset, from, bytes) == ESP_OK ? TIGRIS_OK : TIGRIS_ERR_FLASH;
}

/* Reads raw bytes: decrypted, erased flash would read as random bytes. */
static tigris_status is_erased(const char *label, uint32_t offset, size_t bytes, int *erased)
{
    const esp_partition_t *partition = NULL;
    tigris_status status = find_range(label, offset, bytes, &partition);
    uint32_t words[8];
    *erased = status == TIGRIS_OK;
    for (size_t at = 0; at < bytes && *erased; at += sizeof words) {
        const size_t count = bytes - at < sizeof words ? bytes - at : sizeof words;
        if (esp_partition_read_raw(partition, offset + at, words, count) != ESP_OK)
            status = TIGRIS_ERR_MAPPING;
        const uint8_t *byte = (const uint8_t *)words;
        for (size_t i = 0; i < count; i++)
            *erased = *erased && status == TIGRIS_OK && byte[i] == 0xFFU;
    }
    return status;
}

const tigris_flash tigris_port_flash = {erase, program, is_erased};

#else
typedef int tigris_port_esp_idf_flash_unused;
#endif
