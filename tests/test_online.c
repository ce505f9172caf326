/* test_online.c - online dictionary learning: another system's run, the naive twin, sums that are handed on, ranks, threads,
   memory, and all that can go wrong. */
#include "test_cube_tools.h"
#include "test_signals.h"

/* An engine refuses values beyond the bounds of shs_ksvd_ex, before sums could leave their range. */
#ifdef TEST_CL
enum { BY_ENGINE = 1 };
#else
enum { BY_ENGINE = 0 };
#endif

static const shs_context serial = {.threads = 1};

/* ---- signals ----------------------------------------------------------------------------------------------------- */

enum { P = 13, N = 21, M = 600, S = 3 };

/* Delivers the signals of a matrix in order: this rank's part of every batch. */
typedef struct in_order {
    const shs_real *Y;
    size_t m, at, fails_at; /* fails once it has delivered as many (0: never) */
    size_t skip;            /* signals of other ranks after each batch */
    size_t asked;           /* calls */
    int p;
} in_order;

static int deliver(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    in_order *s = (in_order *)user;
    s->asked++;
    if (s->fails_at && s->at >= s->fails_at) return 7;
    *count = s->m > s->at ? s->m - s->at : 0;
    if (*count > most) *count = most;
    memcpy(Y, s->Y + s->at * (size_t)p, *count * (size_t)p * sizeof *Y);
    s->at += *count ? *count + s->skip : 0;
    return 0;
}

static in_order from(int p, size_t m, const shs_real *Y) {
    in_order s = {0};
    s.p = p;
    s.m = m;
    s.Y = Y;
    return s;
}

static shs_real *new_dictionary(int p, int n, uint64_t seed) {
    shs_real *D = new_normal((size_t)p * (size_t)n, seed);
    normalise(p, n, D);
    return D;
}

/* m signals of `each` atoms of D, with a little noise. */
static shs_real *signals_of(int p, int n, const shs_real *D, size_t m, int each, uint64_t seed) {
    shs_real *Y = new_normal((size_t)p * m, seed);
    shs_random r;
    size_t i;
    int k, l;
    shs_random_seed(&r, seed + 1);
    for (i = 0; i < (size_t)p * m; i++) Y[i] *= (shs_real)0.02;
    for (i = 0; i < m; i++)
        for (k = 0; k < each; k++) {
            int atom = (int)shs_random_below(&r, (uint64_t)n);
            shs_real x = (shs_real)(shs_random_normal(&r) + (shs_random_below(&r, 2) ? 1.5 : -1.5));
            for (l = 0; l < p; l++) Y[i * (size_t)p + (size_t)l] += x * D[p * atom + l];
        }
    return Y;
}

static shs_real *small_signals(void) {
    shs_real *D = new_dictionary(P, N, 1), *Y = signals_of(P, N, D, M, S, 2);
    free(D);
    return Y;
}

static shs_online_options small_options(void) {
    shs_online_options o = SHS_ZERO;
    o.coding.sparsity = S;
    o.batch = 60;
    o.seed = 3;
    return o;
}

static void assert_all_close(size_t count, const shs_real *a, const shs_real *b, double bound) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= bound))
            fail_msg("element %d: %.9g and %.9g", (int)i, (double)a[i], (double)b[i]);
}

static void assert_unit_norm(int p, int n, const shs_real *D) {
    int j;
    for (j = 0; j < n; j++) assert_close(inner(p, D + p * j, D + p * j), 1, BY_TYPE(1e-6, 1e-14));
}

/* ---- another system's run ---------------------------------------------------------------------------------------- */

/* One signal at a time, with A = I and B = D0 at the start: the error of all signals after every eighth, D after 16 and 1024.
   In float a tie may fall the other way; what follows is then another dictionary, as good. */
static void check_golden(const char *name, int column, double forgetting) {
    shs_real *Y = read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * 1024);
    shs_real *start = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128);
    shs_real *D = (shs_real *)malloc(64 * 128 * sizeof *D);
    shs_online_record *history = (shs_online_record *)malloc(1024 * sizeof *history);
    FILE *f = open_or_skip(golden_path("variants/online_rmse.csv"));
    double expected[1024], rmse[2];
    char line[256], path[64];
    int k, at, signals[] = {16, 1024}, run, kept = column == 0 ? 2 : 1; /* dictionaries of the other system */
    assert_non_null(fgets(line, sizeof line, f));
    for (k = 0; k < 1024; k++) {
        assert_int_equal(fscanf(f, "%d,%lf,%lf,%*f", &at, rmse, rmse + 1), 3);
        expected[k] = rmse[column];
        assert_int_equal(at, k + 1);
    }
    fclose(f);
    for (run = 0; run < 2; run++) {
        shs_online_options o = SHS_ZERO;
        shs_online_report report = SHS_ZERO;
        in_order source = from(64, 1024, Y);
        shs_real *known;
        memcpy(D, start, 64 * 128 * sizeof *D);
        o.coding.sparsity = 6;
        o.batch = 1;
        o.batches = (size_t)signals[run];
        o.forgetting = (shs_wide)forgetting;
        o.start = SHS_START_GIVEN;
        o.start_weight = 1;
        o.replace = SHS_REPLACE_LEAVE;
        o.test = Y;
        o.test_m = 1024;
        o.test_every = 8;
        report.history = history;
        report.history_most = 1024;
        assert_ok(shs_online_ex(&serial, 64, 128, deliver, &source, &o, D, 64, &report));
        assert_int_equal(report.batches, signals[run]);
        assert_int_equal(report.signal_count, signals[run]);
        for (k = 8; k < signals[run]; k += 8)
            assert_close(history[k].rmse_test, expected[k - 1], BY_TYPE(k <= 64 ? 1e-4 : 2e-2, 1e-9) * expected[k - 1]);
        assert_true(history[9].rmse_test < 0);
        assert_close(report.rmse_test, expected[signals[run] - 1],
                     BY_TYPE(run ? 2e-2 : 1e-4, 1e-9) * expected[signals[run] - 1]);
        if (run == kept) break;
        snprintf(path, sizeof path, "variants/online_D%d_%s.f64", signals[run], name);
        known = read_f64_or_skip(golden_path(path), 64 * 128);
        if (run == 0 || sizeof(shs_real) == 8) assert_all_close(64 * 128, D, known, BY_TYPE(1e-4, 1e-9));
        free(known);
    }
    free(Y);
    free(start);
    free(D);
    free(history);
}

static void test_golden_ff1(void **state) {
    (void)state;
    check_golden("online_ff1", 0, 1);
}
static void test_golden_ff099(void **state) {
    (void)state;
    check_golden("online_ff099", 1, 0.99);
}

/* ---- the naive twin ---------------------------------------------------------------------------------------------- */

