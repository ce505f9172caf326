/* compact.cl: rounds the coefficients of many signals to numbers of few bits, by the steps of shs_codes_round.

   One work-item has a signal. With the Cholesky factor G = LL' of its atoms, in the order of |x|, ||D e||^2 = ||L'e||^2 is a
   sum over the rows of L'. The last coefficient of the order is rounded first. Each earlier coefficient is
   first fitted to the rounded ones, by making its row 0, and then rounded (Babai 1986). The item tries each of
   SHS__CC_SCALES scales, and once no fit, and keeps the best. At the end it rounds anew by the best, so that it has room for one
   factor only:

       room   L (lower triangle, by rows) | errors | order          MOST (MOST + 1) / 2 + MOST + MOST values

   in local memory, or in global memory where local memory is too small. Neighbouring values of an item lie `pitch` apart, so that
   neighbouring items read neighbouring values.

   Numbers of the type are exact on every device: which multiple of a scale is the nearest is told by products that are exact
   in float (an odd number of 16 bits times a scale of 8), not by a quotient, whose last bit differs. Without doubles the sums
   are in float, and a fit is taken only where it is better by more than the error of the sums. The result is then never worse
   than rounding each coefficient to the nearest number, but may be that where a fit was better.

   Its textbook twin is shs_codes_round_naive. */

#include "device.cl"

#ifndef TYPE
#define TYPE 0 /* shs_coef_type: 0 i8, 1 i16, 2 half precision */
#endif
#ifndef MOST
#define MOST 8 /* atoms of a signal at most */
#endif
#ifndef LOCAL
#define LOCAL 1 /* 1: the room of an item is in local memory */
#endif
#ifndef ITEMS
#define ITEMS 32 /* of a group */
#endif
#ifndef GRAM
#define GRAM 1 /* 1: products of atoms come from the Gram matrix, 0: from the dictionary */
#endif

#pragma OPENCL FP_CONTRACT OFF

#if LOCAL
#define ROOM __local
#else
#define ROOM __global
#endif
#define LARGEST (TYPE == 0 ? 127 : 32767)
#define TRIALS (TYPE == 2 ? 1 : SHS__CC_SCALES)
#define TRIANGLE (MOST * (MOST + 1) / 2)

/* What an item needs to round its signal. */
typedef struct {
    ROOM wide *factor, *error; /* element e at e * pitch */
    ROOM int *order;
    size_t pitch;
    int used;
    __global real *x;
} signal;

#define FACTOR(s, i, k) (s)->factor[(size_t)((i) * ((i) + 1) / 2 + (k)) * (s)->pitch]
#define ERROR(s, i) (s)->error[(size_t)(i) * (s)->pitch]
#define ORDER(s, i) (s)->order[(size_t)(i) * (s)->pitch]

/* A scale is a bfloat16. */
real scale_value(uint bits) { return (real)as_float(bits << 16); }

/* The number of the type that is nearest to |x|, the even one of two, with the sign of x. */
real number_of(real scale, real x) {
    const real a = fabs(x);
    real value, unit = scale, inverse = 1;
    int k;
    if (TYPE == 2) { /* units of the last place double from 2^-13 on */
        const real held = fmin(a, (real)65504);
        unit = (real)SHS__CC_HALF_UNIT;
        inverse = (real)(1 / SHS__CC_HALF_UNIT);
        while (held >= 2048 * unit) {
            unit *= 2;
            inverse /= 2;
        }
        k = (int)(held * inverse);
        k += held * inverse - (real)k > (real)0.5f || (held * inverse - (real)k >= (real)0.5f && (k & 1));
    } else if (!(scale > 0)) {
        k = 0;
    } else if (a < LARGEST * scale) {
        real middle;
        k = (int)(a / scale);
        middle = ((real)k + (real)0.5f) * scale;
        k += a > middle || (a >= middle && (k & 1));
    } else {
        k = LARGEST;
    }
    if (TYPE != 2 && k > 0 && (real)k * unit >= (real)SHS__CC_LIMIT(TYPE)) k--; /* rounded up */
    value = (real)k * unit;
    if (TYPE != 2 && k == 0) return 0; /* an integer has no -0 */
    return x < 0 ? -value : value;
}

/* What becomes of a coefficient x that shall be `wanted` now. */
real rounded_to(real scale, real x, wide wanted) {
    const wide a = fabs(wanted);
    const real near = a < (wide)SHS__CC_LIMIT(TYPE) ? (real)a : (real)SHS__CC_LIMIT(TYPE);
    if ((x < 0) != (wanted < 0) || !(x < 0 || x > 0)) return 0;
    return number_of(scale, x < 0 ? -near : near);
}

/* The bits of the scale; see shs__cc_scale. */
uint scale_of(const signal *s, int *exact) {
    real most = 0;
    uint least = 0, bits;
    int k;
    for (k = 0; k < s->used; k++) most = fmax(most, fabs(s->x[k]));
    if (TYPE != 2 && most > 0) {
        least = as_uint((float)(most / LARGEST)) >> 16;
        least = least > 0x80 ? least : 0x80;
        while (LARGEST * scale_value(least) < most) least++;
    }
    for (bits = least; bits < least + 4 + SHS__CC_SCALES; bits++) {
        const real scale = scale_value(bits);
        for (k = 0; k < s->used && number_of(scale, s->x[k]) == s->x[k];) k++;
        *exact = k == s->used;
        if (*exact || least == 0) return bits;
    }
    return least;
}

