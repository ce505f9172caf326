/* omp_group.cl - matching pursuit (omp.h) by a group of GROUP items, which takes signal after signal, for dictionaries that are too
   large for omp_warp.

   alpha lies in registers, L and the first ROWS of the b_k in local memory, the other b_k in the group's scratch in global memory.
   Those it reads again at every step: (s - ROWS)^2 n / 2 values a signal bound it. */

#include "device.cl"

#ifndef N
#define N 256 /* n, padded to a multiple of 32 by zero atoms */
#endif
#ifndef S
#define S 8 /* places in the codes */
#endif
#ifndef ROWS
#define ROWS 4 /* of the b_k in local memory, 1 at least */
#endif
#ifndef GROUP
#define GROUP 64 /* items a group: a power of two */
#endif

#include "omp.h"

/* Item l holds the values of atoms l, l + GROUP, l + 2 GROUP and so on: neighbours read neighbours. */
#define VALUES ((N + GROUP - 1) / GROUP)
#define ATOM(v) ((v) * GROUP + lane)
#define LEADERS (GROUP < 16 ? GROUP : 16)

/* Whether score a of atom i comes before score b of atom j. */
#define BEFORE(a, i, b, j) ((a) > (b) || ((a) == (b) && (i) < (j)))

/* What is in local memory: see shs__cl_group_bytes. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
omp_group(ulong first, ulong count, __global const real *restrict alphas, __global const real *restrict G,
          __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,
          __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,
          __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state,
          __global real *restrict scratch) {
    __local real near[ROWS * N];
    __local real L[PLACE(S, 0)], t[S], best[GROUP], held[GROUP], spare[DISTANCES ? GROUP : 1];
    __local int chosen[S], place[GROUP];
    const int lane = (int)get_local_id(0);
    __global real *far = scratch + get_group_id(0) * (size_t)(S > ROWS + 1 ? S - 1 - ROWS : 0) * N;
    real alpha[VALUES], diagonal[VALUES], distance[VALUES];
    size_t own;
    int v, q;
#pragma unroll
    for (v = 0; DISTANCES && v < VALUES; v++) diagonal[v] = ATOM(v) < N ? length2_of(G[(size_t)ATOM(v) * (N + 1)]) : 0;
    for (own = get_group_id(0); own < count; own += get_num_groups(0)) {
        const size_t i = first + own;
        const wide base2 = norms2[i], tolerance2 = tolerance2_of(i, tolerance, tolerances);
        int most = limit_of(i, limit, limits), k = 0, flags = 0, going = 1;
        int reached = tolerance2 > 0 && base2 <= tolerance2;
        wide residual2 = base2;
        real guard = 0;
        shares small = whole_shares();
        if (reached) most = 0;
#pragma unroll
        for (v = 0; v < VALUES; v++) {
            alpha[v] = ATOM(v) < N ? alphas[own * N + (size_t)ATOM(v)] : 0;
            if (DISTANCES) distance[v] = diagonal[v];
        }
        while (going && k < most) {
            real score = -1, value = 0, left = 0, d2, gjj, inverse, inflation = 1;
            __global const real *column;
            int j = N, decided = ABOVE;
            /* The atom: an item's own best, the best of every LEADERS-th item, the best of those. */
