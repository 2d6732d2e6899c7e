#include "Arduino.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "host_chip.h"
extern "C" {
#include "esp_timer.h"
}

HardwareSerial Serial;

size_t HardwareSerial::setRxBufferSize(size_t bytes) { return bytes; }
void HardwareSerial::begin(unsigned long) {}
int HardwareSerial::available() { return chip_waiting(); }
size_t HardwareSerial::read(uint8_t *buffer, size_t bytes) { return chip_read(buffer, bytes, 0); }

size_t HardwareSerial::write(const uint8_t *buffer, size_t bytes)
{
    chip_write(buffer, bytes);
    return bytes;
}

size_t HardwareSerial::printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vprintf(format, arguments);
    va_end(arguments);
    return written < 0 ? 0 : (size_t)written;
}

extern "C" {
unsigned long micros(void) { return (unsigned long)(uint32_t)esp_timer_get_time(); }
void delay(unsigned long milliseconds) { usleep((unsigned)milliseconds * 1000U); }
}

int main()
{
    chip_start();
    setup();
    for (;;)
        loop();
}