static void check_naive(int p, int n, size_t m, size_t batch, int s, double forgetting) {
    shs_real *Y = new_normal((size_t)p * m, 5), *D = new_dictionary(p, n, 6),
             *E = (shs_real *)malloc((size_t)(p * n) * sizeof *E);
    size_t square = (size_t)(n * n), atoms = (size_t)(p * n), i;
    shs_wide *A = (shs_wide *)calloc(2 * (square + atoms), sizeof *A), *B = A + square, *C = B + atoms;
    shs_wide *x = (shs_wide *)malloc((size_t)(s + p + p * s + s * s) * sizeof *x);
    int *chosen = (int *)malloc((size_t)s * sizeof *chosen);
    shs_naive_sums sums;
    shs_online_options o = SHS_ZERO;
    shs_online_report report = SHS_ZERO;
    in_order source = from(p, m, Y);
    memcpy(E, D, atoms * sizeof *E);
    o.coding.sparsity = s;
    o.batch = batch;
    o.forgetting = (shs_wide)forgetting;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.start_weight = (shs_wide)0.5;
    for (i = 0; i < (size_t)n; i++) A[i * (size_t)n + i] = (shs_wide)0.5;
    for (i = 0; i < atoms; i++) B[i] = (shs_wide)0.5 * (shs_wide)E[i];
    sums.forgetting = (shs_wide)forgetting;
    sums.A = A;
    sums.B = B;
    for (i = 0; i < m; i += batch) {
        const size_t now = m - i < batch ? m - i : batch;
        const double t = (double)(i + now) + 8 * n;
        if (forgetting <= 0) sums.forgetting = (shs_wide)pow(t / (t + (double)now), 8);
        shs_online_naive(p, n, E, (ptrdiff_t)now, Y + i * (size_t)p, s, &sums, chosen, x);
    }
    report.sums_xx = C;
    report.sums_yx = C + square;
    assert_ok(shs_online_ex(&serial, p, n, deliver, &source, &o, D, p, &report));
    assert_all_close(atoms, D, E, BY_TYPE(5e-4, 1e-10));
    for (i = 0; i < square + atoms; i++) assert_close(C[i], A[i], BY_TYPE(1e-3, 1e-10) * (1 + fabs((double)A[i])));
    assert_int_equal(report.batches, (m + batch - 1) / batch);
    free(Y);
    free(D);
    free(E);
    free(A);
    free(x);
    free(chosen);
}

static void test_naive(void **state) {
    (void)state;
    check_naive(1, 1, 3, 2, 1, 1);
    check_naive(7, 5, 30, 1, 2, 1);
    check_naive(13, 33, 50, 7, 3, 0.9);
    check_naive(17, 65, 40, 40, 4, 0.5);
    check_naive(31, 20, 64, 64, 1, 0.99);
    check_naive(9, 14, 60, 5, 2, 0);
}

/* ||Y - DX||^2 of all batches without what D does not change: tr(DAD') - 2 tr(D'B). */
static double objective(int p, int n, const shs_real *D, const shs_wide *A, const shs_wide *B) {
    double sum = 0;
    int i, j, l;
    for (j = 0; j < n; j++) {
        for (l = 0; l < p; l++) sum -= 2 * (double)D[l + j * p] * (double)B[l + j * p];
        for (i = 0; i < n; i++) sum += inner(p, D + i * p, D + j * p) * (double)A[i + j * n];
    }
    return sum;
}

/* More sweeps of a batch leave a smaller error, and in the end atoms that no sweep moves. */
static void test_sweeps(void **state) {
    static const int sweeps[] = {1, 2, 5, 20, 4000};
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D), *E = (shs_real *)malloc(P * N * sizeof *E);
    shs_wide A[N * N], B[P * N], r[P];
    shs_naive_sums sums;
    double before = HUGE_VAL;
    int k;
    (void)state;
    for (k = 0; k < 5; k++) {
        shs_online_options o = small_options();
        shs_online_report report = SHS_ZERO;
        in_order source = from(P, M, Y);
        double now;
        o.batch = M;
        o.batches = 1;
        o.sweeps = sweeps[k];
        o.replace = SHS_REPLACE_LEAVE;
        report.sums_xx = A;
        report.sums_yx = B;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report));
        now = objective(P, N, D, A, B);
        assert_true(now <= before + 1e-5 * fabs(now));
        before = now;
    }
    memcpy(E, D, P * N * sizeof *E);
    sums.forgetting = 1;
    sums.A = A;
    sums.B = B;
    shs_online_naive(P, N, E, 0, Y, S, &sums, NULL, r);
    assert_all_close(P * N, D, E, BY_TYPE(1e-4, 1e-9));
    free(Y);
    free(D);
    free(E);
}

/* ---- what it learns ---------------------------------------------------------------------------------------------- */

/* Atoms of `truth` that D has, up to sign. */
static int atoms_found(int p, int n, const shs_real *D, const shs_real *truth) {
    int i, j, found = 0;
    for (i = 0; i < n; i++) {
        double best = 0;
        for (j = 0; j < n; j++) best = fmax(best, fabs(inner(p, truth + p * i, D + p * j)));
        found += best > 0.98;
    }
    return found;
}

/* Makes signals on demand, so that they are never in memory at once. */
typedef struct maker {
    const shs_real *truth;
    size_t left;
    uint64_t seed;
} maker;

static int make_signals(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    maker *s = (maker *)user;
    shs_real *made;
    *count = s->left < most ? s->left : most;
    if (*count == 0) return 0;
    made = signals_of(p, 40, s->truth, *count, 3, s->seed += 2);
    memcpy(Y, made, *count * (size_t)p * sizeof *Y);
    s->left -= *count;
    free(made);
    return 0;
}

static void test_recovery(void **state) {
    shs_real *truth = new_dictionary(20, 40, 21), *D = (shs_real *)malloc(20 * 40 * sizeof *D);
    shs_online_record history[80];
    shs_online_options o = SHS_ZERO;
    shs_online_report report = SHS_ZERO;
    maker source = {0};
    (void)state;
    source.truth = truth;
    source.left = 20000;
    source.seed = 22;
    o.coding.sparsity = 3;
    o.batch = 250;
    o.forgetting = (shs_wide)0.95;
    o.replace_every = 1000;
    report.history = history;
    report.history_most = 80;
    assert_ok(shs_online_ex(NULL, 20, 40, make_signals, &source, &o, D, 20, &report));
    assert_int_equal(report.batches, 80);
    assert_int_equal(report.signal_count, 20000);
    assert_unit_norm(20, 40, D);
    assert_true(history[79].rmse < history[0].rmse / 3);
    assert_in_range(atoms_found(20, 40, D, truth), 30, 40);
    free(truth);
    free(D);
}

/* The one call with defaults takes every signal once an epoch. */
static void test_shuffled(void **state) {
    shs_real Y[2 * 50], out[2 * 7];
    shs_signals s = SHS_ZERO;
    int seen[50] = {0}, first[2], i, epoch, total = 0;
    size_t count;
    (void)state;
    for (i = 0; i < 100; i++) Y[i] = (shs_real)(i / 2);
    s.m = 50;
    s.Y = Y;
    s.epochs = 2;
    s.seed = 9;
    for (epoch = 0; epoch < 2; epoch++)
        for (i = 0; i < 50; i++) {
            assert_int_equal(shs_shuffled_signals(&s, 2, 1, out, &count), 0);
            assert_int_equal(count, 1);
            if (i == 0) first[epoch] = (int)out[0];
            assert_int_equal(seen[(int)out[0]]++, epoch);
        }
    assert_int_equal(shs_shuffled_signals(&s, 2, 7, out, &count), 0);
    assert_int_equal(count, 0);
    assert_int_not_equal(first[0], first[1]);
    for (s.delivered = 0;; total += (int)count) {
        assert_int_equal(shs_shuffled_signals(&s, 2, 7, out, &count), 0);
        if (!count) break;
    }
    assert_int_equal(total, 100);
    s.m = 0;
    s.delivered = 0;
    assert_int_equal(shs_shuffled_signals(&s, 2, 7, out, &count), 0);
    assert_int_equal(count, 0);
}

