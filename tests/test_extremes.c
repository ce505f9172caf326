/* test_extremes.c - numbers at the edges of their range, and problems at the edges of what can be solved: results are finite
   and within the bounds that sparsehs.h states under LIMITS. */
#include "test_cube_tools.h"

#define P 16
#define N 40
#define M 30
#define S 5

static void assert_unit_atoms(int p, int n, const shs_real *D) {
    int j;
    for (j = 0; j < n; j++) assert_close(shs_nrm2(p, D + j * p, 1), 1, 1e-5);
}

static double norm_of_residual(int p, const shs_real *D, const shs_real *y, int used, const int *atoms, const shs_real *coefs) {
    double sum = 0;
    int i, k;
    for (i = 0; i < p; i++) {
        double r = (double)y[i];
        for (k = 0; k < used; k++) r -= (double)coefs[k] * (double)D[atoms[k] * p + i];
        sum += r * r;
    }
    return sqrt(sum);
}

/* Signals of any scale: the same atoms, and coefficients that scale along, exactly so for a power of two. */
static void test_coding_scales(void **state) {
    static const int powers[] = {-99, 99};
    shs_real *D = new_normal(P * N, 1), *Y = new_normal(P * M, 2), *scaled = new_normal(P * M, 2);
    shs_codes expected, codes;
    int mode, k, i;
    (void)state;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    assert_ok(shs_codes_create(NULL, M, S, &expected));
    assert_ok(shs_codes_create(NULL, M, S, &codes));
    for (mode = SHS_GRAM_ALWAYS; mode <= SHS_GRAM_NEVER; mode++)
        for (k = 0; k < 2; k++) {
            shs_real factor = (shs_real)ldexp(1, powers[k]);
            shs_omp_options o = SHS_ZERO;
            o.sparsity = S;
            o.gram_mode = (shs_gram_mode)mode;
            for (i = 0; i < P * M; i++) scaled[i] = Y[i] * factor;
            assert_ok(shs_omp_ex(NULL, P, N, D, P, M, Y, P, &o, &expected, NULL, NULL));
            assert_ok(shs_omp_ex(NULL, P, N, D, P, M, scaled, P, &o, &codes, NULL, NULL));
            assert_memory_equal(codes.used, expected.used, M * sizeof(int));
            assert_memory_equal(codes.atoms, expected.atoms, M * S * sizeof(int));
            for (i = 0; i < M * S; i++) assert_close(codes.coefs[i] / factor, expected.coefs[i], 1e-5);
        }
    shs_codes_free(NULL, &expected), shs_codes_free(NULL, &codes);
    free(D);
    free(Y);
    free(scaled);
}

/* Subnormal signals have few bits: what they are coded to is finite, and no worse than nothing. */
static void test_subnormal_signals(void **state) {
    shs_real *D = new_normal(P * N, 1), *Y = new_normal(P * M, 2);
    shs_codes codes;
    int i, k;
    (void)state;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    assert_ok(shs_codes_create(NULL, M, S, &codes));
    for (i = 0; i < P * M; i++) Y[i] *= REAL_MIN / 64;
    assert_ok(shs_omp(NULL, P, N, D, M, Y, S, &codes));
    for (i = 0; i < M; i++)
        for (k = 0; k < codes.used[i]; k++) assert_true(is_finite((double)codes.coefs[i * S + k]));
    shs_codes_free(NULL, &codes);
    free(D);
    free(Y);
}

/* Atoms that nearly are one (mu = 0.99999): the pursuit ends where they depend on each other, and coefficients stay within
   |y| / sqrt(1e-5). */
