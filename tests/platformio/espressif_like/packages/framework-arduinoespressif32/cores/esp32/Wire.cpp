#include "Wire.h"

#include "host_chip.h"

TwoWire Wire;

bool TwoWire::begin(int sda, int scl, uint32_t frequency)
{
    open = sda > 0 && scl > 0 && sda != scl && frequency <= 400000;
    return open;
}

void TwoWire::beginTransmission(uint8_t address)
{
    to = address;
    sent_bytes = 0;
}

size_t TwoWire::write(uint8_t byte)
{
    if (sent_bytes == sizeof sent)
        return 0;
    sent[sent_bytes++] = byte;
    return 1;
}

/* Without a stop, what was sent waits for the request that follows. */
uint8_t TwoWire::endTransmission(bool stop)
{
    if (!open)
        return 4;
    const bool taken = !stop || chip_i2c(to, sent, sent_bytes, nullptr, 0) != 0;
    return taken ? 0 : 2;
}

size_t TwoWire::requestFrom(uint8_t address, size_t count, bool)
{
    next = received_bytes = 0;
    if (open && address == to && count <= sizeof received && chip_i2c(to, sent, sent_bytes, received, count) != 0)
        received_bytes = count;
    return received_bytes;
}

int TwoWire::read() { return next < received_bytes ? received[next++] : -1; }
