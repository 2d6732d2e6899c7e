/* The simulated chip's interface for the stand-in frameworks. */
#ifndef HOST_CHIP_H
#define HOST_CHIP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void chip_start(void);
uint8_t *chip_flash(void);
/* Waits up to wait_ms for received bytes. */
size_t chip_read(uint8_t *data, size_t bytes, int wait_ms);
int chip_waiting(void);
void chip_write(const uint8_t *data, size_t bytes);

/* One transfer of an I2C master: sends `sent` bytes to the address, then reads `wanted` bytes. Returns 1 if a sensor
 * answers. The sensor measures the bytes of the line. */
int chip_i2c(uint8_t address, const uint8_t *bytes, size_t sent, uint8_t *answer, size_t wanted);

#ifdef __cplusplus
}
#endif

#endif
