/* test_signals.h - what the suites of sparse coding and dictionary learning share. */
#ifndef SHS_TEST_SIGNALS_H
#define SHS_TEST_SIGNALS_H
#include "test.h"

static inline double inner(int p, const shs_real *x, const shs_real *y) {
    double sum = 0;
    int i;
    for (i = 0; i < p; i++) {
        const double a = (double)x[i], b = (double)y[i];
        sum += a * b;
    }
    return sum;
}

static inline void normalise(int p, int n, shs_real *D) {
    shs_real *atom = D;
    int i, j;
    for (j = 0; j < n; j++) {
        const double norm = sqrt(inner(p, atom, atom));
        for (i = 0; i < p && norm > 0; i++) atom[i] = (shs_real)((double)atom[i] / norm);
        atom += p;
    }
}

/* Golden data in shs_real; the test is skipped without them. */
static inline shs_real *read_golden_reals(const char *name, size_t count) {
    float *x = read_f32_or_skip(golden_path(name), count);
    shs_real *y = new_values(count);
    size_t i;
    for (i = 0; i < count; i++) y[i] = (shs_real)x[i];
    free(x);
    return y;
}

enum { PEAKS = 100, PEAK_SIGNALS = 300 };

/* Atoms that are much alike: peaks of Gauss at equal steps, of unit length (PEAKS x PEAKS). Signals: sums of a tenth of them with a
   little noise. */
static inline void fill_peaks(double width, shs_real *D, shs_real *Y) {
    shs_real *noise = new_normal(PEAKS * PEAK_SIGNALS, 601);
    shs_random r;
    size_t i, j, l;
    for (j = 0; j < PEAKS; j++)
        for (l = 0; l < PEAKS; l++) {
            const double at = ((double)l - (double)j) / (PEAKS - 1) / width;
            D[l + j * PEAKS] = (shs_real)exp(-at * at / 2);
        }
    normalise(PEAKS, PEAKS, D);
    shs_random_seed(&r, 600);
    for (i = 0; i < PEAKS * PEAK_SIGNALS; i++) Y[i] = (shs_real)BY_TYPE(1e-3, 1e-9) * noise[i];
    for (i = 0; i < PEAK_SIGNALS; i++)
        for (j = 0; j < PEAKS; j++) {
            const shs_real x = (shs_real)shs_random_uniform(&r);
            if (shs_random_uniform(&r) >= (shs_wide)0.1) continue;
            for (l = 0; l < PEAKS; l++) Y[l + i * PEAKS] += x * D[l + j * PEAKS];
        }
    free(noise);
}

/* |y - Dx|^2 of code i in double, from the coefficients as stored. */
static inline double code_error2(int p, const shs_real *D, const shs_codes *c, size_t i, const shs_real *y) {
    const size_t P = (size_t)p, first = i * (size_t)c->stride, end = first + (size_t)c->used[i];
    double sum = 0;
    size_t l, at;
    for (l = 0; l < P; l++) {
        double left = (double)y[l];
        for (at = first; at < end; at++) {
            const double d = (double)D[(size_t)c->atoms[at] * P + l], x = (double)c->coefs[at];
            left -= d * x;
        }
        sum += left * left;
    }
    return sum;
}

/* What the atoms of code i leave of y at least: |y|^2 without its parts along them, by Gram and Schmidt in double. */
static inline double least_error2(int p, const shs_real *D, const shs_codes *c, size_t i, const shs_real *y) {
    const size_t P = (size_t)p, used = (size_t)c->used[i];
    double *Q = (double *)malloc((used + 1) * P * sizeof *Q), sum = 0;
    size_t k, j, l;
    for (k = 0; k <= used; k++) {
        const shs_real *from = y;
        double *v = Q + k * P, length = 0;
        int pass;
        if (k < used) from = D + (size_t)c->atoms[i * (size_t)c->stride + k] * P;
        for (l = 0; l < P; l++) v[l] = (double)from[l];
        for (pass = 0; pass < 3; pass++)
            for (j = 0; j < k; j++) {
                double along = 0;
                for (l = 0; l < P; l++) along += Q[j * P + l] * v[l];
                for (l = 0; l < P; l++) v[l] -= along * Q[j * P + l];
            }
        for (l = 0; l < P; l++) length += v[l] * v[l];
        sum = length;
        for (l = 0; l < P; l++) v[l] /= sqrt(length);
    }
    free(Q);
    return sum;
}

#endif
