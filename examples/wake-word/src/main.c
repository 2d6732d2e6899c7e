/* A streaming wake word on the board's UART: one step of features a run, the past of the stream kept by the session. */
#include <stdio.h>

#include <board.h>
#include <tigris_models.h>
#include <tigris_serve.h>

static TIGRIS_ALIGNED uint8_t fast[TIGRIS_MODEL_WAKE_FAST_BYTES];
static tigris_plan plan;
static tigris_session session;
static tigris_serve_counts profile[TIGRIS_MODEL_WAKE_OPS];
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

int main(void)
{
    static const tigris_serve_transport uart = {.read = uart_read, .write = uart_write};
    static const tigris_serve_board board = {.name = BOARD_NAME, .counter = instructions, .counter_unit = "instructions"};

    tigris_status status = tigris_model_open(&TIGRIS_MODEL_WAKE, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, fast, sizeof fast, NULL, 0, NULL);
    printf("%s: %s\n", TIGRIS_MODEL_WAKE.name, tigris_status_text(status));

    const tigris_serve_model model = {
        .plan = &plan,
        .session = &session,
        .status = status,
        .fast_bytes = sizeof fast,
        .profile = profile,
        .profile_count = TIGRIS_MODEL_WAKE_OPS,
    };
    tigris_serve_init(&server, &uart, &board, &model, 1);
    for (;;)
        if (!tigris_serve_poll(&server))
            board_wait_uart();
}