static void test_coherent_dictionary(void **state) {
    shs_real *D = new_normal(P * N, 3), *Y = new_normal(P * M, 4);
    shs_codes codes;
    shs_wide mu = 0;
    int i, j, k;
    (void)state;
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    for (j = 1; j < N; j++)
        for (i = 0; i < P; i++) D[j * P + i] = D[i] + (shs_real)0.0032 * D[j * P + i];
    assert_ok(shs_normalize_columns(P, N, D, P, NULL));
    assert_ok(shs_dictionary_coherence(NULL, P, N, D, P, &mu));
    assert_true(mu > 0.99999 && mu < 1.00001);
    assert_ok(shs_codes_create(NULL, M, S, &codes));
    assert_ok(shs_omp(NULL, P, N, D, M, Y, S, &codes));
    for (i = 0; i < M; i++) {
        double size = (double)shs_nrm2(P, Y + i * P, 1);
        assert_true(codes.used[i] >= 1);
        for (k = 0; k < codes.used[i]; k++) assert_true(fabs((double)codes.coefs[i * S + k]) <= BY_TYPE(320, 1e6) * size);
        assert_true(norm_of_residual(P, D, Y + i * P, codes.used[i], codes.atoms + i * S, codes.coefs + i * S) <= size);
    }
    shs_codes_free(NULL, &codes);
    free(D);
    free(Y);
}

/* As many atoms as there are dimensions: nothing of the signal is left. */
static void test_full_sparsity(void **state) {
    shs_real *D = new_normal(P * P, 5), *Y = new_normal(P * M, 6);
    shs_codes codes;
    int i;
    (void)state;
    for (i = 0; i < P; i++) D[i * P + i] += 8;
    assert_ok(shs_normalize_columns(P, P, D, P, NULL));
    assert_ok(shs_codes_create(NULL, M, P, &codes));
    assert_ok(shs_omp(NULL, P, P, D, M, Y, P, &codes));
    for (i = 0; i < M; i++)
        assert_close(norm_of_residual(P, D, Y + i * P, codes.used[i], codes.atoms + i * P, codes.coefs + i * P), 0,
                     BY_TYPE(1e-4, 1e-10) * (double)shs_nrm2(P, Y + i * P, 1));
    shs_codes_free(NULL, &codes);
    free(D);
    free(Y);
}

/* The only atom has the direction of the signals; a signal equals an atom. */
static void test_one_of_each(void **state) {
    shs_real y[P], d[P] = {0};
    shs_codes codes;
    (void)state;
    fill_normal(P, y, 7);
    assert_ok(shs_ksvd(NULL, P, 1, 1, y, 1, 3, d));
    assert_ok(shs_codes_create(NULL, 1, 1, &codes));
    assert_ok(shs_omp(NULL, P, 1, d, 1, y, 1, &codes));
    assert_int_equal(codes.used[0], 1);
    assert_close(fabs((double)codes.coefs[0]), shs_nrm2(P, y, 1), 1e-5);
    assert_close(norm_of_residual(P, d, y, 1, codes.atoms, codes.coefs), 0, 1e-5);
    shs_codes_free(NULL, &codes);
}

/* The same signal many times over: whatever the atoms become, they have unit norm, and the signal is met. */
static void test_duplicate_signals(void **state) {
    static const shs_replace replacements[] = {SHS_REPLACE_WORST, SHS_REPLACE_LEAVE, SHS_REPLACE_RANDOM};
    shs_real *Y = new_normal(P * M, 8), D[P * 8];
    int i, k;
    (void)state;
    for (i = 1; i < M; i++) memcpy(Y + i * P, Y, P * sizeof *Y);
    for (k = 0; k < 3; k++) {
        shs_ksvd_options o = SHS_ZERO;
        shs_ksvd_report report = SHS_ZERO;
        o.iterations = 4;
        o.coding.sparsity = 2;
        o.replace = replacements[k];
        o.parallel_atoms = 3;
        assert_ok(shs_ksvd_ex(NULL, P, 8, M, Y, P, &o, D, P, NULL, &report));
        assert_unit_atoms(P, 8, D);
        assert_close(report.rmse, 0, 1e-5);
    }
    free(Y);
}

