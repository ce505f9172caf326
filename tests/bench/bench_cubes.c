/* bench_cubes.c - covariance, projection, PCA and FastICA of image cubes. */
#include "bench.h"
#include <math.h>

#define SPECTRA 12
#define MOST_BANDS 512

/* The two scenes, and those of any other number of bands, which are for covariances alone: enough pixels for a full rank. */
static int samples_of(int bands) {
    if (bands == BANDS_A) return SAMPLES_A;
    if (bands == BANDS_B) return SAMPLES_B;
    return 64;
}

/* A scene of smooth spectra in random mixtures with noise, int16, pixel by pixel; made once, of each number of bands. */
static const int16_t *scene(int bands) {
    static int16_t *made[MOST_BANDS + 1];
    static double curve[SPECTRA][MOST_BANDS];
    int16_t *pixel;
    size_t i, count = (size_t)LINES * (size_t)samples_of(bands);
    shs_random r;
    int k, b;
    if (bands > MOST_BANDS) bench_ok(SHS_BAD_BANDS);
    if (made[bands]) return made[bands];
    pixel = malloc(count * (size_t)bands * sizeof *pixel);
    if (!pixel) bench_ok(SHS_NO_MEMORY);
    made[bands] = pixel;
    shs_random_seed(&r, 7);
    for (k = 0; k < SPECTRA; k++)
        for (b = 0; b < bands; b++) curve[k][b] = 1000 + 500 * sin(0.02 * b * (k + 1) + k);
    for (i = 0; i < count; i++) {
        double share[SPECTRA];
        for (k = 0; k < SPECTRA; k++) share[k] = pow((double)shs_random_uniform(&r), 3);
        for (b = 0; b < bands; b++) {
            double value = 20 * ((double)shs_random_uniform(&r) - 0.5);
            for (k = 0; k < SPECTRA; k++) value += share[k] * curve[k][b];
            pixel[b] = (int16_t)value;
        }
        pixel += bands;
    }
    return made[bands];
}

static shs_cube scene_cube(int bands) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = scene(bands);
    cube.type = SHS_TYPE_I16;
    cube.interleave = SHS_INTERLEAVE_BIP;
    cube.samples = samples_of(bands);
    cube.lines = LINES;
    cube.bands = bands;
    return cube;
}

static void store(void *to, shs_type type, size_t at, int16_t value) {
    uint8_t *bytes = to;
    float *floats = to;
    double *doubles = to;
    int16_t *integers = to;
    if (type == SHS_TYPE_U8) bytes[at] = (uint8_t)(value / 64);
    else if (type == SHS_TYPE_F32) floats[at] = value;
    else if (type == SHS_TYPE_F64) doubles[at] = value;
    else integers[at] = value;
}

/* The scene in the type and interleave of the case; 8 bits hold a 64th. */
void bench_open_cube(bench_work *w) {
    shs_type type = w->c->type;
    shs_interleave interleave = w->c->interleave;
    const int16_t *from = scene(w->c->bands);
    size_t pixels, bands = (size_t)w->c->bands, i, b;
    void *to;
    if (type == SHS_TYPE_REAL) { /* the case does not say */
        type = SHS_TYPE_I16;
        interleave = SHS_INTERLEAVE_BIP;
    }
    w->cube = scene_cube(w->c->bands);
    if (type == SHS_TYPE_I16 && interleave == SHS_INTERLEAVE_BIP) return;
    pixels = (size_t)w->cube.samples * (size_t)w->cube.lines;
    to = bench_hold(w, 0, pixels * bands * shs_type_size(type));
    for (i = 0; i < pixels; i++)
        for (b = 0; b < bands; b++) {
            size_t at = i * bands + b;
            if (interleave == SHS_INTERLEAVE_BSQ) at = b * pixels + i;
            store(to, type, at, from[i * bands + b]);
        }
    w->cube.pixels = to;
    w->cube.type = type;
    w->cube.interleave = interleave;
}

