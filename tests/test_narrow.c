/* test_narrow.c - statistics of float pixels against sums in double, in builds with doubles and without. */
#include "test_cube_tools.h"

enum { BANDS = 6, LINES = 40, SAMPLES = 50, PIXELS = LINES * SAMPLES };

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

/* (x - mean)'C^-1 (x - mean) by the factor of C. */
static double score_of(const double *x, const double *mean, const double *L) {
    double z[BANDS], score = 0;
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
        double mean[BANDS], C[BANDS * BANDS];
        statistics_of(&p, mean, C);
        factor(C);
        assert_ok(shs_rx(NULL, &cube, NULL, &sink, &rank));
        assert_int_equal(rank, BANDS);
        scores = sink_values(&sink, LINES, SAMPLES, 1);
        for (i = 0; i < PIXELS; i++) {
            const double expected = score_of(pixel_of(&p, i), mean, C);
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

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_in_any_unit),
        cmocka_unit_test(test_statistics),
    };
    return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
