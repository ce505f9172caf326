/* fuzz_dense.c - dense linear algebra and the symmetric eigenproblem against their naive twins. */
#include "fuzz.h"

static const double eps = sizeof(shs_real) == 4 ? 1.2e-7 : 2.3e-16;

/* The twins agree to rounding, `scale` being what the sums are made of. */
static void check_twins(size_t count, const shs_real *a, const shs_real *b, double scale) {
    size_t i;
    for (i = 0; i < count; i++) must(fabs((double)a[i] - (double)b[i]) <= 64 * eps * scale);
}

static void products(input *in, world *w) {
    int m = size_of(in, 20), n = size_of(in, 20), k = size_of(in, 20), flags = byte(in), symmetric = flags & 4;
    shs_trans ta = (shs_trans)(flags & 1), tb = (shs_trans)(flags >> 1 & 1);
    shs_uplo uplo = (shs_uplo)(flags >> 3 & 1);
    int rows_c = symmetric ? n : m;
    int rows_a = ta == SHS_TRANS_NO ? rows_c : k, cols_a = ta == SHS_TRANS_NO ? k : rows_c;
    int lda = leading_of(in, rows_a), ldb = leading_of(in, tb == SHS_TRANS_NO ? k : n), ldc = leading_of(in, rows_c);
    size_t na = count_of(lda + 1, cols_a), nb = count_of(ldb + 1, tb == SHS_TRANS_NO ? n : k), nc = count_of(ldc + 1, n);
    shs_real *A = NEW(shs_real, na), *B = NEW(shs_real, nb), *twin = NEW(shs_real, nc);
    shs_real alpha = (shs_real)(within(in, -2, 2)), beta = (shs_real)(within(in, -1, 1));
    output C = output_of(nc * sizeof(shs_real));
    extent ea = fill(in, na, A), eb = fill(in, nb, B), ec = fill(in, nc, AS(shs_real, C));
    shs_status status, expected;
    if (flags & 128) ta = (shs_trans)2;
    output_keep(&C);
    memcpy(twin, C.bytes, C.size);
    if (symmetric) {
        status = shs_syrk(&w->ctx, uplo, ta, n, k, alpha, A, lda, beta, AS(shs_real, C), ldc);
        expected = shs_syrk_naive(uplo, ta, n, k, alpha, A, lda, beta, twin, ldc);
        eb = ea;
    } else {
        status = shs_gemm(&w->ctx, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, AS(shs_real, C), ldc);
        expected = shs_gemm_general_naive(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, twin, ldc);
    }
    check_world(w, status, 0);
    must(status == SHS_OK || untouched(&C));
    must(status == expected || w->refused || w->bad);
    if (status == SHS_OK && tame(&ea) && tame(&eb) && tame(&ec))
        check_twins(nc, AS(shs_real, C), twin, 2 * (double)positive(k) * ea.most * eb.most + ec.most);
    free(A), free(B), free(twin), output_free(&C);
}

/* A triangle with a diagonal that dominates, so that the twins may be compared, unless the input says otherwise. */
static void triangular(input *in, world *w) {
    int m = size_of(in, 20), n = size_of(in, 8), flags = byte(in), right = flags & 1;
    int order = right ? n : m, lda = leading_of(in, order), ldb = leading_of(in, m), i, well = !(flags & 64);
    size_t na = count_of(lda + 1, order), nb = count_of(ldb + 1, n);
    shs_real *A = NEW(shs_real, na), *twin = NEW(shs_real, nb);
    shs_side side = (shs_side)right;
    shs_uplo uplo = (shs_uplo)(flags >> 1 & 1);
    shs_trans trans = (shs_trans)(flags >> 2 & 1);
    shs_diag diag = (shs_diag)(flags >> 3 & 1);
    output B = output_of(nb * sizeof(shs_real));
    extent ea = fill(in, na, A), eb = fill(in, nb, AS(shs_real, B));
    shs_status status, expected;
    if (flags & 128) diag = (shs_diag)7;
    for (i = 0; well && i < order && lda >= order; i++) A[(size_t)i * (size_t)lda + (size_t)i] = (shs_real)(4 + 30 * ea.most);
    output_keep(&B);
    memcpy(twin, B.bytes, B.size);
    if (flags & 16) {
        int incx = within(in, -2, 2);
        shs_real *x = AS(shs_real, B);
        size_t room = count_of(incx < 0 ? -incx : incx, order);
        if (room > nb) incx = 1, order = order > (int)nb ? 0 : order;
        status = shs_trsv(uplo, trans, diag, order, A, lda, x, incx);
        expected = status;
    } else {
        status = shs_trsm(&w->ctx, side, uplo, trans, diag, m, n, 1, A, lda, AS(shs_real, B), ldb);
        expected = shs_trsm_naive(side, uplo, trans, diag, m, n, 1, A, lda, twin, ldb);
        must(w->refused || w->bad || status == expected);
        if (status == SHS_OK && well && diag == SHS_DIAG_NON_UNIT && ea.finite && ea.most < 1e12 && tame(&eb))
            check_twins(nb, AS(shs_real, B), twin, eb.most);
    }
    check_world(w, status, 0);
    must(status == SHS_OK || untouched(&B));
    free(A), free(twin), output_free(&B);
}

