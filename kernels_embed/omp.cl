/* omp.cl: orthogonal matching pursuit in the Gram domain: the codes of many signals from alpha = D'y and G = D'D.

   With q_k the k-th orthonormalised atom and b_k = D'q_k, choosing atom j gives

       c_i = b_i[j] (i < k),  d^2 = G_jj - sum c_i^2,  b_k = (G_j - sum c_i b_i) / d,  t_k = alpha_j / d,
       alpha -= t_k b_k,  |r|^2 -= t_k^2;   (c_1 .. c_{k-1}, d) is row k of L, and L'x = t gives the coefficients.

   Four kernels do this, and a fifth for groups of signals that share their atoms. The caller names one
   (shs_cl_options.coder), or the host chooses (shs__cl_choose_coder); a build holds one of them:

       omp_warp     on GPUs, where n <= 1024, s <= 32 and L with the rows of b fits the local memory

                    a warp of 32 items a signal, SIGNALS warps a group
                    +-------------+-------------------------------------+------------------------+
                    | registers   | alpha, column j of G: n / 32 an     | all that is read again |
                    |             | item; with KEEP all b_k too         | at every step          |
                    | local       | b_1 .. b_{s-1}, L                   | c_i = b_i[j]: any item |
                    | global      | G, D'y in, codes out                | wants any other's      |
                    +-------------+-------------------------------------+------------------------+
                    n and s are fixed at build time, or there would be no registers to keep alpha in. One step costs k n / 32
                    multiply-adds an item, a column of G, and two reductions over the warp.

       omp_item     one item a signal: alpha (D'Y transposed) and the b_k lie in global memory, so laid out that
                    neighbours read neighbours; L, t and the atoms are its own. At step k it moves k n values for k n
                    multiply-adds, which omp_warp has in registers and local memory: on an H200 at n 128 it was 15 %
                    faster than omp_warp at s 1, and slower from s 2 on, 8 times at s 16. It is the plainest of the
                    four; the tests compare the others with it.

       omp_group    a group of GROUP items a signal, which takes signal after signal, for dictionaries that are too large for
                    omp_warp: alpha in registers, L and the first ROWS of the b_k in local memory, the other b_k in the group's
                    scratch in global memory. Those it reads again at every step: (s - ROWS)^2 n / 2 values a signal bound it.

       omp_general  a group of GROUP items a signal, which takes signal after signal; alpha, b_k and L in its scratch in global
                    memory. Any n and s, with a Gram matrix or without, and the only one that forms the explicit residual.
                    Processors run it with GROUP 1: a compiler vectorises the loops over rows of b. It runs if none of the
                    others fits. It also runs after the others, with `settle`, for the signals that they left open.

       omp_team     a group of GROUP items a team: a group of signals that share their atoms (simultaneous OMP). The items take
                    one team after another. L, the b_k and d^2 follow from the atoms alone, so a team has them
                    once, in scratch in global memory; alpha, t and x are each signal's own. An item that holds
                    b_k[j] takes t_i b_k[j] out of alpha_i[j] of every signal i, and on the way adds the squares of
                    what is left: the next choice reads their root as the alpha of the team. A step moves c n values
                    for c signals, and k n for b_k.

   All of them write zeros to the unused places of a signal's codes.

   The first four do the same operations on the same values in the same order: every product is an fma, every reduction takes the
   largest or the first. So on one device they give the same bits. A team of one signal is coded as that signal.

   What the recurrence of |r|^2 cannot decide, the first three mark in state[] (UNREACHED, DOUBTFUL, UNPROVEN: see contract.h), and
   omp_general settles it.

   Their textbook twins are shs_omp_naive and shs_somp_naive. */

#include "device.cl"

/* Which kernel: OMP_WARP, OMP_ITEM, OMP_GROUP, OMP_GENERAL or OMP_TEAM. */
#if !defined(OMP_WARP) && !defined(OMP_ITEM) && !defined(OMP_GROUP) && !defined(OMP_GENERAL) && !defined(OMP_TEAM)
#define OMP_WARP
#endif
#ifndef TOLERANT
#define TOLERANT 1 /* 0: no signal has a tolerance, and code for tolerances is left out */
#endif

#ifndef BY_SQRT
#define BY_SQRT 0 /* 1: rsqrt gives other bits in one kernel than in another (Intel's, in vectors of items and in single ones) */
#endif

/* omp_warp, omp_item and omp_group */
#ifndef N
#define N 256 /* n, padded to a multiple of 32 by zero atoms */
#endif
#ifndef S
#define S 8 /* places in the codes */
#endif

/* omp_warp */
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

/* omp_group */
#ifndef ROWS
#define ROWS 4 /* of the b_k in local memory, 1 at least */
#endif

/* omp_group, omp_general and omp_team */
#ifndef GROUP
#define GROUP 64 /* items a group: a power of two */
#endif

/* omp_general and omp_team */
#ifndef USE_GRAM
#define USE_GRAM 1 /* 0: elements of G are formed as they are needed */
#endif

#pragma OPENCL FP_CONTRACT OFF

