/* test_eigen.c - section 5: the symmetric eigenproblem, against its naive twin and LAPACK's kind of bounds. */
#include "test.h"

#define EPS ((double)SHS__WIDE_EPS)
#define PAD 3 /* rows beyond n in A and in the vectors */

/* ---- matrices with a history ------------------------------------------------------------------------------------- */

#define KIND_LIST(X)                                                                                                           \
    X(RANDOM, "random")                                                                                                        \
    X(DIAGONAL, "diagonal")                                                                                                    \
    X(CONSTANT, "constant")                                                                                                    \
    X(IDENTITY, "identity")                                                                                                    \
    X(ZERO, "zero")                                                                                                            \
    X(REPEATED, "repeated")                                                                                                    \
    X(CLUSTERED, "clustered")                                                                                                  \
    X(CLUSTERED_DIAGONAL, "clustered diagonal")                                                                                \
    X(GRADED_DOWN, "graded downwards")                                                                                         \
    X(GRADED_UP, "graded upwards")                                                                                             \
    X(WILKINSON, "Wilkinson")                                                                                                  \
    X(GLUED_WILKINSON, "glued Wilkinson")                                                                                      \
    X(HILBERT, "Hilbert")                                                                                                      \
    X(TINY, "tiny")                                                                                                            \
    X(HUGE_VALUES, "huge")                                                                                                     \
    X(COVARIANCE, "rank-deficient covariance")                                                                                 \
    X(NEGATIVE, "negative definite")                                                                                           \
    X(ARROW, "arrow")

typedef enum kind {
#define KIND_ENUM(code, name) code,
    KIND_LIST(KIND_ENUM)
    KINDS
} kind;

static const char *const kind_name[KINDS] = {
#define KIND_NAME(code, name) name,
    KIND_LIST(KIND_NAME)
};

/* H D H with the reflection H = I - 2 u u'. */
static void reflect(int n, double *A, uint64_t seed) {
    double *u = (double *)malloc((size_t)n * sizeof *u), *w = (double *)calloc((size_t)n, sizeof *w), uu = 0, uw = 0;
    shs_random r;
    int i, j;
    assert_true(u && w);
    shs_random_seed(&r, seed);
    for (i = 0; i < n; i++) {
        u[i] = (double)shs_random_normal(&r);
        uu += u[i] * u[i];
    }
    for (i = 0; i < n; i++) u[i] /= sqrt(uu);
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) w[i] += A[i + j * n] * u[j];
    for (i = 0; i < n; i++) uw += u[i] * w[i];
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) A[i + j * n] += 4 * uw * u[i] * u[j] - 2 * (u[i] * w[j] + w[i] * u[j]);
    free(u);
    free(w);
}

/* X X', X n x 10, with the first 11 and the last 11 rows zero as the dead bands of a sensor are. */
static void covariance(int n, double *A, shs_random *r) {
    double *x = (double *)malloc((size_t)n * sizeof *x);
    int i, j, l;
    assert_non_null(x);
    for (l = 0; l < 10; l++) {
        for (i = 0; i < n; i++) x[i] = n > 30 && (i < 11 || i >= n - 11) ? 0 : (double)shs_random_normal(r);
        for (j = 0; j < n; j++)
            for (i = 0; i < n; i++) A[i + j * n] += x[i] * x[j];
    }
    free(x);
}

static void fill_wilkinson(int n, int block, double glue, double *A) {
    int i;
    for (i = 0; i < n; i++) {
        A[i + i * n] = fabs(i % block - (block - 1) / 2.0);
        if (i + 1 < n) A[i + 1 + i * n] = A[i + (i + 1) * n] = (i + 1) % block ? 1 : glue;
    }
}

static double entry(kind what, int i, int j, shs_random *r) {
    double x = 2 * (double)shs_random_uniform(r) - 1;
    switch (what) {
    case CONSTANT: return 0.1;
    case GRADED_DOWN: return x * pow(10, -(i > j ? i : j) / 8.0);
    case HILBERT: return 1.0 / (i + j + 1);
    case ARROW:
        if (i == j) return i;
        return j == 0 || i == 0;
    default: return x;
    }
}

/* The eigenvalues of matrices built from known eigenvalues; false for other kinds. */
static int spectrum(kind what, int n, double *A, shs_random *r) {
    int i;
    for (i = 0; i < n; i++) {
        double *a = A + i + i * n;
        switch (what) {
        case DIAGONAL: *a = (double)shs_random_normal(r); break;
        case IDENTITY: *a = 1; break;
        case REPEATED: *a = i % 3 + 1; break;
        case CLUSTERED: *a = 1 + 1e-14 * i; break;
        case CLUSTERED_DIAGONAL: *a = 1 + 1e-14 * i; break;
        case GRADED_UP: *a = pow(10, (i - n) / 8.0); break;
        case NEGATIVE: *a = -1 - i; break;
        default: return 0;
        }
    }
    return 1;
}

