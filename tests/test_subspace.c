/* test_subspace.c - subspace pursuit: its naive twin, recovery rates beside OMP's and those of numpy, units, the order of signals
   and of workers, the smallest sizes, dependent atoms, memory that holds anything or is refused, and what is not supported. */
#include "test_signals.h"
#include <fenv.h>

typedef struct problem {
    int p, n;
    size_t m;
    shs_real *D, *Y;
} problem;

static problem random_problem(int p, int n, size_t m, uint64_t seed) {
    problem q;
    q.p = p;
    q.n = n;
    q.m = m;
    q.D = new_normal((size_t)p * (size_t)n, seed);
    q.Y = new_normal((size_t)p * m, seed + 1000);
    if (p > 1) normalise(p, n, q.D);
    return q;
}

/* Signals of s atoms each, with normal coefficients, or with ones. */
static problem sparse_problem(int p, int n, size_t m, int s, int ones, uint64_t seed) {
    problem q = random_problem(p, n, m, seed);
    shs_random r;
    size_t i;
    int k, l;
    shs_random_seed(&r, seed + 2000);
    for (i = 0; i < m; i++) {
        double *y = (double *)calloc((size_t)p, sizeof *y);
        unsigned char *taken = (unsigned char *)calloc((size_t)n, 1);
        for (k = 0; k < s;) {
            const int j = (int)shs_random_below(&r, (uint64_t)n);
            double x;
            if (taken[j]) continue;
            x = ones ? 1 : (double)shs_random_normal(&r);
            for (l = 0; l < p; l++) y[l] += x * (double)q.D[(ptrdiff_t)j * p + l];
            taken[j] = 1;
            k++;
        }
        for (l = 0; l < p; l++) q.Y[i * (size_t)p + (size_t)l] = (shs_real)y[l];
        free(y);
        free(taken);
    }
    return q;
}

static void problem_free(problem *q) { free(q->D), free(q->Y); }

static shs_codes new_codes(size_t m, int stride) {
    shs_codes codes;
    assert_ok(shs_codes_create(NULL, m, stride, &codes));
    return codes;
}

static shs_omp_options subspace_of(int s, double tolerance) {
    shs_omp_options o = SHS_ZERO;
    o.method = SHS_METHOD_SUBSPACE;
    o.sparsity = s;
    o.tolerance = (shs_real)tolerance;
    return o;
}

static shs_status run(const shs_context *ctx, const problem *q, const shs_omp_options *o, shs_codes *codes, shs_real *errors2,
                      shs_omp_report *report) {
    return shs_omp_ex(ctx, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, codes, errors2, report);
}

/* The coefficients of all atoms, in double; each atom counts once. */
static double *dense_of(const problem *q, const shs_codes *c, size_t i) {
    double *x = (double *)calloc((size_t)q->n, sizeof *x);
    int k;
    for (k = 0; k < c->used[i]; k++) {
        const size_t at = i * (size_t)c->stride + (size_t)k;
        assert_in_range(c->atoms[at], 0, q->n - 1);
        assert_true(is_finite((double)c->coefs[at]) && (c->coefs[at] > 0 || c->coefs[at] < 0));
        assert_true(!(x[c->atoms[at]] > 0) && !(x[c->atoms[at]] < 0));
        x[c->atoms[at]] = (double)c->coefs[at];
    }
    return x;
}

/* ||y - Dx||^2, summed wider than the library does. */
static double error2_of(const problem *q, const double *x, size_t i) {
    long double sum = 0;
    int l, j;
    for (l = 0; l < q->p; l++) {
        long double e = (long double)q->Y[i * (size_t)q->p + (size_t)l];
        for (j = 0; j < q->n; j++) e -= (long double)q->D[(ptrdiff_t)j * q->p + l] * (long double)x[j];
        sum += e * e;
    }
    return (double)sum;
}

static double norm2_of(const problem *q, size_t i) {
    return inner(q->p, q->Y + i * (size_t)q->p, q->Y + i * (size_t)q->p);
}