static void factors(input *in, world *w) {
    int n = size_of(in, 24), lda = leading_of(in, n), flags = byte(in), i;
    size_t na = count_of(lda + 1, n);
    output A = output_of(na * sizeof(shs_real));
    shs_real *twin = NEW(shs_real, na);
    extent e = fill(in, na, AS(shs_real, A));
    shs_uplo uplo = (shs_uplo)(flags & 1);
    shs_status status, expected;
    if (flags & 128) uplo = (shs_uplo)3;
    for (i = 0; !(flags & 2) && i < n && lda >= n; i++)
        AS(shs_real, A)[(size_t)i * (size_t)lda + (size_t)i] = (shs_real)((1 + 30 * e.most) * 2);
    output_keep(&A);
    memcpy(twin, A.bytes, A.size);
    status = shs_cholesky(&w->ctx, uplo, n, AS(shs_real, A), lda);
    expected = shs_cholesky_naive(uplo, n, twin, lda);
    check_world(w, status, 0);
    must(status == SHS_OK || status == SHS_NOT_POSITIVE_DEFINITE || untouched(&A));
    if (!(flags & 2) && e.finite && e.most < 1e12) {
        must(status == expected || w->refused || w->bad);
        if (status == SHS_OK) check_twins(na, AS(shs_real, A), twin, 1 + 60 * e.most);
    }
    free(twin), output_free(&A);
}

static void columns_and_vectors(input *in, world *w) {
    int m = size_of(in, 40), n = size_of(in, 10), lda = leading_of(in, m), flags = byte(in), j;
    int incx = within(in, -2, 2), incy = within(in, -2, 2);
    size_t na = count_of(lda + 1, n), nx = count_of(2, (m > n ? m : n) + 1), i;
    shs_real *A = NEW(shs_real, na), *x = NEW(shs_real, nx), *norms = NEW(shs_real, positive(n));
    output y = output_of(nx * sizeof(shs_real));
    extent ea = fill(in, na, A), ex = fill(in, nx, x), ey = fill(in, nx, AS(shs_real, y));
    shs_trans trans = (shs_trans)(flags & 1);
    (void)w;
    output_keep(&y);
    if (incx && incy) {
        shs_real norm = shs_nrm2(m, x, incx);
        if (ex.finite && ex.most < 1e37) must(isfinite(norm) && norm >= 0);
        if (tame(&ex) && tame(&ey)) must(isfinite(shs_dot(m, x, incx, AS(shs_real, y), incy)));
        shs_axpy(m, (shs_real)1, x, incx, AS(shs_real, y), incy);
        output_keep(&y);
    }
    {
        shs_status status = shs_gemv(trans, m, n, 1, A, lda, x, incx, (flags & 2) ? (shs_real)1 : (shs_real)0,
                                     AS(shs_real, y), incy);
        must(status >= SHS_OK && (int)status < STATUSES);
        must(status == SHS_OK || untouched(&y));
        status = shs_ger(m, n, 1, x, incx, x, incy, A, lda);
        must(status >= SHS_OK && (int)status < STATUSES);
    }
    ea = fill(in, na, A);
    if (shs_normalize_columns(m, n, A, lda, (flags & 4) ? norms : NULL) == SHS_OK && ea.finite && ea.most < 1e37)
        for (j = 0; j < n; j++) {
            double sum = 0;
            for (i = 0; i < (size_t)m; i++) {
                double v = (double)A[(size_t)j * (size_t)lda + i];
                sum += v * v;
            }
            must(sum <= 0 || fabs(sum - 1) < 1e-4);
        }
    free(A), free(x), free(norms), output_free(&y);
}