#define WARP SHS__CL_WARP_ITEMS
#define UNREACHED SHS__CL_UNREACHED
#define DOUBTFUL SHS__CL_DOUBTFUL
#define UNPROVEN SHS__CL_UNPROVEN
#define NONE 0xffffffffu
#define GUARD SHS__OMP_GUARD
#define TRUST2 SHS__OMP_TRUST2
#define SURE SHS__OMP_SURE
#define EPSILON ((wide)SHS__EPS)
#define WIDE_EPSILON ((wide)SHS__WIDE_EPS)

#if BY_SQRT
#define INVERSE_ROOT(x) (1 / sqrt(x))
#else
#define INVERSE_ROOT(x) rsqrt(x)
#endif

/* ---- the rule of choice ------------------------------------------------------------------------------------------- */

/* SELECT_name, a name of SHS_SELECTION_LIST. SCORE(alpha, gjj, d2) of an atom is never negative; 0: not to be chosen. With
   DISTANCES all atoms have d^2, from which b^2 is taken where alpha loses t b; without, gjj and d2 are not read. */
#ifdef SELECT_OLS /* the residual loses (alpha / d)^2 */
#define DISTANCES 1
#define OWN_LENGTH(gjj) sqrt(gjj)
#define SCORE(alpha, gjj, d2) ((d2) > GUARD * (gjj) ? fabs(alpha) * INVERSE_ROOT(d2) : (real)0)
#else
#define DISTANCES 0
#define OWN_LENGTH(gjj) 1
#define SCORE(alpha, gjj, d2) fabs(alpha)
#endif

/* How much larger than they are the squares of b_k may be, at 1, where its atom had d^2 and at least `left` of it: see
   shs__omp_append_gram. */
real inflation_of(real gjj, real d2, real left) {
    const real wrong = 2 * (8 * (real)SHS__EPS * gjj + (d2 - left)) / d2;
    return wrong > GUARD ? 1 + wrong : 1;
}

/* Whether an atom adds no more than rounding. The guard is |alpha| of the first atom, with DISTANCES as if of unit norm. */
#define GUARD_OF(value, gjj) (fabs(value) > 0 ? GUARD * fabs(value) / OWN_LENGTH(gjj) : (real)0)
#define IS_ROUNDING(value, guard, gjj, d2, left) \
    (!(fabs(value) > (guard)*OWN_LENGTH(gjj)) || !((d2) > GUARD * (gjj)) || (DISTANCES && !((left) > GUARD * (gjj))))

/* ---- the tolerance ------------------------------------------------------------------------------------------------ */

#define ABOVE 0
#define BELOW 1
#define UNSURE 2
#define PLACE(k, i) ((k) * ((k) + 1) / 2 + (i)) /* of element i of row k in a packed triangle */

/* Where the recurrence stands: its error is about 4 eps |r|^2 (when that was last exact) over the smallest d^2 / G_jj, and more
   where that is below SURE. */
int verdict(wide residual2, wide base2, real smallest, wide tolerance2) {
    wide slack = 4 * EPSILON * base2 / (wide)smallest;
    if (!(tolerance2 > 0)) return ABOVE;
    if (residual2 + slack <= tolerance2) return smallest < SURE ? UNSURE : BELOW;
    if (residual2 - slack > tolerance2 && residual2 > TRUST2 * base2) return ABOVE;
    return UNSURE;
}

/* What is said of signal i, which ended with k atoms. */
void conclude(size_t i, int k, wide residual2, wide base2, real smallest, int missed, int flags, __global int *used,
              __global real *errors2, __global int *state) {
    if (missed) flags |= UNREACHED;
    if (base2 > 0 && (residual2 <= TRUST2 * base2 || smallest < SURE)) flags |= UNPROVEN;
    used[i] = k;
    errors2[i] = (real)residual2;
    state[i] = flags;
}

int limit_of(size_t i, int limit, __global const int *limits) { return limits ? min(limits[i], limit) : limit; }

wide tolerance2_of(size_t i, real tolerance, __global const real *tolerances) {
    wide t = (wide)(tolerances ? tolerances[i] : tolerance);
    return TOLERANT ? t * t : 0;
}

/* ================================================================================================================== */
#ifdef OMP_WARP

/* Item l of a warp holds the values of atoms l * W .. l * W + W - 1, then of those 32 * W further on, and so on: reads of W
   values side by side, and a warp reads without gaps. */
#define VALUES (N / WARP)
#define W (VALUES % 4 == 0 ? 4 : VALUES % 2 == 0 ? 2 : 1)
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
    real alpha[VALUES], diagonal[VALUES], distance[VALUES], value, left = 0, t = 0, smallest = 1, guard;
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
    for (v = 0; DISTANCES && v < VALUES; v++) diagonal[v] = distance[v] = G[(size_t)ATOM(v, lane) * (N + 1)];
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
        if (d2 < smallest * gjj) smallest = d2 / gjj;
        if (TOLERANT) {
            decided = verdict(residual2, base2, smallest, tolerance2);
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
    conclude(i, k, residual2, base2, smallest, tolerance2 > 0 && !reached, flags, used, errors2, state);
}
#endif

/* ================================================================================================================== */
#ifdef OMP_ITEM

/* alphas is (D'Y)', count x N: value x of signal `own` is alphas[x * count + own]. Item `me` of `items` keeps value x of
   its b_k at scratch[(k * N + x) * items + me]. So what 32 neighbours read at the same time lies side by side. The columns
   of G do not, since each item follows an atom of its own: it takes STEP values at a time. L, t and the atoms are private. */
