/* test_dense.c - section 4: every routine against its naive twin or the definition, within rounding bounds. */
#include "test.h"

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static const int sizes[] = {1, 2, 3, 5, 7, 8, 13, 31, 47, 48, 49, 63, 64, 65, 97, 130, 385};
enum { SIZES = (int)(sizeof sizes / sizeof *sizes) };
static const shs_real factors[] = {0, 1, -1, (shs_real)0.7};

static shs_real not_a_number(void) {
    volatile shs_real zero = 0;
    return zero / zero;
}

static shs_real *filled(size_t n, shs_real value) {
    shs_real *x = (shs_real *)malloc((n ? n : 1) * sizeof *x);
    size_t i;
    assert_non_null(x);
    for (i = 0; i < n; i++) x[i] = value;
    return x;
}

static shs_real *copy_of(size_t n, const shs_real *x) {
    shs_real *y = filled(n, 0);
    memcpy(y, x, n * sizeof *y);
    return y;
}

static shs_real *magnitudes(size_t n, const shs_real *x) {
    shs_real *y = filled(n, 0);
    size_t i;
    for (i = 0; i < n; i++) y[i] = x[i] < 0 ? -x[i] : x[i];
    return y;
}

static shs_real magnitude(shs_real x) { return x < 0 ? -x : x; }

/* Rows and leading dimension of a random matrix whose gaps below the rows hold NaN. */
static shs_real *new_matrix(int rows, int columns, int ld, uint64_t seed) {
    shs_real *A = new_uniform((size_t)ld * (size_t)columns, seed);
    int i, j;
    for (j = 0; j < columns; j++)
        for (i = rows; i < ld; i++) *SHS__AT(A, ld, i, j) = not_a_number();
    return A;
}

static int in_triangle(shs_uplo uplo, int i, int j) { return uplo == SHS_UPLO_LOWER ? i >= j : i <= j; }

/* Each |a - b| of the first `rows` rows within `factor` eps times the element of scale. */
static void assert_matrix_close(int rows, int columns, const shs_real *A, int lda, const shs_real *B, int ldb,
                                const shs_real *scale, int lds, double factor) {
    int i, j;
    for (j = 0; j < columns; j++)
        for (i = 0; i < rows; i++)
            assert_close(*SHS__AT(A, lda, i, j), *SHS__AT(B, ldb, i, j),
                         factor * (double)SHS__EPS * (double)*SHS__AT(scale, lds, i, j));
}

/* A parallel loop that runs its chunks in another order on all workers. */
static void odd_order(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    size_t i, start = chunks / 2;
    ++*(int *)user;
    for (i = 0; i < chunks; i++) {
        size_t chunk = chunks - 1 - (start + i) % chunks;
        body(arg, chunk, (int)((chunk * 7 + i) % (size_t)threads));
    }
}

static shs_context odd_context(int threads, int *calls) {
    shs_context ctx = SHS_ZERO;
    ctx.parallel_fn = odd_order;
    ctx.parallel_user = calls;
    ctx.threads = threads;
    *calls = 0;
    return ctx;
}

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

/* Element i of a vector of n with increment inc. */
static int at_of(int i, int n, int inc) { return (inc > 0 ? i : i - (n - 1)) * inc; }

static void check_dot(int n, const shs_real *x, int ix, shs_real *y, int iy) {
    double sum = 0, scale = 0;
    int i;
    for (i = 0; i < n; i++) {
        double t = (double)x[at_of(i, n, ix)] * (double)y[at_of(i, n, iy)];
        sum += t;
        scale += fabs(t);
    }
    assert_close(shs_dot(n, x, ix, y, iy), sum, (n + 2) * (double)SHS__EPS * scale);
}

static void check_axpy(int n, const shs_real *x, int ix, shs_real *y, int iy) {
    shs_real *expected = copy_of((size_t)n * 3, y);
    int i;
    for (i = 0; i < n; i++) {
        shs_real *e = expected + at_of(i, n, iy);
        *e = (shs_real)((double)*e + 0.7 * (double)x[at_of(i, n, ix)]);
    }
    shs_axpy(n, (shs_real)0.7, x, ix, y, iy);
    for (i = 0; i < 3 * n; i++) assert_close(y[i], expected[i], 16 * (double)SHS__EPS);
    free(expected);
}

/* Vectors of all sizes, with increments of both signs. */
static void with_increments(void (*check)(int n, const shs_real *x, int ix, shs_real *y, int iy)) {
    static const int incs[] = {1, 2, -1, -3};
    int s, a, b;
    for (s = 0; s < SIZES; s++)
        for (a = 0; a < 4; a++)
            for (b = 0; b < 4; b++) {
                shs_real *x = new_uniform((size_t)sizes[s] * 3, 1), *y = new_uniform((size_t)sizes[s] * 3, 2);
                check(sizes[s], x, incs[a], y, incs[b]);
                free(x);
                free(y);
            }
}

static void dot_matches_its_definition(void **state) {
    (void)state;
    with_increments(check_dot);
    assert_true(shs_dot(0, NULL, 1, NULL, 1) == 0);
    assert_true(shs_dot(-3, NULL, 1, NULL, 1) == 0);
}

static void axpy_matches_its_definition(void **state) {
    shs_real x[3] = {1, 2, 3};
    (void)state;
    with_increments(check_axpy);
    shs_axpy(3, 2, x, 1, x, 1);
    assert_true(x[0] == 3 && x[1] == 6 && x[2] == 9);
    shs_axpy(0, 1, NULL, 1, NULL, 1);
}

static void nrm2_neither_overflows_nor_underflows(void **state) {
    /* squares that fit, that overflow, that underflow, that are subnormal */
    static const double powers[] = {0, BY_TYPE(100, 1000), BY_TYPE(-100, -1000), BY_TYPE(-140, -1060), BY_TYPE(-70, -530)};
    int p, s, i;
    (void)state;
    for (p = 0; p < 5; p++)
        for (s = 0; s < SIZES; s++) {
            int n = sizes[s];
            shs_real *x = new_uniform((size_t)n * 2, 3);
            double sum = 0, unit = pow(2, powers[p]), bound;
            /* the sum of what is stored, in units of the power */
            for (i = 0; i < 2 * n; i++) x[i] = (shs_real)((double)x[i] * unit);
            for (i = 0; i < n; i++) sum += ((double)x[2 * i] / unit) * ((double)x[2 * i] / unit);
            bound = (n + 6) * (double)SHS__EPS * sqrt(sum) + (double)(SHS__REAL_MIN * SHS__EPS) / unit;
            assert_close((double)shs_nrm2(n, x, 2) / unit, sqrt(sum), bound);
            assert_close((double)shs_nrm2(n, x, -2) / unit, sqrt(sum), bound);
            free(x);
        }
    {
        shs_real x[3] = {0, 0, 0};
        assert_true(shs_nrm2(3, x, 1) == 0);
        assert_true(shs_nrm2(0, x, 1) == 0);
        assert_true(shs_nrm2(0, NULL, -1) == 0);
        x[1] = SHS__REAL_MIN;
        assert_true(shs_nrm2(3, x, 1) == x[1]);
        x[1] = SHS__REAL_MIN * (shs_real)SHS__EPS; /* the smallest subnormal */
        assert_true(shs_nrm2(3, x, 1) == x[1] || subnormals_vanish());
        x[0] = -SHS__REAL_MAX;
        assert_true(shs_nrm2(3, x, 1) == SHS__REAL_MAX);
        x[0] = not_a_number();
        assert_true(is_nan((double)shs_nrm2(3, x, 1)));
        x[0] = (shs_real)INFINITY;
        assert_true(is_infinite((double)shs_nrm2(3, x, 1)));
        x[1] = not_a_number();
        assert_true(is_nan((double)shs_nrm2(3, x, 1)));
    }
}

