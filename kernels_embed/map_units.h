/* map_units.h - the product of map.cl by double matrix units.

   A warp keeps 32 pixels x OUTPUTS sums; add_products of units.h says which of the sums an item has. The group's pixels go through
   local memory as doubles, KB bands at a time. */

#include "units.h"

#define BLOCKS (OUTPUTS / 8)
#define HELD (ALL / ITEMS * 4) /* pixels, and outputs of them, that an item has sums of */
#define OWN (OUTPUTS / 4)
#define SUMS(name) ELEM name[HELD * OWN]
#define OUTPUT(o) ((o) / 2 * 8 + (int)get_local_id(0) % 4 * 2 + (o) % 2)
#if SQUARES /* an item ends with other pixels than it had sums of: see whole_lengths */
#define FINAL PIXELS
#define PIXEL(j) ((size_t)((j)*ITEMS) + get_local_id(0))
#define ACROSS 1
#else
#define FINAL HELD
#define PIXEL(j) (get_local_id(0) / 32 * 32 + (size_t)(8 * (j)) + get_local_id(0) % 32 / 4)
#define ACROSS 4 /* neighbours that have different outputs */
#endif

/* Values of four bands that half a warp reads at a time lie in different banks. */
#define KB 8
#define ROW_PIXELS (ALL + 4)
#define ROW_OUTPUTS (OUTPUTS + 4)
#define TILE_PIXELS (KB * ROW_PIXELS)
#define TILE_OUTPUTS (KB * ROW_OUTPUTS)
#define EACH_PIXELS (KB * ALL / ITEMS)
#define EACH_OUTPUTS ((KB * OUTPUTS + ITEMS - 1) / ITEMS)
#define LOCAL                                                                                                                  \
    __local ELEM deep[2 * TILE_OUTPUTS];                                                                                       \
    __local WORK centre[1];                                                                                                    \
    __local ulong rows[1];                                                                                                     \
    __local ELEM tile[2 * TILE_PIXELS]
#define LOCAL_ARGUMENTS __local ELEM *deep, __local WORK *centre, __local ulong *rows, __local ELEM *tile

/* Neighbours fetch neighbours: the bands of a pixel, or the pixels of a band. */
#if FROM == 2
#define BAND_OF(e) (i % KB)
#define PIXEL_OF(e) (i / KB + (e) * (ITEMS / KB))
#else
#define BAND_OF(e) (e)
#define PIXEL_OF(e) i
#endif

/* y[(j * BLOCKS + o) * 2 + e]: output 8 o + 2 (lane % 4) + e of the block, of pixel 8 j + lane / 4 of the warp. */
inline void project(SOURCE, int used, __global const ELEM *matrix, int padded, int first, LOCAL_ARGUMENTS, ELEM *y) {
    const int i = (int)get_local_id(0), lane = i % 32, row_in = lane / 4, column_in = lane % 4, top = i / 32 * 32;
    const size_t group = get_group_id(0) * (size_t)ALL;
    ELEM next_m[EACH_OUTPUTS], sum[HELD][BLOCKS][2];
    VALUE next_x[EACH_PIXELS];
    WORK next_c[EACH_PIXELS];
    int b0, e, j, o, q, turn = 0;
#pragma unroll
    for (j = 0; j < HELD; j++)
#pragma unroll
        for (o = 0; o < BLOCKS; o++) sum[j][o][0] = sum[j][o][1] = 0;
#define FETCH_BANDS(from)                                                                                                      \
    _Pragma("unroll") for (e = 0; e < EACH_PIXELS; e++) {                                                                      \
        const int b = min((from) + BAND_OF(e), used - 1);                                                                      \
        next_x[e] = FROM_HERE[ROW(b) + PLACE(group + (size_t)PIXEL_OF(e))];                                                    \
        next_c[e] = CENTRE(b);                                                                                                 \
    }                                                                                                                          \
    _Pragma("unroll") for (e = 0; e < EACH_OUTPUTS; e++) {                                                                     \
        const int at = e * ITEMS + i, b = (from) + at / OUTPUTS;                                                               \
        next_m[e] =                                                                                                            \
            at < KB * OUTPUTS && b < used ? matrix[(size_t)b * (size_t)padded + (size_t)(first + at % OUTPUTS)] : (ELEM)0;     \
    }
    FETCH_BANDS(0)
    for (b0 = 0; b0 < used; b0 += KB) {
        __local ELEM *x_now = tile + turn * TILE_PIXELS;
        __local ELEM *m_now = deep + turn * TILE_OUTPUTS;
        turn ^= 1;
#pragma unroll
        for (e = 0; e < EACH_PIXELS; e++) x_now[BAND_OF(e) * ROW_PIXELS + PIXEL_OF(e)] = LESS_CENTRE(next_x[e], next_c[e]);
#pragma unroll
        for (e = 0; e < EACH_OUTPUTS; e++) {
            const int at = e * ITEMS + i;
            if (at < KB * OUTPUTS) m_now[at / OUTPUTS * ROW_OUTPUTS + at % OUTPUTS] = next_m[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* one is enough: two pairs of tiles take turns */
        if (b0 + KB < used) {
            FETCH_BANDS(b0 + KB)
        }
#if MMA
#pragma unroll
        for (q = 0; q < KB; q += 4) {
            ELEM x[HELD], m[BLOCKS];
#pragma unroll
            for (j = 0; j < HELD; j++) x[j] = x_now[(q + column_in) * ROW_PIXELS + top + 8 * j + row_in];
#pragma unroll
            for (o = 0; o < BLOCKS; o++) m[o] = m_now[(q + column_in) * ROW_OUTPUTS + 8 * o + row_in];
#pragma unroll
            for (j = 0; j < HELD; j += 2)
#pragma unroll
                for (o = 0; o < BLOCKS; o++) add_products(sum[j][o], sum[j + 1][o], x[j], x[j + 1], m[o]);
        }
#else
        for (q = 0; q < KB; q++)
            for (j = 0; j < HELD; j++)
                for (o = 0; o < BLOCKS; o++) {
                    const ELEM x = x_now[q * ROW_PIXELS + top + 8 * j + row_in];
                    __local const ELEM *m = m_now + q * ROW_OUTPUTS + 8 * o + 2 * column_in;
                    sum[j][o][0] += x * m[0];
                    sum[j][o][1] += x * m[1];
                }
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* the next block of outputs begins with the first pair again */
#pragma unroll
    for (j = 0; j < HELD; j++)
#pragma unroll
        for (o = 0; o < BLOCKS; o++) {
            y[(j * BLOCKS + o) * 2] = sum[j][o][0];
            y[(j * BLOCKS + o) * 2 + 1] = sum[j][o][1];
        }
}

#if SQUARES
/* The squared length of this item's pixel: neighbours had parts of it, which are added up for a pixel an item. */
inline void whole_lengths(const wide *length, __local ELEM *tile, wide *value) {
    const int i = (int)get_local_id(0);
    int j;
#pragma unroll
    for (j = 0; j < HELD; j++) tile[i % 4 * ROW_PIXELS + i / 32 * 32 + 8 * j + i % 32 / 4] = length[j];
    barrier(CLK_LOCAL_MEM_FENCE);
    value[0] = 0;
    for (j = 0; j < 4; j++) value[0] += tile[j * ROW_PIXELS + i];
}
#endif
