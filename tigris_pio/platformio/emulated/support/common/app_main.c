/* ESP-IDF's entry: a program without main starts at app_main, which may return. */
#include "board.h"

void app_main(void);
int main(void);

/* The linker uses it only if the program has no main. */
__attribute__((weak)) int main(void)
{
    app_main();
    for (;;)
        board_wait_uart();
}
