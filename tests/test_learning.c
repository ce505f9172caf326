/* test_learning.c - dictionary learning: golden errors of other systems, the naive update, starts, resume, replacement,
   ranks, threads, and all that can go wrong. */
#include "test_signals.h"
#include <pthread.h>
#include <unistd.h>
#ifdef _WIN32
#define alarm(seconds) ((void)(seconds)) /* there is none: threads that wait for ever are not ended */
#endif

/* Most problems here are too small for threads: on a busy machine the threads would wait for each other. */
static const shs_context serial = {.threads = 1};

/* ---- data -------------------------------------------------------------------------------------------------------- */

static shs_real *copy_of(size_t count, const shs_real *x) {
    shs_real *y = (shs_real *)malloc((count ? count : 1) * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, count * sizeof *y);
    return y;
}

static shs_real *new_dictionary(int p, int n, uint64_t seed) {
    shs_real *D = new_normal((size_t)p * (size_t)n, seed);
    normalise(p, n, D);
    return D;
}

/* Signals that really are sparse over some dictionary, with a little noise: 3 atoms of `hidden` each. */
static shs_real *sparse_signals(int p, int hidden, size_t m, uint64_t seed) {
    shs_real *D = new_dictionary(p, hidden, seed), *Y = new_normal((size_t)p * m, seed + 1);
    shs_random r;
    size_t i;
    int k, l;
    shs_random_seed(&r, seed + 2);
    for (i = 0; i < m; i++)
        for (l = 0; l < p; l++) Y[i * (size_t)p + (size_t)l] *= (shs_real)0.05;
    for (i = 0; i < m; i++)
        for (k = 0; k < 3; k++) {
            int atom = (int)shs_random_below(&r, (uint64_t)hidden);
            shs_real x = (shs_real)shs_random_normal(&r);
            for (l = 0; l < p; l++) Y[i * (size_t)p + (size_t)l] += x * D[p * atom + l];
        }
    free(D);
    return Y;
}

/* A small training set that most tests share. */
#define P 12
#define N 20
#define M 400
#define SIGNALS_SEED 11

static shs_real *small_signals(void) { return sparse_signals(P, N, M, SIGNALS_SEED); }

static shs_ksvd_options small_options(void) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = 5;
    o.coding.sparsity = 3;
    o.seed = 7;
    return o;
}

/* One update of the given atoms, where values are missing. */
static shs_ksvd_options one_masked_update(shs_update update, const unsigned char *mask) {
    shs_ksvd_options o = small_options();
    o.update = update;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.start = SHS_START_GIVEN;
    o.iterations = 1;
    o.coding.mask = mask;
    o.coding.ldm = P;
    return o;
}

static void assert_unit_norm(int p, int n, const shs_real *D) {
    int j;
    for (j = 0; j < n; j++) assert_close(inner(p, D + p * j, D + p * j), 1, BY_TYPE(1e-6, 1e-14));
}

static void assert_all_close(size_t count, const shs_real *a, const shs_real *b, double bound) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= bound))
            fail_msg("element %d: %.9g and %.9g", (int)i, (double)a[i], (double)b[i]);
}

/* RMSE of coding Y over D, computed anew. */
static double rmse_of(int p, int n, const shs_real *D, size_t m, const shs_real *Y, const shs_omp_options *coding) {
    int most = p < n ? p : n;
    shs_codes codes;
    shs_omp_report report;
    if (coding->sparsity) most = coding->sparsity;
    assert_ok(shs_codes_create(NULL, m, most, &codes));
    assert_ok(shs_omp_ex(&serial, p, n, D, p, m, Y, p, coding, &codes, NULL, &report));
    shs_codes_free(NULL, &codes);
    return (double)report.rmse;
}

/* ---- golden errors ----------------------------------------------------------------------------------------------- */

static void check_golden_column(int column, int parallel_atoms, int threads) {
    shs_real *Y = read_golden_reals("ksvd_signals_64x4096.f32", 64 * 4096),
             *D = read_golden_reals("ksvd_atoms_64x128.f32", 64 * 128);
    FILE *f = open_or_skip(golden_path("ksvd_rmse_n128_s6.csv"));
    shs_ksvd_record *history = (shs_ksvd_record *)malloc(30 * sizeof *history);
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    char line[256];
    int k, iteration, iterations = every(1) == 1 ? 30 : 15;
    ctx.threads = threads;
    normalise(64, 128, D);
    o.iterations = iterations;
    o.coding.sparsity = 6;
    o.parallel_atoms = parallel_atoms;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.rmse_after_update = 1;
    report.history = history;
    assert_ok(shs_ksvd_ex(&ctx, 64, 128, 4096, Y, 64, &o, D, 64, NULL, &report));
    assert_close(history[0].rmse_coding, 0.0648351546, BY_TYPE(1e-6, 1e-9));
    assert_non_null(fgets(line, sizeof line, f));
    for (k = 0; k < iterations; k++) {
        double expected[5];
        assert_int_equal(
            fscanf(f, "%d,%lf,%lf,%lf,%lf,%lf", &iteration, expected, expected + 1, expected + 2, expected + 3, expected + 4),
            6);
        assert_int_equal(iteration, k + 1);
#ifdef SPARSEHS_DOUBLE
        assert_close(history[k].rmse_update, expected[column], 1e-9);
#else
        if (k < 3) assert_close(history[k].rmse_update, expected[column], 1e-6);
        if (k == iterations - 1) assert_close(history[k].rmse_update, expected[column], 5e-3 * expected[column]);
#endif
        assert_int_equal(history[k].replaced, 0);
        assert_int_equal(history[k].pruned, 0);
    }
    fclose(f);
    free(history);
    free(Y);
    free(D);
}

static void test_golden_aksvd(void **state) {
    (void)state;
    check_golden_column(0, 0, 1);
}
static void test_golden_paksvd_128(void **state) {
    (void)state;
    check_golden_column(1, 128, 2);
}
static void test_golden_paksvd_64(void **state) {
    (void)state;
    check_golden_column(2, 64, 2);
}
static void test_golden_paksvd_16(void **state) {
    (void)state;
    check_golden_column(3, 16, 1);
}
static void test_golden_paksvd_1(void **state) {
    (void)state;
    check_golden_column(4, 1, 1);
}

/* ---- golden rules ------------------------------------------------------------------------------------------------ */

/* A column of a table with a line of names: 20 values, one an iteration. */
static void read_column(const char *table, const char *name, double *values) {
    FILE *f = open_or_skip(golden_path(table));
    char line[4096], *at;
    int column = 0, k, c;
    assert_non_null(fgets(line, sizeof line, f));
    for (at = strtok(line, ",\n"); at && strcmp(at, name) != 0; at = strtok(NULL, ",\n")) column++;
    if (!at) fail_msg("%s has no column %s", table, name);
    for (k = 0; k < 20; k++) {
        assert_non_null(fgets(line, sizeof line, f));
        at = line;
        for (c = 0; c < column; c++) at = strchr(at, ',') + 1;
        values[k] = strtod(at, NULL);
    }
    fclose(f);
}

/* In float, a tie decided the other way changes all later iterations. */
static double bound_of_iteration(int k) { return k < 5 ? BY_TYPE(1e-5, 1e-11) : BY_TYPE(2e-2, 1e-11); }

/* Without doubles IPR's eigenpairs have float's digits, which parts choices from the third iteration on. */
static double bound_of_run(const shs_ksvd_options *o, int k) {
#ifdef SPARSEHS_NO_DOUBLE
    if (o->coherence > 0) return k < 2 ? 1e-4 : 2e-2;
#endif
    (void)o;
    return bound_of_iteration(k);
}

static int goes_the_same_way(const shs_ksvd_record *history, const double *before, const double *after) {
    int k;
    for (k = 0; k < 20; k++)
        if (fabs(history[k].rmse_coding - before[k]) > bound_of_iteration(k) * before[k] ||
            fabs(history[k].rmse_update - after[k]) > bound_of_iteration(k) * after[k])
            return 0;
    return 1;
}

/* Two atoms may tie to the last digit of float in the first iterations. In a tie, starts that differ from D by at most four
   roundings lead both ways: of 32 starts, one gives the expected errors and another gives the errors of `history`. A wrong
   program would not give both. The expected errors are then replaced by the errors of the other start. */
static void expect_another_tie(const shs_ksvd_options *o, const shs_real *Y, const shs_real *D, const shs_ksvd_record *history,
                               double *before, double *after) {
    shs_real *start = copy_of(64 * 128, D);
    shs_ksvd_record record[20];
    double other_before[20], other_after[20];
    shs_ksvd_report report = SHS_ZERO;
    shs_random r;
    size_t i;
    int attempt, k, expected = 0, other = 0;
    report.history = record;
    shs_random_seed(&r, 1);
    for (attempt = 0; attempt < 32 && !(expected && other); attempt++) {
        for (i = 0; i < 64 * 128; i++)
            start[i] = D[i] * (shs_real)(1 + 4 * (double)FLT_EPSILON * (2 * shs_random_uniform(&r) - 1));
        assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, o, start, 64, NULL, &report));
        expected |= goes_the_same_way(record, before, after);
        if (other) continue;
        for (k = 0; k < 20; k++) {
            other_before[k] = record[k].rmse_coding;
            other_after[k] = record[k].rmse_update;
        }
        other = goes_the_same_way(history, other_before, other_after);
    }
    if (expected && other) {
        memcpy(before, other_before, sizeof other_before);
        memcpy(after, other_after, sizeof other_after);
    }
    free(start);
}

/* Turns the atoms that point away from those expected. */
static void align_signs(int p, int n, shs_real *D, const shs_real *expected) {
    int j, l;
    for (j = 0; j < n; j++)
        if (inner(p, D + j * p, expected + j * p) < 0)
            for (l = 0; l < p; l++) D[j * p + l] = -D[j * p + l];
}

/* Another system's run: the dictionary after `first` iterations (0: none is kept), and the errors of 20. */
static void check_golden_run(const char *name, int first, shs_ksvd_options o) {
    shs_real *Y = read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * 1024);
    shs_real *start = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128), *D = copy_of(64 * 128, start);
    double before[20], after[20];
    char path[64];
    shs_ksvd_record history[20];
    shs_ksvd_report report = SHS_ZERO;
    int k;
    read_column("variants/train_rmse_before.csv", name, before);
    read_column("variants/train_rmse.csv", name, after);
    o.coding.sparsity = 6;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    if (first > 0) {
        shs_real *expected;
        snprintf(path, sizeof path, "variants/train_D%d_%s.f64", first, name);
        expected = read_f64_or_skip(golden_path(path), 64 * 128);
        o.iterations = first;
        assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, &o, D, 64, NULL, &report));
        if (o.update == SHS_UPDATE_KSVD) align_signs(64, 128, D, expected); /* those of a pair of singular vectors are free */
        assert_all_close(64 * 128, D, expected, BY_TYPE(1e-4, 1e-11));
        free(expected);
    }
    o.iterations = 20;
    o.rmse_after_update = 1;
    report.history = history;
    memcpy(D, start, 64 * 128 * sizeof *D);
    assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, &o, D, 64, NULL, &report));
    if (BY_TYPE(1, 0) && !goes_the_same_way(history, before, after)) expect_another_tie(&o, Y, start, history, before, after);
    for (k = 0; k < 20; k++) {
        assert_close(history[k].rmse_coding, before[k], bound_of_run(&o, k) * before[k]);
        assert_close(history[k].rmse_update, after[k], bound_of_run(&o, k) * after[k]);
    }
    free(Y);
    free(start);
    free(D);
}

/* The files call N~ atoms at a time p<rule>_N~. */
static void check_golden_rule(shs_update update, int group, int first) {
    char name[32];
    shs_ksvd_options o = SHS_ZERO;
    if (group > 1) snprintf(name, sizeof name, "p%s_%d", shs_update_name(update), group);
    else snprintf(name, sizeof name, "%s", shs_update_name(update));
    o.update = update;
    o.parallel_atoms = group;
    check_golden_run(name, first, o);
}

static void test_golden_rules(void **state) {
    static const int groups[] = {1, 16, 128};
    int u, k, turn = 0;
    (void)state;
    for (u = 0; u <= SHS_UPDATE_KSVD; u++) {
        for (k = 0; k < 3; k++)
            if (!left_out(&turn, every_on_device(5))) check_golden_rule((shs_update)u, groups[k], 1);
    }
    check_golden_rule(SHS_UPDATE_MOD, 1, 1);
}

static void test_golden_nsgk(void **state) {
    (void)state;
    check_golden_rule(SHS_UPDATE_NSGK, 1, 2);
    check_golden_rule(SHS_UPDATE_NSGK, 16, 0);
    check_golden_rule(SHS_UPDATE_NSGK, 128, 2);
}

/* Missing values, as another system learns with them: the dictionary after one iteration and after ten, and the errors over
   what is known. NaN in place of what the mask leaves out is the same to the bit. */
static void test_golden_masked(void **state) {
    shs_real *Y = read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * 1024), *D1, *D10;
    shs_real *start = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128), *D = copy_of(64 * 128, start);
    unsigned char *mask = (unsigned char *)malloc(64 * 1024);
    FILE *f = open_or_skip(golden_path("variants/mask_64x1024.u8"));
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_ksvd_record history[10], again[10];
    double known, all;
    size_t i;
    int k, step;
    (void)state;
    assert_int_equal(fread(mask, 1, 64 * 1024, f), 64 * 1024);
    fclose(f);
    D1 = read_f64_or_skip(golden_path("variants/aksvd_mask_D1.f64"), 64 * 128);
    D10 = read_f64_or_skip(golden_path("variants/aksvd_mask_D10.f64"), 64 * 128);
    o.coding.sparsity = 4;
    o.coding.mask = mask;
    o.coding.ldm = 64;
    o.missing_as_zero = 1;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.iterations = 1;
    assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, &o, D, 64, NULL, NULL));
    assert_all_close(64 * 128, D, D1, BY_TYPE(1e-4, 1e-11));
    memcpy(D, start, 64 * 128 * sizeof *D);
    o.iterations = 10;
    o.rmse_after_update = 1;
    report.history = history;
    assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, &o, D, 64, NULL, &report));
    if (BY_TYPE(0, 1)) assert_all_close(64 * 128, D, D10, 1e-9);
    f = open_or_skip(golden_path("variants/aksvd_mask_rmse.csv"));
    while (fgetc(f) != '\n') {}
    for (k = 0; k < 10; k++) {
        assert_int_equal(fscanf(f, "%d,%lf,%lf", &step, &known, &all), 3);
        assert_close(history[k].rmse_update, known, BY_TYPE(k < 3 ? 1e-5 : 1e-2, 1e-11) * known); /* float: ties flip later */
        assert_true(history[k].rmse_update < history[k].rmse_coding); /* a sweep; single updates of this rule may raise it */
    }
    fclose(f);
    for (i = 0; i < 64 * 1024; i++)
        if (!mask[i]) Y[i] = (shs_real)NAN;
    memcpy(D1, D, 64 * 128 * sizeof *D);
    memcpy(D, start, 64 * 128 * sizeof *D);
    o.coding.mask = NULL;
    o.coding.skip_nan = 1;
    report.history = again;
    assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, &o, D, 64, NULL, &report));
    assert_memory_equal(D, D1, 64 * 128 * sizeof *D);
    assert_memory_equal(history, again, sizeof again);
    free(Y);
    free(D1);
    free(D10);
    free(start);
    free(D);
    free(mask);
}

/* A mask of ones learns the same dictionary as no mask. With missing values, threads and memory change no bit, and missing
   values do not count, whatever they hold. */
static void test_masked(void **state) {
    shs_real *Y = small_signals(), *other = copy_of(P * M, Y);
    unsigned char *mask = (unsigned char *)malloc(P * M);
    shs_real D[P * N], expected[P * N];
    int update, group, threads;
    size_t i;
    (void)state;
    for (update = 0; update <= SHS_UPDATE_SGK; update++)
        for (group = 1; group <= 7; group += 6) {
            shs_ksvd_options o = small_options();
            shs_ksvd_report report = SHS_ZERO, masked = SHS_ZERO;
            o.update = (shs_update)update;
            o.parallel_atoms = group;
            o.iterations = 2;
            assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, expected, P, NULL, &report));
            memset(mask, 1, P * M);
            o.coding.mask = mask;
            o.coding.ldm = P;
            assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &masked));
            assert_all_close(P * N, D, expected, BY_TYPE(1e-3, 1e-11));
            assert_close(masked.rmse, report.rmse, BY_TYPE(1e-4, 1e-11) * report.rmse);
            for (i = 0; i < P * M; i++) mask[i] = (unsigned char)(i % 7 != 3 && i % 5 != 1);
            memset(mask + 2 * P, 0, P); /* a signal of which nothing is there */
            for (i = 0; i < P * M; i++) other[i] = mask[i] ? Y[i] : (shs_real)(1e3 + (double)i);
            assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, expected, P, NULL, &report));
            assert_unit_norm(P, N, expected);
            for (threads = 1; threads <= 3; threads++) {
                shs_context ctx = SHS_ZERO;
                shs_arena arena;
                size_t query;
                void *memory;
                ctx.threads = threads;
                query = shs_ksvd_workspace(&ctx, P, N, M, &o);
                memory = malloc(query);
                shs_arena_attach(&arena, &ctx);
                shs_arena_init(&arena, memory, query - 64);
                assert_status(shs_ksvd_ex(&ctx, P, N, M, other, P, &o, D, P, NULL, &masked), SHS_NO_MEMORY);
                shs_arena_init(&arena, memory, query);
                assert_ok(shs_ksvd_ex(&ctx, P, N, M, other, P, &o, D, P, NULL, &masked));
                assert_memory_equal(D, expected, sizeof D);
                assert_close(masked.rmse, report.rmse, 0);
                free(memory);
            }
        }
    free(Y);
    free(other);
    free(mask);
}

/* A value that nobody sees becomes 0 in every atom that is used, an atom that no signal uses stays, and nothing there at all
   is no error. */