static void test_defaults(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D), *E = (shs_real *)malloc(P * N * sizeof *E);
    shs_online_options o = shs_online_defaults(P, N);
    shs_signals s = SHS_ZERO;
    (void)state;
    assert_int_equal(o.batch, 512);
    assert_int_equal(o.coding.sparsity, 1);
    assert_int_equal(o.replace_every, 100 * N);
    assert_close(o.forgetting, 0, 0);
    assert_ok(shs_online(&serial, P, N, M, Y, S, 3, D));
    assert_unit_norm(P, N, D);
    s.m = M;
    s.Y = Y;
    s.epochs = 3;
    o.coding.sparsity = S;
    o.replace_every = 100 * N / S;
    assert_ok(shs_online_ex(&serial, P, N, shs_shuffled_signals, &s, &o, E, P, NULL));
    assert_memory_equal(D, E, P * N * sizeof *D);
    free(Y);
    free(D);
    free(E);
}

/* An unused atom is replaced by a used one, and the sums stay as without the unused atom. */
static void test_replacement(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D), *given = new_dictionary(P, N, 31);
    int replace, i, j;
    (void)state;
    for (i = 0; i < M; i++) Y[P * i + P - 1] = 0; /* atom 4 is of the last element alone, which no signal has */
    for (j = 0; j < N; j++) given[P * j + P - 1] = 0;
    memset(given + 4 * P, 0, P * sizeof *given);
    given[4 * P + P - 1] = 1;
    normalise(P, N, given);
    for (replace = SHS_REPLACE_WORST; replace <= SHS_REPLACE_RANDOM; replace++) {
        shs_online_options o = small_options();
        shs_online_report report = SHS_ZERO;
        shs_online_record history[10];
        in_order source = from(P, M, Y);
        o.start = SHS_START_GIVEN;
        o.replace = (shs_replace)replace;
        o.replace_every = 300;
        o.prune_coherence = 1;
        report.history = history;
        report.history_most = 10;
        memcpy(D, given, P * N * sizeof *D);
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report));
        assert_unit_norm(P, N, D);
        for (i = 0; i < 4; i++) assert_int_equal(history[i].replaced, 0);
        assert_int_equal(history[4].replaced, replace != SHS_REPLACE_LEAVE);
        assert_int_equal(memcmp(D + 4 * P, given + 4 * P, P * sizeof *D) == 0, replace == SHS_REPLACE_LEAVE);
        assert_int_equal(history[9].atoms_used == N, replace != SHS_REPLACE_LEAVE);
    }
    free(Y);
    free(D);
    free(given);
}

/* One of two equal atoms is replaced, and the sums of earlier signals lose the replaced atom. */
static void test_sums_forget_a_replaced_atom(void **state) {
    shs_real *Y = small_signals(), *start = new_dictionary(P, N, 33), D[P * N], E[P * N];
    shs_wide A[N * N], B[P * N], A0[N * N], B0[P * N];
    shs_online_record record;
    int run, j, k, l, gone = -1;
    (void)state;
    for (l = 0; l < P; l++) start[3 * P + l] = start[8 * P + l] + (l == 0 ? (shs_real)0.01 : 0);
    normalise(P, N, start);
    for (run = 0; run < 2; run++) { /* the first run does not replace */
        shs_online_options o = small_options();
        shs_online_report report = SHS_ZERO;
        in_order source = from(P, M, Y);
        shs_real *now = run ? E : D;
        memcpy(now, start, P * N * sizeof *now);
        o.start = SHS_START_GIVEN;
        o.batches = 1;
        o.batch = M;
        o.start_weight = 1000;
        o.forgetting = 1;
        o.replace_every = 1;
        o.replace = run ? SHS_REPLACE_WORST : SHS_REPLACE_LEAVE;
        o.prune_coherence = (shs_real)0.97;
        report.sums_xx = run ? A : A0;
        report.sums_yx = run ? B : B0;
        report.history = &record;
        report.history_most = 1;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, now, P, &report));
    }
    assert_int_equal(record.pruned, 1);
    for (j = 0; j < N; j++) /* in the other atoms at most a last bit may differ: sums hold in theirs which atoms were used */
        for (l = 0; l < P; l++)
            if (fabs((double)D[l + j * P] - (double)E[l + j * P]) > 4 * (double)REAL_EPS) gone = j;
    assert_true(gone == 3 || gone == 8);
    for (k = 0; k < N; k++) {
        assert_close(A[k + gone * N], 0, 0);
        assert_close(A[gone + k * N], 0, 0);
        for (l = 0; l < P; l++)
            assert_close(B[l + k * P],
                         k == gone ? 0 : (double)B0[l + k * P] - (double)D[l + gone * P] * (double)A0[k + gone * N],
                         BY_TYPE(1e-3, 1e-10));
    }
    free(Y);
    free(start);
}

/* A pause: signals within the tolerance, which use no atom. By a tolerance alone, the dictionary and its sums stay, however long it
   lasts, and no atom is replaced. */
static void test_pause(void **state) {
    enum { BATCHES = 200 };
    shs_real *Y = small_signals(), *quiet = new_normal((size_t)P * M, 9), D[P * N], E[P * N];
    shs_wide A[2][N * N], B[2][P * N];
    shs_online_options o = SHS_ZERO;
    shs_online_report report = SHS_ZERO;
    in_order source = from(P, M, Y);
    int k;
    (void)state;
    for (k = 0; k < P * M; k++) quiet[k] *= (shs_real)1e-4;
    o.coding.tolerance = (shs_real)0.3;
    o.batch = 60;
    o.seed = 3;
    report.sums_xx = A[0];
    report.sums_yx = B[0];
    assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report));
    memcpy(A[1], A[0], sizeof A[1]);
    memcpy(B[1], B[0], sizeof B[1]);
    memcpy(E, D, sizeof E);
    o.start = SHS_START_GIVEN;
    report.sums_xx = A[1];
    report.sums_yx = B[1];
    for (k = 0; k < BATCHES; k++) {
        o.first_batch = (size_t)(M / 60 * (k + 1));
        source = from(P, M, quiet);
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, E, P, &report));
    }
    assert_memory_equal(E, D, sizeof D);
    assert_memory_equal(A[1], A[0], sizeof A[1]);
    assert_memory_equal(B[1], B[0], sizeof B[1]);
    free(Y);
    free(quiet);
}

/* After a pause learning begins as it would without: the first signals soon count little. Batches that had coefficients are what
   a call goes on from. */
static void test_after_a_pause(void **state) {
    enum { QUIET = 3000 };
    shs_real *Y = (shs_real *)malloc((QUIET + M) * P * sizeof *Y), *signals = small_signals(), D[P * N], E[P * N];
    shs_wide A[2][N * N], B[2][P * N];
    int k, run;
    (void)state;
    for (k = 0; k < QUIET * P; k++) Y[k] = signals[k % (M * P)] * (shs_real)1e-5;
    memcpy(Y + QUIET * P, signals, M * P * sizeof *Y);
    for (run = 0; run < 2; run++) { /* the second run without the pause, in two calls */
        shs_online_options o = SHS_ZERO;
        shs_online_report report = SHS_ZERO;
        in_order source = run ? from(P, M, signals) : from(P, QUIET + M, Y);
        shs_real *to = run ? E : D;
        o.coding.tolerance = (shs_real)0.3;
        o.batch = 60;
        o.start = SHS_START_GIVEN;
        o.replace_every = 4 * 60;
        assert_ok(shs_dictionary_random(P, N, to, P, 4));
        report.sums_xx = A[run];
        report.sums_yx = B[run];
        if (run) o.batches = 4;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, to, P, &report));
        if (!run) continue;
        o.batches = 0;
        o.first_batch = 4;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, to, P, &report));
    }
    assert_memory_equal(E, D, sizeof D);
    assert_memory_equal(A[1], A[0], sizeof A[1]);
    assert_memory_equal(B[1], B[0], sizeof B[1]);
    free(Y);
    free(signals);
}

