/* The part of Arduino-ESP32's Wire.h that examples use, by its reference. */
#ifndef WIRE_H
#define WIRE_H

#include "host_chip.h"

class TwoWire {
  public:
    bool begin(int sda, int scl, uint32_t frequency)
    {
        return open = sda > 0 && scl > 0 && sda != scl && frequency <= 400000;
    }
    void beginTransmission(uint8_t address)
    {
        to = address;
        sent_bytes = 0;
    }
    size_t write(uint8_t byte)
    {
        if (sent_bytes == sizeof sent)
            return 0;
        sent[sent_bytes++] = byte;
        return 1;
    }
    /* Without a stop, the sent bytes wait for the following request. */
    uint8_t endTransmission(bool stop = true)
    {
        return !open ? 4 : !stop || chip_i2c(to, sent, sent_bytes, nullptr, 0) != 0 ? 0 : 2;
    }
    size_t requestFrom(uint8_t address, size_t count, bool)
    {
        next = received_bytes = 0;
        if (open && address == to && count <= sizeof received && chip_i2c(to, sent, sent_bytes, received, count) != 0)
            received_bytes = count;
        return received_bytes;
    }
    int read() { return next < received_bytes ? received[next++] : -1; }

  private:
    bool open = false;
    uint8_t to = 0, sent[32] = {}, received[64] = {};
    size_t sent_bytes = 0, received_bytes = 0, next = 0;
};

inline TwoWire Wire;

#endif