static void normalized_columns_have_unit_length(void **state) {
    static const double powers[] = {0, BY_TYPE(100, 1000), BY_TYPE(-100, -1000), BY_TYPE(126, 1022)};
    int m = 130, n = 6, lda = 133, j, i;
    shs_real *A = new_matrix(m, n, lda, 5), *before, norms[6];
    volatile shs_real again; /* in memory: x87 returns more digits than a float has */
    (void)state;
    for (j = 0; j < 4; j++)
        for (i = 0; i < m; i++) *SHS__AT(A, lda, i, j) = (shs_real)((double)*SHS__AT(A, lda, i, j) * pow(2, powers[j]));
    for (i = 0; i < m; i++) *SHS__AT(A, lda, i, 4) = 0;
    for (i = 0; i < m; i++)
        *SHS__AT(A, lda, i, 5) = SHS__REAL_MIN * (subnormals_vanish() ? 1 : (shs_real)SHS__EPS) * (shs_real)(i % 3);
    before = copy_of((size_t)lda * (size_t)n, A);
    assert_ok(shs_normalize_columns(m, n, A, lda, norms));
    for (j = 0; j < n; j++) {
        double sum = 0;
        for (i = 0; i < m; i++) {
            double a = (double)*SHS__AT(A, lda, i, j);
            sum += a * a;
            assert_true((a > 0) == (*SHS__AT(before, lda, i, j) > 0) && (a < 0) == (*SHS__AT(before, lda, i, j) < 0));
        }
        assert_close(sum, j == 4 ? 0 : 1, (m + 6) * (double)SHS__EPS);
        again = shs_nrm2(m, SHS__AT(before, lda, 0, j), 1);
        if (j != 3) assert_true(norms[j] == again);
    }
    assert_true(is_infinite((double)norms[3])); /* the length itself is too large for the type */
    memcpy(A, before, sizeof *A * (size_t)lda);
    assert_ok(shs_normalize_columns(m, 1, A, lda, NULL));
#ifndef __FAST_MATH__
    memcpy(A, before, sizeof *A * (size_t)lda * 2);
    A[3] = (shs_real)NAN; /* stays in its column */
    assert_ok(shs_normalize_columns(m, 2, A, lda, norms));
    assert_true(is_nan((double)norms[0]) && is_nan((double)A[0]));
    assert_close(shs_nrm2(m, SHS__AT(A, lda, 0, 1), 1), 1, (m + 6) * (double)SHS__EPS);
#endif
    assert_status(shs_normalize_columns(-1, n, A, lda, NULL), SHS_BAD_M);
    assert_status(shs_normalize_columns(m, -1, A, lda, NULL), SHS_BAD_N);
    assert_status(shs_normalize_columns(m, n, NULL, lda, NULL), SHS_BAD_A);
    assert_status(shs_normalize_columns(m, n, A, m - 1, NULL), SHS_BAD_LDA);
    assert_ok(shs_normalize_columns(0, 0, NULL, 0, NULL));
    free(A);
    free(before);
}

/* ---- gemv, ger, trsv --------------------------------------------------------------------------------------------- */

/* Copies a vector with an increment to one without, or back. */
static void gather(int n, const shs_real *x, int inc, shs_real *to) {
    int i;
    for (i = 0; i < n; i++) to[i] = x[(inc > 0 ? i : i - (n - 1)) * inc];
}

/* gemv is gemm with one column, and so has its twin. */
static void check_gemv(shs_trans trans, int m, int n, shs_real alpha, shs_real beta, int incx, int incy) {
    int lda = m + 3, nx = trans ? m : n, ny = trans ? n : m, i;
    size_t room = (size_t)(3 * ny);
    shs_real *A = new_matrix(m, n, lda, 7), *abs_A = magnitudes((size_t)lda * (size_t)n, A);
    shs_real *x = new_uniform((size_t)(3 * nx), 8), *x1 = filled((size_t)nx, 0), *abs_x;
    shs_real *y = beta == 0 ? filled(room, not_a_number()) : new_uniform(room, 9), *before = copy_of(room, y);
    shs_real *expected = filled((size_t)ny, 0), *scale, *got = filled((size_t)ny, 0);
    gather(nx, x, incx, x1);
    gather(ny, y, incy, expected);
    abs_x = magnitudes((size_t)nx, x1);
    scale = magnitudes((size_t)ny, expected);
    assert_ok(shs_gemm_general_naive(trans, SHS_TRANS_NO, ny, 1, nx, alpha, A, lda, x1, nx, beta, expected, ny));
    assert_ok(shs_gemm_general_naive(trans, SHS_TRANS_NO, ny, 1, nx, magnitude(alpha), abs_A, lda, abs_x, nx, magnitude(beta),
                                     scale, ny));
    assert_ok(shs_gemv(trans, m, n, alpha, A, lda, x, incx, beta, y, incy));
    gather(ny, y, incy, got);
    assert_matrix_close(ny, 1, got, ny, expected, ny, scale, ny, 2 * nx + 4);
    for (i = 0; i < 3 * ny; i++) /* between the elements nothing changes */
        if (i % abs(incy) != 0) assert_memory_equal(y + i, before + i, sizeof *y);
    free(A);
    free(abs_A);
    free(x);
    free(x1);
    free(abs_x);
    free(y);
    free(before);
    free(expected);
    free(scale);
    free(got);
}

static void gemv_matches_gemm_naive(void **state) {
    static const int incs[] = {1, 2, -1, -3};
    int i, j, count = 0, t;
    (void)state;
    for (i = 0; i < SIZES; i++)
        for (j = 0; j < SIZES; j++)
            for (t = 0; t < 2; t++) {
                int incx = incs[count % 4], incy = count % 3 ? 1 : incs[count / 4 % 4];
                /* a negative increment reads from the end of its 3n values: the start is x itself */
                check_gemv((shs_trans)t, sizes[i], sizes[j], factors[count / 2 % 4], factors[count / 8 % 4], incx, incy);
                count++;
            }
}

static void gemv_checks_its_arguments(void **state) {
    shs_real A[12] = {0}, x[4] = {0}, y[4] = {1, 1, 1, 1};
    (void)state;
    assert_status(shs_gemv((shs_trans)2, -1, 3, 1, A, 4, x, 1, 0, y, 1), SHS_BAD_ENUM);
    assert_status(shs_gemv(SHS_TRANS_YES, -1, -1, 1, A, 4, x, 1, 0, y, 1), SHS_BAD_M);
    assert_status(shs_gemv(SHS_TRANS_YES, 4, -1, 1, NULL, 4, x, 1, 0, y, 1), SHS_BAD_N);
    assert_status(shs_gemv(SHS_TRANS_YES, 4, 3, 1, NULL, 3, x, 1, 0, y, 1), SHS_BAD_A);
    assert_status(shs_gemv(SHS_TRANS_YES, 4, 3, 1, A, 3, NULL, 1, 0, y, 1), SHS_BAD_LDA);
    assert_status(shs_gemv(SHS_TRANS_YES, 4, 3, 1, A, 4, NULL, 0, 0, y, 1), SHS_BAD_X);
    assert_status(shs_gemv(SHS_TRANS_YES, 4, 3, 1, A, 4, x, 0, 0, NULL, 1), SHS_BAD_INCX);
    assert_status(shs_gemv(SHS_TRANS_YES, 4, 3, 1, A, 4, x, 1, 0, NULL, 0), SHS_BAD_Y);
    assert_status(shs_gemv(SHS_TRANS_YES, 4, 3, 1, A, 4, x, 1, 0, y, 0), SHS_BAD_INCY);
    assert_true(y[0] == 1 && y[3] == 1);
    assert_ok(shs_gemv(SHS_TRANS_NO, 0, 0, 1, NULL, 0, NULL, 1, 0, NULL, 1));
    assert_ok(shs_gemv(SHS_TRANS_NO, 4, 0, 1, NULL, 4, NULL, 1, 0, y, 1)); /* an empty sum */
    assert_true(y[0] == 0 && y[3] == 0);
}

