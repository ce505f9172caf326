/* test_scratch.c - every public call in the smallest sizes, over memory that holds anything: what a call gives does not depend
   on what its scratch held before. One value a signal, one atom, one signal, one band, one pixel, one class, one target. */
#include "test_cube_tools.h"

/* ---- memory that holds anything, and what a call gives ------------------------------------------------------------- */

enum { ROOM = 1 << 19 };

/* Outputs are appended; a call's status comes first. */
typedef struct given {
    unsigned char bytes[ROOM];
    size_t used;
} given;

static void give(given *g, const void *bytes, size_t size) {
    assert_true(size <= ROOM - g->used);
    memcpy(g->bytes + g->used, bytes, size);
    g->used += size;
}

static void *filled(void *user, size_t size) {
    void *block = malloc(size);
    if (block) memset(block, *(const int *)user, size);
    return block;
}

static void dropped(void *user, void *block) {
    (void)user;
    free(block);
}

/* ---- signals ------------------------------------------------------------------------------------------------------ */

enum { MOST_P = 5, MOST_N = 9, MOST_M = 40, MOST_S = 3 };

typedef struct signals {
    int p, n, m;
    shs_real *D, *Y;
} signals;

static void give_codes(given *g, shs_codes *codes, shs_status status) {
    size_t i;
    give(g, &status, sizeof status);
    for (i = 0; i < codes->m && status == SHS_OK; i++) {
        size_t used = (size_t)codes->used[i], at = i * (size_t)codes->stride;
        give(g, codes->used + i, sizeof *codes->used);
        give(g, codes->atoms + at, used * sizeof *codes->atoms);
        give(g, codes->coefs + at, used * sizeof *codes->coefs);
    }
}

static void code(const shs_context *ctx, const signals *s, const shs_omp_options *o, given *g) {
    shs_codes codes = SHS_ZERO;
    shs_real errors2[MOST_M];
    assert_ok(shs_codes_create(NULL, (size_t)s->m, MOST_S, &codes));
    memset(errors2, 0, sizeof errors2);
    give_codes(g, &codes, shs_omp_ex(ctx, s->p, s->n, s->D, s->p, (size_t)s->m, s->Y, s->p, o, &codes, errors2, NULL));
    give(g, errors2, sizeof errors2);
    shs_codes_free(NULL, &codes);
}

static void all_codings(const shs_context *ctx, const signals *s, given *g) {
    static const size_t groups[] = {0};
    unsigned char mask[MOST_P * MOST_M];
    int i, way;
    for (i = 0; i < MOST_P * MOST_M; i++) mask[i] = i % 7 != 3;
    for (way = 0; way < 16; way++) {
        shs_omp_options o = SHS_ZERO;
        o.sparsity = MOST_S;
        o.gram_mode = way % 2 ? SHS_GRAM_NEVER : SHS_GRAM_ALWAYS;
        if (way / 2 % 2) o.selection = SHS_SELECT_OLS;
        if (way / 4 == 1) o.tolerance = (shs_real)0.1;
        if (way / 4 == 2) {
            o.groups = groups;
            o.group_count = 1;
        }
        if (way == 12) o.nonnegative = 1;
        if (way > 12) {
            o.mask = mask;
            o.ldm = s->p;
        }
        code(ctx, s, &o, g);
    }
}

static void all_lassos(const shs_context *ctx, const signals *s, given *g) {
    int way;
    for (way = 0; way < 3; way++) {
        shs_lasso_options o = SHS_ZERO;
        shs_codes codes = SHS_ZERO;
        o.relative = 1;
        o.lambda = (shs_real)0.2;
        if (way == 1) o.lambda2 = (shs_real)0.1;
        if (way == 2) o.nonnegative = 1;
        assert_ok(shs_codes_create(NULL, (size_t)s->m, s->n, &codes));
        give_codes(g, &codes, shs_lasso(ctx, s->p, s->n, s->D, s->p, (size_t)s->m, s->Y, s->p, &o, &codes, NULL, NULL));
        shs_codes_free(NULL, &codes);
    }
}