/* The twin's coefficients of all atoms, and how many there are. */
static double *naive_of(const problem *q, size_t i, int s, double tolerance, int *used) {
    const int least = q->p < q->n ? q->p : q->n, t = 2 * s < least ? 2 * s : least;
    double *dense = (double *)calloc((size_t)q->n, sizeof *dense);
    int *atoms = (int *)malloc((size_t)(t + 1) * sizeof *atoms), k;
    shs_wide *x = (shs_wide *)malloc((size_t)(t + q->p + 3 * q->n + q->p * t + 1) * sizeof *x), *r = x + t;
    *used = shs_subspace_naive(q->p, q->n, q->D, q->Y + i * (size_t)q->p, s, (shs_wide)tolerance, atoms, x, r, r + q->p);
    assert_in_range(*used, 0, s);
    for (k = 0; k < *used; k++) {
        if (k > 0) assert_true(atoms[k] > atoms[k - 1]);
        dense[atoms[k]] = (double)x[k];
    }
    free(atoms);
    free(x);
    return dense;
}

/* ---- the twin ------------------------------------------------------------------------------------------------------- */

static void check_twin(const problem *q, int s, double tolerance, size_t group) {
    shs_codes codes = new_codes(q->m, q->p < q->n ? q->p : q->n);
    shs_real *errors2 = (shs_real *)malloc(q->m * sizeof *errors2);
    shs_omp_options o = subspace_of(s, tolerance);
    shs_omp_report report;
    double sum2 = 0;
    size_t i, nonzeros = 0, above = 0;
    int j;
    o.signals_per_group = group;
    spoil_codes(&codes);
    assert_ok(run(NULL, q, &o, &codes, errors2, &report));
    check_unused_slots(&codes, q->m);
    for (i = 0; i < q->m; i++) {
        int used;
        double *x = dense_of(q, &codes, i), *expected = naive_of(q, i, s, tolerance, &used), largest = 0;
        double error2 = error2_of(q, x, i), norm2 = norm2_of(q, i);
        if (codes.used[i] != used) fail_msg("signal %d, s %d: %d atoms, not %d", (int)i, s, codes.used[i], used);
        for (j = 0; j < q->n; j++) largest = fmax(largest, fabs(expected[j]));
        for (j = 0; j < q->n; j++) assert_close(x[j], expected[j], BY_TYPE(1e-5, 1e-11) * largest);
        assert_close(errors2[i], error2, BY_TYPE(1e-6, 1e-13) * norm2);
        assert_true(error2 <= norm2);
        nonzeros += (size_t)used;
        sum2 += error2;
        above += tolerance > 0 && !(error2 <= tolerance * tolerance);
        free(x);
        free(expected);
    }
    assert_int_equal(report.nonzeros, nonzeros);
    assert_int_equal(report.not_reached, above);
    assert_close(report.sum2, sum2, BY_TYPE(1e-5, 1e-12) * (sum2 + 1));
    free(errors2);
    shs_codes_free(NULL, &codes);
}

static const struct {
    int p, n, m, s;
} sizes[] = {{1, 1, 3, 1},    {1, 5, 4, 1},     {2, 3, 5, 1},      {2, 3, 5, 2},      {3, 1, 4, 1},   {5, 17, 9, 2},
             {16, 16, 20, 5}, {17, 31, 33, 7},  {24, 7, 13, 7},    {24, 7, 13, 5},    {7, 24, 13, 7}, {64, 128, 40, 6},
             {64, 65, 21, 9}, {50, 257, 19, 7}, {20, 1100, 40, 5}, {100, 15, 300, 1}, {31, 47, 1, 9}, {33, 100, 150, 3}};
#define SIZES (sizeof sizes / sizeof *sizes)

static void test_twin(void **state) {
    size_t k;
    (void)state;
    for (k = 0; k < SIZES; k++) {
        problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 100 + k);
        check_twin(&q, sizes[k].s, 0, k % 3 * 5);
        problem_free(&q);
    }
}

/* Signals that are sparse end before s atoms, or at the tolerance. */
static void test_twin_of_sparse(void **state) {
    int s, ones;
    (void)state;
    for (s = 1; s < 12; s += 2)
        for (ones = 0; ones < 2; ones++) {
            problem q = sparse_problem(40, 90, 15, s, ones, (uint64_t)(200 + 2 * s + ones));
            check_twin(&q, s, 0, 0);
            check_twin(&q, s, 1e-2, 0);
            problem_free(&q);
        }
}