/* The six lines that lectures show, and the twin that knows transposes and scales. */
static void gemm_naive_matches_general_form(void **state) {
    static const struct { int m, n, k; } some[] = {{1, 1, 1}, {3, 2, 4}, {5, 7, 6}, {2, 9, 1}, {4, 3, 0}};
    size_t t;
    (void)state;
    for (t = 0; t < sizeof some / sizeof *some; t++) {
        int m = some[t].m, n = some[t].n, k = some[t].k, i;
        shs_real *A = new_uniform((size_t)(m * k + 1), 41), *B = new_uniform((size_t)(k * n + 1), 42);
        shs_real *C = filled((size_t)(m * n), 7), *expected = filled((size_t)(m * n), 8);
        shs_gemm_naive(m, n, k, A, B, C);
        assert_ok(shs_gemm_general_naive(SHS_TRANS_NO, SHS_TRANS_NO, m, n, k, 1, A, m, B, k > 0 ? k : 1, 0, expected, m));
        for (i = 0; i < m * n; i++) assert_close(C[i], expected[i], 10 * (double)REAL_EPS * k);
        free(A);
        free(B);
        free(C);
        free(expected);
    }
}

static void ger_matches_gemm_naive(void **state) {
    static const int incs[] = {1, 2, -1, -3};
    int i, j, count = 0;
    (void)state;
    for (i = 0; i < SIZES; i++)
        for (j = 0; j < SIZES; j++) {
            int m = sizes[i], n = sizes[j], lda = m + 2, incx = incs[count % 4], incy = incs[count / 4 % 4];
            size_t room = (size_t)lda * (size_t)n;
            shs_real *A = new_matrix(m, n, lda, 11), *expected = copy_of(room, A), *scale = magnitudes(room, A);
            shs_real *x = new_uniform((size_t)(3 * m), 12), *y = new_uniform((size_t)(3 * n), 13);
            shs_real *x1 = filled((size_t)m, 0), *y1 = filled((size_t)n, 0), *abs_x, *abs_y;
            gather(m, x, incx, x1);
            gather(n, y, incy, y1);
            abs_x = magnitudes((size_t)m, x1);
            abs_y = magnitudes((size_t)n, y1);
            assert_ok(shs_gemm_general_naive(SHS_TRANS_NO, SHS_TRANS_YES, m, n, 1, factors[count % 4], x1, m, y1, n, 1,
                                             expected, lda));
            assert_ok(shs_gemm_general_naive(SHS_TRANS_NO, SHS_TRANS_YES, m, n, 1, 1, abs_x, m, abs_y, n, 1, scale, lda));
            assert_ok(shs_ger(m, n, factors[count % 4], x, incx, y, incy, A, lda));
            assert_matrix_close(m, n, A, lda, expected, lda, scale, lda, 8);
            free(A);
            free(expected);
            free(scale);
            free(x);
            free(y);
            free(x1);
            free(y1);
            free(abs_x);
            free(abs_y);
            count++;
        }
    {
        shs_real A[12] = {0}, x[4] = {0}, y[3] = {0};
        assert_status(shs_ger(-1, -1, 1, x, 1, y, 1, A, 4), SHS_BAD_M);
        assert_status(shs_ger(4, -1, 1, NULL, 1, y, 1, A, 4), SHS_BAD_N);
        assert_status(shs_ger(4, 3, 1, NULL, 0, y, 1, A, 4), SHS_BAD_X);
        assert_status(shs_ger(4, 3, 1, x, 0, NULL, 1, A, 4), SHS_BAD_INCX);
        assert_status(shs_ger(4, 3, 1, x, 1, NULL, 0, A, 4), SHS_BAD_Y);
        assert_status(shs_ger(4, 3, 1, x, 1, y, 0, NULL, 4), SHS_BAD_INCY);
        assert_status(shs_ger(4, 3, 1, x, 1, y, 1, NULL, 3), SHS_BAD_A);
        assert_status(shs_ger(4, 3, 1, x, 1, y, 1, A, 3), SHS_BAD_LDA);
        x[1] = (shs_real)NAN; /* times nothing: not looked at */
        assert_ok(shs_ger(4, 3, 0, x, 1, y, 1, A, 4));
        for (i = 0; i < 12; i++) assert_true(A[i] == 0);
        assert_ok(shs_ger(0, 3, 1, NULL, 1, y, 1, NULL, 0));
    }
}

/* A well-conditioned triangular matrix; what must not be read holds NaN. */
static shs_real *new_triangular(shs_uplo uplo, shs_diag diag, int n, int lda, uint64_t seed) {
    shs_real *A = new_matrix(n, n, lda, seed);
    int i, j;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) {
            shs_real *a = SHS__AT(A, lda, i, j);
            if (!in_triangle(uplo, i, j) || (i == j && diag == SHS_DIAG_UNIT)) *a = not_a_number();
            else if (i == j) *a = *a < 0 ? *a - 2 : *a + 2;
            else *a /= (shs_real)(2 * sqrt((double)n));
        }
    return A;
}

/* The same with zeros, and ones on the diagonal, in place of NaN: n x n. */
static shs_real *full_triangular(shs_uplo uplo, shs_diag diag, int n, const shs_real *A, int lda) {
    shs_real *F = filled((size_t)n * (size_t)n, 0);
    int j;
    for (j = 0; j < n; j++) {
        int first = uplo == SHS_UPLO_LOWER ? j : 0, last = uplo == SHS_UPLO_LOWER ? n : j + 1;
        memcpy(SHS__AT(F, n, first, j), SHS__AT(A, lda, first, j), (size_t)(last - first) * sizeof *F);
        if (diag == SHS_DIAG_UNIT) *SHS__AT(F, n, j, j) = 1;
    }
    return F;
}

/* op(A) X (X op(A)) equals alpha B within rounding, for the triangular A in any of its forms. */
static void assert_solves(shs_side side, shs_uplo uplo, shs_trans trans, shs_diag diag, int m, int n, shs_real alpha,
                          const shs_real *A, int lda, const shs_real *X, const shs_real *B, int ldb) {
    int order = side == SHS_SIDE_LEFT ? m : n;
    size_t room = (size_t)m * (size_t)n, mn = (size_t)ldb * (size_t)n, i;
    shs_real *F = full_triangular(uplo, diag, order, A, lda), *abs_F = magnitudes((size_t)order * (size_t)order, F);
    shs_real *abs_X = magnitudes(mn, X), *product = filled(room, 0), *scale = filled(room, 0);
    shs_real *wanted = filled(room, 0);
    if (side == SHS_SIDE_LEFT) {
        assert_ok(shs_gemm_general_naive(trans, SHS_TRANS_NO, m, n, m, 1, F, order, X, ldb, 0, product, m));
        assert_ok(shs_gemm_general_naive(trans, SHS_TRANS_NO, m, n, m, 1, abs_F, order, abs_X, ldb, 0, scale, m));
    } else {
        assert_ok(shs_gemm_general_naive(SHS_TRANS_NO, trans, m, n, n, 1, X, ldb, F, order, 0, product, m));
        assert_ok(shs_gemm_general_naive(SHS_TRANS_NO, trans, m, n, n, 1, abs_X, ldb, abs_F, order, 0, scale, m));
    }
    for (i = 0; i < room; i++) {
        wanted[i] = alpha * *SHS__AT(B, ldb, i % (size_t)m, i / (size_t)m);
        scale[i] += magnitude(wanted[i]);
    }
    assert_matrix_close(m, n, product, m, wanted, m, scale, m, 2 * order + 4);
    free(F);
    free(abs_F);
    free(abs_X);
    free(product);
    free(scale);
    free(wanted);
}

static void trsv_leaves_no_residual(void **state) {
    static const int incs[] = {1, 2, -1, -3};
    int s, form, count = 0;
    (void)state;
    for (s = 0; s < SIZES; s++)
        for (form = 0; form < 8; form++) {
            shs_uplo uplo = form & 1 ? SHS_UPLO_UPPER : SHS_UPLO_LOWER;
            shs_trans trans = form & 2 ? SHS_TRANS_YES : SHS_TRANS_NO;
            shs_diag diag = form & 4 ? SHS_DIAG_UNIT : SHS_DIAG_NON_UNIT;
            int n = sizes[s], lda = n + 2, inc = incs[(count + s) % 4];
            shs_real *A = new_triangular(uplo, diag, n, lda, 17), *x = new_uniform((size_t)(3 * n), 18);
            shs_real *b1 = filled((size_t)n, 0), *x1 = filled((size_t)n, 0);
            gather(n, x, inc, b1);
            assert_ok(shs_trsv(uplo, trans, diag, n, A, lda, x, inc));
            gather(n, x, inc, x1);
            assert_solves(SHS_SIDE_LEFT, uplo, trans, diag, n, 1, 1, A, lda, x1, b1, n);
            free(A);
            free(x);
            free(b1);
            free(x1);
            count++;
        }
}