static void test_masked_unseen(void **state) {
    shs_real *Y = small_signals(), D[P * N], before[P * N];
    unsigned char *mask = (unsigned char *)malloc(P * M);
    size_t usage[N], i;
    int j, k, unused = 0;
    (void)state;
    for (k = 0; k < 2; k++) {
        const shs_ksvd_options o = one_masked_update(k ? SHS_UPDATE_SGK : SHS_UPDATE_AKSVD, mask);
        shs_ksvd_report report = SHS_ZERO;
        memset(mask, 1, P * M);
        for (i = 0; i < M; i++) mask[i * P + 4] = 0;
        assert_ok(shs_dictionary_random(P, N, D, P, 3));
        memset(D, 0, P * sizeof *D); /* an atom of that value alone: no signal can use it */
        D[4] = 1;
        memcpy(before, D, sizeof D);
        report.usage_history = usage;
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
        assert_unit_norm(P, N, D);
        for (j = 0; j < N; j++) {
            unused += !usage[j];
            if (usage[j]) assert_close(D[j * P + 4], 0, 0);
            else assert_memory_equal(D + j * P, before + j * P, P * sizeof *D);
        }
        assert_int_equal(usage[0], 0);
        memset(mask, 0, P * M);
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
        assert_close(report.rmse, 0, 0);
        assert_close(report.mean_atoms, 0, 0);
        assert_unit_norm(P, N, D);
    }
    assert_true(unused >= 2);
    free(Y);
    free(mask);
}

/* The hidden atoms, 30 of 20 values, of signals of three atoms each. */
enum { HIDDEN_P = 20, HIDDEN_N = 30, HIDDEN_M = 3000 };

static shs_real *hidden_signals(shs_random *random, shs_real *truth) {
    shs_real *Y = (shs_real *)calloc(HIDDEN_P * HIDDEN_M, sizeof *Y);
    int i, k, l;
    assert_ok(shs_dictionary_random(HIDDEN_P, HIDDEN_N, truth, HIDDEN_P, 6));
    for (i = 0; i < HIDDEN_M; i++)
        for (k = 0; k < 3; k++) {
            const shs_real x = (shs_real)shs_random_normal(random);
            const int j = (int)((double)shs_random_uniform(random) * HIDDEN_N);
            for (l = 0; l < HIDDEN_P; l++) Y[i * HIDDEN_P + l] += x * truth[j * HIDDEN_P + l];
        }
    return Y;
}

/* How many hidden atoms an atom of D is alike to. */
static int found_atoms(const shs_real *truth, const shs_real *D, double alike) {
    int j, k, found = 0;
    for (j = 0; j < HIDDEN_N; j++) {
        double best = 0;
        for (k = 0; k < HIDDEN_N; k++) best = fmax(best, fabs(inner(HIDDEN_P, truth + HIDDEN_P * j, D + HIDDEN_P * k)));
        found += best > alike;
    }
    return found;
}

/* The hidden atoms are found though 30 % of all values are missing. */
static void test_masked_recovery(void **state) {
    shs_real truth[HIDDEN_P * HIDDEN_N], D[HIDDEN_P * HIDDEN_N], *Y;
    shs_ksvd_options o = SHS_ZERO;
    shs_random random;
    int i;
    (void)state;
    shs_random_seed(&random, 5);
    Y = hidden_signals(&random, truth);
    for (i = 0; i < HIDDEN_P * HIDDEN_M; i++)
        if (shs_random_uniform(&random) < (shs_wide)0.3) Y[i] = (shs_real)NAN;
    o.iterations = 40;
    o.coding.sparsity = 3;
    o.coding.skip_nan = 1;
    o.seed = 7;
    assert_ok(shs_ksvd_ex(NULL, HIDDEN_P, HIDDEN_N, HIDDEN_M, Y, HIDDEN_P, &o, D, HIDDEN_P, NULL, NULL));
    assert_in_range(found_atoms(truth, D, 0.98), HIDDEN_N - 3, HIDDEN_N);
    free(Y);
}

/* So are they where 80 % of the signals lack the same five values: atoms that count these as zeros are found by few. */
static void test_masked_pattern(void **state) {
    shs_real truth[HIDDEN_P * HIDDEN_N], D[HIDDEN_P * HIDDEN_N], *Y;
    int i, l, as_zero;
    (void)state;
    for (as_zero = 0; as_zero < 2; as_zero++) {
        shs_ksvd_options o = SHS_ZERO;
        shs_random random;
        shs_random_seed(&random, 5);
        Y = hidden_signals(&random, truth);
        for (i = 0; i < HIDDEN_M; i++)
            for (l = 0; i % 5 > 0 && l < 5; l++) Y[i * HIDDEN_P + l] = (shs_real)NAN;
        o.iterations = 40;
        o.coding.sparsity = 3;
        o.coding.skip_nan = 1;
        o.missing_as_zero = as_zero;
        o.seed = 7;
        assert_ok(shs_ksvd_ex(NULL, HIDDEN_P, HIDDEN_N, HIDDEN_M, Y, HIDDEN_P, &o, D, HIDDEN_P, NULL, NULL));
        if (as_zero) assert_in_range(found_atoms(truth, D, 0.98), 0, HIDDEN_N / 3);
        else assert_in_range(found_atoms(truth, D, 0.98), HIDDEN_N - 5, HIDDEN_N);
        free(Y);
    }
}

/* Of one value of an atom, over the signals: x^2; x^2 and x e of those that have the value. */
typedef struct masked_sums {
    double energy, seen, cross;
} masked_sums;

/* An atom becomes d + E x' / (seen + 0.01 unseen), at unit norm: one iteration from given atoms, all from the same E. */
static void test_masked_update(void **state) {
    enum { ATOM = 3 };
    shs_real *Y = small_signals(), D[P * N], start[P * N], expected[P];
    unsigned char *mask = (unsigned char *)malloc(P * M);
    shs_codes codes;
    shs_omp_report coded = SHS_ZERO;
    size_t i;
    int l, k;
    double norm2 = 0;
    shs_ksvd_options o = one_masked_update(SHS_UPDATE_SGK, mask);
    (void)state;
    for (i = 0; i < P * M; i++) mask[i] = (unsigned char)((i / P) % 4 == 0 || i % P > 3);
    assert_ok(shs_dictionary_random(P, N, start, P, 3));
    memcpy(D, start, sizeof D);
    o.parallel_atoms = N; /* all from the same E */
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, NULL));
    assert_ok(shs_codes_create(NULL, M, o.coding.sparsity, &codes));
    assert_ok(shs_omp_ex(&serial, P, N, start, P, M, Y, P, &o.coding, &codes, NULL, &coded));
    for (l = 0; l < P; l++) {
        masked_sums s = {0, 0, 0};
        for (i = 0; i < M; i++) {
            double e = (double)Y[i * P + (size_t)l], x = 0;
            for (k = 0; k < codes.used[i]; k++) {
                const int atom = codes.atoms[i * (size_t)codes.stride + (size_t)k];
                const double coefficient = (double)codes.coefs[i * (size_t)codes.stride + (size_t)k];
                e -= (double)start[atom * P + l] * coefficient;
                if (atom == ATOM) x = coefficient;
            }
            s.energy += x * x;
            if (!mask[i * P + (size_t)l]) continue;
            s.seen += x * x;
            s.cross += x * e;
        }
        assert_true(s.seen > 0);
        expected[l] = (shs_real)((double)start[ATOM * P + l] + s.cross / (s.seen + 0.01 * (s.energy - s.seen)));
        norm2 += (double)expected[l] * (double)expected[l];
    }
    for (l = 0; l < P; l++) expected[l] /= (shs_real)sqrt(norm2);
    assert_all_close(P, D + ATOM * P, expected, BY_TYPE(1e-5, 1e-12));
    shs_codes_free(NULL, &codes);
    free(Y);
    free(mask);
}

/* Where values are missing, at random or the same ones, no sweep of AK-SVD raises the error. */
static void test_masked_descends(void **state) {
    shs_real *Y = small_signals(), D[P * N];
    unsigned char *mask = (unsigned char *)malloc(P * M);
    shs_ksvd_record history[20];
    shs_ksvd_report report = SHS_ZERO;
    int k, pattern;
    size_t i;
    (void)state;
    report.history = history;
    for (pattern = 0; pattern < 2; pattern++) {
        shs_ksvd_options o = small_options();
        for (i = 0; i < P * M; i++) mask[i] = (unsigned char)(pattern ? i / P % 8 == 0 || i % P > 5 : i * 7 % 11 > 4);
        o.coding.mask = mask;
        o.coding.ldm = P;
        o.iterations = 20;
        o.rmse_after_update = 1;
        o.replace = SHS_REPLACE_LEAVE;
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
        for (k = 0; k < 20; k++) assert_true(history[k].rmse_update <= history[k].rmse_coding * BY_TYPE(1 + 1e-6, 1 + 1e-14));
    }
    free(Y);
    free(mask);
}

/* What is not defined with missing values is refused. */
static void test_masked_options(void **state) {
    static const unsigned char mask[P * M] = {1};
    shs_real *Y = small_signals(), D[P * N], weights[P * M];
    int k;
    (void)state;
    for (k = 0; k < 7; k++) {
        shs_ksvd_options o = small_options();
        o.coding.mask = mask;
        o.coding.ldm = P;
        if (k == 0) o.update = SHS_UPDATE_KSVD;
        if (k == 1) o.update = SHS_UPDATE_NSGK;
        if (k == 2) o.update = SHS_UPDATE_MOD;
        if (k == 3) o.regularisation = (shs_real)0.1;
        if (k == 4) o.incoherence = (shs_real)0.1;
        if (k == 5) o.coherence = (shs_real)0.5;
        if (k == 6) o.coding.weights = weights;
        assert_status(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, NULL), SHS_BAD_OPTIONS);
    }
    free(Y);
}

/* NaN under the mask is no error, and a signal without known values is none either. Any other NaN is an error and changes no
   output. */
static void test_masked_not_finite(void **state) {
    unsigned char mask[P * M];
    shs_real *Y = small_signals(), D[P * N], before[P * N];
    shs_ksvd_options o = small_options();
    shs_codes codes = SHS_ZERO;
    int k;
    (void)state;
    memset(mask, 1, sizeof mask);
    for (k = 0; k < P; k++) {
        mask[3 * P + k] = 0;
        Y[3 * P + k] = (shs_real)NAN;
    }
    mask[5 * P + 2] = 0;
    Y[5 * P + 2] = (shs_real)INFINITY;
    o.coding.mask = mask;
    o.coding.ldm = P;
    o.start = SHS_START_GIVEN;
    assert_ok(shs_dictionary_random(P, N, D, P, 3));
    assert_ok(shs_codes_create(NULL, M, o.coding.sparsity, &codes));
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, &codes, NULL));
    assert_unit_norm(P, N, D);
    assert_int_equal(codes.used[3], 0);
    assert_true(codes.used[5] > 0);
    memcpy(before, D, sizeof D);
    codes.used[0] = 77;
    mask[5 * P + 2] = 1;
    for (k = 0; k < 2; k++) {
        assert_status(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, &codes, NULL), SHS_SIGNALS_NOT_FINITE);
        assert_memory_equal(D, before, sizeof D);
        assert_int_equal(codes.used[0], 77);
        Y[5 * P + 2] = (shs_real)NAN;
    }
    shs_codes_free(NULL, &codes), free(Y);
}

static void check_golden_regularised(const char *name, shs_update update, int group, int first, double mu, double decay,
                                     int until) {
    shs_ksvd_options o = SHS_ZERO;
    o.update = update;
    o.parallel_atoms = group;
    o.regularisation = (shs_real)mu;
    o.regularisation_decay = (shs_real)decay;
    o.regularised_iterations = until;
    check_golden_run(name, first, o);
}

static void test_golden_regularised(void **state) {
    (void)state;
    check_golden_regularised("ksvd_reg", SHS_UPDATE_KSVD, 1, 1, 0.05, 0, 0);
    check_golden_regularised("aksvd_reg", SHS_UPDATE_AKSVD, 1, 1, 0.05, 1, 0);
    check_golden_regularised("paksvd_reg_128", SHS_UPDATE_AKSVD, 128, 1, 0.05, 0, 0);
    check_golden_regularised("sgk_reg", SHS_UPDATE_SGK, 1, 1, 0.05, 0, 0);
    check_golden_regularised("nsgk_reg", SHS_UPDATE_NSGK, 1, 0, 0.05, 0, 0);
    check_golden_regularised("mod_reg", SHS_UPDATE_MOD, 1, 1, 0.05, 0, 0);
    check_golden_regularised("ksvd_reg_vanish", SHS_UPDATE_KSVD, 1, 0, 0.1, 0.9, 0);
    check_golden_regularised("aksvd_reg_vanish", SHS_UPDATE_AKSVD, 1, 0, 0.1, 0.9, 0);
    check_golden_regularised("aksvd_reg_stop8", SHS_UPDATE_AKSVD, 1, 0, 0.1, 0, 7);
}

static void check_golden_incoherent(const char *name, shs_update update, int group, int first, double gamma) {
    shs_ksvd_options o = SHS_ZERO;
    o.update = update;
    o.parallel_atoms = group;
    o.incoherence = (shs_real)gamma;
    check_golden_run(name, first, o);
}

static void test_golden_incoherent(void **state) {
    (void)state;
    check_golden_incoherent("aksvd_coh_001", SHS_UPDATE_AKSVD, 1, 1, 0.01);
    check_golden_incoherent("aksvd_coh_01", SHS_UPDATE_AKSVD, 1, 1, 0.1);
    check_golden_incoherent("paksvd_coh_01_128", SHS_UPDATE_AKSVD, 128, 1, 0.1);
    check_golden_incoherent("sgk_coh_01", SHS_UPDATE_SGK, 1, 1, 0.1);
    check_golden_incoherent("ksvd_coh_0004", SHS_UPDATE_KSVD, 1, 1, 0.004);
}

static void test_golden_incoherent_nsgk(void **state) {
    (void)state;
    check_golden_incoherent("nsgk_coh_01", SHS_UPDATE_NSGK, 1, 1, 0.1);
}

/* The signals have no mean, so they leave open which of two ways the rotation turns the mean of all atoms: D'D is compared. */
static void check_golden_gram(const char *name, const shs_real *D) {
    shs_real *expected;
    char path[64];
    int i, j;
    snprintf(path, sizeof path, "variants/train_D1_%s.f64", name);
    expected = read_f64_or_skip(golden_path(path), 64 * 128);
    for (i = 0; i < 128; i++)
        for (j = 0; j < 128; j++)
            assert_close(inner(64, D + 64 * i, D + 64 * j), inner(64, expected + 64 * i, expected + 64 * j),
                         BY_TYPE(1e-4, 1e-11));
    free(expected);
}

static void check_golden_ipr(const char *name, shs_update update, double most) {
    shs_real *D = read_f64_or_skip(golden_path("variants/D0_64x128.f64"), 64 * 128);
    shs_real *Y = read_f64_or_skip(golden_path("variants/Y_64x1024.f64"), 64 * 1024), *start;
    shs_ksvd_options o = SHS_ZERO;
    double coherence[20];
    shs_wide mu;
    o.update = update;
    o.coherence = (shs_real)most;
    check_golden_run(name, 0, o);
    o.coding.sparsity = 6;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    start = copy_of(64 * 128, D);
    o.iterations = 1;
    assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, &o, D, 64, NULL, NULL));
    if (update == SHS_UPDATE_AKSVD) check_golden_gram(name, D);
    memcpy(D, start, 64 * 128 * sizeof *D);
    o.iterations = 20;
    assert_ok(shs_ksvd_ex(&serial, 64, 128, 1024, Y, 64, &o, D, 64, NULL, NULL));
    read_column("variants/train_coherence.csv", name, coherence);
    assert_ok(shs_dictionary_coherence(NULL, 64, 128, D, 64, &mu));
    assert_close(mu, coherence[19], BY_TYPE(5e-3, 1e-9));
    free(D);
    free(Y);
    free(start);
}

static void test_golden_ipr(void **state) {
    (void)state;
    check_golden_ipr("ipr_ksvd_05", SHS_UPDATE_KSVD, 0.5);
    if (every(2) > 1) return;
    check_golden_ipr("ipr_aksvd_05", SHS_UPDATE_AKSVD, 0.5);
    check_golden_ipr("ipr_aksvd_03", SHS_UPDATE_AKSVD, 0.3);
}

/* ---- a test set, and a look at what is learnt -------------------------------------------------------------------- */

/* With the signals as the test set, the test error equals the coding error. Other test signals have the error of coding them
   over the dictionary that progress_fn sees, and the signals the error that it is told. */
typedef struct onlooker {
    shs_ksvd_report report;
    const shs_real *test, *Y;
    double errors[8];
} onlooker;

static int look(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    onlooker *l = (onlooker *)user;
    shs_omp_options coding = SHS_ZERO;
    (void)phase;
    coding.sparsity = 3;
    assert_unit_norm(P, N, l->report.dictionary);
    assert_close(error, rmse_of(P, N, l->report.dictionary, M, l->Y, &coding), BY_TYPE(1e-5, 1e-12));
    if (step < steps) l->errors[step] = rmse_of(P, N, l->report.dictionary, 90, l->test, &coding);
    return 0;
}

static void test_test_set(void **state) {
    shs_real *Y = small_signals(), *other = sparse_signals(P, N, 90, SIGNALS_SEED + 50), *D = new_dictionary(P, N, 3);
    shs_ksvd_record history[5];
    shs_ksvd_options o = small_options();
    shs_context ctx = SHS_ZERO;
    onlooker l;
    int k;
    (void)state;
    memset(&l, 0, sizeof l);
    l.test = other;
    l.Y = Y;
    l.report.history = history;
    ctx.threads = 1;
    ctx.progress_fn = look;
    ctx.progress_user = &l;
    o.test = other;
    o.test_m = 90;
    assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, &l.report));
    assert_null(l.report.dictionary);
    for (k = 0; k < 5; k++) assert_close(history[k].rmse_test, l.errors[k], BY_TYPE(1e-6, 1e-12));
    o.replace = SHS_REPLACE_RANDOM; /* the last dictionary, which is told at the end, is not the best */
    o.prune_uses = M / 8;
    assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, &l.report));
    assert_true(l.report.best_iteration < l.report.iterations);
    o = small_options();
    ctx.progress_fn = NULL;
    o.test = Y;
    o.test_m = M;
    assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, &l.report));
    for (k = 0; k < 5; k++) assert_close(history[k].rmse_test, history[k].rmse_coding, BY_TYPE(1e-6, 1e-12));
    o.test_ld = P - 1;
    assert_status(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, &l.report), SHS_BAD_LDY);
    o.test_ld = 0;
    o.test = NULL;
    assert_status(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, &l.report), SHS_BAD_SIGNALS);
    o.test_m = 0;
    assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, &l.report));
    assert_true(history[4].rmse_test < 0);
    free(Y);
    free(other);
    free(D);
}

