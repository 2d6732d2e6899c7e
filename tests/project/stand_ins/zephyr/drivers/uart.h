#include <zephyr/kernel.h>

static inline int uart_irq_callback_user_data_set(const struct device *device,
                                                  void (*callback)(const struct device *, void *), void *context)
{
    (void)device;
    (void)context;
    stand_in_uart.on_interrupt = callback;
    return 0;
}

static inline void uart_irq_rx_enable(const struct device *device)
{
    (void)device;
}

static inline int uart_irq_update(const struct device *device)
{
    (void)device;
    return 1;
}

static inline int uart_irq_rx_ready(const struct device *device)
{
    (void)device;
    return stand_in_waits(0);
}

static inline int uart_fifo_read(const struct device *device, uint8_t *data, int bytes)
{
    (void)device;
    return (int)read(0, data, (size_t)bytes);
}

static inline void uart_poll_out(const struct device *device, unsigned char byte)
{
    (void)device;
    while (write(1, &byte, 1) != 1) {
    }
}