static void trsv_checks_its_arguments(void **state) {
    shs_real A[9] = {1, 0, 0, 0, 1, 0, 0, 0, 0}, x[3] = {1, 2, 3};
    (void)state;
    assert_status(shs_trsv((shs_uplo)2, SHS_TRANS_YES, SHS_DIAG_UNIT, -1, A, 3, x, 1), SHS_BAD_ENUM);
    assert_status(shs_trsv(SHS_UPLO_LOWER, (shs_trans)3, SHS_DIAG_UNIT, 3, A, 3, x, 1), SHS_BAD_ENUM);
    assert_status(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, (shs_diag)2, 3, A, 3, x, 1), SHS_BAD_ENUM);
    assert_status(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, -1, NULL, 3, x, 1), SHS_BAD_N);
    assert_status(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 3, NULL, 2, x, 1), SHS_BAD_A);
    assert_status(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 3, A, 2, NULL, 1), SHS_BAD_LDA);
    assert_status(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 3, A, 3, NULL, 0), SHS_BAD_X);
    assert_status(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 3, A, 3, x, 0), SHS_BAD_INCX);
    assert_status(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, 3, A, 3, x, 1), SHS_SINGULAR);
    assert_true(x[0] == 1 && x[1] == 2 && x[2] == 3);
    assert_ok(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 3, A, 3, x, 1));
    assert_ok(shs_trsv(SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, 0, NULL, 0, NULL, 1));
}

/* ---- gemm -------------------------------------------------------------------------------------------------------- */

static void check_gemm(shs_trans ta, shs_trans tb, int m, int n, int k, shs_real alpha, shs_real beta, int gap) {
    int lda = (ta ? k : m) + gap, ldb = (tb ? n : k) + gap, ldc = m + gap, j;
    size_t size_a = (size_t)lda * (size_t)(ta ? m : k), size_b = (size_t)ldb * (size_t)(tb ? k : n);
    size_t size_c = (size_t)ldc * (size_t)n;
    shs_real *A = new_matrix(ta ? k : m, ta ? m : k, lda, 21), *B = new_matrix(tb ? n : k, tb ? k : n, ldb, 22);
    shs_real *C = new_matrix(m, n, ldc, 23), *naive, *scale, *before, *abs_A, *abs_B;
    shs_context one = SHS_ZERO;
    one.threads = 1;
    if (beta == 0)
        for (j = 0; j < n; j++) memset(SHS__AT(C, ldc, 0, j), 0xff, (size_t)m * sizeof *C); /* NaN */
    if (alpha == 0) {
        memset(A, 0xff, size_a * sizeof *A);
        memset(B, 0xff, size_b * sizeof *B);
    }
    before = copy_of(size_c, C);
    naive = copy_of(size_c, C);
    scale = magnitudes(size_c, C);
    abs_A = magnitudes(size_a, A);
    abs_B = magnitudes(size_b, B);
    assert_ok(shs_gemm_general_naive(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, naive, ldc));
    assert_ok(shs_gemm_general_naive(ta, tb, m, n, k, magnitude(alpha), abs_A, lda, abs_B, ldb, magnitude(beta), scale, ldc));
    assert_ok(shs_gemm(&one, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc));
    assert_matrix_close(m, n, C, ldc, naive, ldc, scale, ldc, 2 * k + 4);
    for (j = 0; gap && j < n; j++) /* below the last row nothing is written */
        assert_memory_equal(SHS__AT(C, ldc, m, j), SHS__AT(before, ldc, m, j), (size_t)gap * sizeof *C);
    free(A);
    free(B);
    free(C);
    free(naive);
    free(scale);
    free(before);
    free(abs_A);
    free(abs_B);
}

static void gemm_matches_naive_over_odd_sizes(void **state) {
    int i, j, count = 0;
    (void)state;
    for (i = 0; i < SIZES; i++)
        for (j = first_of(i + test_instance, 3); j < SIZES; j += every(3)) {
            check_gemm((shs_trans)(count & 1), (shs_trans)(count >> 1 & 1), sizes[i], sizes[j], sizes[(5 * i + 3 * j) % SIZES],
                       factors[count / 4 % 4], factors[count / 16 % 4], count % 3);
            count++;
        }
}

static void gemm_matches_naive_in_every_form(void **state) {
    int form, a, b;
    (void)state;
    for (form = 0; form < 4; form++)
        for (a = 0; a < 4; a++)
            for (b = 0; b < 4; b++) {
                check_gemm((shs_trans)(form & 1), (shs_trans)(form >> 1), 50, 13, 31, factors[a], factors[b], 5);
                check_gemm((shs_trans)(form & 1), (shs_trans)(form >> 1), 49, 9, 400, factors[a], factors[b], 0);
            }
}

/* More than one block, panel and depth of each kind. */
static void gemm_matches_naive_beyond_its_blocks(void **state) {
    int form;
    (void)state;
    for (form = first_of(test_instance, 4); form < 4; form += every(4)) {
        check_gemm((shs_trans)(form & 1), (shs_trans)(form >> 1), 301, 403, 390, (shs_real)0.7, -1, 1);
        check_gemm((shs_trans)(form & 1), (shs_trans)(form >> 1), 5, SHS__NC + 70, 11, 1, (shs_real)0.7, 0);
        check_gemm((shs_trans)(form & 1), (shs_trans)(form >> 1), 700, 3, 2 * SHS__KC + 1, 1, 0, 2);
        check_gemm((shs_trans)(form & 1), (shs_trans)(form >> 1), 49, 11, 2 * SHS__SLAB_DEPTH + 5, (shs_real)0.7, factors[form],
                   3);
    }
}

/* An element's bits do not depend on the rest of the matrix, nor on which of the two entries computes it. */
static void gemm_elements_do_not_depend_on_the_cutting(void **state) {
    int form, m = 203, n = 211, k = 401, tries;
    shs_real *A = new_uniform((size_t)m * (size_t)k, 31), *B = new_uniform((size_t)n * (size_t)k, 32);
    shs_real *C = filled((size_t)m * (size_t)n, 0), *D = filled((size_t)m * (size_t)n, 0);
    shs_real *scratch = filled(shs__la_gemm_scratch(n, n, k), 0), *C0 = new_uniform((size_t)m * (size_t)n, 33);
    shs_random r;
    (void)state;
    shs_random_seed(&r, 34);
    for (form = 0; form < 4; form++) {
        shs_trans ta = (shs_trans)(form & 1), tb = (shs_trans)(form >> 1);
        int lda = ta ? k : m, ldb = tb ? n : k, j;
        memcpy(C, C0, (size_t)m * (size_t)n * sizeof *C);
        assert_ok(shs_gemm(NULL, ta, tb, m, n, k, (shs_real)0.7, A, lda, B, ldb, (shs_real)0.3, C, m));
        for (tries = 0; tries < 12; tries++) {
            int i0 = (int)shs_random_below(&r, (uint64_t)m), rows = 1 + (int)shs_random_below(&r, (uint64_t)(m - i0));
            int j0 = (int)shs_random_below(&r, (uint64_t)n);
            int columns = 1 + (int)shs_random_below(&r, (uint64_t)(n - j0));
            const shs_real *Ai = ta ? SHS__AT(A, lda, 0, i0) : SHS__AT(A, lda, i0, 0);
            const shs_real *Bj = tb ? SHS__AT(B, ldb, j0, 0) : SHS__AT(B, ldb, 0, j0);
            shs_real *Dij = SHS__AT(D, m, i0, j0);
            if (tries % 4 == 0) {
                rows = shs__imin(rows, 3);
                columns = shs__imin(columns, 5);
            }
            memcpy(D, C0, (size_t)m * (size_t)n * sizeof *D);
            if (tries & 1)
                assert_ok(shs_gemm(NULL, ta, tb, rows, columns, k, (shs_real)0.7, Ai, lda, Bj, ldb, (shs_real)0.3, Dij, m));
            else {
                shs_product_job job = shs__la_job(rows, columns, k, shs__la_op(ta, Ai, lda), shs__la_op(tb, Bj, ldb), Dij, m);
                job.alpha = (shs_real)0.7;
                job.beta = (shs_real)0.3;
                shs__la_gemm_serial(job, NULL, scratch);
            }
            for (j = j0; j < j0 + columns; j++)
                assert_memory_equal(SHS__AT(D, m, i0, j), SHS__AT(C, m, i0, j), (size_t)rows * sizeof *C);
        }
    }
    free(A);
    free(B);
    free(C);
    free(D);
    free(scratch);
    free(C0);
}

