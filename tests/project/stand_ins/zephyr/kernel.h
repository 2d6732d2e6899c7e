/* A stand-in for Zephyr: the console's UART is the program's standard input and output, whose bytes "interrupt" the
 * program while it sleeps. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define CONFIG_BOARD "stand_in"
#define DT_CHOSEN(name) 0
#define DEVICE_DT_GET(node) (&stand_in_uart)

struct device {
    void (*on_interrupt)(const struct device *device, void *context);
};

static struct device stand_in_uart;

static inline int stand_in_waits(int milliseconds)
{
    struct pollfd line = {0, POLLIN, 0};
    return poll(&line, 1, milliseconds) > 0;
}

static inline int k_msleep(int milliseconds)
{
    if (stand_in_waits(milliseconds)) {
        stand_in_uart.on_interrupt(&stand_in_uart, NULL);
    }
    return 0;
}

static inline uint32_t k_cycle_get_32(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000000U + (uint32_t)(now.tv_nsec / 1000);
}

static inline int sys_clock_hw_cycles_per_sec(void)
{
    return 1000000;
}

#endif
