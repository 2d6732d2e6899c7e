/* On an emulated board, samples come over the serial line: 'b' begins a stream; 'a' and 32 samples of three axes, low
 * bytes first, are 40 ms of it. Each row goes back as a line with its score, and "alarm" behind it. */
#include <stdio.h>

#include <board.h>

#include "vibration.h"

#define SAMPLES 32

int main(void)
{
    static vibration pump;
    tigris_status status = vibration_begin(&pump);
    printf("vibration: %s\n", tigris_status_text(status));
    for (;;) {
        uint8_t command, data[SAMPLES][2 * SPECTRUM_AXES];
        board_uart_read_all(&command, 1);
        if (command == 'b') {
            status = vibration_begin(&pump);
            printf("begin: %s\n", tigris_status_text(status));
        } else if (command == 'a') {
            board_uart_read_all(data[0], sizeof data);
            for (int i = 0; status == TIGRIS_OK && i < SAMPLES; i++) {
                int16_t sample[SPECTRUM_AXES];
                for (int axis = 0; axis < SPECTRUM_AXES; axis++)
                    sample[axis] = (int16_t)(data[i][2 * axis] | data[i][2 * axis + 1] << 8);
                if (vibration_feel(&pump, sample))
                    printf(pump.alarm ? "%ld alarm\n" : "%ld\n", (long)pump.score);
            }
        }
    }
}
