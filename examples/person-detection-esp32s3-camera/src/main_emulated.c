/* On an emulated board, lines come over the serial line: 'b' begins a stream; 'a' and 160 pixels of RGB565, high bytes
 * first, are a line of a picture of 120. Each picture is answered by a line. */
#include <stdio.h>

#include <board.h>

#include "person.h"

#define WIDTH 160
#define HEIGHT 120

static bool begun; /* a stream, in the middle of another */

static const uint8_t *next_line(void *context, size_t *bytes)
{
    static uint8_t line[2 * WIDTH];
    uint8_t command;
    (void)context;
    do {
        board_uart_read_all(&command, 1);
    } while (command != 'a' && command != 'b');
    begun = command == 'b';
    if (begun)
        return NULL;
    board_uart_read_all(line, sizeof line);
    *bytes = sizeof line;
    return line;
}

int main(void)
{
    static person watcher;
    size_t bytes;
    tigris_status status = person_begin(&watcher, TIGRIS_PIXELS_RGB565_BE, WIDTH, HEIGHT);
    printf("person: %s\n", tigris_status_text(status));
    for (;;) {
        if (status != TIGRIS_OK)
            next_line(NULL, &bytes); /* nothing to be done but to begin anew */
        else if (person_look(&watcher, next_line, NULL) == TIGRIS_OK)
            printf(watcher.seen ? "%ld person\n" : "%ld\n", (long)watcher.score);
        if (begun) {
            begun = false;
            status = person_begin(&watcher, TIGRIS_PIXELS_RGB565_BE, WIDTH, HEIGHT);
            printf("begin: %s\n", tigris_status_text(status));
        }
    }
}
