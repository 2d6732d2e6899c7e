/* Settings of a chip with its task watchdog on. */
#define CONFIG_ESP_TASK_WDT_EN 1
