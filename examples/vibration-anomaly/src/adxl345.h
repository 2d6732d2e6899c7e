/* An ADXL345 on I2C: 800 samples a second, 16 g, 256 steps to a g, through its FIFO of 32. */
#ifndef ADXL345_H
#define ADXL345_H

#include <stdint.h>

#include <driver/i2c_master.h>

#define ADXL345_ADDRESS 0x53 /* with pin SDO at GND; 0x1D at 3V3 */

/* Starts the bus and the sensor. ESP_ERR_NOT_FOUND when what answers is no ADXL345. */
esp_err_t adxl345_open(gpio_num_t sda, gpio_num_t scl, i2c_master_dev_handle_t *sensor);

/* Samples that wait in the FIFO; from 32 on some were lost. */
esp_err_t adxl345_waiting(i2c_master_dev_handle_t sensor, uint8_t *count);

/* Takes the oldest of them: x, y, z. */
esp_err_t adxl345_read(i2c_master_dev_handle_t sensor, int16_t sample[3]);

#endif
