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

#endif
