// On a chip, with Arduino.
#include <Arduino.h>

#include "models.h"

static size_t line_read(void *, uint8_t *data, size_t bytes)
{
    return Serial.available() > 0 ? Serial.read(data, bytes) : 0;
}

static void line_write(void *, const uint8_t *data, size_t bytes)
{
    Serial.write(data, bytes);
}

static uint32_t microseconds(void *)
{
    return static_cast<uint32_t>(micros());
}

static const tigris_serve_transport line = {line_read, line_write, nullptr};
static const tigris_serve_board board = {"esp32c3", microseconds, nullptr, 1000000U, "us", 0U};

void setup()
{
    Serial.setRxBufferSize(1024);
    Serial.begin(115200);
    models_start(&line, &board);
    for (unsigned i = 0; i < 2; i++)
        Serial.printf("%s: %s\n", models_name(i), tigris_status_text(models_status(i)));
}

void loop()
{
    if (!models_poll())
        delay(1);
}