#define STEP 4
#define OWN(x) alphas[(size_t)(x)*count + own]
#define ROW(k, x) scratch[((size_t)(k)*N + (size_t)(x)) * items + me]
#define DISTANCE(x) ROW(S > 1 ? S - 1 : 1, x)
#define DIAGONAL(x) G[(size_t)(x) * (N + 1)]

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
        real best = -1, smallest = 1, value = 0, guard;
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
            if (d2 < smallest * gjj) smallest = d2 / gjj;
            if (TOLERANT) {
                decided = verdict(residual2, base2, smallest, tolerance2);
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
        conclude(i, k, residual2, base2, smallest, tolerance2 > 0 && !reached, flags, used, errors2, state);
    }
}
#endif

/* ================================================================================================================== */
#ifdef OMP_GROUP

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
    for (v = 0; DISTANCES && v < VALUES; v++) diagonal[v] = ATOM(v) < N ? G[(size_t)ATOM(v) * (N + 1)] : 0;
    for (own = get_group_id(0); own < count; own += get_num_groups(0)) {
        const size_t i = first + own;
        const wide base2 = norms2[i], tolerance2 = tolerance2_of(i, tolerance, tolerances);
        int most = limit_of(i, limit, limits), k = 0, flags = 0, going = 1;
        int reached = tolerance2 > 0 && base2 <= tolerance2;
        wide residual2 = base2;
        real smallest = 1, guard = 0;
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
            for (q = lane; q < k; q += GROUP)
                L[PLACE(k, q)] = chosen[q] == j ? (real)INFINITY
                                 : q < ROWS     ? near[q * N + j]
                                                : far[(size_t)(q - ROWS) * N + (size_t)j];
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
                if (d2 < smallest * gjj) smallest = d2 / gjj;
                if (TOLERANT) {
                    decided = verdict(residual2, base2, smallest, tolerance2);
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
        for (q = k + lane; q < S; q += GROUP) atoms[i * S + (size_t)q] = 0, coefs[i * S + (size_t)q] = 0;
        if (lane == 0)
            conclude(i, k, residual2, base2, smallest, tolerance2 > 0 && !reached, flags, used, errors2, state);
    }
}
#endif

/* ================================================================================================================ */
#if defined(OMP_GENERAL) || defined(OMP_TEAM)

#if GROUP == 1
#define SYNC()
#else
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#define REFRESHES SHS__OMP_REFRESHES

/* One signal on its way, or a team of them. The scalars are the same in all items of the group; the arrays are the
   group's own scratch in global memory, x and atoms the codes themselves. */
typedef struct pursuit {
    int n, padded, p, stride, lane;
    int chosen, limit, refreshes, stable, reached;
    wide tolerance2, base2, residual2;
    real smallest, guard, inflation;
    __global const real *D, *G, *y;
    __global real *alpha, *B, *L, *t, *r, *x; /* L: row k at k * stride, 1/d on the diagonal */
    __global real *diagonal, *distance;       /* G_jj and d^2 */
    __global int *atoms;
    __local real *sizes;
    __local int *places;
    __local wide *sums;
} pursuit;

wide over_group(const pursuit *w, wide value) {
    int width;
    w->sums[w->lane] = value;
    SYNC();
    for (width = GROUP / 2; width > 0; width /= 2) {
        if (w->lane < width) w->sums[w->lane] += w->sums[w->lane + width];
        SYNC();
    }
    value = w->sums[0];
    SYNC();
    return value;
}

/* The atom of the largest score, the first of equals. */
int choose(const pursuit *w) {
    real best = -1;
    int j = 0, i, width;
    for (i = w->lane; i < w->n; i += GROUP) {
        real score = SCORE(w->alpha[i], w->diagonal[i], w->distance[i]);
        if (score > best) {
            best = score;
            j = i;
        }
    }
    if (GROUP == 1) return j;
    w->sizes[w->lane] = best;
    w->places[w->lane] = j;
    SYNC();
    for (width = GROUP / 2; width > 0; width /= 2) {
        if (w->lane < width) {
            real other = w->sizes[w->lane + width];
            int place = w->places[w->lane + width];
            if (other > w->sizes[w->lane] || (other == w->sizes[w->lane] && place < w->places[w->lane])) {
                w->sizes[w->lane] = other;
                w->places[w->lane] = place;
            }
        }
        SYNC();
    }
    j = w->places[0];
    SYNC();
    return j;
}

real dot_atom(const pursuit *w, int j, __global const real *z) {
    __global const real *d = w->D + (size_t)j * (size_t)w->p;
    real sum = 0;
    int i;
    for (i = 0; i < w->p; i++) sum = fma(d[i], z[i], sum);
    return sum;
}

/* Element i of column j of the Gram matrix: the same chain of fma that the product D'D is made of. */
real gram(const pursuit *w, int i, int j) {
    if (USE_GRAM) return w->G[(size_t)j * (size_t)w->padded + (size_t)i];
    return i < w->n ? dot_atom(w, i, w->D + (size_t)j * (size_t)w->p) : 0;
}

