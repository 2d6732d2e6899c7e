/* The chip's side that the stand-in frameworks share. */
#ifndef HOST_CHIP_H
#define HOST_CHIP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void chip_start(void);
/* Waits up to wait_ms for received bytes. */
size_t chip_read(uint8_t *data, size_t bytes, int wait_ms);
int chip_waiting(void);
void chip_write(const uint8_t *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
