// On an ESP32-S3 with Arduino, samples come from an MPU-6050 on I2C.
#include <Arduino.h>

#include "gesture.h"
#include "mpu6050.h"

constexpr int SDA_PIN = 8, SCL_PIN = 9;

static gesture hand;
static bool ready;

void setup()
{
    Serial.begin(115200);
    const tigris_status status = gesture_begin(&hand);
    Serial.printf("gesture: %s\n", tigris_status_text(status));
    ready = status == TIGRIS_OK && mpu6050_begin(SDA_PIN, SCL_PIN);
    if (status == TIGRIS_OK && !ready)
        Serial.printf("no MPU-6050 answers at SDA %d, SCL %d\n", SDA_PIN, SCL_PIN);
}

void loop()
{
    int16_t sample[GESTURE_AXES];
    if (!ready || !mpu6050_read(sample))
        delay(5);
    else if (gesture_feel(&hand, sample) && hand.told > 0)
        Serial.printf("%s\n", gesture_name(hand.told));
}
