/* map.cl - affine maps of pixels: components, whitened pixels, sources, their extremes, the sink's values.

   Group (c, g) takes pixels ALL c .. and outputs OUTPUTS g .. (with SQUARES all of them, block after block). The product of its
   pixels and the matrix is made by items (map_items.h), or, for many outputs of slices, by double matrix units (map_units.h).
   Either leaves an item OWN outputs of a block, output OUTPUT(o), for FINAL pixels, pixel PIXEL(j) of the group. ACROSS neighbours
   have different outputs.

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
#define UNITS 0 /* 1: by matrix units (ELEM double, PIXELS 1, OUTPUTS a multiple of 8) */
#endif
#define ALL (ITEMS * PIXELS)
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
#define LESS_CENTRE(v, c) less(value_of(v), c)
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

#if UNITS
#include "map_units.h"
#else
#include "map_items.h"
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

/* value[j * VALUES + o], or the squared length of pixel j's outputs, in wide. */
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
#if SQUARES
    whole_lengths(length, tile, value);
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
/* To nearest, half away from zero, within the type. The number before 0.5 is added: where the sum is rounded, 0.5 would lift large
   odd numbers. */
inline SINK to_sink(wide x) {
#if INTEGER
    const wide below_half = (wide)0.5f - (wide)(sizeof(wide) > 4 ? 0x1p-54f : 0x1p-25f);
    x += x >= 0 ? below_half : -below_half;
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