/* ---- recovery ------------------------------------------------------------------------------------------------------- */

static size_t recovered(const problem *q, const shs_codes *codes) {
    size_t i, count = 0;
    for (i = 0; i < q->m; i++) {
        double *x = dense_of(q, codes, i);
        count += error2_of(q, x, i) <= 1e-8 * norm2_of(q, i);
        free(x);
    }
    return count;
}

enum { RATE_P = 64, RATE_N = 128, RATE_M = 200 };

/* Of 200 signals, how many are recovered from s atoms. numpy: algorithm 1 of the paper on the same signals by numpy.linalg.lstsq
   in double; omp: likewise OMP. */
static const struct {
    int ones, s, numpy, omp;
} rates[] = {
    {0, 8, 200, 200}, {0, 12, 200, 194}, {0, 16, 199, 174}, {0, 18, 195, 167},
    {0, 20, 190, 142}, {0, 22, 181, 111}, {0, 24, 158, 69}, {0, 28, 98, 35},
    {1, 6, 200, 196}, {1, 8, 200, 185}, {1, 10, 200, 142}, {1, 12, 197, 102},
    {1, 14, 193, 81}, {1, 16, 179, 28}, {1, 20, 110, 3}, {1, 24, 41, 1}
};

static void test_recovery(void **state) {
    size_t k;
    (void)state;
    for (k = 0; k < sizeof rates / sizeof *rates; k++) {
        const int s = rates[k].s;
        problem q = sparse_problem(RATE_P, RATE_N, RATE_M, s, rates[k].ones, (uint64_t)(500 + 100 * rates[k].ones + s));
        shs_codes codes = new_codes(RATE_M, s);
        shs_omp_options o = subspace_of(s, 0);
        size_t subspace, omp;
        assert_ok(run(NULL, &q, &o, &codes, NULL, NULL));
        subspace = recovered(&q, &codes);
        o.method = SHS_METHOD_OMP;
        assert_ok(run(NULL, &q, &o, &codes, NULL, NULL));
        omp = recovered(&q, &codes);
        if (subspace < (size_t)rates[k].numpy || subspace < omp)
            fail_msg("%s, s %d: %d of 200, numpy %d, OMP %d", rates[k].ones ? "ones" : "normal", s, (int)subspace, rates[k].numpy,
                     (int)omp);
        assert_in_range(omp, rates[k].omp > 4 ? rates[k].omp - 4 : 0, rates[k].omp + 4);
        shs_codes_free(NULL, &codes);
        problem_free(&q);
    }
}

/* ---- the same in other words ---------------------------------------------------------------------------------------- */

static void assert_same(const shs_codes *a, const shs_codes *b, size_t m) {
    size_t i;
    for (i = 0; i < m; i++) {
        const size_t at = i * (size_t)a->stride, bt = i * (size_t)b->stride, k = (size_t)a->used[i];
        assert_int_equal(a->used[i], b->used[i]);
        assert_memory_equal(a->atoms + at, b->atoms + bt, k * sizeof *a->atoms);
        assert_memory_equal(a->coefs + at, b->coefs + bt, k * sizeof *a->coefs);
    }
}

