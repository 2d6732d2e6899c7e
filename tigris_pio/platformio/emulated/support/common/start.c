/* Called by the core's start-up code once the stack and the C data are set up. */
#include "board.h"
#include "board_image.h"

int main(void);
void board_start(void);

typedef void (*initializer)(void);
extern const initializer __init_array_start[], __init_array_end[];

void board_start(void)
{
    board_uart_init();
    for (const initializer *next = __init_array_start; next < __init_array_end; next++)
        (*next)();
    (void)main();
    board_panic("main returned");
}