/* Nonnegative codes: the sums hold nothing negative of them. */
static void test_nonnegative_codes(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    shs_online_options o = small_options();
    shs_online_report report = SHS_ZERO;
    in_order source = from(P, M, Y);
    shs_wide A[N * N];
    int i;
    (void)state;
    o.coding.nonnegative = 1;
    report.sums_xx = A;
    assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report));
    for (i = 0; i < N * N; i++) assert_true(A[i] >= 0);
    assert_unit_norm(P, N, D);
    free(Y);
    free(D);
}

static int smallest_is_below_0(size_t count, const shs_real *x) {
    size_t i;
    for (i = 0; i < count; i++)
        if (x[i] < 0) return 1;
    return 0;
}

/* Nonnegative atoms: none is below 0 whatever it starts from and is replaced by, and the signals are learnt all the same. */
static void test_nonnegative_atoms(void **state) {
    static const shs_start starts[] = {SHS_START_SIGNALS, SHS_START_RANDOM, SHS_START_GIVEN};
    static const shs_replace replacements[] = {SHS_REPLACE_WORST, SHS_REPLACE_LEAVE, SHS_REPLACE_RANDOM};
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    int i, start, replace;
    (void)state;
    for (i = 0; i < P * M; i++)
        if (Y[i] < 0) Y[i] = -Y[i];
    for (start = 0; start < 3; start++)
        for (replace = 0; replace < 3; replace++) {
            shs_online_options o = small_options();
            shs_online_report report = SHS_ZERO;
            shs_online_record history[64];
            in_order source = from(P, M, Y);
            assert_ok(shs_dictionary_random(P, N, D, P, 5));
            o.nonnegative = 1;
            o.start = starts[start];
            o.replace = replacements[replace];
            o.replace_every = 50;
            report.history = history;
            report.history_most = 64;
            assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report));
            assert_false(smallest_is_below_0(P * N, D));
            assert_unit_norm(P, N, D);
            assert_true(report.batches > 1 && report.batches <= 64);
            assert_true(history[report.batches - 1].rmse < history[1].rmse); /* batch 0 may be coded by signals of its own */
        }
    free(Y);
    free(D);
}

/* ---- the same whichever way it is taken -------------------------------------------------------------------------- */

/* 5 + 5 batches equal 10. */
static void test_resume(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D), *E = (shs_real *)malloc(P * N * sizeof *E);
    shs_wide sums[2][N * N + P * N];
    int part;
    (void)state;
    for (part = 0; part < 2; part++) {
        shs_online_options o = small_options();
        shs_online_report report = SHS_ZERO;
        in_order source = from(P, M, Y);
        shs_real *to = part ? E : D;
        o.forgetting = (shs_wide)0.8;
        o.replace = SHS_REPLACE_LEAVE;
        report.sums_xx = sums[part];
        report.sums_yx = sums[part] + N * N;
        o.batches = part ? 5 : 10;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, to, P, &report));
        if (!part) continue;
        o.first_batch = 5;
        o.start = SHS_START_GIVEN;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, to, P, &report));
    }
    assert_memory_equal(D, E, P * N * sizeof *D);
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    free(Y);
    free(D);
    free(E);
}

/* However a run is cut, and whenever unused atoms are looked for: nothing but the sums and the dictionary goes on. Few signals,
   all of the first batch, use the last atom; two atoms begin alike. */
static void test_resume_anywhere(void **state) {
    enum { SIGNALS = 40, BATCHES = 8, COUNT = SIGNALS * BATCHES };
    static const size_t every[] = {1, 40, 79, 100, 130, 321};
    static const shs_replace rules[] = {SHS_REPLACE_WORST, SHS_REPLACE_RANDOM, SHS_REPLACE_LEAVE};
    shs_real *Y = new_normal(P * COUNT, 31), *start = new_normal(P * N, 32), D[P * N], E[P * N];
    shs_wide sums[2][N * N + P * N];
    size_t e, rule, cut, i, replaced = 0;
    (void)state;
    for (i = 0; i < P * COUNT; i++)
        if (i % P == P - 1) Y[i] = 0;
    for (i = 0; i < 3; i++) {
        memset(Y + i * P, 0, P * sizeof *Y);
        Y[i * P + P - 1] = 3;
    }
    for (i = 0; i < N; i++) start[i * P + P - 1] = 0;
    memset(start + (N - 1) * P, 0, P * sizeof *start);
    start[N * P - 1] = 1;
    memcpy(start + P, start, P * sizeof *start);
    normalise(P, N, start);
    for (e = 0; e < sizeof every / sizeof every[0]; e++)
        for (rule = 0; rule < 3; rule++)
            for (cut = 0; cut < BATCHES; cut++) { /* 0: in one run, which is what the others are compared with */
                shs_online_options o = SHS_ZERO;
                shs_online_report report = SHS_ZERO;
                shs_online_record history[BATCHES];
                in_order source = from(P, COUNT, Y);
                shs_real *to = cut ? E : D;
                shs_wide *own = sums[cut > 0];
                o.coding.sparsity = 2;
                o.batch = SIGNALS;
                o.start = SHS_START_GIVEN;
                o.forgetting = (shs_wide)0.9;
                o.replace = rules[rule];
                o.replace_every = every[e];
                o.batches = cut;
                report.sums_xx = own;
                report.sums_yx = own + N * N;
                report.history = history;
                report.history_most = BATCHES;
                memcpy(to, start, P * N * sizeof *to);
                assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, to, P, &report));
                for (i = 0; !cut && i < report.batches; i++) replaced += (size_t)(history[i].replaced + history[i].pruned);
                if (!cut) continue;
                o.first_batch = cut;
                o.batches = 0;
                assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, to, P, &report));
                assert_memory_equal(D, E, sizeof D);
                assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
            }
    assert_true(replaced > 20);
    free(Y);
    free(start);
}

