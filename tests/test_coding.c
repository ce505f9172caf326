/* test_coding.c - sparse coding: every form of OMP against its naive twin, against golden codes, on noisy patches, on
   bad input, and for any number of threads. */
#include "test_signals.h"
#include <fenv.h>

/* ---- problems and their naive solution --------------------------------------------------------------------------- */

/* Signals, a dictionary, and what the Gram forms need, computed in double. */
typedef struct problem {
    int p, n;
    size_t m;
    shs_real *D, *Y, *gram, *dty, *norms2;
} problem;

/* Makes a problem from D and Y, with the Gram matrix, D'Y and norms. The problem owns D and Y. */
static problem problem_of(int p, int n, size_t m, shs_real *D, shs_real *Y) {
    problem q;
    size_t P = (size_t)p, N = (size_t)n, i, j;
    q.p = p;
    q.n = n;
    q.m = m;
    q.D = D;
    q.Y = Y;
    q.gram = (shs_real *)malloc(N * N * sizeof *q.gram);
    q.dty = (shs_real *)malloc((m ? m : 1) * N * sizeof *q.dty);
    q.norms2 = (shs_real *)malloc((m ? m : 1) * sizeof *q.norms2);
    for (j = 0; j < N; j++)
        for (i = 0; i < N; i++) q.gram[j * N + i] = (shs_real)inner(p, D + i * P, D + j * P);
    for (j = 0; j < m; j++) {
        for (i = 0; i < N; i++) q.dty[j * N + i] = (shs_real)inner(p, D + i * P, Y + j * P);
        q.norms2[j] = (shs_real)inner(p, Y + j * P, Y + j * P);
    }
    return q;
}

/* Normal deviates. The seeds are such that no two atoms tie to rounding and none of the selections is nearly dependent:
   there the choice, or the coefficients, would be anybody's. With p = 1 all atoms of unit norm would tie, so the atoms keep
   their lengths. */
static problem random_problem(int p, int n, size_t m, uint64_t seed) {
    shs_real *D = new_normal((size_t)p * (size_t)n, seed), *Y = new_normal((size_t)p * m, seed + 1000);
    if (p > 1) normalise(p, n, D);
    return problem_of(p, n, m, D, Y);
}

static void problem_free(problem *q) { free(q->D), free(q->Y), free(q->gram), free(q->dty), free(q->norms2); }

static const shs_real *signal_of(const problem *q, size_t i) { return q->Y + i * (size_t)q->p; }

static shs_codes new_codes(size_t m, int stride) {
    shs_codes codes;
    assert_ok(shs_codes_create(NULL, m, stride, &codes));
    return codes;
}

/* The limits of signal i. */
static int sparsity_of(const shs_omp_options *o, size_t i, int most) {
    int s = most;
    if (o->sparsity) s = o->sparsity;
    if (o->sparsity_each) s = o->sparsity_each[i];
    return s < most ? s : most;
}

static shs_real tolerance_of(const shs_omp_options *o, size_t i) {
    return o->tolerance_each ? o->tolerance_each[i] : o->tolerance;
}

/* ||y - Dx||^2 in double from the coefficients as stored. */
static double error2_of(const problem *q, const shs_codes *c, size_t i) {
    return code_error2(q->p, q->D, c, i, signal_of(q, i));
}

/* The rules of choice as a textbook has them. */
static shs_wide naive_ols(shs_wide alpha, shs_wide gjj, shs_wide d2) {
    return d2 > (shs_wide)BY_TYPE(1e-5, 1e-12) * gjj ? alpha * alpha / d2 : 0;
}

typedef shs_wide (*score_fn)(shs_wide alpha, shs_wide gjj, shs_wide d2);
static const score_fn naive_scores[SHS_SELECTION_COUNT] = {NULL, naive_ols};

static int naive_nonnegative(int p, int n, const shs_real *D, const shs_real *y, int s, shs_real tolerance, int *atoms,
                             shs_real *coefs) {
    shs_wide *x = (shs_wide *)malloc((size_t)(s + p + 1) * sizeof *x);
    int used, k;
    assert_non_null(x);
    used = shs_nnomp_naive(p, n, D, y, s, (shs_wide)tolerance, atoms, x, x + s);
    for (k = 0; k < used; k++) coefs[k] = (shs_real)x[k];
    free(x);
    return used;
}

static shs_codes naive_codes(const problem *q, const shs_omp_options *o) {
    int most = q->p < q->n ? q->p : q->n;
    shs_codes c = new_codes(q->m, most);
    size_t i;
    for (i = 0; i < q->m; i++) {
        const naive_rule rule = {sparsity_of(o, i, most), tolerance_of(o, i), naive_scores[o->selection]};
        size_t at = i * (size_t)most;
        int *atoms = c.atoms + at;
        shs_real *coefs = c.coefs + at;
        if (o->nonnegative)
            c.used[i] = naive_nonnegative(q->p, q->n, q->D, signal_of(q, i), rule.sparsity, rule.tolerance, atoms, coefs);
        else c.used[i] = naive_pursuit(q->p, q->n, q->D, signal_of(q, i), &rule, atoms, coefs, NULL);
    }
    return c;
}

/* The same atoms in the same order, and coefficients that differ by at most bound times the largest of the signal. */
static void assert_same_codes(const shs_codes *a, const shs_codes *b, size_t m, double bound) {
    size_t i;
    int k;
    for (i = 0; i < m; i++) {
        const int *atoms_a = a->atoms + i * (size_t)a->stride, *atoms_b = b->atoms + i * (size_t)b->stride;
        const shs_real *coefs_a = a->coefs + i * (size_t)a->stride, *coefs_b = b->coefs + i * (size_t)b->stride;
        double largest = 0;
        if (a->used[i] != b->used[i]) fail_msg("signal %d has %d atoms, not %d", (int)i, a->used[i], b->used[i]);
        for (k = 0; k < b->used[i]; k++) largest = fmax(largest, fabs((double)coefs_b[k]));
        for (k = 0; k < b->used[i]; k++) {
            if (atoms_a[k] != atoms_b[k]) fail_msg("signal %d, step %d: atom %d, not %d", (int)i, k, atoms_a[k], atoms_b[k]);
            assert_close(coefs_a[k], coefs_b[k], bound * largest);
        }
    }
}

static void assert_identical_codes(const shs_codes *a, const shs_codes *b, size_t m) {
    size_t i;
    for (i = 0; i < m; i++) {
        size_t at = i * (size_t)a->stride, bt = i * (size_t)b->stride, k = (size_t)a->used[i];
        assert_int_equal(a->used[i], b->used[i]);
        assert_memory_equal(a->atoms + at, b->atoms + bt, k * sizeof *a->atoms);
        assert_memory_equal(a->coefs + at, b->coefs + bt, k * sizeof *a->coefs);
    }
}

#define SAME BY_TYPE(1e-4, 1e-9)

/* ---- all forms of the same pursuit ------------------------------------------------------------------------------- */

/* Codes a problem within o's limits; codes has room for them. */
typedef shs_status (*form_fn)(const problem *q, const shs_omp_options *o, shs_codes *codes);

static shs_status with_mode(const problem *q, const shs_omp_options *o, shs_codes *codes, shs_gram_mode mode) {
    shs_omp_options own = *o;
    own.gram_mode = mode;
    return shs_omp_ex(NULL, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, &own, codes, NULL, NULL);
}

static shs_status form_auto(const problem *q, const shs_omp_options *o, shs_codes *codes) {
    return with_mode(q, o, codes, SHS_GRAM_AUTO);
}

static shs_status form_always(const problem *q, const shs_omp_options *o, shs_codes *codes) {
    return with_mode(q, o, codes, SHS_GRAM_ALWAYS);
}

static shs_status form_never(const problem *q, const shs_omp_options *o, shs_codes *codes) {
    return with_mode(q, o, codes, SHS_GRAM_NEVER);
}

/* A copy with a longer leading dimension; the gaps hold NaN, which nobody may read. */
static shs_real *strided(size_t rows, size_t columns, const shs_real *A, size_t ld) {
    shs_real *B = (shs_real *)malloc(ld * (columns ? columns : 1) * sizeof *B);
    size_t i, j;
    for (j = 0; j < columns; j++)
        for (i = 0; i < ld; i++) B[j * ld + i] = i < rows ? A[j * rows + i] : (shs_real)NAN;
    return B;
}

static shs_status form_strided(const problem *q, const shs_omp_options *o, shs_codes *codes) {
    size_t P = (size_t)q->p, N = (size_t)q->n;
    shs_real *D = strided(P, N, q->D, P + 3), *Y = strided(P, q->m, q->Y, P + 5), *G = strided(N, N, q->gram, N + 2);
    shs_omp_options own = *o;
    shs_status status;
    own.gram = G;
    own.ldg = q->n + 2;
    status = shs_omp_ex(NULL, q->p, q->n, D, q->p + 3, q->m, Y, q->p + 5, &own, codes, NULL, NULL);
    free(D);
    free(Y);
    free(G);
    return status;
}

static shs_status form_gram(const problem *q, const shs_omp_options *o, shs_codes *codes) {
    shs_omp_options own = *o;
    shs_real *dty = strided((size_t)q->n, q->m, q->dty, (size_t)q->n + 1);
    shs_status status;
    own.gram = q->gram;
    own.ldg = q->n;
    status = shs_omp_gram(NULL, q->n, q->m, dty, q->n + 1, q->norms2, &own, codes, NULL, NULL);
    free(dty);
    return status;
}

/* Signal by signal, on the Gram matrix or on the dictionary itself. */
static shs_status one_by_one(const problem *q, const shs_omp_options *o, shs_codes *codes, int direct) {
    int most = q->p < q->n ? q->p : q->n;
    shs_omp_options own = SHS_ZERO;
    size_t size, i;
    unsigned char *workspace;
    shs_status status = SHS_OK;
    own.selection = o->selection;
    own.sparsity = most;
    own.nonnegative = o->nonnegative;
    size = direct ? shs_omp_one_direct_workspace(q->p, q->n, &own) : shs_omp_one_workspace(q->n, &own);
    workspace = (unsigned char *)malloc(size + 1);
    for (i = 0; i < q->m && status == SHS_OK; i++) {
        size_t at = i * (size_t)codes->stride;
        int s = sparsity_of(o, i, most), *atoms = codes->atoms + at, *used = codes->used + i;
        shs_real *coefs = codes->coefs + at;
        *used = 0;
        own.sparsity = s;
        own.tolerance = tolerance_of(o, i);
        if (s <= 0) continue; /* any alignment of the workspace will do */
        if (direct)
            status = shs_omp_one_direct(q->p, q->n, q->D, q->p, signal_of(q, i), &own, workspace + 1, size, atoms, coefs, used,
                                        NULL);
        else
            status = shs_omp_one(q->n, q->gram, q->n, q->dty + i * (size_t)q->n, q->norms2[i], &own, workspace + 1, size, atoms,
                                 coefs, used, NULL);
    }
    free(workspace);
    return status;
}

static shs_status form_one(const problem *q, const shs_omp_options *o, shs_codes *codes) { return one_by_one(q, o, codes, 0); }
static shs_status form_direct(const problem *q, const shs_omp_options *o, shs_codes *codes) {
    return one_by_one(q, o, codes, 1);
}

static const form_fn forms[] = {form_auto, form_always, form_never, form_strided, form_gram, form_one, form_direct};
#define FORMS ((int)(sizeof forms / sizeof forms[0]))
#define FORMS_OF_MANY 5 /* the first so many fill whole codes, the others single signals */

static void assert_all_forms(const problem *q, const shs_omp_options *o) {
    int most = q->p < q->n ? q->p : q->n, f;
    shs_codes expected = naive_codes(q, o);
    for (f = 0; f < FORMS; f++) {
        shs_codes codes = new_codes(q->m, most);
        spoil_codes(&codes);
        assert_ok(forms[f](q, o, &codes));
        assert_same_codes(&codes, &expected, q->m, SAME);
        if (f < FORMS_OF_MANY) check_unused_slots(&codes, q->m);
        shs_codes_free(NULL, &codes);
    }
    shs_codes_free(NULL, &expected);
}

static const struct {
    int p, n, m, s;
} sizes[] = {
    {1, 1, 3, 1},      {1, 5, 4, 1},      {2, 3, 5, 2},      {3, 1, 4, 1},     {5, 17, 9, 3},      {16, 16, 20, 5},
    {17, 31, 33, 7},   {24, 7, 13, 7},    {7, 24, 13, 5},    {64, 128, 40, 6}, {33, 100, 150, 10}, {64, 65, 21, 16},
    {50, 257, 19, 12}, {20, 1100, 40, 5}, {100, 15, 300, 1}, {31, 47, 1, 9},
};
#define SIZES (sizeof sizes / sizeof sizes[0])

static void test_fixed_sparsity(void **state) {
    size_t k;
    (void)state;
    for (k = (size_t)first_of(test_instance, 1); k < SIZES; k += (size_t)every(1)) {
        problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, k);
        shs_omp_options o = SHS_ZERO;
        shs_codes plain = new_codes(q.m, sizes[k].s), expected;
        o.sparsity = sizes[k].s;
        assert_all_forms(&q, &o);
        expected = naive_codes(&q, &o);
        assert_ok(shs_omp(NULL, q.p, q.n, q.D, q.m, q.Y, sizes[k].s, &plain));
        assert_same_codes(&plain, &expected, q.m, SAME);
        shs_codes_free(NULL, &plain);
        shs_codes_free(NULL, &expected);
        problem_free(&q);
    }
}

/* Tolerances that the Gram forms may decide too: well above 1e-2 |y|. */
static void test_tolerance(void **state) {
    size_t k;
    (void)state;
    for (k = (size_t)first_of(test_instance, 1); k < SIZES; k += (size_t)every(1)) {
        problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 100 + k);
        shs_omp_options o = SHS_ZERO;
        o.tolerance = (shs_real)(0.6 * sqrt(sizes[k].p));
        assert_all_forms(&q, &o);
        o.sparsity = (sizes[k].s + 1) / 2;
        assert_all_forms(&q, &o);
        problem_free(&q);
    }
}

static void test_limits_each(void **state) {
    size_t k, i;
    (void)state;
    for (k = (size_t)first_of(test_instance, 1); k < SIZES; k += (size_t)every(1)) {
        problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 250 + k);
        int *sparsity = (int *)malloc(q.m * sizeof *sparsity);
        shs_real *tolerance = (shs_real *)malloc(q.m * sizeof *tolerance);
        shs_omp_options o = SHS_ZERO;
        for (i = 0; i < q.m; i++) {
            sparsity[i] = (int)(i % (size_t)(sizes[k].s + 1));
            tolerance[i] = (shs_real)(0.3 + 0.1 * (double)(i % 5)) * (shs_real)sqrt((double)q.norms2[i]);
        }
        o.sparsity_each = sparsity;
        assert_all_forms(&q, &o);
        o.tolerance_each = tolerance;
        assert_all_forms(&q, &o);
        o.sparsity_each = NULL;
        assert_all_forms(&q, &o);
        o.sparsity = sizes[k].s;
        assert_all_forms(&q, &o);
        free(sparsity);
        free(tolerance);
        problem_free(&q);
    }
}

/* A sparsity above min(p, n) or, by default, above the stride means as many as fit. */
static void test_clamped_sparsity(void **state) {
    problem wide = random_problem(6, 30, 10, 7), tall = random_problem(30, 6, 10, 8);
    shs_omp_options o = SHS_ZERO;
    shs_codes codes = new_codes(10, 6), few = new_codes(10, 4), expected;
    (void)state;
    o.sparsity = 1000;
    assert_all_forms(&tall, &o);
    assert_ok(shs_omp(NULL, 30, 6, tall.D, 10, tall.Y, 1000, &codes));
    assert_int_equal(shs_codes_nonzeros(&codes), 60);
    assert_ok(shs_omp(NULL, 6, 30, wide.D, 10, wide.Y, 1000, &codes));
    assert_in_range(shs_codes_nonzeros(&codes), 50, 60);
    o.sparsity = 0;
    assert_ok(shs_omp_ex(NULL, 6, 30, wide.D, 6, 10, wide.Y, 6, &o, &few, NULL, NULL));
    o.sparsity = 4;
    expected = naive_codes(&wide, &o);
    assert_same_codes(&few, &expected, 10, SAME);
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &few), shs_codes_free(NULL, &expected);
    problem_free(&wide);
    problem_free(&tall);
}

/* The codes are the same, to the last bit, whatever else is asked for and however wide they are: with few signals too, where it
   is a matter of operations whether there is a Gram matrix. */
static void test_outputs_change_nothing(void **state) {
    size_t m;
    int form, how;
    (void)state;
    for (m = 1; m < 90; m += m < 10 ? 1 : 13)
        for (form = 0; form < 3; form++) {
            problem q = random_problem(20, 45, m, 340 + m);
            shs_codes codes[4];
            shs_real *errors2 = (shs_real *)malloc(m * sizeof *errors2);
            shs_omp_report report;
            shs_omp_options o = SHS_ZERO;
            if (form) o.tolerance = (shs_real)(form == 1 ? 3 : 2.5);
            if (form != 1) o.sparsity = 7;
            for (how = 0; how < 4; how++) {
                const int strides[] = {20, 31, 19, form == 1 ? 9 : 7};
                codes[how] = new_codes(m, strides[how]);
                assert_ok(shs_omp_ex(NULL, q.p, q.n, q.D, q.p, m, q.Y, q.p, &o, codes + how, how == 1 ? errors2 : NULL,
                                     how == 2 ? &report : NULL));
                assert_identical_codes(codes + how, codes, m);
            }
            for (how = 0; how < 4; how++) shs_codes_free(NULL, codes + how);
            free(errors2);
            problem_free(&q);
        }
}

static void test_defaults(void **state) {
    shs_omp_options o = shs_omp_defaults(64, 256), large = shs_omp_defaults(5000, 2000);
    (void)state;
    assert_int_equal(o.sparsity, 64);
    assert_close(o.tolerance, 0, 0);
    assert_int_equal(o.signals_per_group, 128);
    assert_null(o.gram);
    assert_null(o.sparsity_each);
    assert_null(o.tolerance_each);
    assert_int_equal(large.sparsity, 2000);
    assert_int_equal(large.signals_per_group, 32);
}

/* What omp_ex reports is what its codes give. */
static void test_report(void **state) {
    problem q = random_problem(40, 90, 70, 300);
    shs_codes codes = new_codes(q.m, 40);
    shs_real *errors2 = (shs_real *)malloc(q.m * sizeof *errors2);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    double sum2 = 0;
    size_t i, not_reached = 0;
    (void)state;
    o.sparsity = 9;
    o.tolerance = (shs_real)3.2;
    assert_ok(shs_omp_ex(NULL, q.p, q.n, q.D, q.p, q.m, q.Y, q.p, &o, &codes, errors2, &report));
    for (i = 0; i < q.m; i++) {
        double e = error2_of(&q, &codes, i);
        assert_close(errors2[i], e, BY_TYPE(1e-5, 1e-12) * (double)q.norms2[i]);
        sum2 += e;
        not_reached += sqrt(e) > (double)o.tolerance;
    }
    assert_in_range(not_reached, 1, q.m - 1); /* else this test would show nothing */
    assert_int_equal(report.not_reached, not_reached);
    assert_int_equal(report.nonzeros, shs_codes_nonzeros(&codes));
    assert_close(report.sum2, sum2, BY_TYPE(1e-5, 1e-12) * sum2);
    assert_close(report.rmse, sqrt(sum2 / (40 * 70)), BY_TYPE(1e-5, 1e-12));
    free(errors2);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Signals that three atoms explain completely. The residual is rounding, and no form may report a larger error. */
static void test_report_of_nothing_left(void **state) {
    problem atoms = random_problem(40, 90, 30, 305), q;
    shs_real *Y = (shs_real *)calloc(40 * 30, sizeof *Y), *D = (shs_real *)malloc(40 * 90 * sizeof *D);
    shs_real *errors2 = (shs_real *)malloc(30 * sizeof *errors2);
    shs_codes codes = new_codes(30, 8);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    size_t i, k;
    int mode;
    (void)state;
    memcpy(D, atoms.D, 40 * 90 * sizeof *D);
    for (i = 0; i < 30; i++)
        for (k = 0; k < 40; k++) Y[40 * i + k] = 3 * D[40 * i + k] - 2 * D[40 * (i + 30) + k] + D[40 * (i + 60) + k];
    q = problem_of(40, 90, 30, D, Y);
    o.sparsity = 8;
    for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++) {
        o.gram_mode = (shs_gram_mode)mode;
        assert_ok(shs_omp_ex(NULL, 40, 90, D, 40, 30, Y, 40, &o, &codes, errors2, &report));
        for (i = 0; i < 30; i++) {
            double e = error2_of(&q, &codes, i);
            if (e > 1e-10) continue; /* the pursuit went astray, and eight atoms were not enough */
            if (!((double)errors2[i] < 1e-10))
                fail_msg("mode %d, signal %d: |r|^2 is %g, reported %g", mode, (int)i, e, (double)errors2[i]);
        }
    }
    free(errors2);
    shs_codes_free(NULL, &codes);
    problem_free(&atoms);
    problem_free(&q);
}

/* The error that the single-signal forms report. */
static void test_one_error(void **state) {
    problem q = random_problem(40, 90, 30, 310);
    size_t size = shs_omp_one_workspace(90, LIMITS(40, 0)), direct_size = shs_omp_one_direct_workspace(40, 90, LIMITS(40, 0)),
           i;
    void *workspace = malloc(size), *direct = malloc(direct_size);
    shs_codes c = new_codes(1, 40);
    shs_real error2;
    double naive2;
    (void)state;
    for (i = 0; i < q.m; i++) {
        problem one = q;
        double y2 = (double)q.norms2[i];
        one.Y = q.Y + i * 40;
        assert_ok(shs_omp_one(90, q.gram, 90, q.dty + i * 90, q.norms2[i], LIMITS(40, (shs_real)(0.2 * sqrt(y2))), workspace,
                              size, c.atoms, c.coefs, c.used, &error2));
        assert_close(error2, error2_of(&one, &c, 0), BY_TYPE(1e-4, 1e-12) * y2);
        assert_ok(
            shs_omp_one_direct(40, 90, q.D, 40, one.Y, LIMITS(9, 0), direct, direct_size, c.atoms, c.coefs, c.used, &error2));
        assert_close(error2, error2_of(&one, &c, 0), BY_TYPE(1e-5, 1e-12) * y2);
        c.used[0] = naive_omp(40, 90, q.D, one.Y, 9, c.atoms, c.coefs, &naive2);
        assert_close(naive2, error2_of(&one, &c, 0), BY_TYPE(1e-6, 1e-12) * y2);
    }
    free(workspace);
    free(direct);
    shs_codes_free(NULL, &c);
    problem_free(&q);
}

/* ---- real data --------------------------------------------------------------------------------------------------- */

static shs_real *to_real(size_t count, float *x) {
    shs_real *y = (shs_real *)malloc(count * sizeof *y);
    size_t i;
    assert_non_null(y);
    for (i = 0; i < count; i++) y[i] = (shs_real)x[i];
    free(x);
    return y;
}

static shs_real *golden_atoms(void) {
    shs_real *D = to_real(64 * 128, read_f32_or_skip(golden_path("ksvd_atoms_64x128.f32"), 64 * 128));
    normalise(64, 128, D);
    return D;
}

static void test_golden_codes(void **state) {
    shs_real *D = golden_atoms(), *Y = to_real(64 * 512, read_f32_or_skip(golden_path("ksvd_signals_64x4096.f32"), 64 * 512));
    FILE *f = open_or_skip(golden_path("omp_codes_s6_first512.csv"));
    problem q = problem_of(64, 128, 512, D, Y);
    size_t *start = (size_t *)malloc(513 * sizeof *start);
    int *row = (int *)malloc(512 * 6 * sizeof *row), form;
    shs_real *value = (shs_real *)malloc(512 * 6 * sizeof *value);
    shs_omp_options o = SHS_ZERO;
    (void)state;
    o.sparsity = 6;
    for (form = 0; form < FORMS; form++) {
        shs_codes codes = new_codes(512, 64);
        int signal, atom;
        double coefficient;
        size_t at = 0;
        assert_ok(forms[form](&q, &o, &codes));
        assert_int_equal(shs_codes_nonzeros(&codes), 512 * 6);
        assert_ok(shs_codes_to_csc(&codes, start, row, value));
        rewind(f);
        while (fscanf(f, "%d,%d,%lf", &signal, &atom, &coefficient) == 3) {
            assert_in_range(at, start[signal], start[signal + 1] - 1);
            assert_int_equal(row[at], atom);
            assert_close(value[at], coefficient, BY_TYPE(1e-5, 1e-9));
            at++;
        }
        assert_int_equal(at, 512 * 6);
        shs_codes_free(NULL, &codes);
    }
    fclose(f);
    free(start);
    free(row);
    free(value);
    problem_free(&q);
}