/* Powers of two change the exponents of the coefficients alone. */
static void test_units(void **state) {
    static const int exponents[][2] = {{3, -5}, {-30, 0}, {0, 60}, {BY_TYPE(50, 300), BY_TYPE(50, 200)},
                                       {BY_TYPE(-50, -300), -40}};
    problem q = random_problem(16, 40, 9, 700);
    size_t k, i, way;
    (void)state;
    for (way = 0; way < 4; way++) {
        problem sparse = sparse_problem(16, 40, 9, 3, 0, 701);
        const problem *of = way & 1 ? &q : &sparse;
        shs_codes expected = new_codes(9, 4), codes = new_codes(9, 4);
        shs_omp_options o = subspace_of(4, way & 2 ? 1 : 0);
        assert_ok(run(NULL, of, &o, &expected, NULL, NULL));
        for (k = 0; k < sizeof exponents / sizeof *exponents; k++) {
            const int a = exponents[k][0], b = exponents[k][1];
            problem s = random_problem(16, 40, 9, 700);
            for (i = 0; i < 16 * 40; i++) s.D[i] = (shs_real)ldexp((double)of->D[i], a);
            for (i = 0; i < 16 * 9; i++) s.Y[i] = (shs_real)ldexp((double)of->Y[i], b);
            o.tolerance = (shs_real)(way & 2 ? ldexp(1, b) : 0);
            assert_ok(run(NULL, &s, &o, &codes, NULL, NULL));
            for (i = 0; i < 9 * 4; i++) codes.coefs[i] = (shs_real)ldexp((double)codes.coefs[i], a - b);
            assert_same(&expected, &codes, 9);
            problem_free(&s);
        }
        shs_codes_free(NULL, &expected), shs_codes_free(NULL, &codes);
        problem_free(&sparse);
    }
    problem_free(&q);
}

/* The code of a signal depends on no other signal. */
static void test_order_of_signals(void **state) {
    enum { P = 20, N = 50, M = 150 };
    problem q = random_problem(P, N, M, 710), turned = random_problem(P, N, M, 710);
    shs_codes codes = new_codes(M, 5), others = new_codes(M, 5), one = new_codes(1, 5);
    shs_omp_options o = subspace_of(5, 0);
    size_t i;
    (void)state;
    for (i = 0; i < M; i++) memcpy(turned.Y + i * P, q.Y + (i * 7 + 3) % M * P, P * sizeof *q.Y);
    assert_ok(run(NULL, &q, &o, &codes, NULL, NULL));
    assert_ok(run(NULL, &turned, &o, &others, NULL, NULL));
    for (i = 0; i < M; i++) {
        const size_t from = (i * 7 + 3) % M;
        assert_int_equal(others.used[i], codes.used[from]);
        assert_memory_equal(others.atoms + i * 5, codes.atoms + from * 5, 5 * sizeof(int));
        assert_memory_equal(others.coefs + i * 5, codes.coefs + from * 5, 5 * sizeof(shs_real));
    }
    for (i = 0; i < 5; i++) { /* alone, where the dictionary is not packed */
        problem alone = q;
        alone.m = 1;
        alone.Y = q.Y + i * P;
        assert_ok(run(NULL, &alone, &o, &one, NULL, NULL));
        assert_int_equal(one.used[0], codes.used[i]);
        assert_memory_equal(one.atoms, codes.atoms + i * 5, 5 * sizeof(int));
    }
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &others), shs_codes_free(NULL, &one);
    problem_free(&q);
    problem_free(&turned);
}

/* The chunks from the last to the first, each by another worker. */
static void backwards(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    (void)user;
    while (chunks-- > 0) body(arg, chunks, (int)(chunks % (size_t)threads));
}

static void test_workers(void **state) {
    enum { P = 24, N = 60, M = 700 };
    problem q = random_problem(P, N, M, 720);
    shs_codes one = new_codes(M, 7), other = new_codes(M, 7);
    shs_omp_options o = subspace_of(7, 1);
    shs_omp_report a, b;
    shs_context ctx = SHS_ZERO;
    int threads;
    (void)state;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    ctx.threads = 1;
    assert_ok(run(&ctx, &q, &o, &one, NULL, &a));
    for (threads = 2; threads < 9; threads++) {
        ctx.threads = threads < 6 ? threads : threads - 4;
        ctx.parallel_fn = threads < 6 ? NULL : backwards;
        spoil_codes(&other);
        assert_ok(run(&ctx, &q, &o, &other, NULL, &b));
        assert_same(&one, &other, M);
        assert_memory_equal(&a, &b, sizeof a);
    }
    shs_codes_free(NULL, &one), shs_codes_free(NULL, &other);
    problem_free(&q);
}

/* ---- the smallest and the worst --------------------------------------------------------------------------------------- */

