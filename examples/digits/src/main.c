/* Serves inference of the digits network on the board's UART. */
#include <stdio.h>

#include <board.h>
#include <tigris_models.h>
#include <tigris_serve.h>

TIGRIS_MODEL_DIGITS_ARENAS(arenas);
static tigris_plan plan;
static tigris_session session;
static tigris_serve_counts profile[TIGRIS_MODEL_DIGITS_OPS];
static tigris_serve server;

static size_t uart_read(void *context, uint8_t *data, size_t bytes)
{
    (void)context;
    return board_uart_read(data, bytes);
}

static void uart_write(void *context, const uint8_t *data, size_t bytes)
{
    (void)context;
    board_uart_write(data, bytes);
}

static uint32_t instructions(void *context)
{
    (void)context;
    return board_instructions();
}

static tigris_status open_model(void)
{
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, &arenas, NULL);
    return status;
}

int main(void)
{
    static const tigris_serve_transport uart = {.read = uart_read, .write = uart_write};
    static const tigris_serve_board board = {.name = BOARD_NAME, .counter = instructions, .counter_unit = "instructions"};

    tigris_status status = open_model();
    char place[96];
    printf("%s: %s", TIGRIS_MODEL_DIGITS.name, tigris_status_text(status));
    if (status != TIGRIS_OK)
        printf(" (status %d) %s", (int)status,
               tigris_fault_text(tigris_fault_of(&plan, &session), &plan, place, sizeof place));
    printf("\n");

    const tigris_serve_model model = {
        .plan = &plan,
        .session = &session,
        .status = status,
        .arenas = &arenas,
        .profile = profile,
        .profile_count = TIGRIS_MODEL_DIGITS_OPS,
    };
    tigris_serve_init(&server, &uart, &board, &model, 1);
    for (;;)
        if (!tigris_serve_poll(&server))
            board_wait_uart();
}