/* Compares with codes of other systems (see their README). Only signals with a clear choice and a clear end in this precision
   count, and at least `least` signals must count. known: use only the forms that know the signals. */
static void check_golden(const problem *q, const char *name, const char *leads_name, int column, int tolerance_column,
                         const shs_omp_options *options, size_t least, int known) {
    const size_t m = q->m;
    char path[64], line[1024];
    int *clear = (int *)calloc(m, sizeof *clear), *count = (int *)calloc(m, sizeof *count), form, kinds = FORMS, checked = 0;
    shs_omp_options o = *options;
    FILE *leads, *f;
    size_t i;
    snprintf(path, sizeof path, "variants/%s", leads_name);
    leads = open_or_skip(golden_path(path));
    assert_non_null(fgets(line, sizeof line, leads));
    while (fgets(line, sizeof line, leads)) {
        char *p = line;
        int signal = atoi(line), k;
        clear[signal] = 1;
        for (k = 0; k <= (column > tolerance_column ? column : tolerance_column); k++) {
            if ((k == column || k == tolerance_column) && k > 0 && !(strtod(p, NULL) > BY_TYPE(1e-3, 1e-8))) clear[signal] = 0;
            p = strchr(p, ',') ? strchr(p, ',') + 1 : p;
        }
        checked += clear[signal];
    }
    fclose(leads);
    assert_in_range(checked, least, m);
    snprintf(path, sizeof path, "variants/%s", name);
    f = open_or_skip(golden_path(path));
    if (o.groups) kinds = FORMS_OF_MANY;
    if (o.mask) kinds = 3;
    for (form = first_of(test_instance, 1); form < kinds; form += every(1)) {
        shs_codes codes;
        int signal, order, atom, k;
        double coefficient;
        if (known && (forms[form] == form_gram || forms[form] == form_one)) continue;
        codes = new_codes(m, 64);
        assert_ok(forms[form](q, &o, &codes));
        memset(count, 0, m * sizeof *count);
        rewind(f);
        assert_non_null(fgets(line, sizeof line, f));
        while (fscanf(f, "%d,%d,%d,%lf", &signal, &order, &atom, &coefficient) == 4) {
            const size_t at = (size_t)signal * 64;
            if (!clear[signal]) continue;
            for (k = 0; k < codes.used[signal] && codes.atoms[at + (size_t)k] != atom;) k++;
            if (k == codes.used[signal] || (order >= 0 && k != order))
                fail_msg("form %d, signal %d: atom %d", form, signal, atom);
            assert_close(codes.coefs[at + (size_t)k], coefficient, BY_TYPE(1e-4, 1e-9));
            count[signal]++;
        }
        for (i = 0; i < m; i++)
            if (clear[i]) assert_int_equal(codes.used[i], count[i]);
        shs_codes_free(NULL, &codes);
    }
    fclose(f);
    free(clear);
    free(count);
}

static void check_golden_selection(const problem *q, const char *name, int column, int tolerance_column,
                                   shs_selection selection, int sparsity, double tolerance) {
    shs_omp_options o = SHS_ZERO;
    o.sparsity = sparsity;
    o.tolerance = (shs_real)tolerance;
    o.selection = selection;
    check_golden(q, name, "leads.csv", column, tolerance_column, &o, 900, 0);
}

static void test_golden_ols(void **state) {
    shs_real *D = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128);
    problem q = problem_of(64, 128, 1024, D, read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * 1024));
    (void)state;
    check_golden_selection(&q, "ols_s4.csv", 2, 0, SHS_SELECT_OLS, 4, 0);
    check_golden_selection(&q, "ols_s8.csv", 3, 0, SHS_SELECT_OLS, 8, 0);
    check_golden_selection(&q, "ols_err016.csv", 5, 13, SHS_SELECT_OLS, 16, 0.16);
    check_golden_selection(&q, "omp_err016.csv", 4, 12, SHS_SELECT_OMP, 16, 0.16);
    problem_free(&q);
}

/* Nonnegative codes of spectra that are alike (cosines up to 0.9997) and of patches. */
static void test_golden_nonnegative(void **state) {
    shs_real *D = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128), *Y;
    problem q = problem_of(64, 128, 256, D, read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * 256));
    shs_omp_options o = SHS_ZERO;
    (void)state;
    o.nonnegative = 1;
    o.sparsity = 4;
    check_golden(&q, "nnomp_s4.csv", "nnomp_s4_leads.csv", 1, 0, &o, 224, 0);
    problem_free(&q);
    D = read_f64_or_skip(golden_path("variants/D0pos_64x128.f64"), 64 * 128);
    Y = read_f64_or_skip(golden_path("variants/Ypos_64x256.f64"), 64 * 256);
    q = problem_of(64, 128, 256, D, Y);
    check_golden(&q, "nnomp_pos_s4.csv", "nnomp_pos_s4_leads.csv", 1, 0, &o, BY_TYPE(80, 256), BY_TYPE(1, 0));
    o.sparsity = 8;
    check_golden(&q, "nnomp_pos_s8.csv", "nnomp_pos_s8_leads.csv", 1, 0, &o, BY_TYPE(80, 256), BY_TYPE(1, 0));
    problem_free(&q);
}

/* Nonnegative codes in every form, against the naive twin; no coefficient is below 0, and none that is 0 would lower the
   residual by growing. */
static void test_nonnegative(void **state) {
    size_t k, i;
    (void)state;
    for (k = (size_t)first_of(test_instance, 1); k < SIZES; k += (size_t)every(1)) {
        problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 700 + k);
        int most = q.p < q.n ? q.p : q.n, j, l, r;
        shs_codes codes = new_codes(q.m, most);
        shs_omp_options o = SHS_ZERO;
        shs_omp_report report;
        shs_real *errors2 = (shs_real *)malloc(q.m * sizeof *errors2);
        o.nonnegative = 1;
        o.sparsity = sizes[k].s;
        assert_all_forms(&q, &o);
        for (o.gram_mode = SHS_GRAM_ALWAYS; o.gram_mode <= SHS_GRAM_NEVER; o.gram_mode = (shs_gram_mode)(o.gram_mode + 1)) {
            assert_ok(shs_omp_ex(NULL, q.p, q.n, q.D, q.p, q.m, q.Y, q.p, &o, &codes, errors2, &report));
            for (i = 0; i < q.m; i++) {
                const double norm2 = inner(q.p, signal_of(&q, i), signal_of(&q, i)), error2 = error2_of(&q, &codes, i);
                assert_close(errors2[i], error2, BY_TYPE(1e-6, 1e-13) * norm2);
                for (j = 0; j < codes.used[i]; j++) {
                    const shs_real x = codes.coefs[i * (size_t)most + (size_t)j],
                                   *atom = q.D + codes.atoms[i * (size_t)most + (size_t)j] * q.p;
                    double slope = inner(q.p, atom, signal_of(&q, i));
                    assert_true(x >= 0);
                    for (l = 0; l < codes.used[i]; l++)
                        slope -= (double)codes.coefs[i * (size_t)most + (size_t)l] *
                                 inner(q.p, atom, q.D + codes.atoms[i * (size_t)most + (size_t)l] * q.p);
                    r = slope <= BY_TYPE(1e-4, 1e-11) * sqrt(norm2) &&
                        (!(x > 0) || slope >= -BY_TYPE(1e-4, 1e-11) * sqrt(norm2));
                    if (!r) fail_msg("size %d, signal %d, atom %d: x = %g, slope %g", (int)k, (int)i, j, (double)x, slope);
                }
            }
        }
        o.gram_mode = SHS_GRAM_AUTO;
        o.tolerance = (shs_real)(0.7 * sqrt(sizes[k].p));
        assert_all_forms(&q, &o);
        shs_codes_free(NULL, &codes);
        free(errors2);
        problem_free(&q);
    }
}

/* Codes of signals with missing values, and the errors at the known values. */
static void test_golden_mask(void **state) {
    enum { m = 1024 };
    shs_real *D = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128), *tolerances;
    problem q = problem_of(64, 128, m, D, read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * m));
    unsigned char *mask = (unsigned char *)malloc(64 * m);
    FILE *f = open_or_skip(golden_path("variants/mask_64x1024.u8"));
    shs_codes codes = new_codes(m, 4);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    size_t i, l;
    (void)state;
    tolerances = (shs_real *)calloc(m, sizeof *tolerances);
    assert_int_equal(fread(mask, 1, 64 * m, f), 64 * m);
    fclose(f);
    for (i = 0; i < m; i++) {
        for (l = 0; l < 64; l++) tolerances[i] += mask[64 * i + l];
        tolerances[i] = (shs_real)(0.02 * sqrt((double)tolerances[i]));
    }
    o.mask = mask;
    o.ldm = 64;
    o.sparsity = 4;
    check_golden(&q, "omp_mask_s4.csv", "leads.csv", 6, 0, &o, 900, 0);
    assert_ok(shs_omp_ex(NULL, 64, 128, D, 64, m, q.Y, 64, &o, &codes, NULL, &report));
    assert_close(report.rmse, 0.035071068201183185, BY_TYPE(2e-5, 1e-12));
    o.selection = SHS_SELECT_OLS;
    check_golden(&q, "ols_mask_s4.csv", "leads.csv", 8, 0, &o, 900, 0);
    assert_ok(shs_omp_ex(NULL, 64, 128, D, 64, m, q.Y, 64, &o, &codes, NULL, &report));
    assert_close(report.rmse, 0.0342297803, BY_TYPE(2e-5, 1e-10));
    o.sparsity = 16;
    o.tolerance_each = tolerances;
    check_golden(&q, "ols_mask_err002.csv", "leads.csv", 9, 15, &o, 900, 0);
    o.selection = SHS_SELECT_OMP;
    check_golden(&q, "omp_mask_err002.csv", "leads.csv", 7, 14, &o, 900, 0);
    shs_codes_free(NULL, &codes);
    free(mask);
    free(tolerances);
    problem_free(&q);
}

/* A pursuit under weights is one of signals and atoms times their roots, where the rule compares atoms as if of unit norm. */
static shs_wide unit_omp(shs_wide alpha, shs_wide gjj, shs_wide d2) {
    (void)d2;
    return gjj > 0 ? alpha * alpha / gjj : 0;
}

static void check_weighted(const problem *q, const shs_omp_options *o, const shs_real *v) {
    const size_t P = (size_t)q->p, N = (size_t)q->n;
    const int most = q->p < q->n ? q->p : q->n;
    shs_codes codes = new_codes(q->m, most), one = new_codes(1, most);
    shs_real *D = (shs_real *)malloc(P * N * sizeof *D), *y = (shs_real *)malloc(P * sizeof *y);
    shs_real *errors2 = (shs_real *)malloc(q->m * sizeof *errors2);
    naive_rule rule = {o->sparsity, o->tolerance, unit_omp};
    size_t i, j, l;
    if (o->selection == SHS_SELECT_OLS) rule.score = naive_ols;
    assert_ok(shs_omp_ex(NULL, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, &codes, errors2, NULL));
    check_unused_slots(&codes, q->m);
    for (i = 0; i < q->m; i++) {
        shs_codes mine = codes;
        double error2, norm2 = 0, present = 0;
        for (l = 0; l < P; l++) {
            const double root = sqrt((double)v[i * P + l]);
            for (j = 0; j < N; j++) D[j * P + l] = (shs_real)(root * (double)q->D[j * P + l]);
            y[l] = root > 0 ? (shs_real)(root * (double)q->Y[i * P + l]) : 0;
            norm2 += (double)y[l] * (double)y[l];
            present += root > 0;
        }
        if (o->sparsity >= present) continue; /* the last atom that fits leaves nothing: all tie */
        one.used[0] = naive_pursuit(q->p, q->n, D, y, &rule, one.atoms, one.coefs, &error2);
        mine.m = 1;
        mine.used += i;
        mine.atoms += i * (size_t)most;
        mine.coefs += i * (size_t)most;
        assert_same_codes(&mine, &one, 1, SAME);
        assert_close(errors2[i], error2, BY_TYPE(1e-5, 1e-12) * norm2);
    }
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &one);
    free(D);
    free(y);
    free(errors2);
}

static void test_weights(void **state) {
    size_t k, i;
    (void)state;
    for (k = 5 + (size_t)first_of(test_instance, 1); k < SIZES; k += (size_t)every(1)) {
        problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 900 + k);
        const size_t cells = (size_t)q.p * q.m;
        shs_real *weights = (shs_real *)malloc(cells * sizeof *weights), *both = (shs_real *)malloc(cells * sizeof *both);
        unsigned char *mask = (unsigned char *)malloc(cells);
        shs_omp_options o = SHS_ZERO;
        shs_random r;
        int how;
        shs_random_seed(&r, k);
        o.sparsity = sizes[k].s < sizes[k].p / 2 ? sizes[k].s : sizes[k].p / 2;
        for (how = 0; how < 8; how++) { /* a mask, weights, weights of all signals, mask and weights with NaN where none is */
            const int kind = how % 4;
            for (i = 0; i < cells; i++) {
                mask[i] = kind == 1 || shs_random_uniform(&r) < (shs_wide)0.7 ? (unsigned char)(1 + i % 255) : 0;
                weights[i] = kind == 2 && i >= (size_t)q.p ? weights[i % (size_t)q.p]
                                                           : (shs_real)(0.1 + 4 * (double)shs_random_uniform(&r));
                if (kind == 1 && i % 7 == 0) weights[i] = 0;
                both[i] = (kind == 0 || mask[i] ? 1 : 0) * (kind == 0 ? (shs_real)(mask[i] != 0) : weights[i]);
                if (kind == 2) both[i] = weights[i];
                if (kind == 3 && !mask[i]) q.Y[i] = (shs_real)NAN;
            }
            o.mask = kind == 0 || (kind == 3 && how < 4) ? mask : NULL;
            o.ldm = q.p;
            o.skip_nan = kind == 3 && how > 4;
            o.weights = kind ? weights : NULL;
            o.ldw = kind == 2 ? 0 : q.p;
            o.selection = how < 4 ? SHS_SELECT_OMP : SHS_SELECT_OLS;
            o.tolerance = 0;
            check_weighted(&q, &o, both);
            o.tolerance = (shs_real)(0.6 * sqrt(sizes[k].p));
            check_weighted(&q, &o, both);
            if (kind == 3) fill_normal(cells, q.Y, 1900 + k);
        }
        free(weights);
        free(both);
        free(mask);
        problem_free(&q);
    }
}

/* Only the ratios of weights matter: of weights as large or as small as the type has, the codes are the same to the last bit,
   and the errors are in their unit, infinite where no number of the type is. */
static void test_weights_of_any_size(void **state) {
    enum { P = 12, N = 30, M = 40 };
    const int most = sizeof(shs_real) > sizeof(float) ? 500 : 60;
    problem q = random_problem(P, N, M, 910);
    shs_real v[P * M], scaled[P * M], errors2[M], expected2[M];
    shs_codes codes = new_codes(M, 5), expected = new_codes(M, 5);
    shs_omp_options o = SHS_ZERO;
    size_t i;
    int k, kind;
    (void)state;
    for (i = 0; i < P * M; i++) {
        q.Y[i] = (shs_real)ldexp((double)q.Y[i], most);
        v[i] = (shs_real)(0.1 + (double)(i % 7));
    }
    o.sparsity = 5;
    o.ldw = P;
    for (kind = 0; kind < 4; kind++) {
        const double tolerance = kind & 1 ? ldexp(3, most) : 0;
        shs_omp_report report, first;
        o.selection = kind & 2 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
        o.weights = v;
        o.tolerance = (shs_real)tolerance;
        assert_ok(shs_omp_ex(NULL, P, N, q.D, P, M, q.Y, P, &o, &expected, expected2, &first));
        assert_true(first.nonzeros > M);
        for (k = -most; k <= most; k += most / 4) {
            for (i = 0; i < P * M; i++) scaled[i] = (shs_real)ldexp((double)v[i], 2 * k);
            o.weights = scaled;
            o.tolerance = (shs_real)ldexp(tolerance, k);
            assert_ok(shs_omp_ex(NULL, P, N, q.D, P, M, q.Y, P, &o, &codes, errors2, &report));
            assert_memory_equal(codes.used, expected.used, sizeof(int) * M);
            assert_memory_equal(codes.atoms, expected.atoms, sizeof(int) * 5 * M);
            assert_memory_equal(codes.coefs, expected.coefs, sizeof(shs_real) * 5 * M);
            assert_int_equal(report.not_reached, first.not_reached);
            for (i = 0; i < M; i++) {
                const shs_real error2 = (shs_real)ldexp((double)expected2[i], 2 * k);
                assert_true(isfinite(expected2[i]) && errors2[i] >= error2 && errors2[i] <= error2);
            }
        }
    }
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
    problem_free(&q);
}

/* Missing values do not count. A signal without known values is no error. */
static void test_missing_values(void **state) {
    enum { p = 9, n = 20, m = 40 };
    problem q = random_problem(p, n, m, 77);
    shs_codes codes = new_codes(m, 4), others = new_codes(m, 4);
    unsigned char mask[p * m];
    shs_real weights[p * m];
    shs_omp_options o = SHS_ZERO, plain = SHS_ZERO;
    shs_omp_report report;
    shs_ksvd_options learning = SHS_ZERO;
    size_t i;
    (void)state;
    for (i = 0; i < p * m; i++) {
        mask[i] = 1;
        weights[i] = 1;
    }
    plain.sparsity = o.sparsity = 4;
    plain.gram_mode = SHS_GRAM_NEVER;
    o.mask = mask;
    o.ldm = p;
    assert_ok(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, &report)); /* all there: as without a mask */
    assert_ok(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &plain, &others, NULL, NULL));
    assert_same_codes(&codes, &others, m, SAME);
    for (i = 0; i < p; i++) { /* nothing of signal 3 */
        mask[3 * p + i] = 0;
        q.Y[3 * p + i] = (shs_real)NAN;
    }
    for (i = 0; i < n; i++) q.D[p * i] = i == 7;                                 /* nothing of atom 7 is there for signal 5 */
    for (i = 1; i < p; i++) q.D[7 * p + i] = 0;
    mask[5 * p] = 0;
    q.Y[5 * p] = (shs_real)INFINITY;
    for (o.selection = SHS_SELECT_OMP; o.selection < SHS_SELECTION_COUNT; o.selection = (shs_selection)(o.selection + 1)) {
        int k;
        for (k = 0; k < 2; k++) {
            o.tolerance = k ? (shs_real)0.5 : 0;
            assert_ok(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, &report));
            assert_int_equal(codes.used[3], 0);
            assert_true(codes.used[5] > 0 && is_finite((double)report.rmse));
            for (i = 0; i < (size_t)codes.used[5]; i++) assert_int_not_equal(codes.atoms[5 * 4 + i], 7);
        }
    }
    o.selection = SHS_SELECT_OMP;
    spoil_codes(&codes);
    spoil_codes(&others);
    mask[5 * p] = 1; /* infinity that nothing covers; NaN is not missing unless asked for */
    assert_status(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, NULL), SHS_SIGNALS_NOT_FINITE);
    q.Y[5 * p] = (shs_real)NAN;
    assert_status(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, NULL), SHS_SIGNALS_NOT_FINITE);
    o.weights = weights;
    o.ldw = p;
    o.skip_nan = 1;
    for (i = 0; i < 3; i++) {
        if (i == 0) weights[p * m - 1] = -1;
        else if (i == 1) weights[p * m - 1] = (shs_real)NAN;
        else weights[p * m - 1] = (shs_real)INFINITY;
        assert_status(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, NULL), SHS_BAD_WEIGHTS);
    }
    weights[p * m - 1] = 1;
    o.ldw = p - 1;
    assert_status(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, NULL), SHS_BAD_WEIGHTS);
    o.ldw = p;
    o.ldm = p - 1;
    assert_status(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, NULL), SHS_BAD_WEIGHTS);
    assert_true(shs_omp_workspace(NULL, p, n, m, 4, &o) == SIZE_MAX);
    o.ldm = p;
    o.nonnegative = 1;
    assert_status(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, NULL), SHS_BAD_OPTIONS);
    o.nonnegative = 0;
    assert_status(form_gram(&q, &o, &codes), SHS_BAD_OPTIONS);
    assert_true(shs_omp_one_workspace(n, &o) == SIZE_MAX && shs_omp_one_direct_workspace(p, n, &o) == SIZE_MAX);
    assert_memory_equal(codes.used, others.used, m * sizeof *codes.used);
    assert_memory_equal(codes.coefs, others.coefs, m * 4 * sizeof *codes.coefs);
    learning.coding.skip_nan = 1; /* AK-SVD and SGK learn with them */
    learning.update = SHS_UPDATE_MOD;
    assert_status(shs_ksvd_ex(NULL, p, n, m, q.Y, p, &learning, q.D, p, NULL, NULL), SHS_BAD_OPTIONS);
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &others);
    problem_free(&q);
}

/* ---- signals that share their atoms ------------------------------------------------------------------------------ */

/* Starts of groups of `size` signals, or with 0 of every size up to 9 in turn. */
static size_t *new_groups(size_t m, size_t size, size_t *count) {
    size_t *groups = (size_t *)malloc((m + 1) * sizeof *groups), first;
    *count = 0;
    for (first = 0; first < m; first += size ? size : 1 + *count % 9) groups[(*count)++] = first;
    return groups;
}

static size_t group_end(const shs_omp_options *o, size_t m, size_t g) { return g + 1 < o->group_count ? o->groups[g + 1] : m; }

/* By the naive twin; the squared errors of the signals too, where asked for. */
static shs_codes naive_groups(const problem *q, const shs_omp_options *o, double *errors2) {
    const int most = q->p < q->n ? q->p : q->n;
    const size_t P = (size_t)q->p, S = (size_t)most;
    shs_codes c = new_codes(q->m, most);
    shs_wide *X = (shs_wide *)malloc((S * q->m + P * q->m + P * S + S * S) * sizeof *X), *E = X + S * q->m;
    size_t g, i, k;
    for (g = 0; g < o->group_count; g++) {
        const size_t first = o->groups[g], count = group_end(o, q->m, g) - first;
        const int s = sparsity_of(o, first, most);
        const shs_naive_rule rule = {s, (shs_wide)tolerance_of(o, first), naive_scores[o->selection]};
        const int used = shs_somp_naive(q->p, q->n, q->D, (ptrdiff_t)count, signal_of(q, first), &rule, c.atoms + first * S, X,
                                        E, E + P * q->m);
        for (i = 0; i < count; i++) {
            c.used[first + i] = used;
            for (k = 0; k < (size_t)used; k++) {
                c.atoms[(first + i) * S + k] = c.atoms[first * S + k];
                c.coefs[(first + i) * S + k] = (shs_real)X[i * (size_t)s + k];
            }
            if (errors2) {
                errors2[first + i] = 0;
                for (k = 0; k < P; k++)
                    errors2[first + i] += (double)E[i * P + k] * (double)E[i * P + k];
            }
        }
    }
    free(X);
    return c;
}

/* Signals of a group are compared by the largest coefficient of the group: one may be of little else. */
static void assert_same_groups(const problem *q, const shs_omp_options *o, const shs_codes *a, const shs_codes *b) {
    size_t g, i;
    int k;
    for (g = 0; g < o->group_count; g++) {
        const size_t first = o->groups[g], end = group_end(o, q->m, g);
        double largest = 0;
        for (i = first; i < end; i++)
            for (k = 0; k < b->used[i]; k++) largest = fmax(largest, fabs((double)b->coefs[i * (size_t)b->stride + (size_t)k]));
        for (i = first; i < end; i++) {
            if (a->used[i] != b->used[i]) fail_msg("signal %d has %d atoms, not %d", (int)i, a->used[i], b->used[i]);
            for (k = 0; k < b->used[i]; k++) {
                const size_t at = i * (size_t)a->stride + (size_t)k, bt = i * (size_t)b->stride + (size_t)k;
                if (a->atoms[at] != b->atoms[bt])
                    fail_msg("signal %d, step %d: %d, not %d", (int)i, k, a->atoms[at], b->atoms[bt]);
                assert_close(a->coefs[at], b->coefs[bt], SAME * largest);
            }
        }
    }
}

/* Every form of many signals against the twin; what is reported of each signal is what its coefficients leave; that is at right
   angles to the atoms, and within the tolerance of a group where the report does not say otherwise. */