/* Takes atom j unless that would only add rounding; row k of L is made on the way. */
int append(pursuit *w, int j, real *inverse, real *t) {
    __global real *c = w->L + w->chosen * w->stride;
    const real left = DISTANCES ? w->distance[j] : 0;
    real value = w->alpha[j], gjj = gram(w, j, j), d2 = gjj;
    int k = w->chosen, i, repeated = 0;
    for (i = w->lane; i < k; i += GROUP) c[i] = w->B[(size_t)i * (size_t)w->padded + (size_t)j];
    SYNC();
    for (i = 0; i < k; i++) {
        d2 = fma(-c[i], c[i], d2);
        repeated |= w->atoms[i] == j;
    }
    if (repeated || IS_ROUNDING(value, w->guard, gjj, d2, left)) return 0;
    if (DISTANCES) w->inflation = inflation_of(gjj, d2, left);
    *inverse = INVERSE_ROOT(d2);
    *t = value * *inverse;
    SYNC();
    if (w->lane == 0) {
        c[k] = *inverse;
        w->t[k] = *t;
        w->x[k] = 0;
        w->atoms[k] = j;
    }
    SYNC();
    w->residual2 = fmax(fma(-(wide)*t, (wide)*t, w->residual2), (wide)0);
    if (d2 < w->smallest * gjj) w->smallest = d2 / gjj;
    w->chosen = k + 1;
    w->stable = 0;
    return 1;
}

/* After a refresh only the explicit residual can say that the tolerance is reached: the recurrences err in
   proportion to what is left, the coefficients, as they are stored, in proportion to the signal. */
int standing(const pursuit *w) {
    int stands = verdict(w->residual2, w->base2, w->smallest, w->tolerance2);
    return stands == BELOW && w->refreshes ? UNSURE : stands;
}
#endif

/* ================================================================================================================ */
#ifdef OMP_GENERAL

/* x += inverse(L') t, t = 0. */
void solve(pursuit *w) {
    int k, i;
    for (k = w->chosen - 1; k >= 0; k--) {
        __global const real *row = w->L + k * w->stride;
        real step = w->t[k] * row[k];
        SYNC();
        for (i = w->lane; i < k; i += GROUP) w->t[i] = fma(-step, row[i], w->t[i]);
        if (w->lane == 0) {
            w->x[k] += step;
            w->t[k] = 0;
        }
        SYNC();
    }
}

/* t = inverse(L) a, where a is lost: what is left of the residual in the span; |r|^2 without it. */
void project(pursuit *w, __global real *a) {
    int k, i;
    for (k = 0; k < w->chosen; k++) {
        real t = a[k] * w->L[k * w->stride + k];
        SYNC();
        for (i = k + 1 + w->lane; i < w->chosen; i += GROUP) a[i] = fma(-w->L[i * w->stride + k], t, a[i]);
        if (w->lane == 0) w->t[k] = t;
        w->residual2 = fmax(fma(-(wide)t, (wide)t, w->residual2), (wide)0);
        SYNC();
    }
}

/* r = y - Dx for the coefficients as stored; whether the tolerance is reached for certain: each step of the sum may be half an eps
   of its result off. over_group is called from one place only, as all helpers are. */
int measure(pursuit *w) {
    wide sums[2] = {0, 0};
    int i, k;
    for (i = w->lane; i < w->p; i += GROUP) {
        wide e = (wide)w->y[i], error = 0;
        for (k = 0; k < w->chosen; k++) {
            const wide d = (wide)w->D[(size_t)w->atoms[k] * (size_t)w->p + (size_t)i];
            e = fma(-(wide)w->x[k], d, e);
            error += d != 0 ? fabs(e) : 0;
        }
        error *= WIDE_EPSILON / 2;
        w->r[i] = (real)e;
        sums[0] = fma(e, e, sums[0]);
        sums[1] = fma(error, error, sums[1]);
    }
    for (k = 0; k < 2; k++) sums[k] = over_group(w, sums[k]);
    w->residual2 = w->base2 = sums[0];
    w->reached = sqrt(sums[0]) + sqrt(sums[1]) <= sqrt(w->tolerance2);
    w->refreshes++;
    w->stable = 1;
    return w->reached;
}

/* Starts again from the explicit residual: alpha = D'r less what is left of it in the span. */
void correlate(pursuit *w) {
    int i, k;
    for (i = w->lane; i < w->n; i += GROUP) w->alpha[i] = dot_atom(w, i, w->r);
    SYNC();
    for (k = w->lane; k < w->chosen; k += GROUP) w->r[k] = w->alpha[w->atoms[k]]; /* chosen <= p: r has served */
    SYNC();
    project(w, w->r);
    for (i = w->lane; i < w->n; i += GROUP) {
        real a = w->alpha[i];
        for (k = 0; k < w->chosen; k++) a = fma(-w->t[k], w->B[(size_t)k * (size_t)w->padded + (size_t)i], a);
        w->alpha[i] = a;
    }
    SYNC();
}

