/* bench.c - how fast the library is here, on one thread unless said otherwise, beside the best figure that a peer is known to reach in the
   same case. Writes build/bench.csv and prints the same as a table. ratio > 1: we are faster. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#define SPARSEHS_IMPLEMENTATION
#include "../sparsehs.h"

#define RUNS 7 /* the median of this many, after one to warm up */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "bench: out of memory\n");
    exit(1);
}

static void must_ok(shs_status status) {
    if (status == SHS_OK) return;
    fprintf(stderr, "bench: %s\n", shs_status_text(status));
    exit(1);
}

static shs_real *new_normal(size_t count, uint64_t seed) {
    shs_real *x = (shs_real *)must(malloc(count * sizeof *x));
    shs_random r;
    size_t i;
    shs_random_seed(&r, seed);
    for (i = 0; i < count; i++) x[i] = (shs_real)shs_random_normal(&r);
    return x;
}

static shs_real *new_dictionary(int p, int n) {
    shs_real *D = new_normal((size_t)p * (size_t)n, 1);
    must_ok(shs_normalize_columns(p, n, D, p, NULL));
    return D;
}

static shs_context one_thread(void) {
    shs_context ctx = SHS_ZERO;
    ctx.threads = 1;
    return ctx;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* ---- what is measured -------------------------------------------------------------------------------------------- */

/* One line of the table: a measuring function and its sizes. It returns a figure in `unit`. */
typedef struct bench_case {
    const char *name, *unit;
    double (*measure)(const struct bench_case *c);
    int p, n, s, m, group;
    const char *peer; /* NULL: none known */
    double peer_value;
    int less_is_better;
    double (*peer_measure)(void); /* the peer, run beside us; 0 = it is not here, and peer_value stands */
} bench_case;

/* Signals a second, D'D and D'Y included. */
static double measure_omp(const bench_case *c) {
    shs_context ctx = one_thread();
    shs_real *D = new_dictionary(c->p, c->n), *Y = new_normal((size_t)c->p * (size_t)c->m, 2);
    double seconds[RUNS];
    shs_codes codes;
    int run;
    must_ok(shs_codes_create(NULL, (size_t)c->m, c->s, &codes));
    for (run = -1; run < RUNS; run++) {
        double start = seconds_now();
        must_ok(shs_omp(&ctx, c->p, c->n, D, (size_t)c->m, Y, c->s, &codes));
        if (run >= 0) seconds[run] = seconds_now() - start;
    }
    shs_codes_free(NULL, &codes);
    free(D), free(Y);
    return c->m / median(seconds, RUNS);
}

static double ksvd_seconds(const bench_case *c, const shs_real *start, shs_real *D, const shs_real *Y, int iterations) {
    shs_context ctx = one_thread();
    shs_ksvd_options o = SHS_ZERO;
    double began;
    memcpy(D, start, (size_t)c->p * (size_t)c->n * sizeof *D);
    o.iterations = iterations;
    o.coding.sparsity = c->s;
    o.parallel_atoms = c->group;
    o.start = SHS_START_GIVEN;
    began = seconds_now();
    must_ok(shs_ksvd_ex(&ctx, c->p, c->n, D, c->p, (size_t)c->m, Y, c->p, &o, NULL, NULL));
    return seconds_now() - began;
}

/* Seconds for one iteration: what eight take more than two, so that start and final coding do not count. */
static double measure_ksvd(const bench_case *c) {
    shs_real *start = new_dictionary(c->p, c->n), *Y = new_normal((size_t)c->p * (size_t)c->m, 2);
    shs_real *D = (shs_real *)must(malloc((size_t)c->p * (size_t)c->n * sizeof *D));
    double seconds[RUNS];
    int run;
    for (run = -1; run < RUNS; run++) {
        double few = ksvd_seconds(c, start, D, Y, 2), many = ksvd_seconds(c, start, D, Y, 8);
        if (run >= 0) seconds[run] = (many - few) / 6;
    }
    free(start), free(Y), free(D);
    return median(seconds, RUNS);
}

/* GFLOP/s of a square product. */
static double measure_gemm(const bench_case *c) {
    shs_context ctx = one_thread();
    size_t count = (size_t)c->n * (size_t)c->n;
    shs_real *A = new_normal(count, 3), *B = new_normal(count, 4), *C = new_normal(count, 5);
    double seconds[RUNS], n = c->n;
    int run;
    for (run = -1; run < RUNS; run++) {
        double start = seconds_now();
        must_ok(shs_gemm(&ctx, SHS_NO_TRANS, SHS_NO_TRANS, c->n, c->n, c->n, 1, A, c->n, B, c->n, 0, C, c->n));
        if (run >= 0) seconds[run] = seconds_now() - start;
    }
    free(A), free(B), free(C);
    return 2 * n * n * n / median(seconds, RUNS) * 1e-9;
}

/* ---- an image cube, two threads ---------------------------------------------------------------------------------- */

enum { LINES = 512, SAMPLES = 614, BANDS = 205, THREADS = 2 };

/* A scene of 12 smooth spectra in random mixtures with noise, pixel by pixel; made once. */
static const int16_t *scene(void) {
    static int16_t *pixels;
    static double curve[12][BANDS];
    shs_real spectra[12];
    size_t i, count = (size_t)LINES * SAMPLES;
    shs_random r;
    int k, b;
    if (pixels) return pixels;
    pixels = (int16_t *)must(malloc(count * BANDS * sizeof *pixels));
    shs_random_seed(&r, 7);
    for (k = 0; k < 12; k++)
        for (b = 0; b < BANDS; b++) curve[k][b] = 1000 + 500 * sin(0.02 * b * (k + 1) + k);
    for (i = 0; i < count; i++) {
        for (k = 0; k < 12; k++) spectra[k] = (shs_real)pow((double)shs_random_uniform(&r), 3);
        for (b = 0; b < BANDS; b++) {
            double value = 20 * ((double)shs_random_uniform(&r) - 0.5);
            for (k = 0; k < 12; k++) value += (double)spectra[k] * curve[k][b];
            pixels[i * BANDS + (size_t)b] = (int16_t)value;
        }
    }
    return pixels;
}

static shs_cube scene_cube(void) {
    shs_cube cube = SHS_ZERO;
    cube.pixels = scene();
    cube.type = SHS_I16;
    cube.interleave = SHS_BIP;
    cube.samples = SAMPLES, cube.lines = LINES, cube.bands = BANDS;
    return cube;
}

/* What tests/bench_peers.py measures on the same pixels; 0 where the peer is not installed. */
static double measure_peer(const char *what) {
    static const char *file = "build/bench_cube.raw";
    char command[256];
    const char *python = getenv("PYTHON");
    double seconds = 0;
    FILE *f = fopen(file, "wb");
    size_t written = f ? fwrite(scene(), sizeof(int16_t), (size_t)LINES * SAMPLES * BANDS, f) : 0;
    if (f) fclose(f);
    if (written != (size_t)LINES * SAMPLES * BANDS) return 0;
    snprintf(command, sizeof command, "%s tests/bench_peers.py %s %s %d %d %d %d 2>/dev/null",
             python ? python : "/usr/bin/python3", what, file, LINES, SAMPLES, BANDS, THREADS);
    f = popen(command, "r");
    if (f && fscanf(f, "%lf", &seconds) != 1) seconds = 0;
    if (f) pclose(f);
    remove(file);
    return seconds;
}

typedef enum cube_work { PCA_10, PCA_ALL_BYTES, ICA_10, COVARIANCE } cube_work;

static void work_on_cube(cube_work work, const shs_context *ctx, const shs_cube *cube, shs_sink *sink) {
    if (work == PCA_10 || work == PCA_ALL_BYTES) {
        shs_pca_options o = SHS_ZERO;
        o.components = work == PCA_10 ? 10 : 0;
        must_ok(shs_pca_run(ctx, cube, &o, sink, NULL));
    } else if (work == ICA_10) {
        shs_ica_options o = SHS_ZERO;
        o.components = 10;
        must_ok(shs_ica_run(ctx, cube, &o, sink, NULL));
    } else {
        shs_moments moments;
        must_ok(shs_moments_create(ctx, BANDS, &moments));
        must_ok(shs_moments_update(ctx, &moments, cube, 0));
        shs_moments_free(ctx, &moments);
    }
}

static double cube_seconds(cube_work work, const shs_cube *cube) {
    shs_context ctx = SHS_ZERO;
    shs_sink sink = SHS_ZERO;
    double seconds[RUNS];
    int run;
    ctx.threads = THREADS;
    sink.type = work == PCA_ALL_BYTES ? SHS_U8 : SHS_F32;
    if (work == PCA_ALL_BYTES) sink.rescale = 1, sink.high = 255;
    sink.pixels = must(calloc((size_t)LINES * SAMPLES, work == PCA_ALL_BYTES ? BANDS : 10 * sizeof(float)));
    for (run = -1; run < RUNS; run++) {
        double start = seconds_now();
        work_on_cube(work, &ctx, cube, &sink);
        if (run >= 0) seconds[run] = seconds_now() - start;
    }
    free(sink.pixels);
    return median(seconds, RUNS);
}

static double measure_pca(const bench_case *c) {
    shs_cube cube = scene_cube();
    return cube_seconds(c->n ? PCA_10 : PCA_ALL_BYTES, &cube);
}

static double measure_ica(const bench_case *c) {
    shs_cube cube = scene_cube();
    (void)c;
    return cube_seconds(ICA_10, &cube);
}

static double peer_numpy(void) { return measure_peer("numpy"); }
static double peer_mdp(void) { return measure_peer("mdp"); }

/* The covariance of the scene as 8-bit or as float pixels. */
static double covariance_seconds(int bytes) {
    const int16_t *from = scene();
    size_t count = (size_t)LINES * SAMPLES * BANDS, i;
    void *pixels = must(malloc(count * (bytes ? 1 : sizeof(float))));
    shs_cube cube = scene_cube();
    double seconds;
    for (i = 0; i < count; i++) {
        if (bytes) ((uint8_t *)pixels)[i] = (uint8_t)(from[i] / 64);
        else ((float *)pixels)[i] = from[i];
    }
    cube.pixels = pixels;
    cube.type = bytes ? SHS_U8 : SHS_F32;
    seconds = cube_seconds(COVARIANCE, &cube);
    free(pixels);
    return seconds;
}

static double measure_covariance(const bench_case *c) {
    (void)c;
    return covariance_seconds(1);
}

static double peer_float_covariance(void) { return covariance_seconds(0); }

/* What the processor can do at most: independent multiply-adds in registers, as many as hide their latency. */
#if defined(__GNUC__)
#if defined(__AVX512F__)
#define PEAK_BYTES 64
#elif defined(__AVX__)
#define PEAK_BYTES 32
#else
#define PEAK_BYTES 16
#endif
typedef shs_real lanes __attribute__((vector_size(PEAK_BYTES)));
#else
#define PEAK_BYTES sizeof(shs_real)
typedef shs_real lanes;
#endif

#define CHAINS(X) X(a) X(b) X(c) X(d) X(e) X(f) X(g) X(h) X(i) X(j) X(k) X(l)
#define CHAIN_COUNT 12

static shs_real fma_loop(long rounds, shs_real factor, shs_real term) {
    lanes scale, shift, sum;
    long round;
    size_t lane;
#define DECLARE(x) lanes x;
    CHAINS(DECLARE)
#undef DECLARE
    for (lane = 0; lane < PEAK_BYTES / sizeof(shs_real); lane++) {
        ((shs_real *)&scale)[lane] = factor;
        ((shs_real *)&shift)[lane] = term;
    }
#define START(x)                                                                                                       \
    x = shift;                                                                                                         \
    shift += scale;
    CHAINS(START)
#undef START
    for (round = 0; round < rounds; round++) {
#define STEP(x) x = x * scale + shift;
        CHAINS(STEP)
#undef STEP
    }
    sum = shift;
#define ADD(x) sum += x;
    CHAINS(ADD)
#undef ADD
    return ((shs_real *)&sum)[0];
}

/* The best run, since it is a ceiling. */
static double measure_peak(const bench_case *c) {
    volatile shs_real factor = (shs_real)0.5, term = 1, result;
    double best = 1e9, flops = 2.0 * CHAIN_COUNT * (PEAK_BYTES / sizeof(shs_real)) * (double)c->m;
    int run;
    for (run = -1; run < RUNS; run++) {
        double start = seconds_now();
        result = fma_loop(c->m, factor, term);
        start = seconds_now() - start;
        if (start < best) best = start;
    }
    (void)result;
    return flops / best * 1e-9;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define RATE "signals/s"

/* The peers' figures are for float. */
/* clang-format off */
static const bench_case cases[] = {
    /* name                        unit       measure       p    n     s   m       group  peer         value */
    {"fma_peak",                   "GFLOP/s", measure_peak, 0,   0,    0,  40000000, 0,   NULL,        0,      0, NULL},
    {"gemm_1440",                  "GFLOP/s", measure_gemm, 0,   1440, 0,  0,       0,    "OpenBLAS",  127,    0, NULL},
    {"omp_64x256_s6",              RATE,      measure_omp,  64,  256,  6,  200000,  0,    "SPAMS f32", 554000, 0, NULL},
    {"omp_256x1024_s32",           RATE,      measure_omp,  256, 1024, 32, 10000,   0,    "SPAMS f32", 20400,  0, NULL},
    {"omp_64x128_s16",             RATE,      measure_omp,  64,  128,  16, 100000,  0,    NULL,        0,      0, NULL},
    {"omp_64x512_s8",              RATE,      measure_omp,  64,  512,  8,  100000,  0,    NULL,        0,      0, NULL},
    {"aksvd_64x256_s6_8192",       "s",       measure_ksvd, 64,  256,  6,  8192,    1,    "pyksvd f32", 0.022, 1, NULL},
    {"paksvd64_64x256_s6_8192",    "s",       measure_ksvd, 64,  256,  6,  8192,    64,   NULL,        0,      1, NULL},
    /* 512 x 614 x 205, int16 pixel by pixel, two threads */
    {"pca10_cube",                 "s",       measure_pca,  0,   10,   0,  0,       0,    "numpy f32", 0.124,  1, peer_numpy},
    {"pca205_cube_bytes",          "s",       measure_pca,  0,   0,    0,  0,       0,    "GRASS i.pca", 34.2, 1, NULL},
    {"ica10_cube_pow3",            "s",       measure_ica,  0,   10,   0,  0,       0,    "MDP pow3",  0.87,   1, peer_mdp},
    {"covariance_cube_u8",         "s",       measure_covariance, 0, 0, 0, 0,       0,    "ours, float pixels", 0, 1, peer_float_covariance},
};
/* clang-format on */

static void report(FILE *csv, const bench_case *c, double value) {
    double here = c->peer_measure ? c->peer_measure() : 0, peer = here > 0 ? here : c->peer_value;
    double ratio = c->less_is_better ? peer / value : value / peer;
    int known = c->peer && sizeof(shs_real) == sizeof(float);
    fprintf(csv, "%s,%.6g,%s,", c->name, value, c->unit);
    printf("%-26s %14.6g %-10s", c->name, value, c->unit);
    if (known) {
        fprintf(csv, "%s,%.6g,%.3g\n", c->peer, peer, ratio);
        printf(" %-12s %10.6g  x %.3g%s\n", c->peer, peer, ratio, here > 0 ? "" : "  (known figure, not run here)");
    } else {
        fprintf(csv, ",,\n");
        printf("\n");
    }
    fflush(stdout);
}

/* bench [name]: all cases, or those whose name begins like that. */
int main(int argc, char **argv) {
    FILE *csv = fopen("build/bench.csv", "w");
    size_t k;
    if (!csv) {
        fprintf(stderr, "bench: cannot write build/bench.csv\n");
        return 1;
    }
    fprintf(csv, "case,value,unit,peer,peer_value,ratio\n");
    for (k = 0; k < sizeof cases / sizeof cases[0]; k++)
        if (argc < 2 || strncmp(argv[1], cases[k].name, strlen(argv[1])) == 0)
            report(csv, cases + k, cases[k].measure(cases + k));
    return fclose(csv) != 0;
}
