/* map.cl - affine maps of pixels: components, whitened pixels, sources, their extremes, the sink's values.

   A work-item takes PIXELS pixels and OUTPUTS outputs: a value, once read, is used OUTPUTS times from a register, and an element of
   the matrix PIXELS times. The matrix goes through local memory, DEEP bands at a time, where all items read the same element:

                 outputs ->             With one pixel an item local memory is the limit: its 128 bytes a cycle are 16 doubles,
              b  +--------+             and a multiprocessor of an H200 multiplies 64. With four the two are in balance.
      pixels  a  | matrix |
     +------+ n  +--------+             Group (c, g): pixels ALL c .., of which item i has i, i + ITEMS, ..: neighbours read
     | item | d  | y of   |             neighbours; outputs OUTPUTS g .. (with SQUARES all of them, block after block).
     +------+ s  | item   |

   With UNITS, double matrix units multiply many outputs of slices. A warp keeps 32 pixels x OUTPUTS sums; add_products of units.h
   says which of the sums an item has. The group's pixels go through local memory as doubles, KB bands at a time. PIXEL(j) and
   OUTPUT(o) are the pixel and the output of an item's value j, o.

   The textbook twins are shs_pca_naive and shs_ica_naive, where they multiply by their matrices. */

#include "device.cl"

#ifndef ELEM
#define ELEM real /* of panel and matrix */
#endif
#ifndef OUTPUTS
#define OUTPUTS 12 /* a multiple of 4 */
#endif
#ifndef PIXELS
#define PIXELS 4 /* 1, 2 or 4 */
#endif
#ifndef DIRECT
#define DIRECT 1 /* 1: from the slice; 0: from a panel */
#endif
#ifndef MODE
#define MODE SHS__CL_MAP_STORE /* or whiten, or extremes */
#endif
#ifndef SQUARES
#define SQUARES 0 /* 1: the squared length of the outputs is the one that counts */
#endif

/* SHS__CL_MAP_STORE */
#ifndef SINK
#define SINK float /* the sink's type */
#endif
#ifndef INTEGER
#define INTEGER 0 /* 1: an integer, from LEAST to MOST */
#endif
#ifndef LAYOUT
#define LAYOUT 0 /* of the sink, as a shs_interleave: 0 BSQ, 1 BIL, 2 BIP */
#endif
#ifndef RESCALE
#define RESCALE 0 /* 1: from low .. high to new_low .. new_high */
#endif

#ifndef ITEMS
#define ITEMS SHS__CL_MAP_ITEMS
#endif
#ifndef UNITS
#define UNITS 0 /* 1: by matrix units (ELEM double, DIRECT, PIXELS 1, OUTPUTS a multiple of 8) */
#endif
#ifndef IN_LOCAL
#define IN_LOCAL 1 /* 0: every value from global memory, to see what local memory is worth */
#endif
#define ALL (ITEMS * PIXELS)
#if UNITS
#define BLOCKS (OUTPUTS / 8)
#define HELD (ALL / ITEMS * 4) /* pixels, and outputs of them, that an item has sums of */
#define OWN (OUTPUTS / 4)
#else
#define BLOCKS (OUTPUTS / 4)
#define HELD PIXELS
#define OWN OUTPUTS
#endif
#define UNROLLED (PIXELS == 4 ? 4 : 8) /* bands whose loads are on their way together, */
#define FETCHED 8                      /* and words of BIP */
typedef VECTOR(ELEM, 4) VEC4;

/* Value (p, b) stands place(p) + row(b) values from `from` on. */
#if DIRECT
#include "cube.h"

/* From the slice itself, in the cube's own type: a fifth of the panel's traffic for 8-bit pixels, a seventeenth where the panel
   would be of doubles. Values of missing pixels are whatever they are: the caller knows which to drop. */
#define SOURCE                                                                                                        \
    __global const VALUE *raw, ulong origin, __global const int *list, __global const real *shift, ulong slice_at,    \
        int slice_count, ulong plane, int slice_samples, int bands
