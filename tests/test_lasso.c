/* test_lasso.c - the lasso and the elastic net: golden codes of SPAMS, the naive twin, the conditions of a minimum and the
   gap in double from what is stored, paths, limits, bad input, and the same bits for any number of threads. */
#include "test_signals.h"
#include <fenv.h>

/* A problem of unit atoms, or as `kind` says: 1 atoms that are alike, 2 some zero atoms, some twice, and a zero signal, 3
   atoms of any length. */
typedef struct problem {
    int p, n;
    size_t m;
    shs_real *D, *Y;
} problem;

static problem problem_of(int p, int n, size_t m, int kind, uint64_t seed) {
    problem q;
    int i, j;
    q.p = p;
    q.n = n;
    q.m = m;
    q.D = new_normal((size_t)p * (size_t)n, seed);
    q.Y = new_normal((size_t)p * m, seed + 500);
    for (i = 0; kind == 1 && i < p * n; i++) q.D[i] = (shs_real)(q.D[i] * (shs_real)0.3 + 1 + (shs_real)(i % p) / 8);
    if (kind != 3) normalise(p, n, q.D);
    for (j = 0; kind == 2 && j < n; j++) {
        if (j % 7 == 3) memset(q.D + j * p, 0, (size_t)p * sizeof *q.D);
        if (j % 5 == 4) memcpy(q.D + j * p, q.D + (j - 4) * p, (size_t)p * sizeof *q.D);
    }
    if (kind == 2 && m > 1) memset(q.Y + p, 0, (size_t)p * sizeof *q.Y);
    return q;
}

static void problem_free(problem *q) { free(q->D), free(q->Y); }

/* What the codes of a signal are worth, in double: the objective, the gap, and how far from the conditions of a minimum. */
typedef struct worth {
    double objective, gap, off, most, norm2;
} worth;

/* An atom's part of the elastic net's gap for theta = r. */
static double free_part(const shs_lasso_options *o, double lambda, double alpha, double x) {
    const double l2 = (double)o->lambda2, excess = fmax((o->nonnegative ? alpha : fabs(alpha)) - lambda, 0);
    return lambda * fabs(x) + l2 * x * x / 2 - x * alpha + excess * excess / (2 * l2);
}

static worth worth_of(const problem *q, const shs_lasso_options *o, double lambda, size_t i, const shs_codes *codes,
                      size_t at) {
    const shs_real *y = q->Y + i * (size_t)q->p;
    double *r = (double *)malloc((size_t)q->p * sizeof *r), *x = (double *)calloc((size_t)q->n, sizeof *x);
    double r2 = 0, x1 = 0, x2 = 0, along = 0, largest = 0, free_gap = 0, t, l2 = (double)o->lambda2;
    worth w = {0, 0, 0, 0, 0};
    int k, j, l;
    for (l = 0; l < q->p; l++) {
        r[l] = (double)y[l];
        w.norm2 += r[l] * r[l];
    }
    for (j = 0; j < q->n; j++) {
        double alpha = inner(q->p, q->D + (ptrdiff_t)j * q->p, y);
        if (!o->nonnegative) alpha = fabs(alpha);
        if (alpha > w.most) w.most = alpha;
    }
    if (o->relative) lambda *= w.most;
    for (k = 0; k < codes->used[at]; k++) {
        const size_t place = at * (size_t)codes->stride + (size_t)k;
        assert_in_range(codes->atoms[place], 0, q->n - 1);
        if (k > 0) assert_true(codes->atoms[place] > codes->atoms[place - 1]);
        x[codes->atoms[place]] = (double)codes->coefs[place];
        assert_true(codes->coefs[place] > 0 || (codes->coefs[place] < 0 && !o->nonnegative));
        for (l = 0; l < q->p; l++)
            r[l] -= (double)codes->coefs[place] * (double)q->D[(ptrdiff_t)codes->atoms[place] * q->p + l];
    }
    for (l = 0; l < q->p; l++) r2 += r[l] * r[l];
    for (j = 0; j < q->n; j++) {
        double alpha = -l2 * x[j], off;
        for (l = 0; l < q->p; l++) alpha += (double)q->D[(ptrdiff_t)j * q->p + l] * r[l];
        if (l2 > 0) free_gap += free_part(o, lambda, alpha + l2 * x[j], x[j]);
        if (alpha > largest) largest = alpha;
        if (-alpha > largest && !o->nonnegative) largest = -alpha;
        off = (o->nonnegative ? alpha : fabs(alpha)) - lambda;
        if (x[j] > 0) off = fabs(alpha - lambda);
        if (x[j] < 0) off = fabs(alpha + lambda);
        if (off > w.off) w.off = off;
        x1 += fabs(x[j]);
        x2 += x[j] * x[j];
        along += x[j] * alpha;
    }
    r2 += l2 * x2;
    t = largest > lambda ? lambda / largest : 1;
    if (r2 + along < t * r2) t = r2 + along > 0 ? (r2 + along) / r2 : 0;
    w.objective = r2 / 2 + lambda * x1;
    w.gap = r2 / 2 * (1 - t) * (1 - t) + lambda * x1 - t * along;
    if (l2 > 0) w.gap = fmin(w.gap, free_gap);
    free(r);
    free(x);
    return w;
}

/* The twin's objective. */
static double naive_objective(const problem *q, const shs_lasso_options *o, double lambda, size_t i, int sweeps, shs_wide *x) {
    shs_wide *r = (shs_wide *)malloc((size_t)q->p * sizeof *r);
    double sum = 0;
    int j;
    shs_lasso_naive(q->p, q->n, q->D, q->Y + i * (size_t)q->p, (shs_wide)lambda, (shs_wide)o->lambda2, o->nonnegative, sweeps,
                    x, r);
    for (j = 0; j < q->p; j++) sum += (double)r[j] * (double)r[j] / 2;
    for (j = 0; j < q->n; j++) sum += lambda * fabs((double)x[j]) + (double)o->lambda2 / 2 * (double)x[j] * (double)x[j];
    free(r);
    return sum;
}

static shs_status run(const problem *q, const shs_lasso_options *o, shs_codes *codes, shs_real *gaps,
                      shs_lasso_report *report) {
    return shs_lasso(NULL, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, codes, gaps, report);
}