/* Signals of any scale: atoms are numbers of unit norm. */
static void test_learning_scales(void **state) {
    static const double scales[] = {1e-30, 1e-15, 1e15, 1e30};
    shs_real *Y = new_normal(P * M * 4, 9), *scaled = new_normal(P * M * 4, 9), D[P * 20];
    int k, i, group;
    (void)state;
    for (k = 0; k < 4; k++)
        for (group = 1; group <= 16; group += 15) {
            shs_ksvd_options o = SHS_ZERO;
            o.iterations = 3;
            o.coding.sparsity = 3;
            o.parallel_atoms = group;
            o.rounds = 3;
            o.keep = SHS_KEEP_LAST;
            for (i = 0; i < P * M * 4; i++) scaled[i] = Y[i] * (shs_real)scales[k];
            assert_ok(shs_ksvd_ex(NULL, P, 20, M * 4, scaled, P, &o, D, P, NULL, NULL));
            assert_unit_atoms(P, 20, D);
        }
    /* few values, so that all products of an atom have one sign and add up to infinity */
    for (i = 0; i < P * 14; i++) scaled[i] = (shs_real)1e30 * (shs_real)((i * 7 + i / 5) % 3 - 1);
    for (group = 1; group <= 8; group++) {
        shs_ksvd_options o = SHS_ZERO;
        o.iterations = 2;
        o.coding.sparsity = 2;
        o.parallel_atoms = group;
        o.rounds = 3;
        o.prune_uses = -1;
        o.keep = SHS_KEEP_LAST;
        assert_ok(shs_ksvd_ex(NULL, P, 10, 14, scaled, P, &o, D, P, NULL, NULL));
        assert_unit_atoms(P, 10, D);
    }
    free(Y);
    free(scaled);
}

/* Eigenvalues of Hilbert matrices fall by more than eps: all pairs, and few, keep to the bound of the documentation. */
static void test_hilbert(void **state) {
    enum { H = 14 };
    shs_wide A[H * H], values[H], V[H * H];
    int k, i, j, l;
    (void)state;
    for (j = 0; j < H; j++)
        for (i = 0; i < H; i++) A[j * H + i] = 1 / (shs_wide)(i + j + 1);
    for (k = 2; k <= H; k += H - 2) {
        assert_ok(shs_eigh(NULL, H, A, H, k, values, V, H));
        for (l = 0; l < k; l++)
            for (i = 0; i < H; i++) {
                double sum = -(double)values[l] * (double)V[l * H + i];
                for (j = 0; j < H; j++) sum += (double)A[j * H + i] * (double)V[l * H + j];
                assert_close(sum, 0, 50 * H * 2.3e-16 * 1.9);
            }
    }
}

/* Bands whose covariance is nearly that of Hilbert: scores of anomalies are finite and not negative. */
static void test_hilbert_pixels(void **state) {
    enum { B = 10 };
    plain_cube p = random_values(SHS_TYPE_F64, 30, 40, B, 10), scores;
    shs_cube cube;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 30, 40, 1);
    size_t i;
    int a, b, rank = 0;
    (void)state;
    for (i = 0; i < pixels_of(&p); i++) {
        double x[B], *pixel = pixel_of(&p, i);
        memcpy(x, pixel, sizeof x);
        for (a = 0; a < B; a++) {
            pixel[a] = 0;
            for (b = 0; b < B; b++) pixel[a] += x[b] / (a + b + 1);
        }
    }
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    assert_ok(shs_rx(NULL, &cube, NULL, &sink, &rank));
    assert_true(rank >= 3 && rank <= B);
    scores = sink_values(&sink, 30, 40, 1);
    for (i = 0; i < pixels_of(&p); i++) assert_true(is_finite(scores.x[i]) && scores.x[i] >= 0);
    free(p.x);
    free(scores.x);
    cube_free(&cube);
    sink_free(&sink);
}