/* A run with pauses goes on as if in one call, and as without the pauses: batches with coefficients are what is counted. */
static void test_resume_after_a_pause(void **state) {
    enum { SIGNALS = 40, BATCHES = 12, COUNT = SIGNALS * BATCHES };
    static const int silent[BATCHES] = {1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0};
    static const shs_replace rules[] = {SHS_REPLACE_WORST, SHS_REPLACE_RANDOM};
    shs_real *Y = small_signals(), *without = (shs_real *)malloc(P * COUNT * sizeof *Y), D[P * N], E[P * N];
    shs_wide sums[2][N * N + P * N];
    double errors[BATCHES]; /* of the test set, of each batch with coefficients */
    int rule, cut, i, replaced = 0;
    size_t heard = 0;
    (void)state;
    for (i = 0; i < BATCHES; i++) {
        shs_real *batch = Y + i * SIGNALS * P;
        if (silent[i]) memset(batch, 0, SIGNALS * P * sizeof *Y);
        else memcpy(without + heard++ * SIGNALS * P, batch, SIGNALS * P * sizeof *Y);
    }
    for (rule = 0; rule < 2; rule++)
        for (cut = 0; cut < BATCHES; cut++) { /* 0: without pauses, in one call, which the others are compared with */
            shs_online_options o = small_options();
            shs_online_report report = SHS_ZERO;
            shs_online_record history[BATCHES];
            in_order source = cut ? from(P, COUNT, Y) : from(P, heard * SIGNALS, without);
            shs_real *to = cut ? E : D;
            shs_wide paused; /* the error that a pause before this batch took */
            size_t k, done = 0;
            o.batch = SIGNALS;
            o.replace = rules[rule];
            o.replace_every = 50;
            o.prune_coherence = (shs_real)0.5;
            o.test = Y;
            o.test_m = 70;
            o.test_every = 2;
            report.sums_xx = sums[cut > 0];
            report.sums_yx = sums[cut > 0] + N * N;
            report.history = history;
            report.history_most = BATCHES;
            do {
                o.batches = o.first_batch || !cut ? 0 : (size_t)cut;
                assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, to, P, &report));
                for (k = 0, paused = -1; k < report.batches; k++) {
                    shs_wide error = history[k].rmse_test;
                    if (paused >= 0) assert_true(error < 0); /* the dictionary is the same: once is enough */
                    if (paused >= 0) error = paused;
                    paused = -1;
                    if (!(history[k].mean_atoms > 0) && done > 0) paused = error;
                    if (!(history[k].mean_atoms > 0)) continue;
                    if (cut) assert_close(error, errors[done], 0);
                    errors[done++] = (double)error;
                    replaced += history[k].replaced + history[k].pruned;
                }
                o.first_batch = done;
                if (done) o.start = SHS_START_GIVEN;
            } while (source.at < source.m);
            assert_int_equal(done, heard);
            if (!cut) continue;
            assert_memory_equal(D, E, sizeof D);
            assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
        }
    assert_true(replaced > 20);
    free(Y);
    free(without);
}

typedef struct looker {
    const shs_online_report *report;
    shs_real seen[P * N];
    int calls, stop_at;
    size_t steps;
    double error;
} looker;

static int look(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    looker *w = (looker *)user;
    assert_string_equal(phase, "learning online");
    assert_int_equal(step, ++w->calls);
    w->steps = steps;
    w->error = (double)error;
    memcpy(w->seen, w->report->dictionary, sizeof w->seen);
    return w->calls == w->stop_at;
}

/* The unit of the signals, a power of 2, changes the sums and nothing else: small, large, and none. */
static void test_units(void **state) {
    static const int units[] = {0, BY_TYPE(-100, -200), BY_TYPE(100, 200)};
    shs_real *Y, *D[2];
    shs_wide *sums;
    int k;
    size_t i;
    (void)state;
    if (sizeof(shs_wide) == sizeof(float)) skip(); /* squares leave its range */
    Y = small_signals();
    sums = (shs_wide *)malloc(2 * (N * N + P * N) * sizeof *sums);
    for (k = 0; k < 2; k++) D[k] = (shs_real *)malloc(P * N * sizeof(shs_real));
    for (k = 0; k < 3; k++) {
        const double unit = ldexp(1, units[k]);
        shs_online_options o = small_options();
        shs_online_report report = SHS_ZERO;
        in_order source;
        shs_real *scaled = small_signals();
        for (i = 0; i < P * M; i++) scaled[i] = Y[i] * (shs_real)unit;
        source = from(P, M, scaled);
        o.replace = SHS_REPLACE_LEAVE;
        report.sums_xx = sums + (k > 0) * (N * N + P * N);
        report.sums_yx = report.sums_xx + N * N;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D[k > 0], P, &report));
        for (i = 0; i < N * N + P * N; i++) assert_close(report.sums_xx[i] / unit / unit, sums[i], 0);
        assert_memory_equal(D[k > 0], D[0], P * N * sizeof **D);
        free(scaled);
    }
    free(Y);
    free(sums);
    free(D[0]);
    free(D[1]);
}

/* Whatever is done of a run that is cancelled is what a run of as many batches does, and was seen before. */
static void test_cancel(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D), *E = (shs_real *)malloc(P * N * sizeof *E);
    looker w;
    int k;
    (void)state;
    for (k = 1; k <= 11; k++) {
        shs_online_options o = small_options();
        shs_online_report report = SHS_ZERO;
        shs_online_record history[10];
        shs_context ctx = SHS_ZERO;
        in_order source = from(P, M, Y);
        size_t i;
        memset(&w, 0, sizeof w);
        w.report = &report;
        w.stop_at = k;
        ctx.threads = 1;
        ctx.progress_fn = look;
        ctx.progress_user = &w;
        report.history = history;
        report.history_most = 10;
        for (i = 0; i < P * N; i++) D[i] = (shs_real)NAN; /* not read by this start */
        assert_status(shs_online_ex(&ctx, P, N, deliver, &source, &o, D, P, &report), k <= 10 ? SHS_CANCELLED : SHS_OK);
        assert_int_equal(report.batches, k < 10 ? k : 10);
        assert_true(report.rmse_test < 0);
        assert_null(report.dictionary);
        assert_memory_equal(D, w.seen, sizeof w.seen);
        assert_close(w.error, history[report.batches - 1].rmse, 0);
        assert_int_equal(w.steps, report.batches);
        source = from(P, M, Y);
        o.batches = (size_t)k;
        assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, E, P, NULL));
        assert_memory_equal(D, E, P * N * sizeof *D);
    }
    free(Y);
    free(D);
    free(E);
}

static void run_reversed(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    size_t i;
    (void)user;
    for (i = chunks; i-- > 0;) body(arg, i, (int)(i % (size_t)threads));
}

static void test_threads(void **state) {
    shs_real *truth = new_dictionary(24, 70, 41), *Y = signals_of(24, 70, truth, 3000, 3, 42);
    shs_real *D = (shs_real *)malloc(24 * 70 * sizeof *D), *E = (shs_real *)malloc(24 * 70 * sizeof *E);
    int threads, callback;
    (void)state;
    for (threads = 1; threads <= 3; threads++)
        for (callback = 0; callback < 2; callback++) {
            shs_online_options o = SHS_ZERO;
            shs_context ctx = SHS_ZERO;
            in_order source = from(24, 3000, Y);
            o.coding.sparsity = 3;
            o.batch = 700;
            o.replace_every = 1000;
            ctx.threads = threads;
            ctx.parallel_fn = callback ? run_reversed : NULL;
            assert_ok(shs_online_ex(&ctx, 24, 70, deliver, &source, &o, threads + callback > 1 ? E : D, 24, NULL));
            if (threads + callback > 1) assert_memory_equal(D, E, 24 * 70 * sizeof *D);
        }
    free(truth);
    free(Y);
    free(D);
    free(E);
}

#ifdef TEST_CL
/* ---- a device ---------------------------------------------------------------------------------------------------- */

static shs_status (*device_cross)(void *session, shs_wide *B);
static int crossed;

static shs_status count_cross(void *session, shs_wide *B) {
    crossed++;
    return device_cross(session, B);
}

