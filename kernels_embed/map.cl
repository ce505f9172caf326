/* map.cl - affine maps of pixels: components, whitened pixels, sources, their extremes, the sink's values.

   A work-item takes one pixel and OUTPUTS outputs at a time: an element of the panel, once read, is used OUTPUTS times from a
   register. The matrix goes through local memory, DEEP bands at a time, and is read there by all items at once: a broadcast.
   Group (c, g): pixels 256 c .., outputs OUTPUTS g .. (with SQUARES all of them, one block after another).

   The textbook twins are shs_pca_naive and shs_ica_naive, where they multiply by their matrices. */

#include "device.cl"

#ifndef ELEM
#define ELEM real /* of panel and matrix */
#endif
#ifndef OUTPUTS
#define OUTPUTS 12 /* a multiple of 4 */
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

#define BLOCKS (OUTPUTS / 4)
typedef VECTOR(ELEM, 4) VEC4;

#if DIRECT
#include "cube.h"

/* From the slice itself, in the cube's own type: a fifth of the panel's traffic for 8-bit pixels, and what counts when
   the outputs are few. Values of missing pixels are whatever they are: the caller knows which to drop. */
#define SOURCE                                                                                                        \
    __global const VALUE *raw, ulong origin, __global const int *list, __global const real *shift, ulong slice_at,    \
        int slice_count, ulong plane, int slice_samples, int bands
#define PASS raw, origin, list, shift, slice_at, slice_count, plane, slice_samples, bands

/* x - shift of band b; pixels behind the last read the last. */
inline ELEM element(SOURCE, size_t p, int b) {
    size_t q = slice_at + min(p, (size_t)slice_count - 1);
    return less_shift(value_at(raw + origin, q, list[b], plane, slice_samples, bands), shift[b]);
}
#else
#define SOURCE __global const ELEM *panel, int ld
#define PASS panel, ld
#endif

/* BIP is read along the bands and used along the pixels: 16 bands of the group's 256 pixels change places in local memory. */
#if DIRECT && FROM == 2
#define TURNED 1
#define DEEP 16 /* more is slower: fewer groups fit */
#else
#define TURNED 0
#define DEEP 32
#endif
#define TILE_PITCH 257
#if TURNED
#define ROOM DEEP * TILE_PITCH
#else
#define ROOM 1
#endif

/* matrix (x) of this item's pixel for outputs first .. first + OUTPUTS - 1; matrix: bands x `padded` outputs. All items of a
   group must come here. */
inline void project(SOURCE, size_t p, int used, __global const ELEM *matrix, int padded, int first, __local VEC4 *deep,
                    __local ELEM *tile, VEC4 *y) {
    const int i = (int)get_local_id(0);
    int b0, b, o, e;
    for (o = 0; o < BLOCKS; o++) y[o] = (VEC4)(0);
    for (b0 = 0; b0 < used; b0 += DEEP) {
        const int depth = min(DEEP, used - b0);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (e = i; e < depth * OUTPUTS; e += 256)
            ((__local ELEM *)deep)[e] = matrix[(size_t)(b0 + e / OUTPUTS) * (size_t)padded + (size_t)(first + e % OUTPUTS)];
#if TURNED
        for (e = i; e < DEEP * 256; e += 256)
            if (e % DEEP < depth)
                tile[e % DEEP * TILE_PITCH + e / DEEP] = element(PASS, p - (size_t)i + (size_t)(e / DEEP), b0 + e % DEEP);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#if !IS_CPU /* which says at length that it could not */
#pragma unroll 8
#endif
        for (b = 0; b < depth; b++) {
#if TURNED
            ELEM x = tile[b * TILE_PITCH + i];
#elif DIRECT
            ELEM x = element(PASS, p, b0 + b);
#else
            ELEM x = panel[(size_t)(b0 + b) * (size_t)ld + p];
#endif
#pragma unroll
            for (o = 0; o < BLOCKS; o++) y[o] += deep[b * BLOCKS + o] * x;
        }
    }
}