/* Products in place have the same bits as packed products: A from its transpose, B from its half times 2 as alpha. What lies
   around C is left alone. */
static void gemm_is_the_same_packed_or_not(void **state) {
    static const int few[] = {1, 3, 7, 8, 9, 15, 16, 17, 24, 33, 49, 64, 100};
    static const shs_real betas[] = {0, 1, (shs_real)-0.5};
    enum { FEW = (int)(sizeof few / sizeof *few), GAP = 3 };
    uint64_t seed = 300;
    int c, i, j, tb;
    (void)state;
    for (c = 0; c < FEW * FEW; c++) {
        const int m = few[c % FEW], n = few[c / FEW], k = few[(c * 5 + 2) % FEW], ldc = m + GAP;
        shs_real *A = new_uniform((size_t)(m + 2) * (size_t)k, ++seed), *C0 = new_uniform((size_t)ldc * (size_t)n, ++seed);
        shs_real *At = filled((size_t)m * (size_t)k, 0), *B, *half, *C, *D;
        for (i = 0; i < m; i++)
            for (j = 0; j < k; j++) *SHS__AT(At, k, j, i) = *SHS__AT(A, m + 2, i, j);
        for (tb = 0; tb < 2; tb++) {
            const int ldb = (tb ? n : k) + 1;
            size_t count = (size_t)ldb * (size_t)(tb ? k : n), e;
            B = new_uniform(count, ++seed);
            half = copy_of(count, B);
            for (e = 0; e < count; e++) half[e] = B[e] / 2;
            for (i = 0; i < 3; i++) {
                C = copy_of((size_t)ldc * (size_t)n, C0);
                D = copy_of((size_t)ldc * (size_t)n, C0);
                assert_ok(shs_gemm(NULL, SHS_TRANS_NO, (shs_trans)tb, m, n, k, 1, A, m + 2, B, ldb, betas[i], C, ldc));
                assert_ok(shs_gemm(NULL, SHS_TRANS_YES, (shs_trans)tb, m, n, k, 2, At, k, half, ldb, betas[i], D, ldc));
                assert_memory_equal(C, D, (size_t)ldc * (size_t)n * sizeof *C);
                for (j = 0; j < n; j++)
                    assert_memory_equal(SHS__AT(C, ldc, m, j), SHS__AT(C0, ldc, m, j), GAP * sizeof *C);
                free(C);
                free(D);
            }
            free(B);
            free(half);
        }
        free(A);
        free(At);
        free(C0);
    }
}

/* Nor do those of syrk, which are gemm's. */
static void syrk_elements_are_those_of_gemm(void **state) {
    int t, n = 211, k = 401, j;
    shs_real *A = new_uniform((size_t)n * (size_t)k, 35), *C = filled((size_t)n * (size_t)n, 0);
    shs_real *D = filled((size_t)n * (size_t)n, 0);
    (void)state;
    for (t = 0; t < 2; t++) {
        int lda = t ? k : n;
        shs_trans trans = (shs_trans)t;
        assert_ok(shs_gemm(NULL, trans, (shs_trans)!t, n, n, k, (shs_real)0.7, A, lda, A, lda, 0, C, n));
        assert_ok(shs_syrk(NULL, SHS_UPLO_LOWER, trans, n, k, (shs_real)0.7, A, lda, 0, D, n));
        for (j = 0; j < n; j++) assert_memory_equal(SHS__AT(D, n, j, j), SHS__AT(C, n, j, j), (size_t)(n - j) * sizeof *C);
        assert_ok(shs_syrk(NULL, SHS_UPLO_UPPER, trans, n, k, (shs_real)0.7, A, lda, 0, D, n));
        assert_memory_equal(SHS__AT(D, n, 0, n - 1), SHS__AT(C, n, 0, n - 1), (size_t)n * sizeof *C);
    }
    free(A);
    free(C);
    free(D);
}

static void gemm_lets_nan_through(void **state) {
    enum { M = 50, N = 9, K = 20 };
    shs_real *A = filled(M * K, 1), *B = filled(K * N, 0), *C = filled(M * N, 0);
    int i, j;
    (void)state;
    A[7 * M + 33] = not_a_number();
    assert_ok(shs_gemm(NULL, SHS_TRANS_NO, SHS_TRANS_NO, M, N, K, 1, A, M, B, K, 0, C, M));
    for (j = 0; j < N; j++)
        for (i = 0; i < M; i++) assert_int_equal(is_nan((double)C[j * M + i]), i == 33);
    assert_ok(shs_gemm(NULL, SHS_TRANS_NO, SHS_TRANS_NO, M, N, 0, 1, A, M, B, 0, 1, C, M)); /* beta 1: stays */
    assert_true(is_nan((double)C[33]));
    assert_ok(shs_gemm(NULL, SHS_TRANS_NO, SHS_TRANS_NO, M, N, 0, 1, NULL, M, NULL, 0, 0, C, M));
    for (i = 0; i < M * N; i++) assert_true(C[i] == 0);
    free(A);
    free(B);
    free(C);
}

static void gemm_checks_its_arguments(void **state) {
    shs_real A[8] = {0}, B[6] = {0}, C[12] = {7};
    shs_context broken = SHS_ZERO;
    int naive;
    (void)state;
    broken.threads = -1;
    assert_status(shs_gemm(&broken, (shs_trans)5, SHS_TRANS_YES, 4, 3, 2, 1, A, 4, B, 2, 0, C, 4), SHS_BAD_CONTEXT);
    for (naive = 0; naive < 2; naive++) {
#define GEMM(ta, tb, m, n, k, A, lda, B, ldb, C, ldc)                                                                          \
    (naive ? shs_gemm_general_naive(ta, tb, m, n, k, 1, A, lda, B, ldb, 0, C, ldc)                                             \
           : shs_gemm(NULL, ta, tb, m, n, k, 1, A, lda, B, ldb, 0, C, ldc))
        assert_status(GEMM((shs_trans)2, SHS_TRANS_NO, -1, 3, 2, A, 4, B, 2, C, 4), SHS_BAD_ENUM);
        assert_status(GEMM(SHS_TRANS_NO, (shs_trans)2, -1, 3, 2, A, 4, B, 2, C, 4), SHS_BAD_ENUM);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, -1, -1, 2, A, 4, B, 2, C, 4), SHS_BAD_M);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, -1, -1, A, 4, B, 2, C, 4), SHS_BAD_N);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 3, -1, NULL, 4, B, 2, C, 4), SHS_BAD_K);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 3, 2, NULL, 3, B, 2, C, 4), SHS_BAD_A);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 3, 2, A, 3, NULL, 2, C, 4), SHS_BAD_LDA);
        assert_status(GEMM(SHS_TRANS_YES, SHS_TRANS_NO, 4, 3, 2, A, 1, B, 2, C, 4), SHS_BAD_LDA);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 3, 2, A, 4, NULL, 1, C, 4), SHS_BAD_B);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 3, 2, A, 4, B, 1, NULL, 4), SHS_BAD_LDB);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_YES, 4, 3, 2, A, 4, B, 2, C, 4), SHS_BAD_LDB);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 3, 2, A, 4, B, 2, NULL, 3), SHS_BAD_C);
        assert_status(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 3, 2, A, 4, B, 2, C, 3), SHS_BAD_LDC);
        assert_true(C[0] == 7);
        assert_ok(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 0, 3, 2, NULL, 0, B, 2, NULL, 0));
        assert_ok(GEMM(SHS_TRANS_NO, SHS_TRANS_NO, 4, 0, 2, A, 4, NULL, 2, NULL, 4));
