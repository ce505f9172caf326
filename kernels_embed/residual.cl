/* residual.cl: E = Y - DX and its squares; lengths of signals; sums over all signals.
   `residual` is what shs_ksvd_naive calls E. */

#include "device.cl"

#ifndef LANES
#define LANES 32 /* work-items that share a signal; 1 on a processor */
#endif
#ifndef ROWS
#define ROWS 8 /* signals that a group has in hand */
#endif
#ifndef STRIDE
#define STRIDE 8 /* places that a signal has in the codes */
#endif

#pragma OPENCL FP_CONTRACT OFF

#include "sum.h"
SUM_OVER(sum_over, wide)
/* Over the items that share a signal. */
#define over_lanes(value, room) sum_over(value, (int)get_local_id(0), LANES, (room) + (int)get_local_id(1) * LANES)

/* Item (l, i) computes rows l, l + LANES, .. of column i: neighbours read and write neighbours, the atoms and coefficients are
   the same for all of them and come from the cache, and D is small enough to stay in it. squares[i] = ||y - Dx||^2. */
__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void residual(ulong m, int p, __global const real *restrict Y,
                                                                             __global const real *restrict D,
                                                                             __global const int *restrict used,
                                                                             __global const int *restrict atoms,
                                                                             __global const real *restrict coefs,
                                                                             __global real *restrict E,
                                                                             __global wide *restrict squares) {
    __local wide room[LANES * ROWS];
    size_t i = get_global_id(1), column = i * (size_t)p, at = i * STRIDE;
    int count = i < m ? used[i] : 0, r, k;
    wide sum = 0;
    for (r = (int)get_local_id(0); i < m && r < p; r += LANES) {
        real e = Y[column + (size_t)r];
        for (k = 0; k < count; k++)
            e = fma(-coefs[at + (size_t)k], D[(size_t)atoms[at + (size_t)k] * (size_t)p + (size_t)r], e);
        E[column + (size_t)r] = e;
        sum = fma((wide)e, (wide)e, sum);
    }
    sum = over_lanes(sum, room);
    if (i < m && get_local_id(0) == 0) squares[i] = sum;
}

/* The exponent of a number; infinity and NaN have the one above all others. By bits, since a device may take subnormal numbers
   for 0. */
#if REAL_BITS == 64
#define EXPONENT_MOST 1023
#define EXPONENT(x) ((int)(as_ulong(x) >> 52 & 2047) - EXPONENT_MOST)
#define IS_ZERO(x) ((as_ulong(x) << 1) == 0)
#else
#define EXPONENT_MOST 127
#define EXPONENT(x) ((int)(as_uint(x) >> 23 & 255) - EXPONENT_MOST)
#define IS_ZERO(x) ((as_uint(x) << 1) == 0)
#endif

/* ||y||^2 of signals first .. first+count-1. found[0] is set where one holds NaN or infinity, found[1] where the exponent of its
   largest value is beyond -room .. room. */
__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void lengths(ulong first, ulong count, int p, int room_of_y,
                                                                            __global const real *restrict Y,
                                                                            __global wide *restrict squares,
                                                                            __global int *restrict found) {
    __local wide room[LANES * ROWS];
    size_t i = get_global_id(1), column = (first + i) * (size_t)p;
    wide sum = 0, seen = 0; /* of all lanes: up to LANES if they saw small values only, more if one saw a value in the room */
    int r;
    for (r = (int)get_local_id(0); i < count && r < p; r += LANES) {
        real y = Y[column + (size_t)r];
        sum = fma((wide)y, (wide)y, sum);
        if (EXPONENT(y) > EXPONENT_MOST) found[0] = 1;
        if (EXPONENT(y) > room_of_y) found[1] = 1;
        if (EXPONENT(y) >= -room_of_y) seen = LANES + 1;
        else if (!IS_ZERO(y)) seen = fmax(seen, (wide)1);
    }
    sum = over_lanes(sum, room);
    seen = over_lanes(seen, room);
    if (i >= count || get_local_id(0) > 0) return;
    squares[first + i] = sum;
    if (seen > 0 && seen <= LANES) found[1] = 1;
}

/* ---- sums over all signals ---------------------------------------------------------------------------------------- */

#define TEAM SHS__CL_SUM_ITEMS

/* The host always launches the same number of groups, so that the order of the additions is fixed. */
#define over_team(value, room) sum_over(value, (int)get_local_id(0), TEAM, room)

__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void sum_squares(ulong m, __global const wide *restrict squares,
                                                                            __global wide *restrict sums) {
    __local wide room[TEAM];
    size_t i;
    wide sum = 0;
    for (i = get_global_id(0); i < m; i += get_global_size(0)) sum += squares[i];
    sum = over_team(sum, room);
    if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
}

/* Each group sums the errors of its signals and counts coefficients and unreached tolerances. With `look` it also counts
   coefficients that are not finite. */
__kernel __attribute__((reqd_work_group_size(TEAM, 1, 1))) void tally(ulong m, int look, __global const real *restrict errors2,
                                                                      __global const int *restrict used,
                                                                      __global const int *restrict state,
                                                                      __global const real *restrict coefs,
                                                                      __global wide *restrict sums,
                                                                      __global ulong *restrict counts) {
    __local wide room[TEAM];
    __local ulong tallies[TEAM][3];
    ulong nonzeros = 0;
    ulong not_reached = 0;
    ulong infinite = 0;
    wide sum = 0;
    size_t i;
    int id = (int)get_local_id(0), q, k;
    for (i = get_global_id(0); i < m; i += get_global_size(0)) {
        sum += (wide)errors2[i];
        nonzeros += (ulong)used[i];
        not_reached += (ulong)(state[i] & SHS__CL_UNREACHED);
        for (k = 0; look && k < used[i]; k++) infinite += EXPONENT(coefs[i * STRIDE + (size_t)k]) > EXPONENT_MOST ? 1 : 0;
    }
    tallies[id][0] = nonzeros;
    tallies[id][1] = not_reached;
    tallies[id][2] = infinite;
    sum = over_team(sum, room);
    if (id > 0) return;
    for (q = 1; q < TEAM; q++) {
        nonzeros += tallies[q][0];
        not_reached += tallies[q][1];
        infinite += tallies[q][2];
    }
    sums[get_group_id(0)] = sum;
    counts[3 * get_group_id(0)] = nonzeros;
    counts[3 * get_group_id(0) + 1] = not_reached;
    counts[3 * get_group_id(0) + 2] = infinite;
}
