/* test_targets.c - detectors of targets against their naive twin: every method, layout and type, masks, no-data, streams. */
#include "test_cube_tools.h"

enum { LINES = 13, SAMPLES = 31, PIXELS = LINES * SAMPLES, TARGETS = 3, UNDESIRED = 2, MOST_BANDS = 23 };

static int is_angle(int method) { return method == SHS_DETECTOR_SAM; }
static int is_whitened(int method) {
    return method == SHS_DETECTOR_ACE || method == SHS_DETECTOR_SACE || method == SHS_DETECTOR_GLRT;
}
/* The detectors that know no statistics of the pixels. */
static int is_bare(int method) {
    return method == SHS_DETECTOR_SAM || method == SHS_DETECTOR_OSP || method == SHS_DETECTOR_AMSD;
}

/* Rows of smooth spectra; the first is that of a pixel. */
static void draw_spectra(const plain_cube *p, shs_wide *spectra, int count) {
    int k, b;
    shs_random r;
    shs_random_seed(&r, 77);
    for (k = 0; k < count; k++)
        for (b = 0; b < p->bands; b++)
            spectra[k * p->bands + b] = pixel_of(p, 29)[b] + (k > 0 ? 20 * (double)shs_random_normal(&r) : 0);
}

/* The valid pixels' scores for each target, TARGETS bands a pixel; missing ones get NaN. */
static double *naive_scores(const plain_cube *p, const unsigned char *valid, int method, const shs_wide *spectra,
                            const shs_wide *undesired) {
    int n = p->bands, b, k;
    size_t i, m = 0;
    double *X = NEW(double, values_of(p)), *scores = NEW(double, PIXELS), *all = NEW(double, PIXELS *TARGETS);
    double scratch[MOST_BANDS * (MOST_BANDS + 3)];
    for (i = 0; i < PIXELS; i++)
        if (!valid || valid[i]) {
            for (b = 0; b < n; b++) X[m * (size_t)n + (size_t)b] = pixel_of(p, i)[b];
            m++;
        }
    for (k = 0; k < TARGETS; k++) {
        shs_detect_naive((shs_detector)method, n, (ptrdiff_t)m, X, spectra + k * n, UNDESIRED < n ? UNDESIRED : 0, undesired,
                         scores, scratch);
        for (m = i = 0; i < PIXELS; i++) all[i * TARGETS + (size_t)k] = valid && !valid[i] ? NOT_A_NUMBER : scores[m++];
    }
    free(X);
    free(scores);
    return all;
}

/* One score a pixel for `targets` spectra together, or a score for each, into f64, pixel by pixel; free it. */
static double *outputs_of(const shs_context *ctx, const shs_cube *cube, int targets, const shs_wide *spectra,
                          const shs_detect_options *o) {
    int n = cube->band_list ? cube->band_count : cube->bands, bands = o->method == SHS_DETECTOR_AMSD ? 1 : targets;
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, cube->lines, cube->samples, bands);
    sink.has_nodata = 1;
    sink.nodata = NOT_A_NUMBER;
    assert_ok(shs_detect(ctx, cube, targets, spectra, n, o, &sink));
    return (double *)sink.pixels;
}

/* Each pixel's scores for each target alone; free it. */
static double *scores_of(const shs_context *ctx, const shs_cube *cube, const shs_wide *spectra, const shs_detect_options *o) {
    int n = cube->band_list ? cube->band_count : cube->bands, k;
    size_t pixels = (size_t)cube->lines * (size_t)cube->samples, i;
    double *all;
    if (o->method != SHS_DETECTOR_AMSD) return outputs_of(ctx, cube, TARGETS, spectra, o);
    all = NEW(double, pixels *TARGETS);
    for (k = 0; k < TARGETS; k++) {
        double *one = outputs_of(ctx, cube, 1, spectra + k * n, o);
        for (i = 0; i < pixels; i++) all[i * TARGETS + (size_t)k] = one[i];
        free(one);
    }
    return all;
}

static shs_detect_options options_of(int method, const shs_wide *undesired, int bands) {
    shs_detect_options o = SHS_ZERO;
    o.method = (shs_detector)method;
    o.undesired = undesired;
    o.undesired_count = UNDESIRED < bands ? UNDESIRED : 0;
    return o;
}

/* ---- against the twin -------------------------------------------------------------------------------------------- */

static void test_twins(void **state) {
    int turn = 0;
    static const int bands[] = {2, 5, 8, 23};
    static const shs_type types[] = {SHS_TYPE_F64, SHS_TYPE_I16, SHS_TYPE_REAL, SHS_TYPE_U8};
    int method, layout, run;
    size_t i;
    (void)state;
    for (method = 0; method < SHS_DETECTOR_COUNT; method++)
        for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++)
            for (run = 0; run < 16; run++) {
                if (left_out(&turn, every_on_device(23))) continue;
                plain_cube p = mixed_cube(LINES, SAMPLES, bands[run % 4], 2, 3, (uint64_t)(5 + run));
                shs_wide spectra[TARGETS * MOST_BANDS], undesired[(TARGETS + UNDESIRED) * MOST_BANDS];
                unsigned char valid[PIXELS], mask[PIXELS];
                shs_type type = types[run / 4];
                shs_cube cube, used;
                shs_detect_options o = options_of(method, undesired + TARGETS * p.bands, p.bands);
                double *expected, *got;
                stream s;
                for (i = 0; i < values_of(&p); i++) p.x[i] = type == SHS_TYPE_F64 ? p.x[i] : floor(p.x[i]);
                draw_spectra(&p, spectra, TARGETS);
                draw_spectra(&p, undesired, TARGETS + UNDESIRED);
                for (i = 0; i < PIXELS; i++) {
                    mask[i] = valid[i] = run % 3 == 0 || (i * 7) % 11 != 3;
                    if (run % 3 == 2 && i % 13 == 5) {
                        pixel_of(&p, i)[i % (size_t)p.bands] = 0;
                        valid[i] = 0;
                    }
                }
                cube = cube_of(&p, type, (shs_interleave)layout, 0);
                if (run % 3) cube.mask = mask;
                if (run % 3 == 2) cube.has_nodata = 1;
                used = run % 2 ? streamed(&cube, 1 + run % 5, &s) : cube;
                expected = naive_scores(&p, valid, method, spectra, o.undesired);
                got = scores_of(NULL, &used, spectra, &o);
                check_near(shs_detector_name(o.method), PIXELS * TARGETS, got, expected,
                           (is_angle(method) ? 1e-7 : 1e-9) * (1 + largest_of(1, expected)));
                free(p.x);
                free(expected);
                free(got);
                cube_free(&cube);
            }
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* The first target is pixel 29. */
static void test_the_target_is_found(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 8, 3, 2, 3);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0);
    shs_wide spectra[TARGETS * 8], undesired[5 * 8];
    int method, i;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    draw_spectra(&p, undesired, 5);
    for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
        shs_detect_options o = options_of(method, undesired + 3 * 8, 8);
        double *got = scores_of(NULL, &cube, spectra, &o);
        double best = is_angle(method) ? 0 : 1;
        if (method == SHS_DETECTOR_GLRT) best = got[29 * TARGETS]; /* test_glrt has its value */
        check_near(shs_detector_name(o.method), 1, got + 29 * TARGETS, &best, is_angle(method) ? 1e-7 : 1e-10);
        for (i = 0; i < PIXELS * TARGETS; i++) {
            if (method == SHS_DETECTOR_ACE) assert_true(got[i] >= 0 && got[i] <= 1 + 1e-12);
            if (method == SHS_DETECTOR_SACE) assert_true(fabs(got[i]) <= 1 + 1e-12);
            if (is_angle(method)) assert_true(got[i] >= 0 && got[i] < 3.2);
        }
        free(got);
    }
    free(p.x);
    cube_free(&cube);
}