static void check_groups(const problem *q, const shs_omp_options *o) {
    const int most = q->p < q->n ? q->p : q->n;
    double *naive2 = (double *)malloc(q->m * sizeof *naive2);
    shs_real *errors2 = (shs_real *)malloc(q->m * sizeof *errors2);
    shs_codes expected = naive_groups(q, o, naive2), codes = new_codes(q->m, most);
    shs_omp_report report;
    shs_omp_options own = *o;
    size_t i, g;
    int f, k, l;
    for (f = 0; f < FORMS_OF_MANY; f++) {
        spoil_codes(&codes);
        assert_ok(forms[f](q, o, &codes));
        assert_same_groups(q, o, &codes, &expected);
        check_unused_slots(&codes, q->m);
    }
    for (own.gram_mode = SHS_GRAM_ALWAYS; own.gram_mode <= SHS_GRAM_NEVER; own.gram_mode = (shs_gram_mode)(own.gram_mode + 1)) {
        size_t beyond = 0;
        double sum2 = 0, total = 0;
        assert_ok(shs_omp_ex(NULL, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, &own, &codes, errors2, &report));
        for (g = 0; g < o->group_count; g++) {
            double whole = 0, norm2 = 0;
            for (i = o->groups[g]; i < group_end(o, q->m, g); i++) {
                whole += error2_of(q, &codes, i);
                norm2 += (double)q->norms2[i];
            }
            beyond += tolerance_of(o, o->groups[g]) > 0 &&
                      whole > (double)tolerance_of(o, o->groups[g]) * (double)tolerance_of(o, o->groups[g]);
            sum2 += whole;
            total += norm2;
            for (i = o->groups[g]; i < group_end(o, q->m, g); i++) {
                const size_t at = i * (size_t)codes.stride;
                assert_close(errors2[i], error2_of(q, &codes, i), BY_TYPE(1e-5, 1e-12) * (double)q->norms2[i]);
                assert_close(errors2[i], naive2[i], BY_TYPE(1e-4, 1e-11) * norm2);
                for (k = 0; k < codes.used[i]; k++) {
                    const shs_real *atom = q->D + codes.atoms[at + (size_t)k] * q->p;
                    double slope = inner(q->p, atom, signal_of(q, i));
                    for (l = 0; l < codes.used[i]; l++)
                        slope -=
                            (double)codes.coefs[at + (size_t)l] * inner(q->p, atom, q->D + codes.atoms[at + (size_t)l] * q->p);
                    assert_close(slope, 0, BY_TYPE(1e-4, 1e-11) * sqrt(norm2));
                }
            }
        }
        assert_int_equal(report.not_reached, beyond);
        assert_close(report.sum2, sum2, BY_TYPE(1e-5, 1e-12) * total);
        assert_int_equal(report.nonzeros, shs_codes_nonzeros(&codes));
    }
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
    free(errors2);
    free(naive2);
}

static void test_golden_groups(void **state) {
    enum { m = 1024 };
    shs_real *D = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128);
    problem q = problem_of(64, 128, m, D, read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * m));
    static const struct {
        const char *name;
        int s, column;
        double rmse;
    } files[] = {{"somp_s4.csv", 4, 10, 0.054541893733171386}, {"somp_s8.csv", 8, 11, 0.043253414224576674}};
    shs_omp_options o = SHS_ZERO;
    size_t *groups;
    int k;
    (void)state;
    o.groups = groups = new_groups(m, 16, &o.group_count);
    o.selection = SHS_SELECT_OLS;
    for (k = 0; k < 2; k++) {
        shs_codes codes = new_codes(m, files[k].s);
        shs_omp_report report;
        o.sparsity = files[k].s;
        check_golden(&q, files[k].name, "leads.csv", files[k].column, 0, &o, BY_TYPE(900, m), 0);
        assert_ok(shs_omp_ex(NULL, 64, 128, D, 64, m, q.Y, 64, &o, &codes, NULL, &report));
        assert_close(report.rmse, files[k].rmse, BY_TYPE(1e-6, 1e-12));
        shs_codes_free(NULL, &codes);
    }
    free(groups);
    problem_free(&q);
}

static void test_simultaneous(void **state) {
    static const size_t shapes[] = {0, 1, 3, 1000}; /* signals a group: of each size, one, a few, all */
    size_t k, shape;
    int selection;
    (void)state;
    for (k = 2 + (size_t)first_of(test_instance, 3); k < SIZES; k += (size_t)every(3))
        for (shape = 0; shape < 4; shape++)
            for (selection = 0; selection < SHS_SELECTION_COUNT; selection++) {
                problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 1100 + k);
                shs_real *each = (shs_real *)malloc(q.m * sizeof *each);
                int *limits = (int *)malloc(q.m * sizeof *limits);
                shs_omp_options o = SHS_ZERO;
                size_t *groups, g, i;
                o.groups = groups = new_groups(q.m, shapes[shape], &o.group_count);
                o.selection = (shs_selection)selection;
                o.sparsity = sizes[k].s < sizes[k].p ? sizes[k].s : sizes[k].p - 1;
                check_groups(&q, &o);
                for (g = 0; g < o.group_count; g++) /* of a group, where its first signal is */
                    for (i = groups[g]; i < group_end(&o, q.m, g); i++) {
                        const double cells = (double)((size_t)q.p * (group_end(&o, q.m, g) - groups[g]));
                        each[i] = i > groups[g] ? 1000000 : (shs_real)(g % 5 == 4 ? 0 : 0.78 * sqrt(cells));
                        limits[i] = i > groups[g] || g % 7 == 3 ? 0 : 1 + (int)(g % 3) % o.sparsity;
                    }
                o.tolerance_each = each;
                check_groups(&q, &o);
                o.tolerance_each = NULL;
                o.sparsity_each = limits;
                check_groups(&q, &o);
                free(groups);
                free(each);
                free(limits);
                problem_free(&q);
            }
}

/* A group of one signal is coded like a signal, and a group of equal signals like one of them. */
static void test_groups_of_one_and_of_equals(void **state) {
    enum { p = 30, n = 70, m = 60 };
    problem one = random_problem(p, n, m, 1200), equal;
    shs_real *Y = (shs_real *)malloc(p * 5 * m * sizeof *Y), *D = (shs_real *)malloc(p * n * sizeof *D);
    shs_codes plain = new_codes(m, 8), alone = new_codes(m, 8), codes = new_codes(5 * m, 8);
    shs_omp_options o = SHS_ZERO, grouped;
    size_t i, count, *ones = new_groups(m, 1, &count), *fives = new_groups(5 * m, 5, &count);
    int selection, limited, f;
    (void)state;
    for (i = 0; i < 5 * m; i++) memcpy(Y + i * p, one.Y + i / 5 * p, p * sizeof *Y);
    memcpy(D, one.D, p * n * sizeof *D);
    equal = problem_of(p, n, 5 * m, D, Y);
    for (selection = 0; selection < SHS_SELECTION_COUNT; selection++)
        for (limited = 0; limited < 3; limited++)
            for (f = 0; f < FORMS_OF_MANY; f++) {
                if (limited == 2 && forms[f] == form_gram) continue; /* too small for it */
                o.selection = (shs_selection)selection;
                o.sparsity = 8;
                o.tolerance = limited ? 3 : 0;
                if (limited == 2) o.tolerance = (shs_real)BY_TYPE(1e-3, 1e-7);
                assert_ok(forms[f](&one, &o, &plain));
                grouped = o;
                grouped.groups = ones;
                grouped.group_count = m;
                assert_ok(forms[f](&one, &grouped, &alone));
                assert_same_codes(&alone, &plain, m, SAME);
                grouped.groups = fives;
                grouped.tolerance *= (shs_real)sqrt(5.0);
                assert_ok(forms[f](&equal, &grouped, &codes));
                for (i = 0; i < 5 * m; i++) {
                    shs_codes a = codes, b = plain;
                    a.used += i;
                    a.atoms += i * 8;
                    a.coefs += i * 8;
                    b.used += i / 5;
                    b.atoms += i / 5 * 8;
                    b.coefs += i / 5 * 8;
                    assert_same_codes(&a, &b, 1, SAME);
                }
            }
    shs_codes_free(NULL, &plain), shs_codes_free(NULL, &alone), shs_codes_free(NULL, &codes);
    free(ones);
    free(fives);
    problem_free(&one);
    problem_free(&equal);
}

/* Small tolerances: what is reported as reached is, of atoms as the signals are made of; signals of nothing among them. */
static void test_small_tolerances_of_groups(void **state) {
    enum { p = 40, n = 90, m = 48 };
    problem q = random_problem(p, n, m, 1300);
    shs_codes codes = new_codes(m, p);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    size_t *groups, i, k, g;
    int step, mode;
    (void)state;
    for (i = 0; i < m; i++) { /* signals 8 .. 15 share 5 atoms, and so on; one in 8 is zero */
        shs_random r;
        shs_random_seed(&r, i);
        memset(q.Y + i * p, 0, p * sizeof *q.Y);
        for (k = 0; k < 5 && i % 8; k++) {
            const shs_real x = (shs_real)shs_random_normal(&r);
            for (g = 0; g < p; g++) q.Y[i * p + g] += x * q.D[(i / 8 * 7 + k * 3) % n * p + g];
        }
    }
    o.groups = groups = new_groups(m, 8, &o.group_count);
    for (step = 1; step < 13; step++)
        for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++) {
            size_t beyond = 0;
            o.gram_mode = (shs_gram_mode)mode;
            o.selection = (shs_selection)(step % SHS_SELECTION_COUNT);
            o.tolerance = (shs_real)pow(10, -(double)step * BY_TYPE(0.5, 1));
            assert_ok(shs_omp_ex(NULL, p, n, q.D, p, m, q.Y, p, &o, &codes, NULL, &report));
            for (g = 0; g < o.group_count; g++) {
                double whole = 0;
                for (i = groups[g]; i < groups[g] + 8; i++) whole += error2_of(&q, &codes, i);
                beyond += sqrt(whole) > (double)o.tolerance;
                assert_in_range(codes.used[groups[g]], 1, p);
            }
            assert_true(beyond <= report.not_reached); /* what is said is true */
            if (o.tolerance > (shs_real)BY_TYPE(1e-4, 1e-11)) assert_int_equal(report.not_reached, 0);
        }
    shs_codes_free(NULL, &codes);
    free(groups);
    problem_free(&q);
}