/* The same by D'D and D'Y. */
static shs_status run_gram(const problem *q, const shs_lasso_options *options, shs_codes *codes, shs_real *gaps,
                           shs_lasso_report *report) {
    const size_t n = (size_t)q->n;
    shs_lasso_options o = *options;
    shs_real *gram = (shs_real *)malloc(n * n * sizeof *gram), *dty = (shs_real *)malloc(n * q->m * sizeof *dty);
    shs_real *norms2 = (shs_real *)malloc(q->m * sizeof *norms2);
    shs_status status;
    size_t i, j;
    for (i = 0; i < n; i++) {
        const shs_real *d = q->D + i * (size_t)q->p;
        for (j = 0; j < n; j++) gram[i * n + j] = (shs_real)inner(q->p, d, q->D + j * (size_t)q->p);
        for (j = 0; j < q->m; j++) dty[j * n + i] = (shs_real)inner(q->p, d, q->Y + j * (size_t)q->p);
    }
    for (j = 0; j < q->m; j++) norms2[j] = (shs_real)inner(q->p, q->Y + j * (size_t)q->p, q->Y + j * (size_t)q->p);
    o.gram = gram;
    o.ldg = q->n;
    status = shs_lasso_gram(NULL, q->n, q->m, dty, q->n, norms2, &o, codes, gaps, report);
    free(gram);
    free(dty);
    free(norms2);
    return status;
}

static shs_codes new_codes(size_t m, int stride) {
    shs_codes codes;
    assert_ok(shs_codes_create(NULL, m, stride, &codes));
    spoil_codes(&codes);
    return codes;
}

/* ---- golden codes ------------------------------------------------------------------------------------------------ */

/* The golden codes are a minimum to 1e-10 in D'r. That is up to 2.7e-9 in x, by the system of each support solved and
   refined in long double, with which ours agree to 1e-13. So ours are held to the conditions of the minimum too. */

static void check_golden(const char *name, int nonnegative, double objective, size_t nonzeros) {
    problem q;
    shs_lasso_options o = SHS_ZERO;
    char line[256];
    FILE *f;
    int form;
    q.p = 64;
    q.n = 128;
    q.m = 256;
    q.D = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128);
    q.Y = read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * 256);
    f = open_or_skip(golden_path(name));
    o.lambda = (shs_real)0.05;
    o.nonnegative = nonnegative;
    o.gap = (shs_real)BY_TYPE(2e-6, 1e-13);
    for (form = 0; form < 2; form++) {
        shs_codes codes = new_codes(256, 64);
        shs_lasso_report report = SHS_ZERO;
        int signal, order, atom, k;
        double coefficient;
        size_t count = 0;
        assert_ok((form ? run_gram : run)(&q, &o, &codes, NULL, &report));
        assert_int_equal(report.nonzeros, nonzeros);
        assert_close(report.objective, objective, BY_TYPE(1e-5, 1e-9));
        if (form == 0) assert_int_equal(report.not_reached, 0);
        rewind(f);
        assert_non_null(fgets(line, sizeof line, f));
        while (fscanf(f, "%d,%d,%d,%lf", &signal, &order, &atom, &coefficient) == 4) {
            const size_t at = (size_t)signal * 64;
            for (k = 0; k < codes.used[signal] && codes.atoms[at + (size_t)k] != atom;) k++;
            if (k == codes.used[signal]) fail_msg("form %d, signal %d: atom %d", form, signal, atom);
            assert_close(codes.coefs[at + (size_t)k], coefficient, BY_TYPE(1e-4, 3e-9));
            count++;
        }
        assert_int_equal(count, nonzeros);
        for (k = 0; k < 256; k++)
            assert_true(worth_of(&q, &o, (double)o.lambda, (size_t)k, &codes, (size_t)k).off <= BY_TYPE(1e-5, 1e-13));
        check_unused_slots(&codes, 256);
        shs_codes_free(NULL, &codes);
    }
    fclose(f);
    problem_free(&q);
}

static void test_golden(void **state) {
    (void)state;
    check_golden("variants/lasso_005.csv", 0, 16.0410269228, 3222);
    check_golden("variants/lasso_pos_005.csv", 1, 19.8394756175, 2737);
}

/* ---- what is said is true ---------------------------------------------------------------------------------------- */

/* Odd sizes, atoms that are alike, twice, zero or of any length: the gap is the one that is reported and bounds what the twin
   finds; what is reported as reached is reached; the conditions of a minimum hold. */
static void check_worth(const problem *q, const shs_lasso_options *o, double lambda, double bound) {
    shs_codes codes = new_codes(q->m, q->n);
    shs_real *gaps = (shs_real *)malloc(q->m * sizeof *gaps);
    shs_wide *x = (shs_wide *)malloc((size_t)q->n * sizeof *x);
    int form;
    for (form = 0; form < 2; form++) {
        shs_lasso_report report = SHS_ZERO;
        double objective = 0, largest = 0;
        size_t i, not_reached = 0;
        assert_ok((form ? run_gram : run)(q, o, &codes, gaps, &report));
        assert_int_equal(report.nonzeros, shs_codes_nonzeros(&codes));
        assert_int_equal(report.cut, 0);
        for (i = 0; i < q->m; i++) {
            const worth w = worth_of(q, o, lambda, i, &codes, i);
            const double l1 = lambda * (o->relative ? w.most : 1), unit = w.norm2 > 0 ? w.norm2 / 2 : 1;
            const double twin = naive_objective(q, o, l1, i, 60, x), slack = BY_TYPE(form ? 4e-6 : 2e-7, 1e-13) * unit;
            assert_close((double)gaps[i] * unit, w.gap, slack + 1e-3 * w.gap);
            assert_true(w.objective - twin <= w.gap + BY_TYPE(1e-6, 1e-13) * unit);
            if ((double)gaps[i] > (double)o->gap) not_reached++;
            assert_true(w.off <= bound * (1 + sqrt(w.norm2)));
            objective += w.objective;
            if ((double)gaps[i] > largest) largest = (double)gaps[i];
        }
        assert_int_equal(report.not_reached, not_reached);
        if (form == 0 && lambda > 0) assert_int_equal(not_reached, 0);
        assert_close(report.objective, objective, BY_TYPE(1e-5, 1e-12) * (1 + objective));
        assert_close(report.gap, largest, 1e-6 * largest);
    }
    shs_codes_free(NULL, &codes);
    free(gaps);
    free(x);
}