#if MODE == SHS__CL_MAP_WHITEN
/* Z[o * ldz + from + p] = whitened pixel, 0 where missing and behind the last. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void whiten(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
            int padded, __global const uchar *valid, ulong at, int count, __global real *Z, ulong from, ulong ldz) {
    __local VEC4 deep[DEEP * BLOCKS];
    __local ELEM tile[ROOM];
    VEC4 block[BLOCKS];
    const ELEM *y = (const ELEM *)block;
    const size_t p = get_global_id(0);
    const int first = (int)get_group_id(1) * OUTPUTS;
    int o, here = (int)p < count && (!valid || valid[at + p]);
    project(PASS, p, used, matrix, padded, first, deep, tile, block);
    for (o = 0; o < OUTPUTS && first + o < outputs; o++)
        Z[(ulong)(first + o) * ldz + from + p] = here ? (real)y[o] + (real)added[first + o] : (real)0;
}
#else

/* The value of output `first + o`, or the squared length, in wide. */
inline void values(SOURCE, size_t p, int used, __global const ELEM *matrix, __global const wide *added, int outputs, int padded,
                   int first, __local VEC4 *deep, __local ELEM *tile, wide *value) {
    VEC4 block[BLOCKS];
    const ELEM *y = (const ELEM *)block;
    int o;
#if SQUARES
    value[0] = 0;
    for (first = 0; first < outputs; first += OUTPUTS) {
        project(PASS, p, used, matrix, padded, first, deep, tile, block);
        for (o = 0; o < OUTPUTS && first + o < outputs; o++) {
            wide v = added[first + o] + (wide)y[o];
            value[0] += v * v;
        }
    }
#else
    project(PASS, p, used, matrix, padded, first, deep, tile, block);
    for (o = 0; o < OUTPUTS; o++) value[o] = first + o < outputs ? added[first + o] + (wide)y[o] : (wide)0;
#endif
}

#if SQUARES
#define VALUES 1
#else
#define VALUES OUTPUTS
#endif

#if MODE == SHS__CL_MAP_EXTREMES
/* The extremes of the group's pixels: low[c * written + o], high likewise. `end` is what no value reaches. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void extremes(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
              int padded, __global const uchar *valid, ulong at, int count, int written, wide end, __global wide *low,
              __global wide *high) {
    __local VEC4 deep[DEEP * BLOCKS];
    __local ELEM tile[ROOM];
    __local wide least[256], most[256];
    wide value[VALUES];
    const size_t p = get_global_id(0);
    const int i = (int)get_local_id(0), first = (int)get_group_id(1) * OUTPUTS;
    int o, span, here = (int)p < count && (!valid || valid[at + p]);
    values(PASS, p, used, matrix, added, outputs, padded, first, deep, tile, value);
    for (o = 0; o < VALUES && first + o < written; o++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        least[i] = here ? value[o] : end;
        most[i] = here ? value[o] : -end;
        for (span = 128; span > 0; span >>= 1) {
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
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void store(SOURCE, int used, __global const ELEM *matrix, __global const wide *added, int outputs,
           int padded, __global const uchar *valid, ulong at, int count, int written, ulong pixels, int samples, wide missing,
           __global const wide *low, __global const wide *high, wide new_low, wide new_high, __global SINK *out,
           ulong origin_out) {
    __local VEC4 deep[DEEP * BLOCKS];
    __local ELEM tile[ROOM];
    wide value[VALUES];
    const size_t p = get_global_id(0), q = p + at;
    const int first = (int)get_group_id(1) * OUTPUTS;
    int o, here;
    values(PASS, p, used, matrix, added, outputs, padded, first, deep, tile, value);
    if ((int)p >= count) return;
    here = !valid || valid[q];
    for (o = 0; o < VALUES && first + o < written; o++) {
        size_t b = (size_t)(first + o), to;
        wide x = value[o];
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
#endif
#endif