/* Zero signals, alone and among others, and dictionaries of nothing. */
static void test_groups_of_nothing(void **state) {
    problem q = random_problem(9, 20, 12, 1400);
    shs_codes codes = new_codes(12, 4);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    size_t groups[] = {0, 4, 8}, i;
    int f, k;
    (void)state;
    for (i = 0; i < 9 * 4; i++) q.Y[i] = 0;     /* a group of nothing */
    for (i = 9 * 5; i < 9 * 7; i++) q.Y[i] = 0; /* nothing among others */
    q.norms2[0] = q.norms2[1] = q.norms2[2] = q.norms2[3] = q.norms2[5] = q.norms2[6] = 0;
    for (i = 0; i < 20 * 4; i++) q.dty[i] = 0;
    for (i = 20 * 5; i < 20 * 7; i++) q.dty[i] = 0;
    o.groups = groups;
    o.group_count = 3;
    o.sparsity = 4;
    for (f = 0; f < FORMS_OF_MANY; f++) {
        spoil_codes(&codes);
        assert_ok(forms[f](&q, &o, &codes));
        for (i = 0; i < 4; i++) assert_int_equal(codes.used[i], 0);
        for (i = 4; i < 12; i++) assert_int_equal(codes.used[i], 4);
        for (k = 0; k < 4; k++) assert_close(codes.coefs[5 * 4 + k], 0, 0);
        check_unused_slots(&codes, 12);
    }
    assert_ok(shs_omp_ex(NULL, 9, 20, q.D, 9, 0, NULL, 9, &(shs_omp_options){.groups = groups}, &codes, NULL, &report));
    assert_int_equal(report.nonzeros, 0);
    for (i = 0; i < 9 * 20; i++) q.D[i] = 0;
    assert_ok(shs_omp_ex(NULL, 9, 20, q.D, 9, 12, q.Y, 9, &o, &codes, NULL, &report));
    assert_int_equal(report.nonzeros, 0);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* An atom leaves: the first atom is the sum of two later atoms, so its coefficient falls to 0. */
static void test_atom_leaves(void **state) {
    const shs_real h = (shs_real)0.70710678118654752;
    shs_real *D = (shs_real *)calloc(9, sizeof *D), *Y = (shs_real *)calloc(3, sizeof *Y);
    problem q;
    shs_omp_options o = SHS_ZERO;
    int f, back;
    (void)state;
    D[0] = D[1] = h; /* (1 1 0), (1 0 .1), (0 1 .1) */
    D[3] = D[7] = 1;
    D[5] = D[8] = (shs_real)0.1;
    Y[0] = Y[1] = 1;
    Y[2] = (shs_real)0.2;
    q = problem_of(3, 3, 1, D, Y);
    o.nonnegative = 1;
    for (f = 0; f < FORMS; f++) {
        shs_codes codes = new_codes(1, 3);
        assert_ok(forms[f](&q, &o, &codes));
        assert_int_equal(codes.used[0], 3);
        assert_int_equal(codes.atoms[0], 0);
        assert_close(codes.coefs[0], 0, BY_TYPE(1e-4, 1e-12));
        for (back = 1; back < 3; back++) assert_close(codes.coefs[back], 1, BY_TYPE(1e-4, 1e-12));
        shs_codes_free(NULL, &codes);
    }
    for (f = 0; f < 3; f++) {
        q.Y[f] = -q.Y[f];
        q.dty[f] = -q.dty[f];
    }
    for (f = 0; f < FORMS; f++) { /* nothing correlates positively: no atom */
        shs_codes codes = new_codes(1, 3);
        assert_ok(forms[f](&q, &o, &codes));
        assert_int_equal(codes.used[0], 0);
        shs_codes_free(NULL, &codes);
    }
    problem_free(&q);
}

/* An atom chosen by rounding alone gets exactly the coefficient 0. The step from 0 to 0 used to divide 0 by 0. */
static void test_nothing_of_an_atom(void **state) {
    static const shs_real atoms[3][2] = {{-100, 0}, {100, -100}, {0, -100}};
    shs_real *D = (shs_real *)malloc(26 * sizeof *D), *Y = (shs_real *)malloc(2 * sizeof *Y);
    shs_codes codes = new_codes(1, 2);
    shs_omp_options o = SHS_ZERO;
    problem q;
    int i, f, k;
    (void)state;
    for (i = 0; i < 26; i++) D[i] = atoms[i / 2 % 3][i % 2];
    Y[0] = (shs_real)-0.001;
    Y[1] = 0;
    q = problem_of(2, 13, 1, D, Y);
    o.nonnegative = 1;
    for (f = 0; f < FORMS_OF_MANY; f++) {
        assert_ok(forms[f](&q, &o, &codes));
        for (k = 0; k < codes.used[0]; k++) assert_true(codes.coefs[k] >= 0 && codes.coefs[k] < 1);
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Pursuit passes over atoms with squares of 0: their coefficients, 1 / length, would overflow. */
static void test_nonnegative_of_tiny_atoms(void **state) {
    enum { P = 6, N = 9, M = 20 };
    problem q = random_problem(P, N, M, 470);
    shs_omp_options o = SHS_ZERO;
    size_t i;
    int f, k;
    (void)state;
    for (i = 0; i < P * N; i++)
        if (i / P % 3 != 1) q.D[i] = (shs_real)fabs((double)q.D[i]) * (shs_real)BY_TYPE(1e-38, 1e-300);
        else q.D[i] = -(shs_real)fabs((double)q.D[i]); /* signals above 0 correlate with tiny atoms alone */
    for (i = 0; i < P * M; i++) q.Y[i] = (shs_real)fabs((double)q.Y[i]) * (i / P % 2 ? -1000 : 1000);
    free(q.gram);
    free(q.dty);
    free(q.norms2);
    q = problem_of(P, N, M, q.D, q.Y);
    o.nonnegative = 1;
    o.sparsity = P;
    for (f = 0; f < FORMS; f++) {
        shs_codes codes = new_codes(M, P);
        assert_ok(forms[f](&q, &o, &codes));
        for (i = 0; i < M; i++) {
            assert_true(i % 2 ? codes.used[i] > 0 : codes.used[i] == 0);
            for (k = 0; k < codes.used[i]; k++) {
                assert_int_equal(codes.atoms[P * i + (size_t)k] % 3, 1);
                assert_true((double)codes.coefs[P * i + (size_t)k] < 1e5);
            }
        }
        shs_codes_free(NULL, &codes);
    }
    problem_free(&q);
}

/* No form chooses atoms whose squared length is subnormal: coefficients would have a few bits. */
static void test_subnormal_lengths(void **state) {
    enum { P = 12, N = 6, M = 30 };
    static const double lengths[] = {BY_TYPE(1e-20, 1e-155), BY_TYPE(1e-21, 1e-158), BY_TYPE(1e-22, 1e-160)};
    static unsigned char mask[P * M];
    shs_real weights[P];
    int t, f, i, k;
    (void)state;
    for (i = 0; i < P; i++) weights[i] = 1;
    memset(mask, 1, sizeof mask);
    for (t = 0; t < 3; t++) {
        problem q = random_problem(P, N, M, 480);
        for (i = 0; i < P; i++) q.D[P + i] *= (shs_real)lengths[t];
        for (f = 0; f < BY_ENGINE(12, 4); f++) { /* devices do not take what follows OLS */
            shs_codes codes = new_codes(M, N);
            shs_omp_options o = SHS_ZERO;
            o.sparsity = N;
            o.gram_mode = f & 1 ? SHS_GRAM_NEVER : SHS_GRAM_ALWAYS;
            if (f / 2 == 1) o.selection = SHS_SELECT_OLS;
            if (f / 2 == 2) o.weights = weights;
            if (f / 2 == 3) o.mask = mask;
            if (f / 2 == 3) o.ldm = P;
            if (f / 2 == 4) o.nonnegative = 1;
            if (f / 2 == 5) o.method = SHS_METHOD_SUBSPACE;
            assert_ok(shs_omp_ex(NULL, P, N, q.D, P, M, q.Y, P, &o, &codes, NULL, NULL));
            for (i = 0; i < M; i++)
                for (k = 0; k < codes.used[i]; k++)
                    if (codes.atoms[N * i + k] == 1)
                        fail_msg("length %g, form %d: signal %d has the atom, not only others", lengths[t], f, i);
            shs_codes_free(NULL, &codes);
        }
        problem_free(&q);
    }
}

/* Not with OLS's rule; not in learning. */
static void test_nonnegative_is_alone(void **state) {
    problem q = random_problem(5, 7, 9, 1);
    shs_codes codes = new_codes(9, 5);
    shs_omp_options o = SHS_ZERO;
    shs_ksvd_options learning = SHS_ZERO;
    (void)state;
    o.nonnegative = 1;
    o.selection = SHS_SELECT_OLS;
    assert_status(form_auto(&q, &o, &codes), SHS_BAD_OPTIONS);
    assert_status(form_one(&q, &o, &codes), SHS_BAD_OPTIONS);
    learning.coding.nonnegative = 1;
    assert_status(shs_ksvd_ex(NULL, q.p, q.n, q.m, q.Y, q.p, &learning, q.D, q.p, NULL, NULL), SHS_BAD_OPTIONS);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* Every rule of choice in every form, against its naive twin. */
static void test_selections(void **state) {
    size_t k;
    int selection;
    (void)state;
    for (selection = 1; selection < SHS_SELECTION_COUNT; selection++)
        for (k = (size_t)first_of(test_instance, 1); k < SIZES; k += (size_t)every(1)) {
            problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 500 + k);
            shs_omp_options o = SHS_ZERO;
            o.selection = (shs_selection)selection;
            o.sparsity = sizes[k].s < sizes[k].p
                             ? sizes[k].s
                             : sizes[k].p - 1; /* of the last that fits each atom leaves nothing: they tie */
            if (o.sparsity > 0) assert_all_forms(&q, &o);
            o.tolerance = (shs_real)(0.6 * sqrt(sizes[k].p));
            if (o.sparsity > 0) assert_all_forms(&q, &o);
            problem_free(&q);
        }
}

/* Pursuit passes over atoms that depend on chosen atoms: a second copy of an atom, and a combination of two atoms. */
static void test_dependent_candidates(void **state) {
    shs_real D[4 * 5] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, (shs_real)0.8, (shs_real)0.6, 0, 0, 0, 0, 0, 1};
    problem q = problem_of(4, 5, 1, new_normal(20, 1), new_normal(4, 2));
    shs_omp_options o = SHS_ZERO;
    int f;
    (void)state;
    memcpy(q.D, D, sizeof D);
    q.Y[0] = 3;
    q.Y[1] = 2;
    q.Y[2] = 0;
    q.Y[3] = (shs_real)1e-3;
    {
        shs_real *d = q.D, *y = q.Y;
        free(q.gram);
        free(q.dty);
        free(q.norms2);
        q = problem_of(4, 5, 1, d, y);
    }
    o.selection = SHS_SELECT_OLS;
    o.sparsity = 4;
    for (f = 0; f < FORMS; f++) {
        shs_codes codes = new_codes(1, 4);
        assert_ok(forms[f](&q, &o, &codes));
        assert_int_equal(codes.used[0], 3);
        assert_int_equal(codes.atoms[2], 4);
        assert_close(codes.coefs[2], 1e-3, 1e-8);
        shs_codes_free(NULL, &codes);
    }
    problem_free(&q);
}

/* The reported errors belong to the codes: the error of each signal, and the number of signals or groups above the tolerance.
   */
static void check_told(const problem *q, const shs_omp_options *options, int stride) {
    shs_omp_options o = *options;
    shs_codes codes = new_codes(q->m, stride);
    shs_real *errors2 = (shs_real *)malloc(q->m * sizeof *errors2);
    for (o.gram_mode = SHS_GRAM_ALWAYS; o.gram_mode <= SHS_GRAM_NEVER; o.gram_mode = (shs_gram_mode)(o.gram_mode + 1)) {
        shs_omp_report report;
        double sum = 0;
        size_t i, group = 0, above = 0;
        assert_ok(shs_omp_ex(NULL, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, &o, &codes, errors2, &report));
        for (i = 0; i < q->m; i++) {
            const double error2 = error2_of(q, &codes, i);
            if (fabs((double)errors2[i] - error2) > BY_TYPE(5e-3, 1e-7) * (double)q->norms2[i])
                fail_msg("signal %d: %g is told of %g, whose atoms leave %g", (int)i, (double)errors2[i], (double)q->norms2[i],
                         error2);
            if (o.groups && group < o.group_count && o.groups[group] == i) {
                sum = 0;
                group++;
            }
            sum = o.groups ? sum + error2 : error2;
            if (!o.groups || i + 1 == group_end(&o, q->m, group - 1)) above += sqrt(sum) > (double)o.tolerance;
        }
        if (o.tolerance > 0) assert_true(report.not_reached >= above);
    }
    shs_codes_free(NULL, &codes);
    free(errors2);
}

/* Atoms that lie almost in a space of three dimensions: how far they are from it is little more than the rounding of the Gram
   matrix, which OLS divides by again and again. No atom makes the residual larger, be it of a signal or of a group. */
static void check_nearly_dependent_atoms(int in_groups) {
    enum { P = 10, N = 24, M = 8, R = 3, DICTIONARIES = 400 };
    const double off[] = {BY_TYPE(1e-4, 3e-7), BY_TYPE(3e-4, 1e-6), BY_TYPE(1e-3, 1e-5)};
    size_t starts[] = {0, 3};
    int trial;
    for (trial = first_of(test_instance, 1); trial < DICTIONARIES; trial += every(1)) {
        const uint64_t seed = 5000 + 4 * (uint64_t)trial;
        shs_real *space = new_normal(P * R, seed), *parts = new_normal(R * N, seed + 1), *D = new_normal(P * N, seed + 2);
        shs_omp_options o = SHS_ZERO;
        problem q;
        int i, j, r, f;
        for (j = 0; j < N; j++)
            for (i = 0; i < P; i++) {
                D[i + j * P] *= (shs_real)off[trial % 3];
                for (r = 0; r < R; r++) D[i + j * P] += space[i + r * P] * parts[r + j * R];
            }
        if (trial & 1) normalise(P, N, D);
        q = problem_of(P, N, M, D, new_normal(P * M, seed + 3));
        o.selection = SHS_SELECT_OLS;
        o.sparsity = P;
        if (in_groups) {
            o.groups = starts;
            o.group_count = 2;
        }
        for (f = 0; f < (in_groups ? FORMS_OF_MANY : FORMS); f++) {
            shs_codes codes = new_codes(M, P);
            double before = 0, after = 0;
            assert_ok(forms[f](&q, &o, &codes));
            for (i = 0; i < M; i++) {
                if (!in_groups || i == 3) before = after = 0;
                before += (double)q.norms2[i];
                after += error2_of(&q, &codes, (size_t)i);
                if (!in_groups || i == 2 || i == M - 1) assert_true(after <= 1.01 * before);
            }
            shs_codes_free(NULL, &codes);
        }
        for (f = 0; f < 4; f++) {
            o.selection = f & 1 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
            o.tolerance = f & 2 ? (shs_real)(0.05 + 0.1 * (trial % 20)) : 0;
            check_told(&q, &o, P);
        }
        free(space);
        free(parts);
        problem_free(&q);
    }
}

static void test_nearly_dependent_atoms(void **state) {
    (void)state;
    check_nearly_dependent_atoms(0);
}

static void test_nearly_dependent_atoms_of_groups(void **state) {
    (void)state;
    check_nearly_dependent_atoms(1);
}

/* Coefficients are those of the least squares, also of atoms that are much alike, and with sparsity alone. */
static void test_least_squares_of_like_atoms(void **state) {
    static const double widths[] = {BY_TYPE(0.1, 0.2), BY_TYPE(0.2, 0.4)};
    enum { S = 10 };
    size_t k, i;
    int selection, grouped;
    (void)state;
    for (k = (size_t)first_of(test_instance, 1) % 2; k < 2; k += (size_t)every(1)) {
        shs_real *D = new_values(PEAKS * PEAKS), *Y = new_values(PEAKS * PEAK_SIGNALS);
        problem q;
        shs_codes codes = new_codes(PEAK_SIGNALS, S);
        size_t count, *groups = new_groups(PEAK_SIGNALS, 3, &count);
        fill_peaks(widths[k], D, Y);
        q = problem_of(PEAKS, PEAKS, PEAK_SIGNALS, D, Y);
        for (selection = 0; selection < SHS_SELECTION_COUNT; selection++)
            for (grouped = 0; grouped < 2; grouped++) {
                shs_omp_options o = SHS_ZERO;
                int mode;
                o.sparsity = S;
                o.selection = (shs_selection)selection;
                if (grouped) o.groups = groups;
                if (grouped) o.group_count = count;
                for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++) {
                    assert_ok(with_mode(&q, &o, &codes, (shs_gram_mode)mode));
                    for (i = 0; i < q.m; i++) {
                        const double is = sqrt(error2_of(&q, &codes, i)), least = sqrt(least_error2(q.p, q.D, &codes, i, signal_of(&q, i)));
                        if (!(is <= 1.01 * least))
                            fail_msg("width %g, rule %d, groups %d, mode %d: signal %d is left with %g, its %d atoms could leave "
                                     "%g", widths[k], selection, grouped, mode, (int)i, is, codes.used[i], least);
                    }
                }
            }
        free(groups);
        shs_codes_free(NULL, &codes);
        problem_free(&q);
    }
}

/* count noisy 8x8 patches of a PGM with their means removed, appended to Y. */
static void append_noisy_patches(const char *name, size_t count, uint64_t seed, shs_real *Y) {
    FILE *f = open_or_skip(data_path(name));
    int width = 0, height = 0, x, y;
    unsigned char *pixels;
    shs_random r;
    size_t i, k;
    assert_int_equal(fscanf(f, "P5 %d %d 255", &width, &height), 2);
    fgetc(f);
    pixels = (unsigned char *)malloc((size_t)width * (size_t)height);
    assert_int_equal(fread(pixels, 1, (size_t)width * (size_t)height, f), width * height);
    fclose(f);
    shs_random_seed(&r, seed);
    for (i = 0; i < count; i++) {
        shs_real *patch = Y + 64 * i;
        int left = (int)shs_random_below(&r, (uint64_t)width - 7), top = (int)shs_random_below(&r, (uint64_t)height - 7);
        double mean = 0;
        for (y = 0; y < 8; y++)
            for (x = 0; x < 8; x++)
                patch[8 * y + x] = (shs_real)(pixels[(top + y) * width + left + x] + 25 * (double)shs_random_normal(&r));
        for (k = 0; k < 64; k++) mean += (double)patch[k] / 64;
        for (k = 0; k < 64; k++) patch[k] -= (shs_real)mean;
    }
    free(pixels);
}

#define EACH_IMAGE 50

static shs_real *noisy_patches(void) {
    static const char *const names[] = {"images/barbara.pgm", "images/boat.pgm", "images/house.pgm", "images/peppers.pgm"};
    shs_real *Y;
    size_t k;
    fclose(open_or_skip(data_path(names[0]))); /* before there is something to give back */
    Y = (shs_real *)malloc(64 * 4 * EACH_IMAGE * sizeof *Y);
    for (k = 0; k < 4; k++) append_noisy_patches(names[k], EACH_IMAGE, 40 + k, Y + 64 * EACH_IMAGE * k);
    return Y;
}

/* Stops where double stops for at least 99.5 % of the signals, and never above the tolerance. */
static void assert_stops_like_double(const problem *q, double fraction, const form_fn *some_forms, int form_count) {
    shs_real *tolerance = (shs_real *)malloc(q->m * sizeof *tolerance);
    shs_omp_options o = SHS_ZERO;
    shs_codes expected;
    size_t i;
    int f;
    for (i = 0; i < q->m; i++) tolerance[i] = (shs_real)(fraction * sqrt((double)q->norms2[i]));
    o.tolerance_each = tolerance;
    expected = naive_codes(q, &o);
    for (f = 0; f < form_count; f++) {
        shs_codes codes = new_codes(q->m, 64);
        size_t same = 0;
        assert_ok(some_forms[f](q, &o, &codes));
        for (i = 0; i < q->m; i++) {
            double error = sqrt(error2_of(q, &codes, i));
            if (!(error <= (double)tolerance[i]))
                fail_msg("form %d, fraction %g: signal %d with %d atoms (twin %d) ends at %.9g, its tolerance is %.9g", f,
                         fraction, (int)i, codes.used[i], expected.used[i], error, (double)tolerance[i]);
            same += codes.used[i] == expected.used[i];
        }
        if (1000 * same < 995 * q->m)
            fail_msg("form %d, fraction %g: only %d of %d signals stop like double", f, fraction, (int)same, (int)q->m);
        shs_codes_free(NULL, &codes);
    }
    shs_codes_free(NULL, &expected);
    free(tolerance);
}

static const form_fn signal_forms[] = {form_always, form_never, form_direct};

static void stops_like_double(shs_real *D, int n, shs_real *Y) {
    static const double fractions[] = {1e-1, 1e-2, 1e-3, 1e-4};
    problem q = problem_of(64, n, 4 * EACH_IMAGE, D, Y);
    size_t k;
    /* One fraction for each instruction set. With AddressSanitizer the two dictionaries share the fractions. */
    for (k = 0; k < 4; k++)
        if (every(2) == 1 || ((int)k == 3 - test_instance && (SPARSER == 1 || (k == 3) == (n <= 128))))
            assert_stops_like_double(&q, fractions[k], signal_forms, 3);
    assert_stops_like_double(&q, 0.1, forms, FORMS);
    problem_free(&q);
}

static void test_stops_like_double_learned(void **state) {
    shs_real *Y = noisy_patches();
    (void)state;
    stops_like_double(golden_atoms(), 128, Y);
}

static void test_stops_like_double_dct(void **state) {
    shs_real *Y = noisy_patches(), *D = (shs_real *)malloc(64 * 256 * sizeof *D);
    (void)state;
    assert_ok(shs_dictionary_dct(8, 8, 1, 256, D, 64));
    stops_like_double(D, 256, Y);
}

/* ---- hard data --------------------------------------------------------------------------------------------------- */

static void test_zero_signals(void **state) {
    problem q = random_problem(20, 50, 9, 400), zeros;
    shs_real *Y = (shs_real *)calloc(20 * 9, sizeof *Y), *D = (shs_real *)malloc(20 * 50 * sizeof *D);
    shs_omp_options o = SHS_ZERO;
    int f, with_tolerance;
    (void)state;
    memcpy(D, q.D, 20 * 50 * sizeof *D);
    memcpy(Y + 4 * 20, q.Y, 20 * sizeof *Y); /* one signal among them is not zero */
    zeros = problem_of(20, 50, 9, D, Y);
    o.sparsity = 5;
    for (with_tolerance = 0; with_tolerance < 2; with_tolerance++) {
        for (f = 0; f < FORMS; f++) {
            shs_codes codes = new_codes(9, 20);
            size_t i;
            assert_ok(forms[f](&zeros, &o, &codes));
            for (i = 0; i < 9; i++) assert_int_equal(codes.used[i], i == 4 ? 5 : 0);
            shs_codes_free(NULL, &codes);
        }
        o.tolerance = (shs_real)0.05;
    }
    problem_free(&q);
    problem_free(&zeros);
}

static void test_zero_atoms(void **state) {
    problem q = random_problem(12, 40, 30, 410), r;
    shs_omp_options o = SHS_ZERO;
    int f, k, j;
    size_t i;
    (void)state;
    for (j = 0; j < 40; j += 3)
        for (k = 0; k < 12; k++) q.D[12 * j + k] = 0;
    r = problem_of(12, 40, 30, q.D, q.Y);
    o.sparsity = 12;
    for (f = 0; f < FORMS; f++) {
        shs_codes codes = new_codes(30, 12);
        assert_ok(forms[f](&r, &o, &codes));
        for (i = 0; i < 30; i++) {
            assert_true(codes.used[i] > 0);
            for (k = 0; k < codes.used[i]; k++) {
                assert_int_not_equal(codes.atoms[12 * i + (size_t)k] % 3, 0);
                assert_true(isfinite(codes.coefs[12 * i + (size_t)k]));
            }
        }
        shs_codes_free(NULL, &codes);
    }
    free(q.gram);
    free(q.dty);
    free(q.norms2);
    /* A dictionary of nothing but zeros explains nothing. */
    memset(r.D, 0, 12 * 40 * sizeof *r.D);
    memset(r.gram, 0, 40 * 40 * sizeof *r.gram);
    memset(r.dty, 0, 40 * 30 * sizeof *r.dty);
    for (f = 0; f < FORMS; f++) {
        shs_codes codes = new_codes(30, 12);
        assert_ok(forms[f](&r, &o, &codes));
        assert_int_equal(shs_codes_nonzeros(&codes), 0);
        shs_codes_free(NULL, &codes);
    }
    problem_free(&r);
}

/* The second half of the atoms copies the first: the first of two equals is taken, and never both. */
static void check_equal_atoms(int half) {
    size_t count = 15 * (size_t)half, i;
    shs_real *D = (shs_real *)malloc(2 * count * sizeof *D), *atoms = new_normal(count, 420);
    int n = 2 * half, most = n < 15 ? n : 15, s = half < 6 ? half : 6, f, k;
    shs_omp_options o = SHS_ZERO;
    problem q;
    memcpy(D, atoms, count * sizeof *D);
    memcpy(D + count, atoms, count * sizeof *D);
    normalise(15, n, D);
    q = problem_of(15, n, 25, D, new_normal(15 * 25, 421));
    o.sparsity = s;
    for (f = 0; f < FORMS; f++) {
        shs_codes codes = new_codes(25, most);
        assert_ok(forms[f](&q, &o, &codes));
        for (i = 0; i < 25; i++) {
            assert_int_equal(codes.used[i], s);
            for (k = 0; k < s; k++) assert_in_range(codes.atoms[i * (size_t)most + (size_t)k], 0, half - 1);
        }
        shs_codes_free(NULL, &codes);
    }
    free(atoms);
    problem_free(&q);
}

/* Equal atoms within one vector of the selection, in several vectors, and in the rest after the last vector. */
static void test_equal_atoms(void **state) {
    static const int halves[] = {1, 2, 3, 5, 8, 9, 13, 16, 20, 31, 33, 100};
    size_t k;
    (void)state;
    for (k = 0; k < sizeof halves / sizeof halves[0]; k++) check_equal_atoms(halves[k]);
}

/* Sixty atoms in a space of six dimensions, to rounding and less: asking for 25 of them must not blow up. An atom at
   squared distance d^2 from the others is taken if d^2 > 1e-5 (1e-12 in double): coefficients may be |y| / d. */
static void test_dependent_atoms(void **state) {
    static const double nearness[] = {0, 1e-7, 1e-5, 1e-3, 1e-14, 1e-12};
    size_t t, i;
    (void)state;
    for (t = 0; t < 6; t++) {
        shs_real *basis = new_normal(30 * 6, 430), *mix = new_normal(6 * 60, 431), *noise = new_normal(30 * 60, 432);
        shs_real *D = (shs_real *)calloc(30 * 60, sizeof *D);
        shs_omp_options o = SHS_ZERO;
        problem q;
        int f, j, k, l;
        for (j = 0; j < 60; j++)
            for (k = 0; k < 30; k++) {
                double sum = nearness[t] * (double)noise[30 * j + k];
                for (l = 0; l < 6; l++) sum += (double)basis[30 * l + k] * (double)mix[6 * j + l];
                D[30 * j + k] = (shs_real)sum;
            }
        normalise(30, 60, D);
        q = problem_of(30, 60, 20, D, new_normal(30 * 20, 433));
        o.sparsity = 25;
        for (f = 0; f < FORMS; f++) {
            shs_codes codes = new_codes(20, 30);
            assert_ok(forms[f](&q, &o, &codes));
            for (i = 0; i < 20; i++) {
                double norm = sqrt((double)q.norms2[i]);
                assert_true(codes.used[i] > 0);
                for (k = 0; k < codes.used[i]; k++) {
                    double x = (double)codes.coefs[30 * i + (size_t)k];
                    if (!(fabs(x) < BY_TYPE(1e4, 1e7) * norm))
                        fail_msg("form %d, nearness %g: coefficient %g", f, nearness[t], x);
                }
                if (t == 0) assert_in_range(codes.used[i], 1, 6);
                assert_true(error2_of(&q, &codes, i) <= (1 + BY_TYPE(1e-4, 1e-9)) * norm * norm);
            }
            shs_codes_free(NULL, &codes);
        }
        free(basis);
        free(mix);
        free(noise);
        problem_free(&q);
    }
}

/* A pursuit ends at a tolerance below the precision of the type, and reports the tolerance as not reached. */
static void test_unreachable_tolerance(void **state) {
    problem q = random_problem(24, 60, 40, 440), tall = random_problem(24, 10, 40, 441);
    shs_codes codes = new_codes(40, 24);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    int mode;
    (void)state;
    o.tolerance = (shs_real)1e-30;
    for (mode = SHS_GRAM_AUTO; mode <= SHS_GRAM_NEVER; mode++) {
        o.gram_mode = (shs_gram_mode)mode;
        assert_ok(shs_omp_ex(NULL, 24, 60, q.D, 24, 40, q.Y, 24, &o, &codes, NULL, &report));
        assert_int_equal(report.not_reached, 40);
        assert_true(sqrt(report.sum2) < BY_TYPE(1e-4, 1e-10)); /* but it came as close as the type lets it */
        assert_ok(shs_omp_ex(NULL, 24, 10, tall.D, 24, 40, tall.Y, 24, &o, &codes, NULL, &report));
        assert_int_equal(report.not_reached, 40);
        assert_int_equal(report.nonzeros, 400);
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
    problem_free(&tall);
}

/* From the Gram matrix alone a small tolerance cannot be decided. */
static void test_tolerance_too_small(void **state) {
    problem q = random_problem(24, 60, 40, 450);
    size_t size = shs_omp_one_workspace(60, LIMITS(24, 0));
    void *workspace = malloc(size);
    double norm = sqrt((double)q.norms2[0]);
    shs_codes codes = new_codes(40, 24), before = new_codes(40, 24);
    shs_real *each = (shs_real *)malloc(40 * sizeof *each);
    shs_omp_options o = SHS_ZERO;
    int i, used = -1;
    (void)state;
    o.gram = q.gram;
    o.ldg = 60;
    o.tolerance = (shs_real)(BY_TYPE(1e-4, 1e-8) * norm);
    assert_status(shs_omp_gram(NULL, 60, 40, q.dty, 60, q.norms2, &o, &codes, NULL, NULL), SHS_TOLERANCE_TOO_SMALL);
    for (i = 0; i < 40; i++) each[i] = (shs_real)(0.5 * norm);
    each[39] = o.tolerance; /* one is enough, and nothing may be coded before it is found */
    o.tolerance_each = each;
    assert_status(shs_omp_gram(NULL, 60, 40, q.dty, 60, q.norms2, &o, &codes, NULL, NULL), SHS_TOLERANCE_TOO_SMALL);
    assert_memory_equal(codes.used, before.used, 40 * sizeof *codes.used);
    assert_memory_equal(codes.atoms, before.atoms, 40 * 24 * sizeof *codes.atoms);
    assert_memory_equal(codes.coefs, before.coefs, 40 * 24 * sizeof *codes.coefs);
    assert_status(shs_omp_one(60, q.gram, 60, q.dty, q.norms2[0], LIMITS(24, each[39]), workspace, size, codes.atoms,
                              codes.coefs, &used, NULL),
                  SHS_TOLERANCE_TOO_SMALL);
    assert_int_equal(used, -1);
    each[39] = 0; /* none */
    assert_ok(shs_omp_gram(NULL, 60, 40, q.dty, 60, q.norms2, &o, &codes, NULL, NULL));
    free(workspace);
    free(each);
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &before);
    problem_free(&q);
}

static void test_scales(void **state) {
    static const double scales[] = {1e-15, 1e15};
    size_t k, i;
    (void)state;
    for (k = 0; k < 2; k++) {
        problem q = random_problem(30, 70, 40, 462), scaled;
        shs_real *Y = new_normal(30 * 40, 1462), *D = new_normal(30 * 70, 462);
        shs_omp_options o = SHS_ZERO;
        int f, limited;
        normalise(30, 70, D);
        for (i = 0; i < 30 * 40; i++) Y[i] *= (shs_real)scales[k];
        scaled = problem_of(30, 70, 40, D, Y);
        o.sparsity = 7;
        for (limited = 0; limited < 2; limited++) {
            shs_codes expected;
            o.tolerance = limited ? (shs_real)2.5 : 0;
            expected = naive_codes(&q, &o);
            for (i = 0; i < 40 * (size_t)expected.stride; i++) expected.coefs[i] *= (shs_real)scales[k];
            o.tolerance *= (shs_real)scales[k];
            for (f = 0; f < FORMS; f++) {
                shs_codes codes = new_codes(40, 30);
                assert_ok(forms[f](&scaled, &o, &codes));
                assert_same_codes(&codes, &expected, 40, SAME);
                shs_codes_free(NULL, &codes);
            }
            shs_codes_free(NULL, &expected);
        }
        problem_free(&q);
        problem_free(&scaled);
    }
}

/* A copy of D whose atom j is longer by 2^powers[j]. */
static problem with_lengths(const problem *q, const int *powers) {
    const size_t P = (size_t)q->p, N = (size_t)q->n;
    shs_real *D = (shs_real *)malloc(P * N * sizeof *D), *Y = (shs_real *)malloc(P * q->m * sizeof *Y);
    size_t i;
    for (i = 0; i < P * N; i++) D[i] = (shs_real)ldexp((double)q->D[i], powers[i / P]);
    memcpy(Y, q->Y, P * q->m * sizeof *Y);
    return problem_of(q->p, q->n, q->m, D, Y);
}

/* OLS compares atoms as if of unit norm, and so it does when it ends: of atoms that are longer or shorter by powers of two the
   same are chosen, to the last bit. */
static void test_lengths_of_atoms(void **state) {
    static const int ranges[] = {1, 10, 25};
    static const size_t starts[] = {0, 3, 10, 11, 25};
    size_t r, i;
    (void)state;
    for (r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        problem q = random_problem(16, 40, 30, 77), scaled;
        int powers[40], f, j, k, groups;
        for (j = 0; j < 40; j++) powers[j] = ranges[r] * (j % 5 - 2) / 2;
        scaled = with_lengths(&q, powers);
        for (f = 0; f < FORMS; f++)
            for (groups = 0; groups <= (f < FORMS_OF_MANY); groups++) {
                shs_codes expected = new_codes(30, 16), codes = new_codes(30, 16);
                shs_omp_options o = SHS_ZERO;
                o.selection = SHS_SELECT_OLS;
                o.sparsity = 12;
                if (groups) {
                    o.groups = starts;
                    o.group_count = 5;
                }
                assert_ok(forms[f](&q, &o, &expected));
                assert_ok(forms[f](&scaled, &o, &codes));
                for (i = 0; i < 30 * 16; i++)
                    codes.coefs[i] = (shs_real)ldexp((double)codes.coefs[i], powers[codes.atoms[i]]);
                assert_identical_codes(&codes, &expected, 30);
                for (k = 0; k < 30; k++) assert_int_equal(codes.used[k], 12);
                shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
            }
        problem_free(&q);
        problem_free(&scaled);
    }
}

/* The problem in other units: D is 2^a times as large, Y 2^b times. */
static problem in_units(const problem *q, int a, int b) {
    const size_t P = (size_t)q->p, N = (size_t)q->n;
    problem s = *q;
    size_t i;
    s.D = (shs_real *)malloc(P * N * sizeof *s.D);
    s.Y = (shs_real *)malloc(P * q->m * sizeof *s.Y);
    s.gram = (shs_real *)malloc(N * N * sizeof *s.gram);
    s.dty = (shs_real *)malloc(N * q->m * sizeof *s.dty);
    s.norms2 = (shs_real *)malloc(q->m * sizeof *s.norms2);
    for (i = 0; i < P * N; i++) s.D[i] = (shs_real)ldexp((double)q->D[i], a);
    for (i = 0; i < N * N; i++) s.gram[i] = (shs_real)ldexp((double)q->gram[i], 2 * a);
    for (i = 0; i < P * q->m; i++) s.Y[i] = (shs_real)ldexp((double)q->Y[i], b);
    for (i = 0; i < N * q->m; i++) s.dty[i] = (shs_real)ldexp((double)q->dty[i], a + b);
    for (i = 0; i < q->m; i++) s.norms2[i] = (shs_real)ldexp((double)q->norms2[i], 2 * b);
    return s;
}

enum { BY_OMP, BY_OLS, NONNEGATIVE, BY_GROUPS, OLS_BY_GROUPS, WEIGHTED, WAYS };

/* What does not depend on units: the codes of all forms, in all ways, with a tolerance and without. */
static void check_units(const problem *q, int a, int b, int form, int way, const shs_real *v) {
    static const size_t starts[] = {0, 3, 10, 11};
    const problem scaled = in_units(q, a, b);
    const int most = BY_TYPE(52, 400), known = form < 3 || form == 6; /* D and Y, and no Gram matrix */
    const int one = form >= FORMS_OF_MANY;
    int limited, k;
    problem kept = scaled;
    if (!known && (abs(2 * a) > 2 * most || abs(a + b) > 2 * most || abs(b) > most)) limited = 2;
    else if (one && (way == BY_GROUPS || way == OLS_BY_GROUPS || way == WEIGHTED)) limited = 2;
    else if (way == WEIGHTED && form >= 3) limited = 2;
    else limited = 0;
    for (; limited < 2; limited++) {
        shs_codes expected = new_codes(q->m, q->p), codes = new_codes(q->m, q->p);
        shs_omp_options o = SHS_ZERO;
        size_t i;
        o.selection = way == BY_OLS || way == OLS_BY_GROUPS ? SHS_SELECT_OLS : SHS_SELECT_OMP;
        o.nonnegative = way == NONNEGATIVE;
        if (way == BY_GROUPS || way == OLS_BY_GROUPS) {
            o.groups = starts;
            o.group_count = 4;
        }
        if (way == WEIGHTED) {
            o.weights = v;
            o.ldw = q->p;
        }
        o.sparsity = 7;
        o.tolerance = limited ? (shs_real)2.5 : 0;
        assert_ok(forms[form](q, &o, &expected));
        o.tolerance = (shs_real)ldexp((double)o.tolerance, b);
        assert_ok(forms[form](&scaled, &o, &codes));
        for (i = 0; i < q->m; i++)
            for (k = 0; k < expected.used[i]; k++) {
                shs_real *x = expected.coefs + i * (size_t)expected.stride + (size_t)k;
                *x = (shs_real)ldexp((double)*x, b - a);
            }
        assert_identical_codes(&codes, &expected, q->m);
        shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
    }
    problem_free(&kept);
}

/* Units of D and of Y over the whole range of the type: the same bits. */
static void test_units(void **state) {
    static const int exponents[] = {-100, -75, -50, -36, -22, 0, 22, 50, 75, 100};
    enum { COUNT = sizeof exponents / sizeof exponents[0], M = 13 };
    const int times = BY_TYPE(1, 8);
    problem q = random_problem(16, 30, M, 79);
    shs_real v[16 * M];
    int i, j, form, way, run;
    (void)state;
    for (i = 0; i < 16 * M; i++) v[i] = (shs_real)(i % 5) / 4;
    for (run = first_of(test_instance, 11); run < COUNT * COUNT * FORMS_OF_MANY * WAYS; run += every(11)) {
        way = run % WAYS;
        form = run / WAYS % FORMS_OF_MANY;
        i = run / WAYS / FORMS_OF_MANY % COUNT;
        j = run / WAYS / FORMS_OF_MANY / COUNT;
        if (abs(exponents[i] - exponents[j]) > 100) continue;
        check_units(&q, times * exponents[i], times * exponents[j], form, way, v);
    }
    problem_free(&q);
}

/* Whether none of the values has lost digits, or overflown. */
static int all_normal(size_t count, const shs_real *x) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!isfinite(x[i]) || fabs((double)x[i]) < BY_TYPE(1.2e-38, 2.3e-308)) return 0;
    return 1;
}

