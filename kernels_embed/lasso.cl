/* lasso.cl: the lasso and the elastic net of many signals, by coordinate descent on alpha = D'y and G = D'D:

       min 1/2 ||y - Dx||^2 + lambda1 ||x||_1 + lambda2/2 ||x||^2

   sparsehs.h takes the coefficients in turn. A step here takes the coefficient whose change lowers the objective most (the rule
   of Gauss and Southwell). To compare all coefficients costs each item VALUES of them. A step waits for a column of G, and this
   rule needs the fewest steps. With a = D'r, the step of coefficient j is

       to x' = soft(a_j + G_jj x_j, lambda1) / (G_jj + lambda2),   by which the objective loses at least
       (G_jj + lambda2) (x' - x_j)^2 / 2,   and a -= (x' - x_j) G_j.

   A group of GROUP items has a signal; a and x are in its registers. Every LOOK steps it forms the duality gap. The host
   forms the gap that it reports anew from the coefficients. So the sums here only have to decide when to stop.

   Its textbook twin is shs_lasso_naive. */

#include "device.cl"

#ifndef N
#define N 256 /* atoms, padded by zero atoms */
#endif
#ifndef GROUP
#define GROUP 32 /* items a group: a power of two, 1 on a processor */
#endif
#ifndef STRIDE
#define STRIDE 16 /* places that a signal has in the codes */
#endif
#ifndef REDUX
#define REDUX 0 /* 1: a group is a warp, which reduces integers in one instruction */
#endif

#pragma OPENCL FP_CONTRACT OFF

#include "sum.h"
#define SUM VECTOR(wide, 4)
SUM_OVER(sum_over, SUM)

#if GROUP > 1
#define SYNC(fence) barrier(fence)
#else
#define SYNC(fence)
#endif
#define VALUES ((N + GROUP - 1) / GROUP)
#define ATOM(v) ((v) * GROUP + item)
#define LOOK 16
#define TURNS 4 /* times that a is formed anew from x, for what the steps have rounded away */
#if IS_CPU
#define UNROLL 4
#else
#define UNROLL VALUES
#endif
#define WORDS ((N + 31) / 32)

/* The smallest atom of those with the largest score, N or above where no score is above 0; every item gets it. */
#if REDUX
uint pick(float score, uint atom, int item, __local ulong *room) {
    uint best, first;
    __asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(best) : "r"(as_uint(score)));
    atom = best != 0 && as_uint(score) == best ? atom : N;
    __asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(first) : "r"(atom));
    return first;
}
#else
uint pick(float score, uint atom, int item, __local ulong *room) {
    ulong key = score > 0 ? ((ulong)as_uint(score) << 32) + (N - atom) : 0; /* floats are ordered as their bits are */
    int width;
    if (GROUP > 1) {
        room[item] = key;
        SYNC(CLK_LOCAL_MEM_FENCE);
        for (width = GROUP / 2; width > 0; width /= 2) {
            if (item < width) room[item] = max(room[item], room[item + width]);
            SYNC(CLK_LOCAL_MEM_FENCE);
        }
        key = room[0];
        SYNC(CLK_LOCAL_MEM_FENCE);
    }
    return N - (uint)key;
}
#endif

real largest_over(real value, int item, __local real *room) {
    int width;
    if (GROUP == 1) return value;
    room[item] = value;
    SYNC(CLK_LOCAL_MEM_FENCE);
    for (width = GROUP / 2; width > 0; width /= 2) {
        if (item < width) room[item] = fmax(room[item], room[item + width]);
        SYNC(CLK_LOCAL_MEM_FENCE);
    }
    value = room[0];
    SYNC(CLK_LOCAL_MEM_FENCE);
    return value;
}

/* The value that bounds theta = t r: signed if coefficients are nonnegative, else its absolute value. */
real bound_of(real value, int nonnegative) { return nonnegative ? value : fabs(value); }

