/* Firmware of an emulated board that updates its model over the UART. Says `opened STATUS CRC32` at its start; `u`, a size in
 * four bytes and a plan are an update, `c` a confirmation, answered by `updated STATUS` and `confirmed STATUS`. */
#include <stdio.h>
#include <string.h>

#include <board.h>
#include <tigris_models.h>
#include <tigris_update.h>

static tigris_plan plan;
static tigris_update update;

static void receive(void *to, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        const size_t count = board_uart_read((uint8_t *)to + got, bytes - got);
        got += count;
        if (count == 0)
            board_wait_uart();
    }
}

static tigris_status replace(void)
{
    static uint8_t piece[512];
    uint32_t left = 0;
    receive(&left, sizeof left);
    tigris_status status = tigris_update_begin(&update, &TIGRIS_MODEL_TINY);
    while (left > 0) {
        const size_t count = left < sizeof piece ? left : sizeof piece;
        receive(piece, count);
        if (status == TIGRIS_OK)
            status = tigris_update_write(&update, piece, count);
        left -= (uint32_t)count;
    }
    if (status == TIGRIS_OK)
        status = tigris_update_finish(&update);
    return status == TIGRIS_OK ? tigris_update_commit(&update) : status;
}

int main(void)
{
    const tigris_status status = tigris_model_open(&TIGRIS_MODEL_TINY, &plan);
    printf("opened %d %lu\n", (int)status, plan.header != NULL ? (unsigned long)plan.header->crc32 : 0UL);
    for (;;) {
        char command = 0;
        receive(&command, 1);
        if (command == 'u')
            printf("updated %d\n", (int)replace());
        else if (command == 'c')
            printf("confirmed %d\n", (int)tigris_update_confirm(&TIGRIS_MODEL_TINY, &plan));
        else if (command == 'w')
            *(volatile uint8_t *)(uintptr_t)board_flash() = 0;
    }
}
