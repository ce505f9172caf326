/* test_narrow.c - statistics of float pixels against sums in double, and abundances, in builds with doubles and without. */
#include "test_cube_tools.h"

enum { BANDS = 6, LINES = 40, SAMPLES = 50, PIXELS = LINES * SAMPLES };

static const int narrow = sizeof(shs_wide) == sizeof(float);

/* A bound in builds with doubles, or without. */
static double bound(double with_doubles, double without) {
    if (narrow) return without;
    return with_doubles;
}

static double rounded(double x) { return (double)(float)x; }

/* Normal pixels as floats hold them. One band is in another unit, and a pixel stands out in it. */
static plain_cube pixels_in_unit(int band, double unit) {
    plain_cube p = new_plain(LINES, SAMPLES, BANDS);
    shs_random r;
    size_t i;
    int b;
    shs_random_seed(&r, 3);
    for (i = 0; i < PIXELS; i++)
        for (b = 0; b < BANDS; b++) pixel_of(&p, i)[b] = (double)shs_random_normal(&r);
    pixel_of(&p, 7)[band] += 8;
    for (i = 0; i < PIXELS; i++) {
        pixel_of(&p, i)[band] *= unit;
        for (b = 0; b < BANDS; b++) pixel_of(&p, i)[b] = rounded(pixel_of(&p, i)[b]);
    }
    return p;
}

/* mean and C, in double. */
static void statistics_of(const plain_cube *p, double *mean, double *C) {
    size_t i;
    int a, b;
    for (a = 0; a < BANDS; a++) {
        mean[a] = 0;
        for (i = 0; i < PIXELS; i++) mean[a] += pixel_of(p, i)[a] / PIXELS;
    }
    for (a = 0; a < BANDS; a++)
        for (b = 0; b < BANDS; b++) {
            C[a * BANDS + b] = 0;
            for (i = 0; i < PIXELS; i++)
                C[a * BANDS + b] += (pixel_of(p, i)[a] - mean[a]) * (pixel_of(p, i)[b] - mean[b]) / PIXELS;
        }
}

/* The lower Cholesky factor of C in place of C. */
static void factor(double *C) {
    int i, j, k;
    for (j = 0; j < BANDS; j++) {
        for (k = 0; k < j; k++) C[j * BANDS + j] -= C[j * BANDS + k] * C[j * BANDS + k];
        C[j * BANDS + j] = sqrt(C[j * BANDS + j]);
        for (i = j + 1; i < BANDS; i++) {
            for (k = 0; k < j; k++) C[i * BANDS + j] -= C[i * BANDS + k] * C[j * BANDS + k];
            C[i * BANDS + j] /= C[j * BANDS + j];
        }
    }
}

/* z = L^-1 (x - mean) by the factor of C. Returns |z|^2. */
static double whiten(const double *x, const double *mean, const double *L, double *z) {
    double score = 0;
    int i, k;
    for (i = 0; i < BANDS; i++) {
        z[i] = x[i] - mean[i];
        for (k = 0; k < i; k++) z[i] -= L[i * BANDS + k] * z[k];
        z[i] /= L[i * BANDS + i];
        score += z[i] * z[i];
    }
    return score;
}

static void test_scores_in_any_unit(void **state) {
    static const double units[] = {1, 3e-2, 1e-2, 5e-3, 2e-3, 1.2e-3, 8e-4, 1e-4, 1e-6};
    shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, LINES, SAMPLES, 1);
    const int count = (int)(sizeof units / sizeof *units);
    int k, rank;
    size_t i;
    (void)state;
    for (k = 0; k < count * BANDS; k++) {
        const double unit = units[k / BANDS];
        plain_cube p = pixels_in_unit(k % BANDS, unit), scores;
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 0);
        double mean[BANDS], C[BANDS * BANDS], z[BANDS];
        statistics_of(&p, mean, C);
        factor(C);
        assert_ok(shs_rx(NULL, &cube, NULL, &sink, &rank));
        assert_int_equal(rank, BANDS);
        scores = sink_values(&sink, LINES, SAMPLES, 1);
        for (i = 0; i < PIXELS; i++) {
            const double expected = whiten(pixel_of(&p, i), mean, C, z);
            if (!(fabs(scores.x[i] - expected) <= 1e-3 * (expected + BANDS)))
                fail_msg("band %d in unit %g, pixel %d: %g in place of %g", k % BANDS, unit, (int)i, scores.x[i], expected);
        }
        free(scores.x);
        free(p.x);
        cube_free(&cube);
    }
    sink_free(&sink);
}

