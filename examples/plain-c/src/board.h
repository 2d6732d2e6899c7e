/* The little that the program needs of its board. */
#ifndef BOARD_H
#define BOARD_H

void board_print(const char *text);

/* Provided by the program. */
int main(void);

#endif
