/* omp_team.cl - simultaneous matching pursuit (omp.h) by a group of GROUP items a team: a group of signals that share their atoms.
   The items take one team after another.

   L, the b_k and d^2 follow from the atoms alone, so a team has them once, in scratch in global memory; alpha, t and x are each
   signal's own. An item that holds b_k[j] takes t_i b_k[j] out of alpha_i[j] of every signal i, and on the way adds the squares of
   what is left: the next choice reads their root as the alpha of the team. A step moves c n values for c signals, and k n for
   b_k. */

#include "device.cl"

#ifndef GROUP
#define GROUP 64 /* items a group: a power of two */
#endif
#ifndef USE_GRAM
#define USE_GRAM 1 /* 0: elements of G are formed as they are needed */
#endif

#include "omp.h"
#include "pursuit.h"

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
    __global const real *c = row_of(w, k);
    __global real *row = w->B + (size_t)k * (size_t)w->padded;
    int at, v, q, i;
    for (at = w->lane * WIDTH; at < w->padded; at += GROUP * WIDTH) {
        real b[WIDTH], alpha[WIDTH];
        wide squares[WIDTH];
        for (v = 0; v < WIDTH; v++) {
            b[v] = gram(w, at + v, j);
            squares[v] = 0;
        }
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
            __global const real *row = row_of(w, k);
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
    w->confirms++;
    w->r_is_explicit = 1;
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
            __global const real *row = row_of(w, k);
            real sum = g->A[(size_t)i * (size_t)w->padded + (size_t)w->atoms[k]];
            for (q = 0; q < k; q++) sum = fma(-row[q], t[q], sum);
            t[k] = sum * row[k];
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
        const int may_refresh = w->confirms < REFRESHES, k = w->chosen;
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
        if (appended) going = !w->reached && w->chosen < w->limit;
        else going = w->tolerance2 > 0 && may_refresh && !w->r_is_explicit;
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

/* The coefficients, refined where they are rough and signals have tolerances (else omp_general refines each); and |r|^2 of each
   signal, formed explicitly, an item a signal, where the recurrence cannot tell it. */
void finish_team(pursuit *w, const team *g, __global const wide *norms2, __global real *errors2) {
    int tries, i, k, l;
    for (tries = 0;; tries++) {
        const int rough = TOLERANT && is_rough(w, tries, SHS__OMP_TEAM_FALL);
        solve_team(w, g, norms2, errors2);
        if (!rough || measure_team(w, g)) break;
        correlate_team(w, g, 1);
    }
    for (i = w->lane; i < g->count && w->chosen > 0; i += GROUP) {
        __global const real *x = g->X + (size_t)i * (size_t)w->stride;
        __global const real *y = g->Y + (size_t)i * (size_t)w->p;
        wide sum = 0, lost = 0;
        if (!w->confirms && (wide)errors2[i] > TRUST2 * norms2[i] && !(w->small.least < SURE)) continue;
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
    start(&w, n, padded, p, stride, D, G, scratch + get_group_id(0) * each, sizes, places, sums);
    w.B = w.t + stride;
    w.distance = w.B + (size_t)padded * (size_t)max(stride - 1, 1);
    w.diagonal = w.distance + padded;
    g.T = w.distance + (DISTANCES ? 2 * padded : 0);
    for (i = w.lane; DISTANCES && i < padded; i += GROUP) w.diagonal[i] = length2_of(gram(&w, i, i));
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
        w.confirms = w.r_is_explicit = 0;
        w.small = whole_shares();
        w.inflation = 1;
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
            if (TOLERANT) state[at + (size_t)i] = i == 0 && w.tolerance2 > 0 && !w.reached ? UNREACHED : 0;
            else state[at + (size_t)i] = w.small.least < SURE ? ROUGH : 0;
        }
    }
}
