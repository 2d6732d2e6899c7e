/* Reports an exception on the UART. */
#include <stdio.h>

#include "board.h"

void board_trap_report(uint32_t cause, uint32_t address, uint32_t value);

void board_trap_report(uint32_t cause, uint32_t address, uint32_t value)
{
    char text[80];
    snprintf(text, sizeof text, "exception %lu at 0x%08lx, value 0x%08lx", (unsigned long)cause, (unsigned long)address,
             (unsigned long)value);
    board_panic(text);
}