static void test_statistics(void **state) {
    plain_cube p = pixels_in_unit(0, 1e-3);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    shs_moments moments = SHS_ZERO;
    shs_wide of_cube[BANDS], C[BANDS * BANDS];
    double mean[BANDS], expected[BANDS * BANDS];
    int a, b;
    (void)state;
    statistics_of(&p, mean, expected);
    assert_ok(shs_moments_create(NULL, BANDS, &moments));
    assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &moments));
    assert_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, of_cube, C, BANDS));
    for (a = 0; a < BANDS; a++) {
        const double deviation = sqrt(expected[a * BANDS + a]);
        assert_close(of_cube[a], mean[a], 1e-6 * deviation);
        for (b = 0; b < BANDS; b++)
            assert_close(C[a * BANDS + b], expected[a * BANDS + b], 1e-5 * deviation * sqrt(expected[b * BANDS + b]));
    }
    shs_moments_free(NULL, &moments);
    free(p.x);
    cube_free(&cube);
}

/* ---- sums of pixels far from the shift -------------------------------------------------------------------------------- */

enum { MANY_LINES = 512, MANY_SAMPLES = 128 };

/* mean +- deviation in every band, as whole numbers or floats; `lines` lines from `from` on are `filler`. */
static plain_cube levels(shs_type type, double mean, double deviation, int from, int lines, double filler) {
    plain_cube p = new_plain(MANY_LINES, MANY_SAMPLES, 3);
    shs_random r;
    size_t i;
    shs_random_seed(&r, 12);
    for (i = 0; i < values_of(&p); i++) {
        const int line = (int)(i / 3 / MANY_SAMPLES);
        p.x[i] = mean + deviation * (double)shs_random_normal(&r);
        if (line >= from && line < from + lines) p.x[i] = filler;
        if (type != SHS_TYPE_F32) p.x[i] = floor(p.x[i] + 0.5);
        p.x[i] = rounded(p.x[i]);
    }
    return p;
}

/* The covariance, within `most` of its largest element. */
static void check_covariance(const plain_cube *p, const shs_cube *cube, shs_precision precise, double most, const char *what) {
    shs_moments moments = SHS_ZERO;
    shs_wide mean[3], C[9];
    double expected_mean[3], expected[9];
    int i;
    naive_moments(p, NULL, expected_mean, expected);
    assert_ok(shs_moments_create(NULL, 3, &moments));
    assert_ok(shs_moments_update(NULL, cube, precise, &moments));
    assert_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, mean, C, 3));
    shs_moments_free(NULL, &moments);
    for (i = 0; i < 9; i++)
        if (!(fabs((double)C[i] - expected[i]) <= most * expected[0]))
            fail_msg("%s, type %d, interleave %d: covariance %d is %.9g in place of %.9g", what, (int)cube->type,
                     (int)cube->interleave, i, (double)C[i], expected[i]);
}

static void test_bytes_far_from_128(void **state) {
    static const double means[] = {128, 20, 60, 250};
    int k;
    (void)state;
    for (k = 0; k < 4; k++) {
        plain_cube p = levels(SHS_TYPE_U8, means[k], 1, 0, 0, 0);
        shs_cube cube = cube_of(&p, SHS_TYPE_U8, (shs_interleave)(k % 3), 0);
        check_covariance(&p, &cube, SHS_PRECISION_AUTO, 1e-5, "bytes");
        free(p.x);
        cube_free(&cube);
    }
}