/* Pixels of any scale: eigenvalues scale by its square where products are precise. */
static void test_pixel_scales(void **state) {
    static const int powers[] = {-99, 99};
    plain_cube p = mixed_cube(20, 30, 5, 4, 0.1, 11), q = new_plain(20, 30, 5);
    int k, i;
    size_t j;
    (void)state;
    for (k = 0; k < 2; k++) {
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0), scaled;
        shs_pca_options o = SHS_ZERO;
        shs_pca pca, big;
        o.precise = SHS_PRECISION_ALWAYS;
        for (j = 0; j < values_of(&p); j++) q.x[j] = ldexp((double)(float)p.x[j], powers[k]);
        scaled = cube_of(&q, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
        assert_ok(shs_pca_fit(NULL, &cube, &o, &pca));
        assert_ok(shs_pca_fit(NULL, &scaled, &o, &big));
        for (i = 0; i < 5; i++)
            assert_close(ldexp((double)big.eigenvalues[i], -2 * powers[k]), pca.eigenvalues[i],
                         1e-9 * (double)pca.eigenvalues[0]);
        shs_pca_free(NULL, &pca), shs_pca_free(NULL, &big);
        cube_free(&cube);
        cube_free(&scaled);
    }
    free(p.x);
    free(q.x);
}

/* What calls make of pixels in other units: scores of detectors and of RX, abundances, principal components. */
enum { UNIT_TARGETS = 2, UNIT_BANDS = 5, UNIT_LINES = 24, UNIT_SAMPLES = 30, UNIT_CALLS = SHS_DETECTOR_COUNT + 6 };

#ifdef SPARSEHS_NO_DOUBLE
#define UNIT_TYPE SHS_TYPE_F32
#define UNIT_PRECISION 1e-3
#else
#define UNIT_TYPE SHS_TYPE_F64
#define UNIT_PRECISION 1e-8
#endif

/* A cube, and spectra in its unit: first the targets, then one undesired spectrum. */
typedef struct unit_scene {
    shs_cube cube;
    shs_wide spectra[(UNIT_TARGETS + 1) * UNIT_BANDS];
    const int *labels;
} unit_scene;

static shs_status call_in_units(int call, const unit_scene *s, const shs_sink *sink) {
    if (call < SHS_DETECTOR_COUNT) {
        shs_detect_options o = SHS_ZERO;
        o.method = (shs_detector)call;
        if (o.method == SHS_DETECTOR_OSP || o.method == SHS_DETECTOR_AMSD) {
            o.undesired = s->spectra + UNIT_TARGETS * UNIT_BANDS;
            o.undesired_count = 1;
        }
        return shs_detect(NULL, &s->cube, UNIT_TARGETS, s->spectra, UNIT_BANDS, &o, sink);
    }
    switch (call - SHS_DETECTOR_COUNT) {
    case 0: return shs_unmix(NULL, &s->cube, UNIT_TARGETS, s->spectra, UNIT_BANDS, SHS_CONSTRAINT_NONNEGATIVE, sink);
    case 1: return shs_unmix(NULL, &s->cube, UNIT_TARGETS, s->spectra, UNIT_BANDS, SHS_CONSTRAINT_FULL, sink);
    case 2: return shs_rx(NULL, &s->cube, NULL, sink, NULL);
    case 3: return shs_rx_classes(NULL, &s->cube, s->labels, 2, NULL, sink, NULL);
    case 4: return shs_rx_local(NULL, &s->cube, NULL, sink);
    default: {
        shs_pca_options o = SHS_ZERO;
        o.correlation = 1;
        return shs_pca_run(NULL, &s->cube, &o, sink, NULL);
    }
    }
}

static int outputs_in_units(int call) {
    if (call == UNIT_CALLS - 1) return UNIT_BANDS;
    if (call == SHS_DETECTOR_AMSD || call >= SHS_DETECTOR_COUNT + 2) return 1;
    return UNIT_TARGETS;
}

/* Whether a call answers. It must in units near 1, and elsewhere refuses by a status that says why. */
static int answer_in_units(shs_status status, int call, int near) {
    if (status == SHS_OK) return 1;
    assert_false(near);
    if (call == UNIT_CALLS - 2) assert_true(status == SHS_SINGULAR_COVARIANCE || status == SHS_NOT_FINITE);
    else
        assert_true(status == SHS_OUT_OF_RANGE || status == SHS_NOT_FINITE || status == SHS_NO_PIXELS ||
                    status == SHS_BAD_TARGETS || status == SHS_BAD_UNDESIRED || status == SHS_BAD_ENDMEMBERS);
    return 0;
}

