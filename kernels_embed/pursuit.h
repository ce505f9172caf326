/* pursuit.h - one signal, or a team of them, on its way through a group of GROUP items, with all its values in global memory: for
   omp_general.cl and omp_team.cl. */

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
    int chosen, limit, confirms, r_is_explicit, reached;
    wide tolerance2, base2, residual2;
    real guard, inflation;
    shares small;
    __global const real *D, *G, *y;
    __global real *alpha, *B, *L, *t, *r, *x; /* L: rows of stride values, 1/d on the diagonal */
    __global real *diagonal, *distance;       /* G_jj and d^2 */
    __global int *atoms;
    __local real *sizes;
    __local int *places;
    __local wide *sums;
} pursuit;

/* What does not change from signal to signal. */
void start(pursuit *w, int n, int padded, int p, int stride, __global const real *D, __global const real *G, __global real *scratch,
           __local real *sizes, __local int *places, __local wide *sums) {
    w->n = n;
    w->padded = padded;
    w->p = p;
    w->stride = stride;
    w->lane = (int)get_local_id(0);
    w->D = D;
    w->G = G;
    w->sizes = sizes;
    w->places = places;
    w->sums = sums;
    w->alpha = scratch;
    w->L = w->alpha + padded;
    w->t = w->L + (size_t)stride * (size_t)stride;
}

/* Row k of L. */
inline __global real *row_of(const pursuit *w, int k) { return w->L + (size_t)k * (size_t)w->stride; }

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
    __global real *c = row_of(w, w->chosen);
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
    take_share(&w->small, d2, gjj);
    w->chosen = k + 1;
    w->r_is_explicit = 0;
    return 1;
}

/* After a refresh only the explicit residual can say that the tolerance is reached: the recurrences err in
   proportion to what is left, the coefficients, as they are stored, in proportion to the signal. */
int standing(const pursuit *w) {
    int stands = verdict(w->residual2, w->base2, w->small, w->tolerance2);
    return stands == BELOW && w->confirms ? UNSURE : stands;
}

/* Whether coefficients at the end are to be refined by the explicit residual, as often as they have been: see shs__omp_is_rough. */
int is_rough(const pursuit *w, int tries, wide fall) {
    if (w->reached) return 0;
    if (TOLERANT && tries < 2 && standing(w) != ABOVE) return 1;
    if (!(w->small.least < SURE) || tries >= SHS__OMP_REFINES) return 0;
    return !w->r_is_explicit || w->residual2 < w->base2 * (1 - fall);
}