/* Signals from `first` on, a group each, whose D'y is in alphas; from x = 0, or warm from their codes. relative: lambda
   times the signal's own largest |d_j'y|. gap: to be reached, of ||y||^2. A signal with more coefficients than STRIDE is
   left with none. A turn ends with the codes, from which the next forms a anew, until the gap is reached without a step. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
lasso(ulong first, __global const real *restrict alphas, __global const real *restrict G,
      __global const wide *restrict norms2, real lambda, int relative, real lambda2, int nonnegative, real gap, uint steps,
      int warm, __global int *restrict used, __global int *restrict atoms, __global real *restrict coefs) {
    __local SUM sums[GROUP];
    __local ulong keys[GROUP];
    __local real room[GROUP], told[2];
    __local uint marks[WORDS];
    const int item = (int)get_local_id(0);
    const size_t own = get_group_id(0), i = first + own, codes = i * STRIDE;
    __global const real *column, *start = alphas + own * N;
    const wide norm2 = norms2[i];
    real alpha[VALUES], x[VALUES], diagonal[VALUES], inverse[VALUES], root[VALUES];
    real most = 0, high, low;
    uint taken = 0;
    uint before = 1;
    int v, k, total, turn;
#pragma unroll UNROLL
    for (v = 0; v < VALUES; v++) {
        diagonal[v] = ATOM(v) < N ? G[(size_t)ATOM(v) * (N + 1)] : 0;
        inverse[v] = diagonal[v] > 0 ? 1 / (diagonal[v] + lambda2) : 0;
        root[v] = diagonal[v] > 0 ? sqrt(diagonal[v] + lambda2) : 0;
        most = fmax(most, bound_of(ATOM(v) < N ? start[ATOM(v)] : 0, nonnegative));
    }
    most = largest_over(most, item, room);
    high = relative ? lambda * most : lambda;
    low = nonnegative ? -(real)INFINITY : -high;
    total = warm ? used[i] : 0;
    for (turn = 0; turn < TURNS && taken < steps && before != taken; turn++) {
#pragma unroll UNROLL
        for (v = 0; v < VALUES; v++) {
            alpha[v] = ATOM(v) < N ? start[ATOM(v)] : 0;
            x[v] = 0;
        }
        for (k = 0; k < total; k++) {
            const int j = atoms[codes + (size_t)k];
            const real c = coefs[codes + (size_t)k];
            column = G + (size_t)j * N;
#pragma unroll UNROLL
            for (v = 0; v < VALUES; v++) {
                if (ATOM(v) < N) alpha[v] = fma(-c, column[ATOM(v)], alpha[v]);
                if (ATOM(v) == j) x[v] = c;
            }
        }
        before = taken;
        for (; taken < steps; taken++) {
            real score = 0, step = 0;
            uint j = N;
            if ((taken - before) % LOOK == 0) { /* |r|^2 = |y|^2 - x'(D'y + D'r) */
                SUM s = (SUM)(0);
                real largest = 0;
                wide r2, along, t;
#pragma unroll UNROLL
                for (v = 0; v < VALUES; v++) {
                    const wide c = (wide)x[v];
                    if (x[v] != 0) s += (SUM)(fabs(c), c * c, c * (wide)alpha[v], c * (wide)start[ATOM(v)]);
                    largest = fmax(largest, bound_of(alpha[v] - lambda2 * x[v], nonnegative));
                }
                s = sum_over(s, item, GROUP, sums);
                largest = largest_over(largest, item, room);
                r2 = fmax(norm2 - s.z - s.w, (wide)0) + (wide)lambda2 * s.y;
                along = s.z - (wide)lambda2 * s.y;
                t = largest > high ? (wide)high / (wide)largest : 1;
                if (r2 + along < t * r2) t = r2 + along > 0 ? (r2 + along) / r2 : 0;
                if (r2 / 2 * (1 - t) * (1 - t) + (wide)high * s.x - t * along <= (wide)gap * norm2) break;
            }
#pragma unroll UNROLL
            for (v = 0; v < VALUES; v++) {
                const real whole = fma(diagonal[v], x[v], alpha[v]);
                const real move = (whole - fmax(fmin(whole, high), low)) * inverse[v] - x[v];
                const real worth = fabs(move) * root[v];
                if (!(worth > score)) continue;
                score = worth;
                j = (uint)ATOM(v);
                step = worth * root[v] > 4 * (real)SHS__EPS * most ? move : 0; /* the rest is rounding */
            }
            k = (int)j;
            j = pick((float)score, j, item, keys);
            if (j >= N) break;
            if (k == (int)j) told[taken % 2] = step;
            SYNC(CLK_LOCAL_MEM_FENCE);
            step = told[taken % 2];
            if (step == 0) break;
            column = G + (size_t)j * N;
#pragma unroll UNROLL
            for (v = 0; v < VALUES; v++) {
                if (ATOM(v) < N) alpha[v] = fma(-step, column[ATOM(v)], alpha[v]);
                if (ATOM(v) == (int)j) x[v] += step;
            }
        }
        /* Back, by ascending atoms. */
        for (k = item; k < WORDS; k += GROUP) marks[k] = 0;
        SYNC(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#pragma unroll UNROLL
        for (v = 0; v < VALUES; v++)
            if (x[v] != 0) atomic_or(marks + ATOM(v) / 32, 1u << (ATOM(v) & 31));
        SYNC(CLK_LOCAL_MEM_FENCE);
        for (total = k = 0; k < WORDS; k++) total += (int)popcount(marks[k]);
        if (total > STRIDE) {
            total = 0;
            turn = TURNS;
        }
#pragma unroll UNROLL
        for (v = 0; v < VALUES; v++) {
            const uint mask = 1u << (ATOM(v) & 31);
            int place = 0;
            if (x[v] == 0 || !total) continue;
            for (k = 0; k < ATOM(v) / 32; k++) place += (int)popcount(marks[k]);
            place += (int)popcount(marks[ATOM(v) / 32] & (mask - 1));
            atoms[codes + (size_t)place] = ATOM(v);
            coefs[codes + (size_t)place] = x[v];
        }
        SYNC(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    for (k = total + item; k < STRIDE; k += GROUP) {
        atoms[codes + (size_t)k] = 0;
        coefs[codes + (size_t)k] = 0;
    }
    if (item == 0) used[i] = total;
}