/* ||A v - lambda v|| <= 50 n eps ||A||, and V'V = 1, as the documentation says. */
static void check_pairs(int n, const shs_wide *A, int lda, int k, const shs_wide *values, const shs_wide *V, int ldv) {
    double norm = 0, worst = 0, largest = 0;
    int i, j, l;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) largest = fmax(largest, fabs(A[(size_t)j * (size_t)lda + (size_t)i]));
    if (largest > 1e100 || (largest > 0 && largest < 1e-100)) return; /* the squares below leave the range */
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) norm += (i == j ? 1 : 2) * pow(A[(size_t)j * (size_t)lda + (size_t)i], 2);
    norm = sqrt(norm);
    for (l = 0; l < k; l++) {
        for (i = 0; i < n; i++) {
            double sum = -values[l] * V[(size_t)l * (size_t)ldv + (size_t)i];
            for (j = 0; j < n; j++) {
                int row = i > j ? i : j, column = i > j ? j : i;
                sum += A[(size_t)column * (size_t)lda + (size_t)row] * V[(size_t)l * (size_t)ldv + (size_t)j];
            }
            if (fabs(sum) > worst) worst = fabs(sum);
        }
        for (j = 0; j <= l; j++) {
            double sum = j == l ? -1 : 0;
            for (i = 0; i < n; i++) sum += V[(size_t)l * (size_t)ldv + (size_t)i] * V[(size_t)j * (size_t)ldv + (size_t)i];
            must(fabs(sum) <= 50 * n * 2.3e-16);
        }
    }
    must(worst <= 50 * n * 2.3e-16 * norm);
}

static void eigenpairs(input *in, world *w) {
    int n = size_of(in, 14), lda = leading_of(in, n), k = within(in, -1, 15), ldv = leading_of(in, n), flags = byte(in), l;
    size_t na = count_of(lda + 1, n), nv = count_of(ldv + 1, n > k ? n : k), bytes;
    shs_wide *A = NEW(shs_wide, na);
    output values = output_of(sizeof(shs_wide) * count_of(1, n > k ? n : k)), V = output_of(sizeof(shs_wide) * nv);
    extent e = fill_wide(in, na, A);
    shs_wide *vectors = (flags & 1) ? AS(shs_wide, V) : NULL;
    shs_status status;
    if (k < 1 || k > n) k = (flags & 4) ? k : n;
    bytes = shs_eigh_workspace(&w->ctx, n, k);
    status = shs_eigh(&w->ctx, n, A, lda, k, AS(shs_wide, values), vectors, ldv);
    must(status != SHS_OK || bytes < SIZE_MAX);
    check_world(w, status, 0);
    if (status != SHS_OK) {
        must(untouched(&values) && untouched(&V));
        if (e.finite && lda >= n && n > 0 && k > 0 && k <= n && (!vectors || ldv >= n) && !w->bad && !w->refused)
            must(status == SHS_NO_CONVERGENCE || status == SHS_CANCELLED);
    } else {
        must(all_finite_wide((size_t)positive(k), AS(shs_wide, values)));
        for (l = 1; l < k; l++) must(AS(shs_wide, values)[l - 1] >= AS(shs_wide, values)[l]);
        if (vectors && e.finite)
            check_pairs(n, A, lda, k, AS(shs_wide, values), vectors, ldv);
    }
    free(A), output_free(&values), output_free(&V);
}

static void queries(input *in, world *w) {
    int a = any_int(in), b = any_int(in), c = any_int(in);
    (void)shs_gemm_workspace(&w->ctx, a, b, c);
    (void)shs_syrk_workspace(&w->ctx, a, b);
    (void)shs_trsm_workspace(&w->ctx, (shs_side)(c & 1), a, b);
    (void)shs_cholesky_workspace(&w->ctx, a);
    (void)shs_eigh_workspace(&w->ctx, a, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {products,   products,   triangular, factors, columns_and_vectors,
                                                    eigenpairs, eigenpairs, queries};
    return run_errand(errands, data, size);
}