static void test_nothing(void **state) {
    problem q = random_problem(9, 20, 12, 730);
    shs_codes codes = new_codes(12, 4);
    shs_omp_options o = subspace_of(4, 0);
    shs_omp_report report;
    size_t i;
    (void)state;
    for (i = 0; i < 9; i++) {
        q.Y[i] = q.Y[9 * 6 + i] = 0;
        q.D[9 * 3 + i] = 0;
    }
    assert_ok(run(NULL, &q, &o, &codes, NULL, &report));
    assert_int_equal(codes.used[0], 0);
    assert_int_equal(codes.used[6], 0);
    assert_int_equal(report.nonzeros, 40);
    for (i = 0; i < 48; i++) assert_true(i / 4 == 0 || i / 4 == 6 || codes.atoms[i] != 3);
    q.m = 0;
    assert_ok(run(NULL, &q, &o, &codes, NULL, &report));
    assert_int_equal(report.nonzeros, 0);
    q.m = 12;
    for (i = 0; i < 9 * 20; i++) q.D[i] = 0;
    assert_ok(run(NULL, &q, &o, &codes, NULL, &report));
    assert_int_equal(report.nonzeros, 0);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Every atom three times, and once more but for rounding: T' has dependent atoms in each round. */
static void test_dependent_atoms(void **state) {
    enum { P = 12, N = 40, M = 30 };
    problem q = random_problem(P, N, M, 740);
    shs_codes codes = new_codes(M, P), plain = new_codes(M, P);
    shs_real errors2[M];
    int j, l, s;
    size_t i;
    (void)state;
    for (j = 0; j < N; j++)
        for (l = 0; l < P; l++) {
            q.D[j * P + l] = q.D[j % 10 * P + l];
            if (j >= 30) q.D[j * P + l] *= 1 + 2 * REAL_EPS * (shs_real)(l % 3);
        }
    for (s = 1; s <= P; s++) {
        shs_omp_options o = subspace_of(s, 0);
        problem ten = q;
        assert_ok(run(NULL, &q, &o, &codes, errors2, NULL));
        for (i = 0; i < M; i++) {
            double *x = dense_of(&q, &codes, i), error2 = error2_of(&q, x, i);
            int used[10] = {0};
            assert_true(codes.used[i] <= s && error2 <= norm2_of(&q, i));
            assert_close(errors2[i], error2, BY_TYPE(1e-5, 1e-12) * norm2_of(&q, i));
            for (j = 0; j < N; j++) used[j % 10] += x[j] > 0 || x[j] < 0;
            for (j = 0; j < 10; j++) assert_true(used[j] <= 1);
            free(x);
        }
        ten.n = 10; /* from 10 atoms a signal on, all ten are found, whatever the copies */
        assert_ok(run(NULL, &ten, &o, &plain, NULL, NULL));
        for (i = 0; i < M && s >= 10; i++) assert_int_equal(plain.used[i], 10);
    }
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &plain);
    problem_free(&q);
}

