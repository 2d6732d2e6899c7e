/* On an emulated board. */
#include <stdio.h>

#include <board.h>

#include "models.h"

static size_t line_read(void *context, uint8_t *data, size_t bytes)
{
    (void)context;
    return board_uart_read(data, bytes);
}

static void line_write(void *context, const uint8_t *data, size_t bytes)
{
    (void)context;
    board_uart_write(data, bytes);
}

static uint32_t instructions(void *context)
{
    (void)context;
    return board_instructions();
}

int main(void)
{
    static const tigris_serve_transport line = {.read = line_read, .write = line_write};
    static const tigris_serve_board board = {.name = BOARD_NAME, .counter = instructions, .counter_unit = "instructions"};

    models_start(&line, &board);
    for (unsigned i = 0; i < 2; i++)
        printf("%s: %s\n", models_name(i), tigris_status_text(models_status(i)));
    for (;;)
        if (!models_poll())
            board_wait_uart();
}
