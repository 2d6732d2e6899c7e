/* The state of the simulated chip. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

#define FLASH_BYTES (1U << 20)

extern struct chip {
    uint32_t window_pages; /* MMU pages of 64 KB that are still free */
    uint32_t mapped_bytes;
    uint32_t mappings; /* that were not released */
    uint32_t cipher;   /* encryption of flash: every byte is XORed with this */
    int refuses;       /* erasing and programming fail */
    int has_no_psram;
    int is_subscribed; /* the task is subscribed to the task watchdog */
    uint32_t last_caps;
    uint32_t pauses, watchdog_resets;
    int64_t microseconds;
    int core;                 /* the caller's */
    uint32_t semaphores_left; /* for which there is memory */
    int refuses_tasks;
    uint32_t tasks; /* number of started tasks; the next three describe the last one */
    int task_core;
    uint32_t task_stack, task_priority;
} chip;

/* Loads flash; ends the program if the file cannot be read. */
void chip_start(const char *flash_file, uint32_t partition_bytes);

/* The flash of the last start. */
uint8_t *chip_flash(void);

#endif