/* b_k, and alpha without its part along q_k. A single item goes row by row, which a processor's compiler makes vectors of. */
void advance(const pursuit *w, int k, int j, real inverse, real t) {
    __global const real *c = w->L + k * w->stride;
    __global real *b = w->B + (size_t)k * (size_t)w->padded;
    int i, q;
#if GROUP == 1
    for (i = 0; i < w->n; i++) b[i] = gram(w, i, j);
    for (q = 0; q < k; q++) {
        __global const real *row = w->B + (size_t)q * (size_t)w->padded;
        real cq = c[q];
        for (i = 0; i < w->n; i++) b[i] = fma(-cq, row[i], b[i]);
    }
    for (i = 0; i < w->n; i++) b[i] *= inverse, w->alpha[i] = fma(-t, b[i], w->alpha[i]);
    for (i = 0; DISTANCES && i < w->n; i++) w->distance[i] = fma(-b[i] * w->inflation, b[i], w->distance[i]);
#else
    for (i = w->lane; i < w->n; i += GROUP) {
        real v = gram(w, i, j);
        for (q = 0; q < k; q++) v = fma(-c[q], w->B[(size_t)q * (size_t)w->padded + (size_t)i], v);
        v *= inverse;
        b[i] = v;
        w->alpha[i] = fma(-t, v, w->alpha[i]);
        if (DISTANCES) w->distance[i] = fma(-v * w->inflation, v, w->distance[i]);
    }
#endif
    SYNC();
}

/* Every helper is called from one place only: compilers for devices inline them all. */
void pursue(pursuit *w) {
    int fresh = 1;
    while (!w->reached && w->chosen < w->limit) {
        int j = choose(w), k = w->chosen, may_refresh = w->refreshes < REFRESHES, in_doubt;
        real inverse, t;
        if (fresh) w->guard = GUARD_OF(w->alpha[j], w->diagonal[j]);
        fresh = 0;
        if (append(w, j, &inverse, &t)) {
            int decided = standing(w);
            w->reached = decided == BELOW;
            if (w->reached || w->chosen == w->limit) break;
            advance(w, k, j, inverse, t);
            in_doubt = decided == UNSURE;
        } else {
            if (!(w->tolerance2 > 0) || !may_refresh || w->stable) break;
            in_doubt = 1;
        }
        if (!TOLERANT || !in_doubt) continue;
        solve(w);
        if (measure(w) || !may_refresh) continue;
        correlate(w);
        fresh = 1;
    }
}

/* The coefficients. If the tolerance is still in doubt they are refined, twice at most, and the explicit residual settles the
   doubt. With `only_measure` the coefficients are good, and only the residual is asked for. Where the recurrence cannot tell, the
   residual is that of the coefficients as they are stored. */
void finish(pursuit *w, int only_measure) {
    int tries, k;
    for (tries = 0;; tries++) {
        int in_doubt = TOLERANT && !only_measure && tries < 2 && !w->reached && standing(w) != ABOVE;
        const int sure = w->residual2 > TRUST2 * w->base2 && !(w->smallest < SURE);
        const int known = w->refreshes ? w->reached && w->stable : !(w->base2 > 0) || sure;
        if (!only_measure) solve(w);
        if (!in_doubt && known) break;
        if (measure(w) || !in_doubt) break;
        for (k = w->lane; k < w->chosen; k += GROUP) w->alpha[k] = dot_atom(w, w->atoms[k], w->r);
        SYNC();
        project(w, w->alpha);
    }
}

/* A group takes signal after signal; scratch: see shs__cl_general_scratch. With
   `settle` only what the other kernels have left open is coded; that is rare, so a group looks at GROUP signals at a time, and
   forms D'y itself, by the same chain of fma as the matrix product. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
omp_general(ulong first, ulong count, __global const real *restrict alphas, __global const real *restrict G,
            __global const wide *restrict norms2, int limit, __global const int *restrict limits, real tolerance,
            __global const real *restrict tolerances, __global int *restrict used, __global int *restrict atoms,
            __global real *restrict coefs, __global real *restrict errors2, __global int *restrict state,
            __global real *restrict scratch, ulong each, int n, int padded, int p, int stride, __global const real *restrict D,
            __global const real *restrict Y, int settle) {
    __local real sizes[GROUP];
    __local int places[GROUP], open[GROUP];
    __local wide sums[GROUP];
    const size_t look = settle ? GROUP : 1;
    pursuit w;
    size_t base, own;
    int i;
    w.n = n;
    w.padded = padded;
    w.p = p;
    w.stride = stride;
    w.lane = (int)get_local_id(0);
    w.D = D;
    w.G = G;
    w.sizes = sizes;
    w.places = places;
    w.sums = sums;
    w.alpha = scratch + get_group_id(0) * each;
    w.L = w.alpha + padded;
    w.t = w.L + stride * stride;
    w.r = w.t + stride;
    w.B = w.r + max(p, stride);
    w.distance = w.B + (size_t)padded * (size_t)max(stride - 1, 1);
    w.diagonal = w.distance + padded;
    for (i = w.lane; DISTANCES && i < n; i += GROUP) w.diagonal[i] = gram(&w, i, i);
    for (base = get_group_id(0) * look; base < count; base += get_num_groups(0) * look) {
        const size_t end = min((ulong)(base + look), count);
        int mine = 0;
        SYNC();
        if (!settle) mine = DOUBTFUL;
        else if (base + (size_t)w.lane < count) mine = state[first + base + (size_t)w.lane];
        open[w.lane] = mine;
        SYNC();
        for (own = base; own < end; own++) {
            const size_t at = first + own;
            const int task = open[own - base];
            if (!(task & (DOUBTFUL | UNPROVEN))) continue;
            w.y = Y + at * (size_t)p;
            w.x = coefs + at * (size_t)stride;
            w.atoms = atoms + at * (size_t)stride;
            w.limit = limit_of(at, limit, limits);
            w.tolerance2 = tolerance2_of(at, tolerance, tolerances);
            w.base2 = w.residual2 = norms2[at];
            w.refreshes = w.stable = 0;
            w.smallest = 1;
            w.chosen = 0;
            for (i = w.lane; DISTANCES && i < n; i += GROUP) w.distance[i] = w.diagonal[i];
            w.reached = w.tolerance2 > 0 && w.base2 <= w.tolerance2;
            if (task & DOUBTFUL) {
                if (settle)
                    for (i = w.lane; i < n; i += GROUP) w.alpha[i] = dot_atom(&w, i, w.y);
                else
                    for (i = w.lane; i < n; i += GROUP) w.alpha[i] = alphas[own * (size_t)padded + (size_t)i];
                SYNC();
                pursue(&w);
            } else {
                w.chosen = used[at];
                w.residual2 = 0;
            }
            finish(&w, !(task & DOUBTFUL));
            for (i = w.chosen + w.lane; i < stride; i += GROUP) {
                w.atoms[i] = 0;
                w.x[i] = 0;
            }
            if (w.lane == 0) {
                used[at] = w.chosen;
                errors2[at] = (real)w.residual2;
                state[at] = w.tolerance2 > 0 && !w.reached ? UNREACHED : 0;
            }
            SYNC();
        }
    }
}
#endif

/* ================================================================================================================ */
#ifdef OMP_TEAM

