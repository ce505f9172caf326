/* text.h - numbers as text, without stdio. */
#ifndef TEXT_H
#define TEXT_H

#include "board.h"

static void write_integer(const char *before, int32_t value) {
    char text[12], *p = text + sizeof text - 1;
    uint32_t rest = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    *p = 0;
    do *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) *--p = '-';
    board_write(before);
    board_write(p);
}

static int32_t nearest(float x) { return (int32_t)(x < 0 ? x - 0.5f : x + 0.5f); }

#endif
