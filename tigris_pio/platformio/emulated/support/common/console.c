/* Blocking reads from the UART, and printf for both C libraries. */
#include <stdio.h>
#include <string.h>

#include "board.h"

static void put_text(const char *text)
{
    board_uart_write((const uint8_t *)text, strlen(text));
}

void board_uart_read_all(uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        const size_t received = board_uart_read(data, bytes);
        data += received;
        bytes -= received;
        if (bytes > 0)
            board_wait_uart();
    }
}

void board_panic(const char *text)
{
    put_text("\r\npanic: ");
    put_text(text);
    put_text("\r\n");
    for (;;)
        board_wait_uart();
}

void _exit(int status);

void _exit(int status)
{
    (void)status;
    board_panic("exit");
    for (;;) {
    }
}

#if defined(__PICOLIBC__) || defined(_PICOLIBC__)

static int put_character(char character, FILE *file)
{
    uint8_t byte = (uint8_t)character;
    (void)file;
    if (byte == '\n')
        board_uart_write((const uint8_t *)"\r", 1);
    board_uart_write(&byte, 1);
    return byte;
}

static int get_character(FILE *file)
{
    uint8_t byte;
    (void)file;
    while (board_uart_read(&byte, 1) == 0)
        board_wait_uart();
    return byte;
}

static FILE console = FDEV_SETUP_STREAM(put_character, get_character, NULL, _FDEV_SETUP_RW);
FILE *const stdin = &console;
FILE *const stdout = &console;
FILE *const stderr = &console;

#else

#include <errno.h>
#include <sys/stat.h>

int _write(int file, const char *text, int bytes);
int _read(int file, char *text, int bytes);
int _close(int file);
int _fstat(int file, struct stat *status);
int _isatty(int file);
int _lseek(int file, int offset, int whence);
int _getpid(void);
int _kill(int process, int signal);
void *_sbrk(int bytes);

int _write(int file, const char *text, int bytes)
{
    (void)file;
    for (int i = 0; i < bytes; i++) {
        if (text[i] == '\n')
            board_uart_write((const uint8_t *)"\r", 1);
        board_uart_write((const uint8_t *)&text[i], 1);
    }
    return bytes;
}

int _read(int file, char *text, int bytes)
{
    size_t taken;
    (void)file;
    while ((taken = board_uart_read((uint8_t *)text, (size_t)bytes)) == 0)
        board_wait_uart();
    return (int)taken;
}

int _close(int file)
{
    (void)file;
    return -1;
}

int _fstat(int file, struct stat *status)
{
    (void)file;
    status->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    (void)file;
    return 1;
}

int _lseek(int file, int offset, int whence)
{
    (void)file;
    (void)offset;
    (void)whence;
    return 0;
}

int _getpid(void)
{
    return 1;
}

int _kill(int process, int signal)
{
    (void)process;
    (void)signal;
    errno = EINVAL;
    return -1;
}

/* The heap lies between the end of the zeroed data and the space that the linker keeps for the stack. */
void *_sbrk(int bytes)
{
    extern char __heap_start[], __heap_end[];
    static char *top = __heap_start;
    char *previous = top;
    if (bytes > __heap_end - top) {
        errno = ENOMEM;
        return (void *)-1;
    }
    top += bytes;
    return previous;
}

#endif