/* Atoms side by side that an item takes: compilers for processors make vectors of them. */
#if GROUP == 1
#define WIDTH 16
#else
#define WIDTH 1
#endif

/* What each signal of a team has of its own. */
typedef struct team {
    int count;
    __global const real *Y;       /* p x count */
    __global real *A, *T, *R, *X; /* alpha, padded x count; t and x, stride x count; the residuals, p x count */
} team;

/* The root of the sum of squares; of one value that value's size, to the bit. */
real root_of(wide squares, int count, real only) { return count == 1 ? fabs(only) : (real)sqrt(squares); }

/* alpha of the team. */
void join(const pursuit *w, const team *g) {
    int j, v, i;
    for (j = w->lane * WIDTH; j < w->padded; j += GROUP * WIDTH) {
        wide squares[WIDTH];
        for (v = 0; v < WIDTH; v++) squares[v] = 0;
        for (i = 0; i < g->count; i++) {
            __global const real *alpha = g->A + (size_t)i * (size_t)w->padded + (size_t)j;
            for (v = 0; v < WIDTH; v++) squares[v] = fma((wide)alpha[v], (wide)alpha[v], squares[v]);
        }
        for (v = 0; v < WIDTH; v++) w->alpha[j + v] = root_of(squares[v], g->count, g->A[j + v]);
    }
}

/* b_k, the alpha of all signals without their parts along q_k, and the alpha of the team. */
void advance_team(const pursuit *w, const team *g, int k, int j, real inverse) {
    __global const real *c = w->L + k * w->stride;
    __global real *row = w->B + (size_t)k * (size_t)w->padded;
    int at, v, q, i;
    for (at = w->lane * WIDTH; at < w->padded; at += GROUP * WIDTH) {
        real b[WIDTH], alpha[WIDTH];
        wide squares[WIDTH];
        for (v = 0; v < WIDTH; v++) b[v] = gram(w, at + v, j), squares[v] = 0;
        for (q = 0; q < k; q++)
            for (v = 0; v < WIDTH; v++)
                b[v] = fma(-c[q], w->B[(size_t)q * (size_t)w->padded + (size_t)(at + v)], b[v]);
        for (v = 0; v < WIDTH; v++) {
            b[v] *= inverse;
            row[at + v] = b[v];
            if (DISTANCES) w->distance[at + v] = fma(-b[v] * w->inflation, b[v], w->distance[at + v]);
        }
        for (i = 0; i < g->count; i++) {
            const real t = g->T[(size_t)i * (size_t)w->stride + (size_t)k];
            __global real *own = g->A + (size_t)i * (size_t)w->padded + (size_t)at;
            for (v = 0; v < WIDTH; v++) {
                alpha[v] = own[v] = fma(-t, b[v], own[v]);
                squares[v] = fma((wide)alpha[v], (wide)alpha[v], squares[v]);
            }
        }
        for (v = 0; v < WIDTH; v++) w->alpha[at + v] = root_of(squares[v], g->count, alpha[v]);
    }
}

/* t and a coefficient of 0 for atom j, number k, in every signal. */
void append_team(const pursuit *w, const team *g, int k, int j, real inverse) {
    int i;
    for (i = w->lane; i < g->count; i += GROUP) {
        g->T[(size_t)i * (size_t)w->stride + (size_t)k] = g->A[(size_t)i * (size_t)w->padded + (size_t)j] * inverse;
        g->X[(size_t)i * (size_t)w->stride + (size_t)k] = 0;
    }
}

/* x += inverse(L') t, t = 0, an item a signal; |r|^2 of each by the recurrence, which holds while nothing was
   measured. */