/* Where components go: float, or rescaled to bytes. */
static void open_sink(bench_work *w) {
    const size_t pixels = (size_t)w->cube.samples * (size_t)w->cube.lines;
    int components = w->c->components;
    if (!components) components = w->c->bands;
    w->sink.interleave = w->cube.interleave;
    w->sink.type = SHS_TYPE_F32;
    if (w->c->to_bytes) {
        w->sink.type = SHS_TYPE_U8;
        w->sink.rescale = 1;
        w->sink.high = 255;
    }
    w->sink.pixels = bench_hold(w, 1, pixels * (size_t)components * shs_type_size(w->sink.type));
}

void bench_covariance(int bands, shs_wide *covariance) {
    shs_cube cube = scene_cube(bands);
    shs_moments moments;
    shs_wide *mean = malloc((size_t)bands * sizeof *mean);
    if (!mean) bench_ok(SHS_NO_MEMORY);
    bench_ok(shs_moments_create(NULL, bands, &moments));
    bench_ok(shs_moments_update(NULL, &cube, 0, &moments));
    bench_ok(shs_moments_finish(&moments, SHS_DIVISOR_N, mean, covariance, bands));
    shs_moments_free(NULL, &moments);
    free(mean);
}

static void do_covariance(bench_work *w, const shs_context *ctx) {
    shs_moments moments;
    bench_ok(shs_moments_create(ctx, w->c->bands, &moments));
    bench_ok(shs_moments_update(ctx, &w->cube, 0, &moments));
    shs_moments_free(ctx, &moments);
}

int open_covariance(bench_work *w) {
    bench_open_cube(w);
    return bench_does(w, do_covariance);
}

/* What reads the cube and writes components. */
static int open_components(bench_work *w, bench_fn does) {
    bench_open_cube(w);
    open_sink(w);
    return bench_does(w, does);
}

static shs_pca_options pca_options(const bench_work *w) {
    shs_pca_options o = SHS_ZERO;
    o.components = w->c->components;
    return o;
}

static void do_projection(bench_work *w, const shs_context *ctx) {
    bench_ok(shs_pca_transform(ctx, &w->pca, &w->cube, &w->sink));
}
int open_projection(bench_work *w) {
    shs_pca_options o = pca_options(w);
    open_components(w, do_projection);
    bench_ok(shs_pca_fit(NULL, &w->cube, &o, &w->pca));
    return 1;
}

static void do_pca(bench_work *w, const shs_context *ctx) {
    shs_pca_options o = pca_options(w);
    bench_ok(shs_pca_run(ctx, &w->cube, &o, &w->sink, NULL));
}
int open_pca(bench_work *w) { return open_components(w, do_pca); }

static void do_rx(bench_work *w, const shs_context *ctx) { bench_ok(shs_rx(ctx, &w->cube, NULL, &w->sink, NULL)); }
int open_rx(bench_work *w) { return open_components(w, do_rx); }

static void do_mnf(bench_work *w, const shs_context *ctx) {
    shs_pca_options o = pca_options(w);
    bench_ok(shs_mnf_fit(ctx, &w->cube, &o, &w->pca));
    bench_ok(shs_pca_transform(ctx, &w->pca, &w->cube, &w->sink));
    shs_pca_free(NULL, &w->pca);
}
int open_mnf(bench_work *w) { return open_components(w, do_mnf); }

/* y^3 by deflation, from the fourth moments; the others all at once, for a fixed number of sweeps. */
shs_ica_options bench_ica_options(const bench_case *c) {
    shs_ica_options o = SHS_ZERO;
    o.components = c->components;
    o.contrast = c->contrast;
    if (c->contrast == SHS_CONTRAST_POW3) return o;
    o.approach = SHS_APPROACH_SYMMETRIC;
    o.iterations = ICA_ITERATIONS;
    o.tolerance = -1;
    o.restarts = -1;
    return o;
}

static void do_ica(bench_work *w, const shs_context *ctx) {
    shs_ica_options o = bench_ica_options(w->c);
    bench_ok(shs_ica_run(ctx, &w->cube, &o, &w->sink, NULL));
}
int open_ica(bench_work *w) { return open_components(w, do_ica); }
