/* sweep.cl - one FastICA sweep: for c directions w sums over pixels of z g(w'z) and g'(w'z); and the sums that rate sources.

   Whitened pixels are read once, and nothing but sums is written. An item takes PIXELS neighbouring pixels at a time,
   which it keeps in registers with the sums of a block of ROWS components and DIRECTIONS directions:

            z (ROWS)  g'     Sums of an item are of few pixels, so they may be real. The group adds them up in local
       w  +---------+---+    memory, 16 items at a time, and they are wide from there on. It writes a partial sum of
       s  | sum z g | s |    each of its VALUES, those of all groups side by side; totals.cl gathers them. The same
          +---------+---+    bits in every run.

   With few components a block has all of them. Of many it has some, and forms w'z from the planes as they go by.
   Missing pixels have z = -0 (map.cl). They add nothing to sums of z g, and their sign keeps them out of the sums of g'.

   W: M x c, a direction a column. The textbook twin is shs_ica_naive. */

#include "device.cl"

/* CONTRAST_name, a name of SHS_CONTRAST_LIST: which g; none: the program rates sources. */
#ifndef M
#define M 10 /* components */
#endif
#ifndef ROWS
#define ROWS M
#endif
#ifndef DIRECTIONS
#define DIRECTIONS M
#endif
#ifndef PIXELS
#define PIXELS 2 /* 1, 2 or 4 */
#endif

#ifndef ITEMS
#define ITEMS SHS__CL_SWEEP_ITEMS
#endif
#ifndef IN_LOCAL
#define IN_LOCAL 1 /* 0: items write their sums to global memory, to measure the use of local memory */
#endif
#define GROUP SHS__CL_SWEEP_PIXELS
#if REAL_BITS == 64
#define LOG2E M_LOG2E
#else
#define LOG2E M_LOG2E_F
#endif
#define PARTY 128   /* items of a group whose sums are added at a time, */
#define TOGETHER 16 /* so many of them, each in LANES parts */
#define LANES (PARTY / TOGETHER)
#define PITCH (PARTY + LANES) /* so that the items of a warp find different banks */
#if PIXELS == 1
typedef real vec;
#else
typedef VECTOR(real, PIXELS) vec;
#endif

#if defined(CONTRAST_pow3)
#define CONTRAST
inline real contrast_of(real y, real *slope) { *slope = 3 * y * y; return y * y * y; }
#elif defined(CONTRAST_tanh)
#define CONTRAST
/* tanh y = 1 - 2 / (1 + exp 2y), to the rounding of 1, which is also that of y: in half the time of tanh(). */
inline real contrast_of(real y, real *slope) {
    real g = 1 - 2 / (1 + exp2(2 * LOG2E * y));
    *slope = 1 - g * g;
    return g;
}
#elif defined(CONTRAST_gauss)
#define CONTRAST
inline real contrast_of(real y, real *slope) { real e = exp(-y * y / 2); *slope = (1 - y * y) * e; return y * e; }
#elif defined(CONTRAST_skew)
#define CONTRAST
inline real contrast_of(real y, real *slope) { *slope = 2 * y; return y * y; }
#endif

#ifdef CONTRAST
#define EACH (ROWS + 1) /* sums of a direction: z g of the rows, g' */
#define ROW_BLOCKS ((M + ROWS - 1) / ROWS)
#else
#define EACH 2 /* y^4, log cosh y */
#define ROW_BLOCKS 1
#endif
#define VALUES (DIRECTIONS * EACH)
#define W_IN_LOCAL (IN_LOCAL && DIRECTIONS * M <= 2048)

/* By the bits, since -0 == 0. */
inline int present(real z) {
#if REAL_BITS == 64
    return as_long(z) != LONG_MIN;
#else
    return as_int(z) != INT_MIN;
#endif
}

/* Adds one pixel to the sums of a direction, whose y = w'z: row r of z stands at z[r * PIXELS]. */
inline void add(real y, const real *z, int here, real *sum) {
#ifdef CONTRAST
    real slope, g = contrast_of(y, &slope);
    int r;
#pragma unroll
    for (r = 0; r < ROWS; r++) sum[r] += g * z[r * PIXELS];
    sum[ROWS] += here ? slope : 0;
#else
    real a = fabs(y); /* log cosh y = |y| + log(1 + exp(-2|y|)) - log 2 */
    sum[0] += (y * y) * (y * y);
    sum[1] += a > 0 ? a + log1p(exp(-2 * a)) - log((real)2) : 0;
#endif
}

