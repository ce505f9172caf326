/* bench_cl.c - how fast the OpenCL engine is on the device at hand ($SHS_CL_PLATFORM: part of a platform's name). Writes
   build/bench_cl.csv and prints the same. A scene of the literature's size (6955 x 781 x 224 pixels of 8 bits) and 4 M
   signals on a GPU, small ones on a CPU, where this only shows that it runs. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#define SPARSEHS_IMPLEMENTATION
#define SPARSEHS_CL_IMPLEMENTATION
#include "../sparsehs_cl.h"

#define RUNS 5 /* the median of this many, after one to warm up */

typedef struct bench {
    shs_cl *cl;
    shs_context ctx;
    FILE *csv;
    int large;
    double upload; /* bytes a second, pinned */
    /* the case at hand */
    shs_cube cube;
    shs_sink sink;
    shs_codes codes;
    shs_real *D, *Y;
    void *pinned;
    cl_mem buffer;
    size_t bytes, m;
    int p, n, s, group, iterations;
} bench;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(shs_cl *cl, shs_status status) {
    if (status == SHS_OK) return;
    fprintf(stderr, "bench_cl: %s\n%s\n", shs_status_text(status), cl ? shs_cl_error_text(cl) : "");
    exit(1);
}

static void *pinned(bench *b, size_t bytes) {
    void *memory = shs_cl_host_alloc(b->cl, bytes);
    if (!memory) must(b->cl, SHS_NO_MEMORY);
    return memory;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median seconds of the work; the first run, which builds the programs, is printed. */
static double measure(bench *b, const char *name, void (*work)(bench *b), double beside, const char *what) {
    double seconds[RUNS], first = 0;
    int run;
    for (run = -1; run < RUNS; run++) {
        double start = seconds_now();
        work(b);
        if (run < 0) first = seconds_now() - start;
        else seconds[run] = seconds_now() - start;
    }
    qsort(seconds, RUNS, sizeof seconds[0], ascending);
    printf("%-28s %12.6f s   first %.3f s", name, seconds[RUNS / 2], first);
    fprintf(b->csv, "%s,%.6g,s,", name, seconds[RUNS / 2]);
    if (beside > 0) {
        printf("   %.2f x %s", seconds[RUNS / 2] / beside, what);
        fprintf(b->csv, "%s,%.6g,%.3g\n", what, beside, beside / seconds[RUNS / 2]);
    } else fprintf(b->csv, ",,\n");
    printf("\n");
    fflush(stdout);
    return seconds[RUNS / 2];
}

static void upload(bench *b) { must(b->cl, shs__cl_write(b->cl, 1, b->buffer, 0, b->bytes, b->pinned)); }

static void pca(bench *b) {
    shs_pca_options o = SHS_ZERO;
    o.components = 10;
    must(b->cl, shs_pca_run(&b->ctx, &b->cube, &o, &b->sink, NULL));
}

static void ica(bench *b) {
    shs_ica_options o = SHS_ZERO;
    o.components = 10;
    must(b->cl, shs_ica_run(&b->ctx, &b->cube, &o, &b->sink, NULL));
}

static void code(bench *b) { must(b->cl, shs_omp(&b->ctx, b->p, b->n, b->D, b->m, b->Y, b->s, &b->codes)); }

static void learn(bench *b) {
    shs_ksvd_options o = SHS_ZERO;
    o.iterations = b->iterations;
    o.coding.sparsity = b->s;
    o.parallel_atoms = b->group;
    o.start = SHS_START_GIVEN;
    o.replace = SHS_REPLACE_LEAVE;
    o.keep = SHS_KEEP_LAST;
    must(b->cl, shs_ksvd_ex(&b->ctx, b->p, b->n, b->D, b->p, b->m, b->Y, b->p, &o, NULL, NULL));
}

/* Eight smooth spectra in random mixtures with noise. */
static void draw_scene(uint8_t *pixels, size_t count, int bands) {
    uint32_t state = 12345;
    size_t i;
    int b;
    for (i = 0; i < count; i++) {
        uint32_t mix = state = state * 1664525u + 1013904223u;
        for (b = 0; b < bands; b++) {
            uint32_t curve = (mix >> 24) * (uint32_t)(b + 20) + (mix >> 16 & 255) * (uint32_t)(b * 37 % 251) +
                             (mix >> 8 & 255) * (uint32_t)(b * 91 % 241);
            pixels[i * (size_t)bands + (size_t)b] = (uint8_t)(10 + (curve >> 9 & 127) + (mix >> (b & 15) & 7));
        }
    }
}

static void cube_cases(bench *b) {
    int lines = b->large ? 6955 : 100, samples = b->large ? 781 : 80, bands = b->large ? 224 : 60;
    size_t count = (size_t)lines * (size_t)samples;
    double bare;
    b->bytes = count * (size_t)bands;
    b->pinned = pinned(b, b->bytes);
    draw_scene((uint8_t *)b->pinned, count, bands);
    must(b->cl, shs__cl_buffer(b->cl, b->bytes, &b->buffer));
    bare = measure(b, "upload_cube", upload, 0, NULL);
    shs__cl_release(b->cl, &b->buffer);
    b->cube.pixels = b->pinned;
    b->cube.type = SHS_U8;
    b->cube.interleave = SHS_BIP;
    b->cube.lines = lines, b->cube.samples = samples, b->cube.bands = bands;
    b->sink.type = SHS_F32;
    b->sink.interleave = SHS_BIP;
    b->sink.pixels = pinned(b, count * 10 * sizeof(float));
    measure(b, "pca10_cube", pca, bare, "bare pinned upload");
    measure(b, "ica10_cube_pow3", ica, bare, "bare pinned upload");
    shs_cl_host_free(b->cl, b->sink.pixels);
    shs_cl_host_free(b->cl, b->pinned);
}

static void signal_cases(bench *b) {
    double bare, few, many;
    shs_random r;
    size_t i;
    shs_random_seed(&r, 1);
    b->p = 64, b->n = 256, b->s = 8;
    b->m = b->large ? 4000000 : 4000;
    b->bytes = b->m * 64 * sizeof(shs_real);
    b->pinned = pinned(b, b->bytes);
    b->Y = (shs_real *)b->pinned;
    for (i = 0; i < b->m * 64; i++) b->Y[i] = (shs_real)((shs_wide)(shs_random_bits(&r) >> 40) / 8388608 - 1);
    b->D = (shs_real *)malloc(64 * 512 * sizeof(shs_real));
    b->codes.m = b->m;
    b->codes.stride = b->s;
    b->codes.used = (int *)pinned(b, b->m * sizeof(int));
    b->codes.atoms = (int *)pinned(b, b->m * 8 * sizeof(int));
    b->codes.coefs = (shs_real *)pinned(b, b->m * 8 * sizeof(shs_real));
    must(b->cl, b->D ? shs_dictionary_random(64, 512, b->D, 64, 2) : SHS_NO_MEMORY);
    must(b->cl, shs__cl_buffer(b->cl, b->bytes, &b->buffer));
    bare = measure(b, "upload_signals", upload, 0, NULL);
    shs__cl_release(b->cl, &b->buffer);
    measure(b, "omp_64x256_s8_host_to_host", code, bare, "bare pinned upload");
    b->n = 512;
    b->m = b->large ? 65536 : 2000;
    b->group = 64;
    b->iterations = 2;
    few = measure(b, "paksvd64_2_iterations", learn, 0, NULL);
    b->iterations = 12;
    many = measure(b, "paksvd64_12_iterations", learn, 0, NULL);
    printf("%-28s %12.6f s\n", "paksvd64_64x512_s8_iteration", (many - few) / 10);
    fprintf(b->csv, "paksvd64_64x512_s8_iteration,%.6g,s,,,\n", (many - few) / 10);
    shs_cl_host_free(b->cl, b->codes.used);
    shs_cl_host_free(b->cl, b->codes.atoms);
    shs_cl_host_free(b->cl, b->codes.coefs);
    shs_cl_host_free(b->cl, b->pinned);
    free(b->D);
}

int main(void) {
    bench b;
    shs_cl_options o = SHS_ZERO;
    char why[256] = "";
    memset(&b, 0, sizeof b);
    o.platform = getenv("SHS_CL_PLATFORM");
    o.reason = why, o.reason_size = sizeof why;
    if (shs_cl_create(NULL, &o, &b.cl) != SHS_OK) {
        fprintf(stderr, "bench_cl: %s\n", why);
        return 1;
    }
    b.csv = fopen("build/bench_cl.csv", "w");
    if (!b.csv) {
        fprintf(stderr, "bench_cl: cannot write build/bench_cl.csv\n");
        return 1;
    }
    b.ctx.engine = shs_cl_engine(b.cl);
    b.large = shs_cl_about(b.cl)->kind == SHS_CL_GPU;
    printf("%s, driver %s\n", shs_cl_device_name(b.cl), shs_cl_about(b.cl)->driver);
    fprintf(b.csv, "case,value,unit,peer,peer_value,ratio\n");
    cube_cases(&b);
    signal_cases(&b);
    shs_cl_destroy(b.cl);
    return fclose(b.csv) != 0;
}
