/* The port of ESP-IDF and of Arduino-ESP32, which is built on it: partitions, arenas, clock and yield hook. */
#if defined(ESP_PLATFORM)

#include "sdkconfig.h"

#if CONFIG_IDF_TARGET_LINUX
#include <time.h>
#else
#include "esp_timer.h"
#endif

#if (CONFIG_ESP_TASK_WDT_EN || CONFIG_ESP_TASK_WDT) && !CONFIG_IDF_TARGET_LINUX
#include "esp_task_wdt.h"
#define HAS_TASK_WATCHDOG 1
#endif

#include "esp_heap_caps.h"
#include "esp_partition.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

#include "tigris_esp_idf.h"
#include "tigris_port.h"

/* The largest alignment that the compiler offers. */
#define ARENA_ALIGNMENT 64U

static const esp_partition_t *find_partition(const char *label)
{
    return esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, label);
}

static tigris_status check_range(const esp_partition_t *partition, uint32_t offset, size_t bytes)
{
    if (partition == NULL)
        return TIGRIS_ERR_PARTITION;
    return offset > partition->size || bytes > partition->size - offset ? TIGRIS_ERR_PARTITION_TOO_SMALL : TIGRIS_OK;
}

tigris_status tigris_port_read(const char *label, uint32_t offset, void *to, size_t bytes)
{
    const esp_partition_t *partition = find_partition(label);
    const tigris_status status = check_range(partition, offset, bytes);
    if (status != TIGRIS_OK)
        return status;
    return esp_partition_read(partition, offset, to, bytes) == ESP_OK ? TIGRIS_OK : TIGRIS_ERR_MAPPING;
}

/* Maps the MMU pages that the plan touches. The plan is read in place, so the mapping stays until the model is closed.
 * While flash is written or erased, mapped flash cannot be read; ESP-IDF suspends the other core meanwhile. A second
 * mapping of the same pages takes no more address space. A handle of 0, which chips never give, is not released. */
tigris_status tigris_port_map_held(const char *label, uint32_t offset, size_t bytes, const void **data,
                                   uint32_t *handle)
{
    const esp_partition_t *partition = find_partition(label);
    esp_partition_mmap_handle_t mapping;
    const tigris_status status = check_range(partition, offset, bytes);
    if (status != TIGRIS_OK)
        return status;
    if (esp_partition_mmap(partition, offset, bytes, ESP_PARTITION_MMAP_DATA, data, &mapping) != ESP_OK)
        return TIGRIS_ERR_MAPPING;
    *handle = (uint32_t)mapping;
    return TIGRIS_OK;
}

void tigris_port_unmap(uint32_t handle)
{
    if (handle != 0U)
        esp_partition_munmap((esp_partition_mmap_handle_t)handle);
}

tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data)
{
    uint32_t never_released = 0U;
    return tigris_port_map_held(label, offset, bytes, data, &never_released);
}

static void *arena(size_t bytes, uint32_t capabilities)
{
    return bytes == 0 ? NULL : heap_caps_aligned_alloc(ARENA_ALIGNMENT, bytes, capabilities);
}

tigris_arenas tigris_esp_arenas(size_t fast_bytes, size_t slow_bytes)
{
    return (tigris_arenas){arena(fast_bytes, MALLOC_CAP_INTERNAL | MALLOC_CAP_8BIT), fast_bytes,
                           arena(slow_bytes, MALLOC_CAP_SPIRAM | MALLOC_CAP_8BIT), slow_bytes};
}

int tigris_esp_yield(void *pauses)
{
    tigris_esp_pauses *state = pauses;
    const uint32_t now = (uint32_t)xTaskGetTickCount();
    if (now - state->last_pause < (uint32_t)pdMS_TO_TICKS(state->period_ms))
        return 0;
    /* taskYIELD() would not do: it never lets tasks of lower priority run, such as the idle task. */
    vTaskDelay(1);
#if HAS_TASK_WATCHDOG
    if (esp_task_wdt_status(NULL) == ESP_OK)
        (void)esp_task_wdt_reset();
#endif
    state->last_pause = (uint32_t)xTaskGetTickCount();
    return 0;
}

uint32_t tigris_esp_microseconds(void *context)
{
    (void)context;
#if CONFIG_IDF_TARGET_LINUX
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U);
#else
    return (uint32_t)esp_timer_get_time();
#endif
}

#else
typedef int tigris_port_esp_idf_unused;
#endif
