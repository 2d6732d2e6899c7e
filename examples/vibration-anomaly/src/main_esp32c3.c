/* On an ESP32-C3, samples come from an ADXL345 on I2C. */
#include <stdio.h>

#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

#include "adxl345.h"
#include "vibration.h"

#define SDA GPIO_NUM_4
#define SCL GPIO_NUM_5

static void feel(vibration *pump, i2c_master_dev_handle_t sensor)
{
    int16_t sample[SPECTRUM_AXES];
    ESP_ERROR_CHECK(adxl345_read(sensor, sample));
    if (vibration_feel(pump, sample))
        printf(pump->alarm ? "%ld alarm\n" : "%ld\n", (long)pump->score);
}

void app_main(void)
{
    static vibration pump;
    i2c_master_dev_handle_t sensor;
    const tigris_status status = vibration_begin(&pump);
    printf("vibration: %s\n", tigris_status_text(status));
    if (status != TIGRIS_OK)
        return;
    ESP_ERROR_CHECK(adxl345_open(SDA, SCL, &sensor));
    for (;;) {
        uint8_t waiting;
        ESP_ERROR_CHECK(adxl345_waiting(sensor, &waiting));
        if (waiting >= 32)
            printf("samples were lost\n");
        for (; waiting > 0; waiting--)
            feel(&pump, sensor);
        vTaskDelay(1); /* a tick, 10 ms by default: 8 samples */
    }
}
