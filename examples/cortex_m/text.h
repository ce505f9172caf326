/* text.h - numbers as text, without stdio. */
#ifndef TEXT_H
#define TEXT_H

#include "board.h"

static void write_integer(const char *before, int32_t value) {
    char text[12], *p = text + sizeof text - 1;
    uint32_t rest = (uint32_t)value;
    if (value < 0) rest = 0u - rest;
    *p = 0;
    do *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) *--p = '-';
    board_write(before);
    board_write(p);
}

/* Sizes and counts are far below 2^31. */
static void write_count(const char *before, size_t count) { write_integer(before, (int32_t)count); }

static int32_t nearest(float x) {
    if (x < 0) return (int32_t)(x - 0.5f);
    return (int32_t)(x + 0.5f);
}

/* Between the items of a list: what comes before item k. */
static const char *before_item(int k) {
    if (k == 0) return ": ";
    return ", ";
}

#endif
