/* The part of the Arduino API that examples use, as its reference documents it. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

void setup();
void loop();

extern "C" {
unsigned long micros(void);
void delay(unsigned long milliseconds);
}

class HardwareSerial {
  public:
    size_t setRxBufferSize(size_t bytes);
    void begin(unsigned long baud);
    int available();
    size_t read(uint8_t *buffer, size_t bytes);
    size_t write(const uint8_t *buffer, size_t bytes);
    size_t printf(const char *format, ...) __attribute__((format(printf, 2, 3)));
};

extern HardwareSerial Serial;

#endif
