/* Partitions, memory, time and pauses on ESP-IDF, and on Arduino-ESP32, which is built on it. */
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

/* The mapping is held for ever: models are read in place. Mapped flash cannot be read while flash is
 * written or erased; ESP-IDF suspends the other core for that time. A second mapping of the same partition takes
 * no more of the address space: ESP-IDF hands out the pages that are mapped already. */
tigris_status tigris_port_find_partition(const char *label, const void **data, size_t *bytes)
{
    const esp_partition_t *partition =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, label);
    esp_partition_mmap_handle_t handle;
    if (partition == NULL)
        return TIGRIS_ERR_PARTITION;
    if (esp_partition_mmap(partition, 0, partition->size, ESP_PARTITION_MMAP_DATA, data, &handle) != ESP_OK)
        return TIGRIS_ERR_PARTITION;
    *bytes = partition->size;
    return TIGRIS_OK;
}

static void *arena(size_t bytes, uint32_t capabilities)
{
    return bytes == 0 ? NULL : heap_caps_aligned_alloc(ARENA_ALIGNMENT, bytes, capabilities);
}

void *tigris_esp_fast_arena(size_t bytes)
{
    return arena(bytes, MALLOC_CAP_INTERNAL | MALLOC_CAP_8BIT);
}

void *tigris_esp_slow_arena(size_t bytes)
{
    return arena(bytes, MALLOC_CAP_SPIRAM | MALLOC_CAP_8BIT);
}

int tigris_esp_yield(void *pauses)
{
    tigris_esp_pauses *state = pauses;
    const uint32_t now = (uint32_t)xTaskGetTickCount();
    if (now - state->last_pause < (uint32_t)pdMS_TO_TICKS(state->period_ms))
        return 0;
    /* A mere yield would not do: it passes over tasks of lower priority, and the idle task has the lowest. */
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