/* Dark or saturated lines at the start, in the middle, at the end; in the last case they are more than a quarter of all. */
static void test_lines_that_stand_out(void **state) {
    static const struct {
        shs_type type;
        double mean, deviation, filler;
        int from, lines;
    } cases[] = {
        {SHS_TYPE_U16, 3000, 10, 0, 0, 1},     {SHS_TYPE_U16, 3000, 100, 65535, 0, 1}, {SHS_TYPE_F32, 300, 1, 0, 0, 8},
        {SHS_TYPE_F32, 300, 1, 0, 256, 1},     {SHS_TYPE_F32, 300, 1, 0, 511, 1},      {SHS_TYPE_F32, 0.3, 0.002, 0, 0, 1},
        {SHS_TYPE_I16, 3000, 10, -9999, 0, 3}, {SHS_TYPE_F32, 300, 1, -1e4, 128, 150},
    };
    size_t i;
    int interleave, b;
    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int exact = !narrow && cases[i].type != SHS_TYPE_F32;
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            plain_cube p = levels(cases[i].type, cases[i].mean, cases[i].deviation, cases[i].from, cases[i].lines,
                                  cases[i].filler);
            shs_cube cube = cube_of(&p, cases[i].type, (shs_interleave)interleave, 0);
            shs_moments moments = SHS_ZERO;
            check_covariance(&p, &cube, SHS_PRECISION_AUTO, 2e-5, "lines that stand out");
            if (exact) { /* and the shift is the mean of the first pixels */
                cube_free(&cube);
                free(p.x);
                continue;
            }
            check_covariance(&p, &cube, SHS_PRECISION_NEVER, 2e-5, "lines that stand out, in shs_real");
            assert_ok(shs_moments_create(NULL, 3, &moments));
            assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &moments));
            for (b = 0; b < 3; b++) assert_close(moments.shift[b], cases[i].mean, cases[i].deviation);
            shs_moments_free(NULL, &moments);
            free(p.x);
            cube_free(&cube);
        }
    }
}

/* Their sum leaves the range, but they are not missing. */
static void test_pixels_near_the_end_of_the_range(void **state) {
    const double most = narrow ? 2e38 : 1e308;
    plain_cube p;
    shs_cube cube;
    shs_pca pca = SHS_ZERO;
    size_t i;
    (void)state;
    if (!narrow && sizeof(shs_real) == sizeof(float)) skip(); /* all floats add up in double */
    p = levels(SHS_TYPE_F64, most, 1, 0, 0, 0);
    for (i = 0; i < values_of(&p); i++) p.x[i] = most * (0.9 + 0.001 * (double)(i * 17 % 100));
    cube = cube_of(&p, narrow ? SHS_TYPE_F32 : SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    assert_status(shs_pca_fit(NULL, &cube, NULL, &pca), SHS_NOT_FINITE);
    free(p.x);
    cube_free(&cube);
}

/* The places where means are taken hold no pixel: the first valid one is found all the same. */
static void test_shift_behind_a_mask(void **state) {
    plain_cube p = levels(SHS_TYPE_F32, 300, 1, 0, 0, 0);
    shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0);
    unsigned char *mask = (unsigned char *)calloc(pixels_of(&p), 1);
    shs_moments moments = SHS_ZERO;
    shs_wide mean[3];
    (void)state;
    mask[777] = mask[778] = 1;
    cube.mask = mask;
    assert_ok(shs_moments_create(NULL, 3, &moments));
    assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_AUTO, &moments));
    assert_close(moments.count, 2, 0);
    assert_close(moments.shift[0], (pixel_of(&p, 777)[0] + pixel_of(&p, 778)[0]) / 2, 1e-4);
    assert_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, mean, NULL, 3));
    assert_close(mean[2], (pixel_of(&p, 777)[2] + pixel_of(&p, 778)[2]) / 2, 1e-4);
    shs_moments_free(NULL, &moments);
    free(mask);
    free(p.x);
    cube_free(&cube);
}

/* ---- detectors with a background of each class, behind a dark first line ---------------------------------------------- */

enum { COLUMNS = 4, LONG_LINES = 4000 };

