/* omp_general.cl - matching pursuit (omp.h) of whatever size, by a group of GROUP items, which takes signal after signal.

   alpha, b_k and L lie in its scratch in global memory. Any n and s, with a Gram matrix or without, and the only coder that forms
   the explicit residual. Processors run it with GROUP 1: a compiler vectorises the loops over rows of b. It runs if none of the
   others fits. With `settle` it codes the signals that other coders left open. */

#include "device.cl"

#ifndef GROUP
#define GROUP 64 /* items a group: a power of two */
#endif
#ifndef USE_GRAM
#define USE_GRAM 1 /* 0: elements of G are formed as they are needed */
#endif

#include "omp.h"
#include "pursuit.h"

/* x += inverse(L') t, t = 0. */
void solve(pursuit *w) {
    int k, i;
    for (k = w->chosen - 1; k >= 0; k--) {
        __global const real *row = row_of(w, k);
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
        real t = a[k] * row_of(w, k)[k];
        SYNC();
        for (i = k + 1 + w->lane; i < w->chosen; i += GROUP) a[i] = fma(-row_of(w, i)[k], t, a[i]);
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
    w->confirms++;
    w->r_is_explicit = 1;
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
    __global const real *c = row_of(w, k);
    __global real *b = w->B + (size_t)k * (size_t)w->padded;
    int i, q;
#if GROUP == 1
    for (i = 0; i < w->n; i++) b[i] = gram(w, i, j);
    for (q = 0; q < k; q++) {
        __global const real *row = w->B + (size_t)q * (size_t)w->padded;
        real cq = c[q];
        for (i = 0; i < w->n; i++) b[i] = fma(-cq, row[i], b[i]);
    }
    for (i = 0; i < w->n; i++) {
        b[i] *= inverse;
        w->alpha[i] = fma(-t, b[i], w->alpha[i]);
    }
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
        int j = choose(w), k = w->chosen, may_refresh = w->confirms < REFRESHES, in_doubt;
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
            if (!(w->tolerance2 > 0) || !may_refresh || w->r_is_explicit) break;
            in_doubt = 1;
        }
        if (!TOLERANT || !in_doubt) continue;
        solve(w);
        if (measure(w) || !may_refresh) continue;
        correlate(w);
        fresh = 1;
    }
}

/* L of atoms that another coder has chosen, to the bit as append makes it, and t = 0. */
void factor(pursuit *w, int count) {
    int k, q, i;
    for (k = 0; k < count; k++) {
        const int j = w->atoms[k];
        __global real *c = row_of(w, k);
        const real gjj = gram(w, j, j);
        real d2 = gjj;
        for (q = w->lane; q < k; q += GROUP) c[q] = gram(w, j, w->atoms[q]);
        SYNC();
        for (q = 0; q < k; q++) {
            const real known = c[q] * row_of(w, q)[q];
            SYNC();
            for (i = q + 1 + w->lane; i < k; i += GROUP) c[i] = fma(-row_of(w, i)[q], known, c[i]);
            if (w->lane == 0) c[q] = known;
            SYNC();
            d2 = fma(-known, known, d2);
        }
        if (w->lane == 0) {
            c[k] = INVERSE_ROOT(d2);
            w->t[k] = 0;
        }
        take_share(&w->small, d2, gjj);
        SYNC();
    }
    w->chosen = count;
}

/* The coefficients, refined where they are rough; the explicit residual then settles what the recurrence leaves in doubt. With
   `only_measure` the coefficients are good, and only the residual is asked for. Where the recurrence cannot tell, the residual is
   that of the coefficients as they are stored. */
void finish(pursuit *w, int only_measure) {
    int tries, k;
    for (tries = 0;; tries++) {
        const int rough = !only_measure && is_rough(w, tries, SHS__OMP_FALL);
        const int sure = w->residual2 > TRUST2 * w->base2 && !(w->small.least < SURE);
        int known = sure || !(w->base2 > 0);
        if (w->confirms) known = w->reached && w->r_is_explicit;
        if (!only_measure) solve(w);
        if (!rough && known) break;
        if (measure(w) || !rough) break;
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
    start(&w, n, padded, p, stride, D, G, scratch + get_group_id(0) * each, sizes, places, sums);
    w.r = w.t + stride;
    w.B = w.r + max(p, stride);
    w.distance = w.B + (size_t)padded * (size_t)max(stride - 1, 1);
    w.diagonal = w.distance + padded;
    for (i = w.lane; DISTANCES && i < n; i += GROUP) w.diagonal[i] = length2_of(gram(&w, i, i));
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
            if (!(task & (DOUBTFUL | UNPROVEN | ROUGH))) continue;
            w.y = Y + at * (size_t)p;
            w.x = coefs + at * (size_t)stride;
            w.atoms = atoms + at * (size_t)stride;
            w.limit = limit_of(at, limit, limits);
            w.tolerance2 = tolerance2_of(at, tolerance, tolerances);
            w.base2 = w.residual2 = norms2[at];
            w.confirms = w.r_is_explicit = 0;
            w.small = whole_shares();
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
            } else if (task & ROUGH) {
                factor(&w, used[at]);
                w.residual2 = errors2[at];
            } else {
                w.chosen = used[at];
                w.residual2 = 0;
            }
            finish(&w, !(task & (DOUBTFUL | ROUGH)));
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