static void all_learning(const shs_context *ctx, const signals *s, given *g) {
    shs_real D[MOST_P * MOST_N];
    size_t size = (size_t)(s->p * s->n) * sizeof *D;
    shs_status status;
    int update;
    for (update = 0; update < SHS_UPDATE_COUNT; update++) {
        shs_ksvd_options o = SHS_ZERO;
        o.update = (shs_update)update;
        o.iterations = 3;
        o.coding.sparsity = 1;
        memcpy(D, s->D, size);
        status = shs_ksvd_ex(ctx, s->p, s->n, (size_t)s->m, s->Y, s->p, &o, D, s->p, NULL, NULL);
        give(g, &status, sizeof status);
        give(g, D, size);
    }
    memcpy(D, s->D, size);
    status = shs_online(ctx, s->p, s->n, (size_t)s->m, s->Y, 1, 2, D);
    give(g, &status, sizeof status);
    give(g, D, size);
}

static void all_dense(const shs_context *ctx, const signals *s, given *g) {
    shs_real C[MOST_N * MOST_M];
    shs_wide A[MOST_N * MOST_N], values[MOST_N], vectors[MOST_N * MOST_N], mu = 0;
    shs_status status[6];
    int n = s->n, p = s->p, m = s->m, i, j;
    memset(C, 0, sizeof C);
    status[0] = shs_gemm(ctx, SHS_TRANS_YES, SHS_TRANS_NO, n, m, p, 1, s->D, p, s->Y, p, 0, C, n);
    give(g, C, sizeof C);
    status[1] = shs_syrk(ctx, SHS_UPLO_LOWER, SHS_TRANS_YES, n, p, 1, s->D, p, 0, C, n);
    for (i = 0; i < n; i++) C[i + i * n] += 1;
    status[2] = shs_cholesky(ctx, SHS_UPLO_LOWER, n, C, n);
    give(g, C, sizeof C);
    status[3] = shs_trsm(ctx, SHS_SIDE_LEFT, SHS_UPLO_LOWER, SHS_TRANS_NO, SHS_DIAG_NON_UNIT, n, 1, 1, C, n, C + n * n, n);
    give(g, C, sizeof C);
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) A[i + j * n] = 1 / (shs_wide)(1 + i + j);
    memset(values, 0, sizeof values);
    memset(vectors, 0, sizeof vectors);
    status[4] = shs_eigh(ctx, n, A, n, n, values, vectors, n);
    give(g, values, sizeof values);
    give(g, vectors, sizeof vectors);
    status[5] = shs_dictionary_coherence(ctx, p, n, s->D, p, &mu);
    give(g, &mu, sizeof mu);
    give(g, status, sizeof status);
}

static void all_of_signals(const shs_context *ctx, const void *about, given *g) {
    const signals *s = (const signals *)about;
    all_dense(ctx, s, g);
    all_codings(ctx, s, g);
    all_lassos(ctx, s, g);
    all_learning(ctx, s, g);
}

/* ---- cubes -------------------------------------------------------------------------------------------------------- */

enum { MOST_PIXELS = 60, MOST_BANDS = 4 };

typedef struct pixels {
    shs_cube cube;
    int classes, spectra;
    shs_wide spectrum[MOST_BANDS * MOST_BANDS];
} pixels;

static void give_scores(given *g, const shs_wide *scores, shs_status status) {
    give(g, &status, sizeof status);
    give(g, scores, MOST_PIXELS * MOST_BANDS * sizeof *scores);
}

static void give_pca(given *g, shs_pca *pca, shs_status status) {
    give(g, &status, sizeof status);
    if (status != SHS_OK) return;
    give(g, pca->eigenvalues, (size_t)pca->eigenvalue_count * sizeof *pca->eigenvalues);
    give(g, pca->mean, (size_t)pca->bands * sizeof *pca->mean);
    give(g, pca->forward, (size_t)(pca->bands * pca->components) * sizeof *pca->forward);
    give(g, pca->backward, (size_t)(pca->bands * pca->components) * sizeof *pca->backward);
}

