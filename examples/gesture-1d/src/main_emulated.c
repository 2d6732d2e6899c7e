/* On an emulated board, samples come over the serial line: 'b' begins a stream; 'a' and 5 samples of six axes, low bytes
 * first, are 100 ms of it. Each answer of the network goes back as a line. */
#include <stdio.h>

#include <board.h>

#include "gesture.h"

int main(void)
{
    static gesture hand;
    tigris_status status = gesture_begin(&hand);
    printf("gesture: %s\n", tigris_status_text(status));
    for (;;) {
        uint8_t command, data[GESTURE_HOP][2 * GESTURE_AXES];
        board_uart_read_all(&command, 1);
        if (command == 'b') {
            status = gesture_begin(&hand);
            printf("begin: %s\n", tigris_status_text(status));
        } else if (command == 'a') {
            board_uart_read_all(data[0], sizeof data);
            for (int i = 0; status == TIGRIS_OK && i < GESTURE_HOP; i++) {
                int16_t sample[GESTURE_AXES];
                for (int axis = 0; axis < GESTURE_AXES; axis++)
                    sample[axis] = (int16_t)(data[i][2 * axis] | data[i][2 * axis + 1] << 8);
                if (gesture_feel(&hand, sample))
                    printf("%s\n", gesture_name(hand.told));
            }
        }
    }
}