#pragma unroll
            for (v = 0; v < VALUES; v++)
                if (ATOM(v) < N && SCORE(alpha[v], diagonal[v], distance[v]) > score) {
                    score = SCORE(alpha[v], diagonal[v], distance[v]);
                    j = ATOM(v);
                    value = alpha[v];
                    if (DISTANCES) left = distance[v];
                }
            best[lane] = score;
            place[lane] = j;
            held[lane] = value;
            if (DISTANCES) spare[lane] = left;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (lane < LEADERS) {
                for (q = lane + LEADERS; q < GROUP; q += LEADERS)
                    if (BEFORE(best[q], place[q], score, j)) {
                        score = best[q];
                        j = place[q];
                    }
                best[lane] = score;
                place[lane] = j;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            score = best[0];
            j = place[0];
            for (q = 1; q < LEADERS; q++)
                if (BEFORE(best[q], place[q], score, j)) {
                    score = best[q];
                    j = place[q];
                }
            value = j < N ? held[j % GROUP] : 0; /* N: there are only NaNs */
            if (DISTANCES) left = spare[j % GROUP];
            j = min(j, N - 1);
            if (k == 0) guard = GUARD_OF(value, left);
            /* Row k of L; infinity refuses an atom that is already there. */
            for (q = lane; q < k; q += GROUP) {
                if (chosen[q] == j) L[PLACE(k, q)] = (real)INFINITY;
                else if (q < ROWS) L[PLACE(k, q)] = near[q * N + j];
                else L[PLACE(k, q)] = far[(size_t)(q - ROWS) * N + (size_t)j];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            column = G + (size_t)j * N;
            d2 = gjj = column[j];
            for (q = 0; q < k; q++) d2 = fma(-L[PLACE(k, q)], L[PLACE(k, q)], d2);
            if (IS_ROUNDING(value, guard, gjj, d2, left)) {
                if (tolerance2 > 0) flags = DOUBTFUL;
                going = 0;
            } else {
                if (DISTANCES) inflation = inflation_of(gjj, d2, left);
                inverse = INVERSE_ROOT(d2);
                value *= inverse;
                if (lane == 0) {
                    L[PLACE(k, k)] = inverse;
                    t[k] = value;
                    chosen[k] = j;
                }
                residual2 = fmax(fma(-(wide)value, (wide)value, residual2), (wide)0);
                take_share(&small, d2, gjj);
                if (TOLERANT) {
                    decided = verdict(residual2, base2, small, tolerance2);
                    reached = decided == BELOW;
                    if (decided == UNSURE) flags = DOUBTFUL;
                    going = decided == ABOVE;
                }
                k++;
            }
            if (going && k < most) { /* b_k, and alpha without its part along q_k */
                real g[VALUES];
#pragma unroll
                for (v = 0; v < VALUES; v++) g[v] = ATOM(v) < N ? column[ATOM(v)] : 0;
#pragma unroll 4
                for (q = 0; q < min(k - 1, ROWS); q++) {
                    const real c = L[PLACE(k - 1, q)];
#pragma unroll
                    for (v = 0; v < VALUES; v++) g[v] = fma(-c, ATOM(v) < N ? near[q * N + ATOM(v)] : 0, g[v]);
                }
#pragma unroll 4
                for (q = ROWS; q < k - 1; q++) {
                    const real c = L[PLACE(k - 1, q)];
                    __global const real *row = far + (size_t)(q - ROWS) * N;
#pragma unroll
                    for (v = 0; v < VALUES; v++) g[v] = fma(-c, ATOM(v) < N ? row[ATOM(v)] : 0, g[v]);
                }
#pragma unroll
                for (v = 0; v < VALUES; v++) {
                    g[v] *= inverse;
                    alpha[v] = fma(-value, g[v], alpha[v]);
                    if (DISTANCES) distance[v] = fma(-g[v] * inflation, g[v], distance[v]);
                    if (ATOM(v) < N && k <= ROWS) near[(k - 1) * N + ATOM(v)] = g[v];
                    if (ATOM(v) < N && k > ROWS) far[(size_t)(k - 1 - ROWS) * N + (size_t)ATOM(v)] = g[v];
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (q = k - 1; q >= 0; q--) { /* back substitution */
            const real step = t[q] * L[PLACE(q, q)];
            int x;
            for (x = lane; x < q; x += GROUP) t[x] = fma(-step, L[PLACE(q, x)], t[x]);
            if (lane == 0) {
                atoms[i * S + (size_t)q] = chosen[q];
                coefs[i * S + (size_t)q] = step;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (q = k + lane; q < S; q += GROUP) {
            atoms[i * S + (size_t)q] = 0;
            coefs[i * S + (size_t)q] = 0;
        }
        if (lane == 0)
            conclude(i, k, residual2, base2, small, tolerance2 > 0 && !reached, flags, used, errors2, state);
    }
}
