/* fuzz_dense.c - dense linear algebra and the symmetric eigenproblem against their naive twins. */
#include "fuzz.h"

static const double eps = sizeof(shs_real) == 4 ? 1.2e-7 : 2.3e-16;

/* The twins agree to rounding, `scale` being what the sums are made of. */
static void check_twins(size_t count, const shs_real *a, const shs_real *b, double scale) {
    size_t i;
    for (i = 0; i < count; i++) must(fabs((double)a[i] - (double)b[i]) <= 64 * eps * scale);
}

/* A matrix with columns `ld` apart. */
typedef struct matrix {
    int rows, columns, ld;
    size_t count;
    shs_real *at;
    extent e;
} matrix;

static matrix matrix_of(input *in, int rows, int columns) {
    matrix A = SHS_ZERO;
    A.rows = rows;
    A.columns = columns;
    A.ld = leading_of(in, rows);
    A.count = count_of(A.ld + 1, columns);
    return A;
}

static void draw_matrix(input *in, matrix *A) { A->at = drawn(in, A->count, &A->e); }

/* An output that starts with values of the input, and the same for the twin. */
typedef struct pair {
    matrix A;
    output out;
    shs_real *at, *twin;
} pair;

static void draw_pair(input *in, pair *q) {
    q->out = OUTPUT(shs_real, q->A.count);
    q->at = AS(shs_real, q->out);
    q->A.e = fill(in, q->A.count, q->at);
}

static void twin_of(pair *q) {
    output_keep(&q->out);
    q->twin = NEW(shs_real, q->A.count);
    memcpy(q->twin, q->at, q->out.size);
}

