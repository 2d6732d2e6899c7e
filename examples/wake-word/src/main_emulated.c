/* On an emulated board, sound comes over the serial line: 'b' begins a stream; 'a' and 160 samples, low bytes first,
 * are 10 ms of it. Each answer of the network goes back as a line, with "heard" behind it where the word was. */
#include <stdio.h>

#include <board.h>

#include "wake_word.h"

int main(void)
{
    static wake_word word;
    tigris_status status = wake_word_begin(&word);
    printf("wake: %s\n", tigris_status_text(status));
    for (;;) {
        uint8_t command, data[2 * WAKE_WORD_SAMPLES];
        board_uart_read_all(&command, 1);
        if (command == 'b') {
            status = wake_word_begin(&word);
            printf("begin: %s\n", tigris_status_text(status));
        } else if (command == 'a') {
            int16_t samples[WAKE_WORD_SAMPLES];
            board_uart_read_all(data, sizeof data);
            for (int i = 0; i < WAKE_WORD_SAMPLES; i++)
                samples[i] = (int16_t)(data[2 * i] | data[2 * i + 1] << 8);
            if (status == TIGRIS_OK && wake_word_listen(&word, samples))
                printf(word.heard ? "%ld heard\n" : "%ld\n", (long)word.answer);
        }
    }
}