/* Signed ACE is ACE to the bit, with the sign of the matched filter; some pixels lie on either side. A power of two in front of
   pixels and targets changes no bit. */
static void test_signed_ace(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 8, 3, 2, 12);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0), larger;
    shs_wide spectra[TARGETS * 8];
    shs_detect_options o = SHS_ZERO;
    double *ace, *mf, *sace, *again;
    int i, below = 0;
    size_t k;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    mf = scores_of(NULL, &cube, spectra, &o);
    o.method = SHS_DETECTOR_ACE;
    ace = scores_of(NULL, &cube, spectra, &o);
    o.method = SHS_DETECTOR_SACE;
    sace = scores_of(NULL, &cube, spectra, &o);
    for (k = 0; k < values_of(&p); k++) p.x[k] *= 1024;
    for (i = 0; i < TARGETS * 8; i++) spectra[i] *= 1024;
    larger = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0);
    again = scores_of(NULL, &larger, spectra, &o);
    for (i = 0; i < PIXELS * TARGETS; i++) {
        assert_true(fabs(sace[i]) == ace[i]);
        if (fabs(mf[i]) > 1e-9) assert_true((sace[i] < 0) == (mf[i] < 0));
        below += sace[i] < 0;
    }
    assert_true(below > PIXELS / 10 && below < PIXELS * TARGETS - PIXELS / 10);
    assert_memory_equal(sace, again, PIXELS * TARGETS * sizeof *sace);
    free(mf);
    free(ace);
    free(sace);
    free(again);
    free(p.x);
    cube_free(&cube);
    cube_free(&larger);
}

/* GLRT is ACE times a share of the pixel's squared length, which RX gives; for the target itself it is that share. */
static void test_glrt(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 8, 3, 2, 13);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BIP, LINES, SAMPLES, 1);
    shs_wide spectra[TARGETS * 8];
    shs_detect_options o = SHS_ZERO;
    double *ace, *glrt;
    int i;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    o.method = SHS_DETECTOR_ACE;
    ace = scores_of(NULL, &cube, spectra, &o);
    o.method = SHS_DETECTOR_GLRT;
    glrt = scores_of(NULL, &cube, spectra, &o);
    assert_ok(shs_rx(NULL, &cube, NULL, &sink, NULL));
    for (i = 0; i < PIXELS * TARGETS; i++) {
        const double length2 = ((const double *)sink.pixels)[i / TARGETS], share = length2 / (PIXELS + length2);
        assert_true(fabs(glrt[i] - ace[i] * share) < 1e-9);
        assert_true(glrt[i] >= 0 && glrt[i] < 1);
        if (i == 29 * TARGETS) assert_true(share > 1e-3 && fabs(glrt[i] - share) < 1e-9);
    }
    free(ace);
    free(glrt);
    free(p.x);
    sink_free(&sink);
    cube_free(&cube);
}

/* AMSD of several targets together, against the twin target by target: what the first leaves unexplained, the next may explain,
   once the first counts as undesired. */
static void test_amsd_of_several_targets(void **state) {
    enum { BANDS = 9 };
    plain_cube p = mixed_cube(LINES, SAMPLES, BANDS, 3, 2, 14);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0);
    shs_wide drawn[5 * BANDS], U[4 * BANDS], mixed[TARGETS * BANDS], scratch[BANDS * (BANDS + 3)];
    const shs_wide *targets = drawn;
    double *got, *again, *one = NEW(double, PIXELS), *left = NEW(double, PIXELS);
    int undesired, b, k;
    size_t i;
    (void)state;
    draw_spectra(&p, drawn, 5);
    for (undesired = 0; undesired <= UNDESIRED; undesired++) {
        shs_detect_options o = options_of(SHS_DETECTOR_AMSD, drawn + 3 * BANDS, BANDS);
        o.undesired_count = undesired;
        got = outputs_of(NULL, &cube, TARGETS, targets, &o);
        memcpy(U, o.undesired, (size_t)(undesired * BANDS) * sizeof *U);
        memcpy(U + undesired * BANDS, targets, 2 * BANDS * sizeof *U);
        for (i = 0; i < PIXELS; i++) left[i] = 1;
        for (k = 0; k < TARGETS; k++) {
            shs_detect_naive(SHS_DETECTOR_AMSD, BANDS, PIXELS, p.x, targets + k * BANDS, undesired + k, U, one, scratch);
            for (i = 0; i < PIXELS; i++) left[i] *= 1 - one[i];
        }
        for (i = 0; i < PIXELS; i++) assert_true(fabs(1 - got[i] - left[i]) < 1e-11);
        for (b = 0; b < BANDS; b++) { /* the same space */
            mixed[b] = targets[b] - 2 * targets[2 * BANDS + b];
            mixed[BANDS + b] = 3 * targets[BANDS + b];
            mixed[2 * BANDS + b] = targets[2 * BANDS + b] + targets[b];
        }
        again = outputs_of(NULL, &cube, TARGETS, mixed, &o);
        for (i = 0; i < PIXELS; i++) assert_true(fabs(again[i] - got[i]) < 1e-11);
        free(got);
        free(again);
    }
    free(one);
    free(left);
    free(p.x);
    cube_free(&cube);
}

