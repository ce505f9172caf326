/* totals.cl - adds partial sums in a fixed order, in double, or as a sum and its rounding errors: of products (moments.cl,
   bytes.cl) and bands (pixels.cl), of which there are many elements; of sweeps, of which there are many partial sums. */

#include "device.cl"

#ifndef ELEM
#define ELEM real /* of the partial sums: real, wide or int */
#endif

/* Without doubles rest holds what rounding took away (Knuth's two-sum), and sum + rest is the sum. */
inline void add(wide *sum, wide *rest, wide x) {
#if HAS_DOUBLE
    *sum += x;
#else
    wide s = *sum + x, was = s - x;
    *rest += (*sum - was) + (x - (s - was));
    *sum = s;
#endif
}

/* One work-item an element: total[first + i] += its `count` partial sums, in order. Eight of them are read at a time. */
__kernel void accumulate(__global const ELEM *partial, ulong size, int count, ulong first, __global wide *total,
                         __global wide *lost) {
    const size_t i = get_global_id(0);
    ELEM x[8];
    int c, j;
    wide sum, rest;
    if (i >= size) return;
    partial += i;
    sum = total[first + i];
    rest = lost[first + i];
    for (c = 0; c + 8 <= count; c += 8) {
        _Pragma("unroll") for (j = 0; j < 8; j++) x[j] = partial[(size_t)(c + j) * size];
        _Pragma("unroll") for (j = 0; j < 8; j++) add(&sum, &rest, (wide)x[j]);
    }
    for (; c < count; c++) add(&sum, &rest, (wide)partial[(size_t)c * size]);
    total[first + i] = sum;
    lost[first + i] = rest;
}

#define ITEMS SHS__CL_ADD_ITEMS

/* One group an element: total[i] = the sum of its `count` partial sums, which are neighbours, and with `more` of itself. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void gather(__global const ELEM *partial, int count, int more, __global wide *total, __global wide *lost) {
    __local wide sums[ITEMS], rests[ITEMS];
    const int i = (int)get_local_id(0);
    const size_t element = get_group_id(0);
    int c, span;
    wide sum = 0, rest = 0;
    partial += element * (size_t)count;
    for (c = i; c < count; c += ITEMS) add(&sum, &rest, (wide)partial[c]);
    if (i == 0 && more) {
        add(&sum, &rest, total[element]);
        rest += lost[element];
    }
    for (span = ITEMS / 2; span > 0; span >>= 1) {
        sums[i] = sum;
        rests[i] = rest;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < span) {
            add(&sum, &rest, sums[i + span]);
            rest += rests[i + span];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i == 0) {
        total[element] = sum;
        lost[element] = rest;
    }
}