#undef GEMM
    }
}

/* ---- syrk -------------------------------------------------------------------------------------------------------- */

static void check_syrk(shs_uplo uplo, shs_trans trans, int n, int k, shs_real alpha, shs_real beta, int gap) {
    int lda = (trans ? k : n) + gap, ldc = n + gap, i, j;
    size_t size_a = (size_t)lda * (size_t)(trans ? n : k), size_c = (size_t)ldc * (size_t)n;
    shs_real *A = new_matrix(trans ? k : n, trans ? n : k, lda, 41), *abs_A = magnitudes(size_a, A);
    shs_real *C = beta == 0 ? filled(size_c, not_a_number()) : new_matrix(n, n, ldc, 42);
    shs_real *before = copy_of(size_c, C), *naive = copy_of(size_c, C), *scale = magnitudes(size_c, C);
    assert_ok(shs_syrk_naive(uplo, trans, n, k, alpha, A, lda, beta, naive, ldc));
    assert_ok(shs_syrk_naive(uplo, trans, n, k, magnitude(alpha), abs_A, lda, magnitude(beta), scale, ldc));
    assert_ok(shs_syrk(NULL, uplo, trans, n, k, alpha, A, lda, beta, C, ldc));
    for (j = 0; j < n; j++)
        for (i = 0; i < ldc; i++)
            if (i < n && in_triangle(uplo, i, j))
                assert_close(*SHS__AT(C, ldc, i, j), *SHS__AT(naive, ldc, i, j),
                             (2 * k + 4) * (double)SHS__EPS * (double)*SHS__AT(scale, ldc, i, j));
            else {
                assert_memory_equal(SHS__AT(C, ldc, i, j), SHS__AT(before, ldc, i, j), sizeof *C);
                assert_memory_equal(SHS__AT(naive, ldc, i, j), SHS__AT(before, ldc, i, j), sizeof *C);
            }
    free(A);
    free(abs_A);
    free(C);
    free(before);
    free(naive);
    free(scale);
}

static void syrk_matches_naive(void **state) {
    int i, j, form, a, b, count = 0;
    (void)state;
    for (i = 0; i < SIZES; i++)
        for (j = 2 * first_of(i + test_instance, 3); j < SIZES; j += 2 * every(3)) {
            check_syrk((shs_uplo)(count & 1), (shs_trans)(count >> 1 & 1), sizes[i], sizes[(i + j) % SIZES],
                       factors[count / 4 % 4], factors[count / 16 % 4], count % 3);
            count++;
        }
    for (form = 0; form < 4; form++)
        for (a = 0; a < 4; a++)
            for (b = 0; b < 4; b++) check_syrk((shs_uplo)(form & 1), (shs_trans)(form >> 1), 61, 19, factors[a], factors[b], 2);
    for (form = first_of(test_instance, 4); form < 4; form += every(4)) {
        check_syrk((shs_uplo)(form & 1), (shs_trans)(form >> 1), 409, 390, 1, -1, 0);
        check_syrk((shs_uplo)(form & 1), (shs_trans)(form >> 1), 61, 2 * SHS__SLAB_DEPTH + 1, 1, factors[form], 1);
    }
}

static void syrk_checks_its_arguments(void **state) {
    shs_real A[8] = {0}, C[16] = {7};
    int naive;
    (void)state;
    for (naive = 0; naive < 2; naive++) {
#define SYRK(uplo, trans, n, k, A, lda, C, ldc)                                                                                \
    (naive ? shs_syrk_naive(uplo, trans, n, k, 1, A, lda, 0, C, ldc) : shs_syrk(NULL, uplo, trans, n, k, 1, A, lda, 0, C, ldc))
        assert_status(SYRK((shs_uplo)2, SHS_TRANS_NO, -1, 2, A, 4, C, 4), SHS_BAD_ENUM);
        assert_status(SYRK(SHS_UPLO_LOWER, (shs_trans)2, -1, 2, A, 4, C, 4), SHS_BAD_ENUM);
        assert_status(SYRK(SHS_UPLO_LOWER, SHS_TRANS_NO, -1, -1, A, 4, C, 4), SHS_BAD_N);
        assert_status(SYRK(SHS_UPLO_LOWER, SHS_TRANS_NO, 4, -1, NULL, 4, C, 4), SHS_BAD_K);
        assert_status(SYRK(SHS_UPLO_LOWER, SHS_TRANS_NO, 4, 2, NULL, 3, C, 4), SHS_BAD_A);
        assert_status(SYRK(SHS_UPLO_LOWER, SHS_TRANS_NO, 4, 2, A, 3, NULL, 4), SHS_BAD_LDA);
        assert_status(SYRK(SHS_UPLO_LOWER, SHS_TRANS_YES, 4, 2, A, 1, NULL, 4), SHS_BAD_LDA);
        assert_status(SYRK(SHS_UPLO_LOWER, SHS_TRANS_NO, 4, 2, A, 4, NULL, 3), SHS_BAD_C);
        assert_status(SYRK(SHS_UPLO_LOWER, SHS_TRANS_NO, 4, 2, A, 4, C, 3), SHS_BAD_LDC);
        assert_true(C[0] == 7);
        assert_ok(SYRK(SHS_UPLO_LOWER, SHS_TRANS_NO, 0, 2, NULL, 0, NULL, 0));
#undef SYRK
    }
}

/* ---- trsm -------------------------------------------------------------------------------------------------------- */

static void check_trsm(int form, int m, int n, shs_real alpha, int gap, int naive) {
    shs_side side = form & 1 ? SHS_SIDE_RIGHT : SHS_SIDE_LEFT;
    shs_uplo uplo = form & 2 ? SHS_UPLO_UPPER : SHS_UPLO_LOWER;
    shs_trans trans = form & 4 ? SHS_TRANS_YES : SHS_TRANS_NO;
    shs_diag diag = form & 8 ? SHS_DIAG_UNIT : SHS_DIAG_NON_UNIT;
    int order = side == SHS_SIDE_LEFT ? m : n, lda = order + gap, ldb = m + gap, j;
    shs_real *A = new_triangular(uplo, diag, order, lda, 51), *B = new_matrix(m, n, ldb, 52);
    shs_real *X = copy_of((size_t)ldb * (size_t)n, B);
    if (naive) assert_ok(shs_trsm_naive(side, uplo, trans, diag, m, n, alpha, A, lda, X, ldb));
    else assert_ok(shs_trsm(NULL, side, uplo, trans, diag, m, n, alpha, A, lda, X, ldb));
    assert_solves(side, uplo, trans, diag, m, n, alpha, A, lda, X, B, ldb);
    for (j = 0; gap && j < n; j++) assert_memory_equal(SHS__AT(X, ldb, m, j), SHS__AT(B, ldb, m, j), (size_t)gap * sizeof *X);
    free(A);
    free(B);
    free(X);
}

static void trsm_leaves_no_residual(void **state) {
    int i, j, form, count = 0;
    (void)state;
    for (i = 0; i < SIZES; i++)
        for (j = first_of(i + test_instance, 5); j < SIZES; j += every(5)) {
            shs_real alpha = factors[1 + count / 16 % 3];
            check_trsm(count % 16, sizes[i], sizes[j], alpha, count % 3, 0);
            if (sizes[i] < 100 && sizes[j] < 100) check_trsm(count % 16, sizes[i], sizes[j], alpha, count % 3, 1);
            count++;
        }
    for (form = first_of(test_instance, 3); form < 16; form += every(3)) {
        check_trsm(form, 33, 35, 1, 1, 0);
        check_trsm(form, 131, 150, (shs_real)0.7, 0, 0);
        check_trsm(form, 150, 131, -1, 2, 0);
        check_trsm(form, 37, 18, -1, 2, 1);
    }
}