/* In the unit of `other` a call gives the numbers of `scene`, or where that is not near 1 is refused, or says NaN. */
static void assert_same_numbers(int call, int near, const unit_scene *scene, const unit_scene *other) {
    const int outputs = outputs_in_units(call);
    shs_sink one = new_sink(UNIT_TYPE, SHS_INTERLEAVE_BIP, UNIT_LINES, UNIT_SAMPLES, outputs);
    shs_sink two = new_sink(UNIT_TYPE, SHS_INTERLEAVE_BIP, UNIT_LINES, UNIT_SAMPLES, outputs);
    assert_ok(call_in_units(call, scene, &one));
    if (answer_in_units(call_in_units(call, other, &two), call, near)) {
        plain_cube a = sink_values(&one, UNIT_LINES, UNIT_SAMPLES, outputs);
        plain_cube b = sink_values(&two, UNIT_LINES, UNIT_SAMPLES, outputs);
        double most = 0;
        size_t j;
        for (j = 0; j < values_of(&a); j++)
            if (is_finite(a.x[j])) most = fmax(most, fabs(a.x[j]));
        for (j = 0; j < values_of(&a); j++)
            if (is_finite(a.x[j]) && (near || !is_nan(b.x[j]))) assert_close(b.x[j], a.x[j], UNIT_PRECISION * most);
        free(a.x);
        free(b.x);
    }
    sink_free(&one);
    sink_free(&two);
}

static void assert_same_brightest(const shs_cube *cube, const shs_cube *other, int near) {
    shs_endmember_options o = SHS_ZERO;
    shs_endmembers expected, found;
    o.method = SHS_EXTRACTOR_ATGP;
    o.count = 3;
    assert_ok(shs_endmembers_find(NULL, cube, &o, &expected));
    if (answer_in_units(shs_endmembers_find(NULL, other, &o, &found), 0, near)) {
        assert_memory_equal(found.pixel, expected.pixel, 3 * sizeof *found.pixel);
        shs_endmembers_free(NULL, &found);
    }
    shs_endmembers_free(NULL, &expected);
}

/* These calls do not depend on the unit of the pixels: they give the same numbers in any, or refuse units in which squares leave
   the range, or say NaN. Results that are neither are wrong without a word. */
static void test_units_of_pixels(void **state) {
    static const int powers[] = {-1000, -520, -505, -490, -101, -72, -66, -60, -40, 40,  59,
                                 60,    61,   62,   63,   400,  507, 508, 509, 510, 511};
    plain_cube p = mixed_cube(UNIT_LINES, UNIT_SAMPLES, UNIT_BANDS, UNIT_BANDS, 0.1, 21);
    plain_cube q = new_plain(UNIT_LINES, UNIT_SAMPLES, UNIT_BANDS);
    int labels[UNIT_LINES * UNIT_SAMPLES], call, k, i;
    unit_scene scene, other;
    size_t j;
    (void)state;
    for (i = 0; i < UNIT_LINES * UNIT_SAMPLES; i++) labels[i] = i % 2;
    for (i = 0; i < (UNIT_TARGETS + 1) * UNIT_BANDS; i++) scene.spectra[i] = (shs_wide)(p.x[i * 7] + 0.1 * (i % 4)) / 8;
    scene.cube = cube_of(&p, UNIT_TYPE, SHS_INTERLEAVE_BIP, 0);
    scene.labels = labels;
    other.labels = labels;
    for (k = 0; k < (int)(sizeof powers / sizeof *powers); k++) {
        const int power = powers[k], near = abs(power) <= 40;
        if (UNIT_TYPE == SHS_TYPE_F32 && abs(power) > 101) continue;
        if (sizeof(shs_real) == sizeof(float) && power > 101) continue; /* such values count as missing */
        for (j = 0; j < values_of(&p); j++) q.x[j] = ldexp(p.x[j], power);
        for (i = 0; i < (UNIT_TARGETS + 1) * UNIT_BANDS; i++)
            other.spectra[i] = (shs_wide)ldexp((double)scene.spectra[i], power);
        other.cube = cube_of(&q, UNIT_TYPE, SHS_INTERLEAVE_BIP, 0);
        for (call = 0; call < UNIT_CALLS; call++) assert_same_numbers(call, near, &scene, &other);
        assert_same_brightest(&scene.cube, &other.cube, near);
        cube_free(&other.cube);
    }
    free(p.x);
    free(q.x);
    cube_free(&scene.cube);
}