/* Test signals are coded with `sparsity` and `tolerance`, not with the limits of each signal. */
static void test_test_set_beside_limits_each(void **state) {
    static shs_real tolerances[M];
    static int limits[M];
    shs_real *Y = small_signals(), *other = sparse_signals(P, N, 90, SIGNALS_SEED + 50), *given = new_dictionary(P, N, 3);
    int each, k;
    (void)state;
    for (k = 0; k < M; k++) {
        tolerances[k] = (shs_real)0.3;
        limits[k] = 1 + k % 5;
    }
    for (each = 0; each < 2; each++)
        for (k = 0; k < 4; k++) {
            shs_real *D = copy_of(P * N, given);
            shs_ksvd_record record;
            shs_ksvd_options o = small_options();
            shs_ksvd_report report = SHS_ZERO;
            shs_omp_options coding = SHS_ZERO;
            coding.sparsity = k == 0 ? 1 : 0;
            coding.tolerance = k == 1 ? (shs_real)0.5 : 0;
            if (k == 2) coding.sparsity = 2;
            if (k == 3) coding.sparsity = 7; /* more than any signal may have */
            o.coding = coding;
            if (k == 0) o.coding.sparsity = 0; /* the default, P / 10 */
            if (each) o.coding.tolerance_each = tolerances;
            else o.coding.sparsity_each = limits;
            o.iterations = 1;
            o.start = SHS_START_GIVEN;
            o.test = other;
            o.test_m = 90;
            report.history = &record;
            assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
            assert_close(record.rmse_test, rmse_of(P, N, given, 90, other, &coding), BY_TYPE(1e-6, 1e-12));
            free(D);
        }
    free(Y);
    free(other);
    free(given);
}

/* The unit of the signals, a power of 2, changes no atom. */
static void check_units(shs_update update, int group, int masked) {
    static const int units[] = {0, BY_TYPE(-100, -200), BY_TYPE(100, 200)};
    static unsigned char mask[P * M];
    shs_real *Y = small_signals(), *scaled = small_signals(), *D = new_dictionary(P, N, 3), *first = copy_of(P * N, D);
    double rmse = 0;
    int k;
    size_t i;
    for (i = 0; i < P * M; i++) mask[i] = i % 7 != 0;
    for (k = 0; k < 3; k++) {
        shs_ksvd_options o = small_options();
        shs_ksvd_report report = SHS_ZERO;
        const double unit = ldexp(1, units[k]);
        for (i = 0; i < P * M; i++) scaled[i] = Y[i] * (shs_real)unit;
        o.update = update;
        o.parallel_atoms = group;
        o.replace = SHS_REPLACE_LEAVE;
        o.iterations = 2;
        if (masked) {
            o.coding.mask = mask;
            o.coding.ldm = P;
        }
        assert_ok(shs_ksvd_ex(&serial, P, N, M, scaled, P, &o, D, P, NULL, &report));
        if (k == 0) {
            rmse = (double)report.rmse;
            memcpy(first, D, P * N * sizeof *D);
        }
        assert_memory_equal(D, first, P * N * sizeof *D);
        assert_close((double)report.rmse / unit, rmse, 0);
    }
    free(Y);
    free(scaled);
    free(D);
    free(first);
}

static void test_units(void **state) {
    int update;
    (void)state;
    if (sizeof(shs_wide) == sizeof(float)) skip(); /* squares leave its range */
    for (update = 0; update < SHS_UPDATE_COUNT; update++) check_units((shs_update)update, 1 + 6 * (update % 2), 0);
    check_units(SHS_UPDATE_AKSVD, 1, 1);
}

/* Where coefficients times residuals leave the range, learning is refused, and the dictionary stays. */
static void test_units_out_of_range(void **state) {
    static const int units[] = {-500, -270, 270, 500, -270}; /* the last with a signal of zeros */
    shs_real *Y, *scaled, *D, *first;
    size_t i;
    int k, update;
    (void)state;
    if (sizeof(shs_wide) > sizeof(shs_real)) skip(); /* double holds what float multiplies */
    Y = small_signals();
    scaled = small_signals();
    D = new_dictionary(P, N, 3);
    first = copy_of(P * N, D);
    for (k = 0; k < 5; k++) {
        const int unit = sizeof(shs_real) == sizeof(float) ? units[k] / 6 : units[k];
        for (i = 0; i < P * M; i++) scaled[i] = (shs_real)ldexp((double)Y[i], unit);
        if (k == 4) memset(scaled, 0, P * sizeof *scaled);
        for (update = 0; update < SHS_UPDATE_COUNT; update++) {
            shs_ksvd_options o = small_options();
            o.update = (shs_update)update;
            assert_status(shs_ksvd_ex(&serial, P, N, M, scaled, P, &o, D, P, NULL, NULL), SHS_OUT_OF_RANGE);
            assert_memory_equal(D, first, P * N * sizeof *D);
        }
    }
    free(Y);
    free(scaled);
    free(D);
    free(first);
}

/* An atom whose new codes oppose its old ones has a direction all the same: the first atom has been pushed away from it. */
static void test_incoherent_atom_that_turns(void **state) {
    const shs_real Y[] = {(shs_real)0.33, (shs_real)1.91};
    shs_real given[] = {(shs_real)0.74, (shs_real)-0.67, (shs_real)-0.083, 1, (shs_real)0.94, (shs_real)-0.35}, D[6];
    int update;
    (void)state;
    normalise(2, 3, given);
    for (update = SHS_UPDATE_AKSVD; update <= SHS_UPDATE_KSVD; update += SHS_UPDATE_KSVD) {
        shs_ksvd_options o = SHS_ZERO;
        memcpy(D, given, sizeof D);
        o.update = (shs_update)update;
        o.coding.sparsity = 2;
        o.iterations = 1;
        o.incoherence = 1;
        o.start = SHS_START_GIVEN;
        o.replace = SHS_REPLACE_LEAVE;
        o.keep = SHS_KEEP_LAST;
        assert_ok(shs_ksvd_ex(&serial, 2, 3, 1, Y, 2, &o, D, 2, NULL, NULL));
        assert_unit_norm(2, 3, D);
        assert_true(fabs((double)D[4] - (double)given[4]) > 1e-3);
    }
}

/* Of the dictionaries of a run that parts its atoms the start is none, however low its error is. */
static void test_best_of_parted_atoms(void **state) {
    enum { SIZE = 16, ATOMS = 40, SIGNALS = 300 };
    shs_real *Y = new_normal(SIZE * SIGNALS, 5), *D = new_normal(SIZE * ATOMS, 6), *learnt;
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    int i, which;
    (void)state;
    for (i = 0; i < SIZE * ATOMS; i++) D[i] += 1;
    normalise(SIZE, ATOMS, D);
    for (i = 0; i < SIZE * SIGNALS; i++) Y[i] = D[i % SIZE + SIZE * (i / SIZE % ATOMS)] * (shs_real)(1 + i / SIZE / ATOMS);
    o.coding.sparsity = 1;
    o.iterations = 3;
    o.start = SHS_START_GIVEN;
    for (which = 0; which < 2; which++) {
        if (which) o.incoherence = (shs_real)0.1;
        else o.coherence = (shs_real)0.4;
        learnt = copy_of(SIZE * ATOMS, D);
        assert_ok(shs_ksvd_ex(&serial, SIZE, ATOMS, SIGNALS, Y, SIZE, &o, learnt, SIZE, NULL, &report));
        assert_in_range(report.best_iteration, 1, 3);
        free(learnt);
        o.coherence = 0;
    }
    free(Y);
    free(D);
}

/* Signals of few directions leave most atoms unused: what replaces them is parted from the others, too. */
static void test_parted_atoms_that_replace(void **state) {
    enum { SIZE = 32, ATOMS = 48, SIGNALS = 400, DIRECTIONS = 12 };
    shs_real *centres = new_normal(SIZE * DIRECTIONS, 7), *Y = new_normal(SIZE * SIGNALS, 8), *D = new_normal(SIZE * ATOMS, 9);
    int i, replace, keep;
    (void)state;
    for (i = 0; i < SIZE * SIGNALS; i++)
        Y[i] = centres[i % SIZE + SIZE * (i / SIZE % DIRECTIONS)] * (shs_real)(1 + i / SIZE % 5) + Y[i] / 20;
    for (replace = SHS_REPLACE_WORST; replace <= SHS_REPLACE_RANDOM; replace++)
        for (keep = SHS_KEEP_BEST; keep <= SHS_KEEP_LAST; keep++) {
            shs_ksvd_options o = SHS_ZERO;
            shs_wide mu;
            o.coding.sparsity = 1;
            o.iterations = 6;
            o.seed = 1;
            o.coherence = (shs_real)0.6;
            o.coherence_rounds = 20;
            o.replace = (shs_replace)replace;
            o.keep = (shs_keep)keep;
            assert_ok(shs_ksvd_ex(&serial, SIZE, ATOMS, SIGNALS, Y, SIZE, &o, D, SIZE, NULL, NULL));
            assert_unit_norm(SIZE, ATOMS, D);
            assert_ok(shs_dictionary_coherence(NULL, SIZE, ATOMS, D, SIZE, &mu));
            assert_true(mu < 0.63);
        }
    free(centres);
    free(Y);
    free(D);
}

/* ---- the naive update -------------------------------------------------------------------------------------------- */

/* The naive twins of the rules, in the order of shs_update. */
static const shs_update_fn rules[SHS_UPDATE_COUNT] = {shs_aksvd_naive, shs_sgk_naive, shs_exact_ksvd_naive,
                                                      shs_sgk_naive /* before there are codes X' */, NULL /* MOD */};

static void check_naive_update(shs_update update, int group, int rounds) {
    enum { S = 3, SCRATCH = 2 * P * M + 2 * P + S + S * (P + S) };
    const shs_naive_learning how = {rules[update], S, group, rounds, 0};
    shs_real *Y = small_signals(), *D = new_dictionary(P, N, 3), *expected = copy_of(P * N, D);
    shs_wide *X = (shs_wide *)malloc((N * M + SCRATCH) * sizeof *X);
    double sum2 = 0;
    int atoms[S], l, j;
    shs_ksvd_record record;
    shs_ksvd_options o = small_options();
    shs_ksvd_report report = SHS_ZERO;
    size_t i;
    shs_ksvd_naive(&how, P, N, expected, M, Y, X, atoms, X + N * M);
    for (i = 0; i < M; i++)
        for (l = 0; l < P; l++) {
            double e = (double)Y[i * P + (size_t)l];
            for (j = 0; j < N; j++) e -= (double)expected[P * j + l] * (double)X[i * N + (size_t)j];
            sum2 += e * e;
        }
    o.iterations = 1;
    o.update = update;
    o.parallel_atoms = group;
    o.rounds = rounds;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.rmse_after_update = 1;
    report.history = &record;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
    assert_all_close(P * N, D, expected, BY_TYPE(1e-4, 1e-10));
    assert_close(record.rmse_update, sqrt(sum2 / (P * M)), BY_TYPE(1e-5, 1e-10));
    free(Y);
    free(D);
    free(expected);
    free(X);
}

static void check_naive_updates(shs_update update) {
    static const int groups[] = {1, 3, 7, N - 1, N};
    int run;
    for (run = first_of((int)update, 8); run < 5 * 3; run += every(8)) check_naive_update(update, groups[run % 5], 1 + run / 5);
}

static void test_naive_update(void **state) {
    int u;
    (void)state;
    for (u = 0; u <= SHS_UPDATE_KSVD; u++) check_naive_updates((shs_update)u);
}

static void test_naive_nsgk(void **state) {
    (void)state;
    check_naive_updates(SHS_UPDATE_NSGK);
}

static void test_naive_mod(void **state) {
    enum { S = 3, SCRATCH = 2 * P * M + 2 * P + S + S * (P + S) };
    const shs_naive_learning how = {shs_sgk_naive, S, 1, 0, 0}; /* no round of updates: X are the codes alone */
    shs_real *Y = small_signals(), *D = new_dictionary(P, N, 3), *expected = copy_of(P * N, D);
    shs_wide *X = (shs_wide *)malloc((N * M + SCRATCH + N * (N + P)) * sizeof *X);
    int atoms[S];
    shs_ksvd_options o = small_options();
    (void)state;
    shs_ksvd_naive(&how, P, N, expected, M, Y, X, atoms, X + N * M);
    shs_mod_naive(P, N, expected, M, Y, X, X + N * M);
    o.iterations = 1;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.update = SHS_UPDATE_MOD;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, NULL));
    assert_all_close(P * N, D, expected, BY_TYPE(1e-4, 1e-10));
    free(Y);
    free(D);
    free(expected);
    free(X);
}

/* ---- nonnegative atoms and codes --------------------------------------------------------------------------------- */

static shs_real *nonnegative_signals(void) {
    shs_real *Y = small_signals();
    size_t i;
    for (i = 0; i < P * M; i++) Y[i] = (shs_real)fabs((double)Y[i]);
    return Y;
}

static void assert_nonnegative(size_t count, const shs_real *x) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!(x[i] >= 0)) fail_msg("element %d is %.9g", (int)i, (double)x[i]);
}

/* max(F x', 0) at unit norm, and power steps of the update of both. */
static void sgk_nonnegative(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d) {
    shs_wide *kept = (shs_wide *)malloc((size_t)m * sizeof *kept);
    ptrdiff_t i;
    for (i = 0; i < m; i++) kept[i] = x[i * step];
    shs_nnaksvd_naive(p, m, F, kept, 1, d);
    free(kept);
}
static void exact_nonnegative(int p, ptrdiff_t m, const shs_wide *F, shs_wide *x, int step, shs_wide *d) {
    int k;
    for (k = 0; k < 1000; k++) shs_nnaksvd_naive(p, m, F, x, step, d);
}

static void check_naive_nonnegative(shs_update update, int group, int rounds) {
    static const shs_update_fn kept[] = {shs_nnaksvd_naive, sgk_nonnegative, exact_nonnegative};
    enum { S = 3 };
    const shs_naive_learning how = {kept[update], S, group, rounds, 1};
    shs_real *Y = nonnegative_signals(), *D = new_dictionary(P, N, 3), *expected;
    shs_wide *X = (shs_wide *)malloc((N * M + 2 * P * M + 2 * P + S) * sizeof *X);
    shs_ksvd_options o = small_options();
    shs_ksvd_report report = SHS_ZERO;
    shs_ksvd_record record;
    double sum2 = 0;
    int atoms[S], l, j;
    size_t i;
    for (i = 0; i < P * N; i++) D[i] = (shs_real)fabs((double)D[i]);
    expected = copy_of(P * N, D);
    shs_ksvd_naive(&how, P, N, expected, M, Y, X, atoms, X + N * M);
    for (i = 0; i < M; i++)
        for (l = 0; l < P; l++) {
            double e = (double)Y[i * P + (size_t)l];
            for (j = 0; j < N; j++) e -= (double)expected[P * j + l] * (double)X[i * N + (size_t)j];
            sum2 += e * e;
        }
    o.nonnegative = 1;
    o.iterations = 1;
    o.update = update;
    o.parallel_atoms = group;
    o.rounds = rounds;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.rmse_after_update = 1;
    report.history = &record;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
    assert_nonnegative(P * N, D);
    assert_all_close(P * N, D, expected, BY_TYPE(1e-3, 1e-9));
    assert_close(record.rmse_update, sqrt(sum2 / (P * M)), BY_TYPE(1e-5, 1e-10));
    free(Y);
    free(D);
    free(expected);
    free(X);
}

static void test_naive_nonnegative(void **state) {
    static const int groups[] = {1, 3, 7, N - 1, N};
    int updates = SHS_UPDATE_KSVD + 1, run;
    (void)state;
    for (run = 0; run < updates * 5 * 3; run += every(8))
        check_naive_nonnegative((shs_update)(run % updates), groups[run / updates % 5], 1 + run / updates / 5);
}

/* One atom at a time, no round of updates increases the error, of signals of any sign; atoms and codes are never below 0. */
static void test_nonnegative_rounds(void **state) {
    enum { ROUNDS = 6, ITERATIONS = 4 };
    shs_real *signals[2], D[P * N];
    shs_wide errors[ROUNDS * ITERATIONS];
    shs_ksvd_record history[ITERATIONS];
    shs_codes codes;
    int sign, exact, start, k, round;
    size_t i;
    (void)state;
    signals[0] = nonnegative_signals();
    signals[1] = small_signals();
    assert_ok(shs_codes_create(NULL, M, 3, &codes));
    for (sign = 0; sign < 2; sign++)
        for (exact = 0; exact < 2; exact++)
            for (start = SHS_START_SIGNALS; start <= SHS_START_DCT; start++) {
                shs_ksvd_options o = small_options();
                shs_ksvd_report report = SHS_ZERO;
                o.nonnegative = 1;
                o.update = exact ? SHS_UPDATE_KSVD : SHS_UPDATE_AKSVD;
                o.start = (shs_start)start;
                o.patch_width = 4;
                o.patch_height = 3;
                o.iterations = ITERATIONS;
                o.rounds = ROUNDS;
                o.rmse_after_rounds = 1;
                o.keep = SHS_KEEP_LAST;
                o.replace = start == SHS_START_RANDOM ? SHS_REPLACE_RANDOM : SHS_REPLACE_WORST;
                report.history = history;
                report.round_history = errors;
                report.round_stride = ROUNDS;
                assert_ok(shs_ksvd_ex(&serial, P, N, M, signals[sign], P, &o, D, P, &codes, &report));
                for (k = 0; k < ITERATIONS; k++)
                    for (round = 0; round < ROUNDS; round++) {
                        double before = (double)(round ? errors[k * ROUNDS + round - 1] : history[k].rmse_coding);
                        assert_true((double)errors[k * ROUNDS + round] <= before * (1 + BY_TYPE(2e-6, 1e-13)));
                    }
                assert_true(errors[ROUNDS - 1] < history[0].rmse_coding * (shs_wide)0.99);
                assert_nonnegative(P * N, D);
                assert_unit_norm(P, N, D);
                for (i = 0; i < M; i++) assert_nonnegative((size_t)codes.used[i], codes.coefs + 3 * i);
            }
    shs_codes_free(NULL, &codes);
    free(signals[0]);
    free(signals[1]);
}