/* The device computes the sums of each batch if it has the stages. The sums equal the CPU's up to rounding. */
static void test_sums_on_device(void **state) {
    shs_real *Y = small_signals(), *D[3];
    shs_wide *xx[3], *yx[3];
    shs_context ctx = SHS_ZERO;
    shs_engine engine;
    int with, i;
    (void)state;
    on_device(&ctx, NULL);
    engine = *ctx.engine;
    device_cross = engine.signals_cross;
    assert_non_null(device_cross);
    for (with = 0; with < 3; with++) { /* 0: the CPU, 1: a device without that stage, 2: with it */
        shs_online_options o = small_options();
        shs_online_report report = SHS_ZERO;
        in_order source = from(P, M, Y);
        D[with] = new_dictionary(P, N, 5);
        xx[with] = (shs_wide *)calloc(N * N, sizeof(shs_wide));
        yx[with] = (shs_wide *)calloc(P * N, sizeof(shs_wide));
        o.start = SHS_START_GIVEN;
        o.batches = 1;
        o.replace = SHS_REPLACE_LEAVE;
        o.batch = 600;
        report.sums_xx = xx[with];
        report.sums_yx = yx[with];
        engine.signals_cross = with == 2 ? count_cross : NULL;
        ctx.engine = &engine;
        crossed = 0;
        assert_ok((SHS__LINK(online_ex))(with ? &ctx : &serial, P, N, deliver, &source, &o, D[with], P, &report));
        assert_int_equal(crossed, with == 2);
        assert_int_equal(report.signal_count, M);
    }
    for (with = 1; with < 3; with++) {
        for (i = 0; i < N * N; i++) /* coefficients differ by some units of their last place, and sums of them likewise */
            assert_close(xx[with][i], xx[0][i], 8 * (double)REAL_EPS * sqrt(xx[0][i / N * (N + 1)] * xx[0][i % N * (N + 1)]));
        for (i = 0; i < P * N; i++) assert_close(yx[with][i], yx[0][i], 2000 * (double)REAL_EPS);
        assert_all_close(P * N, D[with], D[0], 200 * (double)REAL_EPS);
    }
    for (with = 0; with < 3; with++) {
        free(D[with]);
        free(xx[with]);
        free(yx[with]);
    }
    free(Y);
}
#endif

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef struct rank_run {
    shs_online_options o;
    const shs_real *Y;
    shs_real D[MOST_RANKS][P * N];
    shs_status status[MOST_RANKS];
    size_t batches[MOST_RANKS], m[MOST_RANKS];
    int ranks, fails, cancels; /* the rank that does, -1: none */
    shs_wide rmse_test[MOST_RANKS];
} rank_run;

static int stop_at_three(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    (void)user;
    (void)phase;
    (void)steps;
    (void)error;
    return step == 3;
}

static void learn_as_rank(const shs_context *given, int rank, void *arg) {
    rank_run *w = (rank_run *)arg;
    shs_online_options o = w->o;
    shs_online_report report = SHS_ZERO;
    shs_context ctx = *given;
    in_order source = from(P, w->m[rank], w->Y);
    source.at = (size_t)rank * o.batch;
    source.skip = (size_t)(w->ranks - 1) * o.batch;
    if (w->fails == rank) source.fails_at = 4 * o.batch;
    if (w->cancels == rank) ctx.progress_fn = stop_at_three;
    if (o.test && rank) { /* one rank has them all */
        o.test = NULL;
        o.test_m = 0;
    }
    w->status[rank] = shs_online_ex(&ctx, P, N, deliver, &source, &o, w->D[rank], P, &report);
    w->batches[rank] = report.batches;
    w->rmse_test[rank] = report.rmse_test;
}

static void test_ranks(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    rank_run *w = (rank_run *)calloc(1, sizeof *w);
    int ranks, given, r;
    (void)state;
    w->fails = w->cancels = -1;
    for (ranks = 1; ranks <= MOST_RANKS; ranks++)
        for (given = 0; given < 2; given++) {
            in_order source = from(P, M, Y);
            shs_online_options o = small_options();
            shs_online_report report = SHS_ZERO;
            o.batch = 60;
            o.replace_every = given ? 120 : 0;
            o.start = given ? SHS_START_GIVEN : SHS_START_SIGNALS;
            o.test = Y;
            o.test_m = M;
            o.forgetting = (shs_wide)0.9;
            o.replace = given ? SHS_REPLACE_WORST : SHS_REPLACE_LEAVE;
            fill_normal(P * N, D, 51);
            for (r = 0; r < ranks; r++) {
                memcpy(w->D[r], D, sizeof w->D[r]);
                w->m[r] = M;
            }
            w->o = o;
            w->Y = Y;
            w->ranks = ranks;
            w->o.batch = 60 / (size_t)ranks;
            assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report));
            run_ranks(ranks, learn_as_rank, w);
            for (r = 0; r < ranks; r++) {
                assert_ok(w->status[r]);
                assert_int_equal(w->batches[r], 10);
                assert_memory_equal(w->D[r], w->D[0], sizeof w->D[0]);
                if (given) continue; /* the worst of signals whose errors differ by their rounding */
                assert_all_close(P * N, w->D[r], D, BY_TYPE(2e-3, 1e-9));
                assert_close(w->rmse_test[r], report.rmse_test, BY_TYPE(1e-3, 1e-10));
            }
        }
    free(Y);
    free(D);
    free(w);
}

/* A rank without signals, a rank that fails, a rank that cancels, and a rank with one value whose square is out of range. */
static void test_ranks_that_fail(void **state) {
    shs_real *Y = small_signals(), before[P * N];
    rank_run *w = (rank_run *)calloc(1, sizeof *w);
    int r, what, stays;
    (void)state;
    for (what = 0; what < 4 - BY_ENGINE; what++) {
        w->o = small_options();
        w->Y = Y;
        w->ranks = 3;
        w->o.batch = 20;
        w->fails = what == 1 ? 1 : -1;
        w->cancels = what == 2 ? 2 : -1;
        if (what == 3) Y[P * 80] = BY_TYPE((shs_real)1e20, 1e160);
        fill_normal(P * N, before, 61);
        for (r = 0; r < 3; r++) {
            memcpy(w->D[r], before, sizeof before);
            w->m[r] = r == 0 && what == 0 ? 0 : M;
        }
        run_ranks(3, learn_as_rank, w);
        for (r = 0; r < 3; r++) {
            shs_status expected = r == 1 ? SHS_READ_FAILED : SHS_PEER_FAILED;
            if (what == 0) expected = SHS_OK;
            if (what == 2) expected = SHS_CANCELLED;
            if (what == 3) expected = sizeof(shs_real) < sizeof(shs_wide) ? SHS_OK : SHS_OUT_OF_RANGE;
            stays = expected != SHS_OK && expected != SHS_CANCELLED;
            assert_status(w->status[r], expected);
            assert_memory_equal(w->D[r], stays ? before : w->D[0], sizeof before);
            if (what == 2) assert_int_equal(w->batches[r], 3);
        }
    }
    free(Y);
    free(w);
}