#define PASS raw, origin, list, shift, slice_at, slice_count, plane, slice_samples, bands
#define FROM_HERE (raw + origin)
#define PLACE(p) at_pixel(slice_at + min(p, (size_t)slice_count - 1), slice_samples, bands) /* behind the last: the last */
#define ROW(b) at_band(list[b], plane, slice_samples)
#define CENTRE(b) (WORK)shift[b]
#define LESS_CENTRE(v, c) (ELEM)((WORK)value_of(v) - (c))
#else
#define VALUE ELEM
#define WORK ELEM
#define SOURCE __global const ELEM *panel, int ld
#define PASS panel, ld
#define FROM_HERE panel
#define PLACE(p) (p)
#define ROW(b) (size_t)(b) * (size_t)ld
#define CENTRE(b) 0 /* it has been subtracted */
#define LESS_CENTRE(v, c) (v)
#endif

/* BIP is read along the bands and used along the pixels: DEEP bands of the group's pixels go through local memory, where a pixel's
   stand in words of TOGETHER bands, an odd number of words from the next pixel's, so that neighbours find different banks. */
#if DIRECT && FROM == 2 && IN_LOCAL && !UNITS
#define TRANSPOSED 1
#define DEEP SHS__CL_MAP_DEEP
#define TOGETHER SHS__CL_MAP_TOGETHER(BYTES)
#define PITCH SHS__CL_MAP_PITCH(BYTES)
#define PLACES (ALL * PITCH)
#else
#define TRANSPOSED 0
#define DEEP 32
#define TOGETHER 1
#define PITCH 1
#define PLACES 1
#endif
#if TOGETHER == 4
typedef VECTOR(VALUE, 4) WORD;
#elif TOGETHER == 2
typedef VECTOR(VALUE, 2) WORD;
#else
typedef VALUE WORD;
#endif

#if UNITS
#include "units.h"

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

/* Neighbours fetch neighbours: the bands of a pixel, or the pixels of a band. */
#if FROM == 2
#define BAND_OF(e) (i % KB)
#define PIXEL_OF(e) (i / KB + (e) * (ITEMS / KB))
#else
#define BAND_OF(e) (e)
#define PIXEL_OF(e) i
#endif