/* Signals made of few nonnegative atoms are learnt from again, and no atom is left of what is below 0. */
static void test_nonnegative_atoms_are_found(void **state) {
    enum { Q = 30, K = 6, COUNT = 400 };
    static shs_real truth[Q * K], Y[Q * COUNT], D[Q * K];
    shs_ksvd_options o = SHS_ZERO;
    shs_random r;
    int i, j, l, k, found = 0;
    (void)state;
    shs_random_seed(&r, 5);
    for (j = 0; j < K; j++) /* each of a bump of its own */
        for (l = 0; l < Q; l++) truth[l + j * Q] = (shs_real)exp(-0.1 * (l - 2 - 5 * j) * (l - 2 - 5 * j));
    normalise(Q, K, truth);
    for (i = 0; i < COUNT; i++)
        for (k = 0; k < 3; k++) {
            int atom = (int)shs_random_below(&r, K);
            shs_real x = (shs_real)shs_random_uniform(&r);
            for (l = 0; l < Q; l++) Y[l + i * Q] += x * truth[l + atom * Q];
        }
    o.nonnegative = 1;
    o.coding.sparsity = 3;
    o.iterations = 60;
    o.rounds = 3;
    o.seed = 4;
    assert_ok(shs_ksvd_ex(&serial, Q, K, COUNT, Y, Q, &o, D, Q, NULL, NULL));
    assert_nonnegative(Q * K, D);
    for (i = 0; i < K; i++) {
        double best = 0;
        for (j = 0; j < K; j++) best = fmax(best, inner(Q, truth + Q * i, D + Q * j));
        found += best > 0.99;
    }
    assert_int_equal(found, K);
}

/* What has no nonnegative form is refused. */
static void test_nonnegative_options(void **state) {
    shs_real *Y = small_signals(), D[P * N];
    int which;
    (void)state;
    for (which = 0; which < 7; which++) {
        shs_ksvd_options o = small_options();
        o.nonnegative = which < 6;
        if (which == 0) o.update = SHS_UPDATE_NSGK;
        if (which == 1) o.update = SHS_UPDATE_MOD;
        if (which == 2) o.regularisation = (shs_real)0.1;
        if (which == 3) o.incoherence = (shs_real)0.1;
        if (which == 4) o.coherence = (shs_real)0.5;
        if (which == 5) o.coding.selection = SHS_SELECT_OLS;
        if (which == 6) o.coding.nonnegative = 1;
        assert_status(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, NULL), SHS_BAD_OPTIONS);
        assert_int_equal(shs_ksvd_workspace(&serial, P, N, M, &o) > 0, 1);
    }
    free(Y);
}

/* Atoms of signals that are below 0 everywhere: nothing of them can be said, and nothing is. */
static void test_nonnegative_of_nothing(void **state) {
    shs_real *Y = nonnegative_signals(), D[P * N];
    shs_ksvd_options o = small_options();
    shs_ksvd_report report = SHS_ZERO;
    size_t i;
    double sum2 = 0;
    (void)state;
    for (i = 0; i < P * M; i++) {
        Y[i] = -Y[i];
        sum2 += (double)Y[i] * (double)Y[i];
    }
    o.nonnegative = 1;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
    assert_nonnegative(P * N, D);
    assert_unit_norm(P, N, D);
    assert_close(report.mean_atoms, 0, 0);
    assert_close(report.rmse, sqrt(sum2 / (P * M)), 1e-5);
    free(Y);
}

/* Resumed learning starts from the dictionary as given. Atoms with squares of 0 are not used, and the reported error is a
   number. */
static void test_nonnegative_of_tiny_atoms(void **state) {
    shs_real *Y = nonnegative_signals(), *D = new_dictionary(P, N, 3);
    shs_ksvd_record history[2];
    int update;
    size_t i;
    (void)state;
    for (i = 0; i < P * M; i++) Y[i] *= (shs_real)1e10;
    for (update = SHS_UPDATE_AKSVD; update <= SHS_UPDATE_KSVD; update++) {
        shs_ksvd_options o = small_options();
        shs_ksvd_report report = SHS_ZERO;
        for (i = 0; i < P * N; i++) D[i] = (shs_real)BY_TYPE(1e-38, 1e-300) * (shs_real)(1 + i % 3);
        report.history = history;
        o.nonnegative = 1;
        o.start = SHS_START_GIVEN;
        o.first_iteration = 1;
        o.iterations = 2;
        o.update = (shs_update)update;
        o.rmse_after_update = 1;
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
        assert_true(isfinite(report.rmse) && isfinite(report.mean_atoms));
        for (i = 0; i < 2; i++) assert_true(isfinite(history[i].rmse_coding) && isfinite(history[i].rmse_update));
    }
    free(Y);
    free(D);
}

/* With fewer signals than atoms, the codes of atoms depend on each other. All atoms keep unit norm, and an unused atom does
   not change but for rounding. */
static void test_mod_of_few_signals(void **state) {
    shs_real *Y = small_signals();
    int m, j;
    (void)state;
    for (m = 1; m < 30; m += 4) {
        shs_real *D = new_dictionary(P, N, 3), *start = copy_of(P * N, D);
        size_t usage[N];
        shs_ksvd_options o = small_options();
        shs_ksvd_report report = SHS_ZERO;
        o.iterations = 1;
        o.start = SHS_START_GIVEN;
        o.replace = SHS_REPLACE_LEAVE;
        o.keep = SHS_KEEP_LAST;
        o.update = SHS_UPDATE_MOD;
        report.usage_history = usage;
        assert_ok(shs_ksvd_ex(&serial, P, N, (size_t)m, Y, P, &o, D, P, NULL, &report));
        assert_unit_norm(P, N, D);
        for (j = 0; j < N; j++)
            if (!usage[j]) assert_all_close(P, D + P * j, start + P * j, BY_TYPE(1e-6, 1e-14));
        free(D);
        free(start);
    }
    free(Y);
}

/* More than n atoms at a time are n. */
static void test_group_larger_than_dictionary(void **state) {
    shs_real *Y = small_signals(), *a = (shs_real *)malloc(P * N * sizeof *a),
             *b = (shs_real *)malloc(P * N * sizeof *b);
    shs_ksvd_options o = small_options();
    (void)state;
    o.parallel_atoms = N;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, a, P, NULL, NULL));
    o.parallel_atoms = INT_MAX;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, b, P, NULL, NULL));
    assert_memory_equal(a, b, P * N * sizeof *a);
    free(Y);
    free(a);
    free(b);
}

/* ---- schedules and resume ---------------------------------------------------------------------------------------- */

/* Iterations first .. first+count-1 on D as it is. */
static void go_on(shs_real *D, const shs_real *Y, shs_ksvd_options o, int first, int count) {
    o.first_iteration = first;
    o.iterations = count;
    o.keep = SHS_KEEP_LAST;
    if (first > 0) o.start = SHS_START_GIVEN;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, NULL));
}

static void test_schedules(void **state) {
    static const shs_step atoms[] = {{1, 3}, {4, N}}, rounds[] = {{0, 2}, {2, 1}, {3, 3}};
    shs_real *Y = small_signals(), *a = new_dictionary(P, N, 3), *b = copy_of(P * N, a);
    shs_ksvd_options o = small_options();
    int k;
    (void)state;
    o.start = SHS_START_GIVEN;
    o.parallel_atoms = 8;
    o.rounds = 5; /* overridden from iteration 0 on */
    o.parallel_atoms_schedule = atoms;
    o.parallel_atoms_steps = 2;
    o.rounds_schedule = rounds;
    o.rounds_steps = 3;
    go_on(a, Y, o, 0, 6);
    o.parallel_atoms_schedule = o.rounds_schedule = NULL;
    o.parallel_atoms_steps = o.rounds_steps = 0;
    for (k = 0; k < 6; k++) {
        if (k < 1) o.parallel_atoms = 8;
        else if (k < 4) o.parallel_atoms = 3;
        else o.parallel_atoms = N;
        if (k < 2) o.rounds = 2;
        else if (k < 3) o.rounds = 1;
        else o.rounds = 3;
        go_on(b, Y, o, k, 1);
    }
    assert_memory_equal(a, b, P * N * sizeof *a);
    free(Y);
    free(a);
    free(b);
}

static void test_resume(void **state) {
    int replace, start, group;
    shs_real *Y = small_signals();
    (void)state;
    /* Two unused coordinates and a few copies among the signals give the replacement something to do. */
    for (replace = SHS_REPLACE_WORST; replace <= SHS_REPLACE_RANDOM; replace++)
        for (start = SHS_START_SIGNALS; start <= SHS_START_RANDOM; start++)
            for (group = 1; group <= N; group += 6) {
                shs_real *a = (shs_real *)calloc(P * N, sizeof *a), *b = (shs_real *)calloc(P * N, sizeof *b);
                shs_ksvd_options o = small_options();
                o.replace = (shs_replace)replace;
                o.start = (shs_start)start;
                o.parallel_atoms = group;
                o.prune_coherence = (shs_real)0.6; /* prunes at nearly every iteration */
                go_on(a, Y, o, 0, 10);
                go_on(b, Y, o, 0, 5);
                go_on(b, Y, o, 5, 5);
                assert_memory_equal(a, b, P * N * sizeof *a);
                free(a);
                free(b);
            }
    free(Y);
}

/* ---- the usual call ---------------------------------------------------------------------------------------------- */

static void test_learns(void **state) {
    shs_real *Y = sparse_signals(16, 24, 1500, 21), *D = (shs_real *)malloc(16 * 24 * sizeof *D), *E;
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    (void)state;
    assert_ok(shs_ksvd(NULL, 16, 24, 1500, Y, 3, 30, D));
    assert_unit_norm(16, 24, D);
    o.coding.sparsity = 3;
    assert_true(rmse_of(16, 24, D, 1500, Y, &o.coding) < 0.08); /* the noise alone is 0.05 */
    E = copy_of(16 * 24, D);
    o.iterations = 30;
    assert_ok(shs_ksvd_ex(NULL, 16, 24, 1500, Y, 16, &o, E, 16, NULL, &report));
    assert_memory_equal(D, E, 16 * 24 * sizeof *D); /* the plain call is the default one */
    assert_int_equal(report.iterations, 30);
    free(Y);
    free(D);
    free(E);
}

/* Every rule has a name, and what is none has none. */
static void test_names_of_rules(void **state) {
    int u, v;
    (void)state;
    for (u = 0; u < SHS_UPDATE_COUNT; u++)
        for (v = 0; v < u; v++) assert_string_not_equal(shs_update_name((shs_update)u), shs_update_name((shs_update)v));
    assert_string_equal(shs_update_name(SHS_UPDATE_AKSVD), "aksvd");
    assert_null(shs_update_name(SHS_UPDATE_COUNT));
}

static void test_defaults(void **state) {
    shs_ksvd_options o = shs_ksvd_defaults(64, 128, 4096), tiny = shs_ksvd_defaults(5, 4, 10);
    (void)state;
    assert_int_equal(o.iterations, 10);
    assert_int_equal(o.coding.sparsity, 6);
    assert_int_equal(o.parallel_atoms, 1);
    assert_int_equal(o.rounds, 1);
    assert_int_equal(o.prune_uses, 4);
    assert_close(o.prune_coherence, 0.99, 1e-7);
    assert_int_equal(o.start, SHS_START_SIGNALS);
    assert_int_equal(o.replace, SHS_REPLACE_WORST);
    assert_int_equal(o.keep, SHS_KEEP_BEST);
    assert_int_equal(tiny.coding.sparsity, 1);
    assert_in_range(tiny.prune_uses + 1, 0, 4); /* m s / n < 16: fewer than 4 */
}

/* The defaults are what zero becomes, for sizes around which prune_uses changes: the same dictionary, and nothing is left to
   become anything. */
static void test_defaults_are_what_zero_becomes(void **state) {
    int turn = 0;
    int p, n, m;
    (void)state;
    for (p = 4; p <= 36; p += 16)
        for (n = 5; n <= 61; n += 14)
            for (m = 20 + 62 * first_of(n, 1); m <= 330; m += 62 * every(1)) {
                if (left_out(&turn, every_on_device(7))) continue;
                shs_ksvd_options zero = SHS_ZERO, o = shs_ksvd_defaults(p, n, (size_t)m);
                shs_real *Y = new_normal((size_t)p * (size_t)m, (uint64_t)(p + n + m)), *a = new_dictionary(p, n, 3);
                shs_real *b = copy_of((size_t)p * (size_t)n, a);
                double fair = (double)m * o.coding.sparsity / n;
                if (fair < 4) assert_int_equal(o.prune_uses, -1);
                else assert_int_equal(o.prune_uses, fair >= 16 ? 4 : (int)(fair / 4));
                assert_int_equal(o.coding.sparsity, p >= 20 ? p / 10 : 1);
                assert_int_equal(o.coding.signals_per_group, 128);
                assert_int_equal(o.patch_channels, 1);
                if (p == 4) assert_int_equal(o.patch_width, 2);
                else assert_int_equal(o.patch_width, p == 36 ? 6 : 0);
                assert_int_equal(o.patch_height, o.patch_width);
                zero.seed = o.seed = 9;
                assert_ok(shs_ksvd_ex(&serial, p, n, (size_t)m, Y, p, &zero, a, p, NULL, NULL));
                assert_ok(shs_ksvd_ex(&serial, p, n, (size_t)m, Y, p, &o, b, p, NULL, NULL));
                assert_memory_equal(a, b, (size_t)p * (size_t)n * sizeof *a);
                free(Y);
                free(a);
                free(b);
            }
}

/* Random sizes and options: what is learnt is the same, to the last bit, whatever else is asked for. */
static void test_outputs_change_nothing(void **state) {
    shs_random r;
    int trial, how;
    (void)state;
    shs_random_seed(&r, 5);
    for (trial = 0; trial < 60; trial += every_on_device(19)) {
        int p = 4 + (int)shs_random_below(&r, 33), n = 4 + (int)shs_random_below(&r, 60), most = p < n ? p : n;
        size_t m = 30 + (size_t)shs_random_below(&r, 120), i;
        shs_real *Y = new_normal((size_t)p * m, (uint64_t)trial), *D[5];
        shs_ksvd_options o = SHS_ZERO;
        shs_ksvd_report reports[5];
        o.iterations = 1 + (int)shs_random_below(&r, 4);
        o.seed = (uint64_t)trial;
        o.parallel_atoms = 1 + (int)shs_random_below(&r, (uint64_t)n);
        o.rounds = 1 + trial % 2;
        if (trial % 3) o.coding.sparsity = 1 + (int)shs_random_below(&r, 6);
        if (trial % 3 != 1) o.coding.tolerance = (shs_real)(0.3 * sqrt((double)p));
        if (o.coding.sparsity > most) o.coding.sparsity = most;
        for (how = 0; how < 5; how++) { /* no codes; as wide as they must be; wider; in a wide matrix; or narrow */
            int stride = most, ldd = how == 3 ? p + 5 : p, j;
            shs_ksvd_record history[4];
            size_t usage[4 * 64];
            shs_codes codes;
            shs_omp_options coding = o.coding;
            if (how == 1 && o.coding.sparsity) stride = o.coding.sparsity;
            if (how == 2) stride = 2 * p + 3;
            if (how == 4 && trial % 3 == 0) stride = 2;
            assert_ok(shs_codes_create(NULL, m, stride, &codes));
            D[how] = new_normal((size_t)ldd * (size_t)n, 1);
            memset(reports + how, 0, sizeof *reports);
            reports[how].history = how ? history : NULL;
            reports[how].usage_history = how == 2 ? usage : NULL;
            o.rmse_after_update = how == 4;
            assert_ok(
                shs_ksvd_ex(&serial, p, n, m, Y, p, &o, D[how], ldd, how ? &codes : NULL, how == 3 ? NULL : reports + how));
            for (j = 0; j < n; j++)
                assert_memory_equal(D[how] + (size_t)ldd * (size_t)j, D[0] + (size_t)p * (size_t)j, (size_t)p * sizeof **D);
            if (how != 3) assert_memory_equal(&reports[how].rmse, &reports[0].rmse, sizeof(shs_wide));
            if (how) { /* the codes are those of the dictionary, within what they hold */
                shs_codes again;
                assert_ok(shs_codes_create(NULL, m, stride, &again));
                assert_ok(shs_omp_ex(&serial, p, n, D[how], ldd, m, Y, p, &coding, &again, NULL, NULL));
                for (i = 0; i < m; i++) assert_in_range(codes.used[i], 0, (uintmax_t)stride);
                assert_int_equal(shs_codes_nonzeros(&codes), shs_codes_nonzeros(&again));
                shs_codes_free(NULL, &again);
            }
            shs_codes_free(NULL, &codes);
        }
        for (how = 0; how < 5; how++) free(D[how]);
        free(Y);
    }
}

/* The error after each round equals the norm of the residual at this moment. Recording errors does not change the dictionary,
   and the entries of rounds that were not done are -1. The last of an iteration is rmse_update. */
static void test_round_history(void **state) {
    enum { ITERATIONS = 4, ROUNDS = 3 };
    static const shs_step schedule[] = {{0, 1}, {1, 3}, {3, 5}};
    shs_real *Y = small_signals(), D[P * N], plain[P * N];
    shs_wide errors[ITERATIONS * ROUNDS];
    shs_ksvd_record h[ITERATIONS];
    int k, r, group;
    (void)state;
    for (group = 1; group <= N; group += N - 1) {
        shs_ksvd_options o = small_options();
        shs_ksvd_report report = SHS_ZERO, none = SHS_ZERO;
        shs_wide first;
        o.iterations = ITERATIONS;
        o.rounds_schedule = schedule;
        o.rounds_steps = 3;
        o.parallel_atoms = group;
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, plain, P, NULL, &none));
        o.rmse_after_rounds = 1;
        report.history = h;
        report.round_history = errors;
        assert_status(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report), SHS_BAD_OUTPUT);
        report.round_stride = ROUNDS;
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
        assert_memory_equal(D, plain, sizeof D);
        for (k = 0; k < ITERATIONS; k++) {
            const shs_wide *e = errors + ROUNDS * k;
            for (r = 0; r < ROUNDS; r++) assert_true(k > 0 || r < 1 ? e[r] > 0 : e[r] < 0);
            if (group == 1) assert_true(e[0] <= h[k].rmse_coding * (1 + BY_TYPE(1e-5, 1e-12)));
            for (r = 1; r < ROUNDS && k > 0 && group == 1; r++) assert_true(e[r] <= e[r - 1] * (1 + BY_TYPE(1e-5, 1e-12)));
            if (k < 3) assert_close(h[k].rmse_update, e[k ? ROUNDS - 1 : 0], 0);
            else assert_true(h[k].rmse_update > 0); /* the fifth round's */
        }
        first = errors[0]; /* of one round; without the option all are marked */
        o.rounds_schedule = NULL;
        o.rounds_steps = 0;
        o.rounds = 1;
        o.iterations = 1;
        o.rmse_after_rounds = 0;
        o.rmse_after_update = 1;
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
        assert_close(h[0].rmse_update, first, 0);
        for (r = 0; r < ROUNDS; r++) assert_close(errors[r], -1, 0);
    }
    free(Y);
}

