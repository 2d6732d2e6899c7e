/* On an emulated board, lines come over the serial line: 'b' begins a stream; 'a' and 160 pixels of RGB565, high bytes
 * first, are a line of a picture of 120. Each picture is answered by a line. */
#include <stdio.h>

#include <board.h>

#include "person.h"

#define WIDTH 160
#define HEIGHT 120

int main(void)
{
    static person watcher;
    tigris_status status = person_begin(&watcher, TIGRIS_PIXELS_RGB565_BE, WIDTH, HEIGHT);
    printf("person: %s\n", tigris_status_text(status));
    for (;;) {
        uint8_t command, line[2 * WIDTH];
        board_uart_read_all(&command, 1);
        if (command == 'b') {
            status = person_begin(&watcher, TIGRIS_PIXELS_RGB565_BE, WIDTH, HEIGHT);
            printf("begin: %s\n", tigris_status_text(status));
        } else if (command == 'a') {
            board_uart_read_all(line, sizeof line);
            if (status == TIGRIS_OK && person_line(&watcher, line, sizeof line))
                printf(watcher.seen ? "%ld person\n" : "%ld\n", (long)watcher.score);
        }
    }
}