static shs_sink scores_at(shs_wide *scores, int rescaled) {
    shs_sink sink = SHS_ZERO;
    memset(scores, 0, MOST_PIXELS * MOST_BANDS * sizeof *scores);
    sink.pixels = scores;
    sink.type = SHS_TYPE_F64;
    sink.rescale = rescaled;
    sink.high = rescaled;
    return sink;
}

static void all_components(const shs_context *ctx, const pixels *x, given *g, int rescaled) {
    shs_wide scores[MOST_PIXELS * MOST_BANDS];
    shs_sink sink = scores_at(scores, rescaled);
    shs_pca pca = SHS_ZERO;
    shs_status status = shs_pca_run(ctx, &x->cube, NULL, &sink, &pca);
    give_scores(g, scores, status);
    give_pca(g, &pca, status);
    if (status == SHS_OK) give_scores(g, scores, shs_pca_denoise(ctx, &pca, 1, &x->cube, &sink));
    shs_pca_free(ctx, &pca);
    sink = scores_at(scores, rescaled);
    status = shs_mnf_run(ctx, &x->cube, NULL, &sink, &pca);
    give_scores(g, scores, status);
    give_pca(g, &pca, status);
    shs_pca_free(ctx, &pca);
}

static void all_anomalies(const shs_context *ctx, const pixels *x, given *g, int rescaled) {
    shs_wide scores[MOST_PIXELS * MOST_BANDS];
    shs_sink sink = scores_at(scores, rescaled);
    shs_rx_local_options local = SHS_ZERO;
    int labels[MOST_PIXELS], i;
    for (i = 0; i < MOST_PIXELS; i++) labels[i] = i % x->classes;
    give_scores(g, scores, shs_rx(ctx, &x->cube, NULL, &sink, NULL));
    sink = scores_at(scores, rescaled);
    give_scores(g, scores, shs_rx_classes(ctx, &x->cube, labels, x->classes, NULL, &sink, NULL));
    for (i = 0; i < 2; i++) {
        sink = scores_at(scores, rescaled);
        local.inner = 1;
        local.outer = 3;
        local.ridge = i;
        give_scores(g, scores, shs_rx_local(ctx, &x->cube, &local, &sink));
    }
}

static void all_targets(const shs_context *ctx, const pixels *x, given *g, int rescaled) {
    shs_wide scores[MOST_PIXELS * MOST_BANDS];
    shs_sink sink;
    int way, bands = x->cube.bands;
    for (way = 0; way < SHS_DETECTOR_COUNT; way++) {
        shs_detect_options o = SHS_ZERO;
        o.method = (shs_detector)way;
        sink = scores_at(scores, rescaled);
        give_scores(g, scores, shs_detect(ctx, &x->cube, x->spectra, x->spectrum, bands, &o, &sink));
    }
    for (way = 0; way < 4; way++) {
        sink = scores_at(scores, rescaled);
        give_scores(g, scores, shs_unmix(ctx, &x->cube, x->spectra, x->spectrum, bands, (shs_constraint)way, &sink));
    }
    for (way = 0; way < 3; way++) {
        shs_endmember_options o = SHS_ZERO;
        shs_endmembers e = SHS_ZERO;
        shs_status status;
        o.method = (shs_extractor)way;
        o.count = x->spectra;
        status = shs_endmembers_find(ctx, &x->cube, &o, &e);
        give(g, &status, sizeof status);
        if (status == SHS_OK) give(g, e.spectra, (size_t)(e.bands * e.count) * sizeof *e.spectra);
        shs_endmembers_free(ctx, &e);
    }
}

static void all_sources(const shs_context *ctx, const pixels *x, given *g, int rescaled) {
    int contrast, way;
    for (contrast = 0; contrast < 3; contrast++)
        for (way = 0; way < 4; way++) {
            shs_wide scores[MOST_PIXELS * MOST_BANDS];
            shs_sink sink = scores_at(scores, rescaled);
            shs_ica_options o = SHS_ZERO;
            shs_ica ica = SHS_ZERO;
            shs_status status;
            o.contrast = (shs_contrast)contrast;
            o.approach = (shs_ica_approach)(way % 2);
            if (way / 2) o.route = SHS_ROUTE_SWEEP;
            o.iterations = 5;
            status = shs_ica_run(ctx, &x->cube, &o, &sink, &ica);
            give_scores(g, scores, status);
            if (status == SHS_OK) give(g, ica.unmixing, (size_t)(ica.bands * ica.components) * sizeof *ica.unmixing);
            shs_ica_free(ctx, &ica);
        }
}