/* x less its part along the unit vector q. */
static void take_off(int n, const double *q, double *x) {
    double along = 0;
    int b;
    for (b = 0; b < n; b++) along += q[b] * x[b];
    for (b = 0; b < n; b++) x[b] -= along * q[b];
}

static double length_of(int n, const double *x) {
    double length2 = 0;
    int b;
    for (b = 0; b < n; b++) length2 += x[b] * x[b];
    return sqrt(length2);
}

/* Whatever there is of undesired spectra in a pixel, its score changes by no more than rounding. */
static void test_amsd_does_not_see_the_undesired(void **state) {
    enum { BANDS = 7 };
    plain_cube p = mixed_cube(LINES, SAMPLES, BANDS, 3, 2, 15), q = new_plain(LINES, SAMPLES, BANDS);
    shs_wide spectra[4 * BANDS];
    shs_detect_options o = options_of(SHS_DETECTOR_AMSD, spectra + 2 * BANDS, BANDS);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
    double *plain, *got, much, length, Q[2 * BANDS], x[BANDS];
    int b, k;
    size_t i;
    (void)state;
    draw_spectra(&p, spectra, 4);
    plain = outputs_of(NULL, &cube, 2, spectra, &o);
    for (i = 0; i < PIXELS; i++) assert_true(plain[i] >= 0 && plain[i] <= 1);
    cube_free(&cube);
    for (k = 0; k < 2; k++) { /* orthonormal */
        memcpy(Q + k * BANDS, o.undesired + k * BANDS, BANDS * sizeof *Q);
        if (k > 0) take_off(BANDS, Q, Q + BANDS);
        length = length_of(BANDS, Q + k * BANDS);
        for (b = 0; b < BANDS; b++) Q[k * BANDS + b] /= length;
    }
    for (much = 1; much < 1e5; much *= 16) {
        for (i = 0; i < PIXELS; i++)
            for (b = 0; b < BANDS; b++)
                pixel_of(&q, i)[b] = pixel_of(&p, i)[b] + much * o.undesired[b] - much / 2 * o.undesired[BANDS + b];
        cube = cube_of(&q, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
        got = outputs_of(NULL, &cube, 2, spectra, &o);
        for (i = 0; i < PIXELS; i++) {
            memcpy(x, pixel_of(&p, i), sizeof x);
            for (k = 0; k < 2; k++) take_off(BANDS, Q + k * BANDS, x);
            length = length_of(BANDS, pixel_of(&q, i)) / length_of(BANDS, x);
            assert_true(fabs(got[i] - plain[i]) < BANDS * 2.3e-16 * length + 1e-14);
        }
        free(got);
        cube_free(&cube);
    }
    free(plain);
    free(p.x);
    free(q.x);
}

/* The undesired spectra and nothing score 0, what targets and undesired spectra make 1. A power of two in front of everything
   changes no bit. */
static void test_amsd_at_its_ends(void **state) {
    static const double shares[6][4] = {{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, -3, 1e4}, {1, 0, 0, 0},
                                        {2, -1, 1, 1}, {0, 1e-3, 7, 7}};
    enum { BANDS = 8, COUNT = 6 };
    plain_cube p = mixed_cube(LINES, SAMPLES, BANDS, 3, 2, 16), q = new_plain(1, COUNT, BANDS);
    shs_wide spectra[4 * BANDS], larger[4 * BANDS];
    shs_detect_options o = options_of(SHS_DETECTOR_AMSD, spectra + 2 * BANDS, BANDS);
    shs_cube cube;
    double *got, *again;
    int i, b, k;
    (void)state;
    draw_spectra(&p, spectra, 4);
    for (i = 0; i < COUNT; i++)
        for (b = 0; b < BANDS; b++)
            for (k = 0; k < 4; k++) pixel_of(&q, (size_t)i)[b] += shares[i][k] * spectra[k * BANDS + b];
    cube = cube_of(&q, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    got = outputs_of(NULL, &cube, 2, spectra, &o);
    for (i = 0; i < COUNT; i++) {
        if (i < 3) assert_true(got[i] >= 0 && got[i] <= 0);
        else assert_true(got[i] <= 1 && got[i] > 1 - 1e-9);
    }
    free(got);
    cube_free(&cube);
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    got = outputs_of(NULL, &cube, 2, spectra, &o);
    cube_free(&cube);
    for (i = 0; i < (int)values_of(&p); i++) p.x[i] /= 64;
    for (i = 0; i < 4 * BANDS; i++) larger[i] = spectra[i] * (i < 2 * BANDS ? 1024 : 0.25);
    o.undesired = larger + 2 * BANDS;
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    again = outputs_of(NULL, &cube, 2, larger, &o);
    assert_memory_equal(got, again, PIXELS * sizeof *got);
    free(got);
    free(again);
    free(p.x);
    free(q.x);
    cube_free(&cube);
}

/* In one dimension every pixel lies in the target's direction: the cosine of ACE is 1, or 0 where a pixel is the mean. */
static void test_one_band(void **state) {
    static const int second[] = {1};
    int run;
    size_t i;
    (void)state;
    for (run = 0; run < 2 * SHS_INTERLEAVE_COUNT; run++) {
        plain_cube p = random_values(SHS_TYPE_F64, LINES, SAMPLES, 1 + run % 2, 3);
        shs_cube cube = cube_of(&p, SHS_TYPE_F64, (shs_interleave)(run / 2), 0);
        shs_wide spectra[TARGETS];
        shs_detect_options o = options_of(SHS_DETECTOR_ACE, NULL, 1);
        double *got;
        for (i = 0; i < TARGETS; i++) spectra[i] = 1000 + 10 * (shs_wide)i;
        if (p.bands > 1) {
            cube.band_list = second;
            cube.band_count = 1;
        }
        got = scores_of(NULL, &cube, spectra, &o);
        for (i = 0; i < PIXELS * TARGETS; i++) assert_close(got[i], 1, 1e-12);
        free(got);
        o.method = SHS_DETECTOR_SACE;
        got = scores_of(NULL, &cube, spectra, &o);
        for (i = 0; i < PIXELS * TARGETS; i++) assert_close(fabs(got[i]), 1, 1e-12);
        free(got);
        free(p.x);
        cube_free(&cube);
    }
}

/* MF, ACE, SACE and GLRT know no unit and no zero of a band; CEM no unit of a band; SAM, OSP and AMSD none of all bands. SAM
   does not know how bright a target or a pixel is. */
static void test_units_do_not_matter(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 6, 3, 2, 4), q = new_plain(LINES, SAMPLES, 6);
    shs_wide spectra[2][TARGETS * 6], undesired[2][5 * 6];
    int method, b, k;
    size_t i;
    (void)state;
    draw_spectra(&p, spectra[0], TARGETS);
    draw_spectra(&p, undesired[0], 5);
    for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
        int centred = method == SHS_DETECTOR_MF || is_whitened(method), each = centred || method == SHS_DETECTOR_CEM;
        shs_cube a = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0), c;
        shs_detect_options o = options_of(method, undesired[0] + 18, 6), changed = options_of(method, undesired[1] + 18, 6);
        double *before = scores_of(NULL, &a, spectra[0], &o), *after;
        for (b = 0; b < 6; b++) {
            double unit = each ? pow(3, b - 2) : 7, zero = centred ? 40 * b : 0, bright = is_angle(method) ? 0.25 : 1;
            for (i = 0; i < PIXELS; i++)
                pixel_of(&q, i)[b] = pixel_of(&p, i)[b] * unit * (is_angle(method) ? 1 + (double)(i % 9) : 1) + zero;
            for (k = 0; k < TARGETS; k++) spectra[1][k * 6 + b] = spectra[0][k * 6 + b] * unit * bright + zero;
            for (k = 0; k < 5; k++) undesired[1][k * 6 + b] = undesired[0][k * 6 + b] * unit * (1 + k);
        }
        c = cube_of(&q, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
        after = scores_of(NULL, &c, spectra[1], &changed);
        check_near(shs_detector_name(o.method), PIXELS * TARGETS, after, before,
                   (is_angle(method) ? 1e-7 : 1e-9) * (1 + largest_of(PIXELS * TARGETS, before)));
        free(before);
        free(after);
        cube_free(&a);
        cube_free(&c);
    }
    free(p.x);
    free(q.x);
}