/* One signal at a time is coded in the caller's unit: the same bits, or the status that says that the unit leaves no room. */
static void test_units_of_one(void **state) {
    enum { STEPS = 11, M = 5 };
    const int most = BY_TYPE(120, 1000), room = BY_TYPE(48, 450), narrow = sizeof(shs_wide) == sizeof(shs_real);
    problem q = random_problem(16, 30, M, 83);
    int run, way;
    (void)state;
    for (run = first_of(test_instance, 7); run < STEPS * STEPS * 6; run += every(7)) {
        const int a = (run / 6 % STEPS - STEPS / 2) * most / (STEPS / 2), b = (run / 6 / STEPS - STEPS / 2) * most / (STEPS / 2);
        const int fits = abs(a) < room && abs(a + b) < 2 * room && abs(b - a) < most && (!narrow || abs(b) < room);
        problem scaled = in_units(&q, a, b);
        shs_codes expected = new_codes(M, 6), codes = new_codes(M, 6);
        shs_omp_options o = SHS_ZERO;
        shs_status status;
        size_t i;
        int k, normal;
        way = run % 6;
        o.sparsity = 6;
        o.selection = way / 2 == 1 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
        o.nonnegative = way / 2 == 2;
        assert_ok(one_by_one(&q, &o, &expected, way % 2));
        if (way % 2) normal = all_normal(16 * 30, scaled.D) && all_normal(16 * M, scaled.Y);
        else normal = all_normal(30 * 30, scaled.gram) && all_normal(30 * M, scaled.dty);
        if (normal) {
            status = one_by_one(&scaled, &o, &codes, way % 2);
            if (fits) assert_ok(status);
            else if (status != SHS_OK) assert_status(status, SHS_OUT_OF_RANGE);
            for (i = 0; i < M && status == SHS_OK; i++)
                for (k = 0; k < expected.used[i]; k++) {
                    shs_real *x = expected.coefs + i * 6 + (size_t)k;
                    *x = (shs_real)ldexp((double)*x, b - a);
                }
            if (status == SHS_OK) assert_identical_codes(&codes, &expected, M);
        }
        shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
        problem_free(&scaled);
    }
    problem_free(&q);
}

/* Signals in very different units in one call get the codes of separate calls, and the report covers all signals. */
static void test_units_of_signals(void **state) {
    enum { M = 24 };
    const int step = BY_TYPE(9, 70);
    problem q = random_problem(16, 30, M, 80), scaled = in_units(&q, 0, 0);
    int way, k;
    (void)state;
    for (k = 0; k < 16 * M; k++) scaled.Y[k] = (shs_real)ldexp((double)q.Y[k], step * (k / 16 - M / 2));
    for (way = 0; way < 4; way++) {
        shs_codes expected = new_codes(M, 7), codes = new_codes(M, 7);
        shs_real errors2[M], expected2[M];
        shs_omp_options o = SHS_ZERO;
        shs_omp_report report;
        double sum2 = 0;
        o.sparsity = 7;
        o.selection = way & 1 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
        o.gram_mode = way & 2 ? SHS_GRAM_NEVER : SHS_GRAM_ALWAYS;
        assert_ok(shs_omp_ex(NULL, 16, 30, q.D, 16, M, q.Y, 16, &o, &expected, expected2, NULL));
        assert_ok(shs_omp_ex(NULL, 16, 30, scaled.D, 16, M, scaled.Y, 16, &o, &codes, errors2, &report));
        for (k = 0; k < 7 * M; k++) expected.coefs[k] = (shs_real)ldexp((double)expected.coefs[k], step * (k / 7 - M / 2));
        assert_identical_codes(&codes, &expected, M);
        for (k = 0; k < M; k++) {
            const double error2 = ldexp((double)expected2[k], 2 * step * (k - M / 2));
            sum2 += error2;
            if (error2 < BY_TYPE(1e38, 1e300) && error2 > BY_TYPE(1e-37, 1e-300))
                assert_close(errors2[k], error2, 4 * BY_TYPE(1.2e-7, 2.3e-16) * error2);
        }
        if (sizeof(shs_wide) == sizeof(double) && isfinite(sum2)) assert_close(report.sum2, sum2, 1e-5 * sum2);
        shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
    }
    problem_free(&q);
    problem_free(&scaled);
}

/* Coefficients, or a Gram matrix, that shs_real does not hold are told. */
static void test_out_of_range(void **state) {
    const int most = BY_TYPE(100, 900);
    problem q = random_problem(16, 30, 13, 81);
    int sign, selection, mode;
    (void)state;
    for (sign = -1; sign <= 1; sign += 2)
        for (selection = 0; selection < SHS_SELECTION_COUNT; selection++)
            for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++) {
                problem s = in_units(&q, -sign * most / 2, sign * most);
                shs_codes codes = new_codes(13, 5);
                shs_omp_options o = SHS_ZERO;
                o.sparsity = 5;
                o.selection = (shs_selection)selection;
                o.gram_mode = (shs_gram_mode)mode;
                assert_status(shs_omp_ex(NULL, 16, 30, s.D, 16, 13, s.Y, 16, &o, &codes, NULL, NULL), SHS_OUT_OF_RANGE);
                assert_int_equal(codes.used[0], 5);
                o.skip_nan = mode == SHS_GRAM_NEVER;
                assert_status(shs_omp_ex(NULL, 16, 30, s.D, 16, 13, s.Y, 16, &o, &codes, NULL, NULL), SHS_OUT_OF_RANGE);
                shs_codes_free(NULL, &codes);
                problem_free(&s);
            }
    {
        problem s = in_units(&q, -BY_TYPE(65, 515), 0);
        shs_codes codes = new_codes(13, 5);
        shs_omp_options o = SHS_ZERO;
        o.sparsity = 5;
        o.gram = s.gram;
        o.ldg = 30;
        assert_status(shs_omp_gram(NULL, 30, 13, s.dty, 30, s.norms2, &o, &codes, NULL, NULL), SHS_OUT_OF_RANGE);
        o.gram = q.gram;
        s.norms2[3] = 0;
        o.tolerance = 1;
        assert_status(shs_omp_gram(NULL, 30, 13, q.dty, 30, s.norms2, &o, &codes, NULL, NULL), SHS_BAD_NORMS);
        shs_codes_free(NULL, &codes);
        problem_free(&s);
    }
    problem_free(&q);
}

/* An atom with next to no weight is not chosen, not even in the end, and wherever it stands among the atoms. */
static void test_atom_without_weight(void **state) {
    const shs_real little = (shs_real)BY_TYPE(1e-4, 1e-7), D[] = {little, 0, 1, 0, 1, 0, little, 0, 1}, Y[] = {1, 1, 7};
    const unsigned char mask[] = {1, 1, 0};
    shs_codes codes = new_codes(1, 2);
    shs_omp_options o = SHS_ZERO;
    int first, selection;
    (void)state;
    o.sparsity = 2;
    o.mask = mask;
    o.ldm = 3;
    for (selection = 0; selection < SHS_SELECTION_COUNT; selection++)
        for (first = 0; first < 2; first++) {
            o.selection = (shs_selection)selection;
            assert_ok(shs_omp_ex(NULL, 3, 2, D + 3 * first, 3, 1, Y, 3, &o, &codes, NULL, NULL));
            assert_int_equal(codes.used[0], 1);
            assert_close(codes.coefs[0], 1, 0);
        }
    shs_codes_free(NULL, &codes);
}

/* A caller's Gram matrix that has underflowed to zeros is not that of a dictionary of zeros. */
static void test_gram_of_nothing(void **state) {
    const shs_real D[] = {REAL_MIN, REAL_MIN}, zero[] = {0, 0}, Y[] = {1, 1}, gram[] = {0}, dty[] = {1}, norm2 = 2;
    shs_codes codes = new_codes(1, 1);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report = SHS_ZERO;
    (void)state;
    o.sparsity = 1;
    o.gram = gram;
    o.ldg = 1;
    for (o.gram_mode = SHS_GRAM_AUTO; o.gram_mode <= SHS_GRAM_ALWAYS; o.gram_mode = (shs_gram_mode)(o.gram_mode + 1)) {
        assert_status(shs_omp_ex(NULL, 2, 1, D, 2, 1, Y, 2, &o, &codes, NULL, NULL), SHS_OUT_OF_RANGE);
        assert_ok(shs_omp_ex(NULL, 2, 1, zero, 2, 1, Y, 2, &o, &codes, NULL, NULL));
    }
    assert_status(shs_omp_gram(NULL, 1, 1, dty, 1, NULL, &o, &codes, NULL, NULL), SHS_OUT_OF_RANGE);
    o.gram_mode = SHS_GRAM_AUTO;
    report.nonzeros = 77;
    assert_status(shs_omp_ex(NULL, 2, 1, D, 2, 1, Y, 2, &o, &codes, NULL, &report), SHS_OUT_OF_RANGE);
    assert_status(shs_omp_gram(NULL, 1, 1, dty, 1, &norm2, &o, &codes, NULL, &report), SHS_OUT_OF_RANGE);
    assert_int_equal(report.nonzeros, 77);
    assert_ok(shs_omp_gram(NULL, 1, 1, zero, 1, NULL, &o, &codes, NULL, NULL));
    assert_int_equal(codes.used[0], 0);
    shs_codes_free(NULL, &codes);
}

/* In another unit too a tolerance is one, however small, and the report's sums are those of the signals: 5 and 2, 1 each. */
static void test_reports_in_units(void **state) {
    static const int exponents[] = {BY_TYPE(130, 1040), BY_TYPE(126, 1000), BY_TYPE(100, 600), BY_TYPE(64, 512), 0,
                                    -BY_TYPE(70, 600),  -BY_TYPE(120, 1000)};
    const shs_real D[] = {1, 0, 0};
    const double least = sizeof(shs_wide) > sizeof(float) ? 1e-290 : 1e-30;
    shs_codes codes = new_codes(2, 1);
    size_t k;
    (void)state;
    for (k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        const double unit = ldexp(1, -exponents[k]), sum2 = 4 * unit * unit;
        shs_real Y[] = {(shs_real)(5 * unit), (shs_real)unit, (shs_real)unit, 0, (shs_real)unit, (shs_real)unit};
        shs_real errors2[2];
        shs_omp_options o = SHS_ZERO;
        shs_omp_report report;
        if (Y[1] < REAL_MIN && subnormals_vanish()) continue;
        o.sparsity = 1;
        o.tolerance = exponents[k] < 0 ? REAL_MIN : 0;
        assert_ok(shs_omp_ex(NULL, 3, 1, D, 3, 2, Y, 3, &o, &codes, errors2, &report));
        assert_close((double)report.rmse / unit, sqrt(4.0 / 6),
                     BY_TYPE(1e-6, 1e-14) + (double)REAL_MIN * (double)REAL_EPS / unit);
        if (sum2 > least && sum2 < 1 / least)
            assert_close((double)report.sum2 / sum2, 1, BY_TYPE(1e-6, 1e-14));
        if (exponents[k] < 0) assert_int_equal(report.not_reached, 2);
    }
    shs_codes_free(NULL, &codes);
}

/* Programs may let floating-point exceptions trap to find their mistakes: the library makes none of its own. */
static void test_no_exceptions(void **state) {
    enum { P = 24, N = 50, M = 70 };
    problem q = random_problem(P, N, M, 78);
    unsigned char mask[P * M];
    shs_real weights[P * M];
    shs_codes codes = new_codes(M, P);
    shs_context ctx = SHS_ZERO;
    int kind;
    (void)state;
    ctx.threads = 1; /* each thread has flags of its own */
    memset(q.Y + 3 * P, 0, P * sizeof *q.Y);
    memcpy(q.D + 8 * P, q.D + 7 * P, P * sizeof *q.D);
    memset(q.D + 9 * P, 0, P * sizeof *q.D);
    for (kind = 0; kind < P * M; kind++) { /* the first: nothing */
        mask[kind] = kind % 3 == 0 && kind >= P;
        weights[kind] = mask[kind];
    }
    for (kind = 0; kind < 24; kind++) {
        shs_omp_options o = SHS_ZERO;
        o.sparsity = P - 1;
        o.selection = kind & 1 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
        o.tolerance = kind & 2 ? (shs_real)0.1 : 0;
        o.gram_mode = kind & 4 ? SHS_GRAM_NEVER : SHS_GRAM_ALWAYS;
        if (kind >= 8) {
            o.mask = mask;
            o.ldm = P;
        }
        if (kind >= 16) {
            o.mask = NULL;
            o.weights = weights;
            o.ldw = P;
        }
        feclearexcept(FE_ALL_EXCEPT);
        assert_ok(shs_omp_ex(&ctx, P, N, q.D, P, M, q.Y, P, &o, &codes, NULL, NULL));
        assert_int_equal(fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), 0);
    }
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* ---- bad input --------------------------------------------------------------------------------------------------- */

/* Codes, errors and a report filled with a pattern that a failing call must leave alone. */
typedef struct outputs {
    shs_codes codes;
    shs_real *errors2;
    shs_omp_report report;
} outputs;

#define PATTERN 0x5a

static outputs new_outputs(size_t m, int stride) {
    outputs o;
    size_t values = m * (size_t)stride;
    o.codes = new_codes(m, stride);
    o.errors2 = (shs_real *)malloc(m * sizeof *o.errors2);
    memset(o.codes.used, PATTERN, m * sizeof *o.codes.used);
    memset(o.codes.atoms, PATTERN, values * sizeof *o.codes.atoms);
    memset(o.codes.coefs, PATTERN, values * sizeof *o.codes.coefs);
    memset(o.errors2, PATTERN, m * sizeof *o.errors2);
    memset(&o.report, PATTERN, sizeof o.report);
    return o;
}

static void assert_pattern(const void *memory, size_t size) {
    const unsigned char *bytes = (const unsigned char *)memory;
    size_t i;
    for (i = 0; i < size; i++)
        if (bytes[i] != PATTERN) fail_msg("a failing call wrote to its output");
}

static void assert_untouched(const outputs *o) {
    size_t m = o->codes.m, values = m * (size_t)o->codes.stride;
    assert_pattern(o->codes.used, m * sizeof *o->codes.used);
    assert_pattern(o->codes.atoms, values * sizeof *o->codes.atoms);
    assert_pattern(o->codes.coefs, values * sizeof *o->codes.coefs);
    assert_pattern(o->errors2, m * sizeof *o->errors2);
    assert_pattern(&o->report, sizeof o->report);
}

static void outputs_free(outputs *o) {
    free(o->errors2);
    shs_codes_free(NULL, &o->codes);
}

/* One call of shs_omp_ex with everything right; the tests below spoil one thing at a time. */
typedef struct call {
    const shs_context *ctx;
    int p, n, ldd, ldy;
    const shs_real *D, *Y;
    size_t m;
    shs_omp_options o;
    shs_codes *codes;
} call;

static call call_of(const problem *q, outputs *out) {
    call c;
    memset(&c, 0, sizeof c);
    c.p = c.ldd = c.ldy = q->p;
    c.n = q->n;
    c.m = q->m;
    c.D = q->D;
    c.Y = q->Y;
    c.codes = &out->codes;
    return c;
}

static void assert_fails(call c, outputs *out, shs_status expected) {
    shs_status status = shs_omp_ex(c.ctx, c.p, c.n, c.D, c.ldd, c.m, c.Y, c.ldy, &c.o, c.codes, out->errors2, &out->report);
    assert_status(status, expected);
    assert_untouched(out);
}

#define FAILS(change, expected)                                                                                                \
    do {                                                                                                                       \
        call c = good;                                                                                                         \
        change;                                                                                                                \
        assert_fails(c, &out, expected);                                                                                       \
    } while (0)

static void test_bad_arguments(void **state) {
    problem q = random_problem(10, 20, 15, 500);
    outputs out = new_outputs(15, 10);
    shs_codes broken = out.codes;
    call good = call_of(&q, &out);
    (void)state;
    good.o.sparsity = 3;
    FAILS(c.p = 0, SHS_BAD_P);
    FAILS(c.p = -4, SHS_BAD_P);
    FAILS(c.n = 0, SHS_BAD_N);
    FAILS(c.n = -1, SHS_BAD_N);
    FAILS(c.D = NULL, SHS_BAD_DICTIONARY);
    FAILS(c.Y = NULL, SHS_BAD_SIGNALS);
    FAILS(c.ldd = 9, SHS_BAD_LDD);
    FAILS(c.ldy = 9, SHS_BAD_LDY);
    FAILS(c.codes = NULL, SHS_BAD_CODES);
    FAILS(c.m = 16, SHS_BAD_CODES);
    FAILS((c.codes = &broken, broken.stride = 2), SHS_BAD_CODES);
    broken = out.codes;
    FAILS((c.codes = &broken, broken.used = NULL), SHS_BAD_CODES);
    broken = out.codes;
    FAILS((c.codes = &broken, broken.atoms = NULL), SHS_BAD_CODES);
    broken = out.codes;
    FAILS((c.codes = &broken, broken.coefs = NULL), SHS_BAD_CODES);
    FAILS(c.o.sparsity = -1, SHS_BAD_SPARSITY);
    FAILS(c.o.tolerance = -1, SHS_BAD_TOLERANCE);
    FAILS(c.o.tolerance = (shs_real)NAN, SHS_BAD_TOLERANCE);
    FAILS(c.o.tolerance = (shs_real)INFINITY, SHS_BAD_TOLERANCE);
    FAILS(c.o.gram_mode = (shs_gram_mode)(SHS_GRAM_NEVER + 1), SHS_BAD_OPTIONS);
    FAILS((c.o.gram = q.gram, c.o.ldg = 19), SHS_BAD_GRAM);
    outputs_free(&out);
    problem_free(&q);
}

static void test_bad_limits_each(void **state) {
    problem q = random_problem(10, 20, 15, 510);
    outputs out = new_outputs(15, 10);
    int sparsity[15];
    shs_real tolerance[15];
    call good = call_of(&q, &out);
    size_t i;
    (void)state;
    for (i = 0; i < 15; i++) {
        sparsity[i] = 2;
        tolerance[i] = 1;
    }
    sparsity[14] = -1;
    FAILS(c.o.sparsity_each = sparsity, SHS_BAD_SPARSITY);
    sparsity[14] = 2;
    tolerance[13] = -1;
    FAILS(c.o.tolerance_each = tolerance, SHS_BAD_TOLERANCE);
    { /* the limits stand in place of `sparsity`, and a group's is that of its first signal */
        const size_t starts[] = {0, 5};
        shs_codes few = new_codes(15, 2);
        shs_omp_options o = SHS_ZERO;
        o.sparsity = 10;
        o.sparsity_each = sparsity;
        assert_ok(shs_omp_ex(NULL, 10, 20, q.D, 10, 15, q.Y, 10, &o, &few, NULL, NULL));
        o.groups = starts;
        o.group_count = 2;
        sparsity[4] = 9;
        assert_ok(shs_omp_ex(NULL, 10, 20, q.D, 10, 15, q.Y, 10, &o, &few, NULL, NULL));
        assert_int_equal(few.used[4], 2);
        sparsity[5] = 3;
        assert_status(shs_omp_ex(NULL, 10, 20, q.D, 10, 15, q.Y, 10, &o, &few, NULL, NULL), SHS_BAD_CODES);
        sparsity[4] = sparsity[5] = 2;
        shs_codes_free(NULL, &few);
    }
    tolerance[13] = (shs_real)NAN;
    FAILS((c.o.tolerance_each = tolerance, c.o.sparsity_each = sparsity), SHS_BAD_TOLERANCE);
    outputs_free(&out);
    problem_free(&q);
}

/* Invalid starts of groups, and options that exclude groups. */
static void test_bad_groups(void **state) {
    static const size_t starts[][4] = {{1, 5, 9, 12}, {0, 5, 4, 12},        {0, 5, 5, 12},
                                       {0, 5, 9, 15}, {0, SIZE_MAX, 9, 12}, {0, 5, 9, 12}};
    const unsigned char mask[150] = {1};
    problem q = random_problem(10, 20, 15, 511);
    outputs out = new_outputs(15, 10);
    shs_ksvd_options learning = SHS_ZERO;
    call good = call_of(&q, &out);
    int k;
    (void)state;
    for (k = 0; k < 5; k++) {
        shs_omp_options o = SHS_ZERO;
        FAILS((c.o.groups = starts[k], c.o.group_count = 4), SHS_BAD_GROUPS);
        o.groups = starts[k];
        o.group_count = 4;
        assert_true(shs_omp_workspace(NULL, 10, 20, 15, 10, &o) == SIZE_MAX);
        assert_status(form_gram(&q, &o, &out.codes), SHS_BAD_GROUPS);
    }
    FAILS(c.o.group_count = 1, SHS_BAD_GROUPS);
    FAILS((c.o.groups = starts[5], c.o.group_count = 0), SHS_BAD_GROUPS);
    FAILS((c.o.groups = starts[5], c.o.group_count = 4, c.m = 0), SHS_BAD_GROUPS);
    FAILS((c.o.groups = starts[5], c.o.group_count = 4, c.o.nonnegative = 1), SHS_BAD_OPTIONS);
    FAILS((c.o.groups = starts[5], c.o.group_count = 4, c.o.skip_nan = 1), SHS_BAD_OPTIONS);
    FAILS((c.o.groups = starts[5], c.o.group_count = 4, c.o.mask = mask, c.o.ldm = 10), SHS_BAD_OPTIONS);
    FAILS((c.o.groups = starts[5], c.o.group_count = 4, c.o.weights = q.Y), SHS_BAD_OPTIONS);
    learning.coding.groups = starts[5];
    learning.coding.group_count = 4;
    assert_status(shs_ksvd_ex(NULL, 10, 20, 15, q.Y, 10, &learning, q.D, 10, NULL, NULL), SHS_BAD_OPTIONS);
    assert_true(shs_omp_one_workspace(20, &learning.coding) == SIZE_MAX);
    assert_true(shs_omp_one_direct_workspace(10, 20, &learning.coding) == SIZE_MAX);
    learning.coding.tolerance =
        BY_TYPE((shs_real)1e-2, (shs_real)1e-7); /* of a group, which the Gram matrix alone cannot decide */
    assert_status(form_gram(&q, &learning.coding, &out.codes), SHS_TOLERANCE_TOO_SMALL);
    q.norms2[0] = -1;
    assert_status(form_gram(&q, &learning.coding, &out.codes), SHS_BAD_NORMS);
    assert_untouched(&out);
    outputs_free(&out);
    problem_free(&q);
}

static void test_bad_context(void **state) {
    problem q = random_problem(10, 20, 15, 520);
    outputs out = new_outputs(15, 10);
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    call good = call_of(&q, &out);
    (void)state;
    good.ctx = &ctx;
    ctx.threads = -1;
    FAILS((void)c, SHS_BAD_CONTEXT);
    ctx.threads = 0;
    shs_arena_init(&arena, NULL, 0);
    shs_arena_attach(&arena, &ctx);
    FAILS((void)c, SHS_NO_MEMORY);
    ctx.free_fn = NULL;
    FAILS((void)c, SHS_BAD_CONTEXT);
    outputs_free(&out);
    problem_free(&q);
}

static void test_not_finite(void **state) {
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    problem q = random_problem(10, 20, 300, 530);
    outputs out = new_outputs(300, 10);
    call good = call_of(&q, &out);
    size_t k, j;
    (void)state;
    good.o.sparsity = 3;
    for (k = 0; k < 3; k++)
        for (j = 0; j < 3; j++) {
            size_t places[3], in_d = j * 99 + j / 2, in_gram = j * 199 + j / 2;
            shs_real kept;
            places[0] = 0;
            places[1] = 1511;
            places[2] = 2999;
            kept = q.D[in_d];
            q.D[in_d] = (shs_real)bad[k];
            FAILS((void)c, SHS_DICTIONARY_NOT_FINITE);
            FAILS(c.o.gram_mode = SHS_GRAM_NEVER, SHS_DICTIONARY_NOT_FINITE);
            q.D[in_d] = kept;
            kept = q.Y[places[j]];
            q.Y[places[j]] = (shs_real)bad[k];
            FAILS((void)c, SHS_SIGNALS_NOT_FINITE);
            FAILS(c.o.gram_mode = SHS_GRAM_NEVER, SHS_SIGNALS_NOT_FINITE);
            q.Y[places[j]] = kept;
            kept = q.gram[in_gram];
            q.gram[in_gram] = (shs_real)bad[k];
            FAILS((c.o.gram = q.gram, c.o.ldg = 20), SHS_BAD_GRAM);
            q.gram[in_gram] = kept;
        }
    outputs_free(&out);
    problem_free(&q);
}

