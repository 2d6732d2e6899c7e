/* The part of ESP-IDF's esp_task_wdt.h that the port uses. A null task is the calling one. */
#ifndef ESP_TASK_WDT_H
#define ESP_TASK_WDT_H

#include "esp_partition.h"
#include "freertos/task.h"

esp_err_t esp_task_wdt_status(TaskHandle_t task);
esp_err_t esp_task_wdt_reset(void);

#endif