static void check_refused(const shs_cube *cube, int targets, const shs_wide *spectra, int lds, const shs_detect_options *o,
                          shs_status expected);

/* In the smallest units a variance loses its digits. Detectors with statistics say so, except where a ridge covers the band. */
static void test_units_too_small(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 6, 3, 2, 4);
    shs_wide spectra[6];
    int method, exponent;
    size_t i;
    (void)state;
    draw_spectra(&p, spectra, 1);
    for (exponent = -500; exponent >= -1000; exponent -= 36)
        for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
            shs_detect_options o = SHS_ZERO;
            shs_cube cube;
            shs_wide spectrum[6];
            o.method = (shs_detector)method;
            if (is_bare(method)) continue;
            for (i = 0; i < PIXELS; i++) pixel_of(&p, i)[1] = ldexp(pixel_of(&p, i)[1], exponent);
            memcpy(spectrum, spectra, sizeof spectrum);
            spectrum[1] = ldexp(spectrum[1], exponent);
            cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
            for (i = 0; i < PIXELS; i++) pixel_of(&p, i)[1] = ldexp(pixel_of(&p, i)[1], -exponent);
            if (exponent < -500) check_refused(&cube, 1, spectrum, 6, &o, SHS_OUT_OF_RANGE);
            else free(outputs_of(NULL, &cube, 1, spectrum, &o));
            o.ridge = 1e-3;
            free(outputs_of(NULL, &cube, 1, spectrum, &o));
            cube_free(&cube);
        }
    free(p.x);
}

/* Given as moments, whole or as a mean and a covariance, statistics are what those of the pixels are; a ridge is a covariance
   with more on its diagonal. */
static void test_background(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 7, 3, 2, 6);
    shs_cube cube = cube_of(&p, SHS_TYPE_REAL, SHS_INTERLEAVE_BIP, 0);
    shs_moments whole = SHS_ZERO, made = SHS_ZERO;
    shs_wide spectra[TARGETS * 7], C[49], trace = 0;
    int method, i, ridge;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    assert_ok(shs_moments_create(NULL, 7, &whole));
    assert_ok(shs_moments_create(NULL, 7, &made));
    assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_ALWAYS, &whole));
    assert_ok(shs_moments_finish(&whole, SHS_DIVISOR_N, made.shift, C, 7));
    for (i = 0; i < 7; i++) trace += C[8 * i];
    for (ridge = 0; ridge < 2; ridge++) {
        for (i = 0; i < 7 && ridge; i++) C[8 * i] += trace / 7 / 4;
        for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
            shs_detect_options o = options_of(method, NULL, 0);
            double *own, *given, *again;
            if (ridge && method == SHS_DETECTOR_CEM) continue; /* its trace is that of R */
            made.count = method == SHS_DETECTOR_GLRT ? PIXELS : 1; /* GLRT depends on the number of pixels */
            for (i = 0; i < 49; i++) made.products[i] = C[i] * made.count;
            o.ridge = ridge ? 0.25 : 0;
            own = scores_of(NULL, &cube, spectra, &o);
            o.background = &whole;
            given = scores_of(NULL, &cube, spectra, &o);
            assert_memory_equal(own, given, PIXELS * TARGETS * sizeof *own);
            o.background = &made;
            o.ridge = 0;
            again = scores_of(NULL, &cube, spectra, &o);
            check_near(shs_detector_name(o.method), PIXELS * TARGETS, again, own, 1e-9 * (1 + largest_of(PIXELS, own)));
            free(own);
            free(given);
            free(again);
        }
    }
    shs_moments_free(NULL, &whole), shs_moments_free(NULL, &made);
    free(p.x);
    cube_free(&cube);
}