/* ACE of every pixel in its class, in double. */
static void naive_ace(const plain_cube *p, const int *labels, int classes, const shs_wide *spectrum, double *scores) {
    unsigned char *valid = (unsigned char *)malloc(pixels_of(p));
    double mean[BANDS], C[BANDS * BANDS], target[BANDS], z[BANDS], t[BANDS], along, x2, t2;
    size_t i;
    int k, b;
    for (b = 0; b < BANDS; b++) target[b] = (double)spectrum[b];
    for (k = 0; k < classes; k++) {
        for (i = 0; i < pixels_of(p); i++) valid[i] = labels[i] == k;
        naive_moments(p, valid, mean, C);
        factor(C);
        t2 = whiten(target, mean, C, t);
        for (i = 0; i < pixels_of(p); i++) {
            if (!valid[i]) continue;
            x2 = whiten(pixel_of(p, i), mean, C, z);
            along = 0;
            for (b = 0; b < BANDS; b++) along += z[b] * t[b];
            scores[i] = along * along / (x2 * t2);
        }
    }
    free(valid);
}

static void test_backgrounds_behind_a_dark_line(void **state) {
    static const int blocks[] = {0, 1, 7};
    const size_t pixels = (size_t)LONG_LINES * COLUMNS;
    plain_cube p = new_plain(LONG_LINES, COLUMNS, BANDS);
    int *labels = (int *)malloc(pixels * sizeof *labels);
    double *expected = (double *)malloc(pixels * sizeof *expected);
    shs_wide spectrum[BANDS];
    shs_random r;
    size_t i;
    int way, b;
    (void)state;
    shs_random_seed(&r, 8);
    for (b = 0; b < BANDS; b++) spectrum[b] = (shs_wide)rounded(302 + 0.3 * b);
    for (i = 0; i < pixels; i++)
        for (b = 0; b < BANDS; b++) {
            const double value = rounded(300 + (double)shs_random_normal(&r));
            if (i >= COLUMNS) pixel_of(&p, i)[b] = value; /* the first line stays 0 */
        }
    for (way = 0; way < 6; way++) {
        const int counts[] = {COLUMNS, 2}, classes = counts[way % 2];
        shs_cube cube = cube_of(&p, SHS_TYPE_F32, SHS_INTERLEAVE_BIL, 0), used = cube;
        shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BSQ, LONG_LINES, COLUMNS, 1);
        shs_detect_options o = SHS_ZERO;
        plain_cube scores;
        stream s;
        for (i = 0; i < pixels; i++) labels[i] = (int)(i % (size_t)classes);
        naive_ace(&p, labels, classes, spectrum, expected);
        o.method = SHS_DETECTOR_ACE;
        if (classes == COLUMNS) o.columns = 1;
        else {
            o.labels = labels;
            o.classes = classes;
        }
        if (blocks[way / 2]) used = streamed(&cube, blocks[way / 2], &s);
        assert_ok(shs_detect(NULL, &used, 1, spectrum, BANDS, &o, &sink));
        scores = sink_values(&sink, LONG_LINES, COLUMNS, 1);
        for (i = COLUMNS; i < pixels; i++)
            if (!(fabs(scores.x[i] - expected[i]) <= 1e-4))
                fail_msg("blocks of %d lines, %d classes, pixel %d: %g in place of %g", blocks[way / 2], classes, (int)i,
                         scores.x[i], expected[i]);
        free(scores.x);
        sink_free(&sink);
        cube_free(&cube);
    }
    free(expected);
    free(labels);
    free(p.x);
}

/* ---- small angles ----------------------------------------------------------------------------------------------------- */