static void test_bad_gram_form(void **state) {
    problem q = random_problem(10, 20, 15, 540);
    outputs out = new_outputs(15, 10);
    shs_omp_options o = SHS_ZERO, bad;
    shs_codes *codes = &out.codes;
    shs_real kept;
    (void)state;
    o.gram = q.gram;
    o.ldg = 20;
    o.sparsity = 3;
    assert_status(shs_omp_gram(NULL, 0, 15, q.dty, 20, q.norms2, &o, codes, NULL, NULL), SHS_BAD_N);
    assert_status(shs_omp_gram(NULL, -3, 15, q.dty, 20, q.norms2, &o, codes, NULL, NULL), SHS_BAD_N);
    assert_status(shs_omp_gram(NULL, 20, 15, NULL, 20, q.norms2, &o, codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 19, q.norms2, &o, codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &o, NULL, NULL, NULL), SHS_BAD_CODES);
    assert_status(shs_omp_gram(NULL, 20, 16, q.dty, 20, q.norms2, &o, codes, NULL, NULL), SHS_BAD_CODES);
    bad = o;
    bad.gram = NULL;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &bad, codes, NULL, NULL), SHS_BAD_GRAM);
    bad = o;
    bad.ldg = 19;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &bad, codes, NULL, NULL), SHS_BAD_GRAM);
    bad = o;
    bad.sparsity = -2;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &bad, codes, NULL, NULL), SHS_BAD_SPARSITY);
    bad = o;
    bad.tolerance = -2;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &bad, codes, NULL, NULL), SHS_BAD_TOLERANCE);
    bad = o;
    bad.tolerance = 1;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, NULL, &bad, codes, NULL, NULL), SHS_BAD_NORMS);
    kept = q.norms2[14];
    q.norms2[14] = -1;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &bad, codes, NULL, NULL), SHS_BAD_NORMS);
    q.norms2[14] = (shs_real)NAN;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &bad, codes, NULL, NULL), SHS_BAD_NORMS);
    q.norms2[14] = kept;
    q.dty[20 * 15 - 1] = (shs_real)NAN;
    assert_status(shs_omp_gram(NULL, 20, 15, q.dty, 20, q.norms2, &o, codes, NULL, NULL), SHS_BAD_CORRELATIONS);
    assert_untouched(&out);
    outputs_free(&out);
    problem_free(&q);
}

/* Every function refuses a Gram matrix with one triangle, but accepts rounding differences between the triangles. */
static void test_gram_of_one_triangle(void **state) {
    enum { P = 10, N = 20, M = 15 };
    problem q = random_problem(P, N, M, 541);
    outputs out = new_outputs(M, P);
    int upper, i, j, trial;
    (void)state;
    for (trial = 0; trial < 6; trial++) {
        shs_real G[(N + 1) * N];
        shs_omp_options o = SHS_ZERO;
        shs_lasso_options l = SHS_ZERO;
        const int whole = trial >= 2 && trial < 4, one = trial >= 4;
        upper = trial % 2;
        for (j = 0; j < N; j++)
            for (i = 0; i < N; i++) {
                const int lost = upper ? i > j : i < j;
                G[j * (N + 1) + i] = q.gram[j * N + i];
                if (whole && lost) G[j * (N + 1) + i] *= 1 + 8 * BY_TYPE(1.2e-7f, 2.3e-16);
                if (!whole && lost && (!one || i + j == 2 * N - 3)) G[j * (N + 1) + i] = 0;
            }
        o.gram = l.gram = G;
        o.ldg = l.ldg = N + 1;
        o.sparsity = 3;
        l.lambda = (shs_real)0.1;
        if (whole) {
            shs_codes codes = new_codes(M, N);
            assert_ok(shs_omp_ex(NULL, P, N, q.D, P, M, q.Y, P, &o, &codes, NULL, NULL));
            shs_codes_free(NULL, &codes);
            continue;
        }
        assert_status(shs_omp_ex(NULL, P, N, q.D, P, M, q.Y, P, &o, &out.codes, NULL, NULL), SHS_GRAM_NOT_SYMMETRIC);
        assert_status(shs_omp_gram(NULL, N, M, q.dty, N, q.norms2, &o, &out.codes, NULL, NULL), SHS_GRAM_NOT_SYMMETRIC);
        assert_status(shs_lasso(NULL, P, N, q.D, P, M, q.Y, P, &l, &out.codes, NULL, NULL), SHS_GRAM_NOT_SYMMETRIC);
        assert_status(shs_lasso_gram(NULL, N, M, q.dty, N, q.norms2, &l, &out.codes, NULL, NULL), SHS_GRAM_NOT_SYMMETRIC);
        assert_untouched(&out);
    }
    outputs_free(&out);
    problem_free(&q);
}

/* Few signals a call, as from a stream. The library neither packs the dictionary nor checks the whole Gram matrix. The codes
   equal those of one call for all signals, and a wrong value that a pursuit has used is refused. */
static void test_few_signals(void **state) {
    enum { P = 40, N = 200, M = 12, S = 4 };
    problem q = random_problem(P, N, M, 543);
    shs_codes all = new_codes(M, S), few = new_codes(M, S);
    outputs out = new_outputs(3, P);
    int with, form, i, j;
    size_t first, count;
    (void)state;
    for (with = 0; with < 2; with++)
        for (form = 0; form < 3; form++)
            for (count = 1; count < 5; count++) {
                shs_omp_options o = SHS_ZERO;
                o.sparsity = S;
                o.nonnegative = form == 1;
                o.selection = form == 2 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
                if (with) {
                    o.gram = q.gram;
                    o.ldg = N;
                }
                assert_ok(shs_omp_ex(NULL, P, N, q.D, P, M, q.Y, P, &o, &all, NULL, NULL));
                for (first = 0; first < M; first += count) {
                    shs_codes part = few;
                    part.m = count < M - first ? count : M - first;
                    part.used += first;
                    part.atoms += first * S;
                    part.coefs += first * S;
                    assert_ok(shs_omp_ex(NULL, P, N, q.D, P, part.m, q.Y + first * P, P, &o, &part, NULL, NULL));
                    if (!with) continue;
                    assert_ok(shs_omp_gram(NULL, N, part.m, q.dty + first * N, N, NULL, &o, &part, NULL, NULL));
                }
                assert_same_codes(&all, &few, M, BY_TYPE(1e-4, 1e-10));
                assert_true(shs_omp_workspace(NULL, P, N, 1, S, &o) + sizeof(shs_real) * P * N <=
                            shs_omp_workspace(NULL, P, N, 5, S, &o));
            }
    for (i = 0; i < 3; i++) {
        shs_omp_options o = SHS_ZERO;
        const int atom = all.atoms[i * S];
        const shs_real was = q.D[atom * P];
        shs_real *column = q.gram + atom * N, saved[N];
        o.sparsity = S;
        o.gram = q.gram;
        o.ldg = N;
        assert_ok(shs_omp_ex(NULL, P, N, q.D, P, M, q.Y, P, &o, &all, NULL, NULL));
        memcpy(saved, column, sizeof saved);
        column[(atom + 7) % N] = (shs_real)NAN;
        assert_status(shs_omp_ex(NULL, P, N, q.D, P, 3, q.Y, P, &o, &out.codes, NULL, NULL), SHS_BAD_GRAM);
        assert_status(shs_omp_gram(NULL, N, 3, q.dty, N, NULL, &o, &out.codes, NULL, NULL), SHS_BAD_GRAM);
        memcpy(column, saved, sizeof saved);
        for (j = 0; j < N; j++)
            if (j != atom) column[j] = 0;
        assert_status(shs_omp_ex(NULL, P, N, q.D, P, 3, q.Y, P, &o, &out.codes, NULL, NULL), SHS_GRAM_NOT_SYMMETRIC);
        memcpy(column, saved, sizeof saved);
        q.D[atom * P] = (shs_real)NAN;
        assert_status(shs_omp_ex(NULL, P, N, q.D, P, 3, q.Y, P, &o, &out.codes, NULL, NULL), SHS_DICTIONARY_NOT_FINITE);
        q.D[atom * P] = was;
        assert_untouched(&out);
    }
    if (BY_ENGINE(1, 0)) { /* nobody reads the caller's Gram matrix at the column of an atom that no pursuit chose */
        shs_omp_options o = SHS_ZERO;
        char chosen[N] = {0};
        o.sparsity = S;
        o.gram = q.gram;
        o.ldg = N;
        for (i = 0; i < 3; i++)
            for (j = 0; j < all.used[i]; j++) chosen[all.atoms[i * S + j]] = 1;
        for (i = 0; chosen[i];) i++;
        for (j = i + 1; chosen[j];) j++;
        q.gram[i * N + j] = (shs_real)NAN;
        few.m = 3;
        assert_ok(shs_omp_ex(NULL, P, N, q.D, P, 3, q.Y, P, &o, &few, NULL, NULL));
        assert_same_codes(&all, &few, 3, BY_TYPE(1e-4, 1e-10));
        few.m = M;
    }
    shs_codes_free(NULL, &all), shs_codes_free(NULL, &few);
    outputs_free(&out);
    problem_free(&q);
}

/* What a pursuit of one signal writes, and that before. */
typedef struct single {
    int atoms[3], used;
    shs_real coefs[3];
} single;
static const single untouched_single = {{-7, -7, -7}, -7, {-7, -7, -7}};

static void test_bad_one(void **state) {
    problem q = random_problem(10, 20, 1, 550);
    size_t size = shs_omp_one_workspace(20, LIMITS(3, 0)), direct = shs_omp_one_direct_workspace(10, 20, LIMITS(3, 0));
    void *w = malloc(size + direct);
    single out = untouched_single;
    int *atoms = out.atoms, *used = &out.used, *none = NULL;
    shs_real *x = out.coefs;
    (void)state;
    assert_status(shs_omp_one(0, q.gram, 20, q.dty, 1, LIMITS(3, 0), w, size, atoms, x, used, NULL), SHS_BAD_N);
    assert_status(shs_omp_one(20, NULL, 20, q.dty, 1, LIMITS(3, 0), w, size, atoms, x, used, NULL), SHS_BAD_GRAM);
    assert_status(shs_omp_one(20, q.gram, 19, q.dty, 1, LIMITS(3, 0), w, size, atoms, x, used, NULL), SHS_BAD_GRAM);
    assert_status(shs_omp_one(20, q.gram, 20, NULL, 1, LIMITS(3, 0), w, size, atoms, x, used, NULL), SHS_BAD_CORRELATIONS);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, -1, LIMITS(3, 1), w, size, atoms, x, used, NULL), SHS_BAD_NORMS);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(-3, 0), w, size, atoms, x, used, NULL), SHS_BAD_SPARSITY);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, -1), w, size, atoms, x, used, NULL), SHS_BAD_TOLERANCE);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, 0), NULL, size, atoms, x, used, NULL), SHS_BAD_WORKSPACE);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, 0), w, size - 1, atoms, x, used, NULL), SHS_BAD_WORKSPACE);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, 0), w, size, NULL, x, used, NULL), SHS_BAD_OUTPUT);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, 0), w, size, atoms, NULL, used, NULL), SHS_BAD_OUTPUT);
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, 0), w, size, atoms, x, none, NULL), SHS_BAD_OUTPUT);
    assert_status(shs_omp_one_direct(0, 20, q.D, 10, q.Y, LIMITS(3, 0), w, direct, atoms, x, used, NULL), SHS_BAD_P);
    assert_status(shs_omp_one_direct(10, 0, q.D, 10, q.Y, LIMITS(3, 0), w, direct, atoms, x, used, NULL), SHS_BAD_N);
    assert_status(shs_omp_one_direct(10, 20, NULL, 10, q.Y, LIMITS(3, 0), w, direct, atoms, x, used, NULL), SHS_BAD_DICTIONARY);
    assert_status(shs_omp_one_direct(10, 20, q.D, 9, q.Y, LIMITS(3, 0), w, direct, atoms, x, used, NULL), SHS_BAD_LDD);
    assert_status(shs_omp_one_direct(10, 20, q.D, 10, NULL, LIMITS(3, 0), w, direct, atoms, x, used, NULL), SHS_BAD_SIGNALS);
    assert_status(shs_omp_one_direct(10, 20, q.D, 10, q.Y, LIMITS(-3, 0), w, direct, atoms, x, used, NULL), SHS_BAD_SPARSITY);
    assert_status(shs_omp_one_direct(10, 20, q.D, 10, q.Y, LIMITS(3, -1), w, direct, atoms, x, used, NULL), SHS_BAD_TOLERANCE);
    assert_status(shs_omp_one_direct(10, 20, q.D, 10, q.Y, LIMITS(3, 0), w, direct - 1, atoms, x, used, NULL),
                  SHS_BAD_WORKSPACE);
    assert_status(shs_omp_one_direct(10, 20, q.D, 10, q.Y, LIMITS(3, 0), w, direct, NULL, x, used, NULL), SHS_BAD_OUTPUT);
    assert_memory_equal(&out, &untouched_single, sizeof out);
    free(w);
    problem_free(&q);
}

static void test_bad_one_not_finite(void **state) {
    problem q = random_problem(10, 20, 1, 560);
    size_t size = shs_omp_one_workspace(20, LIMITS(3, 0)), direct = shs_omp_one_direct_workspace(10, 20, LIMITS(3, 0));
    void *w = malloc(size + direct);
    single out = untouched_single;
    int *atoms = out.atoms, *used = &out.used, i;
    const shs_real norms[] = {-1, (shs_real)NAN, (shs_real)INFINITY};
    shs_real *x = out.coefs, kept, error2 = 0;
    (void)state;
    kept = q.dty[19];
    q.dty[19] = (shs_real)NAN;
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, 0), w, size, atoms, x, used, NULL), SHS_BAD_CORRELATIONS);
    q.dty[19] = kept;
    kept = q.Y[9];
    q.Y[9] = (shs_real)INFINITY;
    assert_status(shs_omp_one_direct(10, 20, q.D, 10, q.Y, LIMITS(3, 0), w, direct, atoms, x, used, NULL),
                  SHS_SIGNALS_NOT_FINITE);
    q.Y[9] = kept;
    for (i = 0; i < 3; i++) /* without a tolerance the norm is read for the error alone */
        assert_status(shs_omp_one(20, q.gram, 20, q.dty, norms[i], LIMITS(3, 0), w, size, atoms, x, used, &error2), SHS_BAD_NORMS);
    assert_memory_equal(&out, &untouched_single, sizeof out);
    q.gram[7 * 21] = (shs_real)NAN;
    assert_status(shs_omp_one(20, q.gram, 20, q.dty, 1, LIMITS(3, 0), w, size, atoms, x, used, NULL), SHS_BAD_GRAM);
    q.D[25] = (shs_real)INFINITY;
    assert_status(shs_omp_one_direct(10, 20, q.D, 10, q.Y, LIMITS(3, 0), w, direct, atoms, x, used, NULL),
                  SHS_DICTIONARY_NOT_FINITE);
    free(w);
    problem_free(&q);
}

/* No signals are no mistake. */
static void test_no_signals(void **state) {
    problem q = random_problem(10, 20, 1, 570);
    outputs out = new_outputs(1, 10);
    shs_omp_options o = SHS_ZERO;
    (void)state;
    assert_ok(shs_omp(NULL, 10, 20, q.D, 0, q.Y, 3, &out.codes));
    assert_untouched(&out);
    assert_ok(shs_omp_ex(NULL, 10, 20, q.D, 10, 0, NULL, 10, &o, &out.codes, NULL, &out.report));
    assert_int_equal(out.report.nonzeros, 0);
    assert_int_equal(out.report.not_reached, 0);
    assert_close(out.report.sum2, 0, 0);
    assert_close(out.report.rmse, 0, 0);
    o.gram = q.gram;
    o.ldg = 20;
    assert_ok(shs_omp_gram(NULL, 20, 0, q.dty, 20, q.norms2, &o, &out.codes, NULL, NULL));
    q.D[7] = (shs_real)NAN;
    assert_status(shs_omp_ex(NULL, 10, 20, q.D, 10, 0, NULL, 10, &o, &out.codes, NULL, NULL), SHS_DICTIONARY_NOT_FINITE);
    outputs_free(&out);
    problem_free(&q);
}

/* ---- threads and groups ------------------------------------------------------------------------------------------ */

/* Chunks in reverse order, on workers in turn. */
static void run_reversed(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    size_t i;
    ++*(int *)user;
    for (i = chunks; i-- > 0;) body(arg, i, (int)(i % (size_t)threads));
}

typedef struct result {
    shs_codes codes;
    shs_real *errors2;
    shs_omp_report report;
} result;

static result coded(const problem *q, const shs_context *ctx, const shs_omp_options *o) {
    result r;
    r.codes = new_codes(q->m, 40);
    r.errors2 = (shs_real *)malloc(q->m * sizeof *r.errors2);
    assert_ok(shs_omp_ex(ctx, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, &r.codes, r.errors2, &r.report));
    return r;
}

/* The codes and errors of the signals; the report's sums are those of other chunks. */
static void assert_identical_signals(const problem *q, const result *a, const result *b) {
    assert_identical_codes(&a->codes, &b->codes, q->m);
    assert_memory_equal(a->errors2, b->errors2, q->m * sizeof *a->errors2);
    assert_int_equal(a->report.nonzeros, b->report.nonzeros);
    assert_int_equal(a->report.not_reached, b->report.not_reached);
    assert_close(a->report.sum2, b->report.sum2, 1e-13 * b->report.sum2);
}

static void assert_identical_results(const problem *q, const result *a, const result *b) {
    assert_identical_codes(&a->codes, &b->codes, q->m);
    assert_memory_equal(a->errors2, b->errors2, q->m * sizeof *a->errors2);
    assert_memory_equal(&a->report.sum2, &b->report.sum2, sizeof a->report.sum2);
    assert_memory_equal(&a->report.rmse, &b->report.rmse, sizeof a->report.rmse);
    assert_int_equal(a->report.nonzeros, b->report.nonzeros);
    assert_int_equal(a->report.not_reached, b->report.not_reached);
}

static void result_free(result *r) {
    shs_codes_free(NULL, &r->codes);
    free(r->errors2);
}

static void assert_same_for_any_threads(const problem *q, const shs_omp_options *o) {
    shs_context one = SHS_ZERO;
    result expected;
    int threads, callback, calls = 0;
    one.threads = 1;
    expected = coded(q, &one, o);
    for (threads = 1; threads <= 3; threads++)
        for (callback = first_of(threads + test_instance, 1); callback < 2; callback += every(1)) {
            shs_context ctx = SHS_ZERO;
            result r;
            ctx.threads = threads;
            if (callback) {
                ctx.parallel_fn = run_reversed;
                ctx.parallel_user = &calls;
            }
            r = coded(q, &ctx, o);
            assert_identical_results(q, &r, &expected);
            result_free(&r);
        }
    assert_true(calls > 0);
    result_free(&expected);
}

static void test_threads(void **state) {
    problem q = random_problem(40, 150, 900, 600);
    shs_omp_options o = SHS_ZERO;
    int mode;
    (void)state;
    for (mode = SHS_GRAM_AUTO + first_of(test_instance, 3); mode <= SHS_GRAM_NEVER; mode += every(3)) {
        o.gram_mode = (shs_gram_mode)mode;
        o.sparsity = 7;
        o.tolerance = 0;
        assert_same_for_any_threads(&q, &o);
        o.sparsity = 0; /* below 1e-2 |y|: refreshes too */
        o.tolerance = (shs_real)0.05;
        assert_same_for_any_threads(&q, &o);
    }
    problem_free(&q);
}

/* The scratch of many workers: calls that are one chunk have work for one, and a Gram matrix that is checked after coding costs no
   more. A team without a Gram matrix takes its residuals once. */
static void test_scratch_of_workers(void **state) {
    enum { P = 64, N = 8192, LATE = N / 4 };
    const size_t start = 0, of_codes = 64 * LATE, idle = 64 * 4096, residuals = 4000 * 128 * sizeof(shs_real);
    const shs_real gram = 1; /* a query does not read it */
    shs_omp_options o = SHS_ZERO, team = SHS_ZERO;
    shs_lasso_options lasso = SHS_ZERO;
    shs_context one = SHS_ZERO, many = SHS_ZERO;
    (void)state;
    one.threads = 1;
    many.threads = 64;
    many.parallel_fn = run_reversed;
    o.sparsity = 1;
    o.gram = lasso.gram = &gram;
    o.ldg = lasso.ldg = N;
    lasso.lambda = 1;
    assert_in_range(shs_omp_workspace(&many, P, N, LATE, 1, &o), 1, shs_omp_workspace(&many, P, N, LATE + 1, 1, &o) + of_codes);
    assert_in_range(shs_omp_workspace(&many, P, N, 32, 1, &o), 1, shs_omp_workspace(&one, P, N, 32, 1, &o) + idle);
    assert_in_range(shs_lasso_workspace(&many, P, N, 32, &lasso), 1, shs_lasso_workspace(&one, P, N, 32, &lasso) + idle);
    team.sparsity = 2;
    team.gram_mode = SHS_GRAM_NEVER;
    team.groups = &start;
    team.group_count = 1;
    assert_in_range(shs_omp_workspace(&one, 4000, 8, 128, 2, &team), residuals, residuals * 3 / 2);
}

/* Signals so few that the Gram matrix is checked after coding. */
static void test_threads_of_few_signals(void **state) {
    enum { N = 1200, M = 75 };
    problem q = random_problem(10, N, M, 615);
    outputs out = new_outputs(M, 10);
    shs_omp_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    int calls = 0;
    (void)state;
    o.gram = q.gram;
    o.ldg = N;
    o.sparsity = 4;
    assert_same_for_any_threads(&q, &o);
    ctx.threads = 3;
    ctx.parallel_fn = run_reversed;
    ctx.parallel_user = &calls;
    q.D[77 * 10] = (shs_real)NAN;
    assert_status(shs_omp_ex(&ctx, 10, N, q.D, 10, M, q.Y, 10, &o, &out.codes, NULL, NULL), SHS_DICTIONARY_NOT_FINITE);
    assert_untouched(&out);
    outputs_free(&out);
    problem_free(&q);
}

/* Short signals of many atoms are work too. What takes less time than waking threads does not wake them. */
static void test_work_of_many_atoms_is_shared(void **state) {
    problem q = random_problem(32, 64, 1000, 616);
    shs_omp_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    int calls = 0, before;
    (void)state;
    test_worth_sharing = WORTH_SHARING;
    ctx.threads = 3;
    ctx.parallel_fn = run_reversed;
    ctx.parallel_user = &calls;
    for (o.gram_mode = SHS_GRAM_ALWAYS; o.gram_mode <= SHS_GRAM_NEVER; o.gram_mode = (shs_gram_mode)(o.gram_mode + 1)) {
        result r;
        q.m = 1000;
        o.sparsity = 16;
        before = calls;
        r = coded(&q, &ctx, &o);
        assert_int_equal(calls, before + 1);
        result_free(&r);
        q.m = 100;
        o.sparsity = 2;
        r = coded(&q, &ctx, &o);
        assert_int_equal(calls, before + 1);
        result_free(&r);
    }
    test_worth_sharing = 0;
    problem_free(&q);
}

static void test_threads_of_groups(void **state) {
    problem q = random_problem(40, 150, 900, 1500);
    shs_omp_options o = SHS_ZERO;
    size_t *groups;
    int mode;
    (void)state;
    o.groups = groups = new_groups(900, 0, &o.group_count);
    for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++) {
        o.gram_mode = (shs_gram_mode)mode;
        o.sparsity = 7;
        o.tolerance = 0;
        assert_same_for_any_threads(&q, &o);
        o.sparsity = 30;
        o.tolerance = (shs_real)0.5;
        assert_same_for_any_threads(&q, &o);
    }
    free(groups);
    problem_free(&q);
}

static void test_groups(void **state) {
    static const size_t groups[] = {1, 7, 64, 128, 899, 5000};
    problem q = random_problem(40, 150, 900, 610);
    int mode, limited;
    size_t k;
    (void)state;
    for (mode = SHS_GRAM_AUTO; mode <= SHS_GRAM_NEVER; mode++)
        for (limited = 0; limited < 2; limited++) {
            shs_omp_options o = SHS_ZERO;
            result expected;
            o.gram_mode = (shs_gram_mode)mode;
            o.sparsity = 8;
            if (limited) o.tolerance = (shs_real)4;
            expected = coded(&q, NULL, &o);
            for (k = (size_t)first_of(test_instance + mode + limited, 1); k < 6; k += (size_t)every(1)) {
                result r;
                o.signals_per_group = groups[k];
                r = coded(&q, NULL, &o);
                assert_identical_signals(&q, &r, &expected);
                result_free(&r);
            }
            result_free(&expected);
        }
    problem_free(&q);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

typedef struct watch {
    int calls, cancel_at;
    size_t last_step, steps;
    int in_order;
} watch;

static int watch_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    watch *w = (watch *)user;
    (void)error;
    w->in_order = w->in_order && phase && phase[0] && step <= steps && (w->calls == 0 || step >= w->last_step);
    w->last_step = step;
    w->steps = steps;
    return w->calls++ == w->cancel_at;
}