/* The same bits for every number of threads; as a stream the same where the statistics are; stretched, the same stretched. */
static void test_threads_streams_and_ranges(void **state) {
    int turn = 0;
    plain_cube p = mixed_cube(LINES, SAMPLES, 9, 3, 2, 8);
    shs_wide spectra[TARGETS * 9], undesired[5 * 9];
    int method, layout, k;
    size_t i;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    draw_spectra(&p, undesired, 5);
    for (method = 0; method < SHS_DETECTOR_COUNT; method++)
        for (layout = 0; layout < SHS_INTERLEAVE_COUNT; layout++) {
            if (left_out(&turn, every_on_device(4))) continue;
            shs_cube cube = cube_of(&p, SHS_TYPE_F32, (shs_interleave)layout, 0), blocks;
            shs_detect_options o = options_of(method, undesired + 27, 9);
            const int targets = method == SHS_DETECTOR_AMSD ? 1 : TARGETS;
            shs_context one = SHS_ZERO, three = SHS_ZERO;
            shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, LINES, SAMPLES, targets), out;
            double *a, *b;
            shs_moments m = SHS_ZERO;
            collector c;
            stream s;
            one.threads = 1;
            three.threads = 3;
            a = scores_of(&one, &cube, spectra, &o);
            b = scores_of(&three, &cube, spectra, &o);
            assert_memory_equal(a, b, PIXELS * TARGETS * sizeof *a);
            free(b);
            assert_ok(shs_moments_create(NULL, 9, &m));
            assert_ok(shs_moments_update(NULL, &cube, SHS_PRECISION_ALWAYS, &m));
            o.background = &m;
            blocks = streamed(&cube, 4, &s);
            sink.rescale = 1;
            sink.low = -1;
            sink.high = 5;
            out = collecting(&sink, LINES, SAMPLES, targets, &c);
            assert_ok(shs_detect(&three, &blocks, targets, spectra, 9, &o, &out));
            assert_false(c.wrong || s.wrong || c.next_line != LINES);
            for (k = 0; k < targets; k++) {
                const double *got = (const double *)sink.pixels + k * PIXELS;
                double low = a[k], high = a[k], want;
                for (i = 0; i < PIXELS; i++) {
                    low = fmin(low, a[i * TARGETS + (size_t)k]);
                    high = fmax(high, a[i * TARGETS + (size_t)k]);
                }
                for (i = 0; i < PIXELS; i++) {
                    want = 6 * (a[i * TARGETS + (size_t)k] - low) / (high - low) - 1;
                    check_near(shs_detector_name(o.method), 1, got + i, &want, is_angle(method) ? 1e-6 : 1e-9);
                }
            }
            free(a);
            sink_free(&sink);
            cube_free(&cube);
            shs_moments_free(NULL, &m);
        }
    free(p.x);
}

/* ---- a background of each class or column ------------------------------------------------------------------------ */

enum { CLASSES = 5, TOO_FEW = 2, ABSENT = 3 };

/* Classes lie mixed; one has too few pixels, one none, and some pixels have no class. */
static void draw_labels(int *labels) {
    int i;
    for (i = 0; i < PIXELS; i++) {
        labels[i] = (i * 7 + i / 5) % 3;
        if (labels[i] == TOO_FEW) labels[i] = CLASSES - 1;
        if (i % 29 == 4) labels[i] = i % 2 ? -1 : CLASSES;
        if (i >= 50 && i < 53) labels[i] = TOO_FEW;
    }
}

/* The twin on each class alone; a class of too few pixels is missing. */
static double *naive_by_class(const plain_cube *p, const unsigned char *valid, const int *labels, int classes, int method,
                              const shs_wide *spectra) {
    double *all = NEW(double, PIXELS *TARGETS);
    unsigned char own[PIXELS];
    int i, k, count;
    for (i = 0; i < PIXELS * TARGETS; i++) all[i] = NOT_A_NUMBER;
    for (k = 0; k < classes; k++) {
        double *scores;
        count = 0;
        for (i = 0; i < PIXELS; i++) {
            own[i] = valid[i] && labels[i] == k;
            count += own[i];
        }
        if (count < p->bands + (method != SHS_DETECTOR_CEM)) continue;
        scores = naive_scores(p, own, method, spectra, NULL);
        for (i = 0; i < PIXELS * TARGETS; i++)
            if (own[i / TARGETS]) all[i] = scores[i];
        free(scores);
    }
    return all;
}

static void test_backgrounds_by_class(void **state) {
    static const shs_type types[] = {SHS_TYPE_F64, SHS_TYPE_I16, SHS_TYPE_REAL, SHS_TYPE_U8};
    int turn = 0, method, run, columns, labels[PIXELS], x_of[PIXELS];
    size_t i;
    (void)state;
    draw_labels(labels);
    for (i = 0; i < PIXELS; i++) x_of[i] = (int)(i % SAMPLES);
    for (method = 0; method < SHS_DETECTOR_COUNT; method++)
        for (run = 0; run < 12; run++) {
            if (is_bare(method) || left_out(&turn, every_on_device(5))) continue;
            for (columns = 0; columns < 2; columns++) {
                plain_cube p = mixed_cube(LINES, SAMPLES, columns ? 3 : 7, 2, 3, (uint64_t)(20 + run));
                shs_wide spectra[TARGETS * MOST_BANDS];
                unsigned char valid[PIXELS], mask[PIXELS];
                shs_type type = types[run / 3];
                shs_cube cube, used;
                shs_detect_options o = options_of(method, NULL, 0);
                double *expected, *got;
                stream s;
                for (i = 0; i < values_of(&p); i++) p.x[i] = type == SHS_TYPE_F64 ? p.x[i] : floor(p.x[i]);
                draw_spectra(&p, spectra, TARGETS);
                for (i = 0; i < PIXELS; i++) {
                    mask[i] = valid[i] = run % 2 == 0 || (i * 7) % 11 != 3;
                    if (run % 4 == 1 && i % 13 == 5) {
                        pixel_of(&p, i)[i % (size_t)p.bands] = 0;
                        valid[i] = 0;
                    }
                }
                cube = cube_of(&p, type, (shs_interleave)(run % SHS_INTERLEAVE_COUNT), 0);
                if (run % 2) cube.mask = mask;
                if (run % 4 == 1) cube.has_nodata = 1;
                used = run % 5 < 3 ? streamed(&cube, 1 + run % 5, &s) : cube;
                o.columns = columns;
                if (!columns) {
                    o.labels = labels;
                    o.classes = CLASSES;
                }
                expected = naive_by_class(&p, valid, columns ? x_of : labels, columns ? SAMPLES : CLASSES, method, spectra);
                got = scores_of(NULL, &used, spectra, &o);
                check_near(shs_detector_name(o.method), PIXELS * TARGETS, got, expected, 1e-8 * (1 + largest_of(1, expected)));
                free(p.x);
                free(expected);
                free(got);
                cube_free(&cube);
            }
        }
}

