/* omp_warp.cl - matching pursuit (omp.h) by a warp of 32 items a signal, SIGNALS warps a group.

   +-------------+-------------------------------------+------------------------+
   | registers   | alpha, column j of G: n / 32 an     | all that is read again |
   |             | item; with KEEP all b_k too         | at every step          |
   | local       | b_1 .. b_{s-1}, L                   | c_i = b_i[j]: any item |
   | global      | G, D'y in, codes out                | wants any other's      |
   +-------------+-------------------------------------+------------------------+

   n and s are fixed at build time, or there would be no registers to keep alpha in. One step costs k n / 32 multiply-adds an item,
   a column of G, and two reductions over the warp. */

#include "device.cl"

#ifndef N
#define N 256 /* n, padded to a multiple of 32 by zero atoms */
#endif
#ifndef S
#define S 8 /* places in the codes */
#endif
#ifndef SIGNALS
#define SIGNALS 1 /* warps, that is signals, a group; more than one only with SHUFFLES */
#endif
#ifndef KEEP
#define KEEP 0 /* 1: all b_k in registers too, and the loop over k unrolled */
#endif
#ifndef SHUFFLES
#define SHUFFLES 0 /* 1: warps exchange registers by PTX (see exchange.h) */
#endif
#ifndef REDUX
#define REDUX 0 /* 1: the warp reduces integers in one instruction */
#endif
#ifndef SUB_GROUPS
#define SUB_GROUPS 0 /* 1: the items of a warp exchange registers by sub-groups of any size; 8, 16, ..: of that size, for tests */
#endif

#include "omp.h"

/* Item l of a warp holds the values of atoms l * W .. l * W + W - 1, then of those 32 * W further on, and so on: reads of W
   values side by side, and a warp reads without gaps. */
#define VALUES (N / WARP)
#if VALUES % 4 == 0
#define W 4
#elif VALUES % 2 == 0
#define W 2
#else
#define W 1
#endif
#define ATOM(v, lane) ((v) / W * (WARP * W) + (lane) * W + (v) % W)
#define EDGE SHS__CL_WARP_PITCH(N) /* of a row of b */
#define KEPT (S > 1 ? S - 1 : 1)

#if N % (4 * WARP) == 0
#if REAL_BITS == 64
typedef double4 chunk;
#else
typedef float4 chunk;
#endif
#define SPREAD(to, v, q) (to)[v] = (q).x, (to)[(v) + 1] = (q).y, (to)[(v) + 2] = (q).z, (to)[(v) + 3] = (q).w
#define JOIN(from, v) (chunk)((from)[v], (from)[(v) + 1], (from)[(v) + 2], (from)[(v) + 3])
#define CHUNK 4
#elif N % (2 * WARP) == 0
#if REAL_BITS == 64
typedef double2 chunk;
#else
typedef float2 chunk;
#endif
#define SPREAD(to, v, q) (to)[v] = (q).x, (to)[(v) + 1] = (q).y
#define JOIN(from, v) (chunk)((from)[v], (from)[(v) + 1])
#define CHUNK 2
#else
typedef real chunk;
#define SPREAD(to, v, q) (to)[v] = (q)
#define JOIN(from, v) (from)[v]
#define CHUNK 1
#endif

/* ---- what a warp does together ------------------------------------------------------------------------------------ */

#include "exchange.h"

/* The atom of the largest score, the first of equals, its alpha and its distance; NONE where there are only NaNs. An item looks
   for the winning score once it is known, and the smallest atom among the finders wins. Where the score is |alpha| only the sign
   must travel, in the last bit. */
uint choose(const real *alpha, const real *diagonal, const real *distance, int lane, __local ROOM_REAL *room, __local uint *places,
            real *value, real *left) {
    real best = SCORE(alpha[0], diagonal[0], distance[0]), own = 0, nearest = 0;
    uint found = NONE;
    int v;
#pragma unroll
    for (v = 1; v < VALUES; v++) best = fmax(best, SCORE(alpha[v], diagonal[v], distance[v]));
    best = LARGEST(best, room);
#pragma unroll
    for (v = VALUES - 1; v >= 0; v--)
        if (SCORE(alpha[v], diagonal[v], distance[v]) == best) {
            found = (uint)ATOM(v, lane) * 2 + (alpha[v] < 0 ? 1 : 0);
            own = alpha[v];
            if (DISTANCES) nearest = distance[v];
        }
    found = smallest_of(found, places);
    *value = found & 1 ? -best : best;
    if (DISTANCES) *value = FROM_LANE(own, found / 2 / W % WARP, room);
    if (DISTANCES) *left = FROM_LANE(nearest, found / 2 / W % WARP, room);
    return found == NONE ? NONE : found / 2;
}

/* ---- the kernel --------------------------------------------------------------------------------------------------- */

/* Signals first .. first+count-1, a warp each; row y of a group is a warp. Local memory a signal: S - 1 rows of b, then L with
   1/d on its diagonal. Registers of an item: N / 32 values of alpha and of G_j, with KEEP (S - 1) N / 32 of b. */
