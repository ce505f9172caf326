/* totals.cl - adds partial sums in their order, in double, or as a sum and its rounding errors: of products (moments.cl, bytes.cl),
   bands (pixels.cl), slopes and rates (sweep.cl). */

#include "device.cl"

#ifndef ELEM
#define ELEM real /* of the partial sums: real, wide or int */
#endif

/* One work-item an element: total[first + i] += its `count` partial sums, in order, eight on their way at a time. Without
   doubles lost holds what rounding took away (Knuth's two-sum), and total + lost is the sum. */
inline void add(wide *sum, wide *rest, wide x) {
#if HAS_DOUBLE
    *sum += x;
#else
    wide s = *sum + x, was = s - x;
    *rest += (*sum - was) + (x - (s - was));
    *sum = s;
#endif
}

__kernel void accumulate(__global const ELEM *partial, ulong size, int count, ulong first, __global wide *total,
                         __global wide *lost) {
    const size_t i = get_global_id(0);
    ELEM x[8];
    int c, j;
    wide sum, rest;
    if (i >= size) return;
    partial += i;
    sum = total[first + i], rest = lost[first + i];
    for (c = 0; c + 8 <= count; c += 8) {
        _Pragma("unroll") for (j = 0; j < 8; j++) x[j] = partial[(size_t)(c + j) * size];
        _Pragma("unroll") for (j = 0; j < 8; j++) add(&sum, &rest, (wide)x[j]);
    }
    for (; c < count; c++) add(&sum, &rest, (wide)partial[(size_t)c * size]);
    total[first + i] = sum, lost[first + i] = rest;
}
