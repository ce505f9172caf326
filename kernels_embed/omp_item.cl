/* omp_item.cl - matching pursuit (omp.h) by one item a signal, the plainest coder.

   alpha (D'Y transposed) and the b_k lie in global memory, so laid out that neighbours read neighbours; L, t and the atoms are the
   item's own. At step k it moves k n values for k n multiply-adds, which omp_warp has in registers and local memory: on an H200 at
   n 128 it was 15 % faster than omp_warp at s 1, and slower from s 2 on, 8 times at s 16. */

#include "device.cl"

#ifndef N
#define N 256 /* n, padded to a multiple of 32 by zero atoms */
#endif
#ifndef S
#define S 8 /* places in the codes */
#endif

#include "omp.h"

/* alphas is (D'Y)', count x N: value x of signal `own` is alphas[x * count + own]. Item `me` of `items` keeps value x of
   its b_k at scratch[(k * N + x) * items + me]. So what 32 neighbours read at the same time lies side by side. The columns
   of G do not, since each item follows an atom of its own: it takes STEP values at a time. L, t and the atoms are private. */
#define STEP 4
#define OWN(x) alphas[(size_t)(x)*count + own]
#define ROW(k, x) scratch[((size_t)(k)*N + (size_t)(x)) * items + me]
#define DISTANCE(x) ROW(S > 1 ? S - 1 : 1, x)
#define DIAGONAL(x) length2_of(G[(size_t)(x) * (N + 1)])

__kernel void omp_item(ulong first, ulong count, __global real *restrict alphas, __global const real *restrict G,
                       __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,
                       __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,
                       __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state,
                       __global real *restrict scratch) {
    const size_t items = get_global_size(0), me = get_global_id(0);
    real L[S * (S + 1) / 2], t[S];
    int chosen[S];
    size_t own;
    for (own = me; own < count; own += items) {
        const size_t i = first + own;
        const wide base2 = norms2[i], tolerance2 = tolerance2_of(i, tolerance, tolerances);
        int most = limit_of(i, limit, limits), k = 0, q, x, v, j = 0, flags = 0;
        int reached = tolerance2 > 0 && base2 <= tolerance2;
        wide residual2 = base2;
        real best = -1, value = 0, guard;
        shares small = whole_shares();
        for (x = 0; x < N; x++) {
            real a = OWN(x);
            if (DISTANCES) DISTANCE(x) = DIAGONAL(x);
            if (SCORE(a, DIAGONAL(x), DISTANCE(x)) > best) {
                best = SCORE(a, DIAGONAL(x), DISTANCE(x));
                j = x;
                value = a;
            }
        }
        guard = GUARD_OF(value, DIAGONAL(j));
        while (!reached && k < most) {
            __global const real *column = G + (size_t)j * N;
            const real left = DISTANCES ? DISTANCE(j) : 0;
            real gjj = column[j], d2 = gjj, inverse, along, inflation = 1;
            int repeated = 0, decided;
            for (q = 0; q < k; q++) {
                L[PLACE(k, q)] = ROW(q, j);
                d2 = fma(-L[PLACE(k, q)], L[PLACE(k, q)], d2);
                repeated |= chosen[q] == j;
            }
            if (repeated || IS_ROUNDING(value, guard, gjj, d2, left)) {
                if (tolerance2 > 0) flags = DOUBTFUL;
                break;
            }
            if (DISTANCES) inflation = inflation_of(gjj, d2, left);
            inverse = INVERSE_ROOT(d2);
            along = value * inverse;
            L[PLACE(k, k)] = inverse;
            t[k] = along;
            chosen[k] = j;
            residual2 = fmax(fma(-(wide)along, (wide)along, residual2), (wide)0);
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
            if (++k == most) break;
            best = -1;
            for (x = 0; x < N; x += STEP) {
                real g[STEP];
#pragma unroll
                for (v = 0; v < STEP; v++) g[v] = column[x + v];
                for (q = 0; q < k - 1; q++) {
                    const real c = L[PLACE(k - 1, q)];
#pragma unroll
                    for (v = 0; v < STEP; v++) g[v] = fma(-c, ROW(q, x + v), g[v]);
                }
#pragma unroll
                for (v = 0; v < STEP; v++) {
                    real a;
                    g[v] *= inverse;
                    ROW(k - 1, x + v) = g[v];
                    a = fma(-along, g[v], OWN(x + v));
                    OWN(x + v) = a;
                    if (DISTANCES) DISTANCE(x + v) = fma(-g[v] * inflation, g[v], DISTANCE(x + v));
                    if (SCORE(a, DIAGONAL(x + v), DISTANCE(x + v)) > best) {
                        best = SCORE(a, DIAGONAL(x + v), DISTANCE(x + v));
                        j = x + v;
                        value = a;
                    }
                }
            }
        }
        for (q = k - 1; q >= 0; q--) {
            real step = t[q] * L[PLACE(q, q)];
            for (x = 0; x < q; x++) t[x] = fma(-step, L[PLACE(q, x)], t[x]);
            atoms[i * S + (size_t)q] = chosen[q];
            coefs[i * S + (size_t)q] = step;
        }
        for (q = k; q < S; q++) {
            atoms[i * S + (size_t)q] = 0;
            coefs[i * S + (size_t)q] = 0;
        }
        conclude(i, k, residual2, base2, small, tolerance2 > 0 && !reached, flags, used, errors2, state);
    }
}