__kernel OF_SUB_GROUPS __attribute__((reqd_work_group_size(WARP, SIGNALS, 1))) void
omp_warp(ulong first, ulong count, __global const real *restrict alphas, __global const real *restrict G,
         __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,
         __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,
         __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state) {
    __local real rows[SIGNALS][KEPT * EDGE] __attribute__((aligned(32)));
    __local real triangles[SIGNALS][S * S];
    __local ROOM_REAL rooms[SIGNALS][WARP];
    __local uint places[SIGNALS][WARP];
    const int lane = (int)get_local_id(0), y = (int)get_local_id(1);
    const size_t own = get_global_id(1), i = first + own;
    __local real *B = rows[y];
    __local real *L = triangles[y];
    real alpha[VALUES], diagonal[VALUES], distance[VALUES], value, left = 0, t = 0, guard;
    shares small = whole_shares();
#if KEEP
    real b[KEPT][VALUES];
#endif
    int k, v, q, reached = 0, atom = -1, flags = 0, most;
    uint j;
    wide base2, residual2, tolerance2;
    if (own >= count) return; /* whole warps: with SIGNALS 1, whole groups */
    if (lane < S) { /* what is chosen takes the place of these zeros */
        atoms[i * S + (size_t)lane] = 0;
        coefs[i * S + (size_t)lane] = 0;
    }
#pragma unroll
    for (v = 0; v < VALUES; v += CHUNK) {
        chunk a = *(__global const chunk *)(alphas + own * N + ATOM(v, lane));
        SPREAD(alpha, v, a);
    }
#pragma unroll
    for (v = 0; DISTANCES && v < VALUES; v++) diagonal[v] = distance[v] = length2_of(G[(size_t)ATOM(v, lane) * (N + 1)]);
    base2 = residual2 = norms2[i];
    most = limit_of(i, limit, limits);
    tolerance2 = tolerance2_of(i, tolerance, tolerances);
    if (tolerance2 > 0 && base2 <= tolerance2) {
        reached = 1;
        most = 0;
    }
    j = choose(alpha, diagonal, distance, lane, rooms[y], places[y], &value, &left);
    guard = GUARD_OF(value, left);
#if KEEP
#pragma unroll
#endif
    for (k = 0; k < S; k++) {
        __global const real *column = G + (size_t)j * N;
        real g[VALUES], d2, gjj, inverse, inflation = 1;
        int decided;
        if (k >= most || j == NONE) break;
        gjj = column[j];
#pragma unroll
        for (v = 0; v < VALUES; v += CHUNK) {
            chunk a = *(__global const chunk *)(column + ATOM(v, lane));
            SPREAD(g, v, a);
        }
        if (lane < k) /* item i knows the i-th atom and fetches c_i; infinity refuses an atom that is already there */
            L[k * S + lane] = atom == (int)j ? (real)INFINITY : B[lane * EDGE + (int)j];
        SYNC();
        d2 = gjj;
#if KEEP
#pragma unroll
#endif
        for (q = 0; q < k; q++) d2 = fma(-L[k * S + q], L[k * S + q], d2);
        if (IS_ROUNDING(value, guard, gjj, d2, left)) {
            if (tolerance2 > 0) flags = DOUBTFUL;
            break;
        }
        if (DISTANCES) inflation = inflation_of(gjj, d2, left);
        inverse = INVERSE_ROOT(d2);
        value *= inverse;
        if (lane == k) {
            L[k * S + k] = inverse;
            t = value;
            atom = (int)j;
        }
        residual2 = fmax(fma(-(wide)value, (wide)value, residual2), (wide)0);
        take_share(&small, d2, gjj);
        if (TOLERANT) {
            decided = verdict(residual2, base2, small, tolerance2);
            reached = decided == BELOW;
            if (decided == UNSURE) flags = DOUBTFUL;
            if (decided != ABOVE) {
                k++;
                break;
            }
        }
        if (k + 1 >= most) {
            k++;
            break;
        }
#if KEEP
#pragma unroll
#endif
        for (q = 0; q < k; q++) {
            real c = L[k * S + q];
#if KEEP
#pragma unroll
            for (v = 0; v < VALUES; v++) g[v] = fma(-c, b[q][v], g[v]);
#else
            real row[VALUES];
#pragma unroll
            for (v = 0; v < VALUES; v += CHUNK) {
                chunk a = *(__local const chunk *)(B + q * EDGE + ATOM(v, lane));
                SPREAD(row, v, a);
            }
#pragma unroll
            for (v = 0; v < VALUES; v++) g[v] = fma(-c, row[v], g[v]);
#endif
        }
#pragma unroll
        for (v = 0; v < VALUES; v++) {
            g[v] *= inverse;
            alpha[v] = fma(-value, g[v], alpha[v]);
            if (DISTANCES) distance[v] = fma(-g[v] * inflation, g[v], distance[v]);
#if KEEP
            b[k][v] = g[v];
#endif
        }
#pragma unroll
        for (v = 0; v < VALUES; v += CHUNK) *(__local chunk *)(B + k * EDGE + ATOM(v, lane)) = JOIN(g, v);
        j = choose(alpha, diagonal, distance, lane, rooms[y], places[y], &value, &left);
        SYNC();
    }
    /* Back substitution: item q holds t_q, then x_q. */
    SYNC();
    for (q = k - 1; q >= 0; q--) {
        real step = FROM_LANE(t, q, rooms[y]) * L[q * S + q];
        if (lane < q) t = fma(-step, L[q * S + lane], t);
        if (lane == q) t = step;
    }
    if (lane < k) {
        atoms[i * S + (size_t)lane] = atom;
        coefs[i * S + (size_t)lane] = t;
    }
    if (lane > 0) return;
    conclude(i, k, residual2, base2, small, tolerance2 > 0 && !reached, flags, used, errors2, state);
}