static void test_cancel(void **state) {
    problem q = random_problem(30, 80, 2500, 620);
    shs_codes all = new_codes(q.m, 5);
    shs_context ctx = SHS_ZERO;
    watch w;
    int cancel_at;
    size_t i, before = 0;
    (void)state;
    assert_ok(shs_omp(NULL, q.p, q.n, q.D, q.m, q.Y, 5, &all));
    ctx.progress_fn = watch_progress;
    ctx.progress_user = &w;
    ctx.threads = 1;
    for (cancel_at = 0;; cancel_at++) {
        shs_codes codes = new_codes(q.m, 5);
        shs_status status;
        size_t reached = 0;
        memset(&w, 0, sizeof w);
        w.cancel_at = cancel_at;
        w.in_order = 1;
        memset(codes.used, PATTERN, q.m * sizeof *codes.used);
        status = shs_omp(&ctx, q.p, q.n, q.D, q.m, q.Y, 5, &codes);
        assert_true(w.in_order);
        if (status == SHS_OK) {
            assert_int_equal(w.calls, cancel_at);
            assert_identical_codes(&codes, &all, q.m);
            shs_codes_free(NULL, &codes);
            break;
        }
        assert_status(status, SHS_CANCELLED);
        for (i = 0; i < q.m; i++) {
            if (codes.used[i] == 0) continue;
            reached++;
            assert_int_equal(codes.used[i], all.used[i]);
            assert_memory_equal(codes.coefs + 5 * i, all.coefs + 5 * i, 5 * sizeof *codes.coefs);
            assert_memory_equal(codes.atoms + 5 * i, all.atoms + 5 * i, 5 * sizeof *codes.atoms);
        }
        assert_true(reached >= before);
        before = reached;
        shs_codes_free(NULL, &codes);
    }
    assert_true(cancel_at > 0);
    shs_codes_free(NULL, &all);
    problem_free(&q);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* An arena of exactly that many bytes will do, wherever it begins; only its own header and an alignment are spare. */
#define SPARE 64

static void assert_workspace_is_enough(const problem *q, const shs_omp_options *o, int threads) {
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    shs_codes codes = new_codes(q->m, 10), expected = new_codes(q->m, 10);
    unsigned char *memory;
    size_t query, offset;
    ctx.threads = threads;
    query = shs_omp_workspace(&ctx, q->p, q->n, q->m, 10, o);
    memory = (unsigned char *)malloc(query + 16);
    assert_non_null(memory);
    assert_ok(shs_omp_ex(&ctx, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, &expected, NULL, NULL));
    shs_arena_attach(&arena, &ctx);
    for (offset = 0; offset < 16; offset += 13) {
        shs_arena_init(&arena, memory + offset, query);
        assert_ok(shs_omp_ex(&ctx, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, &codes, NULL, NULL));
        assert_in_range(arena.peak, query - SPARE, query);
        assert_int_equal(arena.used, 0);
        assert_identical_codes(&codes, &expected, q->m);
    }
    shs_arena_init(&arena, memory, query / 2);
    assert_status(shs_omp_ex(&ctx, q->p, q->n, q->D, q->p, q->m, q->Y, q->p, o, &codes, NULL, NULL), SHS_NO_MEMORY);
    assert_identical_codes(&codes, &expected, q->m);
    free(memory);
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
}

static void test_workspace(void **state) {
    size_t k, *groups;
    int mode, threads;
    (void)state;
    for (k = (size_t)first_of(test_instance, 1); k < SIZES; k += (size_t)every(1)) {
        problem q = random_problem(sizes[k].p, sizes[k].n, (size_t)sizes[k].m, 700 + k);
        shs_omp_options o = SHS_ZERO;
        for (threads = 1; threads <= 3; threads++) {
            for (mode = SHS_GRAM_AUTO; mode <= SHS_GRAM_NEVER; mode++) {
                o.gram_mode = (shs_gram_mode)mode;
                o.sparsity = sizes[k].s < 10 ? sizes[k].s : 10;
                o.tolerance = 0;
                assert_workspace_is_enough(&q, &o, threads);
                o.sparsity = 0;
                o.tolerance = (shs_real)0.01;
                assert_workspace_is_enough(&q, &o, threads);
                o.groups = groups = new_groups(q.m, 0, &o.group_count);
                o.sparsity = 3;
                assert_workspace_is_enough(&q, &o, threads);
                o.groups = NULL;
                o.group_count = 0;
                free(groups);
            }
        }
        problem_free(&q);
    }
}

static void test_workspace_of_gram_form(void **state) {
    problem q = random_problem(20, 50, 33, 720);
    shs_context ctx = SHS_ZERO;
    shs_omp_options o = SHS_ZERO;
    shs_codes codes = new_codes(33, 6);
    shs_arena arena;
    size_t query;
    void *memory;
    (void)state;
    o.gram = q.gram;
    o.ldg = 50;
    ctx.threads = 2;
    query = shs_omp_workspace(&ctx, 0, 50, 33, 6, &o);
    memory = malloc(query);
    shs_arena_init(&arena, memory, query);
    shs_arena_attach(&arena, &ctx);
    assert_ok(shs_omp_gram(&ctx, 50, 33, q.dty, 50, q.norms2, &o, &codes, NULL, NULL));
    assert_in_range(arena.peak, query - SPARE, query);
    assert_int_equal(arena.used, 0);
    free(memory);
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* At most n^2 + MEMORY_C x threads x n x s values with a Gram matrix, without the square else, whatever m is. Dominated
   by the 128 (32) columns of D'y that a worker holds and by the packed panels of the matrix product. */
#define MEMORY_C 64

static void test_memory_promise(void **state) {
    static const int ns[] = {256, 1024, 4096};
    static const int ss[] = {8, 16, 32};
    int i, j, threads;
    (void)state;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            for (threads = 1; threads <= 4; threads++) {
                shs_context ctx = SHS_ZERO;
                shs_omp_options o = SHS_ZERO;
                size_t n = (size_t)ns[i], few, many, bound;
                bound = MEMORY_C * (size_t)threads * n * (size_t)ss[j];
                ctx.threads = threads;
                o.sparsity = ss[j];
                o.gram_mode = SHS_GRAM_NEVER;
                few = shs_omp_workspace(&ctx, 64, ns[i], 10000, ss[j], &o) / sizeof(shs_real);
                many = shs_omp_workspace(&ctx, 64, ns[i], 10000000, ss[j], &o) / sizeof(shs_real);
                assert_int_equal(few, many);
                assert_in_range(few, 1, bound);
                o.gram_mode = SHS_GRAM_ALWAYS;
                few = shs_omp_workspace(&ctx, 64, ns[i], 10000, ss[j], &o) / sizeof(shs_real);
                many = shs_omp_workspace(&ctx, 64, ns[i], 10000000, ss[j], &o) / sizeof(shs_real);
                assert_int_equal(few, many);
                assert_in_range(few, n * n, n * n + bound);
            }
}

/* The sizes as constant expressions are those of the queries, for every form and rule. */
static void test_workspace_macros(void **state) {
    static unsigned char room[SHS_OMP_ONE_WORKSPACE(64, 4)], direct[SHS_OMP_ONE_DIRECT_WORKSPACE(32, 64, 4)];
    static const int lengths[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 256, 257, 1000, 4097};
    const size_t count = sizeof lengths / sizeof *lengths;
    size_t i, j;
    int s, rule;
    (void)state;
    assert_int_equal(sizeof room, shs_omp_one_workspace(64, LIMITS(4, 0)));
    assert_int_equal(sizeof direct, shs_omp_one_direct_workspace(32, 64, LIMITS(4, 0)));
    for (j = 0; j < count; j++)
        for (s = 0; s <= 2 * lengths[j] && s <= 300; s += s < 40 ? 1 : 37)
            for (rule = 0; rule < 3; rule++) {
                const int n = lengths[j];
                shs_omp_options o = SHS_ZERO;
                o.sparsity = s;
                o.selection = rule == 1 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
                o.nonnegative = rule == 2;
                assert_int_equal(SHS_OMP_ONE_WORKSPACE_EX(n, s, o.selection, o.nonnegative), shs_omp_one_workspace(n, &o));
                if (!rule) assert_int_equal(SHS_OMP_ONE_WORKSPACE(n, s), shs_omp_one_workspace(n, &o));
                for (i = 0; i < count; i++) {
                    const int p = lengths[i];
                    const size_t bytes = shs_omp_one_direct_workspace(p, n, &o);
                    assert_int_equal(SHS_OMP_ONE_DIRECT_WORKSPACE_EX(p, n, s, o.selection, o.nonnegative), bytes);
                    if (!rule) assert_int_equal(SHS_OMP_ONE_DIRECT_WORKSPACE(p, n, s), bytes);
                }
            }
}

static void test_workspace_overflow(void **state) {
    shs_omp_options o = SHS_ZERO;
    shs_codes codes;
    (void)state;
    memset(&codes, PATTERN, sizeof codes);
    o.gram_mode = SHS_GRAM_ALWAYS;
    assert_true(shs_omp_workspace(NULL, INT_MAX, INT_MAX, SIZE_MAX / 4, INT_MAX, &o) == SIZE_MAX);
    assert_status(shs_codes_create(NULL, SIZE_MAX / 2, INT_MAX, &codes), SHS_TOO_LARGE);
    assert_pattern(&codes, sizeof codes);
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

static void test_codes_create(void **state) {
    shs_codes codes, zero = SHS_ZERO;
    size_t i;
    (void)state;
    assert_ok(shs_codes_create(NULL, 11, 3, &codes));
    assert_int_equal(codes.m, 11);
    assert_int_equal(codes.stride, 3);
    for (i = 0; i < 11; i++) assert_int_equal(codes.used[i], 0);
    for (i = 0; i < 33; i++) assert_int_equal(codes.atoms[i], 0);
    for (i = 0; i < 33; i++) assert_close(codes.coefs[i], 0, 0);
    assert_int_equal(shs_codes_nonzeros(&codes), 0);
    shs_codes_free(NULL, &codes);
    assert_memory_equal(&codes, &zero, sizeof codes);
    shs_codes_free(NULL, &codes);
    shs_codes_free(NULL, NULL);
    assert_status(shs_codes_create(NULL, 4, 3, NULL), SHS_BAD_CODES);
    memset(&codes, PATTERN, sizeof codes);
    assert_status(shs_codes_create(NULL, 0, 3, &codes), SHS_BAD_M);
    assert_int_not_equal(shs_codes_create(NULL, 4, 0, &codes), SHS_OK);
    assert_int_not_equal(shs_codes_create(NULL, 4, -2, &codes), SHS_OK);
    assert_pattern(&codes, sizeof codes);
}

/* Codes of different lengths, atoms in no order. */
static shs_codes mixed_codes(void) {
    static const int atoms[5][4] = {{3, 0, 0, 0}, {0, 0, 0, 0}, {5, 1, 4, 2}, {2, 0, 0, 0}, {4, 3, 0, 0}},
                     used[] = {1, 0, 4, 1, 2};
    shs_codes c = new_codes(5, 4);
    int i, k;
    for (i = 0; i < 5; i++) {
        c.used[i] = used[i];
        for (k = 0; k < used[i]; k++) {
            c.atoms[4 * i + k] = atoms[i][k];
            c.coefs[4 * i + k] = (shs_real)(10 * i + atoms[i][k]);
        }
    }
    return c;
}

static void test_csc(void **state) {
    static const int rows[] = {3, 1, 2, 4, 5, 2, 3, 4}, columns[] = {0, 2, 2, 2, 2, 3, 4, 4};
    static const size_t starts[] = {0, 1, 1, 5, 6, 8};
    shs_codes c = mixed_codes();
    size_t start[6], i;
    int row[8];
    shs_real value[8];
    (void)state;
    assert_int_equal(shs_codes_nonzeros(&c), 8);
    assert_ok(shs_codes_to_csc(&c, start, row, value));
    assert_memory_equal(start, starts, sizeof start);
    assert_memory_equal(row, rows, sizeof row);
    for (i = 0; i < 8; i++) assert_close(value[i], 10 * columns[i] + rows[i], 0);
    assert_status(shs_codes_to_csc(NULL, start, row, value), SHS_BAD_CODES);
    assert_status(shs_codes_to_csc(&c, NULL, row, value), SHS_BAD_OUTPUT);
    assert_status(shs_codes_to_csc(&c, start, NULL, value), SHS_BAD_OUTPUT);
    assert_status(shs_codes_to_csc(&c, start, row, NULL), SHS_BAD_OUTPUT);
    c.used[4] = -1;
    assert_int_equal(shs_codes_nonzeros(&c), 6);
    assert_status(shs_codes_to_csc(&c, start, row, value), SHS_BAD_CODES);
    c.used[4] = 5;
    assert_status(shs_codes_to_csc(&c, start, row, value), SHS_BAD_CODES);
    c.used[4] = 1;
    c.atoms[4 * 4] = -1;
    assert_status(shs_codes_to_csc(&c, start, row, value), SHS_BAD_CODES);
    shs_codes_free(NULL, &c);
}

static void test_synthesize(void **state) {
    shs_codes c = mixed_codes();
    shs_real *D = new_normal(9 * 6, 800), *Z = (shs_real *)malloc(11 * 5 * sizeof *Z);
    size_t first, count, i;
    int r, k;
    (void)state;
    for (first = 0; first <= 5; first++)
        for (count = 0; first + count <= 5; count++) {
            for (i = 0; i < 55; i++) Z[i] = 77;
            assert_ok(shs_codes_synthesize(NULL, 7, 6, D, 9, &c, first, count, Z, 11));
            for (i = 0; i < 5; i++)
                for (r = 0; r < 11; r++) {
                    double z = i < count && r < 7 ? 0 : 77;
                    for (k = 0; i < count && r < 7 && k < c.used[first + i]; k++) {
                        size_t at = 4 * (first + i) + (size_t)k;
                        z += (double)D[9 * c.atoms[at] + r] * (double)c.coefs[at];
                    }
                    assert_close(Z[11 * i + (size_t)r], z, BY_TYPE(1e-4, 1e-12));
                }
        }
    for (i = 0; i < 55; i++) Z[i] = 77;
    assert_status(shs_codes_synthesize(NULL, 0, 6, D, 9, &c, 0, 5, Z, 11), SHS_BAD_P);
    assert_status(shs_codes_synthesize(NULL, 7, 0, D, 9, &c, 0, 5, Z, 11), SHS_BAD_N);
    assert_status(shs_codes_synthesize(NULL, 7, 6, NULL, 9, &c, 0, 5, Z, 11), SHS_BAD_DICTIONARY);
    assert_status(shs_codes_synthesize(NULL, 7, 6, D, 6, &c, 0, 5, Z, 11), SHS_BAD_LDD);
    assert_status(shs_codes_synthesize(NULL, 7, 6, D, 9, NULL, 0, 5, Z, 11), SHS_BAD_CODES);
    assert_status(shs_codes_synthesize(NULL, 7, 6, D, 9, &c, 1, 5, Z, 11), SHS_BAD_CODES);
    assert_status(shs_codes_synthesize(NULL, 7, 6, D, 9, &c, SIZE_MAX, 2, Z, 11), SHS_BAD_CODES);
    assert_status(shs_codes_synthesize(NULL, 7, 6, D, 9, &c, 0, 5, NULL, 11), SHS_BAD_OUTPUT);
    for (i = 0; i < 55; i++) assert_close(Z[i], 77, 0);
    free(D);
    free(Z);
    shs_codes_free(NULL, &c);
}

static void test_residual(void **state) {
    problem q = random_problem(13, 30, 400, 810);
    shs_codes c = new_codes(q.m, 4);
    shs_real *E = (shs_real *)malloc(15 * q.m * sizeof *E), *in_place = (shs_real *)malloc(13 * q.m * sizeof *E);
    shs_wide sum2 = -1, again = -1;
    double expected = 0;
    size_t i, r;
    (void)state;
    assert_ok(shs_omp(NULL, 13, 30, q.D, q.m, q.Y, 4, &c));
    for (i = 0; i < q.m; i++) expected += error2_of(&q, &c, i);
    assert_ok(shs_codes_residual(NULL, 13, 30, q.D, 13, q.m, q.Y, 13, &c, E, 15, &sum2));
    assert_close(sum2, expected, BY_TYPE(1e-5, 1e-12) * expected);
    for (i = 0; i < q.m; i++) assert_close(inner(13, E + 15 * i, E + 15 * i), error2_of(&q, &c, i), BY_TYPE(1e-5, 1e-12));
    assert_ok(shs_codes_residual(NULL, 13, 30, q.D, 13, q.m, q.Y, 13, &c, NULL, 0, &again));
    assert_close(again, sum2, 0);
    memcpy(in_place, q.Y, 13 * q.m * sizeof *E);
    assert_ok(shs_codes_residual(NULL, 13, 30, q.D, 13, q.m, in_place, 13, &c, in_place, 13, NULL));
    for (i = 0; i < q.m; i++)
        for (r = 0; r < 13; r++) assert_close(in_place[13 * i + r], E[15 * i + r], 0);
    assert_status(shs_codes_residual(NULL, 0, 30, q.D, 13, q.m, q.Y, 13, &c, E, 15, &sum2), SHS_BAD_P);
    assert_status(shs_codes_residual(NULL, 13, 30, NULL, 13, q.m, q.Y, 13, &c, E, 15, &sum2), SHS_BAD_DICTIONARY);
    assert_status(shs_codes_residual(NULL, 13, 30, q.D, 12, q.m, q.Y, 13, &c, E, 15, &sum2), SHS_BAD_LDD);
    assert_status(shs_codes_residual(NULL, 13, 30, q.D, 13, q.m, NULL, 13, &c, E, 15, &sum2), SHS_BAD_SIGNALS);
    assert_status(shs_codes_residual(NULL, 13, 30, q.D, 13, q.m, q.Y, 12, &c, E, 15, &sum2), SHS_BAD_LDY);
    assert_status(shs_codes_residual(NULL, 13, 30, q.D, 13, q.m, q.Y, 13, NULL, E, 15, &sum2), SHS_BAD_CODES);
    assert_status(shs_codes_residual(NULL, 13, 30, q.D, 13, q.m + 1, q.Y, 13, &c, E, 15, &sum2), SHS_BAD_CODES);
    free(E);
    free(in_place);
    shs_codes_free(NULL, &c);
    problem_free(&q);
}

/* ---- where the recurrence cannot tell ------------------------------------------------------------------------------ */

/* Tolerances just above, at, and just below what three atoms leave: where the recurrence cannot tell, the residual itself does,
   and what counts as reached is reached by the coefficients as stored. */
static void test_tolerance_at_the_residual(void **state) {
    static const double off[] = {-30, -3, -1, -0.3, 0, 0.3, 1, 3, 30}; /* in the spacing of the type */
    problem q = random_problem(24, 60, 200, 470);
    shs_codes three = new_codes(200, 3), codes = new_codes(200, 24);
    shs_real *tolerance = (shs_real *)malloc(200 * sizeof *tolerance);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    int mode, k;
    size_t i;
    (void)state;
    assert_ok(shs_omp(NULL, 24, 60, q.D, 200, q.Y, 3, &three));
    o.tolerance_each = tolerance;
    for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++)
        for (k = 0; k < 9; k++) {
            o.gram_mode = (shs_gram_mode)mode;
            for (i = 0; i < 200; i++)
                tolerance[i] = (shs_real)(sqrt(error2_of(&q, &three, i)) * (1 + off[k] * (double)REAL_EPS));
            assert_ok(shs_omp_ex(NULL, 24, 60, q.D, 24, 200, q.Y, 24, &o, &codes, NULL, &report));
            assert_int_equal(report.not_reached, 0);
            for (i = 0; i < 200; i++) {
                double t = (double)tolerance[i];
                assert_true(error2_of(&q, &codes, i) <= t * t * (1 + 1e-15));
                assert_in_range(codes.used[i], 3, off[k] > 20 ? 3 : 4);
            }
        }
    free(tolerance);
    shs_codes_free(NULL, &three), shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* The second atom lies almost in the span of the first, and a large signal across both: the first is taken, the second refused,
   and the tolerance said to be missed. */
static void test_refused_atom(void **state) {
    const double small = BY_TYPE(1e-3, 1e-7), across = 1 / small;
    shs_real D[4] = {1, 0, 0, 0}, y[2] = {1, 0};
    shs_codes codes = new_codes(1, 2);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    int mode;
    (void)state;
    D[2] = (shs_real)sqrt(1 - small * small);
    D[3] = (shs_real)small;
    y[1] = (shs_real)across;
    o.tolerance = 1;
    for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++) {
        o.gram_mode = (shs_gram_mode)mode;
        assert_ok(shs_omp_ex(NULL, 2, 2, D, 2, 1, y, 2, &o, &codes, NULL, &report));
        assert_true(codes.used[0] == 1 && codes.atoms[0] == 1);
        assert_close(codes.coefs[0], 2, 1e-5);
        assert_int_equal(report.not_reached, 1);
        assert_close(report.sum2, across * across - 3, 1e-5 * across * across);
    }
    shs_codes_free(NULL, &codes);
}

/* Coefficients fall so fast that the recurrence cannot resolve the next coefficient. Their number exceeds the number of
   restarts from the explicit residual. All coefficients are found. */
static void test_falling_coefficients(void **state) {
    enum { n = OMP_REFRESHES + 2 };
    shs_real D[n * n] = {0}, y[n];
    shs_codes codes = new_codes(1, n);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    int mode, i;
    (void)state;
    for (i = 0; i < n; i++) {
        D[i * n + i] = 1;
        y[i] = (shs_real)pow(BY_TYPE(2e-3, 1e-7), i);
    }
    o.tolerance = (shs_real)BY_TYPE(1e-30, 1e-80);
    for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++) {
        o.gram_mode = (shs_gram_mode)mode;
        assert_ok(shs_omp_ex(NULL, n, n, D, n, 1, y, n, &o, &codes, NULL, &report));
        assert_int_equal(codes.used[0], n);
        for (i = 0; i < n; i++) assert_true(codes.atoms[i] == i && codes.coefs[i] == y[i]);
        assert_true(report.not_reached == 0 && report.sum2 == 0);
    }
    shs_codes_free(NULL, &codes);
}

/* ||y - Dx|| for the codes as stored, in more digits than the library has, where the compiler has them. What rounding takes off each
   product and difference is added at the end: of 1e-14 of the signal a long double alone has five digits. */
static long double distance(const problem *q, const shs_codes *c, size_t i) {
    long double sum = 0;
    int l, k;
    for (l = 0; l < q->p; l++) {
        long double e = (long double)signal_of(q, i)[l], lost = 0;
        for (k = 0; k < c->used[i]; k++) {
            const size_t at = i * (size_t)c->stride + (size_t)k;
            const long double x = (long double)c->coefs[at], d = (long double)q->D[q->p * c->atoms[at] + l];
            const long double x1 = (long double)(float)x, d1 = (long double)(float)d, product = x * d; /* parts' products are exact */
            const long double next = e - product, step = next - e;
            lost -= ((x1 * d1 - product) + x1 * (d - d1) + (x - x1) * d1) + (x - x1) * (d - d1);
            lost += (e - (next - step)) - (product + step);
            e = next;
        }
        e += lost;
        sum += e * e;
    }
    return sqrtl(sum);
}

/* Signals of one to four atoms, some atoms dependent or of different norms, with tolerances from usual ones to unreachable
   ones. A tolerance reported as reached is reached, and errors2 is never below the true error. All signals reach a tolerance
   within the precision of coefficients. */
static void test_reached_is_true(void **state) {
    static const shs_gram_mode modes[] = {SHS_GRAM_ALWAYS, SHS_GRAM_NEVER};
    const long double eps = (long double)REAL_EPS;
    shs_random r;
    int trial, mode, k, l, claimed = 0, held = 0;
    size_t i;
    (void)state;
    if (BY_TYPE(0, 1) && LDBL_MANT_DIG <= DBL_MANT_DIG) skip();
    shs_random_seed(&r, 77);
    for (trial = first_of(test_instance, 4); trial < 600; trial += every(4)) {
        int p = 4 + (int)shs_random_below(&r, 36), n = 4 + (int)shs_random_below(&r, 76), kind = trial % 3;
        shs_real *D = new_normal((size_t)p * (size_t)n, (uint64_t)trial), *Y = (shs_real *)calloc((size_t)p * 10, sizeof *Y);
        shs_real *tolerance = (shs_real *)malloc(10 * sizeof *tolerance), errors2[10];
        shs_codes codes = new_codes(10, p < n ? p : n);
        shs_omp_options o = SHS_ZERO;
        shs_omp_report report;
        problem q;
        for (k = 0; k < p * n && kind == 1; k++) D[k] += 3;
        normalise(p, n, D);
        for (k = 0; k < p * n && kind == 2; k++) D[k] *= (shs_real)pow(10, k / p % 5 - 2);
        for (i = 0; i < 10; i++)
            for (k = 0; k < 1 + trial % 4; k++) {
                int atom = (int)shs_random_below(&r, (uint64_t)n);
                shs_real x = (shs_real)shs_random_normal(&r);
                for (l = 0; l < p; l++) Y[i * (size_t)p + (size_t)l] += x * D[p * atom + l];
            }
        q = problem_of(p, n, 10, D, Y);
        for (i = 0; i < 10; i++) { /* from 1e6 eps |y| to eps |y| / 1e3; of every other signal an ordinary one */
            double exponent = i % 2 ? -1 - 2.5 * (double)shs_random_uniform(&r) : 6 - 9 * (double)shs_random_uniform(&r);
            tolerance[i] = (shs_real)(sqrt((double)q.norms2[i]) * (i % 2 ? 1 : (double)eps) * pow(10, exponent));
        }
        o.tolerance_each = tolerance;
        for (mode = 0; mode < 2; mode++) {
            size_t missed = 0;
            o.gram_mode = modes[mode];
            assert_ok(shs_omp_ex(NULL, p, n, D, p, 10, Y, p, &o, &codes, errors2, &report));
            for (i = 0; i < 10; i++) {
                long double error = distance(&q, &codes, i), norm = (long double)sqrt((double)q.norms2[i]);
                shs_omp_options one = SHS_ZERO;
                shs_codes alone = new_codes(1, codes.stride);
                shs_real error2;
                one.tolerance = tolerance[i];
                one.gram_mode = modes[mode];
                assert_ok(shs_omp_ex(NULL, p, n, D, p, 1, signal_of(&q, i), p, &one, &alone, &error2, &report));
                assert_memory_equal(&error2, errors2 + i, sizeof error2); /* so that it can be said of each signal */
                missed += report.not_reached;
                claimed += !report.not_reached;
                if (!report.not_reached && error > (long double)tolerance[i] * (1 + 1e-6L))
                    fail_msg("trial %d, signal %d, mode %d: %Lg is %Lg of the tolerance, which is %Lg eps |y|", trial, (int)i,
                             mode, error, error / (long double)tolerance[i], (long double)tolerance[i] / (eps * norm));
                if ((long double)tolerance[i] > 30 * eps * norm && kind != 1) held += report.not_reached == 0;
                if (error < 1e-2L * norm && !BY_TYPE(0, error < 1e6L * eps * norm) &&
                    !(sqrt((double)errors2[i]) >= (double)error * (1 - 1e-3)))
                    fail_msg("trial %d, signal %d, mode %d: %Lg |y|, said to be %Lg, limit %Lg", trial, (int)i, mode,
                             error / norm, (long double)sqrt((double)errors2[i]) / norm, (long double)tolerance[i] / norm);
                shs_codes_free(NULL, &alone);
            }
            assert_ok(shs_omp_ex(NULL, p, n, D, p, 10, Y, p, &o, &codes, NULL, &report));
            assert_int_equal(report.not_reached, missed);
        }
        shs_codes_free(NULL, &codes);
        free(tolerance);
        problem_free(&q);
    }
    print_message("reached: %d of %d, %d of them where coefficients hold it\n", claimed, 12000 / every(4), held);
}

/* Tolerances between what the recurrence says of |r| and what it is, where several atoms nearly depend on others: each division
   by a small d enlarges the error of those before. */
static void test_reached_despite_recurrence(void **state) {
    static const int shapes[][3] = {{20, 20, 18}, {8, 8, 8}, {32, 32, 31}};
    const long double eps = (long double)REAL_EPS;
    int trial, shape, g, tried = 0;
    (void)state;
    if (BY_TYPE(0, 1) && LDBL_MANT_DIG <= DBL_MANT_DIG) skip();
    for (trial = first_of(test_instance, 4); trial < 6000; trial += every(4))
        for (shape = 0; shape < 3; shape++) {
            const int p = shapes[shape][0], n = shapes[shape][1];
            shs_real *D = new_normal((size_t)p * (size_t)n, (uint64_t)trial + 1), *Y = new_normal((size_t)p, (uint64_t)trial + 7000);
            shs_codes codes = new_codes(1, shapes[shape][2]);
            shs_omp_options o = SHS_ZERO;
            shs_omp_report report;
            shs_real error2;
            long double said, error;
            problem q;
            normalise(p, n, D);
            q = problem_of(p, n, 1, D, Y);
            o.sparsity = codes.stride;
            o.gram_mode = SHS_GRAM_ALWAYS;
            o.selection = trial / 4 % 2 ? SHS_SELECT_OLS : SHS_SELECT_OMP;
            assert_ok(shs_omp_ex(NULL, p, n, D, p, 1, Y, p, &o, &codes, &error2, NULL));
            said = (long double)sqrt((double)error2);
            error = distance(&q, &codes, 0);
            for (g = 1; g < 8 && said < error; g++) {
                o.tolerance = (shs_real)(said + (error - said) * g / 8);
                assert_ok(shs_omp_ex(NULL, p, n, D, p, 1, Y, p, &o, &codes, NULL, &report));
                tried++;
                if (!report.not_reached && distance(&q, &codes, 0) > (long double)o.tolerance * (1 + 4 * eps))
                    fail_msg("trial %d, %d x %d: %Lg of the tolerance", trial, p, n,
                             distance(&q, &codes, 0) / (long double)o.tolerance);
            }
            shs_codes_free(NULL, &codes);
            problem_free(&q);
        }
    assert_true(tried > 1000);
}

/* A Gram matrix of more than 1 GB is not formed unless asked for. */
static void test_no_huge_gram(void **state) {
    shs_omp_options o = SHS_ZERO;
    size_t automatic = shs_omp_workspace(NULL, 8, 40000, (size_t)1 << 30, 2, &o), always;
    (void)state;
    o.gram_mode = SHS_GRAM_ALWAYS;
    always = shs_omp_workspace(NULL, 8, 40000, (size_t)1 << 30, 2, &o);
    assert_true(automatic < (size_t)1 << 30);
    assert_true(always > (size_t)1 << 30);
}

/* Cancelled after the first of several rounds of signals: those are coded, and counted, the others not. */
/* After a cancellation, groups that were not begun have no atoms, and all other groups are complete. */
static void test_cancelled_groups(void **state) {
    problem q = random_problem(8, 20, 1500, 621);
    shs_codes all = new_codes(q.m, 3), codes = new_codes(q.m, 3);
    shs_context ctx = SHS_ZERO;
    shs_omp_options o = SHS_ZERO;
    size_t *groups, i, before;
    watch w;
    (void)state;
    o.groups = groups = new_groups(q.m, 2, &o.group_count);
    o.sparsity = 3;
    assert_ok(shs_omp_ex(NULL, 8, 20, q.D, 8, q.m, q.Y, 8, &o, &all, NULL, NULL));
    memset(&w, 0, sizeof w);
    w.in_order = 1;
    ctx.progress_fn = watch_progress;
    ctx.progress_user = &w;
    assert_status(shs_omp_ex(&ctx, 8, 20, q.D, 8, q.m, q.Y, 8, &o, &codes, NULL, NULL), SHS_CANCELLED);
    before = w.last_step;
    assert_true(w.in_order && before % 2 == 0);
    assert_in_range(before, 2, q.m - 1);
    assert_identical_codes(&codes, &all, before);
    for (i = before; i < q.m; i++) assert_int_equal(codes.used[i], 0);
    free(groups);
    shs_codes_free(NULL, &all), shs_codes_free(NULL, &codes);
    problem_free(&q);
}

static void test_cancelled_between_rounds(void **state) {
    enum { m = 1300 };
    problem q = random_problem(6, 10, m, 460);
    shs_codes codes = new_codes(m, 2);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    shs_context ctx = SHS_ZERO;
    watch w;
    int i, kept = 0;
    (void)state;
    memset(&w, 0, sizeof w);
    o.sparsity = 2;
    o.signals_per_group = 2;
    for (i = 0; i < m; i++) codes.used[i] = 2;
    ctx.progress_fn = watch_progress;
    ctx.progress_user = &w;
    assert_status(shs_omp_ex(&ctx, 6, 10, q.D, 6, m, q.Y, 6, &o, &codes, NULL, &report), SHS_CANCELLED);
    while (kept < m && codes.used[kept]) kept++;
    assert_in_range(kept, 1, LEAST_ROUNDS > 1 ? m - 1 : m);
    assert_int_equal(kept, w.last_step); /* what was reported as done is what is there */
    for (i = kept; i < m; i++) assert_int_equal(codes.used[i], 0);
    assert_int_equal(report.nonzeros, shs_codes_nonzeros(&codes));
    shs_codes_free(NULL, &codes);
    problem_free(&q);
}

/* A cancelled call reports every signal coded so far, a signal without atoms included. */
static void test_cancelled_in_units(void **state) {
    enum { m = 1300 };
    const shs_real D[] = {1, 0};
    shs_real *Y = (shs_real *)calloc(2 * m, sizeof *Y), *errors2 = (shs_real *)calloc(m, sizeof *errors2);
    shs_codes codes = new_codes(m, 1);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report;
    shs_context ctx = SHS_ZERO;
    watch w;
    double sum2 = 0;
    int i;
    (void)state;
    memset(&w, 0, sizeof w);
    for (i = 0; i < m; i++) Y[2 * i + 1] = (shs_real)ldexp(1, BY_TYPE(-64, -300));
    o.sparsity = 1;
    o.signals_per_group = 2;
    ctx.progress_fn = watch_progress;
    ctx.progress_user = &w;
    assert_status(shs_omp_ex(&ctx, 2, 1, D, 2, m, Y, 2, &o, &codes, errors2, &report), SHS_CANCELLED);
    for (i = 0; i < m; i++) sum2 += (double)errors2[i];
    assert_true(sum2 > 0);
    assert_close((double)report.sum2 / sum2, 1, BY_TYPE(1e-5, 1e-12));
    free(Y);
    free(errors2);
    shs_codes_free(NULL, &codes);
}

/* ||y||^2 at every length: nothing is coded where the tolerance is above it, and the report's sum is that of all signals. */
static void test_norm_of_every_length(void **state) {
    int p, i;
    (void)state;
    for (p = 1; p <= 67; p++) {
        problem q = random_problem(p, 3, 1, 470 + (uint64_t)p);
        shs_codes codes = new_codes(1, 1);
        shs_omp_options o = SHS_ZERO;
        shs_omp_report report;
        double sum = 0;
        for (i = 0; i < p; i++) sum += (double)q.Y[i] * (double)q.Y[i];
        o.sparsity = 1;
        o.tolerance = (shs_real)(1.01 * sqrt(sum));
        assert_ok(shs_omp_ex(NULL, p, 3, q.D, p, 1, q.Y, p, &o, &codes, NULL, &report));
        assert_int_equal(codes.used[0], 0);
        assert_close(report.sum2, sum, 4e-7 * sum);
        shs_codes_free(NULL, &codes);
        problem_free(&q);
    }
}

/* A part of y below the rounding of D'y, beside one that no atom reaches: the residual, formed again, has it. */
static void test_small_part_beside_a_large_one(void **state) {
    static const shs_gram_mode modes[] = {SHS_GRAM_ALWAYS, SHS_GRAM_NEVER};
    problem q = random_problem(40, 60, 1, 475);
    const shs_real small = (shs_real)BY_TYPE(2e-6, 2e-13);
    size_t f;
    int i;
    (void)state;
    for (i = 0; i < 60; i++) memset(q.D + 40 * i + 30, 0, 10 * sizeof *q.D);
    normalise(40, 60, q.D);
    for (i = 0; i < 40; i++) q.Y[i] = q.D[3 * 40 + i] + small * q.D[7 * 40 + i];
    q.Y[35] = (shs_real)0.3;
    for (f = 0; f < 2; f++) {
        shs_codes codes = new_codes(1, 2);
        shs_omp_options o = SHS_ZERO;
        shs_omp_report report;
        o.sparsity = 2;
        o.tolerance = (shs_real)0.1;
        o.gram_mode = modes[f];
        assert_ok(shs_omp_ex(NULL, 40, 60, q.D, 40, 1, q.Y, 40, &o, &codes, NULL, &report));
        assert_int_equal(report.not_reached, 1);
        assert_int_equal(codes.used[0], 2);
        assert_int_equal(codes.atoms[0], 3);
        assert_int_equal(codes.atoms[1], 7);
        assert_close(codes.coefs[1], small, 0.1 * (double)small);
        shs_codes_free(NULL, &codes);
    }
    problem_free(&q);
}

/* With norms, the Gram form reports the same values as the other forms. */
static void test_report_of_gram_form(void **state) {
    problem q = random_problem(20, 30, 25, 477);
    shs_codes codes = new_codes(25, 5), expected = new_codes(25, 5);
    shs_omp_options o = SHS_ZERO;
    shs_omp_report report, of_signals;
    shs_real errors2[25], expected2[25];
    size_t i;
    (void)state;
    o.sparsity = 5;
    o.tolerance = 2;
    assert_ok(shs_omp_ex(NULL, 20, 30, q.D, 20, 25, q.Y, 20, &o, &expected, expected2, &of_signals));
    o.gram = q.gram;
    o.ldg = 30;
    assert_ok(shs_omp_gram(NULL, 30, 25, q.dty, 30, q.norms2, &o, &codes, errors2, &report));
    assert_same_codes(&codes, &expected, 25, SAME);
    for (i = 0; i < 25; i++) assert_close(errors2[i], expected2[i], BY_TYPE(1e-4, 1e-12) * (double)q.norms2[i]);
    assert_close(report.sum2, of_signals.sum2, BY_TYPE(1e-4, 1e-12) * (double)of_signals.sum2);
    assert_int_equal(report.nonzeros, of_signals.nonzeros);
    assert_int_equal(report.not_reached, of_signals.not_reached);
    assert_true(report.rmse >= 0 && report.rmse <= 0);
    o.tolerance = 0;
    assert_ok(shs_omp_gram(NULL, 30, 25, q.dty, 30, NULL, &o, &codes, NULL, NULL));
    assert_status(shs_omp_gram(NULL, 30, 25, q.dty, 30, NULL, &o, &codes, errors2, NULL), SHS_BAD_NORMS);
    assert_status(shs_omp_gram(NULL, 30, 25, q.dty, 30, NULL, &o, &codes, NULL, &report), SHS_BAD_NORMS);
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &expected);
    problem_free(&q);
}

