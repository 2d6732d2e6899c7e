/* Partitions, heap and watchdog, shared by the simulated chips; each chip provides its flash and its clock. */
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "idf.h"

#define MMU_PAGE 0x10000U

struct chip chip = {.window_pages = 64, .semaphores_left = 2};

static uint8_t *flash_of(const esp_partition_t *partition)
{
    return chip_flash() + partition->address;
}

esp_err_t esp_partition_read(const esp_partition_t *found, size_t src_offset, void *dst, size_t size)
{
    if (src_offset > found->size || size > found->size - src_offset)
        return ESP_ERR_NOT_FOUND;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)dst)[i] = flash_of(found)[src_offset + i] ^ (uint8_t)chip.cipher;
    return ESP_OK;
}

esp_err_t esp_partition_read_raw(const esp_partition_t *found, size_t src_offset, void *dst, size_t size)
{
    const esp_err_t error = esp_partition_read(found, src_offset, dst, size);
    for (size_t i = 0; error == ESP_OK && i < size; i++)
        ((uint8_t *)dst)[i] ^= (uint8_t)chip.cipher;
    return error;
}

esp_err_t esp_partition_write(const esp_partition_t *found, size_t dst_offset, const void *src, size_t size)
{
    if (dst_offset > found->size || size > found->size - dst_offset)
        return ESP_ERR_INVALID_SIZE;
    if (chip.refuses || (chip.cipher != 0U && (dst_offset % 16U != 0U || size % 16U != 0U)))
        return ESP_ERR_INVALID_ARG;
    for (size_t i = 0; i < size; i++)
        flash_of(found)[dst_offset + i] &= (uint8_t)(((const uint8_t *)src)[i] ^ chip.cipher);
    return ESP_OK;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *found, size_t offset, size_t size)
{
    if (offset % 4096U != 0U || size % 4096U != 0U || offset + size > found->size)
        return ESP_ERR_INVALID_ARG;
    if (chip.refuses)
        return ESP_ERR_NOT_FOUND;
    memset(flash_of(found) + offset, 0xff, size);
    return ESP_OK;
}

esp_err_t esp_partition_mmap(const esp_partition_t *found, size_t offset, size_t size,
                             esp_partition_mmap_memory_t memory, const void **out_ptr,
                             esp_partition_mmap_handle_t *out_handle)
{
    const uint32_t pages = (uint32_t)((offset % MMU_PAGE + size + MMU_PAGE - 1U) / MMU_PAGE);
    if (size == 0 || offset + size > found->size || memory != ESP_PARTITION_MMAP_DATA)
        return ESP_ERR_NOT_FOUND;
    if (pages > chip.window_pages)
        return ESP_ERR_NO_MEM;
    /* Decrypted into memory that stands for the MMU's window. */
    uint8_t *seen = flash_of(found) + offset;
    if (chip.cipher != 0U) {
        static uint8_t windows[2][FLASH_BYTES] __attribute__((aligned(64)));
        seen = windows[chip.mappings % 2U] + offset % MMU_PAGE;
        (void)esp_partition_read(found, offset, seen, size);
    }
    chip.window_pages -= pages;
    chip.mapped_bytes += (uint32_t)size;
    chip.mappings += 1U;
    *out_ptr = seen;
    *out_handle = pages << 8 | 1U;
    return ESP_OK;
}

void esp_partition_munmap(esp_partition_mmap_handle_t handle)
{
    if ((handle & 0xFFU) != 1U || chip.mappings == 0U)
        abort();
    chip.mappings -= 1U;
    chip.window_pages += handle >> 8;
}

void *heap_caps_aligned_alloc(size_t alignment, size_t size, uint32_t caps)
{
    chip.last_caps = caps;
    if ((caps & MALLOC_CAP_SPIRAM) != 0 && chip.has_no_psram)
        return NULL;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void heap_caps_free(void *ptr)
{
    free(ptr);
}

esp_err_t esp_task_wdt_status(TaskHandle_t task)
{
    return task == NULL && chip.is_subscribed ? ESP_OK : ESP_ERR_NOT_FOUND;
}

esp_err_t esp_task_wdt_reset(void)
{
    chip.watchdog_resets++;
    return ESP_OK;
}

TickType_t xTaskGetTickCount(void)
{
    return (TickType_t)(esp_timer_get_time() / 10000);
}
