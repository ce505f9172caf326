/* test_codes.h - codes to be rounded, and what rounding adds: for test_compact.c and test_cl_compact.c. */
#ifndef SHS_TEST_CODES_H
#define SHS_TEST_CODES_H

static const shs_coef_type coef_types[] = {SHS_COEF_I8, SHS_COEF_I16, SHS_COEF_F16};

static inline int draw_below(shs_random *r, int end) { return (int)shs_random_below(r, (uint64_t)end); }

/* Number k of a random order of n atoms: none twice, where there are as many. order holds those that were not taken from k on. */
static inline int next_of(shs_random *r, int *order, int n, int k) {
    int at, taken;
    if (k >= n) return order[k % n];
    at = k + draw_below(r, n - k);
    taken = order[at];
    order[at] = order[k];
    order[k] = taken;
    return taken;
}

/* Codes of `used` atoms each, or of up to `stride` where that is negative; coefficients spread over a few powers of 2. */
static inline shs_codes some_codes(size_t m, int stride, int n, int used, double unit, uint64_t seed) {
    shs_codes codes = SHS_ZERO;
    shs_random r;
    int *atoms, *order = (int *)new_bytes((size_t)n * sizeof *order);
    shs_real *coefs;
    size_t i;
    int k;
    shs_random_seed(&r, seed);
    assert_ok(shs_codes_create(NULL, m, stride, &codes));
    atoms = codes.atoms;
    coefs = codes.coefs;
    for (i = 0; i < m; i++) {
        for (k = 0; k < n; k++) order[k] = k;
        codes.used[i] = used;
        if (used < 0) codes.used[i] = draw_below(&r, stride + 1);
        for (k = 0; k < codes.used[i]; k++) {
            atoms[k] = next_of(&r, order, n, k);
            coefs[k] = (shs_real)(unit * shs_random_normal(&r) * ldexp(1, -(k % 4)));
        }
        atoms += stride;
        coefs += stride;
    }
    free(order);
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
    const size_t first = i * (size_t)x->stride;
    const int *atoms = x->atoms + first;
    const shs_real *ours = x->coefs + first, *theirs = z->coefs + first;
    double sum = 0;
    int l, k;
    for (l = 0; l < p; l++) {
        double e = 0;
        for (k = 0; k < x->used[i]; k++) e += ((double)ours[k] - (double)theirs[k]) * (double)D[atoms[k] * p + l];
        sum += e * e;
    }
    return sum;
}

#endif