/* y[(j * BLOCKS + o) * 2 + e]: output 8 o + 2 (lane % 4) + e of the block, of pixel 8 j + lane / 4 of the warp. */
inline void project(SOURCE, int used, __global const ELEM *matrix, int padded, int first, __local ELEM *deep,
                    __local WORK *centre, __local ulong *rows, __local ELEM *tile, ELEM *y) {
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
    for (b0 = 0; b0 < used; b0 += KB, turn ^= 1) {
        __local ELEM *x_now = tile + turn * TILE_PIXELS;
        __local ELEM *m_now = deep + turn * TILE_OUTPUTS;
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
        for (o = 0; o < BLOCKS; o++) y[(j * BLOCKS + o) * 2] = sum[j][o][0], y[(j * BLOCKS + o) * 2 + 1] = sum[j][o][1];
}
#else
#define LOCAL                                                                                                         \
    __local VEC4 deep[DEEP * BLOCKS];                                                                                 \
    __local WORK centre[DEEP];                                                                                        \
    __local ulong rows[DEEP];                                                                                         \
    __local WORD tile[PLACES]

/* y[j * BLOCKS + o] = matrix (x - centre) of this item's pixel j for the block's outputs 4 o .. 4 o + 3; matrix: bands x `padded`
   outputs. All items of a group must come here. Behind the last band stands the last again, which is multiplied by 0. */
inline void project(SOURCE, int used, __global const ELEM *matrix, int padded, int first, __local VEC4 *deep, __local WORK *centre,
                    __local ulong *rows, __local WORD *tile, VEC4 *y) {
    const int i = (int)get_local_id(0);
    const size_t group = get_group_id(0) * (size_t)ALL;
    size_t place[PIXELS];
    int b0, b, o, e, j, k;
    for (j = 0; j < PIXELS; j++) place[j] = TRANSPOSED ? (size_t)((j * ITEMS + i) * PITCH) : PLACE(group + (size_t)(j * ITEMS + i));
    for (o = 0; o < PIXELS * BLOCKS; o++) y[o] = (VEC4)(0);
#if !IN_LOCAL
    for (b = 0; b < used; b++)
        for (j = 0; j < PIXELS; j++) {
            const ELEM x = LESS_CENTRE(FROM_HERE[ROW(b) + place[j]], CENTRE(b));
            __global const VEC4 *m = (__global const VEC4 *)(matrix + (size_t)b * (size_t)padded + (size_t)first);
            for (o = 0; o < BLOCKS; o++) y[j * BLOCKS + o] += m[o] * x;
        }
    return;
#endif
    for (b0 = 0; b0 < used; b0 += DEEP) {
        const int depth = min(DEEP, used - b0), rounded = (depth + TOGETHER - 1) / TOGETHER * TOGETHER;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (e = i; e < rounded * OUTPUTS; e += ITEMS)
            ((__local ELEM *)deep)[e] =
                e < depth * OUTPUTS ? matrix[(size_t)(b0 + e / OUTPUTS) * (size_t)padded + (size_t)(first + e % OUTPUTS)] : (ELEM)0;
        if (i < rounded) {
            centre[i] = CENTRE(b0 + min(i, depth - 1));
            rows[i] = ROW(b0 + min(i, depth - 1));
        }
#if TRANSPOSED
        {
            const int word = i % (DEEP / TOGETHER); /* of a pixel, the same for all pixels of this item */
            size_t row[TOGETHER];
            for (k = 0; k < TOGETHER; k++) row[k] = ROW(b0 + min(word * TOGETHER + k, depth - 1));
#if !IS_CPU
#pragma unroll FETCHED
#endif
            for (e = i / (DEEP / TOGETHER); e < ALL; e += ITEMS / (DEEP / TOGETHER)) {
                __global const VALUE *from = FROM_HERE + PLACE(group + (size_t)e);
                WORD w;
#pragma unroll
                for (k = 0; k < TOGETHER; k++) ((VALUE *)&w)[k] = from[row[k]];
                tile[e * PITCH + word] = w;
            }
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#if !IS_CPU /* which says at length that it could not */
#pragma unroll (UNROLLED / TOGETHER)
#endif
        for (b = 0; b < rounded; b += TOGETHER) {
            WORD word[PIXELS];
#pragma unroll
            for (j = 0; j < PIXELS; j++) {
#if TRANSPOSED
                word[j] = tile[place[j] + (size_t)(b / TOGETHER)];
#else
                word[j] = FROM_HERE[rows[b] + place[j]];
#endif
            }
#pragma unroll
            for (k = 0; k < TOGETHER; k++) {
                ELEM x[PIXELS];
#pragma unroll
                for (j = 0; j < PIXELS; j++) x[j] = LESS_CENTRE(((const VALUE *)(word + j))[k], centre[b + k]);
#pragma unroll
                for (o = 0; o < BLOCKS; o++) {
                    const VEC4 m = deep[(b + k) * BLOCKS + o];
#pragma unroll
                    for (j = 0; j < PIXELS; j++) y[j * BLOCKS + o] += m * x[j];
                }
            }
        }
    }
}
#endif

/* The values that project leaves in an item: OWN outputs OUTPUT(o) of the block, for FINAL pixels PIXEL(j) of the group. With UNITS
   and SQUARES the item ends with other pixels than it had sums of. */
#if UNITS
#define SUMS(name) ELEM name[HELD * OWN]
#define LOCAL_ARGUMENTS __local ELEM *deep, __local WORK *centre, __local ulong *rows, __local ELEM *tile
#define OUTPUT(o) ((o) / 2 * 8 + (int)get_local_id(0) % 4 * 2 + (o) % 2)
#else
#define SUMS(name) VEC4 name[PIXELS * BLOCKS]
#define LOCAL_ARGUMENTS __local VEC4 *deep, __local WORK *centre, __local ulong *rows, __local WORD *tile
#define OUTPUT(o) (o)
#endif
#if UNITS && !SQUARES
#define FINAL HELD
#define PIXEL(j) (get_local_id(0) / 32 * 32 + (size_t)(8 * (j)) + get_local_id(0) % 32 / 4)
#define ACROSS 4 /* neighbours that have different outputs */
#else
#define FINAL PIXELS
#define PIXEL(j) ((size_t)((j)*ITEMS) + get_local_id(0))
#define ACROSS 1
#endif

#if MODE == SHS__CL_MAP_WHITEN
/* Z[o * ldz + from + p] = whitened pixel, or -0 where the pixel is missing or behind the last. sweep.cl knows a missing pixel by
   this sign: zeros of the other pixels are +0, because their sums begin with +0. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void whiten(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
            int padded, __global const uchar *valid, ulong at, int count, __global real *Z, ulong from, ulong ldz) {
    LOCAL;
    SUMS(block);
    const ELEM *y = (const ELEM *)block;
    const int first = (int)get_group_id(1) * OUTPUTS;
    int o, j;
    project(PASS, used, matrix, padded, first, deep, centre, rows, tile, block);
#pragma unroll
    for (j = 0; j < FINAL; j++) {
        const size_t p = get_group_id(0) * (size_t)ALL + PIXEL(j);
        const int here = (int)p < count && (!valid || valid[at + p]);
#pragma unroll
        for (o = 0; o < OWN; o++) {
            const int to = first + OUTPUT(o);
            if (to < outputs) Z[(ulong)to * ldz + from + p] = here ? (real)y[j * OWN + o] + (real)added[to] : -(real)0;
        }
    }
}
#else

/* An item's values: VALUES of each of FINAL pixels, PIXEL(j) of the group; value o is output first + RESULT(o). */
#if SQUARES
#define VALUES 1
#define RESULT(o) 0
#else
#define VALUES OWN
#define RESULT(o) OUTPUT(o)
#endif

/* value[j * VALUES + o], or the squared length of pixel j's outputs, in wide. Of a length neighbours have parts where units
   made them: those are added up for a pixel an item. */
inline void values(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs, int padded,
                   int first, LOCAL_ARGUMENTS, wide *value) {
    SUMS(block);
    const ELEM *y = (const ELEM *)block;
    wide length[HELD];
    int o, j;
    for (j = 0; j < HELD; j++) length[j] = 0;
#if SQUARES
    for (first = 0; first < outputs; first += OUTPUTS)
#endif
    {
        project(PASS, used, matrix, padded, first, deep, centre, rows, tile, block);
#pragma unroll
        for (o = 0; o < OWN; o++) {
            const wide offset =
                first + OUTPUT(o) < outputs ? added[first + OUTPUT(o)] : (wide)0; /* where the matrix is 0 too */
#pragma unroll
            for (j = 0; j < HELD; j++) {
                wide v = offset + (wide)y[j * OWN + o];
#if SQUARES
                length[j] += v * v;
#else
                value[j * VALUES + o] = v;
#endif
            }
        }
    }
#if SQUARES && UNITS
    o = (int)get_local_id(0);
#pragma unroll
    for (j = 0; j < HELD; j++) tile[o % 4 * ROW_PIXELS + o / 32 * 32 + 8 * j + o % 32 / 4] = length[j];
    barrier(CLK_LOCAL_MEM_FENCE);
    value[0] = 0;
    for (j = 0; j < 4; j++) value[0] += tile[j * ROW_PIXELS + o];
#elif SQUARES
    for (j = 0; j < HELD; j++) value[j] = length[j];
#endif
}

#if MODE == SHS__CL_MAP_EXTREMES
/* The extremes of the group's pixels: low[c * written + o], high likewise. `end` is what no value reaches. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void extremes(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
              int padded, __global const uchar *valid, ulong at, int count, int written, wide end, __global wide *low,
              __global wide *high) {
    LOCAL;
    __local wide least[ITEMS], most[ITEMS];
    wide value[FINAL * VALUES];
    const int i = (int)get_local_id(0), first = (int)get_group_id(1) * OUTPUTS;
    int o, j, span;
    values(PASS, used, matrix, added, outputs, padded, first, deep, centre, rows, tile, value);
#if !IS_CPU
#pragma unroll
#endif
    for (o = 0; o < VALUES && first + o < written; o++) {
        wide a = end, b = -end;
        for (j = 0; j < FINAL; j++) {
            const size_t p = get_group_id(0) * (size_t)ALL + PIXEL(j);
            const wide v = value[j * VALUES + o];
            if ((int)p >= count || (valid && !valid[at + p])) continue;
            a = v < a ? v : a;
            b = v > b ? v : b;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        least[i] = a;
        most[i] = b;
        for (span = ITEMS / 2; span >= ACROSS; span >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (i < span) {
                least[i] = least[i + span] < least[i] ? least[i + span] : least[i];
                most[i] = most[i + span] > most[i] ? most[i + span] : most[i];
            }
        }
        if (i < ACROSS && first + RESULT(o) < written) {
            low[get_group_id(0) * (size_t)written + (size_t)(first + RESULT(o))] = least[i];
            high[get_group_id(0) * (size_t)written + (size_t)(first + RESULT(o))] = most[i];
        }
    }
}

/* One work-item an output: joins the extremes of `count` groups with the extremes found so far. */
__kernel void widen(__global const wide *low, __global const wide *high, int count, int written, __global wide *least,
                    __global wide *most) {
    const int o = (int)get_global_id(0);
    int c;
    if (o >= written) return;
    for (c = 0; c < count; c++) {
        wide a = low[(size_t)c * (size_t)written + (size_t)o], b = high[(size_t)c * (size_t)written + (size_t)o];
        if (a < least[o]) least[o] = a;
        if (b > most[o]) most[o] = b;
    }
}
#endif

#if MODE == SHS__CL_MAP_STORE
/* To nearest, half away from zero, within the type. */
inline SINK to_sink(wide x) {
#if INTEGER
    x = x >= 0 ? x + (wide)0.5f : x - (wide)0.5f;
    if (x >= (wide)MOST) return (SINK)MOST;
    if (x > (wide)LEAST) return (SINK)x;
    return (SINK)LEAST;
#else
    return (SINK)x;
#endif
}

/* The outputs of the slice from value `origin_out` of out on; at: pixel 0 of the panel in it; pixels: from one BSQ output to the
   next. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void store(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
           int padded, __global const uchar *valid, ulong at, int count, int written, ulong pixels, int samples, wide missing,
           __global const wide *low, __global const wide *high, wide new_low, wide new_high, __global SINK *out,
           ulong origin_out) {
    LOCAL;
    wide value[FINAL * VALUES];
    const int first = (int)get_group_id(1) * OUTPUTS;
    int o, j;
    values(PASS, used, matrix, added, outputs, padded, first, deep, centre, rows, tile, value);
#pragma unroll
    for (j = 0; j < FINAL; j++) {
        const size_t p = get_group_id(0) * (size_t)ALL + PIXEL(j), q = p + at;
        const int here = (int)p < count && (!valid || valid[q]);
#pragma unroll
        for (o = 0; o < VALUES; o++) {
            const size_t b = (size_t)(first + RESULT(o));
            size_t to;
            wide x = value[j * VALUES + o];
            if ((int)p >= count || first + RESULT(o) >= written) continue;
#if RESCALE
            wide old = high[b] - low[b];
            x = old > 0 ? (new_high - new_low) * (x - low[b]) / old + new_low : new_low;
#endif
#if LAYOUT == 0
            to = b * pixels + q;
#elif LAYOUT == 1
            to = (q / (size_t)samples * (size_t)written + b) * (size_t)samples + q % (size_t)samples;
#else
            to = q * (size_t)written + b;
#endif
            out[origin_out + to] = to_sink(here ? x : missing);
        }
    }
}
#endif
#endif