/* A pause in front, of silence or within the tolerance, is no start: all is as without it, on each rank. */
static void test_start_after_a_pause(void **state) {
    enum { QUIET = 240 };
    static const double levels[] = {0, 1e-5};
    shs_real *Y = (shs_real *)malloc((QUIET + M) * P * sizeof *Y), *signals = small_signals();
    rank_run *w = (rank_run *)calloc(2, sizeof *w);
    int level, ranks, run, k;
    (void)state;
    memcpy(Y + QUIET * P, signals, M * P * sizeof *Y);
    for (level = 0; level < 2; level++)
        for (ranks = 1; ranks <= 3; ranks++) {
            for (k = 0; k < QUIET * P; k++) Y[k] = signals[k] * (shs_real)levels[level];
            for (run = 0; run < 2; run++) {
                w[run].fails = w[run].cancels = -1;
                w[run].ranks = ranks;
                w[run].o = small_options();
                w[run].o.batch = 60 / (size_t)ranks;
                if (level) {
                    w[run].o.coding.sparsity = 0;
                    w[run].o.coding.tolerance = (shs_real)0.3;
                }
                w[run].Y = run ? signals : Y;
                for (k = 0; k < ranks; k++) w[run].m[k] = run ? M : QUIET + M;
                run_ranks(ranks, learn_as_rank, w + run);
            }
            for (k = 0; k < ranks; k++) {
                assert_ok(w[0].status[k]);
                assert_int_equal(w[0].batches[k], (QUIET + M) / 60);
                assert_memory_equal(w[0].D[k], w[1].D[0], sizeof w[0].D[k]);
            }
            for (k = 0; k < ranks; k++) w[0].m[k] = QUIET; /* and nothing after it */
            run_ranks(ranks, learn_as_rank, w);
            for (k = 0; k < ranks; k++) {
                assert_ok(w[0].status[k]);
                assert_int_equal(w[0].batches[k], QUIET / 60);
                assert_unit_norm(P, N, w[0].D[k]);
            }
            w[0].cancels = ranks - 1; /* in the pause */
            run_ranks(ranks, learn_as_rank, w);
            for (k = 0; k < ranks; k++) {
                assert_status(w[0].status[k], SHS_CANCELLED);
                assert_int_equal(w[0].batches[k], 3);
                assert_unit_norm(P, N, w[0].D[k]);
            }
        }
    free(Y);
    free(signals);
    free(w);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void test_memory(void **state) {
    shs_real *Y = small_signals(), D[P * N], E[P * N], before[P * N];
    int variant;
    (void)state;
    for (variant = 0; variant < 8; variant++) {
        shs_online_options o = small_options();
        shs_context ctx = SHS_ZERO;
        shs_arena arena;
        in_order source = from(P, M, Y);
        size_t query;
        void *memory;
        if (variant & 1) {
            o.test = Y;
            o.test_m = 50;
        }
        if (variant & 2) o.batch = 1;
        if (variant & 4) o.coding.nonnegative = 1;
        o.batches = 20;
        ctx.threads = 2;
        query = shs_online_workspace(&ctx, P, N, &o);
        memory = malloc(query);
        assert_ok(shs_online_ex(&ctx, P, N, deliver, &source, &o, E, P, NULL));
        shs_arena_init(&arena, memory, query);
        shs_arena_attach(&arena, &ctx);
        source = from(P, M, Y);
        assert_ok(shs_online_ex(&ctx, P, N, deliver, &source, &o, D, P, NULL));
        assert_memory_equal(D, E, sizeof D);
        assert_int_equal(arena.used, 0);
        assert_in_range(arena.peak, query - 128, query);
        shs_arena_init(&arena, memory, query / 2);
        memcpy(before, D, sizeof D);
        source = from(P, M, Y);
        assert_status(shs_online_ex(&ctx, P, N, deliver, &source, &o, D, P, NULL), SHS_NO_MEMORY);
        assert_memory_equal(D, before, sizeof D);
        assert_int_equal(source.asked, 0);
        free(memory);
    }
    {
        shs_online_options o = SHS_ZERO;
        o.batch = SIZE_MAX / 4;
        assert_true(shs_online_workspace(NULL, P, N, &o) == SIZE_MAX);
        assert_true(shs_online_workspace(NULL, 0, N, NULL) == SIZE_MAX && shs_online_workspace(NULL, P, 0, NULL) == SIZE_MAX);
    }
    free(Y);
}

/* ---- what can go wrong ------------------------------------------------------------------------------------------- */

static int deliver_too_many(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    (void)user;
    memset(Y, 0, most * (size_t)p * sizeof *Y);
    *count = most + 1;
    return 0;
}

/* Signals that end, fail or are no numbers, midway. */
static void test_bad_signals(void **state) {
    shs_real *Y = small_signals(), D[P * N], before[P * N];
    shs_online_report report, untouched;
    in_order source;
    shs_online_options o = small_options();
    (void)state;
    fill_normal(P * N, D, 71);
    memcpy(before, D, sizeof D);
    memset(&report, 0, sizeof report);
    untouched = report;
#define FAILS(expected, fn)                                                                                                    \
    assert_status(shs_online_ex(&serial, P, N, fn, &source, &o, D, P, &report), expected);                                     \
    assert_memory_equal(D, before, sizeof D);                                                                                  \
    assert_memory_equal(&report, &untouched, sizeof report)
    source = from(P, 0, Y);
    FAILS(SHS_BAD_M, deliver);
    source = from(P, M, Y);
    source.fails_at = 180;
    FAILS(SHS_READ_FAILED, deliver);
    assert_int_equal(source.asked, 4);
    source = from(P, M, Y);
    FAILS(SHS_READ_FAILED, deliver_too_many);
    Y[P * 130] = (shs_real)NAN;
    FAILS(SHS_SIGNALS_NOT_FINITE, deliver);
    assert_int_equal(source.asked, 3);
    FAILS(SHS_BAD_SIGNALS, NULL);
    o.test = Y;
    o.test_m = M;
    source = from(P, M, Y);
    FAILS(SHS_SIGNALS_NOT_FINITE, deliver);
    assert_int_equal(source.asked, 0);
#undef FAILS
    memset(Y, 0, P * M * sizeof *Y);
    o.test_m = 0;
    source = from(P, M, Y);
    assert_ok(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report)); /* zeros have no atoms */
    assert_unit_norm(P, N, D);
    free(Y);
}

/* Two batches of signals in a unit, or with one such value in the second alone. */
static shs_status learn_in_unit(double unit, int one_value, shs_real *D, shs_online_report *report) {
    shs_real *Y = small_signals();
    shs_online_options o = small_options();
    in_order source = from(P, 2 * o.batch, Y);
    shs_status status;
    size_t i;
    if (one_value) Y[P * 70] = (shs_real)unit;
    for (i = 0; i < P * M && !one_value; i++) Y[i] *= (shs_real)unit;
    status = shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, report);
    free(Y);
    return status;
}

/* Delivers `left` signals of Y once. */
typedef struct two_signals {
    const shs_real *Y;
    size_t left;
} two_signals;

static int deliver_two(void *user, int p, size_t most, shs_real *Y, size_t *count) {
    two_signals *of = (two_signals *)user;
    *count = of->left;
    assert_true(of->left <= most);
    memcpy(Y, of->Y, of->left * (size_t)p * sizeof *Y);
    of->left = 0;
    return 0;
}

/* A value whose square is too large is seen where no atom takes it, too: errors would be infinite. */
static void test_out_of_range_beside_atoms(void **state) {
    const double large = sizeof(shs_wide) == sizeof(float) ? 1e20 : 1e160;
    shs_real Y[8] = {0}, D[4] = {0, 1, 0, 0};
    shs_online_options o = SHS_ZERO;
    two_signals of = {Y, 2};
    (void)state;
    if (BY_ENGINE || sizeof(shs_wide) > sizeof(shs_real)) skip(); /* squares of floats are within the range of double */
    Y[0] = (shs_real)large;
    Y[5] = 1;
    o.coding.sparsity = 1;
    o.start = SHS_START_GIVEN;
    o.batch = 2;
    assert_status(shs_online_ex(&serial, 4, 1, deliver_two, &of, &o, D, 4, NULL), SHS_OUT_OF_RANGE);
    assert_close(D[1], 1, 0);
}

