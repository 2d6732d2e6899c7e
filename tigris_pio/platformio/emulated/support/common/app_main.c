/* The entry that ESP-IDF has: a program without main begins at app_main, which may return. */
#include "board.h"

void app_main(void);
int main(void);

/* The linker takes it only when the program has none. */
__attribute__((weak)) int main(void)
{
    app_main();
    for (;;)
        board_wait_uart();
}
