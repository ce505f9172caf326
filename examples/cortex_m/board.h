/* board.h - what sensor.c and stream.c ask of the machine they run on. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void board_write(const char *text);
/* Instructions since the start; 0 where nothing counts them. */
uint32_t board_instructions(void);
/* The most bytes of stack that were ever in use; 0 where nobody knows. */
uint32_t board_stack(void);

#endif