/* Angles to a constant spectrum and to one more, of pixels near the first, beside 2 atan2(|u - v|, |u + v|). */
static void test_small_angles(void **state) {
    enum { WIDE = 64, COUNT = 20 * 30 };
    static const double deviations[] = {1e-3, 0.1, 1, 20};
    shs_wide targets[2 * WIDE];
    int way, k, b, interleave;
    size_t i;
    (void)state;
    for (b = 0; b < WIDE; b++) {
        targets[b] = 300;
        targets[WIDE + b] = (shs_wide)rounded(290 + 0.3 * b);
    }
    for (way = 0; way < 4; way++)
        for (interleave = 0; interleave < SHS_INTERLEAVE_COUNT; interleave++) {
            plain_cube p = new_plain(20, 30, WIDE), scores;
            shs_sink sink = new_sink(SHS_TYPE_F32, SHS_INTERLEAVE_BIP, 20, 30, 2);
            shs_detect_options o = SHS_ZERO;
            shs_cube cube;
            shs_random r;
            shs_random_seed(&r, 21);
            for (i = 0; i < values_of(&p); i++) p.x[i] = rounded(300 + deviations[way] * (double)shs_random_normal(&r));
            for (b = 0; b < WIDE; b++) {
                pixel_of(&p, 5)[b] = 600;
                pixel_of(&p, 6)[b] = -300;
                pixel_of(&p, 7)[b] = NOT_A_NUMBER;
            }
            cube = cube_of(&p, SHS_TYPE_F32, (shs_interleave)interleave, 0);
            o.method = SHS_DETECTOR_SAM;
            assert_ok(shs_detect(NULL, &cube, 2, targets, WIDE, &o, &sink));
            scores = sink_values(&sink, 20, 30, 2);
            for (i = 0; i < COUNT; i++)
                for (k = 0; k < 2; k++) {
                    const double *x = pixel_of(&p, i), got = pixel_of(&scores, i)[k];
                    double x2 = 0, t2 = 0, less = 0, more = 0, expected;
                    for (b = 0; b < WIDE; b++) {
                        x2 += x[b] * x[b];
                        t2 += (double)targets[k * WIDE + b] * (double)targets[k * WIDE + b];
                    }
                    for (b = 0; b < WIDE; b++) {
                        const double u = x[b] / sqrt(x2), v = (double)targets[k * WIDE + b] / sqrt(t2);
                        less += (u - v) * (u - v);
                        more += (u + v) * (u + v);
                    }
                    expected = 2 * atan2(sqrt(less), sqrt(more));
                    if (i == 7) assert_true(is_nan(got));
                    else if (i == 6) assert_close(got, expected, 1e-3);
                    else if (!(fabs(got - expected) <= 2e-7 + bound(1e-7, 2e-6) * expected))
                        fail_msg("300 +- %g, target %d, pixel %d: angle %.9g in place of %.9g", deviations[way], k, (int)i, got,
                                 expected);
                }
            free(scores.x);
            free(p.x);
            cube_free(&cube);
            sink_free(&sink);
        }
}

/* ---- abundances of endmembers that are alike ------------------------------------------------------------------------ */

enum { MATERIALS = 4, SHARES = 30, MIXED = 12 * 34 };

/* Endmembers: kind 0: two differ by a small share of their values. 1: all have a level, as temperatures, and differ little. 2: all
   differ from the first by that share. */
static void spectra_alike(int kind, shs_wide *E) {
    const double share = bound(1e-5, 5e-3), deviation = bound(1e-3, 1);
    shs_random r;
    int b, k;
    shs_random_seed(&r, 9);
    for (k = 0; k < MATERIALS; k++)
        for (b = 0; b < SHARES; b++) {
            double value = (double)shs_random_normal(&r);
            if (kind == 1) value = 300 + deviation * value;
            else if (k == 0 || (kind == 0 && k < MATERIALS - 1)) value = fabs(value);
            else value = (double)E[b] + share * value;
            E[k * SHARES + b] = (shs_wide)value;
        }
}

/* Mixtures of the endmembers, and the abundances; pixels with an odd number lack some endmembers. */
static plain_cube mixtures_alike(const shs_wide *E, double *truth) {
    plain_cube p = new_plain(12, 34, SHARES);
    shs_random r;
    size_t i;
    int b, k;
    shs_random_seed(&r, 10);
    for (i = 0; i < MIXED; i++) {
        double *a = truth + i * MATERIALS, sum = 0;
        for (k = 0; k < MATERIALS; k++) {
            a[k] = 0.02 + (double)shs_random_uniform(&r);
            if (i % 2 && (i >> (k + 1) & 1) && k != (int)(i / 32 % MATERIALS)) a[k] = 0;
            sum += a[k];
        }
        for (k = 0; k < MATERIALS; k++) {
            a[k] /= sum;
            for (b = 0; b < SHARES; b++) pixel_of(&p, i)[b] += a[k] * (double)E[k * SHARES + b];
        }
    }
    for (b = 0; b < SHARES; b++) pixel_of(&p, 77)[b] = NOT_A_NUMBER;
    return p;
}

