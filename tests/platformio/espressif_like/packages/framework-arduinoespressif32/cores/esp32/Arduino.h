/* The part of the Arduino API that examples use, by its reference. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include "host_chip.h"

void setup();
void loop();

extern "C" {
unsigned long micros(void);
void delay(unsigned long milliseconds);
}

class HardwareSerial {
  public:
    size_t setRxBufferSize(size_t bytes) { return bytes; }
    void begin(unsigned long) {}
    int available() { return chip_waiting(); }
    size_t read(uint8_t *buffer, size_t bytes) { return chip_read(buffer, bytes, 0); }
    size_t write(const uint8_t *buffer, size_t bytes)
    {
        chip_write(buffer, bytes);
        return bytes;
    }
    size_t printf(const char *format, ...) __attribute__((format(printf, 2, 3)));
};

extern HardwareSerial Serial;

#endif
