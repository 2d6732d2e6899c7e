// Registers by the MPU-6000/MPU-6050 register map (InvenSense, RM-MPU-6000A).
#include "mpu6050.h"

#include <Wire.h>

namespace {

constexpr uint8_t SMPLRT_DIV = 0x19, CONFIG = 0x1A, GYRO_CONFIG = 0x1B, ACCEL_CONFIG = 0x1C, FIFO_EN = 0x23;
constexpr uint8_t USER_CTRL = 0x6A, PWR_MGMT_1 = 0x6B, FIFO_COUNT = 0x72, FIFO_R_W = 0x74, WHO_AM_I = 0x75;
constexpr uint8_t FIFO_ON = 0x40, FIFO_RESET = 0x04;
constexpr size_t SAMPLE_BYTES = 12, FIFO_BYTES = 1024;

bool write(uint8_t address, uint8_t value)
{
    Wire.beginTransmission(MPU6050_ADDRESS);
    Wire.write(address);
    Wire.write(value);
    return Wire.endTransmission() == 0;
}

bool read(uint8_t address, uint8_t *bytes, size_t count)
{
    Wire.beginTransmission(MPU6050_ADDRESS);
    Wire.write(address);
    if (Wire.endTransmission(false) != 0 || Wire.requestFrom(MPU6050_ADDRESS, count, true) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        bytes[i] = static_cast<uint8_t>(Wire.read());
    return true;
}

} // namespace

bool mpu6050_begin(int sda, int scl)
{
    uint8_t id = 0;
    return Wire.begin(sda, scl, 400000) && read(WHO_AM_I, &id, 1) && id == 0x68 &&
           write(PWR_MGMT_1, 0x01) &&      // awake, clocked by a gyroscope
           write(CONFIG, 0x04) &&          // filtered to 20 Hz, a sample each millisecond
           write(SMPLRT_DIV, 19) &&        // of which every 20th is kept
           write(GYRO_CONFIG, 0x10) &&     // 1000 degrees a second
           write(ACCEL_CONFIG, 0x10) &&    // 8 g
           write(FIFO_EN, 0x78) &&         // accelerations and rates go to the FIFO
           write(USER_CTRL, FIFO_ON | FIFO_RESET);
}

bool mpu6050_read(int16_t sample[6])
{
    uint8_t bytes[SAMPLE_BYTES];
    if (!read(FIFO_COUNT, bytes, 2))
        return false;
    const size_t waiting = static_cast<size_t>(bytes[0] << 8 | bytes[1]);
    if (waiting > FIFO_BYTES - SAMPLE_BYTES) {
        write(USER_CTRL, FIFO_ON | FIFO_RESET); // a full one has lost part of a sample, and its place
        return false;
    }
    if (waiting < SAMPLE_BYTES || !read(FIFO_R_W, bytes, sizeof bytes))
        return false;
    for (int axis = 0; axis < 6; axis++)
        sample[axis] = static_cast<int16_t>(bytes[2 * axis] << 8 | bytes[2 * axis + 1]);
    return true;
}
