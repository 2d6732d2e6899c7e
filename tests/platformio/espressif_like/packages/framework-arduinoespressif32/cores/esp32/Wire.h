/* The part of Arduino-ESP32's Wire.h that examples use, as its reference documents it. */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>

class TwoWire {
  public:
    bool begin(int sda, int scl, uint32_t frequency);
    void beginTransmission(uint8_t address);
    size_t write(uint8_t byte);
    uint8_t endTransmission(bool stop = true);
    size_t requestFrom(uint8_t address, size_t count, bool stop);
    int read();

  private:
    bool open = false;
    uint8_t to = 0, sent[32] = {}, received[64] = {};
    size_t sent_bytes = 0, received_bytes = 0, next = 0;
};

extern TwoWire Wire;

#endif