/* History, usage, report and codes agree with each other and with a coding of the dictionary returned. */
static void test_history(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    shs_ksvd_record *h = (shs_ksvd_record *)malloc(8 * sizeof *h);
    size_t *usage = (size_t *)malloc(8 * N * sizeof *usage);
    shs_ksvd_options o = small_options();
    shs_ksvd_report report = SHS_ZERO;
    shs_codes codes, again;
    double best = 1e9;
    int k, j, keep;
    (void)state;
    assert_ok(shs_codes_create(NULL, M, 3, &codes));
    assert_ok(shs_codes_create(NULL, M, 3, &again));
    o.iterations = 8;
    report.history = h;
    report.usage_history = usage;
    for (keep = SHS_KEEP_BEST; keep <= SHS_KEEP_LAST; keep++) {
        o.keep = (shs_keep)keep;
        o.rmse_after_update = keep == SHS_KEEP_LAST;
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, &codes, &report));
        assert_unit_norm(P, N, D);
        for (k = 0; k < 8; k++) {
            size_t uses = 0;
            int used = 0;
            for (j = 0; j < N; j++) {
                uses += usage[N * k + j];
                used += usage[N * k + j] > 0;
            }
            assert_close(h[k].mean_atoms, (double)uses / M, 1e-6);
            assert_int_equal(h[k].atoms_used, used);
            assert_true(h[k].replaced >= 0 && h[k].pruned >= 0);
            if (keep == SHS_KEEP_LAST) assert_true(h[k].rmse_update <= h[k].rmse_coding * (1 + BY_TYPE(1e-5, 1e-12)));
            else assert_close(h[k].rmse_update, -1, 0);
            if (h[k].rmse_coding < best) best = (double)h[k].rmse_coding;
        }
        assert_int_equal(report.iterations, 8);
        if (keep == SHS_KEEP_LAST) assert_int_equal(report.best_iteration, 8);
        else assert_true(report.rmse <= best);
        assert_in_range(report.best_iteration, 0, 8);
        if (report.best_iteration < 8) assert_close(report.rmse, h[report.best_iteration].rmse_coding, 0);
        assert_close(report.rmse, rmse_of(P, N, D, M, Y, &o.coding), BY_TYPE(1e-6, 1e-12));
        assert_close(report.mean_atoms, (double)shs_codes_nonzeros(&codes) / M, 1e-6);
        assert_ok(shs_omp_ex(&serial, P, N, D, P, M, Y, P, &o.coding, &again, NULL, NULL));
        assert_memory_equal(codes.used, again.used, M * sizeof *codes.used);
        assert_memory_equal(codes.atoms, again.atoms, M * 3 * sizeof *codes.atoms);
        assert_all_close(M * 3, codes.coefs, again.coefs, BY_TYPE(1e-5, 1e-12));
    }
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &again);
    free(Y);
    free(D);
    free(h);
    free(usage);
}

/* Fully parallel updates with many rounds make things worse at times: the best dictionary is kept, whichever it was. */
static void test_keeps_the_best(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    shs_ksvd_record *h = (shs_ksvd_record *)malloc(30 * sizeof *h);
    int before_last = 0;
    uint64_t seed;
    (void)state;
    for (seed = 0; seed < 8; seed++) {
        shs_ksvd_options o = small_options();
        shs_ksvd_report best = SHS_ZERO, last = SHS_ZERO;
        int k;
        o.iterations = 30;
        o.parallel_atoms = N;
        o.rounds = 6;
        o.seed = seed;
        best.history = h;
        assert_ok(shs_ksvd_ex(&serial, P, N, 100, Y, P, &o, D, P, NULL, &best));
        assert_close(best.rmse, rmse_of(P, N, D, 100, Y, &o.coding), BY_TYPE(1e-6, 1e-12));
        for (k = 0; k < 30; k++) assert_true(best.rmse <= h[k].rmse_coding);
        o.keep = SHS_KEEP_LAST;
        assert_ok(shs_ksvd_ex(&serial, P, N, 100, Y, P, &o, D, P, NULL, &last));
        assert_true(best.rmse <= last.rmse);
        before_last += best.best_iteration < 30;
    }
    assert_true(before_last > 0);
    free(Y);
    free(D);
    free(h);
}

static void test_tolerance_training(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    shs_ksvd_record *h = (shs_ksvd_record *)malloc(10 * sizeof *h);
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_omp_report coded;
    shs_codes codes, again;
    int k;
    (void)state;
    assert_ok(shs_codes_create(NULL, M, P, &codes));
    assert_ok(shs_codes_create(NULL, M, P, &again));
    o.iterations = 10;
    o.coding.tolerance = (shs_real)0.25;
    report.history = h;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, &codes, &report));
    assert_true(report.mean_atoms < 0.9 * h[0].mean_atoms); /* it learned */
    for (k = 0; k < 10; k++) assert_true(report.mean_atoms <= h[k].mean_atoms);
    assert_close(report.mean_atoms, (double)shs_codes_nonzeros(&codes) / M, 1e-6);
    assert_ok(shs_omp_ex(&serial, P, N, D, P, M, Y, P, &o.coding, &again, NULL, &coded));
    assert_int_equal(coded.not_reached, 0);
    assert_memory_equal(codes.used, again.used, M * sizeof *codes.used);
    shs_codes_free(NULL, &codes), shs_codes_free(NULL, &again);
    free(Y);
    free(D);
    free(h);
}

/* Where the sparsity keeps many signals above the tolerance, errors tell which dictionary is best: the start codes itself with
   few atoms. */
static void test_sparsity_and_tolerance(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    shs_ksvd_record h[10];
    shs_ksvd_options o = small_options();
    shs_ksvd_report report = SHS_ZERO;
    int k;
    (void)state;
    o.iterations = 10;
    o.coding.tolerance = (shs_real)0.01;
    report.history = h;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
    assert_true(report.best_iteration > 0 && report.mean_atoms > h[0].mean_atoms);
    for (k = 0; k < 10; k++) assert_true(report.rmse <= h[k].rmse_coding);
    free(Y);
    free(D);
}

static void test_early_stop(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    shs_ksvd_options o = small_options();
    shs_ksvd_report report = SHS_ZERO;
    (void)state;
    o.iterations = 200;
    o.stop_improvement = 0.01;
    o.stop_patience = 3;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
    assert_in_range(report.iterations, 4, 150);
    assert_unit_norm(P, N, D);
    o.start = SHS_START_GIVEN; /* parting its atoms costs more than the iterations win back: the start is no mark for these */
    o.coherence = (shs_real)0.3;
    o.stop_improvement = 0.0005;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
    assert_in_range(report.iterations, 5, 150);
    o.start = SHS_START_SIGNALS;
    o.coherence = 0;
    o.stop_improvement = (shs_wide)NAN;
    assert_status(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report), SHS_BAD_OPTIONS);
    o.stop_improvement = 0.01;
    o.iterations = 40;
    o.stop_patience = 0;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
    assert_int_equal(report.iterations, 40);
    free(Y);
    free(D);
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

typedef struct watch {
    int calls, cancel_at;
} watch;

static int watch_progress(void *user, const char *phase, size_t step, size_t steps, shs_wide error) {
    watch *w = (watch *)user;
    (void)phase;
    (void)step;
    (void)steps;
    (void)error;
    return w->calls++ == w->cancel_at;
}

/* Cancelled at once, a call returns its start. */
static void get_start(int p, int n, shs_real *D, size_t m, const shs_real *Y, const shs_ksvd_options *o) {
    shs_context ctx = SHS_ZERO;
    watch w = {0, 0};
    ctx.progress_fn = watch_progress;
    ctx.progress_user = &w;
    ctx.threads = 1;
    assert_status(shs_ksvd_ex(&ctx, p, n, m, Y, p, o, D, p, NULL, NULL), SHS_CANCELLED);
    assert_unit_norm(p, n, D);
}

/* Returns the signal that is a multiple of an atom; m if there is none. */
static size_t signal_of_atom(int p, const shs_real *d, size_t m, const shs_real *Y) {
    size_t i;
    for (i = 0; i < m; i++) {
        const shs_real *y = Y + i * (size_t)p;
        double norm = sqrt(inner(p, y, y));
        if (norm > 0 && fabs(inner(p, d, y)) / norm > 1 - BY_TYPE(1e-6, 1e-13)) return i;
    }
    return m;
}

static void test_start_from_signals(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D),
             *E = (shs_real *)malloc(P * N * sizeof *E);
    unsigned char *taken = (unsigned char *)calloc(M, 1);
    shs_ksvd_options o = small_options();
    int j;
    (void)state;
    get_start(P, N, D, M, Y, &o);
    for (j = 0; j < N; j++) {
        size_t i = signal_of_atom(P, D + P * j, M, Y);
        assert_in_range(i, 0, M - 1);
        assert_false(taken[i]);
        taken[i] = 1;
    }
    get_start(P, N, E, M, Y, &o);
    assert_memory_equal(D, E, P * N * sizeof *D);
    o.seed++;
    get_start(P, N, E, M, Y, &o);
    assert_memory_not_equal(D, E, P * N * sizeof *D);
    free(Y);
    free(D);
    free(E);
    free(taken);
}

/* Nine distinct directions among zeros, copies and negatives: all nine are atoms, the rest are random. */
static void test_start_from_few_signals(void **state) {
    shs_real *Y = (shs_real *)calloc(P * 60, sizeof *Y), *distinct = new_normal(P * 9, 31),
             *D = (shs_real *)malloc(P * N * sizeof *D);
    unsigned char taken[9] = {0};
    shs_ksvd_options o = small_options();
    int i, j, k, strangers = 0;
    (void)state;
    for (i = 0; i < 60; i++)
        for (k = 0; k < P && i % 4; k++) Y[P * i + k] = distinct[P * (i % 9) + k];
    get_start(P, N, D, 60, Y, &o);
    for (j = 0; j < N; j++) {
        size_t at = signal_of_atom(P, D + P * j, 9, distinct);
        if (at == 9) {
            strangers++;
            continue;
        }
        assert_false(taken[at]);
        taken[at] = 1;
    }
    assert_int_equal(strangers, N - 9);
    free(Y);
    free(distinct);
    free(D);
}

static void test_start_random(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D),
             *E = (shs_real *)malloc(P * N * sizeof *E);
    shs_ksvd_options o = small_options();
    shs_wide mu = -1;
    int j;
    (void)state;
    o.start = SHS_START_RANDOM;
    get_start(P, N, D, M, Y, &o);
    for (j = 0; j < N; j++) assert_int_equal(signal_of_atom(P, D + P * j, M, Y), M);
    assert_ok(shs_dictionary_coherence(NULL, P, N, D, P, &mu));
    assert_in_range((int)(100 * mu), 30, 97);
    o.seed++;
    get_start(P, N, E, M, Y, &o);
    assert_memory_not_equal(D, E, P * N * sizeof *D);
    free(Y);
    free(D);
    free(E);
}

static void test_start_dct(void **state) {
    shs_real *Y = new_normal(24 * 100, 41), *D = (shs_real *)malloc(24 * 50 * sizeof *D),
             *E = (shs_real *)malloc(24 * 50 * sizeof *E);
    shs_ksvd_options o = small_options();
    (void)state;
    o.start = SHS_START_DCT;
    o.patch_width = 4;
    o.patch_height = 2;
    o.patch_channels = 3;
    get_start(24, 50, D, 100, Y, &o);
    assert_ok(shs_dictionary_dct(4, 2, 3, 50, E, 24));
    assert_all_close(24 * 50, D, E, BY_TYPE(1e-6, 1e-14));
    o.patch_width = o.patch_height = o.patch_channels = 0;
    get_start(16, 50, D, 100, Y, &o); /* 16 is a square */
    assert_ok(shs_dictionary_dct(4, 4, 1, 50, E, 16));
    assert_all_close(16 * 50, D, E, BY_TYPE(1e-6, 1e-14));
    free(Y);
    free(D);
    free(E);
}

static void test_start_given(void **state) {
    shs_real *Y = small_signals(), *D = new_normal(P * N, 43), *E = copy_of(P * N, D);
    shs_ksvd_options o = small_options();
    (void)state;
    normalise(P, N, E);
    o.start = SHS_START_GIVEN;
    get_start(P, N, D, M, Y, &o);
    assert_all_close(P * N, D, E, BY_TYPE(1e-6, 1e-14));
    memcpy(E, D, P * N * sizeof *E);
    o.first_iteration = 3;
    get_start(P, N, D, M, Y, &o); /* on resuming, atoms stay as they are to the last bit */
    assert_memory_equal(D, E, P * N * sizeof *D);
    free(Y);
    free(D);
    free(E);
}

static void test_dictionary_random(void **state) {
    shs_real *D = (shs_real *)malloc(9 * 30 * sizeof *D), *E = (shs_real *)malloc(9 * 30 * sizeof *E);
    int j, k;
    (void)state;
    for (j = 0; j < 270; j++) D[j] = 55;
    assert_ok(shs_dictionary_random(7, 30, D, 9, 5));
    for (j = 0; j < 30; j++) {
        assert_close(inner(7, D + 9 * j, D + 9 * j), 1, BY_TYPE(1e-6, 1e-14));
        for (k = 7; k < 9; k++) assert_close(D[9 * j + k], 55, 0);
    }
    memcpy(E, D, 270 * sizeof *E);
    assert_ok(shs_dictionary_random(7, 30, E, 9, 5));
    assert_memory_equal(D, E, 270 * sizeof *D);
    assert_ok(shs_dictionary_random(7, 30, E, 9, 6));
    assert_memory_not_equal(D, E, 270 * sizeof *D);
    assert_status(shs_dictionary_random(0, 30, E, 9, 5), SHS_BAD_P);
    assert_status(shs_dictionary_random(7, 0, E, 9, 5), SHS_BAD_N);
    assert_status(shs_dictionary_random(7, 30, NULL, 9, 5), SHS_BAD_DICTIONARY);
    assert_status(shs_dictionary_random(7, 30, E, 6, 5), SHS_BAD_LDD);
    free(D);
    free(E);
}

/* Cosine k of `count` on 8 points: cos(pi i k / count), the mean removed for k > 0. */
static void naive_cosine(int count, int k, double *values) {
    double mean = 0;
    int i;
    for (i = 0; i < 8; i++) {
        values[i] = cos(3.14159265358979323846 * i * k / count);
        mean += values[i] / 8;
    }
    for (i = 0; i < 8 && k > 0; i++) values[i] -= mean;
}

/* count x count atoms of 8x8 values: every product of two cosines is there once. */
static void check_dct(int count) {
    int n = count * count, kx, ky, j, x, y;
    shs_real *D = (shs_real *)malloc((size_t)(64 * n) * sizeof *D), *product = (shs_real *)malloc(64 * sizeof *product);
    assert_ok(shs_dictionary_dct(8, 8, 1, n, D, 64));
    assert_unit_norm(64, n, D);
    for (y = 0; y < 64; y++) assert_close(D[y], 0.125, 1e-6); /* the first atom is the constant one */
    for (ky = 0; ky < count; ky++)
        for (kx = 0; kx < count; kx++) {
            double across[8], down[8];
            int found = 0;
            naive_cosine(count, kx, across);
            naive_cosine(count, ky, down);
            for (y = 0; y < 8; y++)
                for (x = 0; x < 8; x++) product[8 * y + x] = (shs_real)(across[x] * down[y]);
            normalise(64, 1, product);
            for (j = 0; j < n; j++) found += fabs(inner(64, product, D + 64 * j)) > 1 - BY_TYPE(1e-6, 1e-13);
            assert_int_equal(found, 1);
        }
    free(D);
    free(product);
}

static void test_dictionary_dct(void **state) {
    shs_real *D = (shs_real *)malloc(192 * 441 * sizeof *D), *all = (shs_real *)malloc(64 * 256 * sizeof *all);
    int j, k;
    (void)state;
    check_dct(8);
    check_dct(11);
    check_dct(16);
    assert_ok(shs_dictionary_dct(8, 8, 1, 256, all, 64));
    for (j = 1; j < 256; j++) {
        double sum = 0;
        for (k = 0; k < 64; k++) sum += (double)all[64 * j + k];
        assert_close(sum, 0, BY_TYPE(1e-5, 1e-12)); /* only the first atom has a mean */
    }
    assert_ok(shs_dictionary_dct(8, 8, 1, 250, D, 64)); /* fewer than 16 x 16: those of the lowest frequencies */
    for (j = 0; j < 250; j++)
        for (k = 0; k < 64; k++) assert_close(D[64 * j + k], all[64 * j + k], 0);
    assert_ok(shs_dictionary_dct(8, 8, 3, 441, D, 192));
    assert_unit_norm(192, 441, D);
    assert_ok(shs_dictionary_dct(5, 3, 1, 40, D, 15));
    assert_unit_norm(15, 40, D);
    assert_ok(shs_dictionary_dct(1, 1, 1, 1, D, 1));
    assert_close(D[0], 1, 1e-6);
    assert_status(shs_dictionary_dct(8, 8, 1, 0, D, 64), SHS_BAD_N);
    assert_status(shs_dictionary_dct(8, 8, 1, 256, NULL, 64), SHS_BAD_DICTIONARY);
    assert_status(shs_dictionary_dct(8, 8, 1, 256, D, 63), SHS_BAD_LDD);
    assert_int_not_equal(shs_dictionary_dct(0, 8, 1, 256, D, 64), SHS_OK);
    assert_int_not_equal(shs_dictionary_dct(8, -8, 1, 256, D, 64), SHS_OK);
    assert_int_not_equal(shs_dictionary_dct(8, 8, -1, 256, D, 64), SHS_OK);
    free(D);
    free(all);
}