/* A full symmetric n x n matrix in double. */
static double *new_symmetric(kind what, int n) {
    double *A = (double *)calloc((size_t)n * (size_t)n, sizeof *A);
    shs_random r;
    int i, j;
    assert_non_null(A);
    shs_random_seed(&r, (uint64_t)(100 * n) + (uint64_t)what);
    if (what == ZERO) return A;
    if (what == WILKINSON) fill_wilkinson(n, n, 0, A);
    else if (what == GLUED_WILKINSON) fill_wilkinson(n, 21, 1e-11, A);
    else if (what == COVARIANCE) covariance(n, A, &r);
    else if (!spectrum(what, n, A, &r))
        for (j = 0; j < n; j++)
            for (i = j; i < n; i++) A[i + j * n] = A[j + i * n] = entry(what, i, j, &r);
    if (what == REPEATED || what == CLUSTERED || what == GRADED_UP || what == NEGATIVE) {
        reflect(n, A, 1);
        reflect(n, A, 2);
    }
    return A;
}

/* What TINY and HUGE_VALUES are multiplied by on the way into the library, and divided by on the way out. */
static double scale_of(kind what) {
#ifdef SPARSEHS_NO_DOUBLE
    const double small = 1e-30, large = 1e30;
#else
    const double small = 1e-150, large = 1e150;
#endif
    if (what == TINY) return small;
    if (what == HUGE_VALUES) return large;
    return 1;
}

/* ---- one problem ------------------------------------------------------------------------------------------------- */

typedef struct problem {
    kind what;
    int n, ld;
    double norm; /* the longest column of A, which ||A||_2 is not below */
    double *full;
    shs_wide *A, *copy, *values, *vectors; /* A: NaN above the diagonal and in the padding */
} problem;

static shs_wide *new_wide(size_t count, double value) {
    shs_wide *x = (shs_wide *)malloc(count * sizeof *x);
    size_t i;
    assert_non_null(x);
    for (i = 0; i < count; i++) x[i] = (shs_wide)value;
    return x;
}

static problem new_problem(kind what, int n) {
    problem p;
    double scale = scale_of(what);
    size_t size = (size_t)(n + PAD) * (size_t)n;
    int i, j;
    p.what = what;
    p.n = n;
    p.ld = n + PAD;
    p.norm = 0;
    p.full = new_symmetric(what, n);
    p.A = new_wide(size, (double)NAN);
    p.copy = new_wide(size, 0);
    p.values = new_wide((size_t)n, 7);
    p.vectors = new_wide(size, 7);
    for (j = 0; j < n; j++) {
        double sum = 0;
        for (i = 0; i < n; i++) {
            shs_wide a = (shs_wide)(p.full[i + j * n] * scale);
            if (i >= j) p.A[i + j * p.ld] = a;
            p.full[i + j * n] = (double)a / scale; /* as rounded */
            sum += p.full[i + j * n] * p.full[i + j * n];
        }
        p.norm = sqrt(sum) > p.norm ? sqrt(sum) : p.norm;
    }
    memcpy(p.copy, p.A, size * sizeof *p.A);
    return p;
}

static void free_problem(problem *p) { free(p->full), free(p->A), free(p->copy), free(p->values), free(p->vectors); }

static void solve(const problem *p, int k) {
    size_t size = (size_t)p->ld * (size_t)p->n;
    int i, j;
    for (i = 0; i < p->n; i++) p->values[i] = 7;
    for (i = 0; i < (int)size; i++) p->vectors[i] = 7;
    assert_ok(shs_eigh(NULL, p->n, p->A, p->ld, k, p->values, p->vectors, p->ld));
    assert_memory_equal(p->A, p->copy, size * sizeof *p->A);
    for (j = 0; j < p->n; j++) /* nothing beyond k, and nothing in the padding */
        for (i = j < k ? p->n : 0; i < p->ld; i++) assert_true(p->vectors[i + j * p->ld] == 7);
    for (j = k; j < p->n; j++) assert_true(p->values[j] == 7);
}

static double worst_residual, worst_orthogonality;

