/* map.cl - affine maps of pixels: components, whitened pixels, sources, their extremes, the sink's values.

   A work-item takes PIXELS pixels and OUTPUTS outputs: a value, once read, is used OUTPUTS times from a register, and an element of
   the matrix PIXELS times. The matrix goes through local memory, DEEP bands at a time, where all items read the same element:

                 outputs ->             With one pixel an item local memory is the limit: its 128 bytes a cycle are 16 doubles,
              b  +--------+             and a multiprocessor of an H200 multiplies 64. With four the two are in balance.
      pixels  a  | matrix |
     +------+ n  +--------+             Group (c, g): pixels ALL c .., of which item i has i, i + ITEMS, ..: neighbours read
     | item | d  | y of   |             neighbours; outputs OUTPUTS g .. (with SQUARES all of them, block after block).
     +------+ s  | item   |

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
#ifndef IN_LOCAL
#define IN_LOCAL 1 /* 0: every value from global memory, to see what local memory is worth */
#endif
#define ALL (ITEMS * PIXELS)
#define BLOCKS (OUTPUTS / 4)
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
#if DIRECT && FROM == 2 && IN_LOCAL
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
        if (i < rounded) centre[i] = CENTRE(b0 + min(i, depth - 1)), rows[i] = ROW(b0 + min(i, depth - 1));
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

#if MODE == SHS__CL_MAP_WHITEN
/* Z[o * ldz + from + p] = whitened pixel, -0 where missing and behind the last: by its sign sweep.cl tells it from a pixel that
   is there, whose zeros are +0, being sums that begin with +0. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void whiten(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
            int padded, __global const uchar *valid, ulong at, int count, __global real *Z, ulong from, ulong ldz) {
    LOCAL;
    VEC4 block[PIXELS * BLOCKS];
    const ELEM *y = (const ELEM *)block;
    const int first = (int)get_group_id(1) * OUTPUTS;
    int o, j;
    project(PASS, used, matrix, padded, first, deep, centre, rows, tile, block);
#pragma unroll
    for (j = 0; j < PIXELS; j++) {
        const size_t p = get_group_id(0) * (size_t)ALL + (size_t)(j * ITEMS) + get_local_id(0);
        const int here = (int)p < count && (!valid || valid[at + p]);
#pragma unroll
        for (o = 0; o < OUTPUTS; o++)
            if (first + o < outputs)
                Z[(ulong)(first + o) * ldz + from + p] = here ? (real)y[j * OUTPUTS + o] + (real)added[first + o] : -(real)0;
    }
}
#else

#if SQUARES
#define VALUES 1
#else
#define VALUES OUTPUTS
#endif

/* value[j * VALUES + o]: output `first + o` of pixel j, or its squared length, in wide. */
inline void values(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs, int padded, int first,
                   __local VEC4 *deep, __local WORK *centre, __local ulong *rows, __local WORD *tile, wide *value) {
    VEC4 block[PIXELS * BLOCKS];
    const ELEM *y = (const ELEM *)block;
    int o, j;
#if SQUARES
    for (j = 0; j < PIXELS; j++) value[j] = 0;
    for (first = 0; first < outputs; first += OUTPUTS)
#endif
    {
        project(PASS, used, matrix, padded, first, deep, centre, rows, tile, block);
#pragma unroll
        for (o = 0; o < OUTPUTS; o++) {
            const wide offset = first + o < outputs ? added[first + o] : (wide)0; /* where the matrix is 0 too */
#pragma unroll
            for (j = 0; j < PIXELS; j++) {
                wide v = offset + (wide)y[j * OUTPUTS + o];
#if SQUARES
                value[j] += v * v;
#else
                value[j * VALUES + o] = v;
#endif
            }
        }
    }
}

#if MODE == SHS__CL_MAP_EXTREMES
/* The extremes of the group's pixels: low[c * written + o], high likewise. `end` is what no value reaches. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void extremes(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
              int padded, __global const uchar *valid, ulong at, int count, int written, wide end, __global wide *low,
              __global wide *high) {
    LOCAL;
    __local wide least[ITEMS], most[ITEMS];
    wide value[PIXELS * VALUES];
    const int i = (int)get_local_id(0), first = (int)get_group_id(1) * OUTPUTS;
    int o, j, span;
    values(PASS, used, matrix, added, outputs, padded, first, deep, centre, rows, tile, value);
#if !IS_CPU
#pragma unroll
#endif
    for (o = 0; o < VALUES && first + o < written; o++) {
        wide a = end, b = -end;
        for (j = 0; j < PIXELS; j++) {
            const size_t p = get_group_id(0) * (size_t)ALL + (size_t)(j * ITEMS + i);
            const wide v = value[j * VALUES + o];
            if ((int)p >= count || (valid && !valid[at + p])) continue;
            a = v < a ? v : a;
            b = v > b ? v : b;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        least[i] = a;
        most[i] = b;
        for (span = ITEMS / 2; span > 0; span >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (i < span) {
                least[i] = least[i + span] < least[i] ? least[i + span] : least[i];
                most[i] = most[i + span] > most[i] ? most[i + span] : most[i];
            }
        }
        if (i == 0) {
            low[get_group_id(0) * (size_t)written + (size_t)(first + o)] = least[0];
            high[get_group_id(0) * (size_t)written + (size_t)(first + o)] = most[0];
        }
    }
}

/* One work-item an output: the extremes of `count` groups into those found so far. */
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
    return x >= (wide)MOST ? (SINK)MOST : x > (wide)LEAST ? (SINK)x : (SINK)LEAST;
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
    wide value[PIXELS * VALUES];
    const int first = (int)get_group_id(1) * OUTPUTS;
    int o, j;
    values(PASS, used, matrix, added, outputs, padded, first, deep, centre, rows, tile, value);
#pragma unroll
    for (j = 0; j < PIXELS; j++) {
        const size_t p = get_group_id(0) * (size_t)ALL + (size_t)(j * ITEMS) + get_local_id(0), q = p + at;
        const int here = (int)p < count && (!valid || valid[q]);
#pragma unroll
        for (o = 0; o < VALUES; o++) {
            const size_t b = (size_t)(first + o);
            size_t to;
            wide x = value[j * VALUES + o];
            if ((int)p >= count || first + o >= written) continue;
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