/* Columns are classes by sample, to the bit; so are other threads and interleaves, and units of a power of two. One class of all
   pixels is the cube's own background. */
static void test_backgrounds_alike(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 4, 3, 2, 31);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIL, 0), other;
    shs_wide spectra[TARGETS * 4];
    shs_context one = SHS_ZERO, three = SHS_ZERO;
    int labels[PIXELS], all[PIXELS], method, i;
    (void)state;
    one.threads = 1;
    three.threads = 3;
    draw_spectra(&p, spectra, TARGETS);
    for (i = 0; i < PIXELS; i++) {
        labels[i] = i % SAMPLES;
        all[i] = 0;
    }
    for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
        shs_detect_options o = options_of(method, NULL, 0);
        double *columns, *classes, *whole;
        if (is_bare(method)) continue;
        whole = scores_of(NULL, &cube, spectra, &o);
        o.columns = 1;
        columns = scores_of(&one, &cube, spectra, &o);
        o.columns = 0;
        o.labels = labels;
        o.classes = SAMPLES;
        other = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
        classes = scores_of(&three, &other, spectra, &o);
        assert_memory_equal(columns, classes, PIXELS * TARGETS * sizeof *columns);
        free(classes);
        cube_free(&other);
        for (i = 0; i < (int)values_of(&p); i++) p.x[i] *= 256;
        for (i = 0; i < TARGETS * 4; i++) spectra[i] *= 256;
        other = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
        classes = scores_of(NULL, &other, spectra, &o);
        assert_memory_equal(columns, classes, PIXELS * TARGETS * sizeof *columns);
        for (i = 0; i < (int)values_of(&p); i++) p.x[i] /= 256;
        for (i = 0; i < TARGETS * 4; i++) spectra[i] /= 256;
        free(classes);
        cube_free(&other);
        o.labels = all;
        o.classes = 1;
        classes = scores_of(NULL, &cube, spectra, &o);
        check_near(shs_detector_name(o.method), PIXELS * TARGETS, classes, whole, 1e-10 * (1 + largest_of(PIXELS, whole)));
        free(columns);
        free(classes);
        free(whole);
    }
    free(p.x);
    cube_free(&cube);
}

/* More values than a block has: in memory in each interleave as in a stream, to the bit, and each column as it is alone. */
static void test_backgrounds_of_a_large_cube(void **state) {
    enum { LARGE_LINES = 400, LARGE_SAMPLES = 2100, LARGE_BANDS = 10 };
    const size_t pixels = (size_t)LARGE_LINES * LARGE_SAMPLES;
    plain_cube p = random_values(SHS_TYPE_U8, LARGE_LINES, LARGE_SAMPLES, LARGE_BANDS, 5);
    shs_wide spectra[TARGETS * LARGE_BANDS];
    shs_detect_options o = SHS_ZERO;
    double *expected = NULL, *got;
    int layout, x, y;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    o.method = SHS_DETECTOR_GLRT;
    o.columns = 1;
    for (layout = 0; layout < 2 * SHS_INTERLEAVE_COUNT; layout++) {
        shs_cube cube = cube_of(&p, SHS_TYPE_U8, (shs_interleave)(layout / 2), 0), used = cube;
        stream s;
        if (layout % 2) used = streamed(&cube, LARGE_LINES, &s);
        got = outputs_of(NULL, &used, 1, spectra, &o);
        if (expected) assert_memory_equal(got, expected, pixels * sizeof *got);
        else expected = got;
        if (got != expected) free(got);
        cube_free(&cube);
    }
    o.columns = 0;
    for (x = 0; x < LARGE_SAMPLES; x += 699) {
        shs_cube cube = cube_of(&p, SHS_TYPE_U8, SHS_INTERLEAVE_BIP, 0), column = cube;
        column.pixels = (const unsigned char *)cube.pixels + x * LARGE_BANDS;
        column.samples = 1;
        column.sample_stride = LARGE_BANDS;
        column.line_stride = LARGE_BANDS * LARGE_SAMPLES;
        column.band_stride = 1;
        got = outputs_of(NULL, &column, 1, spectra, &o);
        for (y = 0; y < LARGE_LINES; y++) assert_close(got[y], expected[(size_t)y * LARGE_SAMPLES + (size_t)x], 1e-10);
        free(got);
        cube_free(&cube);
    }
    free(expected);
    free(p.x);
}

/* Into integers, stretched, as a stream: what has no score gets the cube's no-data value. */
static void test_backgrounds_into_a_stream(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 4, 3, 2, 32);
    shs_cube cube = cube_of(&p, SHS_TYPE_I16, SHS_INTERLEAVE_BIP, 0);
    shs_sink sink = new_sink(SHS_TYPE_U8, SHS_INTERLEAVE_BSQ, LINES, SAMPLES, TARGETS), out;
    shs_wide spectra[TARGETS * 4];
    shs_detect_options o = SHS_ZERO;
    int labels[PIXELS], i, k, most = 0, least = 999;
    collector c;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    draw_labels(labels);
    cube.has_nodata = 1;
    cube.nodata = 7;
    o.labels = labels;
    o.classes = CLASSES;
    sink.rescale = 1;
    sink.low = 10;
    sink.high = 200;
    out = collecting(&sink, LINES, SAMPLES, TARGETS, &c);
    assert_ok(shs_detect(NULL, &cube, TARGETS, spectra, 4, &o, &out));
    assert_false(c.wrong || c.next_line != LINES);
    for (k = 0; k < TARGETS; k++)
        for (i = 0; i < PIXELS; i++) {
            int got = ((const unsigned char *)sink.pixels)[k * PIXELS + i];
            int scored = labels[i] >= 0 && labels[i] < CLASSES && labels[i] != TOO_FEW;
            assert_true(scored ? got >= 10 && got <= 200 : got == 7);
            if (!scored) continue;
            if (got > most) most = got;
            if (got < least) least = got;
        }
    assert_true(most == 200 && least == 10);
    free(p.x);
    sink_free(&sink);
    cube_free(&cube);
}