static void all_of_cubes(const shs_context *ctx, const void *about, given *g) {
    const pixels *x = (const pixels *)about;
    int rescaled;
    for (rescaled = 0; rescaled < 2; rescaled++) {
        all_components(ctx, x, g, rescaled);
        all_anomalies(ctx, x, g, rescaled);
        all_targets(ctx, x, g, rescaled);
        all_sources(ctx, x, g, rescaled);
    }
}

/* ---- the sweeps --------------------------------------------------------------------------------------------------- */

/* The same bits over memory of zeros, of numbers that are none, and of others. */
static void check_fills(const char *what, void (*all)(const shs_context *, const void *, given *), const void *about) {
    static const int fills[] = {0, 255, 85};
    static given first, other;
    int k;
    for (k = 0; k < 3; k++) {
        shs_context ctx = SHS_ZERO;
        given *g = k ? &other : &first;
        int fill = fills[k];
        size_t at = 0;
        ctx.alloc_fn = filled;
        ctx.free_fn = dropped;
        ctx.alloc_user = &fill;
        ctx.threads = 1;
        g->used = 0;
        all(&ctx, about, g);
        assert_int_equal(g->used, k ? first.used : g->used);
        while (at < g->used && g->bytes[at] == first.bytes[at]) at++;
        if (at < g->used) fail_msg("%s: byte %d of %d is another over %d", what, (int)at, (int)g->used, fill);
    }
}

static void test_signals_in_any_memory(void **state) {
    static const int sizes[][3] = {{1, 1, 1}, {1, 1, MOST_M}, {MOST_P, 1, 1}, {MOST_P, 1, MOST_M}, {1, MOST_N, 1},
                                   {1, MOST_N, MOST_M}, {MOST_P, MOST_N, 1}, {MOST_P, MOST_N, MOST_M}};
    size_t k;
    (void)state;
    for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        signals s;
        char what[64];
        s.p = sizes[k][0];
        s.n = sizes[k][1];
        s.m = sizes[k][2];
        s.D = new_normal((size_t)(s.p * s.n), 3);
        s.Y = new_normal((size_t)(s.p * s.m), 5);
        assert_ok(shs_normalize_columns(s.p, s.n, s.D, s.p, NULL));
        sprintf(what, "%d values, %d atoms, %d signals", s.p, s.n, s.m);
        check_fills(what, all_of_signals, &s);
        free(s.D);
        free(s.Y);
    }
}

static void test_cubes_in_any_memory(void **state) {
    static const int sizes[][3] = {{1, 1, 1}, {1, 1, 4}, {6, 10, 1}, {1, 17, 1}, {6, 10, 2}, {12, 5, 4}, {2, 1, 3}};
    size_t k;
    int layout, b;
    (void)state;
    for (k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (layout = 0; layout < 3; layout++) {
            int lines = sizes[k][0], samples = sizes[k][1], bands = sizes[k][2];
            plain_cube p = mixed_cube(lines, samples, bands, 2, 1, 7 + k);
            pixels x;
            char what[64];
            x.cube = cube_of(&p, layout ? SHS_TYPE_F32 : SHS_TYPE_F64, (shs_interleave)layout, 0);
            x.classes = k % 2 ? 1 : 3;
            x.spectra = bands > 1 ? 2 : 1;
            for (b = 0; b < bands * x.spectra; b++) x.spectrum[b] = (shs_wide)p.x[(size_t)b % values_of(&p)] + b;
            sprintf(what, "%d x %d pixels, %d bands, interleave %d", samples, lines, bands, layout);
            check_fills(what, all_of_cubes, &x);
            free(p.x);
            cube_free(&x.cube);
        }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_in_any_memory),
        cmocka_unit_test(test_cubes_in_any_memory),
    };
    return cmocka_run_group_tests_name("scratch", tests, NULL, NULL);
}