void solve_team(const pursuit *w, const team *g, __global const wide *norms2, __global real *errors2) {
    int i, k, q;
    for (i = w->lane; i < g->count; i += GROUP) {
        __global real *t = g->T + (size_t)i * (size_t)w->stride;
        __global real *x = g->X + (size_t)i * (size_t)w->stride;
        wide left = norms2[i];
        for (k = 0; k < w->chosen; k++) left = fmax(fma(-(wide)t[k], (wide)t[k], left), (wide)0);
        errors2[i] = (real)left;
        for (k = w->chosen - 1; k >= 0; k--) {
            __global const real *row = w->L + k * w->stride;
            const real step = t[k] * row[k];
            for (q = 0; q < k; q++) t[q] = fma(-step, row[q], t[q]);
            x[k] += step;
            t[k] = 0;
        }
    }
    SYNC();
}

/* As in omp_general, of all signals: the residuals for the coefficients as stored, and whether the tolerance is
   reached for certain. The errors of all elements together are at most the root of the sum of their squares. */
int measure_team(pursuit *w, const team *g) {
    const size_t cells = (size_t)w->p * (size_t)g->count;
    wide sums[2] = {0, 0};
    size_t at;
    int k;
    for (at = (size_t)w->lane; at < cells; at += GROUP) {
        __global const real *x = g->X + at / (size_t)w->p * (size_t)w->stride;
        wide e = (wide)g->Y[at], error = 0;
        for (k = 0; k < w->chosen; k++) {
            const wide d = (wide)w->D[(size_t)w->atoms[k] * (size_t)w->p + at % (size_t)w->p];
            e = fma(-(wide)x[k], d, e);
            error += d != 0 ? fabs(e) : 0;
        }
        error *= WIDE_EPSILON / 2;
        g->R[at] = (real)e;
        sums[0] = fma(e, e, sums[0]);
        sums[1] = fma(error, error, sums[1]);
    }
    for (k = 0; k < 2; k++) sums[k] = over_group(w, sums[k]);
    w->residual2 = w->base2 = sums[0];
    w->reached = sqrt(sums[0]) + sqrt(sums[1]) <= sqrt(w->tolerance2);
    w->refreshes++;
    w->stable = 1;
    return w->reached;
}

/* Starts again from the residuals, or, with `refine`, lets the coefficients alone be mended: t = inverse(L) D_I'r,
   an item a signal; |r|^2 without what that takes; alpha = D'r less what is left of it in the span. */
void correlate_team(pursuit *w, const team *g, int refine) {
    const size_t rows = (size_t)(refine ? w->chosen : w->n), cells = rows * (size_t)g->count;
    wide lost = 0;
    size_t at;
    int i, k, q;
    for (at = (size_t)w->lane; at < cells; at += GROUP) {
        const int row = (int)(at % rows), j = refine ? w->atoms[row] : row;
        g->A[at / rows * (size_t)w->padded + (size_t)j] = dot_atom(w, j, g->R + at / rows * (size_t)w->p);
    }
    SYNC();
    for (i = w->lane; i < g->count; i += GROUP) {
        __global real *t = g->T + (size_t)i * (size_t)w->stride;
        for (k = 0; k < w->chosen; k++) {
            real sum = g->A[(size_t)i * (size_t)w->padded + (size_t)w->atoms[k]];
            for (q = 0; q < k; q++) sum = fma(-w->L[k * w->stride + q], t[q], sum);
            t[k] = sum * w->L[k * w->stride + k];
            lost = fma((wide)t[k], (wide)t[k], lost);
        }
    }
    lost = over_group(w, lost);
    w->residual2 = fmax(w->residual2 - lost, (wide)0);
    for (at = (size_t)w->lane; at < cells && !refine; at += GROUP) {
        const size_t own = at / rows * (size_t)w->padded + at % rows;
        __global const real *t = g->T + at / rows * (size_t)w->stride;
        real alpha = g->A[own];
        for (k = 0; k < w->chosen; k++) alpha = fma(-t[k], w->B[(size_t)k * (size_t)w->padded + at % rows], alpha);
        g->A[own] = alpha;
    }
    SYNC();
}

/* The steps of omp_general's pursue. Compilers for processors want the same barriers to be met in every step,
   whether or not an atom was taken. */
void pursue_team(pursuit *w, const team *g, __global const wide *norms2, __global real *errors2) {
    int fresh = 1, going = !w->reached && w->chosen < w->limit;
    while (going) {
        const int may_refresh = w->refreshes < REFRESHES, k = w->chosen;
        int in_doubt = 1, appended, j;
        real inverse, t;
        if (fresh) join(w, g);
        SYNC();
        j = choose(w);
        if (fresh) w->guard = GUARD_OF(w->alpha[j], w->diagonal[j]);
        fresh = 0;
        appended = append(w, j, &inverse, &t);
        if (appended) {
            const int decided = standing(w);
            w->reached = decided == BELOW;
            in_doubt = decided == UNSURE;
            append_team(w, g, k, j, inverse);
        }
        going = appended ? !w->reached && w->chosen < w->limit : w->tolerance2 > 0 && may_refresh && !w->stable;
        SYNC();
        if (appended && going) advance_team(w, g, k, j, inverse);
        SYNC();
        if (!TOLERANT || !going || !in_doubt) continue;
        solve_team(w, g, norms2, errors2);
        if (measure_team(w, g)) going = 0;
        if (!going || !may_refresh) continue;
        correlate_team(w, g, 0);
        fresh = 1;
    }
}