static void pair_free(pair *q) {
    free(q->twin);
    output_free(&q->out);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* The factor op(A) of a product is rows x columns. */
static matrix factor_of(input *in, shs_trans trans, int rows, int columns) {
    if (trans == SHS_TRANS_NO) return matrix_of(in, rows, columns);
    return matrix_of(in, columns, rows);
}

typedef struct product {
    int m, n, k, symmetric;
    shs_trans ta, tb;
    shs_uplo uplo;
    shs_real alpha, beta;
    matrix A, B;
    pair C;
} product;

static product product_of(input *in) {
    product q;
    int flags, rows;
    q.m = size_of(in, 20);
    q.n = size_of(in, 20);
    q.k = size_of(in, 20);
    flags = byte(in);
    q.symmetric = flags & 4;
    q.ta = flags & 1;
    q.tb = flags >> 1 & 1;
    q.uplo = flags >> 3 & 1;
    rows = q.m;
    if (q.symmetric) rows = q.n;
    q.A = factor_of(in, q.ta, rows, q.k);
    q.B = factor_of(in, q.tb, q.k, q.n);
    q.C.A = matrix_of(in, rows, q.n);
    q.alpha = within(in, -2, 2);
    q.beta = within(in, -1, 1);
    draw_matrix(in, &q.A);
    draw_matrix(in, &q.B);
    draw_pair(in, &q.C);
    if (flags & 128) q.ta = 2;
    return q;
}

static void products(input *in, world *w) {
    product q = product_of(in);
    const matrix *A = &q.A, *B = &q.B;
    pair *C = &q.C;
    shs_status status, expected;
    twin_of(C);
    if (q.symmetric) {
        status = shs_syrk(&w->ctx, q.uplo, q.ta, q.n, q.k, q.alpha, A->at, A->ld, q.beta, C->at, C->A.ld);
        expected = shs_syrk_naive(q.uplo, q.ta, q.n, q.k, q.alpha, A->at, A->ld, q.beta, C->twin, C->A.ld);
        B = A;
    } else {
        status = shs_gemm(&w->ctx, q.ta, q.tb, q.m, q.n, q.k, q.alpha, A->at, A->ld, B->at, B->ld, q.beta, C->at, C->A.ld);
        expected = shs_gemm_general_naive(q.ta, q.tb, q.m, q.n, q.k, q.alpha, A->at, A->ld, B->at, B->ld, q.beta, C->twin,
                                          C->A.ld);
    }
    check_world(w, status, 0);
    must(status == SHS_OK || untouched(&C->out));
    must(status == expected || w->refused || w->bad);
    if (status == SHS_OK && tame(&A->e) && tame(&B->e) && tame(&C->A.e))
        check_twins(C->A.count, C->at, C->twin, 2.0 * positive(q.k) * A->e.most * B->e.most + C->A.e.most);
    free(q.A.at);
    free(q.B.at);
    pair_free(C);
}

/* ---- triangles --------------------------------------------------------------------------------------------------- */

static void set_diagonal(int n, shs_real *A, int lda, double value) {
    int i;
    for (i = 0; i < n && lda >= n; i++) A[entry(lda, i, i)] = value;
}

/* A triangle and right-hand sides. `well`: the diagonal dominates, so that the twins may be compared. */
typedef struct triangle {
    shs_side side;
    shs_uplo uplo;
    shs_trans trans;
    shs_diag diag;
    int order, well;
    matrix A;
    pair B;
} triangle;

static void solve_vector(input *in, world *w, const triangle *t) {
    int incx = within(in, -2, 2), order = t->order;
    shs_status status;
    if (count_of(abs(incx), order) > t->B.A.count) {
        incx = 1;
        if (order > (int)t->B.A.count) order = 0;
    }
    status = shs_trsv(t->uplo, t->trans, t->diag, order, t->A.at, t->A.ld, t->B.at, incx);
    check_world(w, status, 0);
    must(status == SHS_OK || untouched(&t->B.out));
}

static void solve_matrix(world *w, const triangle *t) {
    const matrix *A = &t->A, *B = &t->B.A;
    shs_status status, expected;
    status = shs_trsm(&w->ctx, t->side, t->uplo, t->trans, t->diag, B->rows, B->columns, 1, A->at, A->ld, t->B.at, B->ld);
    expected = shs_trsm_naive(t->side, t->uplo, t->trans, t->diag, B->rows, B->columns, 1, A->at, A->ld, t->B.twin, B->ld);
    must(w->refused || w->bad || status == expected);
    if (status == SHS_OK && t->well && t->diag == SHS_DIAG_NON_UNIT && A->e.finite && A->e.most < 1e12 && tame(&B->e))
        check_twins(B->count, t->B.at, t->B.twin, B->e.most);
    check_world(w, status, 0);
    must(status == SHS_OK || untouched(&t->B.out));
}

static void triangular(input *in, world *w) {
    int m = size_of(in, 20), n = size_of(in, 8), flags = byte(in);
    triangle t;
    t.side = flags & 1;
    t.uplo = flags >> 1 & 1;
    t.trans = flags >> 2 & 1;
    t.diag = flags >> 3 & 1;
    t.well = !(flags & 64);
    t.order = m;
    if (t.side == SHS_SIDE_RIGHT) t.order = n;
    t.A = matrix_of(in, t.order, t.order);
    t.B.A = matrix_of(in, m, n);
    draw_matrix(in, &t.A);
    draw_pair(in, &t.B);
    if (flags & 128) t.diag = 7;
    if (t.well) set_diagonal(t.order, t.A.at, t.A.ld, 4 + 30 * t.A.e.most);
    twin_of(&t.B);
    if (flags & 16) solve_vector(in, w, &t);
    else solve_matrix(w, &t);
    free(t.A.at);
    pair_free(&t.B);
}

static void factors(input *in, world *w) {
    int n = size_of(in, 24), flags, well;
    pair q;
    const extent *e = &q.A.e;
    shs_uplo uplo;
    shs_status status, expected;
    q.A = matrix_of(in, n, n);
    flags = byte(in);
    draw_pair(in, &q);
    uplo = flags & 1;
    if (flags & 128) uplo = 3;
    well = !(flags & 2);
    if (well) set_diagonal(n, q.at, q.A.ld, (1 + 30 * e->most) * 2);
    twin_of(&q);
    status = shs_cholesky(&w->ctx, uplo, n, q.at, q.A.ld);
    expected = shs_cholesky_naive(uplo, n, q.twin, q.A.ld);
    check_world(w, status, 0);
    must(status == SHS_OK || status == SHS_NOT_POSITIVE_DEFINITE || untouched(&q.out));
    if (well && e->finite && e->most < 1e12) {
        must(status == expected || w->refused || w->bad);
        if (status == SHS_OK) check_twins(q.A.count, q.at, q.twin, 1 + 60 * e->most);
    }
    pair_free(&q);
}

/* ---- columns and vectors ----------------------------------------------------------------------------------------- */

static void check_columns(int m, int n, const shs_real *A, int lda) {
    int i, j;
    for (j = 0; j < n; j++) {
        double sum = 0;
        for (i = 0; i < m; i++) {
            double v = A[entry(lda, i, j)];
            sum += v * v;
        }
        must(sum <= 0 || fabs(sum - 1) < 1e-4);
    }
}

static void columns_and_vectors(input *in, world *w) {
    int m = size_of(in, 40), n = size_of(in, 10), longest = m, flags, incx, incy;
    matrix A = matrix_of(in, m, n);
    size_t nx;
    shs_real *x, *y, *norms = NEW(shs_real, positive(n)), *wanted = NULL, beta = 0;
    output of_y;
    extent ex, ey;
    shs_status status;
    (void)w;
    flags = byte(in);
    incx = within(in, -2, 2);
    incy = within(in, -2, 2);
    if (n > m) longest = n;
    nx = count_of(2, longest + 1);
    draw_matrix(in, &A);
    x = drawn(in, nx, &ex);
    of_y = OUTPUT(shs_real, nx);
    y = AS(shs_real, of_y);
    ey = fill(in, nx, y);
    if (incx && incy) {
        shs_real norm = shs_nrm2(m, x, incx);
        if (ex.finite && ex.most < 1e37) must(isfinite(norm) && norm >= 0);
        if (tame(&ex) && tame(&ey)) must(isfinite(shs_dot(m, x, incx, y, incy)));
        shs_axpy(m, 1, x, incx, y, incy);
    }
    output_keep(&of_y);
    if (flags & 2) beta = 1;
    status = shs_gemv(flags & 1, m, n, 1, A.at, A.ld, x, incx, beta, y, incy);
    check_status(status);
    must(status == SHS_OK || untouched(&of_y));
    check_status(shs_ger(m, n, 1, x, incx, x, incy, A.at, A.ld));
    A.e = fill(in, A.count, A.at);
    if (flags & 4) wanted = norms;
    status = shs_normalize_columns(m, n, A.at, A.ld, wanted);
    if (status == SHS_OK && A.e.finite && A.e.most < 1e37) check_columns(m, n, A.at, A.ld);
    free(A.at);
    free(x);
    free(norms);
    output_free(&of_y);
}

/* ---- eigenpairs -------------------------------------------------------------------------------------------------- */

/* An entry of a symmetric matrix, whose lower triangle is there. */
static double symmetric_entry(const shs_wide *A, int lda, int i, int j) {
    if (i > j) return A[entry(lda, i, j)];
    return A[entry(lda, j, i)];
}

static double symmetric_norm(int n, const shs_wide *A, int lda) {
    double sum = 0;
    int i, j;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) {
            double square = pow(A[entry(lda, i, j)], 2);
            sum += square;
            if (i > j) sum += square;
        }
    return sqrt(sum);
}