static void test_backgrounds_refused(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 6, 3, 2, 33);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0);
    shs_wide spectra[TARGETS * 6];
    shs_detect_options o = SHS_ZERO;
    shs_moments m = SHS_ZERO;
    int labels[PIXELS], method, i;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    for (i = 0; i < PIXELS; i++) labels[i] = i / 4;
    o.classes = 2;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_LABELS);
    o.classes = 0;
    o.labels = labels;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_LABELS);
    o.classes = -1;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_LABELS);
    o.classes = PIXELS;
    check_refused(&cube, 1, spectra, 6, &o, SHS_SINGULAR_COVARIANCE); /* each class has four pixels */
    o.columns = 1;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_OPTIONS);
    o.columns = 0;
    for (i = 0; i < PIXELS; i++) labels[i] = -1;
    check_refused(&cube, 1, spectra, 6, &o, SHS_NO_PIXELS);
    assert_ok(shs_moments_create(NULL, 6, &m));
    o.background = &m;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_OPTIONS);
    o.background = NULL;
    for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
        if (!is_bare(method)) continue;
        o.method = (shs_detector)method;
        check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_OPTIONS);
    }
    memset(&o, 0, sizeof o);
    o.columns = 1;
    for (i = 0; i < 6; i++) spectra[i] = 1e200;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_TARGETS);
    shs_moments_free(NULL, &m);
    free(p.x);
    cube_free(&cube);
}

/* A class with as many pixels as bands has no covariance, however rounding makes it look: two bands are nearly dependent. Another
   class has scores all the same, and so has the first with a ridge or for CEM. */
static void test_backgrounds_of_too_few_pixels(void **state) {
    enum { FEW = 3, ALL = 40 };
    static const double spread[FEW] = {0.1, 0.9, 0.37}, apart[FEW] = {0.3, -0.2, 0.7}, other[FEW] = {0.21, 0.5, -0.4};
    plain_cube p = mixed_cube(1, ALL, 3, 3, 1, 31);
    shs_cube cube;
    shs_detect_options o = SHS_ZERO;
    shs_wide spectrum[3] = {1, 2, 5};
    int labels[ALL], i, way;
    (void)state;
    for (i = 0; i < ALL; i++) labels[i] = i >= FEW;
    for (i = 0; i < FEW; i++) {
        pixel_of(&p, (size_t)i)[2] = spread[i];
        pixel_of(&p, (size_t)i)[1] = spread[i] + 1e-5 * apart[i];
        pixel_of(&p, (size_t)i)[0] = other[i];
    }
    cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BIP, 0);
    o.labels = labels;
    o.classes = 2;
    for (way = 0; way < 4; way++) {
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 1, ALL, 1);
        const double *got = (const double *)sink.pixels;
        o.ridge = 0;
        o.method = SHS_DETECTOR_MF;
        if (way == 2) o.ridge = (shs_wide)1e-3;
        if (way == 1) o.method = SHS_DETECTOR_ACE;
        if (way == 3) o.method = SHS_DETECTOR_CEM;
        assert_ok(shs_detect(NULL, &cube, 1, spectrum, 3, &o, &sink));
        for (i = 0; i < ALL; i++) assert_int_equal(is_nan(got[i]), i < FEW && way < 2);
        sink_free(&sink);
    }
    o.labels = NULL;
    o.classes = 0;
    o.method = SHS_DETECTOR_MF;
    cube.samples = FEW;
    {
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 1, FEW, 1);
        assert_status(shs_detect(NULL, &cube, 1, spectrum, 3, &o, &sink), SHS_SINGULAR_COVARIANCE);
        sink_free(&sink);
    }
    free(p.x);
    cube_free(&cube);
}

/* The mean for ACE, zero for SAM: orthogonal to every target. */
static void test_pixels_without_a_direction(void **state) {
    static const shs_wide spectra[2] = {1, 2};
    double X[5 * 2] = {3, 1, -3, 1, 3, -1, -3, -1, 0, 0}, got[5];
    shs_cube cube = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    shs_detect_options o = SHS_ZERO;
    (void)state;
    cube.pixels = X;
    cube.type = SHS_TYPE_F64;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.samples = 5;
    cube.lines = 1;
    cube.bands = 2;
    sink.pixels = got;
    sink.type = SHS_TYPE_F64;
    o.method = SHS_DETECTOR_ACE;
    assert_ok(shs_detect(NULL, &cube, 1, spectra, 2, &o, &sink));
    assert_true(got[4] >= 0 && got[4] <= 0);
    o.method = SHS_DETECTOR_SAM;
    assert_ok(shs_detect(NULL, &cube, 1, spectra, 2, &o, &sink));
    assert_true(fabs(got[4] - acos(0.0)) < 1e-15);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void check_refused(const shs_cube *cube, int targets, const shs_wide *spectra, int lds, const shs_detect_options *o,
                          shs_status expected) {
    shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, LINES, SAMPLES, TARGETS);
    assert_status(shs_detect(NULL, cube, targets, spectra, lds, o, &sink), expected);
    assert_true(holds_untouched(sink.pixels, PIXELS * TARGETS * sizeof(double)));
    sink_free(&sink);
}