/* One atom where s allows more; equal atoms: the first. */
static void test_one_atom(void **state) {
    problem q = random_problem(8, 12, 12, 750);
    shs_codes codes = new_codes(12, 5);
    shs_omp_options o = subspace_of(5, 0);
    size_t i;
    (void)state;
    memcpy(q.D + 8 * 11, q.D + 8 * 4, 8 * sizeof *q.D);
    for (i = 0; i < 8 * 12; i++) q.Y[i] = 3 * q.D[i];
    assert_ok(run(NULL, &q, &o, &codes, NULL, NULL));
    for (i = 0; i < 12; i++) {
        assert_int_equal(codes.used[i], 1);
        assert_int_equal(codes.atoms[i * 5], i == 11 ? 4 : (int)i);
        assert_close(codes.coefs[i * 5], 3, 8 * REAL_EPS);
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* A signal that is said to be within its tolerance is, and rounds end there. Limits and tolerances of each signal. */
static void test_tolerance(void **state) {
    enum { P = 32, N = 80, M = 60 };
    problem q = sparse_problem(P, N, M, 6, 0, 760);
    shs_codes codes = new_codes(M, 8);
    shs_omp_options o = subspace_of(8, 0);
    shs_real tolerances[M], errors2[M];
    int limits[M];
    shs_omp_report report;
    double exponent;
    size_t i, above;
    (void)state;
    for (exponent = -0.25; exponent > BY_TYPE(-11, -19); exponent--) {
        for (i = 0; i < M; i++) {
            limits[i] = (int)(i % 9);
            tolerances[i] = (shs_real)(pow(10, exponent) * sqrt(norm2_of(&q, i)) * (i % 4 == 3 ? 0 : 1));
        }
        o.sparsity_each = limits;
        o.tolerance_each = tolerances;
        assert_ok(run(NULL, &q, &o, &codes, errors2, &report));
        for (i = above = 0; i < M; i++) {
            double *x = dense_of(&q, &codes, i), error2 = error2_of(&q, x, i), tolerance = (double)tolerances[i];
            assert_true(codes.used[i] <= limits[i]);
            above += tolerance > 0 && !(error2 <= tolerance * tolerance);
            free(x);
        }
        /* what is not reached is counted; a signal within rounding of its tolerance may be, too */
        assert_true(report.not_reached >= above && (report.not_reached == above || exponent < BY_TYPE(-6, -14)));
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

static void test_no_exceptions(void **state) {
    enum { P = 24, N = 50, M = 70 };
    problem q = random_problem(P, N, M, 770);
    shs_codes codes = new_codes(M, P);
    shs_context ctx = SHS_ZERO;
    int s;
    (void)state;
    ctx.threads = 1; /* each thread has flags of its own */
    memset(q.Y + 3 * P, 0, P * sizeof *q.Y);
    memcpy(q.D + 8 * P, q.D + 7 * P, P * sizeof *q.D);
    memset(q.D + 9 * P, 0, P * sizeof *q.D);
    for (s = 1; s <= P; s++) {
        shs_omp_options o = subspace_of(s, s & 1 ? 0.1 : 0);
        feclearexcept(FE_ALL_EXCEPT);
        assert_ok(run(&ctx, &q, &o, &codes, NULL, NULL));
        assert_int_equal(fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), 0);
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* ---- memory --------------------------------------------------------------------------------------------------------------- */

typedef struct source {
    int fill, left; /* allocations until one fails; below 0: none does */
    int live;
} source;

static void *take(void *user, size_t size) {
    source *s = (source *)user;
    void *block;
    if (s->left == 0) return NULL;
    s->left--;
    block = malloc(size);
    if (!block) return NULL;
    memset(block, s->fill, size);
    s->live++;
    return block;
}

static void give_back(void *user, void *block) {
    if (block) ((source *)user)->live--;
    free(block);
}

static void test_memory(void **state) {
    static const int fills[] = {0xff, 0x7f, 0x5a};
    problem q = random_problem(11, 30, 90, 780), wide = random_problem(11, 30, 90, 780);
    shs_codes expected = new_codes(90, 5), codes = new_codes(90, 5);
    shs_omp_options o = subspace_of(5, 0);
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    source s;
    size_t k, bytes, i;
    void *memory;
    (void)state;
    for (i = 0; i < 11 * 90; i++) wide.Y[i] = (shs_real)ldexp((double)q.Y[i], -BY_TYPE(90, 700)); /* goes by copies */
    assert_ok(run(NULL, &q, &o, &expected, NULL, NULL));
    s.live = 0;
    ctx.threads = 2;
    ctx.alloc_user = &s;
    ctx.alloc_fn = take;
    ctx.free_fn = give_back;
    for (k = 0; k < 3; k++) {
        s.fill = fills[k];
        s.left = -1;
        spoil_codes(&codes);
        assert_ok(run(&ctx, &q, &o, &codes, NULL, NULL));
        assert_same(&expected, &codes, 90);
    }
    for (k = 0; k < 3; k++) { /* the first, the second allocation fails, or none does */
        shs_status status;
        s.left = (int)k;
        spoil_codes(&codes);
        status = run(&ctx, &wide, &o, &codes, NULL, NULL);
        assert_status(status, k < 2 ? SHS_NO_MEMORY : SHS_OK);
        if (k < 2) assert_int_equal(codes.used[0], 0x7a7a7a7a);
        assert_int_equal(s.live, 0);
    }
    memset(&ctx, 0, sizeof ctx);
    ctx.threads = 1;
    bytes = shs_omp_workspace(&ctx, 11, 30, 90, 5, &o);
    memory = malloc(bytes);
    shs_arena_init(&arena, memory, bytes);
    shs_arena_attach(&arena, &ctx);
    assert_ok(run(&ctx, &q, &o, &codes, NULL, NULL));
    assert_same(&expected, &codes, 90);
    arena.size = bytes / 2;
    assert_status(run(&ctx, &q, &o, &codes, NULL, NULL), SHS_NO_MEMORY);
    assert_true(shs_omp_workspace(NULL, INT_MAX, INT_MAX, SIZE_MAX, INT_MAX, &o) == SIZE_MAX);
    free(memory);
    shs_codes_free(NULL, &expected), shs_codes_free(NULL, &codes);
    problem_free(&q);
    problem_free(&wide);
}

/* The patches of an image, one stage among others. */
static void test_patches(void **state) {
    enum { WIDTH = 40, HEIGHT = 30, N = 60 };
    problem q = random_problem(36, N, 1, 810);
    shs_real *pixels = new_normal(WIDTH * HEIGHT, 811), *out = new_normal(WIDTH * HEIGHT, 812);
    shs_omp_options o = subspace_of(8, 0);
    shs_omp_report report, few;
    shs_image image = SHS_ZERO;
    shs_patches set = SHS_ZERO;
    double before = 0, after = 0;
    int i;
    (void)state;
    image.pixels = pixels;
    image.type = SHS_TYPE_REAL;
    image.width = WIDTH;
    image.height = HEIGHT;
    image.channels = 1;
    set.width = set.height = 6;
    assert_ok(shs_patches_approximate(NULL, &image, &set, N, q.D, 36, &o, 0, out, &report));
    for (i = 0; i < WIDTH * HEIGHT; i++) {
        before += (double)pixels[i] * (double)pixels[i];
        after += ((double)pixels[i] - (double)out[i]) * ((double)pixels[i] - (double)out[i]);
    }
    assert_true(after < 0.9 * before);
    o.sparsity = 4;
    assert_ok(shs_patches_approximate(NULL, &image, &set, N, q.D, 36, &o, 0, out, &few));
    assert_true(few.sum2 > report.sum2 && few.nonzeros < report.nonzeros);
    assert_true(shs_patches_approximate_workspace(NULL, &image, &set, N, &o) < SIZE_MAX);
    free(pixels);
    free(out);
    problem_free(&q);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------------ */

static void test_refused(void **state) {
    problem q = random_problem(5, 7, 3, 790);
    shs_codes codes = new_codes(3, 4);
    const shs_omp_options good = subspace_of(2, 0);
    shs_omp_options o = good;
    const unsigned char mask[15] = {1};
    const size_t groups[1] = {0};
    shs_real gram[49] = {1}, dty[21] = {1}, norms2[3] = {1, 1, 1}, coefs[4], learnt[35];
    unsigned char room[8192];
    int atoms[4], used;
    shs_ksvd_options learning = SHS_ZERO;
    shs_engine engine = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    (void)state;
    spoil_codes(&codes);
#define REFUSED(member, value, status)                                                                                         \
    do {                                                                                                                       \
        o = good, o.member = (value);                                                                                          \
        assert_status(run(NULL, &q, &o, &codes, NULL, NULL), status);                                                          \
        assert_true(shs_omp_workspace(NULL, 5, 7, 3, 4, &o) == SIZE_MAX);                                                      \
        assert_int_equal(codes.used[0], 0x7a7a7a7a);                                                                           \
    } while (0)
    REFUSED(nonnegative, 1, SHS_BAD_OPTIONS);
    REFUSED(selection, SHS_SELECT_OLS, SHS_BAD_OPTIONS);
    REFUSED(skip_nan, 1, SHS_BAD_OPTIONS);
    REFUSED(mask, mask, SHS_BAD_OPTIONS);
    REFUSED(weights, q.Y, SHS_BAD_OPTIONS);
    REFUSED(groups, groups, SHS_BAD_OPTIONS);
    REFUSED(sparsity, -1, SHS_BAD_SPARSITY);
    REFUSED(sparsity, 5, SHS_BAD_CODES);
    REFUSED(tolerance, -1, SHS_BAD_TOLERANCE);
    REFUSED(tolerance, (shs_real)NAN, SHS_BAD_TOLERANCE);
    o = good;
    q.Y[7] = (shs_real)NAN;
    assert_status(run(NULL, &q, &o, &codes, NULL, NULL), SHS_SIGNALS_NOT_FINITE);
    q.Y[7] = 1;
    q.D[3] = (shs_real)INFINITY;
    assert_status(run(NULL, &q, &o, &codes, NULL, NULL), SHS_DICTIONARY_NOT_FINITE);
    q.D[3] = 1;
    assert_int_equal(codes.used[0], 0x7a7a7a7a);
    assert_status(shs_omp_one_direct(5, 7, q.D, 5, q.Y, &o, room, sizeof room, atoms, coefs, &used, NULL), SHS_BAD_OPTIONS);
    assert_status(shs_omp_one(7, gram, 7, dty, 1, &o, room, sizeof room, atoms, coefs, &used, NULL), SHS_BAD_OPTIONS);
    assert_true(shs_omp_one_direct_workspace(5, 7, &o) == SIZE_MAX && shs_omp_one_workspace(7, &o) == SIZE_MAX);
    learning.coding = o;
    assert_status(shs_ksvd_ex(NULL, 5, 7, 3, q.Y, 5, &learning, learnt, 5, NULL, NULL), SHS_BAD_OPTIONS);
    o.gram = gram;
    o.ldg = 7;
    assert_status(shs_omp_gram(NULL, 7, 3, dty, 7, norms2, &o, &codes, NULL, NULL), SHS_BAD_OPTIONS);
    gram[1] = 1;
    assert_status(run(NULL, &q, &o, &codes, NULL, NULL), SHS_GRAM_NOT_SYMMETRIC); /* it is looked at, all the same */
    o = good;
    ctx.engine = &engine;
    assert_status(run(&ctx, &q, &o, &codes, NULL, NULL), SHS_UNSUPPORTED);
    assert_int_equal(codes.used[0], 0x7a7a7a7a);
    engine.fallback = 1;
    assert_ok(run(&ctx, &q, &o, &codes, NULL, NULL));
    assert_int_equal(codes.used[0], 2);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* A Gram matrix of the caller's changes nothing, and neither does the mode. */
static void test_gram_is_not_used(void **state) {
    problem q = random_problem(10, 24, 3, 800);
    shs_codes expected = new_codes(3, 3), codes = new_codes(3, 3);
    shs_omp_options o = subspace_of(3, 0);
    shs_real gram[24 * 24];
    int mode;
    (void)state;
    assert_ok(shs_gemm_general_naive(SHS_TRANS_YES, SHS_TRANS_NO, 24, 24, 10, 1, q.D, 10, q.D, 10, 0, gram, 24));
    assert_ok(run(NULL, &q, &o, &expected, NULL, NULL));
    for (mode = SHS_GRAM_AUTO; mode <= SHS_GRAM_NEVER; mode++) {
        o.gram_mode = (shs_gram_mode)mode;
        o.gram = NULL;
        assert_ok(run(NULL, &q, &o, &codes, NULL, NULL));
        assert_memory_equal(expected.atoms, codes.atoms, 9 * sizeof(int));
        o.gram = gram;
        o.ldg = 24;
        assert_ok(run(NULL, &q, &o, &codes, NULL, NULL));
        assert_memory_equal(expected.atoms, codes.atoms, 9 * sizeof(int));
    }
    shs_codes_free(NULL, &expected), shs_codes_free(NULL, &codes);
    problem_free(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_twin_of_sparse),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_order_of_signals),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_dependent_atoms),
        cmocka_unit_test(test_one_atom),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_no_exceptions),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_gram_is_not_used),
    };
    return run_with_every_instance("subspace pursuit", tests);
}