static void test_coherence(void **state) {
    shs_real *D = new_normal(P * 150, 51), *scaled = copy_of(P * 150, D);
    double expected = 0;
    shs_wide mu = -1;
    int i, j;
    (void)state;
    for (j = 0; j < 150; j++)
        for (i = 0; i < j; i++) {
            double c = inner(P, D + P * i, D + P * j) / sqrt(inner(P, D + P * i, D + P * i) * inner(P, D + P * j, D + P * j));
            expected = fmax(expected, fabs(c));
        }
    assert_ok(shs_dictionary_coherence(NULL, P, 150, D, P, &mu));
    assert_close(mu, expected, BY_TYPE(1e-5, 1e-12));
    for (j = 0; j < P * 150; j++) scaled[j] *= 16;
    assert_ok(shs_dictionary_coherence(NULL, P, 150, scaled, P, &mu));
    assert_close(mu, expected, BY_TYPE(1e-5, 1e-12));
    for (i = 0; i < 2; i++) {
        const double unit = i ? BY_TYPE(1e20, 1e200) : BY_TYPE(1e-23, 1e-200);
        for (j = 0; j < P * 150; j++) scaled[j] = (shs_real)(unit * (double)D[j]);
        assert_ok(shs_dictionary_coherence(NULL, P, 150, scaled, P, &mu));
        assert_close(mu, expected, BY_TYPE(1e-5, 1e-12));
    }
    assert_ok(shs_dictionary_coherence(NULL, P, 1, D, P, &mu));
    assert_close(mu, 0, 0);
    for (j = 0; j < P * 75; j++) scaled[P * 75 + j] = scaled[j] * 3; /* each atom twice: rounding is not to lead above 1 */
    for (j = 0; j < 75; j++) {
        shs_real two[2 * P];
        memcpy(two, scaled + P * j, P * sizeof *two);
        memcpy(two + P, scaled + P * (75 + j), P * sizeof *two);
        assert_ok(shs_dictionary_coherence(NULL, P, 2, two, P, &mu));
        assert_close(mu, 1, BY_TYPE(1e-6, 1e-14));
        if (!(mu <= 1)) fail_msg("atom %d and 3 times itself: the coherence is 1 + %g, not 1 at most", j, (double)mu - 1);
    }
    mu = -1;
    assert_status(shs_dictionary_coherence(NULL, 0, 9, D, P, &mu), SHS_BAD_P);
    assert_status(shs_dictionary_coherence(NULL, P, 0, D, P, &mu), SHS_BAD_N);
    assert_status(shs_dictionary_coherence(NULL, P, 9, NULL, P, &mu), SHS_BAD_DICTIONARY);
    assert_status(shs_dictionary_coherence(NULL, P, 9, D, P - 1, &mu), SHS_BAD_LDD);
    assert_status(shs_dictionary_coherence(NULL, P, 9, D, P, NULL), SHS_BAD_OUTPUT);
    D[P + 3] = (shs_real)NAN;
    assert_status(shs_dictionary_coherence(NULL, P, 9, D, P, &mu), SHS_DICTIONARY_NOT_FINITE);
    assert_close(mu, -1, 0);
    free(D);
    free(scaled);
}

/* ---- replacement ------------------------------------------------------------------------------------------------- */

/* One iteration from a given dictionary, of which the record tells. */
typedef struct one_step {
    shs_real *Y, *D, *before;
    shs_ksvd_options o;
    shs_ksvd_report report;
    shs_ksvd_record record;
} one_step;

/* With a dictionary that the test may still change. */
static void one_step_begin(one_step *t, uint64_t seed) {
    memset(t, 0, sizeof *t);
    t->Y = small_signals();
    t->before = new_dictionary(P, N, seed);
    t->D = copy_of(P * N, t->before);
    t->o = small_options();
    t->o.iterations = 1;
    t->o.start = SHS_START_GIVEN;
    t->o.keep = SHS_KEEP_LAST;
    t->report.history = &t->record;
}

static void one_step_take(one_step *t) {
    memcpy(t->D, t->before, P * N * sizeof *t->D);
    assert_ok(shs_ksvd_ex(&serial, P, N, M, t->Y, P, &t->o, t->D, P, NULL, &t->report));
}

static void one_step_end(one_step *t) { free(t->Y), free(t->D), free(t->before); }

/* The signals are zero in the last two coordinates. The last three atoms are zero in all other coordinates, so they are
   unused. */
static void one_step_with_unused(one_step *t) {
    int i, j;
    one_step_begin(t, 61);
    for (i = 0; i < M; i++) t->Y[P * i + P - 1] = t->Y[P * i + P - 2] = 0;
    for (j = 0; j < N; j++) t->before[P * j + P - 1] = t->before[P * j + P - 2] = 0;
    for (j = N - 3; j < N; j++) {
        memset(t->before + P * j, 0, P * sizeof *t->before);
        t->before[P * j + P - 1] = (shs_real)(j - N + 3);
        t->before[P * j + P - 2] = 1;
    }
    normalise(P, N, t->before);
}

static void test_replace_worst(void **state) {
    one_step t;
    unsigned char *taken = (unsigned char *)calloc(M, 1);
    shs_real *errors2 = (shs_real *)malloc(M * sizeof *errors2);
    shs_codes codes;
    int j, group;
    size_t i;
    (void)state;
    for (group = 1; group <= N; group += N - 1) {
        memset(taken, 0, M);
        one_step_with_unused(&t);
        assert_ok(shs_codes_create(NULL, M, 3, &codes));
        assert_ok(shs_omp_ex(&serial, P, N, t.before, P, M, t.Y, P, &t.o.coding, &codes, errors2, NULL));
        t.o.parallel_atoms = group;
        t.o.prune_coherence = 1;
        t.o.prune_uses = -1;
        one_step_take(&t);
        assert_int_equal(t.record.replaced, 3);
        assert_int_equal(t.record.pruned, 0);
        assert_int_equal(t.record.atoms_used, N - 3);
        assert_unit_norm(P, N, t.D);
        for (j = N - 3; j < N; j++) {
            size_t at = signal_of_atom(P, t.D + P * j, M, t.Y), worse = 0;
            assert_in_range(at, 0, M - 1);
            assert_false(taken[at]);
            taken[at] = 1;
            for (i = 0; i < M; i++) worse += errors2[i] > errors2[at];
            assert_in_range(worse, 0, M / 20); /* the update moves errors a little, not the worst into the middle */
        }
        shs_codes_free(NULL, &codes);
        one_step_end(&t);
    }
    free(taken);
    free(errors2);
}

static void test_replace_leave(void **state) {
    one_step t;
    (void)state;
    one_step_with_unused(&t);
    t.o.replace = SHS_REPLACE_LEAVE;
    one_step_take(&t);
    assert_int_equal(t.record.replaced, 0);
    assert_int_equal(t.record.pruned, 0);
    assert_all_close(3 * P, t.D + P * (N - 3), t.before + P * (N - 3), BY_TYPE(4e-7, 1e-15));
    one_step_end(&t);
}

static void test_replace_random(void **state) {
    one_step t;
    shs_real *after;
    int j;
    (void)state;
    one_step_with_unused(&t);
    t.o.replace = SHS_REPLACE_RANDOM;
    t.o.prune_coherence = 1;
    t.o.prune_uses = -1;
    one_step_take(&t);
    assert_int_equal(t.record.replaced, 3);
    assert_unit_norm(P, N, t.D);
    for (j = N - 3; j < N; j++) {
        assert_true(fabs(inner(P, t.D + P * j, t.before + P * j)) < 0.95);
        assert_int_equal(signal_of_atom(P, t.D + P * j, M, t.Y), M);
        if (j > N - 3) assert_true(fabs(inner(P, t.D + P * j, t.D + P * (j - 1))) < 0.95);
    }
    after = copy_of(P * N, t.D);
    t.o.first_iteration = 1; /* other iterations draw other directions */
    one_step_take(&t);
    assert_true(fabs(inner(P, t.D + P * (N - 1), after + P * (N - 1))) < 0.95);
    free(after);
    one_step_end(&t);
}

/* Atom 1 becomes nearly atom 0, with signals that use both. */
static void test_prune_duplicates(void **state) {
    one_step t;
    shs_wide mu = -1;
    int i, k, replace;
    (void)state;
    one_step_begin(&t, 63);
    for (k = 0; k < P; k++) t.before[P + k] = t.before[k] + (k == 0 ? (shs_real)0.02 : 0);
    normalise(P, N, t.before);
    for (i = 0; i < 60; i++)
        for (k = 0; k < P; k++) t.Y[P * i + k] += 5 * t.before[P * (i % 2) + k];
    assert_ok(shs_dictionary_coherence(NULL, P, N, t.before, P, &mu));
    assert_true(mu > 0.99);
    t.o.prune_uses = -1;
    for (replace = SHS_REPLACE_WORST; replace <= SHS_REPLACE_RANDOM; replace++) {
        t.o.replace = (shs_replace)replace;
        t.o.prune_coherence = 0;
        one_step_take(&t);
        assert_unit_norm(P, N, t.D);
        assert_ok(shs_dictionary_coherence(NULL, P, N, t.D, P, &mu));
        if (replace == SHS_REPLACE_LEAVE) {
            assert_int_equal(t.record.pruned, 0);
            assert_true(mu > 0.9);
        } else {
            assert_int_equal(t.record.pruned, 1);
            assert_true(mu <= 0.99);
        }
        t.o.prune_coherence = 1;
        one_step_take(&t);
        assert_int_equal(t.record.pruned, 0);
    }
    one_step_end(&t);
}

/* The last atom is used by one signal only. */
static void test_prune_rarely_used(void **state) {
    one_step t;
    int i, j;
    (void)state;
    one_step_begin(&t, 65);
    for (i = 0; i < M; i++) t.Y[P * i + P - 1] = 0;
    for (j = 0; j < N - 1; j++) t.before[P * j + P - 1] = 0;
    memset(t.before + P * (N - 1), 0, P * sizeof *t.before);
    t.before[P * N - 1] = 1;
    t.Y[P * 9 + P - 1] = 30;
    normalise(P, N, t.before);
    t.o.prune_coherence = 1;
    one_step_take(&t);
    assert_int_equal(t.record.pruned, 1);
    assert_int_equal(t.record.replaced, 0);
    assert_unit_norm(P, N, t.D);
    t.o.prune_uses = -1;
    one_step_take(&t);
    assert_int_equal(t.record.pruned, 0);
    t.o.prune_uses = 1;
    one_step_take(&t);
    assert_int_equal(t.record.pruned, 0);
    t.o.prune_uses = 4;
    t.o.replace = SHS_REPLACE_LEAVE;
    one_step_take(&t);
    assert_int_equal(t.record.pruned, 0);
    one_step_end(&t);
}

/* ---- cancelling -------------------------------------------------------------------------------------------------- */

static void test_cancel(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    shs_ksvd_options o = small_options();
    shs_context ctx = SHS_ZERO;
    shs_codes codes;
    watch w;
    int keep, with_codes, cancel_at;
    size_t i;
    (void)state;
    ctx.progress_fn = watch_progress;
    ctx.progress_user = &w;
    ctx.threads = 1;
    assert_ok(shs_codes_create(NULL, M, 3, &codes));
    for (keep = SHS_KEEP_BEST; keep <= SHS_KEEP_LAST; keep++)
        for (with_codes = 0; with_codes < 2; with_codes++) {
            double before = 1e9;
            for (cancel_at = 0;; cancel_at++) {
                shs_ksvd_report report = SHS_ZERO;
                shs_status status;
                double rmse;
                for (i = 0; i < P * N; i++) D[i] = (shs_real)NAN; /* not read by this start */
                for (i = 0; i < M; i++) codes.used[i] = 3;
                w.calls = 0;
                w.cancel_at = cancel_at;
                o.keep = (shs_keep)keep;
                report.iterations = report.best_iteration = 0x5a5a5a5a;
                status = shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, with_codes ? &codes : NULL, &report);
                for (i = 0; i < P * N; i++) assert_true(is_finite((double)D[i]));
                assert_unit_norm(P, N, D);
                assert_in_range(report.iterations, 0, o.iterations);
                assert_in_range(report.best_iteration, 0, o.iterations);
                rmse = rmse_of(P, N, D, M, Y, &o.coding);
                if (keep == SHS_KEEP_BEST) assert_true(rmse <= before * (1 + BY_TYPE(1e-6, 1e-12)));
                before = rmse;
                if (status == SHS_OK) break;
                assert_status(status, SHS_CANCELLED);
                for (i = 0; i < M && with_codes; i++) assert_int_equal(codes.used[i], 0);
            }
            assert_true(cancel_at >= o.iterations); /* it asks at least once an iteration */
        }
    shs_codes_free(NULL, &codes);
    free(Y);
    free(D);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void run_reversed(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    size_t i;
    (void)user;
    for (i = chunks; i-- > 0;) body(arg, i, (int)(i % (size_t)threads));
}

static void count_regions(void *user, size_t chunks, int threads, shs_chunk_fn body, void *arg) {
    ++*(int *)user;
    run_reversed(NULL, chunks, threads, body, arg);
}

static void test_threads(void **state) {
    static const int groups[] = {1, 5, 16, 40};
    shs_real *Y = sparse_signals(24, 40, 1500, 71), *expected = (shs_real *)malloc(24 * 40 * sizeof *expected);
    shs_real *D = (shs_real *)malloc(24 * 40 * sizeof *D);
    size_t k;
    int threads, callback, limited;
    (void)state;
    for (limited = 0; limited < 2; limited++)
        for (k = (size_t)first_of(limited, 2); k < 4; k += (size_t)every(2)) {
            shs_ksvd_options o = SHS_ZERO;
            shs_ksvd_report first = SHS_ZERO, report = SHS_ZERO;
            shs_context ctx = SHS_ZERO;
            o.iterations = 3;
            o.parallel_atoms = groups[k];
            o.rounds = limited ? 2 : 1;
            o.rmse_after_update = 1;
            if (limited) o.coding.tolerance = (shs_real)0.4;
            else o.coding.sparsity = 4;
            ctx.threads = 1;
            assert_ok(shs_ksvd_ex(&ctx, 24, 40, 1500, Y, 24, &o, expected, 24, NULL, &first));
            for (threads = 1; threads <= 3; threads++)
                for (callback = 0; callback < 2; callback++) {
                    ctx.threads = threads;
                    ctx.parallel_fn = callback ? run_reversed : NULL;
                    assert_ok(shs_ksvd_ex(&ctx, 24, 40, 1500, Y, 24, &o, D, 24, NULL, &report));
                    assert_memory_equal(D, expected, 24 * 40 * sizeof *D);
                    assert_memory_equal(&report.rmse, &first.rmse, sizeof report.rmse);
                }
        }
    free(Y);
    free(D);
    free(expected);
}

/* A parallel region waits for its slowest thread, so learning has few regions: coding with residuals, the Gram matrix, and
   the sums and the update of a group of several atoms. A single atom gets these two regions if enough signals use the atom.
   */
static void test_few_parallel_regions(void **state) {
    enum { SIDE = 8, PIXELS = SIDE * SIDE, ATOMS = 40, SIGNALS = 8000, FEW = 1000, MORE = 3 };
    static const int groups[] = {1, 10, ATOMS, 1}, signals[] = {FEW, FEW, FEW, SIGNALS};
    static const int most[] = {2, 2 + 2 * ATOMS / 10, 2 + 2, 2 + 2 * ATOMS}, least[] = {0, 0, 0, ATOMS};
    shs_real *Y = sparse_signals(PIXELS, ATOMS, SIGNALS, 73), *D = (shs_real *)malloc(PIXELS * ATOMS * sizeof *D);
    int k;
    (void)state;
    for (k = 0; k < 4; k++) {
        const size_t m = (size_t)signals[k];
        shs_ksvd_options o = SHS_ZERO;
        shs_context ctx = SHS_ZERO;
        int few = 0, many = 0;
        test_worth_sharing = WORTH_SHARING;
        o.coding.sparsity = 5;
        o.parallel_atoms = groups[k];
        ctx.threads = 3;
        ctx.parallel_fn = count_regions;
        ctx.parallel_user = &few;
        o.iterations = 1;
        assert_ok(shs_ksvd_ex(&ctx, PIXELS, ATOMS, m, Y, PIXELS, &o, D, PIXELS, NULL, NULL));
        ctx.parallel_user = &many;
        o.iterations = 1 + MORE;
        assert_ok(shs_ksvd_ex(&ctx, PIXELS, ATOMS, m, Y, PIXELS, &o, D, PIXELS, NULL, NULL));
        test_worth_sharing = 0;
        assert_in_range(many - few, MORE * least[k], MORE * most[k]);
    }
    free(Y);
    free(D);
}