static void test_abundances_of_endmembers_alike(void **state) {
    const shs_type type = narrow ? SHS_TYPE_F32 : SHS_TYPE_F64;
    double *truth = (double *)malloc(MIXED * MATERIALS * sizeof *truth);
    int kind, how, k;
    size_t i;
    (void)state;
    for (kind = 0; kind < 3; kind++) {
        shs_wide E[MATERIALS * SHARES];
        plain_cube p;
        shs_cube cube;
        spectra_alike(kind, E);
        p = mixtures_alike(E, truth);
        cube = cube_of(&p, type, SHS_INTERLEAVE_BIL, 0);
        for (how = 0; how < 4; how++) {
            const double most = bound(1e-10, 6e-5);
            shs_sink sink = new_sink(type, SHS_INTERLEAVE_BIP, 12, 34, MATERIALS);
            plain_cube A;
            assert_ok(shs_unmix(NULL, &cube, MATERIALS, E, SHARES, (shs_constraint)how, &sink));
            A = sink_values(&sink, 12, 34, MATERIALS);
            for (i = 0; i < MIXED; i++) {
                const double *a = pixel_of(&A, i), *expected = truth + i * MATERIALS;
                double sum = 0;
                for (k = 0; k < MATERIALS; k++) {
                    if (i == 77) assert_true(is_nan(a[k]));
                    else if (!(fabs(a[k] - expected[k]) <= most))
                        fail_msg("kind %d, constraint %d, pixel %d: %g in place of %g", kind, how, (int)i, a[k], expected[k]);
                    sum += a[k];
                }
                if (i != 77 && how == SHS_CONSTRAINT_FULL) assert_close(sum, 1, bound(4e-15, 1e-6));
            }
            free(A.x);
            sink_free(&sink);
        }
        free(p.x);
        cube_free(&cube);
    }
    free(truth);
}

/* ---- learning near the limits of units --------------------------------------------------------------------------------- */

/* The dictionary is the same to the bit in units up to the bounds beyond which shs_ksvd returns SHS_OUT_OF_RANGE. */
static void test_units_of_signals(void **state) {
    enum { ROWS = 8, ATOMS = 16, SIGNALS = 3000 };
    static const int of_float[] = {0, 20, 28, -28}, of_double[] = {0, 100, 250, -250}, between[] = {0, 50, 100, -100};
    const int *units = narrow ? of_float : of_double;
    shs_real *Y = (shs_real *)malloc(ROWS * SIGNALS * sizeof *Y), *scaled = (shs_real *)malloc(ROWS * SIGNALS * sizeof *Y);
    shs_real D[ROWS * ATOMS], first[ROWS * ATOMS];
    shs_random r;
    int way, k, i;
    (void)state;
    if (sizeof(shs_wide) > sizeof(shs_real)) units = between;
    shs_random_seed(&r, 6);
    for (i = 0; i < ROWS * SIGNALS; i++) Y[i] = (shs_real)shs_random_normal(&r);
    for (way = 0; way < 2 * SHS_UPDATE_COUNT; way++)
        for (k = 0; k < 4; k++) {
            shs_ksvd_options o = SHS_ZERO;
            for (i = 0; i < ROWS * SIGNALS; i++) scaled[i] = (shs_real)ldexp((double)Y[i], units[k]);
            o.update = (shs_update)(way / 2);
            if (way % 2) o.coherence = (shs_real)0.6;
            o.coding.sparsity = 2;
            o.iterations = 3;
            assert_ok(shs_ksvd_ex(NULL, ROWS, ATOMS, SIGNALS, scaled, ROWS, &o, D, ROWS, NULL, NULL));
            if (k == 0) memcpy(first, D, sizeof D);
            if (memcmp(first, D, sizeof D) != 0)
                fail_msg("update %d, coherence %g: in units of 2^%d the dictionary differs from that in units of 1",
                         (int)o.update, (double)o.coherence, units[k]);
        }
    free(Y);
    free(scaled);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_in_any_unit),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_bytes_far_from_128),
        cmocka_unit_test(test_pixels_near_the_end_of_the_range),
        cmocka_unit_test(test_lines_that_stand_out),
        cmocka_unit_test(test_shift_behind_a_mask),
        cmocka_unit_test(test_backgrounds_behind_a_dark_line),
        cmocka_unit_test(test_small_angles),
        cmocka_unit_test(test_abundances_of_endmembers_alike),
        cmocka_unit_test(test_units_of_signals),
    };
    return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