static void trsm_checks_its_arguments(void **state) {
    shs_real A[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, B[12] = {7};
    int naive;
    (void)state;
    for (naive = 0; naive < 2; naive++) {
#define TRSM(side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb)                                                             \
    (naive ? shs_trsm_naive(side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb)                                              \
           : shs_trsm(NULL, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb))
        assert_status(TRSM((shs_side)2, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, -1, 3, 1, A, 4, B, 4), SHS_BAD_ENUM);
        assert_status(TRSM(SHS_SIDE_LEFT, (shs_uplo)2, SHS_TRANS_YES, SHS_DIAG_UNIT, -1, 3, 1, A, 4, B, 4), SHS_BAD_ENUM);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, (shs_trans)2, SHS_DIAG_UNIT, -1, 3, 1, A, 4, B, 4), SHS_BAD_ENUM);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, (shs_diag)2, -1, 3, 1, A, 4, B, 4), SHS_BAD_ENUM);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, -1, -1, 1, A, 4, B, 4), SHS_BAD_M);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 4, -1, 1, NULL, 4, B, 4), SHS_BAD_N);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 4, 3, 1, NULL, 3, B, 4), SHS_BAD_A);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 4, 3, 1, A, 3, NULL, 4), SHS_BAD_LDA);
        assert_status(TRSM(SHS_SIDE_RIGHT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 4, 3, 1, A, 2, NULL, 4), SHS_BAD_LDA);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 4, 3, 1, A, 4, NULL, 3), SHS_BAD_B);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_UNIT, 4, 3, 1, A, 4, B, 3), SHS_BAD_LDB);
        assert_status(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, 4, 3, 1, A, 4, B, 4), SHS_SINGULAR);
        assert_true(B[0] == 7);
        assert_ok(TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, 0, 3, 1, NULL, 0, NULL, 0));
        B[3] = not_a_number();
        assert_ok(
            TRSM(SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, 4, 3, 0, A, 4, B, 4)); /* neither is read */
        assert_true(B[0] == 0 && B[3] == 0);
        B[0] = 7;
#undef TRSM
    }
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

/* M M'/n + I in the triangle, NaN elsewhere. */
static shs_real *new_positive_definite(shs_uplo uplo, int n, int lda, uint64_t seed) {
    shs_real *M = new_uniform((size_t)n * (size_t)n, seed), *A = filled((size_t)lda * (size_t)n, not_a_number());
    int i;
    assert_ok(shs_syrk_naive(uplo, SHS_TRANS_NO, n, n, 1 / (shs_real)n, M, n, 0, A, lda));
    for (i = 0; i < n; i++) *SHS__AT(A, lda, i, i) += 1;
    free(M);
    return A;
}

static void check_cholesky(shs_uplo uplo, int n, int gap, int naive) {
    int lda = n + gap, i, j;
    shs_real *A = new_positive_definite(uplo, n, lda, 61), *F = copy_of((size_t)lda * (size_t)n, A), *L, *abs_L;
    shs_real *product = filled((size_t)n * (size_t)n, 0), *scale = filled((size_t)n * (size_t)n, 0);
    if (naive) assert_ok(shs_cholesky_naive(uplo, n, F, lda));
    else assert_ok(shs_cholesky(NULL, uplo, n, F, lda));
    L = full_triangular(uplo, SHS_DIAG_NON_UNIT, n, F, lda);
    abs_L = magnitudes((size_t)n * (size_t)n, L);
    assert_ok(shs_syrk_naive(uplo, (shs_trans)(uplo == SHS_UPLO_UPPER), n, n, 1, L, n, 0, product, n));
    assert_ok(shs_syrk_naive(uplo, (shs_trans)(uplo == SHS_UPLO_UPPER), n, n, 1, abs_L, n, 0, scale, n));
    for (j = 0; j < n; j++)
        for (i = 0; i < lda; i++)
            if (i < n && in_triangle(uplo, i, j))
                assert_close(*SHS__AT(product, n, i, j), *SHS__AT(A, lda, i, j),
                             (2 * n + 4) * (double)SHS__EPS * (double)*SHS__AT(scale, n, i, j));
            else assert_memory_equal(SHS__AT(F, lda, i, j), SHS__AT(A, lda, i, j), sizeof *A);
    for (i = 0; i < n; i++) assert_true(*SHS__AT(F, lda, i, i) > 0);
    free(A);
    free(F);
    free(L);
    free(abs_L);
    free(product);
    free(scale);
}

static void cholesky_factors_multiply_to_the_matrix(void **state) {
    int i, uplo;
    (void)state;
    for (uplo = 0; uplo < 2; uplo++) {
        for (i = first_of(uplo + test_instance, 2); i < SIZES; i += every(2)) {
            check_cholesky((shs_uplo)uplo, sizes[i], i % 3, 0);
            if (sizes[i] < 100) check_cholesky((shs_uplo)uplo, sizes[i], i % 3, 1);
        }
        check_cholesky((shs_uplo)uplo, 33, 1, 0);
        check_cholesky((shs_uplo)uplo, 290, 1, 0);
    }
}

static void cholesky_finds_what_is_not_positive_definite(void **state) {
    static const int places[] = {0, 3, 31, 32, 63, 64, 90}; /* in each of the blocks, at their seams */
    int uplo, p, n = 91;
    (void)state;
    for (uplo = 0; uplo < 2; uplo++)
        for (p = 0; p < 7; p++) {
            shs_real *A = new_positive_definite((shs_uplo)uplo, n, n, 62), *B = copy_of((size_t)n * (size_t)n, A);
            *SHS__AT(A, n, places[p], places[p]) = -1;
            *SHS__AT(B, n, places[p], places[p]) = not_a_number();
            assert_status(shs_cholesky(NULL, (shs_uplo)uplo, n, A, n), SHS_NOT_POSITIVE_DEFINITE);
            assert_status(shs_cholesky(NULL, (shs_uplo)uplo, n, B, n), SHS_NOT_POSITIVE_DEFINITE);
            free(A);
            free(B);
        }
}

static void cholesky_checks_its_arguments(void **state) {
    shs_real A[4] = {4, 1, 1, 3};
    (void)state;
    assert_status(shs_cholesky(NULL, (shs_uplo)2, -1, A, 2), SHS_BAD_ENUM);
    assert_status(shs_cholesky(NULL, SHS_UPLO_LOWER, -1, NULL, 2), SHS_BAD_N);
    assert_status(shs_cholesky(NULL, SHS_UPLO_LOWER, 2, NULL, 1), SHS_BAD_A);
    assert_status(shs_cholesky(NULL, SHS_UPLO_LOWER, 2, A, 1), SHS_BAD_LDA);
    assert_status(shs_cholesky_naive((shs_uplo)2, -1, A, 2), SHS_BAD_ENUM);
    assert_status(shs_cholesky_naive(SHS_UPLO_LOWER, -1, NULL, 2), SHS_BAD_N);
    assert_status(shs_cholesky_naive(SHS_UPLO_LOWER, 2, NULL, 1), SHS_BAD_A);
    assert_status(shs_cholesky_naive(SHS_UPLO_LOWER, 2, A, 1), SHS_BAD_LDA);
    assert_true(A[0] == 4);
    assert_ok(shs_cholesky(NULL, SHS_UPLO_LOWER, 0, NULL, 0));
}

/* ---- threads and memory ------------------------------------------------------------------------------------------ */

enum { GEMM, SYRK, GEMM_DEEP, SYRK_DEEP, TRSM_LEFT, TRSM_RIGHT, CHOLESKY_LOWER, CHOLESKY_UPPER, BLOCKED_ROUTINES };

enum { ORDER = 333, DEPTH = 2 * SHS__SLAB_DEPTH + 1 };

/* One call of each routine with a context, of about the same size. */
static shs_status run_blocked(const shs_context *ctx, int which, const shs_real *A, const shs_real *T, shs_real *C) {
    switch (which) {
    case GEMM: return shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, ORDER, ORDER, ORDER, 1, A, ORDER, T, ORDER, 1, C, ORDER);
    case SYRK: return shs_syrk(ctx, SHS_UPLO_LOWER, SHS_TRANS_YES, ORDER, ORDER, 1, A, ORDER, 1, C, ORDER);
    case GEMM_DEEP: return shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, 9, 8, DEPTH, 1, A, DEPTH, T, DEPTH, 1, C, ORDER);
    case SYRK_DEEP: return shs_syrk(ctx, SHS_UPLO_UPPER, SHS_TRANS_YES, 9, DEPTH, 1, A, DEPTH, 1, C, ORDER);
    case TRSM_LEFT:
        return shs_trsm(ctx, SHS_SIDE_LEFT, SHS_UPLO_UPPER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, ORDER, ORDER, 1, T, ORDER, C,
                        ORDER);
    case TRSM_RIGHT:
        return shs_trsm(ctx, SHS_SIDE_RIGHT, SHS_UPLO_LOWER, SHS_TRANS_YES, SHS_DIAG_NON_UNIT, ORDER, ORDER, 1, T, ORDER, C,
                        ORDER);
    case CHOLESKY_LOWER: return shs_cholesky(ctx, SHS_UPLO_LOWER, ORDER, C, ORDER);
    default: return shs_cholesky(ctx, SHS_UPLO_UPPER, ORDER, C, ORDER);
    }
}