/* ||A v - lambda v|| <= 50 n eps ||A|| for each pair. */
static void check_residuals(const problem *p, int k) {
    int i, j, l;
    double *r = (double *)malloc((size_t)p->n * sizeof *r);
    assert_non_null(r);
    for (l = 0; l < k; l++) {
        const shs_wide *v = p->vectors + l * p->ld;
        double sum = 0, lambda = (double)p->values[l] / scale_of(p->what), bound = 50 * p->n * EPS * p->norm;
        for (i = 0; i < p->n; i++) r[i] = -lambda * (double)v[i];
        for (j = 0; j < p->n; j++)
            for (i = 0; i < p->n; i++) r[i] += p->full[i + j * p->n] * (double)v[j];
        for (i = 0; i < p->n; i++) sum += r[i] * r[i];
        if (!(sqrt(sum) <= bound))
            fail_msg("%s, n %d, k %d, pair %d: residual %g > %g", kind_name[p->what], p->n, k, l, sqrt(sum), bound);
        if (bound > 0 && 50 * sqrt(sum) / bound > worst_residual) worst_residual = 50 * sqrt(sum) / bound;
    }
    free(r);
}

/* ||V'V - I||_F <= 50 n eps */
static void check_orthonormal(const problem *p, const shs_wide *V, int k) {
    double sum = 0, bound = 50 * p->n * EPS;
    int i, j, l;
    for (l = 0; l < k; l++)
        for (j = 0; j <= l; j++) {
            double dot = j == l ? -1 : 0;
            for (i = 0; i < p->n; i++) dot += (double)V[i + j * p->ld] * (double)V[i + l * p->ld];
            sum += (j == l ? 1 : 2) * dot * dot;
        }
    if (!(sqrt(sum) <= bound))
        fail_msg("%s, n %d, k %d: off orthonormal by %g > %g", kind_name[p->what], p->n, k, sqrt(sum), bound);
    if (50 * sqrt(sum) / bound > worst_orthogonality) worst_orthogonality = 50 * sqrt(sum) / bound;
}

/* Descending values, and the first of the largest entries of each vector positive. */
static void check_order_and_signs(const problem *p, int k) {
    int i, l, at;
    for (l = 0; l < k; l++) {
        const shs_wide *v = p->vectors + l * p->ld;
        if (l > 0) assert_true(p->values[l] <= p->values[l - 1]);
        at = 0;
        for (i = 1; i < p->n; i++)
            if (fabs((double)v[i]) > fabs((double)v[at])) at = i;
        assert_true(v[at] > 0);
    }
}

