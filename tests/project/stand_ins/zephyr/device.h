#include <zephyr/kernel.h>

#define device_is_ready(device) ((device) == &stand_in_uart)
