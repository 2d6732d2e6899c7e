/* On an emulated board, sound comes over the serial line: 'b' begins a stream; 'a' and 160 samples, low bytes first,
 * are 10 ms of it. Each answer of the network goes back as a line, with "heard" behind it where the word was. */
#include <stdio.h>

#include <board.h>

#include "wake_word.h"

static void receive(uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        const size_t received = board_uart_read(data, bytes);
        data += received;
        bytes -= received;
        if (bytes > 0)
            board_wait_uart();
    }
}

int main(void)
{
    static wake_word word;
    tigris_status status = wake_word_begin(&word);
    printf("wake: %s\n", tigris_status_text(status));
    for (;;) {
        uint8_t command, data[2 * WAKE_WORD_SAMPLES];
        receive(&command, 1);
        if (command == 'b') {
            status = wake_word_begin(&word);
            printf("begin: %s\n", tigris_status_text(status));
        } else if (command == 'a') {
            int16_t samples[WAKE_WORD_SAMPLES];
            receive(data, sizeof data);
            for (int i = 0; i < WAKE_WORD_SAMPLES; i++)
                samples[i] = (int16_t)(data[2 * i] | data[2 * i + 1] << 8);
            if (status == TIGRIS_OK && wake_word_listen(&word, samples))
                printf(word.heard ? "%ld heard\n" : "%ld\n", (long)word.answer);
        }
    }
}