/* Sums of squares that over- or underflow teach nothing: that is said, and the dictionary and the sums stay. In other units the
   dictionary is that of unit 1. Doubles hold the squares of all floats. */
static void test_out_of_range(void **state) {
    static const struct {
        double in_double, in_float, without_doubles;
        int one_value;
        shs_status expected; /* where squares are of the signals' own type */
    } cases[] = {
        {1e152, 1e36, 1e17, 0, SHS_OK},
        {1e-144, 1e-36, 1e-14, 0, SHS_OK},
        {1e155, 1e36, 1e19, 0, SHS_OUT_OF_RANGE},
        {1e200, 1e36, 1e30, 0, SHS_OUT_OF_RANGE},
        {1e-148, 1e-36, 1e-17, 0, SHS_OUT_OF_RANGE},
        {1e-170, 1e-36, 1e-30, 0, SHS_OUT_OF_RANGE},
        {1e160, 1e38, 1e20, 1, SHS_OUT_OF_RANGE},
        {1e-300, 1e-38, 1e-38, 1, SHS_OK}, /* one faint value harms nobody */
    };
    shs_real D[P * N], before[P * N], unit_one[P * N];
    shs_wide sums[N * N + P * N], sums_before[N * N + P * N];
    size_t i, k;
    (void)state;
    if (BY_ENGINE) skip();
    assert_ok(learn_in_unit(1, 0, unit_one, NULL));
    fill_normal(P * N, before, 72);
    for (i = 0; i < N * N + P * N; i++) sums_before[i] = (shs_wide)i;
    for (k = 0; k < sizeof cases / sizeof *cases; k++) {
        shs_online_report report = SHS_ZERO;
        double unit = BY_TYPE(cases[k].in_float, cases[k].in_double);
        shs_status expected = BY_TYPE(SHS_OK, cases[k].expected);
        if (sizeof(shs_wide) == sizeof(float)) {
            unit = cases[k].without_doubles;
            expected = cases[k].expected;
        }
        report.sums_xx = sums;
        report.sums_yx = sums + N * N;
        memcpy(D, before, sizeof D);
        memcpy(sums, sums_before, sizeof sums);
        assert_status(learn_in_unit(unit, cases[k].one_value, D, &report), expected);
        assert_int_equal(report.batches, expected == SHS_OK ? 2 : 0);
        if (expected == SHS_OK) {
            if (!cases[k].one_value) assert_all_close(P * N, D, unit_one, BY_TYPE(1e-3, 1e-9));
            continue;
        }
        assert_memory_equal(D, before, sizeof D);
        assert_memory_equal(sums, sums_before, sizeof sums);
    }
}

/* B alone leaves the range: an atom has a small part of large signals. */
static void test_small_part_of_large_signals(void **state) {
    shs_real Y[2] = {BY_TYPE((shs_real)1e17, 1e150), BY_TYPE((shs_real)1e22, 1e159)}, D[2] = {1, 0};
    shs_online_options o = SHS_ZERO;
    in_order source = from(2, 1, Y);
    (void)state;
    if (BY_ENGINE || sizeof(shs_real) < sizeof(shs_wide)) skip(); /* doubles hold products of floats */
    o.coding.sparsity = 1;
    o.start = SHS_START_GIVEN;
    assert_status(shs_online_ex(&serial, 2, 1, deliver, &source, &o, D, 2, NULL), SHS_OUT_OF_RANGE);
    assert_true(D[0] == 1 && D[1] == 0);
}

static void test_bad_options(void **state) {
    shs_real *Y = small_signals(), D[P * N];
    shs_wide sums[N * N];
    static const shs_real tolerances[1] = {1};
    static const int limits[1] = {1};
    (void)state;
    fill_normal(P * N, D, 81);
#define ANSWERS(expected, change)                                                                                              \
    {                                                                                                                          \
        shs_online_options o = small_options();                                                                                \
        shs_online_report report = SHS_ZERO;                                                                                   \
        in_order source = from(P, M, Y);                                                                                       \
        change;                                                                                                                \
        assert_status(shs_online_ex(&serial, P, N, deliver, &source, &o, D, P, &report), expected);                            \
        assert_int_equal(source.asked, 0);                                                                                     \
    }
    ANSWERS(SHS_BAD_FORGETTING, o.forgetting = (shs_wide)1.001)
    ANSWERS(SHS_BAD_FORGETTING, o.forgetting = (shs_wide)-0.5)
    ANSWERS(SHS_BAD_FORGETTING, o.forgetting = (shs_wide)NAN)
    ANSWERS(SHS_BAD_FORGETTING, o.forgetting = (shs_wide)INFINITY)
    ANSWERS(SHS_BAD_OPTIONS, o.start_weight = -1)
    ANSWERS(SHS_BAD_OPTIONS, o.start_weight = (shs_wide)INFINITY)
    ANSWERS(SHS_BAD_ROUNDS, o.sweeps = -1)
    ANSWERS(SHS_BAD_OPTIONS, o.start_canary = 1)
    ANSWERS(SHS_BAD_OPTIONS, o.coding.end_canary = 1)
    ANSWERS(SHS_BAD_OUTPUT, report.end_canary = 1)
    ANSWERS(SHS_BAD_OPTIONS, o.coding.tolerance_each = tolerances)
    ANSWERS(SHS_BAD_OPTIONS, o.coding.sparsity_each = limits)
    ANSWERS(SHS_BAD_OPTIONS, o.coding.skip_nan = 1)
    ANSWERS(SHS_BAD_OPTIONS, o.coding.group_count = 1)
    ANSWERS(SHS_BAD_SPARSITY, o.coding.sparsity = -1)
    ANSWERS(SHS_BAD_OPTIONS, o.replace = (shs_replace)7)
    ANSWERS(SHS_BAD_OPTIONS, o.start = (shs_start)7)
    ANSWERS(SHS_BAD_OPTIONS, o.prune_coherence = -1)
    ANSWERS(SHS_BAD_SIGNALS, o.test_m = 3)
    ANSWERS(SHS_BAD_LDY, (o.test = Y, o.test_m = 3, o.test_ld = P - 1))
    ANSWERS(SHS_BAD_OPTIONS, (o.first_batch = 1, report.sums_xx = sums, report.sums_yx = sums))
    ANSWERS(SHS_BAD_OUTPUT, (o.first_batch = 1, o.start = SHS_START_GIVEN))
    ANSWERS(SHS_DICTIONARY_NOT_FINITE, (o.start = SHS_START_GIVEN, D[5] = (shs_real)NAN))
#undef ANSWERS
    free(Y);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_ff1),
        cmocka_unit_test(test_golden_ff099),
        cmocka_unit_test(test_naive),
        cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_replacement),
        cmocka_unit_test(test_sums_forget_a_replaced_atom),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_after_a_pause),
        cmocka_unit_test(test_nonnegative_codes),
        cmocka_unit_test(test_nonnegative_atoms),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_anywhere),
        cmocka_unit_test(test_resume_after_a_pause),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_threads),
#ifdef TEST_CL
        cmocka_unit_test(test_sums_on_device),
#endif
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_ranks_that_fail),
        cmocka_unit_test(test_start_after_a_pause),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_bad_signals),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_out_of_range_beside_atoms),
        cmocka_unit_test(test_small_part_of_large_signals),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests_name("online learning", tests, NULL, NULL);
}