static void assert_atoms_exist(const shs_codes *codes, size_t m, int n) {
    size_t i;
    for (i = 0; i < m; i++) {
        int k;
        assert_in_range(codes->used[i], 0, codes->stride);
        for (k = 0; k < codes->used[i]; k++) assert_in_range(codes->atoms[i * (size_t)codes->stride + (size_t)k], 0, n - 1);
    }
}

/* With correlations that overflow, no rule chooses an atom that does not exist. Most of the 21 atoms fill whole vectors of
   any width, and some follow them. */
static void test_overflowing_correlations(void **state) {
    enum { MOST = 21 };
    const shs_real large = (shs_real)BY_TYPE(1e15, 1e120), larger = (shs_real)BY_TYPE(1e30, 1e250);
    shs_real D[3 * MOST], y[3], gram[MOST * MOST], dty[MOST];
    int i, k, n, selection;
    (void)state;
    for (i = 0; i < 3 * MOST; i++) D[i] = (i % 2 ? large : -large) * (shs_real)(1 + i % 4);
    for (i = 0; i < 3; i++) y[i] = i % 2 ? -larger : larger;
    for (i = 0; i < MOST * MOST; i++) gram[i] = BY_TYPE(3e38f, 1e308) * (i % (MOST + 1) ? -(shs_real)0.5 : 1);
    for (i = 0; i < MOST; i++) dty[i] = BY_TYPE(3e38f, 1e308) * (i % 2 ? -1 : 1);
    for (selection = 0; selection < SHS_SELECTION_COUNT; selection++)
        for (n = 1; n <= MOST; n += 4) {
            shs_codes codes = new_codes(1, 3), one = codes;
            shs_omp_options o = SHS_ZERO;
            size_t size;
            void *workspace;
            one.m = 1;
            o.sparsity = n < 3 ? n : 3;
            o.selection = (shs_selection)selection;
            size = shs_omp_one_direct_workspace(3, n, &o);
            workspace = malloc(size);
            assert_status(shs_omp_one_direct(3, n, D, 3, y, &o, workspace, size, one.atoms, one.coefs, one.used, NULL),
                          SHS_OUT_OF_RANGE);
            assert_atoms_exist(&codes, 1, n);
            free(workspace);
            size = shs_omp_one_workspace(n, &o);
            workspace = malloc(size);
            assert_status(shs_omp_one(n, gram, MOST, dty, 1, &o, workspace, size, one.atoms, one.coefs, one.used, NULL),
                          SHS_OUT_OF_RANGE);
            assert_atoms_exist(&codes, 1, n);
            free(workspace);
            for (k = SHS_GRAM_ALWAYS; k <= SHS_GRAM_NEVER; k++) {
                o.gram_mode = (shs_gram_mode)k;
                assert_ok(shs_omp_ex(NULL, 3, n, D, 3, 1, y, 3, &o, &codes, NULL, NULL));
                assert_atoms_exist(&codes, 1, n);
            }
            shs_codes_free(NULL, &codes);
        }
}

/* Signals of one or two atoms of small integers: rounding alone decides about further coefficients, and none is below 0. */
static void test_nothing_below_zero(void **state) {
    enum { PP = 6, NN = 4, MM = 500, TRIALS = 40 };
    shs_omp_options o = SHS_ZERO;
    shs_codes codes;
    shs_random r;
    int trial, i, k, l;
    (void)state;
    o.sparsity = NN;
    o.nonnegative = 1;
    shs_random_seed(&r, 6);
    assert_ok(shs_codes_create(NULL, MM, NN, &codes));
    for (trial = 0; trial < TRIALS; trial++) {
        shs_real D[PP * NN], Y[PP * MM];
        for (i = 0; i < PP * NN; i++) D[i] = (shs_real)shs_random_below(&r, 9);
        for (i = 0; i < MM; i++) {
            const int a = i % NN, b = i / NN % NN;
            const shs_real of_a = (shs_real)(i % 5), of_b = (shs_real)(i / 7 % 3);
            for (l = 0; l < PP; l++) Y[l + i * PP] = of_a * D[l + a * PP] + of_b * D[l + b * PP];
        }
        assert_ok(shs_omp_ex(NULL, PP, NN, D, PP, MM, Y, PP, &o, &codes, NULL, NULL));
        for (i = 0; i < MM; i++)
            for (k = 0; k < codes.used[i]; k++) assert_true(codes.coefs[i * NN + k] >= 0);
    }
    shs_codes_free(NULL, &codes);
}

/* A group of one signal and the signal alone reach the same tolerances, also those that float hardly resolves. */
static void test_group_of_one_reaches(void **state) {
    enum { PP = 64, NN = 256, MM = 3000, SS = 16 };
    shs_real *D = new_normal(PP * NN, 3), *Y = (shs_real *)calloc(PP * MM, sizeof *Y);
    const size_t first = 0;
    shs_omp_options o = SHS_ZERO;
    shs_codes codes;
    shs_random r;
    int i, k, l;
    (void)state;
    assert_ok(shs_normalize_columns(PP, NN, D, PP, NULL));
    assert_ok(shs_codes_create(NULL, 1, SS, &codes));
    shs_random_seed(&r, 4);
    o.sparsity = SS;
    o.gram_mode = SHS_GRAM_ALWAYS;
    o.group_count = 1;
    for (i = 0; i < MM; i++) {
        shs_real *y = Y + i * PP;
        shs_omp_report alone = SHS_ZERO, group = SHS_ZERO;
        for (k = 0; k < 8; k++) {
            const shs_real *d = D + (size_t)PP * (size_t)shs_random_below(&r, NN);
            const shs_real x = (shs_real)shs_random_normal(&r);
            for (l = 0; l < PP; l++) y[l] += x * d[l];
        }
        o.tolerance = BY_TYPE(5e-8f, 1e-14) * shs_nrm2(PP, y, 1);
        o.groups = NULL;
        o.group_count = 0;
        assert_ok(shs_omp_ex(NULL, PP, NN, D, PP, 1, y, PP, &o, &codes, NULL, &alone));
        o.groups = &first;
        o.group_count = 1;
        assert_ok(shs_omp_ex(NULL, PP, NN, D, PP, 1, y, PP, &o, &codes, NULL, &group));
        assert_int_equal(group.not_reached, alone.not_reached);
    }
    shs_codes_free(NULL, &codes);
    free(D);
    free(Y);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least_squares_of_like_atoms),
        cmocka_unit_test(test_group_of_one_reaches),
        cmocka_unit_test(test_nothing_below_zero),
        cmocka_unit_test(test_fixed_sparsity),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_limits_each),
        cmocka_unit_test(test_clamped_sparsity),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_outputs_change_nothing),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_report_of_nothing_left),
        cmocka_unit_test(test_one_error),
        cmocka_unit_test(test_golden_codes),
        cmocka_unit_test(test_golden_ols),
        cmocka_unit_test(test_golden_nonnegative),
        cmocka_unit_test(test_golden_mask),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_weights_of_any_size),
        cmocka_unit_test(test_golden_groups),
        cmocka_unit_test(test_simultaneous),
        cmocka_unit_test(test_groups_of_one_and_of_equals),
        cmocka_unit_test(test_small_tolerances_of_groups),
        cmocka_unit_test(test_groups_of_nothing),
        cmocka_unit_test(test_threads_of_groups),
        cmocka_unit_test(test_bad_groups),
        cmocka_unit_test(test_missing_values),
        cmocka_unit_test(test_nonnegative),
        cmocka_unit_test(test_atom_leaves),
        cmocka_unit_test(test_nonnegative_of_tiny_atoms),
        cmocka_unit_test(test_subnormal_lengths),
        cmocka_unit_test(test_nonnegative_is_alone),
        cmocka_unit_test(test_nothing_of_an_atom),
        cmocka_unit_test(test_selections),
        cmocka_unit_test(test_dependent_candidates),
        cmocka_unit_test(test_nearly_dependent_atoms),
        cmocka_unit_test(test_nearly_dependent_atoms_of_groups),
        cmocka_unit_test(test_stops_like_double_learned),
        cmocka_unit_test(test_stops_like_double_dct),
        cmocka_unit_test(test_zero_signals),
        cmocka_unit_test(test_zero_atoms),
        cmocka_unit_test(test_equal_atoms),
        cmocka_unit_test(test_dependent_atoms),
        cmocka_unit_test(test_unreachable_tolerance),
        cmocka_unit_test(test_tolerance_too_small),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_lengths_of_atoms),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_units_of_one),
        cmocka_unit_test(test_units_of_signals),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_gram_of_nothing),
        cmocka_unit_test(test_reports_in_units),
        cmocka_unit_test(test_cancelled_in_units),
        cmocka_unit_test(test_atom_without_weight),
        cmocka_unit_test(test_no_exceptions),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_bad_limits_each),
        cmocka_unit_test(test_bad_context),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_bad_gram_form),
        cmocka_unit_test(test_gram_of_one_triangle),
        cmocka_unit_test(test_few_signals),
        cmocka_unit_test(test_bad_one),
        cmocka_unit_test(test_bad_one_not_finite),
        cmocka_unit_test(test_no_signals),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_of_few_signals),
        cmocka_unit_test(test_work_of_many_atoms_is_shared),
        cmocka_unit_test(test_scratch_of_workers),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_workspace_of_gram_form),
        cmocka_unit_test(test_memory_promise),
        cmocka_unit_test(test_workspace_macros),
        cmocka_unit_test(test_workspace_overflow),
        cmocka_unit_test(test_codes_create),
        cmocka_unit_test(test_csc),
        cmocka_unit_test(test_synthesize),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_tolerance_at_the_residual),
        cmocka_unit_test(test_refused_atom),
        cmocka_unit_test(test_falling_coefficients),
        cmocka_unit_test(test_reached_is_true),
        cmocka_unit_test(test_reached_despite_recurrence),
        cmocka_unit_test(test_no_huge_gram),
        cmocka_unit_test(test_cancelled_between_rounds),
        cmocka_unit_test(test_cancelled_groups),
        cmocka_unit_test(test_report_of_gram_form),
        cmocka_unit_test(test_overflowing_correlations),
        cmocka_unit_test(test_norm_of_every_length),
        cmocka_unit_test(test_small_part_beside_a_large_one),
    };
    return run_with_every_instance("sparse coding", tests);
}