/* Smallest first; of equal ones the first becomes the last. */
void sort(const signal *s) {
    int k, q;
    for (k = 0; k < s->used; k++) {
        const real a = fabs(s->x[k]);
        for (q = k; q > 0 && fabs(s->x[ORDER(s, q - 1)]) >= a; q--) ORDER(s, q) = ORDER(s, q - 1);
        ORDER(s, q) = k;
    }
}

/* The product of two atoms. */
wide product_of(__global const real *restrict D, int p, int ldd, int a, int b) {
#if GRAM
    return (wide)D[(size_t)a * (size_t)ldd + (size_t)b];
#else
    wide sum = 0;
    int l;
    for (l = 0; l < p; l++) sum += (wide)D[(size_t)a * (size_t)ldd + (size_t)l] * (wide)D[(size_t)b * (size_t)ldd + (size_t)l];
    return (wide)(real)sum;
#endif
}

/* L; whether no atom depends on others. */
int factorise(const signal *s, __global const int *atoms, __global const real *restrict D, int p, int ldd) {
    int i, j, k;
    for (i = 0; i < s->used; i++) {
        const int atom = atoms[ORDER(s, i)];
        for (j = 0; j <= i; j++) {
            const wide g = product_of(D, p, ldd, atom, atoms[ORDER(s, j)]);
            wide d = g;
            for (k = 0; k < j; k++) d -= FACTOR(s, i, k) * FACTOR(s, j, k);
            if (j < i) d /= FACTOR(s, j, j);
            else if (!(d < (wide)INFINITY && d > (wide)SHS__OMP_GUARD * g)) return 0;
            else d = sqrt(d);
            FACTOR(s, i, j) = d;
        }
    }
    return 1;
}

/* Rounds the signal with a scale, and returns ||D e||^2; into x itself where `keep` says so. Without doubles *doubt is what that
   may be wrong by: products of atoms and the factor are rounded, by few units of |d_i| |d_j| each. */
wide round_by(const signal *s, real scale, int fit, int dependent, int keep, wide *doubt) {
    wide sum = 0, length = 0;
    int i, k;
    for (i = s->used - 1; i >= 0; i--) {
        const int at = ORDER(s, i);
        const real x = s->x[at];
        wide behind = 0, wanted = (wide)x, error;
        real z;
        for (k = i + 1; k < s->used && !dependent; k++) behind += FACTOR(s, k, i) * ERROR(s, k);
        if (fit) wanted += behind / FACTOR(s, i, i);
        z = rounded_to(scale, x, wanted);
        error = (wide)x - (wide)z;
        ERROR(s, i) = error;
        if (!dependent) behind += FACTOR(s, i, i) * error;
        sum += behind * behind;
        if (keep) s->x[at] = z;
        if (!HAS_DOUBLE && !dependent && !keep) {
            wide norm2 = 0;
            for (k = 0; k <= i; k++) norm2 += FACTOR(s, i, k) * FACTOR(s, i, k);
            length += sqrt(norm2) * fabs(error);
        }
    }
    *doubt = HAS_DOUBLE ? 0 : (2 * MOST + 8) * SHS__WIDE_EPS * length * length;
    return sum;
}

void round_signal(const signal *s, __global const int *atoms, __global const real *restrict D, int p, int ldd) {
    int exact, dependent, fit = 0;
    uint least = scale_of(s, &exact);
    uint bits;
    uint best = least;
    wide best2, error2, doubt, other;
    if (exact) return;
    sort(s);
    dependent = !factorise(s, atoms, D, p, ldd);
    best2 = round_by(s, scale_value(least), 0, dependent, 0, &doubt);
    for (bits = least; !dependent && bits < least + TRIALS; bits++) {
        error2 = round_by(s, scale_value(bits), 1, 0, 0, &other);
        if (!(error2 + (HAS_DOUBLE ? 0 : doubt + other) < best2)) continue;
        best2 = error2;
        doubt = other;
        best = bits;
        fit = 1;
    }
    round_by(s, scale_value(best), fit, dependent, 1, &other);
}

/* Signals 0 .. count-1, whose codes are MOST apart. D: the Gram matrix, columns ldd apart, or the dictionary (p rows). */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
round_codes(ulong count, __global const int *restrict used, __global const int *restrict atoms, __global real *restrict coefs,
            __global const real *restrict D, int p, int ldd, __global wide *restrict factors, __global int *restrict orders) {
    const size_t items = get_global_size(0);
    size_t i = get_global_id(0);
    signal s;
#if LOCAL
    __local wide factor[(TRIANGLE + MOST) * ITEMS];
    __local int order[MOST * ITEMS];
    s.factor = factor + get_local_id(0);
    s.order = order + get_local_id(0);
    s.pitch = ITEMS;
#else
    s.factor = factors + i;
    s.order = orders + i;
    s.pitch = items;
#endif
    s.error = s.factor + (size_t)TRIANGLE * s.pitch;
    for (; i < count; i += items) {
        s.used = used[i];
        s.x = coefs + i * MOST;
        round_signal(&s, atoms + i * MOST, D, p, ldd);
    }
}