/* The coefficients, refined twice at most where the tolerance is in doubt; and |r|^2 of each signal, formed
   explicitly, an item a signal, where the recurrence cannot tell it. */
void finish_team(pursuit *w, const team *g, __global const wide *norms2, __global real *errors2) {
    int tries, i, k, l;
    for (tries = 0;; tries++) {
        const int in_doubt = TOLERANT && tries < 2 && !w->reached && standing(w) != ABOVE;
        solve_team(w, g, norms2, errors2);
        if (!in_doubt || measure_team(w, g)) break;
        correlate_team(w, g, 1);
    }
    for (i = w->lane; i < g->count && w->chosen > 0; i += GROUP) {
        __global const real *x = g->X + (size_t)i * (size_t)w->stride;
        __global const real *y = g->Y + (size_t)i * (size_t)w->p;
        wide sum = 0, lost = 0;
        if (!w->refreshes && (wide)errors2[i] > TRUST2 * norms2[i] && !(w->smallest < SURE)) continue;
        for (l = 0; l < w->p; l++) {
            wide e = (wide)y[l], term, next;
            for (k = 0; k < w->chosen; k++)
                e = fma(-(wide)x[k], (wide)w->D[(size_t)w->atoms[k] * (size_t)w->p + (size_t)l], e);
            term = fma(e, e, -lost);
            next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
        errors2[i] = (real)sum;
    }
}

/* Teams first .. first+count-1: team g is signals starts[g] .. starts[g+1]-1, and alphas begins with D'y of team `first`. A team's
   first signal has its limit and tolerance, and the state of this signal says whether the team has reached the tolerance. A group
   of items takes team after team; scratch: see shs__cl_team_scratch. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
omp_team(uint first, uint count, __global const uint *restrict starts, __global real *restrict alphas,
         __global const real *restrict G, __global const wide *restrict norms2, int limit,
         __global const int *restrict limits, real tolerance, __global const real *restrict tolerances,
         __global int *restrict used, __global int *restrict atoms, __global real *restrict coefs,
         __global real *restrict errors2, __global int *restrict state, __global real *restrict scratch, ulong each,
         int n, int padded, int p, int stride, __global const real *restrict D, __global const real *restrict Y) {
    __local real sizes[GROUP];
    __local int places[GROUP];
    __local wide sums[GROUP];
    pursuit w;
    team g;
    uint own;
    int i, k;
    w.n = n;
    w.padded = padded;
    w.p = p;
    w.stride = stride;
    w.lane = (int)get_local_id(0);
    w.D = D;
    w.G = G;
    w.sizes = sizes;
    w.places = places;
    w.sums = sums;
    w.alpha = scratch + get_group_id(0) * each;
    w.L = w.alpha + padded;
    w.t = w.L + stride * stride;
    w.B = w.t + stride;
    w.distance = w.B + (size_t)padded * (size_t)max(stride - 1, 1);
    w.diagonal = w.distance + padded;
    g.T = w.distance + (DISTANCES ? 2 * padded : 0);
    for (i = w.lane; DISTANCES && i < padded; i += GROUP) w.diagonal[i] = gram(&w, i, i);
    for (own = first + (uint)get_group_id(0); own < first + count; own += (uint)get_num_groups(0)) {
        const size_t at = starts[own];
        wide norm2 = 0;
        g.count = (int)(starts[own + 1] - starts[own]);
        g.Y = Y + at * (size_t)p;
        g.A = alphas + (at - starts[first]) * (size_t)padded;
        g.R = g.T + (size_t)stride * (size_t)g.count;
        g.X = coefs + at * (size_t)stride;
        w.x = g.X;
        w.atoms = atoms + at * (size_t)stride;
        w.limit = limit_of(at, limit, limits);
        w.tolerance2 = tolerance2_of(at, tolerance, tolerances);
        SYNC(); /* the scratch is free */
        for (i = 0; i < g.count; i++) norm2 += norms2[at + (size_t)i]; /* each item all: no barriers */
        w.base2 = w.residual2 = norm2;
        w.refreshes = w.stable = 0;
        w.smallest = w.inflation = 1;
        w.chosen = 0;
        for (i = w.lane; DISTANCES && i < padded; i += GROUP) w.distance[i] = w.diagonal[i];
        w.reached = w.tolerance2 > 0 && w.base2 <= w.tolerance2;
        pursue_team(&w, &g, norms2 + at, errors2 + at);
        finish_team(&w, &g, norms2 + at, errors2 + at);
        for (i = w.lane; i < g.count; i += GROUP) {
            const size_t to = (at + (size_t)i) * (size_t)stride;
            for (k = 0; k < stride; k++) {
                const int taken = k < w.chosen;
                if (i > 0 || !taken) atoms[to + (size_t)k] = taken ? w.atoms[k] : 0;
                if (!taken) coefs[to + (size_t)k] = 0;
            }
            used[at + (size_t)i] = w.chosen;
            state[at + (size_t)i] = i == 0 && w.tolerance2 > 0 && !w.reached ? UNREACHED : 0;
        }
    }
}
#endif
