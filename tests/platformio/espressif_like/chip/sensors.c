/* The registers of two I2C sensors: an ADXL345 at 0x53, an MPU-6050 at 0x68. Once they are configured as in the
 * examples, their FIFOs deliver the bytes of the line; before that they deliver nothing. */
#include <string.h>

#include "host_chip.h"

static uint8_t registers[128][128];

static int take(uint8_t *answer, size_t wanted)
{
    for (size_t taken = 0; taken < wanted;)
        taken += chip_read(answer + taken, wanted - taken, 1000);
    return 1;
}

/* Returns `most` if samples wait, else 0: the line does not say how many wait. */
static uint8_t waiting(uint8_t most)
{
    return chip_waiting() ? most : 0;
}

static int read_adxl345(const uint8_t *own, uint8_t at, uint8_t *answer, size_t wanted)
{
    const int measures = own[0x2C] == 0x0D && own[0x2D] == 0x08 && own[0x31] == 0x0B && own[0x38] >> 6 == 2;
    memset(answer, 0, wanted);
    if (at == 0x00)
        answer[0] = 0xE5;
    else if (at == 0x39)
        answer[0] = (uint8_t)(measures ? 0x80 | waiting(8) : 0); /* the trigger's bit beside the count */
    else if (at == 0x32)
        return wanted == 6 && measures && take(answer, wanted);
    return 1;
}

static int read_mpu6050(const uint8_t *own, uint8_t at, uint8_t *answer, size_t wanted)
{
    const int measures = own[0x19] == 19 && own[0x1A] == 4 && own[0x1B] == 0x10 && own[0x1C] == 0x10 &&
                         own[0x23] == 0x78 && (own[0x6A] & 0x40) != 0 && (own[0x6B] & 0x40) == 0;
    memset(answer, 0, wanted);
    if (at == 0x75)
        answer[0] = 0x68;
    else if (at == 0x72)
        answer[1] = (uint8_t)(measures ? waiting(12 * 4) : 0);
    else if (at == 0x74)
        return wanted == 12 && measures && take(answer, wanted);
    return 1;
}

int chip_i2c(uint8_t address, const uint8_t *bytes, size_t sent, uint8_t *answer, size_t wanted)
{
    if ((address != 0x53 && address != 0x68) || sent == 0 || bytes[0] + sent > sizeof *registers)
        return 0; /* no sensor at this address */
    memcpy(registers[address] + bytes[0], bytes + 1, sent - 1);
    if (wanted == 0)
        return 1;
    return (address == 0x53 ? read_adxl345 : read_mpu6050)(registers[address], bytes[0], answer, wanted);
}