static void check_values(const problem *p, int k, const shs_wide *expected, const char *against) {
    double bound = 50 * p->n * EPS * p->norm, scale = scale_of(p->what);
    int l;
    for (l = 0; l < k; l++) {
        double a = (double)p->values[l] / scale, b = (double)expected[l] / scale;
        if (!(fabs(a - b) <= bound))
            fail_msg("%s, n %d, k %d, value %d: %.17g, %s %.17g", kind_name[p->what], p->n, k, l, a, against, b);
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const int orders[] = {1, 2, 3, 4, 5, 7, 16, 31, 33, 64, 65, 100, 224};
#define ORDERS ((int)(sizeof orders / sizeof *orders))

/* Every kind of matrix in every size, for one, two, ten and all pairs; values alone are the same values. */
static void test_bounds(void **state) {
    int what, s, q;
    (void)state;
    worst_residual = worst_orthogonality = 0;
    for (what = 0; what < KINDS; what++)
        for (s = first_of(what + test_instance, 3); s < ORDERS; s += every(3)) {
            int n = orders[s], ks[4] = {1, 2, 10, n};
            problem p = new_problem((kind)what, n);
            for (q = 0; q < 4; q++) {
                shs_wide *alone = new_wide((size_t)n, 7);
                int k = ks[q];
                if (k <= n) {
                    solve(&p, k);
                    check_residuals(&p, k);
                    check_orthonormal(&p, p.vectors, k);
                    check_order_and_signs(&p, k);
                    assert_ok(shs_eigh(NULL, n, p.A, p.ld, k, alone, NULL, 0));
                    check_values(&p, k, alone, "values only");
                }
                free(alone);
            }
            free_problem(&p);
        }
    print_message("residuals up to %.2f n eps ||A||, orthonormal to %.2f n eps\n", worst_residual, worst_orthogonality);
}

/* A (n x n) is reflected by a vector of ones and minus ones: H A H with H = I - 2 v v' / n. With n a power of two and few bits nothing
   is rounded. */
static void reflect_exactly(int n, double *A, shs_random *r) {
    double v[32], u[32], t = 0;
    int i, j;
    for (i = 0; i < n; i++) v[i] = shs_random_below(r, 2) ? 1 : -1;
    for (i = 0; i < n; i++) {
        u[i] = 0;
        for (j = 0; j < n; j++) u[i] += A[j * n + i] * v[j];
        t += u[i] * v[i];
    }
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) A[j * n + i] += 4 * t * v[i] * v[j] / n / n - 2 * (u[i] * v[j] + v[i] * u[j]) / n;
}

/* Dense matrices with the eigenvalues 1, 1, 1/2, 1/2, ..: the small half errs by less than the rounding of the largest at the mean.
   QL from the large end errs by 1.7 of it. */
static void test_small_values(void **state) {
    enum { N = 32, MATRICES = 1000 };
    double mean = 0;
    int matrix, i;
    (void)state;
    for (matrix = 0; matrix < MATRICES; matrix++) {
        double A[N * N] = SHS_ZERO, worst = 0;
        shs_wide wide[N * N], values[N];
        shs_random r;
        shs_random_seed(&r, (uint64_t)matrix);
        for (i = 0; i < N; i++) {
            const int at = (int)shs_random_permuted((uint64_t)i, N, (uint64_t)matrix);
            A[at * N + at] = ldexp(1, -(i / 2));
        }
        reflect_exactly(N, A, &r);
        reflect_exactly(N, A, &r);
        for (i = 0; i < N * N; i++) wide[i] = (shs_wide)A[i];
        assert_ok(shs_eigh(NULL, N, wide, N, N, values, NULL, 0));
        for (i = N / 2; i < N; i++) worst = fmax(worst, fabs((double)values[i] - ldexp(1, -(i / 2))));
        mean += worst / EPS / MATRICES;
    }
    assert_in_range(1000 * mean, 1, 1000);
}

/* All pairs of a problem from Jacobi's rotations, laid out and signed as shs_eigh does it. */
static void jacobi(const problem *p, shs_wide *values, shs_wide *vectors) {
    shs_wide *A = new_wide((size_t)(p->n * p->n), 0), *V = new_wide((size_t)(p->n * p->n), 0);
    int i, j;
    for (j = 0; j < p->n; j++)
        for (i = 0; i < p->n; i++) A[i + j * p->n] = p->A[i > j ? i + j * p->ld : j + i * p->ld];
    shs_eigh_naive(p->n, A, values, V);
    for (j = 0; j < p->n; j++) {
        shs_wide largest = 0;
        for (i = 0; i < p->n; i++)
            if (fabs((double)V[i + j * p->n]) > fabs((double)largest)) largest = V[i + j * p->n];
        for (i = 0; i < p->n; i++) vectors[i + j * p->ld] = largest < 0 ? -V[i + j * p->n] : V[i + j * p->n];
    }
    free(A);
    free(V);
}

/* Against Jacobi's rotations; the largest orders for a kind or two only, since the naive twin takes its time. */
static void test_jacobi(void **state) {
    int what, s;
    (void)state;
    for (what = 0; what < KINDS; what++)
        for (s = first_of(what + test_instance, 3); s < ORDERS; s += every(3)) {
            int n = orders[s], few = n < 10 ? 1 : 10;
            problem p;
            shs_wide *expected, *V;
            if ((n > 65 && what != RANDOM && what != COVARIANCE) || (n > 100 && what != COVARIANCE)) continue;
            p = new_problem((kind)what, n);
            expected = new_wide((size_t)n, 7);
            V = new_wide((size_t)p.ld * (size_t)n, 7);
            jacobi(&p, expected, V);
            check_orthonormal(&p, V, n);
            solve(&p, n);
            check_values(&p, n, expected, "Jacobi");
            solve(&p, few);
            check_values(&p, few, expected, "Jacobi");
            memcpy(p.values, expected, (size_t)n * sizeof *expected);
            memcpy(p.vectors, V, (size_t)p.ld * (size_t)n * sizeof *V);
            check_residuals(&p, n);
            check_order_and_signs(&p, n);
            free(expected);
            free(V);
            free_problem(&p);
        }
}

/* The twin's values follow the unit of A, whose squares may be no numbers. */
static void test_jacobi_in_any_unit(void **state) {
#ifdef SPARSEHS_NO_DOUBLE
    static const double units[] = {1, 1e25, 1e-20, 1e-30};
#else
    static const double units[] = {1, 1e200, 1e-170, 1e-300};
#endif
    static const double matrices[2][4] = {{1, 0.5, 0.5, 0}, {0, 1, 1, 0}};
    int u, k, i;
    (void)state;
    for (k = 0; k < 2; k++)
        for (u = 0; u < 4; u++) {
            const double trace = matrices[k][0] + matrices[k][3], half = sqrt(trace * trace / 4 + matrices[k][1] * matrices[k][1]);
            shs_wide A[4], values[2], V[4];
            for (i = 0; i < 4; i++) A[i] = (shs_wide)(matrices[k][i] * units[u]);
            shs_eigh_naive(2, A, values, V);
            assert_close(values[0], (trace / 2 + half) * units[u], 4 * EPS * units[u]);
            assert_close(values[1], (trace / 2 - half) * units[u], 4 * EPS * units[u]);
        }
}

/* Eigenvalues that have a formula, or are in the books. */
static void test_known_values(void **state) {
    problem p = new_problem(WILKINSON, 21);
    shs_wide A[4] = {2, 1, 0, 2}, values[2], vectors[4], *B;
    double h = sqrt(0.5);
    int i, n = 50;
    (void)state;
    solve(&p, 2); /* two eigenvalues equal in 14 digits, with a symmetric and an antisymmetric vector */
    assert_close(p.values[0], 10.746194182903393, 100 * EPS);
    assert_close(p.values[1], 10.746194182903322, 100 * EPS);
    free_problem(&p);

    assert_ok(shs_eigh(NULL, 2, A, 2, 2, values, vectors, 2));
    assert_close(values[0], 3, 4 * EPS);
    assert_close(values[1], 1, 4 * EPS);
    assert_close(vectors[0], h, 4 * EPS);
    assert_close(vectors[1], h, 4 * EPS);
    assert_close(fabs((double)vectors[2]), h, 4 * EPS);
    assert_close(vectors[2] + vectors[3], 0, 4 * EPS);

    B = new_wide((size_t)(n * n), 0); /* second differences: 2 - 2 cos(l pi / (n + 1)) */
    p = new_problem(ZERO, n);
    for (i = 0; i < n; i++) B[i + i * n] = 2;
    for (i = 0; i + 1 < n; i++) B[i + 1 + i * n] = -1;
    assert_ok(shs_eigh(NULL, n, B, n, n, p.values, p.vectors, p.ld));
    for (i = 0; i < n; i++) assert_close(p.values[i], 2 - 2 * cos((n - i) * acos(-1.0) / (n + 1)), 20 * EPS);
    assert_ok(shs_eigh(NULL, n, B, n, 7, p.values, p.vectors, p.ld));
    for (i = 0; i < 7; i++) assert_close(p.values[i], 2 - 2 * cos((n - i) * acos(-1.0) / (n + 1)), 20 * EPS);
    free(B);
    free_problem(&p);
}

/* Exact cases: a diagonal comes out sorted and unrounded at any scale, even where a number is not normal. */
static void test_exact(void **state) {
    shs_wide A[9] = {1, 0, 0, 0, 3, 0, 0, 0, -2}, values[3], vectors[9], factor[4] = {1, 1, 1, 1};
    static const double expected[9] = {0, 1, 0, 1, 0, 0, 0, 0, 1};
    int i, q;
    (void)state;
    factor[1] = SHS__WIDE_MIN / 4;
    factor[2] = 1 / (4 * SHS__WIDE_MIN);
    factor[3] = SHS__WIDE_MIN;
    for (q = 0; q < 4; q++) {
        shs_wide B[9];
        for (i = 0; i < 9; i++) B[i] = A[i] * factor[q];
        if (B[4] == 0) continue; /* -ffast-math: the processor takes what is not normal for zero */
        assert_ok(shs_eigh(NULL, 3, B, 3, 3, values, vectors, 3));
        assert_true(values[0] == B[4] && values[1] == B[0] && values[2] == B[8]);
        for (i = 0; i < 9; i++) assert_true((double)vectors[i] == expected[i]);
    }
    A[0] = -5;
    assert_ok(shs_eigh(NULL, 1, A, 1, 1, values, vectors, 1));
    assert_true(values[0] == -5 && vectors[0] == 1);
    shs_eigh_naive(1, A, values, vectors);
    assert_true(values[0] == -5 && vectors[0] == 1);
}

static void test_bad_arguments(void **state) {
    shs_wide A[4] = {2, 1, 0, 2}, values[2] = {7, 7}, vectors[4] = {7, 7, 7, 7};
    shs_context ctx = SHS_ZERO;
    int i;
    (void)state;
    ctx.threads = -1;
    assert_status(shs_eigh(&ctx, 2, A, 2, 2, values, vectors, 2), SHS_BAD_CONTEXT);
    assert_status(shs_eigh(NULL, 0, A, 2, 2, values, vectors, 2), SHS_BAD_N);
    assert_status(shs_eigh(NULL, -1, NULL, 2, 2, values, vectors, 2), SHS_BAD_N);
    assert_status(shs_eigh(NULL, 2, NULL, 1, 2, values, vectors, 2), SHS_BAD_A);
    assert_status(shs_eigh(NULL, 2, A, 1, 0, values, vectors, 2), SHS_BAD_LDA);
    assert_status(shs_eigh(NULL, 2, A, 2, 0, NULL, vectors, 2), SHS_BAD_K);
    assert_status(shs_eigh(NULL, 2, A, 2, 3, values, vectors, 2), SHS_BAD_K);
    assert_status(shs_eigh(NULL, 2, A, 2, 2, NULL, vectors, 1), SHS_BAD_OUTPUT);
    assert_status(shs_eigh(NULL, 2, A, 2, 2, values, vectors, 1), SHS_BAD_LDV);
    for (i = 0; i < 4; i++) assert_true(values[i % 2] == 7 && vectors[i] == 7);
    assert_true(shs_eigh_workspace(NULL, 0, 1) == SIZE_MAX);
    assert_true(shs_eigh_workspace(NULL, 4, 5) == SIZE_MAX);
    assert_true(shs_eigh_workspace(NULL, INT_MAX, 1) == SIZE_MAX);
}

/* NaN and infinity anywhere in the lower triangle, and nowhere else, are found; the outputs are left alone. */
static void test_not_finite(void **state) {
    problem p = new_problem(RANDOM, 33);
    double bad[3] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    int i, j, q = 0;
    (void)state;
    for (j = 0; j < p.n; j += 4)
        for (i = j; i < p.n; i += 3) {
            shs_wide *at = p.A + i + j * p.ld, before = *at;
            *at = (shs_wide)bad[q++ % 3];
            assert_status(shs_eigh(NULL, p.n, p.A, p.ld, p.n, p.values, p.vectors, p.ld), SHS_NOT_FINITE);
            *at = before;
        }
    for (i = 0; i < p.n; i++) assert_true(p.values[i] == 7 && p.vectors[i] == 7);
    solve(&p, p.n);
    free_problem(&p);
}

static void *no_memory(void *user, size_t size) {
    (void)size;
    ++*(int *)user;
    return NULL;
}

static void no_free(void *user, void *block) {
    (void)user;
    assert_null(block);
}

/* One block is asked for; without it nothing happens. */
static void test_no_memory(void **state) {
    problem p = new_problem(RANDOM, 40);
    shs_context ctx = SHS_ZERO;
    int asked = 0, i;
    (void)state;
    ctx.alloc_fn = no_memory;
    ctx.free_fn = no_free;
    ctx.alloc_user = &asked;
    assert_status(shs_eigh(&ctx, p.n, p.A, p.ld, p.n, p.values, p.vectors, p.ld), SHS_NO_MEMORY);
    assert_status(shs_eigh(&ctx, p.n, p.A, p.ld, 2, p.values, p.vectors, p.ld), SHS_NO_MEMORY);
    assert_int_equal(asked, 2);
    for (i = 0; i < p.n; i++) assert_true(p.values[i] == 7 && p.vectors[i] == 7);
    free_problem(&p);
}

/* An arena of exactly the workspace is enough; a smaller arena gives SHS_NO_MEMORY. */
static void test_workspace(void **state) {
    static const int ns[] = {1, 2, 31, 40, 100};
    int s, q;
    (void)state;
    for (s = 0; s < 5; s++)
        for (q = 0; q < 3; q++) {
            problem p = new_problem(RANDOM, ns[s]);
            int k = q == 0 ? p.n : 1;
            shs_wide *vectors = q < 2 ? p.vectors : NULL;
            size_t size = shs_eigh_workspace(NULL, p.n, k);
            void *memory = malloc(size);
            shs_arena arena;
            shs_context ctx = SHS_ZERO;
            assert_non_null(memory);
            shs_arena_attach(&arena, &ctx);
            shs_arena_init(&arena, memory, size);
            assert_ok(shs_eigh(&ctx, p.n, p.A, p.ld, k, p.values, vectors, p.ld));
            assert_int_equal(arena.used, 0);
            if (vectors) assert_true(arena.peak > size / 2); /* without, some of it is not needed */
            shs_arena_init(&arena, memory, arena.peak / 2);
            assert_status(shs_eigh(&ctx, p.n, p.A, p.ld, k, p.values, vectors, p.ld), SHS_NO_MEMORY);
            free(memory);
            free_problem(&p);
        }
}

/* The same bits every time, whatever the alignment and leading dimensions of the caller's arrays. */
static void test_repeatable(void **state) {
    problem p = new_problem(RANDOM, 100);
    shs_wide *A = new_wide((size_t)(p.n * p.n) + 1, 0) + 1, *values = new_wide((size_t)p.n, 0),
             *V = new_wide((size_t)(p.n * p.n) + 1, 0) + 1;
    int i, j, q;
    (void)state;
    for (j = 0; j < p.n; j++)
        for (i = j; i < p.n; i++) A[i + j * p.n] = p.A[i + j * p.ld];
    for (q = 0; q < 2; q++) {
        int k = q ? p.n : 10;
        solve(&p, k);
        assert_ok(shs_eigh(NULL, p.n, A, p.n, k, values, V, p.n));
        assert_memory_equal(values, p.values, (size_t)k * sizeof *values);
        for (j = 0; j < k; j++) assert_memory_equal(V + j * p.n, p.vectors + j * p.ld, (size_t)p.n * sizeof *V);
    }
    free(A - 1);
    free(values);
    free(V - 1);
    free_problem(&p);
}

/* ---- what a good matrix never asks for ---------------------------------------------------------------------------- */

/* A sweep whose bulge vanishes turns by nothing: the rotations stay rotations, and the trace stays. */
static void test_vanishing_bulge(void **state) {
#ifdef SPARSEHS_NO_DOUBLE
    const shs_wide tiny = 1e-30f;
#else
    const shs_wide tiny = 1e-200;
#endif
    shs_wide d[3] = {1, 0, 0}, e[3] = {(shs_wide)0.5, 0, 0}, c[2], s[2], trace;
    int i;
    (void)state;
    e[1] = tiny;
    d[2] = shs__eigh_ql_shift(d, e); /* so that the sweep begins with zero */
    trace = d[0] + d[1] + d[2];
    shs__eigh_ql_sweep(0, 2, d, e, c, s);
    assert_true(c[1] == 1 && s[1] == 0);
    for (i = 0; i < 2; i++) assert_close(c[i] * c[i] + s[i] * s[i], 1, 10 * EPS);
    assert_close(d[0] + d[1] + d[2], trace, 10 * EPS);
}

/* Where few pairs come to nothing all are computed, and the result is as good: all values of the identity are one, and the
   second vector has no length beside the first. */
static void test_few_fail(void **state) {
    enum { N = 70 };
    problem p = new_problem(ZERO, N);
    shs__layout l = SHS_ZERO;
    shs__eigh w = SHS_ZERO;
    int i;
    (void)state;
    for (i = 0; i < N; i++) p.A[i + i * p.ld] = p.full[i + i * N] = p.copy[i + i * p.ld] = 1;
    p.norm = 1;
    shs__eigh_layout(&l, NULL, N, 1, &w);
    assert_ok(shs__layout_acquire(NULL, &l));
    shs__eigh_layout(&l, NULL, N, 1, &w);
    w.scale = 1;
    shs__eigh_copy(&w, p.A, p.ld);
    shs__eigh_tridiagonalize(&w);
    assert_int_equal(shs__eigh_solve_few(&w, 1, 1), 1);
    assert_int_equal(shs__eigh_solve_few(&w, 3, 1), 0);
    w.values[0] = (shs_wide)NAN;
    shs__eigh_clear(w.S, w.ld, 1);
    assert_int_equal(shs__eigh_twisted(&w, 0, 1), 0);
    shs__layout_release(NULL, &l);
    solve(&p, 3);
    check_residuals(&p, 3);
    check_orthonormal(&p, p.vectors, 3);
    check_order_and_signs(&p, 3);
    free_problem(&p);
}

/* The pairs of random tridiagonal matrices, of matrices that fall apart and of Wilkinson's matrix: each vector by itself leaves
   a residual of rounding, whatever row the factorisation is twisted at. */
static void test_twisted(void **state) {
    enum { N = 21 };
    int trial, i, j, twisted = 0;
    (void)state;
    for (trial = 0; trial < 20; trial++) {
        shs__layout l = SHS_ZERO;
        shs__eigh w = SHS_ZERO;
        shs_wide norm, T[N * N] = {0}, values[N], V[N * N];
        shs_random r;
        shs_random_seed(&r, (uint64_t)trial);
        shs__eigh_layout(&l, NULL, N, 1, &w);
        assert_ok(shs__layout_acquire(NULL, &l));
        shs__eigh_layout(&l, NULL, N, 1, &w);
        shs__eigh_clear(w.S, w.ld, N);
        memset(w.d, 0, (size_t)w.ld * sizeof *w.d);
        memset(w.e, 0, (size_t)w.ld * sizeof *w.e);
        for (i = 0; i < N; i++) w.d[i] = trial ? shs_random_normal(&r) : (shs_wide)abs(i - N / 2);
        for (i = 0; i + 1 < N; i++) {
            if (trial % 4 == 3 && i % 5 == 0) w.e[i] = 0;
            else if (trial) w.e[i] = shs_random_normal(&r);
            else w.e[i] = 1;
        }
        for (i = 0; i < N * N; i += N + 1) T[i] = w.d[i / N];
        for (i = 1; i < N * N; i += N + 1) T[i] = w.e[i / N];
        assert_ok(shs_eigh(NULL, N, T, N, N, values, V, N));
        norm = shs__eigh_gershgorin(N, w.d, w.e);
        for (j = 0; j < N; j++) {
            w.values[0] = values[j];
            memset(w.S, 0, (size_t)w.ld * sizeof *w.S);
            assert_int_equal(shs__eigh_twisted(&w, 0, norm), 1);
            assert_true(shs__eigh_residual2(N, w.d, w.e, values[j], w.S) <= (50 * EPS * norm) * (50 * EPS * norm));
            twisted += shs__wabs(w.S[0]) < (shs_wide)0.5 && shs__wabs(w.S[N - 1]) < (shs_wide)0.5; /* largest inside */
        }
        shs__layout_release(NULL, &l);
    }
    assert_true(twisted > 100);
}

/* Whole numbers as subnormal ones, whose unit no scale makes 1: vectors of all pairs are as good as in the unit 1. */
static void test_subnormal_matrix(void **state) {
    enum { N = 100 };
    problem p = new_problem(ZERO, N);
    double u[N], v[N]; /* an eigenvector, and A times it */
    shs_random r;
    int i, j, l, e;
    (void)state;
    shs_random_seed(&r, 1);
    for (e = 0; e < 3; e++) {
        const shs_wide unit = SHS__WIDE_MIN * SHS__WIDE_EPS * (shs_wide)(64 >> 3 * e); /* the last: the smallest number */
        p.norm = 0;
        for (j = 0; j < N; j++)
            for (i = j; i < N; i++) {
                const double a = (double)shs_random_below(&r, 101) - 50;
                p.full[i + j * N] = p.full[j + i * N] = a;
                p.A[i + j * p.ld] = p.copy[i + j * p.ld] = (shs_wide)a * unit;
            }
        if (subnormals_vanish()) break;
        solve(&p, N);
        check_orthonormal(&p, p.vectors, N);
        for (l = 0; l < N; l++) {
            double lambda = 0, sum = 0, norm = 0;
            for (i = 0; i < N; i++) u[i] = (double)p.vectors[i + l * p.ld];
            for (i = 0; i < N; i++) {
                v[i] = 0;
                for (j = 0; j < N; j++) v[i] += p.full[i + j * N] * u[j];
                lambda += v[i] * u[i];
            }
            for (i = 0; i < N; i++) {
                const double off = v[i] - lambda * u[i];
                sum += off * off;
                norm += p.full[i] * p.full[i]; /* a column, which is no longer than ||A|| */
            }
            if (!(sqrt(sum) <= 50 * N * EPS * sqrt(norm)))
                fail_msg("unit %g, pair %d: residual %g > %g", (double)unit, l, sqrt(sum), 50 * N * EPS * sqrt(norm));
            assert_close(p.values[l] / unit, lambda, 1);
        }
    }
    free_problem(&p);
}

/* As many pairs as are bisected side by side, and one more; and a matrix of zeros. */
static void test_numbers_of_few(void **state) {
    static const int ks[] = {15, 16, 17, 20};
    int q;
    (void)state;
    for (q = 0; q < 4; q++) {
        problem p = new_problem(q == 3 ? ZERO : RANDOM, 100);
        solve(&p, ks[q]);
        check_residuals(&p, ks[q]);
        check_orthonormal(&p, p.vectors, ks[q]);
        check_order_and_signs(&p, ks[q]);
        free_problem(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_jacobi),        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_exact),     cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_workspace),     cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_vanishing_bulge),
        cmocka_unit_test(test_small_values),
        cmocka_unit_test(test_few_fail),
        cmocka_unit_test(test_twisted),
        cmocka_unit_test(test_numbers_of_few),
        cmocka_unit_test(test_jacobi_in_any_unit),
        cmocka_unit_test(test_subnormal_matrix),
    };
    return run_with_every_instance("symmetric eigenproblem", tests);
}
