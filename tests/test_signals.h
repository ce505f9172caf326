/* test_signals.h - what the suites of sparse coding and dictionary learning share. */
#ifndef SHS_TEST_SIGNALS_H
#define SHS_TEST_SIGNALS_H
#include "test.h"

static inline double inner(int p, const shs_real *x, const shs_real *y) {
    double sum = 0;
    int i;
    for (i = 0; i < p; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

static inline void normalise(int p, int n, shs_real *D) {
    int i, j;
    for (j = 0; j < n; j++) {
        double norm = sqrt(inner(p, D + (ptrdiff_t)p * j, D + (ptrdiff_t)p * j));
        for (i = 0; i < p && norm > 0; i++) D[(ptrdiff_t)p * j + i] = (shs_real)((double)D[(ptrdiff_t)p * j + i] / norm);
    }
}

/* Golden data in shs_real; the test is skipped without them. */
static inline shs_real *read_golden_reals(const char *name, size_t count) {
    float *x = read_f32_or_skip(golden_path(name), count);
    shs_real *y = (shs_real *)malloc(count * sizeof *y);
    size_t i;
    for (i = 0; i < count; i++) y[i] = (shs_real)x[i];
    free(x);
    return y;
}

#endif
