/* What the functions of the declared interface see and do. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

#define FLASH_BYTES (1U << 20)

extern struct chip {
    uint32_t window_pages; /* of 64 KB that can still be mapped */
    uint32_t mapped_bytes;
    uint32_t mappings;       /* that were not given back */
    uint32_t cipher;         /* flash is encrypted: what is written is changed by this on the way */
    int refuses;             /* to erase and to write */
    int has_no_psram;
    int is_subscribed; /* the task, to the task watchdog */
    uint32_t last_caps;
    uint32_t pauses, watchdog_resets;
    int64_t microseconds;
    int core;                /* that the caller runs on */
    uint32_t semaphores_left; /* that there is memory for */
    int refuses_tasks;
    uint32_t tasks; /* that were started, and of the last one: */
    int task_core;
    uint32_t task_stack, task_priority;
} chip;

/* Loads flash; the program ends when the file cannot be read. */
void chip_start(const char *flash_file, uint32_t partition_bytes);

/* The flash of the last start. */
uint8_t *chip_flash(void);

#endif