static void test_refused(void **state) {
    plain_cube p = mixed_cube(LINES, SAMPLES, 6, 3, 2, 9);
    shs_cube cube = cube_of(&p, SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 0), few = cube;
    shs_wide spectra[TARGETS * 6], undesired[5 * 6], odd[6], twice[12], many[7 * 6];
    shs_detect_options o = SHS_ZERO;
    shs_moments m = SHS_ZERO;
    int method, i;
    (void)state;
    draw_spectra(&p, spectra, TARGETS);
    draw_spectra(&p, undesired, 5);
    check_refused(&cube, 1, NULL, 6, NULL, SHS_BAD_TARGETS);
    check_refused(&cube, 0, spectra, 6, NULL, SHS_BAD_TARGETS);
    check_refused(&cube, -1, spectra, 6, NULL, SHS_BAD_TARGETS);
    check_refused(&cube, 1, spectra, 5, NULL, SHS_BAD_TARGETS);
    assert_status(shs_detect(NULL, &cube, 1, spectra, 6, NULL, NULL), SHS_BAD_SINK);
    for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
        shs_detect_options with = options_of(method, undesired + 18, 6);
        for (i = 0; i < 6; i++) odd[i] = i == 4 ? (method % 2 ? ENDLESS : NOT_A_NUMBER) : 1;
        check_refused(&cube, 1, odd, 6, &with, SHS_BAD_TARGETS);
        for (i = 0; i < 6; i++) odd[i] = i == 4 ? 1e200 : 1;
        check_refused(&cube, 1, odd, 6, &with, SHS_BAD_TARGETS);
        memset(odd, 0, sizeof odd);
        if (method != SHS_DETECTOR_MF && !is_whitened(method)) check_refused(&cube, 1, odd, 6, &with, SHS_LOST_TARGET);
    }
    o.method = SHS_DETECTOR_COUNT;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_OPTIONS);
    o.method = SHS_DETECTOR_MF;
    o.ridge = -1;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_OPTIONS);
    o.ridge = NOT_A_NUMBER;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_OPTIONS);
    o.ridge = 0;
    o.start_canary = 7;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_OPTIONS);
    o.start_canary = 0;
    assert_ok(shs_moments_create(NULL, 6, &m));
    o.background = &m;
    check_refused(&cube, 1, spectra, 6, &o, SHS_NO_PIXELS);
    m.count = 1;
    m.products[7] = NOT_A_NUMBER;
    check_refused(&cube, 1, spectra, 6, &o, SHS_NOT_FINITE);
    m.bands = 5;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_MOMENTS);
    m.bands = 6;
    o.background = NULL;
    shs_moments_free(NULL, &m);
    /* the mean itself; undesired spectra that hold the target, or each other, or none */
    assert_ok(shs_moments_create(NULL, 6, &m));
    m.count = 1;
    for (i = 0; i < 6; i++) {
        m.shift[i] = spectra[i];
        m.products[7 * i] = 1;
    }
    o.background = &m;
    check_refused(&cube, 1, spectra, 6, &o, SHS_LOST_TARGET);
    shs_moments_free(NULL, &m);
    o.background = NULL;
    o.method = SHS_DETECTOR_OSP;
    o.undesired = undesired;
    o.undesired_count = 6;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_UNDESIRED);
    o.undesired_count = -1;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_UNDESIRED);
    o.undesired = NULL;
    o.undesired_count = 1;
    check_refused(&cube, 1, spectra, 6, &o, SHS_BAD_UNDESIRED);
    for (i = 0; i < 12; i++) twice[i] = (1 + 2 * (i / 6)) * spectra[i % 6];
    o.undesired = twice;
    o.undesired_count = 2;
    check_refused(&cube, 1, spectra + 6, 6, &o, SHS_BAD_UNDESIRED);
    o.undesired_count = 1;
    check_refused(&cube, 1, spectra, 6, &o, SHS_LOST_TARGET);
    check_refused(&cube, 1, twice + 6, 6, &o, SHS_LOST_TARGET);
    o.method = SHS_DETECTOR_AMSD;
    check_refused(&cube, 1, twice + 6, 6, &o, SHS_LOST_TARGET);
    o.undesired_count = 2;
    check_refused(&cube, 1, spectra + 6, 6, &o, SHS_BAD_UNDESIRED);
    o.undesired_count = 0;
    check_refused(&cube, 2, twice, 6, &o, SHS_LOST_TARGET);
    draw_spectra(&p, many, 7);
    check_refused(&cube, 7, many, 6, &o, SHS_LOST_TARGET);
    o.undesired = undesired;
    o.undesired_count = 4;
    check_refused(&cube, 3, spectra, 6, &o, SHS_LOST_TARGET);
    /* fewer pixels than bands, and a ridge that helps */
    few.lines = 1;
    few.samples = 4;
    few.sample_stride = 1;
    few.line_stride = SAMPLES;
    few.band_stride = PIXELS;
    memset(&o, 0, sizeof o);
    for (method = 0; method < SHS_DETECTOR_COUNT; method++) {
        shs_sink sink = new_sink(SHS_TYPE_F64, SHS_INTERLEAVE_BSQ, 1, 4, 1);
        o.method = (shs_detector)method;
        if (!is_bare(method))
            check_refused(&few, 1, spectra, 6, &o, SHS_SINGULAR_COVARIANCE);
        o.ridge = 1e-3;
        assert_ok(shs_detect(NULL, &few, 1, spectra, 6, &o, &sink));
        o.ridge = 0;
        sink_free(&sink);
    }
    free(p.x);
    cube_free(&cube);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(shs_detector_name(SHS_DETECTOR_MF), "mf");
    assert_string_equal(shs_detector_name(SHS_DETECTOR_OSP), "osp");
    assert_string_equal(shs_detector_name(SHS_DETECTOR_AMSD), "amsd");
    assert_null(shs_detector_name(SHS_DETECTOR_COUNT));
}

int main(void) {
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_twins),
        cmocka_unit_test(test_the_target_is_found),
        cmocka_unit_test(test_signed_ace),
        cmocka_unit_test(test_glrt),
        cmocka_unit_test(test_amsd_of_several_targets),
        cmocka_unit_test(test_amsd_does_not_see_the_undesired),
        cmocka_unit_test(test_amsd_at_its_ends),
        cmocka_unit_test(test_one_band),
        cmocka_unit_test(test_units_do_not_matter),
        cmocka_unit_test(test_units_too_small),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_threads_streams_and_ranges),
        cmocka_unit_test(test_backgrounds_by_class),
        cmocka_unit_test(test_backgrounds_alike),
        cmocka_unit_test(test_backgrounds_of_a_large_cube),
        cmocka_unit_test(test_backgrounds_into_a_stream),
        cmocka_unit_test(test_backgrounds_refused),
        cmocka_unit_test(test_backgrounds_of_too_few_pixels),
        cmocka_unit_test(test_pixels_without_a_direction),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("targets", tests, NULL, NULL);
}
