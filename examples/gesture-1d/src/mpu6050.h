// An MPU-6050 on I2C: 50 samples a second, 8 g and 1000 degrees a second, through its FIFO.
#pragma once

#include <stdint.h>

constexpr uint8_t MPU6050_ADDRESS = 0x68; // with pin AD0 at GND; 0x69 at 3V3

// Starts bus and sensor; false when nothing answers as this sensor does.
bool mpu6050_begin(int sda, int scl);

// Takes the oldest sample of the FIFO, accelerations x, y, z and turning rates; false when there is none.
// After more than a second in which nobody asked, samples were lost and the FIFO begins anew.
bool mpu6050_read(int16_t sample[6]);
