#include "Arduino.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

extern "C" {
#include "esp_timer.h"
}

HardwareSerial Serial;

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