/* Few pixels of many bands are refused in faint units as many pixels are, also where bands are to have unit variance. */
static void test_faint_units_of_few_pixels(void **state) {
    plain_cube p = mixed_cube(2, 2, 40, 3, 0.1, 22);
    shs_pca_options o = SHS_ZERO;
    shs_cube cube;
    size_t j;
    (void)state;
    for (j = 0; j < values_of(&p); j++) p.x[j] = ldexp(p.x[j], UNIT_TYPE == SHS_TYPE_F64 ? -750 : -90);
    cube = cube_of(&p, UNIT_TYPE, SHS_INTERLEAVE_BIP, 0);
    for (o.correlation = 0; o.correlation < 2; o.correlation++) {
        shs_pca pca = SHS_ZERO;
        assert_status(shs_pca_fit(NULL, &cube, &o, &pca), SHS_OUT_OF_RANGE);
    }
    free(p.x);
    cube_free(&cube);
}

/* Start vectors whose squares leave the range are passed over: the rotation is orthonormal all the same. */
static void test_huge_start(void **state) {
    enum { C = 3 };
    static const shs_ica_approach approaches[] = {SHS_APPROACH_DEFLATION, SHS_APPROACH_SYMMETRIC};
    plain_cube p = mixed_cube(20, 30, 4, C, 0.01, 12);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
    shs_wide start[C * C];
    int k, i, j, q;
    (void)state;
    for (i = 0; i < C * C; i++) start[i] = (shs_wide)1e200 * (1 + i * i % 7);
    for (k = 0; k < 2; k++) {
        shs_ica_options o = SHS_ZERO;
        shs_ica ica = SHS_ZERO;
        o.components = C;
        o.start = start;
        o.approach = approaches[k];
        assert_ok(shs_ica_fit(NULL, &cube, &o, &ica));
        for (i = 0; i < C; i++)
            for (j = 0; j < C; j++) {
                double sum = 0;
                for (q = 0; q < C; q++) sum += (double)ica.rotation[i * C + q] * (double)ica.rotation[j * C + q];
                assert_close(sum, i == j, 1e-6);
            }
        shs_ica_free(NULL, &ica);
    }
    free(p.x);
    cube_free(&cube);
}

/* Sizes near INT_MAX: the queries say that no memory is enough, and take no time. */
static void test_sizes_that_cannot_be(void **state) {
    static const unsigned char pixel = 0;
    shs_cube cube = SHS_ZERO;
    (void)state;
    cube.pixels = &pixel;
    cube.type = SHS_TYPE_U8;
    cube.lines = cube.samples = 1;
    cube.bands = INT_MAX;
    assert_true(shs_moments_update_workspace(NULL, &cube, 0) == SIZE_MAX);
    assert_true(shs_moments_update_workspace(NULL, &cube, 1) == SIZE_MAX);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coding_scales),     cmocka_unit_test(test_subnormal_signals),
        cmocka_unit_test(test_coherent_dictionary), cmocka_unit_test(test_full_sparsity),
        cmocka_unit_test(test_one_of_each),       cmocka_unit_test(test_duplicate_signals),
        cmocka_unit_test(test_learning_scales),   cmocka_unit_test(test_hilbert),
        cmocka_unit_test(test_hilbert_pixels),    cmocka_unit_test(test_pixel_scales),
        cmocka_unit_test(test_sizes_that_cannot_be), cmocka_unit_test(test_huge_start),
        cmocka_unit_test(test_units_of_pixels),
        cmocka_unit_test(test_faint_units_of_few_pixels),
    };
    return run_with_every_instance("extremes", tests);
}
