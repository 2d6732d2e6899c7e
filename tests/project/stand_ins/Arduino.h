// A stand-in for an Arduino core: Serial is the program's standard input and output.
#ifndef ARDUINO_H
#define ARDUINO_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

class StandIn {
public:
    void begin(unsigned long) {}

    int available()
    {
        struct pollfd line = {0, POLLIN, 0};
        return poll(&line, 1, 0) > 0;
    }

    int read()
    {
        uint8_t byte;
        return ::read(0, &byte, 1) == 1 ? byte : -1;
    }

    size_t write(const uint8_t *data, size_t bytes)
    {
        size_t sent = 0;
        while (sent < bytes) {
            const ssize_t count = ::write(1, data + sent, bytes - sent);
            if (count > 0)
                sent += static_cast<size_t>(count);
        }
        return sent;
    }
};

static StandIn Serial;

static inline unsigned long micros()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<unsigned long>(now.tv_sec) * 1000000UL + static_cast<unsigned long>(now.tv_nsec / 1000);
}

static inline void delay(unsigned long milliseconds)
{
    struct pollfd line = {0, POLLIN, 0};
    poll(&line, 1, static_cast<int>(milliseconds));
}

void setup();
void loop();

int main()
{
    setup();
    for (;;)
        loop();
}

#endif