static double symmetric_largest(int n, const shs_wide *A, int lda) {
    double largest = 0;
    int i, j;
    for (j = 0; j < n; j++)
        for (i = j; i < n; i++) largest = fmax(largest, fabs(A[entry(lda, i, j)]));
    return largest;
}

static void check_orthonormal(int n, const shs_wide *V, int ldv, int l) {
    int i, j;
    for (j = 0; j <= l; j++) {
        double sum = 0;
        if (j == l) sum = -1;
        for (i = 0; i < n; i++) sum += V[entry(ldv, i, l)] * V[entry(ldv, i, j)];
        must(fabs(sum) <= 50 * n * 2.3e-16);
    }
}

/* ||A v - lambda v|| <= 50 n eps ||A||, and V'V = 1, as the documentation says. */
static void check_pairs(int n, const shs_wide *A, int lda, int k, const shs_wide *values, const shs_wide *V, int ldv) {
    double worst = 0, largest = symmetric_largest(n, A, lda);
    int i, j, l;
    if (largest > 1e100 || (largest > 0 && largest < 1e-100)) return; /* the squares below leave the range */
    for (l = 0; l < k; l++) {
        for (i = 0; i < n; i++) {
            double sum = -values[l] * V[entry(ldv, i, l)];
            for (j = 0; j < n; j++) sum += symmetric_entry(A, lda, i, j) * V[entry(ldv, j, l)];
            if (fabs(sum) > worst) worst = fabs(sum);
        }
        check_orthonormal(n, V, ldv, l);
    }
    must(worst <= 50 * n * 2.3e-16 * symmetric_norm(n, A, lda));
}