/* What takes less time than waking threads does not wake them. */
static void test_small_work_is_not_shared(void **state) {
    shs_real *Y = sparse_signals(16, 24, 60, 75), D[16 * 24];
    shs_ksvd_options o = SHS_ZERO;
    shs_context ctx = SHS_ZERO;
    int regions = 0;
    (void)state;
    o.iterations = 2;
    o.coding.sparsity = 2;
    o.parallel_atoms = 12;
    ctx.threads = 3;
    ctx.parallel_fn = count_regions;
    ctx.parallel_user = &regions;
    test_worth_sharing = WORTH_SHARING;
    assert_ok(shs_ksvd_ex(&ctx, 16, 24, 60, Y, 16, &o, D, 16, NULL, NULL));
    test_worth_sharing = 0;
    assert_int_equal(regions, 0);
    free(Y);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* MPI_Allreduce for ranks that are threads of this program. */
typedef struct rank_team {
    pthread_mutex_t mutex;
    pthread_cond_t turn;
    int ranks, arrived, generation;
    shs_wide *values[4];
    shs_wide *combined;
    size_t room;
} rank_team;

static int wait_for_all(rank_team *t) {
    int mine = t->generation, last = ++t->arrived == t->ranks;
    if (last) {
        t->arrived = 0;
        t->generation++;
        pthread_cond_broadcast(&t->turn);
    } else
        while (mine == t->generation) pthread_cond_wait(&t->turn, &t->mutex);
    return last;
}

static shs_wide combine(shs_wide a, shs_wide b, shs_reduce_op op) {
    switch (op) {
    case SHS_REDUCE_SUM: return a + b;
    case SHS_REDUCE_MIN: return a < b ? a : b;
    case SHS_REDUCE_MAX: return a > b ? a : b;
    }
    return 0;
}

typedef struct member {
    rank_team *t;
    int rank;
} member;

static int team_reduce(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    member *me = (member *)user;
    rank_team *t = me->t;
    size_t i;
    int r;
    pthread_mutex_lock(&t->mutex);
    t->values[me->rank] = values;
    if (t->room < count) {
        t->room = count;
        t->combined = (shs_wide *)realloc(t->combined, count * sizeof *t->combined);
    }
    wait_for_all(t);
    if (me->rank == 0)
        for (i = 0; i < count; i++) {
            t->combined[i] = t->values[0][i];
            for (r = 1; r < t->ranks; r++) t->combined[i] = combine(t->combined[i], t->values[r][i], op);
        }
    wait_for_all(t);
    memcpy(values, t->combined, count * sizeof *values);
    wait_for_all(t);
    pthread_mutex_unlock(&t->mutex);
    return 0;
}

/* One rank's share of the work, and how it may be made to fail. */
typedef struct rank_job {
    shs_context ctx;
    member me;
    shs_ksvd_options o;
    shs_ksvd_report report;
    shs_real *D;
    const shs_real *Y;
    size_t m;
    shs_codes codes;
    int allocations_left; /* negative: no limit */
    watch w;
    shs_status status;
} rank_job;

static void *limited_alloc(void *user, size_t size) {
    rank_job *job = (rank_job *)user;
    if (job->allocations_left == 0) return NULL;
    if (job->allocations_left > 0) job->allocations_left--;
    return malloc(size);
}

static void limited_free(void *user, void *block) {
    (void)user;
    free(block);
}

static void *run_rank(void *arg) {
    rank_job *job = (rank_job *)arg;
    job->status = shs_ksvd_ex(&job->ctx, P, N, job->m, job->Y, P, &job->o, job->D, P, &job->codes, &job->report);
    return NULL;
}

#define MOST_RANKS 3
static const size_t shares[MOST_RANKS + 1][MOST_RANKS] = {{0, 0, 0}, {M, 0, 0}, {M / 4, M - M / 4, 0}, {150, 30, M - 180}};

/* Lays the job of each rank out: its share of Y, a start dictionary. */
static void ranks_setup(int ranks, rank_job *jobs, rank_team *t, const shs_ksvd_options *o, const shs_real *Y,
                        const shs_real *D0) {
    size_t first = 0;
    int r;
    memset(t, 0, sizeof *t);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->turn, NULL);
    t->ranks = ranks;
    for (r = 0; r < ranks; r++) {
        rank_job *job = jobs + r;
        memset(job, 0, sizeof *job);
        job->me.t = t;
        job->me.rank = r;
        job->ctx.reduce_fn = team_reduce;
        job->ctx.reduce_user = &job->me;
        job->ctx.rank = r;
        job->ctx.ranks = ranks;
        job->ctx.threads = 1;
        job->ctx.alloc_fn = limited_alloc;
        job->ctx.free_fn = limited_free;
        job->ctx.alloc_user = job;
        job->ctx.progress_fn = watch_progress;
        job->ctx.progress_user = &job->w;
        job->allocations_left = job->w.cancel_at = -1;
        job->o = *o;
        job->D = copy_of(P * N, D0);
        job->m = shares[ranks][r];
        job->Y = Y + P * first;
        first += job->m;
        assert_ok(shs_codes_create(NULL, job->m, 3, &job->codes));
    }
}

/* A rank that is left waiting would hang here: the alarm ends the program then. */
static void ranks_run(int ranks, rank_job *jobs) {
    pthread_t threads[MOST_RANKS];
    int r;
    alarm(60);
    for (r = 0; r < ranks; r++) assert_int_equal(pthread_create(threads + r, NULL, run_rank, jobs + r), 0);
    for (r = 0; r < ranks; r++) assert_int_equal(pthread_join(threads[r], NULL), 0);
    alarm(0);
}

static void ranks_free(int ranks, rank_job *jobs, rank_team *t) {
    int r;
    for (r = 0; r < ranks; r++) {
        shs_codes_free(NULL, &jobs[r].codes);
        free(jobs[r].D);
    }
    free(t->combined);
    pthread_mutex_destroy(&t->mutex);
    pthread_cond_destroy(&t->turn);
}

static void check_ranks(const shs_ksvd_options *o, int ranks) {
    shs_real *Y = small_signals(), *D0 = new_dictionary(P, N, 81), *D = copy_of(P * N, D0);
    rank_job *jobs = (rank_job *)malloc(MOST_RANKS * sizeof *jobs);
    shs_ksvd_report report = SHS_ZERO;
    shs_codes codes;
    size_t at = 0, i;
    rank_team t;
    int r, k;
    for (i = 0; i < P * M && o->coding.skip_nan; i++)
        if (i % 7 == 3 || i % 5 == 1) Y[i] = (shs_real)NAN;
    assert_ok(shs_codes_create(NULL, M, 3, &codes));
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, o, D, P, &codes, &report));
    ranks_setup(ranks, jobs, &t, o, Y, D0);
    ranks_run(ranks, jobs);
    for (r = 0; r < ranks; r++) {
        assert_ok(jobs[r].status);
        assert_memory_equal(jobs[r].D, jobs[0].D, P * N * sizeof *D);
        assert_memory_equal(&jobs[r].report.rmse, &jobs[0].report.rmse, sizeof report.rmse);
        assert_all_close(P * N, jobs[r].D, D, BY_TYPE(1e-3, 1e-9));
        assert_close(jobs[r].report.rmse, report.rmse, BY_TYPE(1e-5, 1e-10));
        assert_close(jobs[r].report.mean_atoms, report.mean_atoms, BY_TYPE(1e-5, 1e-10));
        assert_int_equal(jobs[r].report.iterations, report.iterations);
        assert_int_equal(jobs[r].report.best_iteration, report.best_iteration);
        for (i = 0; i < jobs[r].m; i++) {
            assert_int_equal(jobs[r].codes.used[i], codes.used[at]);
            for (k = 0; k < codes.used[at]; k++)
                assert_int_equal(jobs[r].codes.atoms[3 * i + (size_t)k], codes.atoms[3 * at + (size_t)k]);
            at++;
        }
    }
    ranks_free(ranks, jobs, &t);
    shs_codes_free(NULL, &codes);
    free(jobs);
    free(Y);
    free(D0);
    free(D);
}

static void test_ranks(void **state) {
    static const int groups[] = {1, 7, N};
    int ranks, start, replace, group;
    (void)state;
    for (ranks = 1; ranks <= MOST_RANKS; ranks++)
        for (group = 0; group < 3; group++)
            for (start = SHS_START_SIGNALS; start <= SHS_START_GIVEN; start++) {
                if (start == SHS_START_DCT) continue; /* 12 is no square */
                for (replace = SHS_REPLACE_WORST; replace <= SHS_REPLACE_RANDOM; replace++) {
                    shs_ksvd_options o = small_options();
                    o.iterations = 3;
                    o.start = (shs_start)start;
                    o.replace = (shs_replace)replace;
                    o.parallel_atoms = groups[group];
                    o.prune_coherence = (shs_real)0.8;
                    check_ranks(&o, ranks);
                }
            }
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

/* Every rule, and what goes with any of them. */
enum { NONNEGATIVE = 2 * SHS_UPDATE_COUNT + 7, VARIANTS = NONNEGATIVE + 3 };
static shs_ksvd_options variant(int which) {
    shs_ksvd_options o = small_options();
    o.iterations = 3;
    o.parallel_atoms = 7;
    o.rmse_after_update = 1;
    if (which < 2 * SHS_UPDATE_COUNT) {
        o.update = (shs_update)(which / 2);
        if (which % 2) {
            o.regularisation = (shs_real)0.1;
            o.regularisation_decay = (shs_real)0.5;
            o.regularised_iterations = 2;
        }
    } else if (which < 2 * SHS_UPDATE_COUNT + 5) {
        o.update = (shs_update)(which - 2 * SHS_UPDATE_COUNT);
        o.incoherence = (shs_real)0.01;
    } else if (which >= NONNEGATIVE) {
        o.nonnegative = 1;
        o.update = (shs_update)(which - NONNEGATIVE);
    } else o.coherence = which % 2 ? (shs_real)0.6 : (shs_real)0.4;
    if (o.update == SHS_UPDATE_MOD) o.incoherence = 0;
    return o;
}

static void test_variants_over_ranks(void **state) {
    int which, ranks;
    (void)state;
    for (which = 0; which < VARIANTS; which++)
        for (ranks = 1; ranks <= MOST_RANKS; ranks++) {
            shs_ksvd_options o = variant(which);
            check_ranks(&o, ranks);
            o.parallel_atoms = 1;
            check_ranks(&o, ranks);
        }
}

static void test_masked_over_ranks(void **state) {
    shs_ksvd_options o = small_options();
    int ranks;
    (void)state;
    o.coding.skip_nan = 1;
    o.iterations = 3;
    for (ranks = 1; ranks <= MOST_RANKS; ranks++) check_ranks(&o, ranks);
}

/* The same bits for any number of threads; all memory in one block of the size that the query says. */
static void test_variants_in_an_arena(void **state) {
    shs_real *Y = small_signals();
    int which, threads;
    (void)state;
    for (which = 0; which < VARIANTS; which++) {
        shs_ksvd_options o = variant(which);
        shs_real alone[P * N], D[P * N];
        assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, alone, P, NULL, NULL));
        assert_unit_norm(P, N, alone);
        for (threads = 1; threads <= 3; threads++) {
            shs_context ctx = SHS_ZERO;
            shs_arena arena;
            void *memory;
            size_t query;
            ctx.threads = threads;
            query = shs_ksvd_workspace(&ctx, P, N, M, &o);
            memory = malloc(query);
            shs_arena_attach(&arena, &ctx);
            shs_arena_init(&arena, memory, query - 64);
            assert_status(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, NULL), SHS_NO_MEMORY);
            shs_arena_init(&arena, memory, query);
            assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, NULL));
            assert_int_equal(arena.used, 0);
            assert_memory_equal(D, alone, sizeof D);
            free(memory);
        }
    }
    free(Y);
}

/* Of exact K-SVD: an atom by itself is the fixed point of power steps, which a step of AK-SVD does not move; and it fits the
   signals better than AK-SVD's one step. */
static void test_exact_is_a_fixed_point(void **state) {
    shs_real *Y = small_signals(), *D = new_dictionary(P, 1, 3), *again, *other;
    shs_ksvd_options o = small_options();
    shs_ksvd_record record[2];
    shs_ksvd_report report = SHS_ZERO;
    (void)state;
    other = copy_of(P, D);
    o.coding.sparsity = 1;
    o.iterations = 1;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    o.rmse_after_update = 1;
    o.update = SHS_UPDATE_KSVD;
    report.history = record;
    assert_ok(shs_ksvd_ex(&serial, P, 1, M, Y, P, &o, D, P, NULL, &report));
    again = copy_of(P, D);
    o.update = SHS_UPDATE_AKSVD;
    assert_ok(shs_ksvd_ex(&serial, P, 1, M, Y, P, &o, again, P, NULL, NULL));
    assert_all_close(P, again, D, BY_TYPE(1e-4, 1e-11));
    report.history = record + 1;
    assert_ok(shs_ksvd_ex(&serial, P, 1, M, Y, P, &o, other, P, NULL, &report));
    assert_true(record[0].rmse_update < record[1].rmse_update);
    free(Y);
    free(D);
    free(again);
    free(other);
}

/* Rank `bad` fails as `spoil` arranges. All other ranks must learn of the failure and return. */
static void check_failing_rank(int ranks, int bad, int allocations, int cancel_at, int nan_signal, int *succeeded) {
    shs_real *Y = small_signals(), *D0 = new_dictionary(P, N, 83);
    rank_job *jobs = (rank_job *)malloc(MOST_RANKS * sizeof *jobs);
    shs_ksvd_options o = small_options();
    rank_team t;
    int r;
    o.iterations = 2;
    o.start = SHS_START_GIVEN;
    o.parallel_atoms = 6;
    ranks_setup(ranks, jobs, &t, &o, Y, D0);
    jobs[bad].allocations_left = allocations;
    jobs[bad].w.cancel_at = cancel_at;
    if (nan_signal) Y[jobs[bad].Y - Y + 5] = (shs_real)NAN;
    ranks_run(ranks, jobs);
    *succeeded = jobs[bad].status == SHS_OK;
    for (r = 0; r < ranks; r++) {
        shs_status expected = SHS_NO_MEMORY;
        if (nan_signal) expected = SHS_SIGNALS_NOT_FINITE;
        if (r != bad) expected = SHS_PEER_FAILED;
        if (cancel_at >= 0) expected = SHS_CANCELLED;
        if (*succeeded) expected = SHS_OK;
        assert_status(jobs[r].status, expected);
        if (expected == SHS_OK) continue;
        if (expected == SHS_CANCELLED) {
            assert_unit_norm(P, N, jobs[r].D);
            assert_memory_equal(jobs[r].D, jobs[0].D, P * N * sizeof *D0);
        } else assert_memory_equal(jobs[r].D, D0, P * N * sizeof *D0);
    }
    ranks_free(ranks, jobs, &t);
    free(jobs);
    free(Y);
    free(D0);
}

static void test_failing_ranks(void **state) {
    int ranks, bad, k, succeeded;
    (void)state;
    for (ranks = 2; ranks <= MOST_RANKS; ranks++)
        for (bad = 0; bad < ranks; bad++) {
            succeeded = 0;
            for (k = 0; !succeeded; k++) check_failing_rank(ranks, bad, k, -1, 0, &succeeded);
            assert_true(k > 1); /* the first round cannot have gone well */
            succeeded = 0;
            for (k = 0; !succeeded; k++) check_failing_rank(ranks, bad, -1, k, 0, &succeeded);
            assert_true(k > 2);
            check_failing_rank(ranks, bad, -1, -1, 1, &succeeded);
            assert_false(succeeded);
        }
}

/* A reduction that breaks down at its k-th call. */
static int broken_reduce(void *user, shs_wide *values, size_t count, shs_reduce_op op) {
    (void)values;
    (void)count;
    (void)op;
    return --*(int *)user < 0;
}

static void test_broken_reduction(void **state) {
    shs_real *Y = small_signals(), *D0 = new_dictionary(P, N, 85), *D = copy_of(P * N, D0);
    shs_ksvd_options o = small_options();
    shs_context ctx = SHS_ZERO;
    int k, left;
    (void)state;
    o.iterations = 2;
    o.start = SHS_START_GIVEN;
    ctx.reduce_fn = broken_reduce;
    ctx.reduce_user = &left;
    ctx.ranks = ctx.threads = 1;
    for (k = 0;; k++) {
        shs_status status;
        left = k;
        status = shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, NULL);
        if (status == SHS_OK) break;
        assert_status(status, SHS_REDUCE_FAILED);
        assert_memory_equal(D, D0, P * N * sizeof *D);
    }
    assert_true(k > 2);
    ctx.ranks = 0;
    assert_status(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, NULL), SHS_BAD_CONTEXT);
    free(Y);
    free(D0);
    free(D);
}

/* ---- hard data --------------------------------------------------------------------------------------------------- */

static void test_zero_signals(void **state) {
    shs_real *Y = (shs_real *)calloc(P * M, sizeof *Y), *D = (shs_real *)malloc(P * N * sizeof *D);
    int replace, start, group;
    (void)state;
    for (replace = SHS_REPLACE_WORST; replace <= SHS_REPLACE_RANDOM; replace++)
        for (start = SHS_START_SIGNALS; start <= SHS_START_RANDOM; start++)
            for (group = 1; group <= N; group += 6) {
                shs_ksvd_options o = small_options();
                shs_ksvd_report report = SHS_ZERO;
                o.replace = (shs_replace)replace;
                o.start = (shs_start)start;
                o.parallel_atoms = group;
                assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, &report));
                assert_unit_norm(P, N, D);
                assert_close(report.rmse, 0, 0);
                assert_close(report.mean_atoms, 0, 0);
            }
    free(Y);
    free(D);
}

static void test_fewer_signals_than_atoms(void **state) {
    shs_real *Y = small_signals(), *D = (shs_real *)malloc(P * N * sizeof *D);
    size_t m;
    int replace, group;
    (void)state;
    for (m = 1; m < N; m += 3)
        for (replace = SHS_REPLACE_WORST; replace <= SHS_REPLACE_RANDOM; replace++)
            for (group = 1; group <= N; group += 6) {
                shs_ksvd_options o = small_options();
                shs_ksvd_report report = SHS_ZERO;
                o.replace = (shs_replace)replace;
                o.parallel_atoms = group;
                assert_ok(shs_ksvd_ex(&serial, P, N, m, Y, P, &o, D, P, NULL, &report));
                assert_unit_norm(P, N, D);
                assert_close(report.rmse, 0, 1e-5); /* each signal is an atom: only rounding is left */
            }
    free(Y);
    free(D);
}

/* A zero atom of a given dictionary counts as unused. */
static void test_given_zero_atom(void **state) {
    shs_real *Y = small_signals(), *D = new_dictionary(P, N, 91);
    shs_ksvd_options o = small_options();
    (void)state;
    memset(D + P * 4, 0, P * sizeof *D);
    o.start = SHS_START_GIVEN;
    o.keep = SHS_KEEP_LAST;
    assert_ok(shs_ksvd_ex(&serial, P, N, M, Y, P, &o, D, P, NULL, NULL));
    assert_unit_norm(P, N, D);
    free(Y);
    free(D);
}

/* ---- bad input --------------------------------------------------------------------------------------------------- */

typedef struct call {
    const shs_context *ctx;
    int p, n, ldd, ldy;
    shs_real *D;
    const shs_real *Y;
    size_t m;
    shs_ksvd_options o;
    shs_codes *codes;
} call;

#define PATTERN 0x5a

static void assert_fails(call c, const shs_real *D, const shs_real *before, shs_status expected) {
    shs_ksvd_report report = SHS_ZERO, untouched = SHS_ZERO;
    memset(&report.iterations, PATTERN, sizeof report.iterations + sizeof report.best_iteration);
    memset(&untouched.iterations, PATTERN, sizeof report.iterations + sizeof report.best_iteration);
    assert_status(shs_ksvd_ex(c.ctx, c.p, c.n, c.m, c.Y, c.ldy, &c.o, c.D, c.ldd, c.codes, &report), expected);
    assert_memory_equal(&report, &untouched, sizeof report);
    assert_memory_equal(D, before, P * N * sizeof *D);
}

#define FAILS(change, expected)                                                                                                \
    do {                                                                                                                       \
        call c = good;                                                                                                         \
        change;                                                                                                                \
        assert_fails(c, D, before, expected);                                                                                  \
    } while (0)

static call good_call(shs_real *D, const shs_real *Y) {
    call c;
    memset(&c, 0, sizeof c);
    c.p = c.ldd = c.ldy = P;
    c.n = N;
    c.m = M;
    c.D = D;
    c.Y = Y;
    c.o = small_options();
    return c;
}

