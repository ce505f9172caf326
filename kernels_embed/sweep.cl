/* sweep.cl - one FastICA sweep: G = g(W'z) and the sums of g'(W'z); and what sources are rated by.

   A work-group takes 1024 pixels, an item four of them, one direction d after another; sums within the group by a tree in
   local memory, between groups in order (accumulate). G (planes of ld pixels) then meets z in moments.cl: sum z g(w'z).
   Missing pixels have z = -0 (map.cl): they add nothing to that, and by the sign they are left out of the sums of g'.

   W: m x c, a direction a column. The textbook twin is shs_ica_naive. */

#include "device.cl"

/* CONTRAST_name, a name of SHS_CONTRAST_LIST: which g; none: the program rates sources. */
#define ITEMS SHS__CL_ITEMS
#define EACH (SHS__CL_CHUNK_PIXELS / ITEMS)

#if defined(CONTRAST_pow3)
#define CONTRAST
inline real contrast_of(real y, real *slope) { *slope = 3 * y * y; return y * y * y; }
#elif defined(CONTRAST_tanh)
#define CONTRAST
inline real contrast_of(real y, real *slope) { real g = tanh(y); *slope = 1 - g * g; return g; }
#elif defined(CONTRAST_gauss)
#define CONTRAST
inline real contrast_of(real y, real *slope) { real e = exp(-y * y / 2); *slope = (1 - y * y) * e; return y * e; }
#elif defined(CONTRAST_skew)
#define CONTRAST
inline real contrast_of(real y, real *slope) { *slope = 2 * y; return y * y; }
#endif

inline real direction(__global const real *Z, ulong from, ulong ldz, int m, __global const real *w, size_t p) {
    real y = 0;
    int a;
    for (a = 0; a < m; a++) y += w[a] * Z[from + (ulong)a * ldz + p];
    return y;
}

/* By the bits, since -0 == 0. */
inline int present(real z) {
#if REAL_BITS == 64
    return as_long(z) != LONG_MIN;
#else
    return as_int(z) != INT_MIN;
#endif
}

/* The sum of x over the group, valid in item 0. */
inline wide group_sum(wide x, __local wide *add) {
    const int i = (int)get_local_id(0);
    int span;
    barrier(CLK_LOCAL_MEM_FENCE);
    add[i] = x;
    for (span = ITEMS / 2; span > 0; span >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < span) add[i] += add[i + span];
    }
    return add[0];
}

#ifdef CONTRAST
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void contrast(__global const real *Z, ulong from, ulong ldz, int m, __global const real *W, int c, __global real *G, ulong ld,
              __global wide *slopes) {
    __local wide add[ITEMS];
    int d, e;
    for (d = 0; d < c; d++) {
        wide slopes_here = 0;
        for (e = 0; e < EACH; e++) {
            size_t p = get_group_id(0) * (size_t)(ITEMS * EACH) + (size_t)(e * ITEMS) + get_local_id(0);
            real slope, g = contrast_of(direction(Z, from, ldz, m, W + (size_t)d * (size_t)m, p), &slope);
            if (present(Z[from + p])) slopes_here += (wide)slope;
            G[(size_t)d * ld + p] = g;
        }
        slopes_here = group_sum(slopes_here, add);
        if (get_local_id(0) == 0) slopes[get_group_id(0) * (size_t)c + (size_t)d] = slopes_here;
    }
}
#else
/* rates[c * 2 m + d]: sum of y^4 of source d, then, m further, of log cosh y = |y| + log(1 + exp(-2|y|)) - log 2. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void rate(__global const real *Z, ulong from, ulong ldz, int m, __global const real *W, __global wide *rates) {
    __local wide add[ITEMS];
    int d, e;
    for (d = 0; d < m; d++) {
        wide fourth = 0, negentropy = 0;
        for (e = 0; e < EACH; e++) {
            size_t p = get_group_id(0) * (size_t)(ITEMS * EACH) + (size_t)(e * ITEMS) + get_local_id(0);
            real y = direction(Z, from, ldz, m, W + (size_t)d * (size_t)m, p), a = fabs(y);
            fourth += (wide)(y * y) * (wide)(y * y);
            if (a > 0) negentropy += (wide)(a + log1p(exp(-2 * a)) - log((real)2));
        }
        fourth = group_sum(fourth, add);
        if (get_local_id(0) == 0) rates[get_group_id(0) * (size_t)(2 * m) + (size_t)d] = fourth;
        negentropy = group_sum(negentropy, add);
        if (get_local_id(0) == 0) rates[get_group_id(0) * (size_t)(2 * m) + (size_t)(m + d)] = negentropy;
    }
}
#endif