/* k pairs of a symmetric matrix of order n. */
typedef struct eigen {
    int n, k, lda, ldv;
    shs_wide *A, *values, *vectors; /* vectors: NULL for none */
    output of_values, of_V;
    extent e;
} eigen;

static eigen eigen_of(input *in) {
    eigen q;
    int flags, longest;
    size_t na;
    q.n = size_of(in, 14);
    q.lda = leading_of(in, q.n);
    q.k = within(in, -1, 15);
    q.ldv = leading_of(in, q.n);
    flags = byte(in);
    longest = q.n;
    if (q.k > q.n) longest = q.k;
    na = count_of(q.lda + 1, q.n);
    q.A = NEW(shs_wide, na);
    q.of_values = OUTPUT(shs_wide, positive(longest));
    q.of_V = OUTPUT(shs_wide, count_of(q.ldv + 1, longest));
    q.e = fill_wide(in, na, q.A);
    q.values = AS(shs_wide, q.of_values);
    q.vectors = NULL;
    if (flags & 1) q.vectors = AS(shs_wide, q.of_V);
    if ((q.k < 1 || q.k > q.n) && !(flags & 4)) q.k = q.n;
    return q;
}

/* A failed call writes nothing. Right arguments fail only without convergence or when cancelled. */
static void check_refused(const world *w, const eigen *q, shs_status status) {
    int right = q->e.finite && q->lda >= q->n && q->n > 0 && q->k > 0 && q->k <= q->n && (!q->vectors || q->ldv >= q->n);
    must(untouched(&q->of_values) && untouched(&q->of_V));
    if (right && !w->bad && !w->refused) must(status == SHS_NO_CONVERGENCE || status == SHS_CANCELLED);
}

static void eigenpairs(input *in, world *w) {
    eigen q = eigen_of(in);
    size_t bytes = shs_eigh_workspace(&w->ctx, q.n, q.k);
    shs_status status = shs_eigh(&w->ctx, q.n, q.A, q.lda, q.k, q.values, q.vectors, q.ldv);
    int l;
    must(status != SHS_OK || bytes < SIZE_MAX);
    check_world(w, status, 0);
    if (status == SHS_OK) {
        must(all_finite_wide(positive(q.k), q.values));
        for (l = 1; l < q.k; l++) must(q.values[l - 1] >= q.values[l]);
        if (q.vectors && q.e.finite) check_pairs(q.n, q.A, q.lda, q.k, q.values, q.vectors, q.ldv);
    } else check_refused(w, &q, status);
    free(q.A);
    output_free(&q.of_values);
    output_free(&q.of_V);
}

static void queries(input *in, world *w) {
    int a = any_int(in), b = any_int(in), c = any_int(in);
    (void)shs_gemm_workspace(&w->ctx, a, b, c);
    (void)shs_syrk_workspace(&w->ctx, a, b);
    (void)shs_trsm_workspace(&w->ctx, c & 1, a, b);
    (void)shs_cholesky_workspace(&w->ctx, a);
    (void)shs_eigh_workspace(&w->ctx, a, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const errand_fn errands[FUZZ_ERRANDS] = {products,   products,   triangular, factors, columns_and_vectors,
                                                    eigenpairs, eigenpairs, queries};
    return run_errand(errands, data, size);
}