static void test_bad_arguments(void **state) {
    shs_real *Y = small_signals(), *D = new_normal(P * N, 93), *before = copy_of(P * N, D);
    call good = good_call(D, Y);
    shs_codes codes, broken;
    shs_context ctx = SHS_ZERO;
    (void)state;
    assert_ok(shs_codes_create(NULL, M, 3, &codes));
    FAILS(c.p = 0, SHS_BAD_P);
    FAILS(c.n = 0, SHS_BAD_N);
    FAILS(c.n = -5, SHS_BAD_N);
    FAILS(c.m = 0, SHS_BAD_M);
    FAILS(c.D = NULL, SHS_BAD_DICTIONARY);
    FAILS(c.Y = NULL, SHS_BAD_SIGNALS);
    FAILS(c.ldd = P - 1, SHS_BAD_LDD);
    FAILS(c.ldy = P - 1, SHS_BAD_LDY);
    broken = codes;
    broken.m = M - 1;
    FAILS(c.codes = &broken, SHS_BAD_CODES);
    broken = codes;
    broken.stride = 2;
    FAILS(c.codes = &broken, SHS_BAD_CODES);
    broken = codes;
    broken.coefs = NULL;
    FAILS(c.codes = &broken, SHS_BAD_CODES);
    ctx.threads = -2;
    FAILS(c.ctx = &ctx, SHS_BAD_CONTEXT);
    assert_status(shs_ksvd(NULL, P, N, M, Y, 3, 5, NULL), SHS_BAD_DICTIONARY);
    assert_status(shs_ksvd(NULL, P, N, M, NULL, 3, 5, D), SHS_BAD_SIGNALS);
    assert_status(shs_ksvd(NULL, P, N, M, Y, -3, 5, D), SHS_BAD_SPARSITY);
    assert_status(shs_ksvd(NULL, P, N, M, Y, 3, -5, D), SHS_BAD_ITERATIONS);
    assert_memory_equal(D, before, P * N * sizeof *D);
    shs_codes_free(NULL, &codes);
    free(Y);
    free(D);
    free(before);
}

static void test_bad_options(void **state) {
    static const shs_step late_first[] = {{-1, 2}}, descending[] = {{0, 2}, {5, 3}, {4, 1}}, same[] = {{3, 2}, {3, 1}},
                          zero[] = {{0, 0}}, negative[] = {{0, 1}, {2, -1}};
    shs_real *Y = small_signals(), *D = new_normal(P * N, 95), *before = copy_of(P * N, D);
    int *sparsity = (int *)calloc(M, sizeof *sparsity);
    call good = good_call(D, Y);
    (void)state;
    FAILS(c.o.iterations = -1, SHS_BAD_ITERATIONS);
    FAILS(c.o.parallel_atoms = -1, SHS_BAD_PARALLEL_ATOMS);
    FAILS(c.o.rounds = -1, SHS_BAD_ROUNDS);
    FAILS((c.o.parallel_atoms_schedule = late_first, c.o.parallel_atoms_steps = 1), SHS_BAD_SCHEDULE);
    FAILS((c.o.parallel_atoms_schedule = descending, c.o.parallel_atoms_steps = 3), SHS_BAD_SCHEDULE);
    FAILS((c.o.parallel_atoms_schedule = same, c.o.parallel_atoms_steps = 2), SHS_BAD_SCHEDULE);
    FAILS((c.o.parallel_atoms_schedule = zero, c.o.parallel_atoms_steps = 1), SHS_BAD_SCHEDULE);
    FAILS((c.o.rounds_schedule = late_first, c.o.rounds_steps = 1), SHS_BAD_SCHEDULE);
    FAILS((c.o.rounds_schedule = descending, c.o.rounds_steps = 3), SHS_BAD_SCHEDULE);
    FAILS((c.o.rounds_schedule = negative, c.o.rounds_steps = 2), SHS_BAD_SCHEDULE);
    FAILS(c.o.start = (shs_start)(SHS_START_GIVEN + 1), SHS_BAD_OPTIONS);
    FAILS(c.o.replace = (shs_replace)(SHS_REPLACE_RANDOM + 1), SHS_BAD_OPTIONS);
    FAILS(c.o.keep = (shs_keep)(SHS_KEEP_LAST + 1), SHS_BAD_OPTIONS);
    FAILS(c.o.start = SHS_START_DCT, SHS_BAD_START); /* 12 is no square */
    FAILS((c.o.start = SHS_START_DCT, c.o.patch_width = 5, c.o.patch_height = 2), SHS_BAD_START);
    FAILS((c.o.start = SHS_START_DCT, c.o.patch_width = -4, c.o.patch_height = -3, c.o.patch_channels = 1), SHS_BAD_START);
    FAILS(c.o.coding.sparsity = -1, SHS_BAD_SPARSITY);
    FAILS(c.o.coding.tolerance = -1, SHS_BAD_TOLERANCE);
    FAILS(c.o.coding.tolerance = (shs_real)NAN, SHS_BAD_TOLERANCE);
    FAILS(c.o.coding.gram_mode = (shs_gram_mode)-1, SHS_BAD_OPTIONS);
    sparsity[M - 1] = -1;
    FAILS(c.o.coding.sparsity_each = sparsity, SHS_BAD_SPARSITY);
    free(Y);
    free(D);
    free(before);
    free(sparsity);
}

static void test_not_finite(void **state) {
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    shs_real *Y = small_signals(), *D = new_normal(P * N, 97), *before = copy_of(P * N, D);
    call good = good_call(D, Y);
    size_t k;
    int start;
    (void)state;
    for (k = 0; k < 3; k++) {
        shs_real kept = Y[P * M - 1];
        Y[P * M - 1] = (shs_real)bad[k];
        for (start = SHS_START_SIGNALS; start <= SHS_START_GIVEN; start++)
            if (start != SHS_START_DCT) FAILS(c.o.start = (shs_start)start, SHS_SIGNALS_NOT_FINITE);
        Y[P * M - 1] = kept;
        kept = D[P * N - 1];
        D[P * N - 1] = before[P * N - 1] = (shs_real)bad[k];
        FAILS(c.o.start = SHS_START_GIVEN, SHS_DICTIONARY_NOT_FINITE);
        D[P * N - 1] = before[P * N - 1] = kept;
    }
    free(Y);
    free(D);
    free(before);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* What the library asked its allocator for. */
typedef struct account {
    int calls;
    size_t largest;
} account;

static void *counting_alloc(void *user, size_t size) {
    account *a = (account *)user;
    a->calls++;
    if (size > a->largest) a->largest = size;
    return malloc(size);
}

static void counting_free(void *user, void *block) {
    (void)user;
    free(block);
}

/* One block of the size that the query says, but for the room that the query leaves for an arena's header. */
/* A query counts what an arena needs besides the block. */
#define ARENA_SHARE 48

static void test_workspace(void **state) {
    static const shs_step steps[] = {{0, 3}, {2, 9}};
    shs_real *Y = small_signals(), *D = new_normal(P * N, 99);
    int variant, threads;
    (void)state;
    for (variant = 0; variant < 32; variant++)
        for (threads = 1; threads <= 3; threads++) {
            shs_ksvd_options o = small_options();
            shs_context ctx = SHS_ZERO;
            account a = {0, 0};
            size_t query;
            ctx.threads = threads;
            ctx.alloc_fn = counting_alloc;
            ctx.free_fn = counting_free;
            ctx.alloc_user = &a;
            o.iterations = 1;
            if (variant & 1) o.parallel_atoms = 7;
            if (variant & 2) o.rounds = 2;
            if (variant & 4) {
                o.keep = SHS_KEEP_LAST;
                o.replace = SHS_REPLACE_LEAVE;
            }
            if (variant & 8) {
                o.coding.sparsity = 0;
                o.coding.tolerance = (shs_real)0.3;
            }
            if (variant & 16) {
                o.parallel_atoms_schedule = steps;
                o.parallel_atoms_steps = 2;
                o.coding.gram_mode = SHS_GRAM_NEVER;
            }
            assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, NULL));
            assert_int_equal(a.calls, 1);
            query = shs_ksvd_workspace(&ctx, P, N, M, &o);
            assert_in_range(a.largest, query - 64, query);
        }
    free(Y);
    free(D);
}

static void test_arena(void **state) {
    shs_real *Y = small_signals(), *D = new_normal(P * N, 99), *expected = copy_of(P * N, D);
    shs_ksvd_options o = small_options();
    shs_context ctx = SHS_ZERO;
    shs_arena arena;
    size_t query, k;
    void *memory;
    (void)state;
    ctx.threads = 2;
    query = shs_ksvd_workspace(&ctx, P, N, M, &o);
    memory = malloc(query);
    assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, expected, P, NULL, NULL));
    shs_arena_attach(&arena, &ctx);
    for (k = 0; k <= 4; k++) {
        shs_real *start = copy_of(P * N, D);
        shs_arena_init(&arena, memory, k < 4 ? query / 4 * k : query);
        if (k < 4) {
            assert_status(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, NULL), SHS_NO_MEMORY);
            assert_memory_equal(D, start, P * N * sizeof *D);
        } else {
            assert_ok(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, NULL));
            assert_memory_equal(D, expected, P * N * sizeof *D);
        }
        assert_int_equal(arena.used, 0);
        free(start);
    }
    free(memory);
    free(Y);
    free(D);
    free(expected);
}

static void test_workspace_overflow(void **state) {
    shs_ksvd_options o = SHS_ZERO;
    (void)state;
    o.coding.gram_mode = SHS_GRAM_ALWAYS;
    assert_true(shs_ksvd_workspace(NULL, INT_MAX, INT_MAX, SIZE_MAX / 2, &o) == SIZE_MAX);
}

/* ---- endings in odd places ----------------------------------------------------------------------------------------- */

/* The same with atoms that are replaced, which ranks agree on too; and from signals, which are fetched by a reduction. The
   history holds finished iterations only. */
static void test_broken_replacement(void **state) {
    one_step t;
    shs_ksvd_record history[2];
    shs_context ctx = SHS_ZERO;
    int k, left, start;
    (void)state;
    one_step_begin(&t, 87);
    t.o = small_options();
    t.o.iterations = 2;
    t.o.prune_coherence = (shs_real)0.3;
    t.report.history = history;
    ctx.reduce_fn = broken_reduce;
    ctx.reduce_user = &left;
    ctx.ranks = ctx.threads = 1;
    for (start = SHS_START_SIGNALS; start <= SHS_START_GIVEN; start += SHS_START_GIVEN - SHS_START_SIGNALS)
        for (k = 0;; k++) {
            shs_status status;
            int done = 0;
            left = k;
            t.o.start = (shs_start)start;
            memset(history, 0x5a, sizeof history);
            memcpy(t.D, t.before, P * N * sizeof *t.D);
            status = shs_ksvd_ex(&ctx, P, N, M, t.Y, P, &t.o, t.D, P, NULL, &t.report);
            while (done < 2 && history[done].atoms_used != 0x5a5a5a5a) done++;
            if (status == SHS_OK) {
                assert_int_equal(done, 2);
                assert_true(history[0].pruned + history[0].replaced > 0);
                break;
            }
            assert_status(status, SHS_REDUCE_FAILED);
            assert_memory_equal(t.D, t.before, P * N * sizeof *t.D);
            if (k < 10) assert_int_equal(done, 0);
        }
    one_step_end(&t);
}

/* A cancelled run has a history as far as it went. No rank has a signal: there is nothing to learn from. */
static void test_history_when_cancelled(void **state) {
    shs_real *Y = small_signals(), *D = new_dictionary(P, N, 88), *before = copy_of(P * N, D);
    shs_ksvd_options o = small_options();
    shs_ksvd_report report = SHS_ZERO;
    shs_ksvd_record history[5];
    shs_context ctx = SHS_ZERO;
    watch w;
    int k, left = 1000;
    (void)state;
    memset(&w, 0, sizeof w);
    report.history = history;
    w.cancel_at = 2;
    memset(history, 0x5a, sizeof history);
    ctx.progress_fn = watch_progress;
    ctx.progress_user = &w;
    ctx.threads = 1;
    assert_status(shs_ksvd_ex(&ctx, P, N, M, Y, P, &o, D, P, NULL, &report), SHS_CANCELLED);
    for (k = 0; k < 5; k++) assert_int_equal(history[k].atoms_used == 0x5a5a5a5a, k > 2);
    memcpy(D, before, P * N * sizeof *D);
    memset(&ctx, 0, sizeof ctx);
    ctx.reduce_fn = broken_reduce;
    ctx.reduce_user = &left;
    ctx.ranks = 1;
    assert_status(shs_ksvd_ex(&ctx, P, N, 0, NULL, P, &o, D, P, NULL, NULL), SHS_BAD_M);
    assert_memory_equal(D, before, P * N * sizeof *D);
    free(Y);
    free(D);
    free(before);
}

/* Of two nearly equal atoms the atom with fewer uses is replaced, at any place. */
static void test_less_used_duplicate_goes(void **state) {
    enum { p = 4, n = 3, m = 60 };
    const double angle = 0.05;
    shs_real Y[p * m] = {0}, D[p * n];
    shs_ksvd_options o = SHS_ZERO;
    shs_ksvd_report report = SHS_ZERO;
    shs_ksvd_record history[1];
    int i, less;
    (void)state;
    for (i = 0; i < m; i++) { /* 30 along the first atom, 10 along its near twin, 20 along the third */
        shs_real length = (shs_real)(1 + 0.1 * i);
        if (i < 30) Y[p * i] = length;
        else if (i < 40) {
            Y[p * i] = length * (shs_real)cos(angle);
            Y[p * i + 1] = length * (shs_real)sin(angle);
        } else Y[p * i + 3] = length;
    }
    o.iterations = 1;
    o.coding.sparsity = 1;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_RANDOM;
    o.prune_coherence = (shs_real)0.99;
    o.prune_uses = -1;
    o.keep = SHS_KEEP_LAST;
    report.history = history;
    for (less = 0; less < 2; less++) {
        memset(D, 0, sizeof D);
        D[p * (1 - less)] = 1;
        D[p * less] = (shs_real)cos(angle);
        D[p * less + 1] = (shs_real)sin(angle);
        D[p * 2 + 3] = 1;
        assert_ok(shs_ksvd_ex(&serial, p, n, m, Y, p, &o, D, p, NULL, &report));
        assert_int_equal(history[0].pruned, 1);
        assert_close(fabs((double)D[p * (1 - less)]), 1, 1e-5);
        assert_true(fabs((double)D[p * less]) < 0.9);
        assert_close(fabs((double)D[p * 2 + 3]), 1, 1e-5);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_aksvd),
        cmocka_unit_test(test_golden_paksvd_128),
        cmocka_unit_test(test_golden_paksvd_64),
        cmocka_unit_test(test_golden_paksvd_16),
        cmocka_unit_test(test_golden_paksvd_1),
        cmocka_unit_test(test_golden_rules), cmocka_unit_test(test_golden_nsgk),
        cmocka_unit_test(test_naive_update), cmocka_unit_test(test_naive_nsgk),
        cmocka_unit_test(test_group_larger_than_dictionary),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_names_of_rules),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_defaults_are_what_zero_becomes),
        cmocka_unit_test(test_outputs_change_nothing),
        cmocka_unit_test(test_round_history),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_keeps_the_best),
        cmocka_unit_test(test_tolerance_training),
        cmocka_unit_test(test_sparsity_and_tolerance),
        cmocka_unit_test(test_early_stop),
        cmocka_unit_test(test_start_from_signals),
        cmocka_unit_test(test_start_from_few_signals),
        cmocka_unit_test(test_start_random),
        cmocka_unit_test(test_start_dct),
        cmocka_unit_test(test_start_given),
        cmocka_unit_test(test_dictionary_random),
        cmocka_unit_test(test_dictionary_dct),
        cmocka_unit_test(test_coherence),
        cmocka_unit_test(test_replace_worst),
        cmocka_unit_test(test_replace_leave),
        cmocka_unit_test(test_replace_random),
        cmocka_unit_test(test_prune_duplicates),
        cmocka_unit_test(test_prune_rarely_used),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_few_parallel_regions),
        cmocka_unit_test(test_small_work_is_not_shared),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_golden_masked),
        cmocka_unit_test(test_masked),
        cmocka_unit_test(test_masked_options),
        cmocka_unit_test(test_masked_not_finite),
        cmocka_unit_test(test_masked_unseen),
        cmocka_unit_test(test_masked_recovery),
        cmocka_unit_test(test_masked_pattern),
        cmocka_unit_test(test_masked_update),
        cmocka_unit_test(test_masked_descends),
        cmocka_unit_test(test_golden_regularised),
        cmocka_unit_test(test_golden_incoherent), cmocka_unit_test(test_golden_incoherent_nsgk),
        cmocka_unit_test(test_golden_ipr),
        cmocka_unit_test(test_test_set),
        cmocka_unit_test(test_test_set_beside_limits_each),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_units_out_of_range),
        cmocka_unit_test(test_incoherent_atom_that_turns),
        cmocka_unit_test(test_best_of_parted_atoms),
        cmocka_unit_test(test_parted_atoms_that_replace),
        cmocka_unit_test(test_naive_mod),
        cmocka_unit_test(test_naive_nonnegative),
        cmocka_unit_test(test_nonnegative_rounds),
        cmocka_unit_test(test_nonnegative_atoms_are_found),
        cmocka_unit_test(test_nonnegative_options),
        cmocka_unit_test(test_nonnegative_of_nothing),
        cmocka_unit_test(test_nonnegative_of_tiny_atoms),
        cmocka_unit_test(test_mod_of_few_signals),
        cmocka_unit_test(test_variants_over_ranks),
        cmocka_unit_test(test_masked_over_ranks),
        cmocka_unit_test(test_variants_in_an_arena),
        cmocka_unit_test(test_exact_is_a_fixed_point),
        cmocka_unit_test(test_failing_ranks),
        cmocka_unit_test(test_broken_reduction),
        cmocka_unit_test(test_zero_signals),
        cmocka_unit_test(test_fewer_signals_than_atoms),
        cmocka_unit_test(test_given_zero_atom),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_workspace_overflow),
        cmocka_unit_test(test_less_used_duplicate_goes),
        cmocka_unit_test(test_broken_replacement),
        cmocka_unit_test(test_history_when_cancelled),
    };
    return cmocka_run_group_tests_name("dictionary learning", tests, NULL, NULL);
}