static size_t blocked_workspace(const shs_context *ctx, int which) {
    switch (which) {
    case GEMM: return shs_gemm_workspace(ctx, ORDER, ORDER, ORDER);
    case SYRK: return shs_syrk_workspace(ctx, ORDER, ORDER);
    case GEMM_DEEP: return shs_gemm_workspace(ctx, 9, 8, DEPTH);
    case SYRK_DEEP: return shs_syrk_workspace(ctx, 9, DEPTH);
    case TRSM_LEFT: return shs_trsm_workspace(ctx, SHS_SIDE_LEFT, ORDER, ORDER);
    case TRSM_RIGHT: return shs_trsm_workspace(ctx, SHS_SIDE_RIGHT, ORDER, ORDER);
    default: return shs_cholesky_workspace(ctx, ORDER);
    }
}

/* A (any), T (diagonally dominant, usable as a triangle and as a positive definite matrix) and room for C. */
static void blocked_inputs(shs_real **A, shs_real **T, shs_real **C, shs_real **expected) {
    size_t room = (size_t)ORDER * (size_t)ORDER;
    int i;
    *A = new_uniform(room, 71);
    *T = new_uniform(room, 72);
    for (i = 0; i < ORDER; i++) *SHS__AT(*T, ORDER, i, i) += 8 * ORDER;
    *C = filled(room, 0);
    *expected = filled(room, 0);
}

static void threads_do_not_change_a_bit(void **state) {
    size_t bytes = (size_t)ORDER * (size_t)ORDER * sizeof(shs_real);
    shs_real *A, *T, *C, *expected;
    int which, threads, calls;
    shs_context one = SHS_ZERO;
    (void)state;
    one.threads = 1;
    blocked_inputs(&A, &T, &C, &expected);
    for (which = 0; which < BLOCKED_ROUTINES; which++) {
        memcpy(expected, T, bytes);
        assert_ok(run_blocked(&one, which, A, T, expected));
        assert_memory_not_equal(expected, T, bytes);
        for (threads = 1; threads <= 3; threads++) {
            shs_context ctx = odd_context(threads, &calls);
            memcpy(C, T, bytes);
            assert_ok(run_blocked(&ctx, which, A, T, C));
            assert_memory_equal(C, expected, bytes);
            assert_true(threads == 1 || calls > 0);
        }
        memcpy(C, T, bytes);
        assert_ok(run_blocked(NULL, which, A, T, C));
        assert_memory_equal(C, expected, bytes);
    }
    free(A);
    free(T);
    free(C);
    free(expected);
}

static void workspace_queries_are_exact(void **state) {
    size_t bytes = (size_t)ORDER * (size_t)ORDER * sizeof(shs_real);
    shs_real *A, *T, *C, *expected;
    int which, threads, calls;
    (void)state;
    blocked_inputs(&A, &T, &C, &expected);
    for (which = 0; which < BLOCKED_ROUTINES; which++)
        for (threads = 1; threads <= 3; threads++) {
            shs_context ctx = odd_context(threads, &calls);
            size_t size = blocked_workspace(&ctx, which);
            void *memory = malloc(size);
            shs_arena arena;
            assert_non_null(memory);
            shs_arena_init(&arena, memory, size);
            shs_arena_attach(&arena, &ctx);
            memcpy(C, T, bytes);
            assert_ok(run_blocked(&ctx, which, A, T, C));
            assert_int_equal(arena.used, 0);
            assert_true(arena.peak + 64 >= size); /* the query asks for no more than is used, and the arena's bytes */
            shs_arena_init(&arena, memory, size / 2);
            memcpy(C, T, bytes);
            assert_status(run_blocked(&ctx, which, A, T, C), SHS_NO_MEMORY);
            assert_memory_equal(C, T, bytes);
            assert_int_equal(arena.used, 0);
            free(memory);
        }
    free(A);
    free(T);
    free(C);
    free(expected);
}

/* Nothing is asked of the allocator where there is nothing to do, and where little is. */
static void empty_products_need_no_memory(void **state) {
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    shs_real C[4] = {1, 2, 3, 4}, D[4];
    (void)state;
    shs_arena_init(&arena, NULL, 0);
    shs_arena_attach(&arena, &ctx);
    assert_ok(shs_gemm(&ctx, SHS_TRANS_NO, SHS_TRANS_NO, 2, 2, 0, 1, NULL, 2, NULL, 0, 2, C, 2));
    assert_ok(shs_gemm(&ctx, SHS_TRANS_NO, SHS_TRANS_NO, 2, 2, 2, 0, C, 2, C, 2, 2, C, 2));
    assert_true(C[0] == 4 && C[3] == 16);
    assert_ok(shs_syrk(&ctx, SHS_UPLO_LOWER, SHS_TRANS_NO, 2, 0, 1, NULL, 2, 2, C, 2));
    assert_true(C[0] == 8 && C[1] == 16 && C[2] == 12 && C[3] == 32);
    assert_status(shs_gemm(&ctx, SHS_TRANS_NO, SHS_TRANS_NO, 2, 2, 2, 2, C, 2, C, 2, 0, D, 2), SHS_NO_MEMORY); /* it packs */
    ctx.threads = 1;
    assert_ok(shs_gemm(&ctx, SHS_TRANS_NO, SHS_TRANS_NO, 2, 2, 2, 1, C, 2, C, 2, 0, D, 2));
    assert_true(D[0] == 64 + 12 * 16 && D[1] == 16 * 8 + 32 * 16 && D[2] == 8 * 12 + 12 * 32 && D[3] == 16 * 12 + 32 * 32);
    assert_true(shs_gemm_workspace(&ctx, 0, 0, 0) < 65536);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_matches_its_definition),
        cmocka_unit_test(axpy_matches_its_definition),
        cmocka_unit_test(nrm2_neither_overflows_nor_underflows),
        cmocka_unit_test(normalized_columns_have_unit_length),
        cmocka_unit_test(gemv_matches_gemm_naive),
        cmocka_unit_test(gemv_checks_its_arguments),
        cmocka_unit_test(gemm_naive_matches_general_form),
        cmocka_unit_test(ger_matches_gemm_naive),
        cmocka_unit_test(trsv_leaves_no_residual),
        cmocka_unit_test(trsv_checks_its_arguments),
        cmocka_unit_test(gemm_matches_naive_over_odd_sizes),
        cmocka_unit_test(gemm_matches_naive_in_every_form),
        cmocka_unit_test(gemm_matches_naive_beyond_its_blocks),
        cmocka_unit_test(gemm_elements_do_not_depend_on_the_cutting),
        cmocka_unit_test(gemm_is_the_same_packed_or_not),
        cmocka_unit_test(syrk_elements_are_those_of_gemm),
        cmocka_unit_test(gemm_lets_nan_through),
        cmocka_unit_test(gemm_checks_its_arguments),
        cmocka_unit_test(syrk_matches_naive),
        cmocka_unit_test(syrk_checks_its_arguments),
        cmocka_unit_test(trsm_leaves_no_residual),
        cmocka_unit_test(trsm_checks_its_arguments),
        cmocka_unit_test(cholesky_factors_multiply_to_the_matrix),
        cmocka_unit_test(cholesky_finds_what_is_not_positive_definite),
        cmocka_unit_test(cholesky_checks_its_arguments),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(workspace_queries_are_exact),
        cmocka_unit_test(empty_products_need_no_memory),
    };
    return run_with_every_instance("dense linear algebra", tests);
}
