/* test_codes.h - codes to be rounded, and what rounding adds: for test_compact.c and test_cl_compact.c. */
#ifndef SHS_TEST_CODES_H
#define SHS_TEST_CODES_H

static const shs_coef_type coef_types[] = {SHS_COEF_I8, SHS_COEF_I16, SHS_COEF_F16};

/* Codes of `used` atoms each, or of up to `stride` where that is negative; coefficients spread over a few powers of 2. */
static inline shs_codes some_codes(size_t m, int stride, int n, int used, double unit, uint64_t seed) {
    shs_codes codes = SHS_ZERO;
    shs_random r;
    size_t i;
    int k;
    shs_random_seed(&r, seed);
    assert_ok(shs_codes_create(NULL, m, stride, &codes));
    for (i = 0; i < m; i++) {
        int *atoms = codes.atoms + i * (size_t)stride, *order = (int *)malloc((size_t)n * sizeof *order);
        for (k = 0; k < n; k++) order[k] = k;
        codes.used[i] = used < 0 ? (int)shs_random_below(&r, (uint64_t)stride + 1) : used;
        for (k = 0; k < codes.used[i]; k++) { /* none twice, where there are as many */
            int at = k < n ? k + (int)shs_random_below(&r, (uint64_t)(n - k)) : k % n, other = order[at];
            if (k < n) {
                order[at] = order[k];
                order[k] = other;
            }
            atoms[k] = other;
            codes.coefs[i * (size_t)stride + (size_t)k] = (shs_real)(unit * shs_random_normal(&r) * ldexp(1, -(k % 4)));
        }
        free(order);
    }
    return codes;
}

static inline shs_codes copy_of(const shs_codes *codes) {
    shs_codes copy = SHS_ZERO;
    size_t cells = codes->m * (size_t)codes->stride;
    assert_ok(shs_codes_create(NULL, codes->m, codes->stride, &copy));
    memcpy(copy.used, codes->used, codes->m * sizeof(int));
    memcpy(copy.atoms, codes->atoms, cells * sizeof(int));
    memcpy(copy.coefs, codes->coefs, cells * sizeof(shs_real));
    return copy;
}

/* ||D (x - z)||^2 of a signal. */
static inline double error_of(int p, const shs_real *D, const shs_codes *x, const shs_codes *z, size_t i) {
    double sum = 0;
    int l, k;
    for (l = 0; l < p; l++) {
        double e = 0;
        for (k = 0; k < x->used[i]; k++) {
            size_t at = i * (size_t)x->stride + (size_t)k;
            e += ((double)x->coefs[at] - (double)z->coefs[at]) * (double)D[x->atoms[at] * p + l];
        }
        sum += e * e;
    }
    return sum;
}

#endif