static void test_minimum(void **state) {
    static const int sizes[][2] = {{1, 1}, {1, 5}, {3, 2}, {7, 17}, {13, 31}, {33, 16}, {20, 129}, {64, 300}};
    int i, kind, variant;
    (void)state;
    for (i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (kind = 0; kind < 4; kind++)
            for (variant = 0; variant < 4; variant++) {
                problem q =
                    problem_of(sizes[i][0], sizes[i][1], (size_t)(3 + i % 3), kind, (uint64_t)(i * 16 + kind * 4 + variant));
                shs_lasso_options o = SHS_ZERO;
                o.relative = 1;
                o.nonnegative = variant & 1;
                o.lambda = (shs_real)(variant & 2 ? 0.1 : 0.5);
                o.gap = (shs_real)BY_TYPE(2e-5, 1e-10);
                if (variant == 2) o.lambda2 = (shs_real)0.3;
                check_worth(&q, &o, (double)o.lambda, BY_TYPE(0.05, 1e-3));
                problem_free(&q);
            }
}

/* With lambda1 at the largest |d_j'y| and above it nothing is chosen, below it something; zero signals have no atoms and
   no gap. */
static void test_largest_lambda(void **state) {
    problem q = problem_of(16, 40, 6, 2, 77);
    shs_codes codes = new_codes(6, 40);
    shs_real gaps[6];
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report report;
    (void)state;
    o.relative = 1;
    o.lambda = 1;
    assert_ok(run(&q, &o, &codes, gaps, &report));
    assert_int_equal(report.nonzeros, 0);
    assert_int_equal(report.not_reached, 0);
    o.lambda = (shs_real)0.98;
    assert_ok(run(&q, &o, &codes, gaps, &report));
    assert_in_range(report.nonzeros, 5, 20);
    assert_int_equal(codes.used[1], 0);
    assert_true(!(gaps[1] > 0));
    o.relative = 0;
    o.lambda = 1000;
    assert_ok(run(&q, &o, &codes, gaps, &report));
    assert_int_equal(report.nonzeros, 0);
    check_unused_slots(&codes, 6);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Without lambda1 and with more values than atoms: least squares; with lambda2 the ridge. The residual's correlations say
   so. The ridge's minimum counts as reached, with fewer values than atoms, too. */
static void test_no_lambda(void **state) {
    int kind;
    (void)state;
    for (kind = 0; kind < 6; kind++) {
        const int ridge = kind >= 2, crowded = kind >= 4;
        problem q = problem_of(crowded ? 9 : 30, 12, 5, 3, 3);
        shs_codes codes = new_codes(5, 12);
        shs_lasso_options o = SHS_ZERO;
        shs_lasso_report report;
        shs_real gaps[5];
        size_t i;
        o.nonnegative = kind % 2;
        if (ridge) o.lambda2 = (shs_real)0.7;
        assert_ok(run(&q, &o, &codes, gaps, &report));
        if (ridge) assert_int_equal(report.not_reached, 0);
        for (i = 0; i < 5; i++) {
            const worth w = worth_of(&q, &o, 0, i, &codes, i);
            assert_true(w.off < BY_TYPE(1e-4, 1e-11));
            if (ridge) assert_close((double)gaps[i], w.gap / (w.norm2 / 2), BY_TYPE(1e-12, 1e-15));
        }
        if (ridge) {
            assert_ok(run_gram(&q, &o, &codes, gaps, &report));
            assert_int_equal(report.not_reached, 0);
        }
        shs_codes_free(NULL, &codes);
        problem_free(&q);
    }
}

/* Of orthonormal atoms the elastic net is known: x_j = soft(d_j'y, lambda1) / (1 + lambda2). */
static void test_orthonormal(void **state) {
    enum { P = 24 };
    problem q = problem_of(P, P, 9, 0, 5);
    shs_codes codes = new_codes(9, P);
    shs_lasso_options o = SHS_ZERO;
    int i, j, k;
    (void)state;
    for (j = 0; j < P; j++) { /* Gram and Schmidt, twice */
        for (k = 0; k < 2 * j; k++)
            shs_axpy(P, -(shs_real)inner(P, q.D + j * P, q.D + k % j * P), q.D + k % j * P, 1, q.D + j * P, 1);
        assert_ok(shs_normalize_columns(P, 1, q.D + j * P, P, NULL));
    }
    o.lambda = (shs_real)0.4;
    o.lambda2 = (shs_real)0.25;
    for (o.nonnegative = 0; o.nonnegative < 2; o.nonnegative++) {
        assert_ok(run(&q, &o, &codes, NULL, NULL));
        for (i = 0; i < 9; i++)
            for (j = k = 0; j < P; j++) {
                const double c = inner(P, q.D + j * P, q.Y + i * P), soft = fabs(c) > 0.4 ? (fabs(c) - 0.4) / 1.25 : 0;
                const double x = o.nonnegative && c < 0 ? 0 : copysign(soft, c);
                const int has = k < codes.used[i] && codes.atoms[i * P + k] == j;
                assert_close(has ? (double)codes.coefs[i * P + k] : 0, x, BY_TYPE(2e-6, 1e-13));
                k += has;
            }
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* The unit of D and of Y, and of the lambdas with them: the same bits over the whole range, and gaps that are numbers. */
static void test_units(void **state) {
    static const int exponents[][2] = {{0, 100}, {0, -100}, {-90, 0}, {90, 0}, {-100, -100}, {100, 100}, {30, -60}};
    const int times = BY_TYPE(1, 5);
    size_t u;
    int kind;
    (void)state;
    for (u = 0; u < sizeof exponents / sizeof exponents[0]; u++)
        for (kind = 0; kind < 8; kind++) {
            const int a = times * exponents[u][0], b = times * exponents[u][1];
            problem q = problem_of(16, 30, 20, kind & 2, 24), scaled = problem_of(16, 30, 20, kind & 2, 24);
            shs_codes expected = new_codes(20, 30), codes = new_codes(20, 30);
            shs_lasso_options o = SHS_ZERO;
            shs_lasso_report first = SHS_ZERO, report = SHS_ZERO;
            int i;
            for (i = 0; i < 16 * 30; i++) scaled.D[i] = (shs_real)ldexp((double)q.D[i], a);
            for (i = 0; i < 16 * 20; i++) scaled.Y[i] = (shs_real)ldexp((double)q.Y[i], b);
            o.relative = kind & 1;
            o.nonnegative = kind >= 4;
            o.lambda = (shs_real)0.25;
            o.lambda2 = kind & 4 ? (shs_real)0.125 : 0;
            if (a != 0 && abs(a) >= times * 63) o.lambda2 = 0; /* its own unit is not a number */
            assert_ok(run(&q, &o, &expected, NULL, &first));
            if (!o.relative) o.lambda = (shs_real)ldexp((double)o.lambda, abs(a + b) <= times * 120 ? a + b : 0);
            o.lambda2 = (shs_real)ldexp((double)o.lambda2, 2 * a);
            if (o.relative || abs(a + b) <= times * 120) {
                assert_ok(run(&scaled, &o, &codes, NULL, &report));
                for (i = 0; i < 20 * 30; i++) expected.coefs[i] = (shs_real)ldexp((double)expected.coefs[i], b - a);
                assert_memory_equal(codes.used, expected.used, 20 * sizeof *codes.used);
                assert_memory_equal(codes.atoms, expected.atoms, 600 * sizeof *codes.atoms);
                assert_memory_equal(codes.coefs, expected.coefs, 600 * sizeof *codes.coefs);
                assert_true(report.gap <= first.gap && report.gap >= first.gap);
                assert_int_equal(report.not_reached, first.not_reached);
            }
            shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
            problem_free(&q);
            problem_free(&scaled);
        }
}

/* A signal's codes and part of the objective do not depend on its neighbours, however far apart they are. */
static void test_units_of_signals(void **state) {
    const double units[] = {BY_TYPE(1e15, 1e120), BY_TYPE(1e-26, 1e-200)};
    const shs_real D[] = {1, 0, 0, 1};
    shs_codes codes = new_codes(2, 2);
    int k, first;
    (void)state;
    for (k = 0; k < 4; k++) {
        const int relative = k & 1, both = k >> 1;
        shs_real Y[] = {0, (shs_real)(both ? units[0] : 0), (shs_real)units[1], 0};
        shs_lasso_options o = SHS_ZERO;
        shs_lasso_report report;
        o.relative = relative;
        o.lambda = (shs_real)(relative ? 0.25 : units[1] / 4);
        if (BY_ENGINE(0, both && !relative)) { /* one unit for both signals */
            assert_status(shs_lasso(NULL, 2, 2, D, 2, 2, Y, 2, &o, &codes, NULL, &report), SHS_OUT_OF_RANGE);
            continue;
        }
        assert_ok(shs_lasso(NULL, 2, 2, D, 2, 2, Y, 2, &o, &codes, NULL, &report));
        first = codes.used[0];
        assert_int_equal(first, both);
        assert_int_equal(codes.used[1], 1);
        assert_int_equal(codes.atoms[2], 0);
        assert_close((double)codes.coefs[2] / units[1], 0.75, BY_TYPE(1e-6, 1e-14));
        if (both && relative) assert_close((double)codes.coefs[0] / units[0], 0.75, BY_TYPE(1e-6, 1e-14));
        if (both && relative) assert_close((double)report.objective / units[0] / units[0], 0.21875, BY_TYPE(1e-6, 1e-14));
    }
    shs_codes_free(NULL, &codes);
}

/* With a lambda2 that is far above |D|^2 coefficients are right, or out of range. */
static void test_large_lambda2(void **state) {
    const int times = BY_TYPE(1, 8);
    shs_codes codes = new_codes(1, 1);
    int k, lost = 0;
    (void)state;
    for (k = 0; k < 100; k += 2) {
        const double unit = ldexp(1, -k * times);
        const shs_real D[] = {(shs_real)(3 * unit)}, Y[] = {1};
        shs_lasso_options o = SHS_ZERO;
        shs_status status;
        o.lambda = (shs_real)unit;
        o.lambda2 = 1;
        status = shs_lasso(NULL, 1, 1, D, 1, 1, Y, 1, &o, &codes, NULL, NULL);
        lost += status == SHS_OUT_OF_RANGE;
        if (status == SHS_OUT_OF_RANGE) continue;
        assert_ok(status);
        assert_int_equal(lost, 0);
        assert_int_equal(codes.used[0], 1);
        assert_close((double)codes.coefs[0] / unit * (1 + 9 * unit * unit), 2, BY_TYPE(1e-6, 1e-14));
    }
    assert_in_range(lost, 1, 20);
    shs_codes_free(NULL, &codes);
}

/* A path that ascends: from the largest correlation on no atom is used, as if each lambda stood alone. */
static void test_ascending_path(void **state) {
    static const shs_real lambdas[4] = {(shs_real)0.02, (shs_real)0.5, 1, 40};
    int kind;
    (void)state;
    for (kind = 0; kind < 8; kind++) {
        problem q = problem_of(32, 70, 60, kind % 4, 22);
        shs_codes path = new_codes(4 * 60, 70);
        shs_real gaps[4 * 60];
        shs_lasso_options o = SHS_ZERO;
        shs_lasso_report report = SHS_ZERO;
        size_t i;
        o.relative = 1;
        o.nonnegative = kind >= 4;
        o.lambdas = lambdas;
        o.lambda_count = 4;
        o.gap = (shs_real)0.5; /* the warm start is within it */
        assert_ok(run(&q, &o, &path, gaps, &report));
        for (i = 2 * 60; i < 4 * 60; i++) {
            assert_int_equal(path.used[i], 0);
            assert_close(gaps[i], 0, 0);
        }
        assert_int_equal(report.nonzeros, shs_codes_nonzeros(&path));
        check_unused_slots(&path, 240);
        shs_codes_free(NULL, &path);
        problem_free(&q);
    }
}

/* A path gives what each lambda gives by itself, in any order. */
static void test_path(void **state) {
    static const shs_real lambdas[5] = {(shs_real)0.7, (shs_real)0.4, (shs_real)0.1, (shs_real)0.2, (shs_real)0.9};
    problem q = problem_of(32, 70, 150, 0, 21); /* more than a group */
    shs_codes path = new_codes(5 * 150, 70), cold = new_codes(150, 70);
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report whole = SHS_ZERO;
    size_t l, i, nonzeros = 0;
    (void)state;
    o.relative = 1;
    o.gap = (shs_real)BY_TYPE(1e-6, 1e-12);
    o.lambdas = lambdas;
    o.lambda_count = 5;
    assert_ok(run(&q, &o, &path, NULL, &whole));
    assert_int_equal(whole.nonzeros, shs_codes_nonzeros(&path));
    check_unused_slots(&path, 750);
    o.lambda_count = 0;
    for (l = 0; l < 5; l++) {
        shs_lasso_report report = SHS_ZERO;
        o.lambda = lambdas[l];
        assert_ok(run(&q, &o, &cold, NULL, &report));
        nonzeros += report.nonzeros;
        for (i = 0; i < 150; i++) {
            const worth a = worth_of(&q, &o, (double)o.lambda, i, &path, l * 150 + i);
            const worth b = worth_of(&q, &o, (double)o.lambda, i, &cold, i);
            assert_close(a.objective, b.objective, BY_TYPE(2e-6, 1e-12) * b.norm2);
        }
    }
    assert_in_range(whole.nonzeros, nonzeros - BY_TYPE(100, 2), nonzeros + BY_TYPE(100, 2));
    shs_codes_free(NULL, &path), shs_codes_free(NULL, &cold);
    problem_free(&q);
}

/* More coefficients than the codes hold: the largest are kept, and it is said. */
static void test_not_reached(void **state) {
    problem q = problem_of(40, 90, 7, 0, 31);
    shs_codes codes = new_codes(7, 90), few = new_codes(7, 4);
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report report = SHS_ZERO;
    shs_real gaps[7];
    size_t i;
    int k, l;
    (void)state;
    o.relative = 1;
    o.lambda = (shs_real)0.2;
    o.gap = (shs_real)BY_TYPE(1e-5, 1e-10);
    assert_ok(run(&q, &o, &codes, NULL, &report));
    assert_int_equal(report.not_reached, 0);
    assert_ok(run(&q, &o, &few, gaps, &report));
    assert_int_equal(report.cut, 7);
    assert_int_equal(report.not_reached, 7);
    for (i = 0; i < 7; i++) {
        const worth w = worth_of(&q, &o, (double)o.lambda, i, &few, i);
        assert_int_equal(few.used[i], 4);
        assert_close((double)gaps[i] * w.norm2 / 2, w.gap, 1e-5 * w.norm2);
        for (k = 0; k < 4; k++)
            for (l = 0; l < codes.used[i]; l++)
                if (codes.atoms[i * 90 + (size_t)l] == few.atoms[i * 4 + (size_t)k])
                    assert_close(codes.coefs[i * 90 + (size_t)l], few.coefs[i * 4 + (size_t)k], BY_TYPE(1e-3, 1e-6));
    }
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &few);
    problem_free(&q);
}

/* Too few sweeps are said, and what there is is no worse than nothing. */
static void test_few_sweeps(void **state) {
    problem q = problem_of(40, 90, 7, 0, 31);
    shs_codes codes = new_codes(7, 90);
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report report = SHS_ZERO;
    shs_real gaps[7];
    size_t i;
    (void)state;
    o.relative = 1;
    o.lambda = (shs_real)0.2;
    o.gap = (shs_real)BY_TYPE(1e-5, 1e-10);
    o.sweeps = 1;
    assert_ok(run(&q, &o, &codes, gaps, &report));
    assert_int_equal(report.not_reached, 7);
    for (i = 0; i < 7; i++) {
        const worth w = worth_of(&q, &o, (double)o.lambda, i, &codes, i);
        assert_true(w.objective <= w.norm2 / 2);
        assert_close((double)gaps[i] * w.norm2 / 2, w.gap, 1e-5 * w.norm2);
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Supports larger than what is solved for together. */
/* A host that lets overflow trap goes on, with a dictionary of counts beside signals of ones. */
static void test_nothing_overflows(void **state) {
    enum { P = 20, N = 30, M = 20 };
    shs_random r;
    problem q = problem_of(P, N, M, 3, 45);
    shs_codes codes = new_codes(M, N);
    shs_context ctx = SHS_ZERO;
    shs_lasso_options o = SHS_ZERO;
    int i;
    (void)state;
    ctx.threads = 1; /* each thread has flags of its own */
    o.lambda = (shs_real)0.02;
    o.relative = 1;
    shs_random_seed(&r, 46);
    for (i = 0; i < P * N; i++) q.D[i] = (shs_real)(4095 * shs_random_uniform(&r));
    feclearexcept(FE_ALL_EXCEPT);
    assert_ok(shs_lasso(&ctx, P, N, q.D, P, M, q.Y, P, &o, &codes, NULL, NULL));
    assert_int_equal(fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), 0);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

static void test_large_support(void **state) {
    problem q = problem_of(400, 420, 2, 0, 41);
    shs_lasso_options o = SHS_ZERO;
    (void)state;
    o.lambda = (shs_real)0.05;
    o.gap = (shs_real)BY_TYPE(1e-5, 1e-9);
    o.sweeps = 100000;
    check_worth(&q, &o, (double)o.lambda, BY_TYPE(0.02, 1e-3));
    problem_free(&q);
}

/* Atoms that are alike: kernels of a few widths along the signal, or sums of 4 vectors and little else. */
static problem alike_of(int p, int n, size_t m, int smooth, uint64_t seed) {
    problem q = problem_of(p, n, m, 0, seed);
    shs_real *factors = new_normal((size_t)p * 4, seed + 1), *weights = new_normal((size_t)n * 4, seed + 2);
    size_t i;
    int j, l, k;
    for (j = 0; j < n; j++)
        for (l = 0; l < p; l++) {
            const double x = (double)l / p - (double)j / n, width = 0.02 + 0.1 * (j % 5);
            double sum = 0.02 * (double)q.D[j * p + l];
            for (k = 0; k < 4; k++) sum += (double)weights[j * 4 + k] * (double)factors[k * p + l];
            q.D[j * p + l] = (shs_real)(smooth ? exp(-x * x / (2 * width * width)) : sum);
        }
    normalise(p, n, q.D);
    for (i = 0; i < m; i++) /* five atoms and noise */
        for (l = 0; l < p; l++) {
            shs_real *y = q.Y + i * (size_t)p + l;
            *y *= (shs_real)0.02;
            for (k = 0; k < 5; k++) *y += (shs_real)(k - 1) * q.D[(int)(i * 17 + (size_t)k * 31) % n * p + l];
        }
    free(factors);
    free(weights);
    return q;
}

/* The minimum is reached by default however alike the atoms are, with many signals and with few, and does not depend on the
   order of the atoms. */
static void test_atoms_alike(void **state) {
    static const double lambdas[] = {0.1, 0.01, 0.001, 0.0001};
    enum { P = 40, N = 90 };
    int smooth, variant, many, l, j;
    (void)state;
    for (smooth = 0; smooth < 2; smooth++)
        for (variant = 0; variant < 3; variant++)
            for (many = 0; many < 2; many++)
                for (l = 0; l < 4; l++) {
                    const size_t m = many ? 14 : 3;
                    problem q = alike_of(P, N, m, smooth, (uint64_t)(100 + 10 * smooth + variant)), turned = q;
                    shs_codes codes = new_codes(m, N), other = new_codes(m, N);
                    shs_lasso_options o = SHS_ZERO;
                    shs_lasso_report a = SHS_ZERO, b = SHS_ZERO;
                    size_t i;
                    o.relative = 1;
                    o.lambda = (shs_real)lambdas[l];
                    o.nonnegative = variant == 1;
                    o.lambda2 = (shs_real)(variant == 2 ? 1e-3 : 0);
                    turned.D = (shs_real *)malloc(sizeof *turned.D * P * N);
                    for (j = 0; j < N; j++) memcpy(turned.D + j * P, q.D + (N - 1 - j) * P, sizeof *q.D * P);
                    assert_ok(run(&q, &o, &codes, NULL, &a));
                    assert_ok(run(&turned, &o, &other, NULL, &b));
                    assert_int_equal(a.not_reached, 0);
                    assert_int_equal(b.not_reached, 0);
                    for (i = 0; i < m; i++) {
                        const worth w = worth_of(&q, &o, lambdas[l], i, &codes, i);
                        const worth v = worth_of(&turned, &o, lambdas[l], i, &other, i);
                        assert_true(w.gap <= BY_TYPE(1.1e-5, 1.1e-10) * w.norm2 / 2);
                        assert_close(v.objective, w.objective, BY_TYPE(1.1e-5, 1.1e-10) * w.norm2 / 2);
                    }
                    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &other);
                    free(turned.D);
                    problem_free(&q);
                }
}

/* Dictionaries much wider than the signals take memory for a few passes over D, not for n^2 products, and reach the same. */
static void test_wide(void **state) {
    enum { P = 10, N = 10000 };
    problem q = problem_of(P, N, 2, 0, 91);
    shs_codes codes = new_codes(2, 40);
    shs_lasso_options o = SHS_ZERO;
    shs_lasso_report report = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    size_t i;
    (void)state;
    ctx.threads = 1;
    o.relative = 1;
    o.lambda = (shs_real)0.05;
    assert_true(shs_lasso_workspace(&ctx, P, N, 100000, &o) < sizeof(shs_real) * N * N / 10);
    assert_ok(run(&q, &o, &codes, NULL, &report));
    assert_int_equal(report.not_reached, 0);
    for (i = 0; i < 2; i++) {
        const worth w = worth_of(&q, &o, 0.05, i, &codes, i);
        assert_true(w.gap <= BY_TYPE(1.1e-5, 1.1e-10) * w.norm2 / 2);
        assert_in_range(codes.used[i], 1, P);
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Signals of any scale have the same codes in their unit. */
static void test_scales(void **state) {
    problem q = problem_of(20, 50, 8, 0, 51);
    shs_codes one = new_codes(8, 50), other = new_codes(8, 50);
    const double scales[] = {1 / 1099511627776.0, 1099511627776.0};
    shs_lasso_options o = SHS_ZERO;
    int s, i;
    (void)state;
    o.relative = 1;
    o.lambda = (shs_real)0.3;
    assert_ok(run(&q, &o, &one, NULL, NULL));
    for (s = 0; s < 2; s++) {
        problem scaled = problem_of(20, 50, 8, 0, 51);
        for (i = 0; i < 20 * 8; i++) scaled.Y[i] = (shs_real)((double)scaled.Y[i] * scales[s]);
        assert_ok(run(&scaled, &o, &other, NULL, NULL));
        assert_memory_equal(one.used, other.used, sizeof(int) * 8);
        assert_memory_equal(one.atoms, other.atoms, sizeof(int) * 8 * 50);
        for (i = 0; i < 8 * 50; i++)
            assert_close(other.coefs[i], scales[s] * (double)one.coefs[i], BY_TYPE(1e-4, 1e-9) * scales[s]);
        problem_free(&scaled);
    }
    shs_codes_free(NULL, &one), shs_codes_free(NULL, &other);
    problem_free(&q);
}

/* ---- the outside world ------------------------------------------------------------------------------------------- */

static void test_threads(void **state) {
    problem q = problem_of(24, 60, 700, 0, 61);
    shs_codes one = new_codes(700, 60), other = new_codes(700, 60);
    shs_lasso_report a = SHS_ZERO, b = SHS_ZERO;
    shs_lasso_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    int threads;
    (void)state;
    o.relative = 1;
    o.lambda = (shs_real)0.2;
    o.lambda2 = (shs_real)0.1;
    ctx.threads = 1;
    assert_ok(shs_lasso(&ctx, 24, 60, q.D, 24, 700, q.Y, 24, &o, &one, NULL, &a));
    for (threads = 2; threads < 6; threads++) {
        ctx.threads = threads;
        spoil_codes(&other);
        assert_ok(shs_lasso(&ctx, 24, 60, q.D, 24, 700, q.Y, 24, &o, &other, NULL, &b));
        assert_memory_equal(one.used, other.used, 700 * sizeof(int));
        assert_memory_equal(one.coefs, other.coefs, 700 * 60 * sizeof(shs_real));
        assert_memory_equal(&a, &b, sizeof a);
    }
    shs_codes_free(NULL, &one), shs_codes_free(NULL, &other);
    problem_free(&q);
}

static void count_loops(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    size_t i;
    (void)threads;
    ++*(int *)user;
    for (i = 0; i < chunks; i++) body(arg, i, 0);
}

/* A signal of the lasso takes sweeps: 150 of them take longer than waking threads. */
static void test_sweeps_are_shared(void **state) {
    problem q = problem_of(64, 64, 150, 0, 62);
    shs_codes codes = new_codes(150, 64);
    shs_lasso_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    int calls = 0;
    (void)state;
    o.relative = 1;
    o.lambda = (shs_real)0.5;
    ctx.threads = 2;
    ctx.parallel_fn = count_loops;
    ctx.parallel_user = &calls;
    test_worth_sharing = WORTH_SHARING;
    assert_ok(shs_lasso(&ctx, 64, 64, q.D, 64, 150, q.Y, 64, &o, &codes, NULL, NULL));
    test_worth_sharing = 0;
    assert_int_equal(calls, 1);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Cancels at once; *user: how many signals were done. */
static int cancel(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    (void)error;
    assert_string_equal(phase, "lasso");
    *(size_t *)user = step;
    return step < steps;
}

/* An arena of what the query says suffices; cancelled after a round of chunks, the signals until then have their codes. */
static void test_workspace_and_cancel(void **state) {
    enum { M = 4 * 128 + 1 };
    problem q = problem_of(4, 6, M, 0, 71);
    shs_codes codes = new_codes(2 * M, 6);
    static const shs_real lambdas[2] = {(shs_real)0.5, (shs_real)0.25};
    shs_lasso_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    size_t bytes, done = 0, i;
    void *memory;
    (void)state;
    o.relative = 1;
    o.lambdas = lambdas;
    o.lambda_count = 2;
    ctx.threads = 1;
    bytes = shs_lasso_workspace(&ctx, 4, 6, M, &o);
    memory = malloc(bytes);
    shs_arena_init(&arena, memory, bytes);
    shs_arena_attach(&arena, &ctx);
    ctx.progress_fn = cancel;
    ctx.progress_user = &done;
    assert_status(shs_lasso(&ctx, 4, 6, q.D, 4, M, q.Y, 4, &o, &codes, NULL, NULL), SHS_CANCELLED);
    assert_in_range(done, 1, M - 1);
    for (i = 0; i < M; i++) {
        assert_true((codes.used[i] > 0) == (i < done));
        assert_true((codes.used[M + i] > 0) == (i < done));
    }
    arena.size = bytes / 2;
    assert_status(shs_lasso(&ctx, 4, 6, q.D, 4, M, q.Y, 4, &o, &codes, NULL, NULL), SHS_NO_MEMORY);
    assert_true(shs_lasso_workspace(NULL, INT_MAX, INT_MAX, SIZE_MAX, &o) == SIZE_MAX);
    assert_true(shs_lasso_workspace(NULL, 4, 0, 1, &o) == SIZE_MAX);
    free(memory);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Where sweeps end early the gap of the elastic net is still a bound: of coherent atoms, the minimum lies within it. */
static void test_gap_of_a_net_is_a_bound(void **state) {
    enum { ROWS = 20, ATOMS = 60, M = 4 };
    problem q = problem_of(ROWS, ATOMS, M, 0, 75);
    shs_codes codes = new_codes(1, ATOMS);
    shs_lasso_options o = SHS_ZERO;
    shs_random r;
    int i, j, sweeps;
    (void)state;
    shs_random_seed(&r, 5);
    for (i = 0; i < ROWS * M; i++) q.Y[i] = (shs_real)shs_random_normal(&r);
    for (j = 0; j < ATOMS; j++) {
        double norm2 = 0;
        for (i = 0; i < ROWS; i++) {
            shs_real *d = q.D + j * ROWS + i;
            *d = (shs_real)((double)shs_random_normal(&r) + 0.7);
            norm2 += (double)*d * (double)*d;
        }
        for (i = 0; i < ROWS; i++) q.D[j * ROWS + i] = (shs_real)((double)q.D[j * ROWS + i] / sqrt(norm2));
    }
    o.lambda = (shs_real)0.05;
    o.lambda2 = (shs_real)0.5;
    o.gap = (shs_real)1e-12;
    for (i = 0; i < M; i++) {
        const shs_real *y = q.Y + i * ROWS;
        double norm2 = 0, least = 0;
        for (j = 0; j < ROWS; j++) norm2 += (double)y[j] * (double)y[j];
        for (sweeps = 4096; sweeps > 0; sweeps /= 8) { /* 4096, 512, 64, 8, 1 */
            shs_lasso_report report;
            shs_real gap;
            o.sweeps = sweeps;
            assert_ok(shs_lasso(NULL, ROWS, ATOMS, q.D, ROWS, 1, y, ROWS, &o, &codes, &gap, &report));
            if (sweeps == 4096) least = (double)report.objective;
            assert_true(((double)report.objective - least) / (norm2 / 2) <= 1.001 * (double)gap + BY_TYPE(1e-5, 1e-9));
        }
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

static int count_calls(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    (void)phase;
    (void)error;
    assert_true(step <= steps);
    ++*(int *)user;
    return 0;
}

/* Where signals are much work, the callback is called after few of them, and the codes are the same. */
static void test_calls_by_work(void **state) {
    enum { M = 2048, N = 512, LAMBDAS = 16 };
    problem q = problem_of(16, N, M, 0, 73);
    shs_codes codes = new_codes(LAMBDAS * M, 8), quiet = new_codes(LAMBDAS * M, 8);
    shs_real lambdas[LAMBDAS];
    shs_lasso_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    size_t i;
    int calls = 0, k;
    (void)state;
    for (k = 0; k < LAMBDAS; k++) lambdas[k] = (shs_real)(0.98 - 0.01 * k);
    o.relative = 1;
    o.lambdas = lambdas;
    o.lambda_count = LAMBDAS;
    ctx.threads = 1;
    assert_ok(shs_lasso(&ctx, 16, N, q.D, 16, M, q.Y, 16, &o, &quiet, NULL, NULL));
    ctx.progress_fn = count_calls;
    ctx.progress_user = &calls;
    assert_ok(shs_lasso(&ctx, 16, N, q.D, 16, M, q.Y, 16, &o, &codes, NULL, NULL));
    assert_in_range(calls, 4, M / 32); /* of chunks of 32 */
    for (i = 0; i < LAMBDAS * (size_t)M; i++) {
        assert_int_equal(codes.used[i], quiet.used[i]);
        assert_memory_equal(codes.coefs + 8 * i, quiet.coefs + 8 * i, (size_t)codes.used[i] * sizeof *codes.coefs);
    }
    shs_codes_free(NULL, &codes);
    shs_codes_free(NULL, &quiet);
    problem_free(&q);
}

static void test_bad_input(void **state) {
    problem q = problem_of(5, 7, 3, 0, 81);
    shs_codes codes = new_codes(3, 7), small = codes;
    shs_real lambdas[2] = {1, -1}, gram[49] = {1}, dty[21] = {1}, norms2[3] = {1, 1, 1};
    shs_lasso_options o = SHS_ZERO, bad;
    shs_engine engine = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    (void)state;
#define REFUSED(member, value, status)                                                                                         \
    do {                                                                                                                       \
        bad = o, bad.member = (value);                                                                                         \
        assert_status(run(&q, &bad, &codes, NULL, NULL), status);                                                              \
        assert_int_equal(codes.used[0], 0x7a7a7a7a);                                                                           \
    } while (0)
    o.lambda = (shs_real)0.1;
    REFUSED(lambda, -1, SHS_BAD_LAMBDA);
    REFUSED(lambda, (shs_real)NAN, SHS_BAD_LAMBDA);
    REFUSED(lambda, (shs_real)INFINITY, SHS_BAD_LAMBDA);
    REFUSED(lambda2, -1, SHS_BAD_LAMBDA);
    REFUSED(lambda2, (shs_real)NAN, SHS_BAD_LAMBDA);
    REFUSED(gap, -1, SHS_BAD_TOLERANCE);
    REFUSED(gap, (shs_real)NAN, SHS_BAD_TOLERANCE);
    REFUSED(sweeps, -1, SHS_BAD_ITERATIONS);
    REFUSED(lambda_count, -1, SHS_BAD_OPTIONS);
    REFUSED(lambda_count, 2, SHS_BAD_OPTIONS);
    REFUSED(end_canary, 1, SHS_BAD_OPTIONS);
    o.lambdas = lambdas;
    REFUSED(lambda_count, 2, SHS_BAD_LAMBDA);
    lambdas[1] = (shs_real)0.5;
    REFUSED(lambda_count, 2, SHS_BAD_CODES);
    o.lambdas = NULL;
    o.gram = gram;
    REFUSED(ldg, 6, SHS_BAD_GRAM);
    gram[48] = (shs_real)NAN;
    REFUSED(ldg, 7, SHS_BAD_GRAM);
    o.gram = NULL;
    gram[48] = 0;
    assert_status(run(&q, NULL, &codes, NULL, NULL), SHS_BAD_OPTIONS);
    assert_status(shs_lasso(NULL, 0, 7, q.D, 5, 3, q.Y, 5, &o, &codes, NULL, NULL), SHS_BAD_P);
    assert_status(shs_lasso(NULL, 5, 0, q.D, 5, 3, q.Y, 5, &o, &codes, NULL, NULL), SHS_BAD_N);
    assert_status(shs_lasso(NULL, 5, 7, NULL, 5, 3, q.Y, 5, &o, &codes, NULL, NULL), SHS_BAD_DICTIONARY);
    assert_status(shs_lasso(NULL, 5, 7, q.D, 4, 3, q.Y, 5, &o, &codes, NULL, NULL), SHS_BAD_LDD);
    assert_status(shs_lasso(NULL, 5, 7, q.D, 5, 3, NULL, 5, &o, &codes, NULL, NULL), SHS_BAD_SIGNALS);
    assert_status(shs_lasso(NULL, 5, 7, q.D, 5, 3, q.Y, 4, &o, &codes, NULL, NULL), SHS_BAD_LDY);
    assert_status(run(&q, &o, NULL, NULL, NULL), SHS_BAD_CODES);
    small.m = 2;
    assert_status(run(&q, &o, &small, NULL, NULL), SHS_BAD_CODES);
    q.Y[14] = (shs_real)NAN;
    assert_status(run(&q, &o, &codes, NULL, NULL), SHS_SIGNALS_NOT_FINITE);
    q.Y[14] = 0;
    q.D[34] = (shs_real)INFINITY;
    assert_status(run(&q, &o, &codes, NULL, NULL), SHS_DICTIONARY_NOT_FINITE);
    q.D[34] = 0;
    assert_status(shs_lasso_gram(NULL, 7, 3, dty, 7, norms2, &o, &codes, NULL, NULL), SHS_BAD_GRAM);
    o.gram = gram;
    o.ldg = 7;
    assert_status(shs_lasso_gram(NULL, 0, 3, dty, 7, norms2, &o, &codes, NULL, NULL), SHS_BAD_N);
    assert_status(shs_lasso_gram(NULL, 7, 3, NULL, 7, norms2, &o, &codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    assert_status(shs_lasso_gram(NULL, 7, 3, dty, 6, norms2, &o, &codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    assert_status(shs_lasso_gram(NULL, 7, 3, dty, 7, NULL, &o, &codes, NULL, NULL), SHS_BAD_NORMS);
    norms2[2] = -1;
    assert_status(shs_lasso_gram(NULL, 7, 3, dty, 7, norms2, &o, &codes, NULL, NULL), SHS_BAD_NORMS);
    norms2[2] = 1;
    dty[20] = (shs_real)NAN;
    assert_status(shs_lasso_gram(NULL, 7, 3, dty, 7, norms2, &o, &codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    o.gram = NULL;
    ctx.engine = &engine; /* no engine does it */
    assert_status(shs_lasso(&ctx, 5, 7, q.D, 5, 3, q.Y, 5, &o, &codes, NULL, NULL), SHS_UNSUPPORTED);
    assert_int_equal(codes.used[0], 0x7a7a7a7a);
    engine.fallback = 1;
    assert_ok(shs_lasso(&ctx, 5, 7, q.D, 5, 3, q.Y, 5, &o, &codes, NULL, NULL));
    assert_ok(shs_lasso(NULL, 5, 7, q.D, 5, 0, NULL, 5, &o, &codes, NULL, NULL));
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_minimum),
        cmocka_unit_test(test_largest_lambda),
        cmocka_unit_test(test_no_lambda),
        cmocka_unit_test(test_orthonormal),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_units_of_signals),
        cmocka_unit_test(test_large_lambda2),
        cmocka_unit_test(test_ascending_path),
        cmocka_unit_test(test_not_reached),
        cmocka_unit_test(test_few_sweeps),
        cmocka_unit_test(test_nothing_overflows),
        cmocka_unit_test(test_large_support),
        cmocka_unit_test(test_atoms_alike),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_sweeps_are_shared),
        cmocka_unit_test(test_workspace_and_cancel),
        cmocka_unit_test(test_calls_by_work),
        cmocka_unit_test(test_gap_of_a_net_is_a_bound),
        cmocka_unit_test(test_bad_input),
    };
    return run_with_every_instance("the lasso", tests);
}
