/* omp.h - orthogonal matching pursuit in the Gram domain: the codes of many signals from alpha = D'y and G = D'D. What all coders
   share: the rule of choice, the tolerance, and what is said of a signal in the end.

   With q_k the k-th orthonormalised atom and b_k = D'q_k, choosing atom j gives

       c_i = b_i[j] (i < k),  d^2 = G_jj - sum c_i^2,  b_k = (G_j - sum c_i b_i) / d,  t_k = alpha_j / d,
       alpha -= t_k b_k,  |r|^2 -= t_k^2;   (c_1 .. c_{k-1}, d) is row k of L, and L'x = t gives the coefficients.

   Each coder is a kernel in a file of its own. The caller names one (shs_cl_options.coder), or the host chooses
   (shs__cl_choose_coder):

       omp_warp     a warp of 32 items a signal: GPUs, where n <= 1024, s <= 32 and L with the rows of b fits the local memory
       omp_item     one item a signal: the plainest; the tests compare the others with it
       omp_group    a group of items a signal, alpha in registers: dictionaries too large for omp_warp
       omp_general  a group of items a signal, everything in global memory: any n and s. With `settle` omp_general codes
                    the signals that the first three left open
       omp_team     a group of items for signals that share their atoms (simultaneous OMP)

   All of them write zeros to the unused places of a signal's codes.

   The first four do the same operations on the same values in the same order: every product is an fma, every reduction takes the
   largest or the first. So on one device they give the same bits. A team of one signal gets the codes of that signal.

   What the recurrences cannot decide, the first three mark in state[] (UNREACHED, DOUBTFUL, UNPROVEN, ROUGH: see contract.h), and
   omp_general settles it.

   Their textbook twins are shs_omp_naive and shs_somp_naive. */

#ifndef TOLERANT
#define TOLERANT 1 /* 0: no signal has a tolerance, and code for tolerances is left out */
#endif
#ifndef BY_SQRT
#define BY_SQRT 0 /* 1: rsqrt gives other bits in one kernel than in another (Intel's, in vectors of items and in single ones) */
#endif

#pragma OPENCL FP_CONTRACT OFF

#define WARP SHS__CL_WARP_ITEMS
#define UNREACHED SHS__CL_UNREACHED
#define DOUBTFUL SHS__CL_DOUBTFUL
#define UNPROVEN SHS__CL_UNPROVEN
#define ROUGH SHS__CL_ROUGH
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

/* G_jj as rules of choice take it: an atom whose squared length is subnormal is not to be chosen. See shs__omp_has_length. */
#ifdef SPARSEHS_DOUBLE
#define SMALLEST DBL_MIN
#else
#define SMALLEST FLT_MIN
#endif
real length2_of(real gjj) {
    if (gjj >= SMALLEST) return gjj;
    return 0;
}

/* How much larger than they are the squares of b_k may be, at 1, where its atom had d^2 and at least `left` of it: see
   shs__omp_append_gram. */
real inflation_of(real gjj, real d2, real left) {
    const real wrong = 2 * (8 * (real)SHS__EPS * gjj + (d2 - left)) / d2;
    if (wrong > GUARD) return 1 + wrong;
    return 1;
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

/* The three smallest d^2 / G_jj of the chosen atoms. */
typedef struct shares {
    real least, second, third;
} shares;

shares whole_shares(void) {
    shares s;
    s.least = 1;
    s.second = 1;
    s.third = 1;
    return s;
}

/* Without a tolerance nobody asks for more than the least. */
void take_share(shares *s, real d2, real gjj) {
    real share;
    if (!TOLERANT) {
        if (d2 < s->least * gjj) s->least = d2 / gjj;
        return;
    }
    if (!(d2 < s->third * gjj)) return;
    share = d2 / gjj;
    s->third = share;
    if (share < s->second) {
        s->third = s->second;
        s->second = share;
    }
    if (share < s->least) {
        s->second = s->least;
        s->least = share;
    }
}

/* Where the recurrence stands: its error is below 8 eps |r|^2 (when that was last exact) over the product of the shares, and more
   where the least is below SURE: each division by a small d enlarges the errors of those before. */
int verdict(wide residual2, wide base2, shares s, wide tolerance2) {
    const wide together = (wide)s.least * (wide)s.second * (wide)s.third;
    const wide slack = 8 * EPSILON * base2 / together;
    if (!(tolerance2 > 0)) return ABOVE;
    if (residual2 + slack <= tolerance2 && !(s.least < SURE)) return BELOW;
    if (residual2 - slack > tolerance2 && residual2 > TRUST2 * base2) return ABOVE;
    return UNSURE;
}

/* What is said of signal i, which ended with k atoms. */
void conclude(size_t i, int k, wide residual2, wide base2, shares s, int missed, int flags, __global int *used,
              __global real *errors2, __global int *state) {
    if (missed) flags |= UNREACHED;
    if (base2 > 0 && s.least < SURE) flags |= ROUGH;
    else if (base2 > 0 && residual2 <= TRUST2 * base2) flags |= UNPROVEN;
    used[i] = k;
    errors2[i] = (real)residual2;
    state[i] = flags;
}

int limit_of(size_t i, int limit, __global const int *limits) { return limits ? min(limits[i], limit) : limit; }

/* Squared; 0: none. A tolerance whose square underflows is one all the same. */
wide tolerance2_of(size_t i, real tolerance, __global const real *tolerances) {
    const wide t = (wide)(tolerances ? tolerances[i] : tolerance);
    if (!TOLERANT || !(t > 0)) return 0;
    return fmax(t * t, WIDE_LEAST);
}