/* The group's sums from those of its items: partial[(block * VALUES + v) * groups + group]. */
#if IN_LOCAL
inline void add_items(const real *sum, __local real *room, __local wide *parts, __global wide *partial) {
    const int i = (int)get_local_id(0), k = i / LANES;
    int party, v, e, l = i % LANES;
    for (v = i; v < VALUES * (LANES + 1); v += ITEMS) parts[v] = 0;
    for (party = 0; party < ITEMS / PARTY; party++)
#pragma unroll
        for (v = 0; v < VALUES; v += TOGETHER) {
            real x = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
            for (e = 0; e < TOGETHER; e++)
                if (v + e < VALUES && i / PARTY == party) room[e * PITCH + i % PARTY] = sum[v + e];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (k >= TOGETHER || v + k >= VALUES) continue;
            for (e = 0; e < TOGETHER; e++) x += room[k * PITCH + e * LANES + l];
            parts[(v + k) * (LANES + 1) + l] += (wide)x;
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (v = i; v < VALUES; v += ITEMS) {
        wide total = 0;
        for (l = 0; l < LANES; l++) total += parts[v * (LANES + 1) + l];
        partial[(get_group_id(1) * (size_t)VALUES + (size_t)v) * get_num_groups(0) + get_group_id(0)] = total;
    }
}
#endif

/* Group (p, b): pixels GROUP p .. of the `padded` from `from` on; block b of directions and, within them, of rows. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void sweep(__global const real *Z, ulong from, ulong ldz, ulong padded, __global const real *W, int c,
           __global wide *partial) {
    const int i = (int)get_local_id(0), block = (int)get_group_id(1);
    const int first = block / ROW_BLOCKS * DIRECTIONS, row = block % ROW_BLOCKS * ROWS;
    const ulong end = min((get_group_id(0) + 1) * (ulong)GROUP, padded);
    ulong p;
    real sum[VALUES];
    int v, a, d, j;
#if IN_LOCAL
    __local real room[TOGETHER * PITCH];
    __local wide parts[VALUES * (LANES + 1)];
#if W_IN_LOCAL
    __local real w[DIRECTIONS * M];
    for (v = i; v < DIRECTIONS * M; v += ITEMS) w[v] = first * M + v < c * M ? W[first * M + v] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#endif
#if W_IN_LOCAL
#define DIRECTION(d, a) w[(d) * M + (a)]
#else
#define DIRECTION(d, a) W[min(first + (d), c - 1) * M + (a)]
#endif
#pragma unroll
    for (v = 0; v < VALUES; v++) sum[v] = 0;
    for (p = get_group_id(0) * (ulong)GROUP + (ulong)(i * PIXELS); p < end; p += ITEMS * PIXELS) {
        __global const real *at = Z + from + p;
        vec rows[ROWS];
        const real *z = (const real *)rows;
        int here[PIXELS];
#if ROWS == M
#pragma unroll
        for (a = 0; a < M; a++) rows[a] = *(__global const vec *)(at + (ulong)a * ldz);
#pragma unroll
        for (j = 0; j < PIXELS; j++) here[j] = present(z[j]);
#pragma unroll
        for (d = 0; d < DIRECTIONS; d++) {
            vec y = (vec)(0);
#pragma unroll
            for (a = 0; a < M; a++) y += DIRECTION(d, a) * rows[a];
#pragma unroll
            for (j = 0; j < PIXELS; j++) add(((const real *)&y)[j], z + j, here[j], sum + d * EACH);
        }
#else
        vec y[DIRECTIONS];
        rows[0] = *(__global const vec *)at;
#pragma unroll
        for (j = 0; j < PIXELS; j++) here[j] = present(z[j]);
#pragma unroll
        for (d = 0; d < DIRECTIONS; d++) y[d] = (vec)(0);
#if !IS_CPU
#pragma unroll 4
#endif
        for (a = 0; a < M; a++) {
            const vec x = *(__global const vec *)(at + (ulong)a * ldz);
#pragma unroll
            for (d = 0; d < DIRECTIONS; d++) y[d] += DIRECTION(d, a) * x;
        }
#pragma unroll
        for (a = 0; a < ROWS; a++)
            rows[a] = row + a < M ? *(__global const vec *)(at + (ulong)(row + a) * ldz) : (vec)(0);
#pragma unroll
        for (d = 0; d < DIRECTIONS; d++)
#pragma unroll
            for (j = 0; j < PIXELS; j++) add(((const real *)(y + d))[j], z + j, here[j], sum + d * EACH);
#endif
    }
#if IN_LOCAL
    add_items(sum, room, parts, partial);
#else
#pragma unroll
    for (v = 0; v < VALUES; v++)
        partial[(get_group_id(1) * (size_t)VALUES + (size_t)v) * get_global_size(0) + get_global_id(0)] = (wide)sum[v];
#endif
}
